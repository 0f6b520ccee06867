"""Odd, damaged and hostile files for every command: for tests and benchmarks/faults.py."""

import bz2
import contextlib
import gzip
import io
import random
from collections import Counter
from pathlib import Path

from small_models import make_detector

from siamese.cli.main import main as siamese
from siamese.index import QuestionIndex

HEAD = "question1,question2,is_duplicate\n"
# 210,000 characters, beyond the csv module's own limit.
LONG = "a very long question " * 10_000
PAIRS = (
    HEAD
    + 'How far is it?,What is the distance?,1\n"What does ""sic"" mean?","Cold, wet and dark",0\n'
    'Où est la gare — là?,Where is it?,1\n"Why?\nReally, why?",How\tcome?,0\nHow old?,"Age?",1\n'
).encode()
PAIR = '{"question1": "How far is it?", "question2": "b?", "is_duplicate": 1}\n'
GOOD = {
    "pairs.csv": PAIRS,
    "pairs.jsonl": (PAIR + PAIR.replace("b?", "Où est la gare — là?") * 3).encode(),
    "list.txt": "How far is it?\nOù est la gare — là?\nHow old are you?\n".encode(),
}


def garbled(content):
    draw = random.Random(len(content))
    return bytes(
        byte ^ draw.randrange(256) if draw.random() < 0.02 else byte for byte in content
    )


# What is done to each of the good files.
CHANGES = {
    "good": lambda content: content,
    "bom": lambda content: b"\xef\xbb\xbf" + content,
    "crlf": lambda content: content.replace(b"\n", b"\r\n"),
    "old-mac": lambda content: content.replace(b"\n", b"\r"),
    "latin-1": lambda content: content.decode().encode("latin-1", "replace"),
    "utf-16": lambda content: content.decode().encode("utf-16"),
    "nul": lambda content: content.replace(b"a", b"a\0", 2),
    "cut": lambda content: content[: len(content) * 2 // 3],
    "garbled": garbled,
    "stray-quote": lambda content: content.replace(b"\nHow", b'\n"How', 1),
    "quote-inside": lambda content: content.replace(b"far", b'f"ar'),
    "a-field-more": lambda content: content.replace(b"\n", b",x\n", 1),
    "long-question": lambda content: content.replace(b"How far is it?", LONG.encode()),
    "escapes": lambda content: content.replace(b"far", b"\x1b[31mfar\x07\x1b]0;x\x07"),
    "header-twice": lambda content: content.split(b"\n")[0] + b"\n" + content,
    "gzip": gzip.compress,
    "gzip-cut": lambda content: gzip.compress(content)[:-9],
    "gzip-garbage": lambda content: gzip.compress(content) + b"garbage",
}
# One of a kind.
TEXTS = {
    "empty": "",
    "header-only.csv": HEAD,
    "title-and-text.csv": "title,text\nhow far,how old\n",
    "semicolons.csv": "sep=;\n" + HEAD.replace(",", ";") + "a;b;1\n",
    "all-bad.csv": HEAD + "a,b\n" * 5000,
    "bad-labels.csv": HEAD + "a?,b?,2\nc?,d?,yes\ne?,f?,\n" * 30,
    "quote-never-closed.csv": HEAD + '"a?,b?,1\n' + "c?,d?,0\n" * 2000,
    "quotes-everywhere.csv": HEAD + '"a"b"?,""c,1\n""",""",0\n' * 50,
    "long-header.csv": f"{LONG},{HEAD}",
    "many-columns.csv": (",".join(map(str, range(20_000))) + "\n") * 3,
    "20-MiB-line.csv": HEAD + "a" * (20 << 20),
    "breaks.txt": "How far?<br>Who?<br>",
    "jira.csv": "id,question,Sprint,Sprint\n1,how far?,a,b\n",
    "page.html": "<!DOCTYPE html><html><body>Sign in</body></html>",
    "array.jsonl": "[" + PAIR.strip() + "]",
    "list.jsonl": PAIR + "[1, 2]\n",
    "number.jsonl": PAIR + PAIR.replace('"b?"', "5") + PAIR.replace('"b?"', "null"),
    "nested.jsonl": PAIR + PAIR.replace('"b?"', '{"text": "a?"}'),
    "deep.jsonl": PAIR + "[" * 100_000,
    "deep-object.jsonl": PAIR + '{"a":' * 50_000,
    "key-twice.jsonl": PAIR + PAIR.replace("{", '{"question1": "c?", '),
    "surrogate.jsonl": PAIR + PAIR.replace("b?", "\\ud800 a?"),
    "nan.jsonl": PAIR
    + PAIR.replace("1}", "NaN}")
    + PAIR.replace("1}", '1, "x": Infinity}'),
    "long-number.jsonl": PAIR.replace("1}", "1" * 9000 + "}"),
    "control.jsonl": PAIR.replace("b?", "a\\u0000\\u001b[31m?\\u2028"),
    "no-questions.jsonl": '{"a": 1}\n{}\n',
}
BYTES = {
    "bomb.csv.gz": gzip.compress(HEAD.encode() + b"a" * (40 << 20)),
    "bomb-of-lines.gz": gzip.compress(HEAD.encode() + b"\n" * 300_000),
    "old-excel.xls": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600),
    "pairs.bz2": bz2.compress(PAIRS),
    "noise": random.Random(0).randbytes(100_000),
    "parquet-cut.gz": gzip.compress(b"PAR1" + bytes(500) + b"PAR1"),
}


