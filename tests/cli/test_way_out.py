"""A first run that cannot read a list names one complete command, and that command works."""

import json
import shlex

import pytest

from siamese.reading.likely import likely_encoding

SUBJECTS = [
    "Größe der Schrift ist falsch",
    "Wo finde ich die Rechnung",
    "Tür schließt nicht mehr",
]
BODIES = [
    "Seit Montag sehe ich die Menüs nur noch sehr klein.",
    "Ich suche sie seit Tagen.",
    "Sie klemmt.",
]


def table(names, encoding, mark=";"):
    columns = [[f"V-{n}" for n in range(3)], SUBJECTS, BODIES, ["offen"] * 3]
    rows = [names, *zip(*columns)]
    return "\n".join(mark.join(row) for row in rows).encode(encoding)


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8", "mac_roman", "cp850"])
@pytest.mark.parametrize(
    "names", [("Vorgang", "Kurz", "Lang", "Stand"), ("id", "Subject", "Body", "x")]
)
@pytest.mark.parametrize(
    "command", [["search", "list.csv", "x y"], ["duplicates", "list.csv"]]
)
def test_the_command_that_is_named_works(run, tmp_path, encoding, names, command):
    (tmp_path / "list.csv").write_bytes(table(names, encoding))
    command = [*command, "--model", "model", "--json"]
    code, out, err = run(*command)
    if encoding == "utf-8" and "id" in names:
        assert code == 0
        return
    assert code == 2
    words = shlex.split(err.splitlines()[-1])
    assert words[: len(command) + 1] == ["siamese", *command]
    code, out, err = run(*words[1:])
    assert code == 0, err
    assert json.loads(out)
    assert "3 questions" in err and f"{names[1]}+{names[2]}" in err


def test_broken_rows_are_part_of_the_command(run, tmp_path):
    content = table(("Vorgang", "Kurz", "Lang", "Stand"), "cp1252") + b"\nV-9;one field"
    (tmp_path / "list.csv").write_bytes(content)
    words = shlex.split(
        run("duplicates", "list.csv", "--model", "model")[2].splitlines()[-1]
    )
    assert {"--encoding", "--column", "--bad-rows"} <= set(words)
    assert run(*words[1:])[0] == 0


@pytest.mark.parametrize(
    "content", ["a,b\n1,2\n3,4\n", "", "%PDF-1.4", "x,y\nno,no\n" * 9]
)
def test_no_command_is_named_where_none_works(run, tmp_path, content):
    (tmp_path / "list.csv").write_text(content)
    code, _, err = run("duplicates", "list.csv", "--model", "model")
    assert code == 2 and "This command" not in err


TEXTS = {
    "cp1252": "Größe der Straße – für Bäume|Où est la clé de l’hôtel ?|¿Cómo restablezco la contraseña?",
    "cp1250": "Jak zresetować hasło? Proszę o pomoc|Jak obnovím heslo? Příliš žluťoučký kůň",
    "cp1254": "Şifremi nasıl sıfırlarım? Yazıcı çalışmıyor",
    "cp1251": "Как сбросить пароль? Принтер не печатает",
    "koi8_r": "Как сбросить пароль? Принтер не печатает",
    "cp1253": "Πώς μπορώ να αλλάξω τον κωδικό;",
    "cp1256": "كيف يمكنني إعادة تعيين كلمة المرور؟",
    "cp874": "ฉันจะรีเซ็ตรหัสผ่านได้อย่างไร",
    "shift_jis": "パスワードを再設定するにはどうすればよいですか。印刷できません",
    "euc_kr": "비밀번호를 어떻게 재설정합니까? 프린터가 인쇄하지 않습니다",
    "gb18030": "怎样重置打印机密码？我的电脑不能登录网络",
    "big5": "怎樣重設密碼？我的電腦不能登入網路",
}
CASES = [
    (encoding, text) for encoding, texts in TEXTS.items() for text in texts.split("|")
]


@pytest.mark.parametrize("encoding, text", CASES)
def test_an_encoding_is_recognised(encoding, text):
    content = f"id;question\n1;{text}\n".encode(encoding)
    assert likely_encoding(content) == encoding
    assert likely_encoding(content.decode(encoding).encode("utf-8")) is None
