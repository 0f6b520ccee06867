"""Greetings, sign-offs, signatures and quoted mail are no part of what a mail asks."""

import pytest

from siamese.text.courtesies import without_greeting
from siamese.text.mail import without_mail
from siamese.text.phrases import (
    FIRST_HEADER_NAMES,
    FOOTERS,
    HEADER_NAMES,
    SEPARATORS,
    WROTE,
)

Q = "The printer on the third floor jams.\nHow do I get it repaired?"
GREETINGS = r"""
Hello,|Hi Bob,|Dear Sir or Madam,|Good morning|Hi all!|Dear colleagues,
Hello Service Desk,|Hallo zusammen,|Sehr geehrte Damen und Herren,
Guten Tag Herr Müller,|Liebe Kolleginnen und Kollegen,|Moin,|Bonjour,
Bonjour Madame,|Cher collègue,|Hola:|Buenos días,|Estimado señor García:
Buongiorno,|Gentile Anna,|Olá,|Bom dia,|Prezados,|Beste collega,
Geachte heer Jansen,|Dzień dobry,|Szanowni Państwo,|Здравствуйте!|Добрый день,
Merhaba,|Selamat pagi,|您好，|こんにちは、|안녕하세요,|สวัสดีครับ
"""
ENDINGS = r"""
Best regards,\nA. Person|Kind regards, A. Person
Kind regards\nA. Person\nExample Ltd\nTel. 12 34|Thanks!|Thanks,\nBob
Many thanks in advance|Cheers\nBob|Sincerely yours,\nA. Person
-- \nA. Person\nExample Ltd|--\nA. Person|Mit freundlichen Grüßen\nB. Person
Viele Grüße, Bernd|MfG|LG Anna|Vielen Dank im Voraus\nAnna|Cordialement,\nJean
Merci d’avance|Saludos cordiales\nAna|Un saludo,|Muchas gracias\nAna
Cordiali saluti\nMaria|Atenciosamente,\nJoão|Obrigado!
Met vriendelijke groet,\nJan|Alvast bedankt|Pozdrawiam\nEwa|Z poważaniem,\nEwa
С уважением,\nИван|Спасибо|Saygılarımla\nAyşe|Terima kasih|谢谢|よろしくお願いいたします。
감사합니다|ขอบคุณครับ|مع التحية|Sent from my iPhone|Von meinem iPhone gesendet
Envoyé de mon iPhone|Get Outlook for iOS|Enviado desde mi iPhone
_______________\nThis mail is confidential.
"""
QUOTES = """
On 1 May 2026 B. Person wrote:
> earlier text
---
On Mon, May 1, 2026 at 10:00 AM Bob Person <bob@example.org>
wrote:

> earlier text
---
Am 01.05.2026 um 10:00 schrieb B. Person:
> früherer Text
---
Am Mo., 1. Mai 2026 schrieb B. Person <b@example.org>:
alter Text ohne Zeichen
---
Le 1 mai 2026 à 10:00, B. Person a écrit :
> texte
---
El 1 may 2026, B. Person escribió:
> texto
---
Il giorno 1 mag 2026 B. Person ha scritto:
> testo
---
Op 1 mei 2026 schreef B. Person:
> tekst
---
W dniu 1.05.2026 B. Person napisał(a):
> tekst
---
1 мая 2026 г. Иван Иванов написал:
> текст
---
From: Bob Person
Sent: 1 May 2026 10:00
To: Service Desk
Subject: RE: printer

earlier text
---
Von: Bob Person
Gesendet: Freitag, 1. Mai 2026
An: Service Desk
Betreff: AW: Drucker

alter Text
---
De : Bob Person
Envoyé : vendredi 1 mai 2026
À : Service
Objet : RE: imprimante

texte
---
De: Bob
Enviado el: viernes
Para: Ana
Asunto: RE: impresora

texto
---
*From:* Bob
*Sent:* 1 May

earlier
---
-----Original Message-----
From: Bob
Sent: 1 May

earlier
---
-----Ursprüngliche Nachricht-----
Von: Bob
alter Text
---
________________________________
From: Bob
Sent: 1 May

earlier
---
> only marks
> before lines
"""