MOST_LINES = 25  # of messages
# FILE is each of the files; the others lie in the current folder.
COMMANDS = """
    data FILE
    data FILE --bad-rows skip
    train --preset course --questions FILE --steps 1 --batch-size 2 --set d_model=4 --overwrite --output run
    evaluate model --questions FILE --bad-rows skip
    predict model FILE
    predict model FILE --bad-rows skip
    predict FILE far old
    threshold model --answers FILE --output fitted --overwrite
    index build FILE --model model --output new --overwrite
    index build FILE --model model --output new --overwrite --column is_duplicate --bad-rows skip
    index add index FILE
    search FILE how --model model
    duplicates FILE --model model
    match FILE index
    import-weights FILE imported --vocab FILE --overwrite
""".strip().splitlines()


def run(arguments, expected=(0,)):
    """Runs a command in this process; returns exit code and messages."""
    out, err = (
        io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)
    )
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = siamese(list(map(str, arguments)))
        except SystemExit as stopped:
            code = stopped.code
    messages = err.buffer.getvalue().decode("utf-8", "replace")
    assert code in expected and "Traceback" not in messages, (
        arguments,
        code,
        messages[-500:],
    )
    return code, messages


def make_folder(folder):
    model = make_detector(threshold=0.4).save(folder / "model")
    texts = ["how far is it?", "how old are you?"]
    options = {"path": folder / "index", "model": model}
    QuestionIndex.build(make_detector(threshold=0.4), texts, **options).close()
    files = BYTES | {name: text.encode() for name, text in TEXTS.items()}
    for good, content in GOOD.items():
        files |= {f"{change}-{good}": make(content) for change, make in CHANGES.items()}
    (folder / "files").mkdir()
    for name, content in files.items():
        (folder / "files" / name).write_bytes(content)
    (folder / "loop").symlink_to(folder / "loop")
    paths = [folder / "files" / name for name in files]
    paths += [folder / name for name in ("missing", "loop", "files")]
    return [*paths, Path("/dev/null"), Path("x" * 5000)]


def run_one(folder, command, path):
    """Runs one of the commands, which must end with an answer or one message."""
    with contextlib.chdir(folder):
        arguments = [path if word == "FILE" else word for word in command.split()]
        code, messages = run(arguments, (0, 2))
    lines = messages.splitlines()
    assert code != 2 or lines, f"{arguments}: no message"
    assert len(lines) <= MOST_LINES or "train" in command, (arguments, len(lines))
    return code


def run_all(folder):
    paths = make_folder(folder)
    codes = Counter(
        run_one(folder, command, path) for path in paths for command in COMMANDS
    )
    codes = {f"exit code {code}": count for code, count in codes.items()}
    return {"paths": len(paths), "commands": len(COMMANDS), **codes}