def texts(table: str) -> list[str]:
    """The texts between the marks of a table, line ends written out."""
    return [
        text.replace("\\n", "\n")
        for text in table.strip().replace("\n", "|").split("|")
    ]


@pytest.mark.parametrize("greeting", texts(GREETINGS))
def test_a_greeting_is_left_out(greeting):
    assert without_mail(f"{greeting}\n\n{Q}") == Q
    assert without_mail(f"{greeting}\n{Q}\n\nThanks\nBob") == Q


@pytest.mark.parametrize("ending", texts(ENDINGS))
def test_a_sign_off_and_what_follows_it_are_left_out(ending):
    assert without_mail(f"{Q}\n\n{ending}") == Q
    assert (
        without_mail(f"{Q}\r\n\r\n{ending}\r\n".replace("\n", "\r\n")).split()
        == Q.split()
    )


@pytest.mark.parametrize("quote", QUOTES.strip().split("\n---\n"))
def test_quoted_mail_is_left_out(quote):
    assert without_mail(f"{Q}\n\n{quote}") == Q
    assert without_mail(f"Hi,\n{Q}\n\nRegards\nA. Person\n\n{quote}") == Q


def test_an_answer_below_the_quoted_mail_stays():
    assert (
        without_mail(f"On 1 May 2026 B. Person wrote:\n> earlier\n> text\n\n{Q}") == Q
    )


def test_a_postscript_stays():
    text = without_mail(f"{Q}\n\nRegards\nA. Person\n\nPS: It is the blue one.")
    assert Q in text and "It is the blue one." in text and "Person" not in text


@pytest.mark.parametrize("before", ["", "FYI\n\n", "See below.\n", "Hello,\n\n"])
@pytest.mark.parametrize(
    "head",
    [
        "",
        "---------- Forwarded message ---------\n",
        "-----Original Message-----\n",
    ],
)
def test_of_a_forwarded_mail_the_text_stays(before, head):
    mail = f"{before}{head}From: Bob\nSent: 1 May\nTo: Ann\nSubject: jam\n\n{Q}\n\nRegards\nBob"
    assert without_mail(mail) == Q


ORDINARY = r"""
Thanks for the update\nThe printer still jams. What can I do now?
Dear diary app crashes\nwhen I open it
Hello world is printed twice\nWhy?
Regards is misspelt on the page\nWho corrects it?
What do these lines mean?\nFrom: Hamburg\nIt takes ten minutes.
I see this:\nerror 5 at 10:00:\nWhat is it?
Best way to learn Spanish\nwithout a teacher?
Two questions:\n- How far?\n- How long?
How do I get from A\nto B?
Hi-fi sounds bad\nsince Monday
Where is the option\n--verbose\ndescribed?
He wrote in 2010:\nfirst line
Thank you notes\nHow many lines should they have?
"""


@pytest.mark.parametrize("text", texts(ORDINARY))
def test_ordinary_lines_stay(text):
    assert without_mail(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "Hello,\n\nThanks\nBob",
        "> \n> \n",
        "Regards\nBob",
        "\n\n",
        "-- \nBob",
        "",
        "Hello",
    ],
)
def test_a_text_of_nothing_else_keeps_its_words(text):
    has_words = any(map(str.isalnum, text))
    assert any(map(str.isalnum, without_mail(text))) == has_words


def test_lines_quoted_as_a_whole_are_the_text():
    assert (
        without_mail("> How do I reset\n> my password?")
        == "How do I reset\nmy password?"
    )


# Reply and forward marks, and heads of quoted mail, as mail programs write them.
MARKS = """
RE:|Re[2]:|FW:|Fwd:|AW:|WG:|RE :|TR :|RV:|Rif:|RES:|ENC:|Antw:|Odp:|PD:|SV:|VS:|VB:|YNT:|İLT:
Bls:|Отв:|Ответ:|رد:|إعادة توجيه:
回复：|回复:|答复：|转发：|回覆:|轉寄:|返信:|転送:|Re：|회신:|전달:|ตอบกลับ:|ส่งต่อ:
"""
HEADS = """
Da: Anna\nInviato: venerdì\nA: Assistenza\nOggetto: R: stampante
---
De: João\nEnviada em: sexta-feira\nPara: Suporte\nAssunto: RES: impressora
---
Van: Jan\nVerzonden: vrijdag\nAan: Helpdesk\nOnderwerp: Antw: printer
---
Od: Ewa\nWysłano: piątek\nDo: Pomoc\nTemat: Odp: drukarka
---
От кого: Иван\nКому: Поддержка\nТема: Re: принтер
---
Kimden: Ayşe\nGönderildi: Cuma\nKime: Destek\nKonu: YNT: yazıcı
---
من: علي\nتم الإرسال: الجمعة\nإلى: الدعم\nالموضوع: رد: الطابعة
---
发件人：张三\n发送时间：2026年5月1日\n收件人：客服\n主题：回复：打印机
---
寄件者: 王\n寄件日期: 2026年5月1日\n收件者: 客服\n主旨: 回覆: 印表機
---
差出人: 山田\n送信日時: 2026年5月1日\n宛先: サポート\n件名: RE: プリンター
---
보낸 사람: 김\n보낸 날짜: 2026년 5월 1일\n받는 사람: 지원\n제목: RE: 프린터
---
จาก: สมชาย\nส่งเมื่อ: วันศุกร์\nถึง: ฝ่ายสนับสนุน\nเรื่อง: RE: เครื่องพิมพ์
---
Dari: Budi\nTerkirim: Jumat\nKepada: Bantuan\nPerihal: Bls: printer
---
пт, 1 мая 2026 г. в 10:00, Иван <ivan@example.org>:
> текст
---
2026年5月1日(金) 10:00 山田 太郎 <taro@example.org>:
> 本文
---
张三 <zhang@example.org> 于2026年5月1日周五 10:00写道：
> 正文
---
2026년 5월 1일 (금) 오전 10:00, 홍길동 <hong@example.org>님이 작성:
> 본문
---
Ayşe <ayse@example.org>, 1 May 2026 Cum, 10:00 tarihinde şunu yazdı:
> metin
---
Pada tanggal Jum, 1 Mei 2026 pukul 10.00 Budi <budi@example.org> menulis:
> teks
"""


@pytest.mark.parametrize("mark", texts(MARKS))
def test_the_mark_of_an_answer_is_left_out(mark):
    assert without_greeting(f"{mark} How far is it?") == "How far is it?"


def test_what_only_looks_like_the_mark_of_an_answer_stays():
    for text in ("R: how do I plot a line?", "re:Invent?", "SV:5", "返信の仕方は？"):
        assert without_greeting(text) == text


@pytest.mark.parametrize("head", HEADS.strip().split("\n---\n"))
def test_the_head_of_a_quoted_mail_is_left_out_in_each_language(head):
    assert without_mail(f"{Q}\n\n{head}") == Q


def phrase_in_context(kind: str, phrase: str) -> str:
    """A phrase of a table as it stands in a mail, below the mail's own text."""
    first = "Subject" if phrase == "from" else "From"
    return {
        "separator": f"----- {phrase.capitalize()} -----\nearlier text",
        "wrote": f"1 May 2026, B. Person {phrase}:\n> earlier text",
        "name": f"{first}: B. Person\n{phrase}: 1 May 2026\n\nearlier text",
        "first name": f"{phrase.capitalize()}: B. Person\nCc: A. Person\n\nearlier text",
        "footer": phrase.replace("…", "iPhone 15"),
    }[kind]


TABLES = {
    "separator": SEPARATORS,
    "wrote": WROTE,
    "name": HEADER_NAMES,
    "first name": FIRST_HEADER_NAMES,
    "footer": FOOTERS,
}


@pytest.mark.parametrize(
    ("kind", "phrase"),
    [(kind, phrase) for kind, table in TABLES.items() for phrase in sorted(table)],
)
def test_each_phrase_around_a_quoted_mail_is_read_in_context(kind, phrase):
    assert without_mail(f"{Q}\n\n{phrase_in_context(kind, phrase)}") == Q


@pytest.mark.parametrize("footer", sorted(FOOTERS))
def test_a_footer_is_not_part_of_a_line_of_text(footer):
    line = f"Why does it say {footer.replace('…', 'iPhone 15')} below my mail?"
    assert without_mail(f"{Q}\n{line}") == f"{Q}\n{line}"
