"""Greetings, thanks and sign-offs around a question, in fifteen languages besides English."""

import pytest
from foreign_questions import QUESTIONS

from siamese import DuplicateDetector
from siamese.corpus import embedded_corpus, handwritten_questions
from siamese.text.courtesies import without_courtesies
from siamese.text.phrases import COURTESIES
from siamese.text.wrapping import plain

# Ten of each: what stands before a question, "Q", and after it.
AROUND = {
    "de": """
        Guten Tag, Q Vielen Dank im Voraus!|Hallo zusammen, Q|Q Danke schon mal.
        Sehr geehrte Damen und Herren, Q|Q Viele Grüße, Anna Müller|Moin, Q Danke!
        Liebes Support-Team, Q Mit freundlichen Grüßen|Hallo Herr Schulz, Q
        Q Vielen Dank für Ihre Hilfe!|Q LG Peter
    """,
    "fr": """
        Bonjour, Q Merci d'avance !|Bonjour à tous, Q|Q Merci beaucoup pour votre aide.
        Bonsoir, Q Cordialement, Jean|Salut, Q|Q Je vous remercie.|Bonjour Madame, Q
        Cher service client, Q Bien à vous|Q Merci !|Q Bonne journée
    """,
    "es": """
        Hola, Q ¡Muchas gracias!|Buenos días, Q|Q Gracias de antemano.|¡Hola a todos! Q
        Estimados señores: Q|Q Un saludo, María|Buenas tardes, Q Gracias por su ayuda.
        Q Saludos|Hola equipo, Q|Q Mil gracias
    """,
    "it": """
        Buongiorno, Q Grazie mille!|Ciao a tutti, Q|Q Grazie in anticipo.
        Salve, Q Cordiali saluti, Marco|Gentile signora Rossi, Q|Q Grazie per l'aiuto.
        Buonasera, Q|Q Vi ringrazio.|Ciao, Q Grazie!|Q Distinti saluti
    """,
    "pt": """
        Olá, Q Muito obrigado!|Bom dia, Q|Q Obrigada pela ajuda.|Oi pessoal, Q
        Prezados senhores, Q|Q Desde já agradeço.|Boa tarde, Q Atenciosamente, João
        Q Cumprimentos|Olá a todos, Q|Q Abraços
    """,
    "nl": """
        Hallo, Q Alvast bedankt!|Goedemorgen, Q|Q Dank je wel.
        Beste collega, Q Met vriendelijke groet, Jan|Hoi allemaal, Q|Q Bedankt voor uw hulp.
        Geachte heer Jansen, Q|Q Groetjes|Goedendag, Q|Q Bij voorbaat dank
    """,
    "pl": """
        Dzień dobry, Q Z góry dziękuję!|Witam, Q|Q Dziękuję za pomoc.|Cześć wszystkim, Q
        Szanowni Państwo, Q|Q Pozdrawiam, Ewa|Hej, Q Dzięki!|Q Z poważaniem
        Dobry wieczór, Q|Q Będę wdzięczny za pomoc
    """,
    "ru": """
        Здравствуйте! Q Заранее спасибо!|Добрый день, Q
        Q Спасибо за помощь.|Всем привет! Q
        Уважаемые коллеги, Q|Q С уважением, Иван
        Привет, Q Спасибо|Q Благодарю|Добрый вечер! Q
        Q Большое спасибо
    """,
    "tr": """
        Merhaba, Q Teşekkürler!|İyi günler, Q|Q Şimdiden teşekkür ederim.
        Selam arkadaşlar, Q|Sayın yetkili, Q|Q Saygılarımla, Ayşe|Günaydın, Q
        Q Sağ olun|Merhabalar, Q Kolay gelsin|Q Yardımınız için teşekkürler
    """,
    "ar": """
        مرحبا، Q شكرا جزيلا|السلام عليكم، Q|Q شكراً لكم|صباح الخير، Q
        السلام عليكم ورحمة الله وبركاته Q|Q مع التحية|مساء الخير، Q شكرا|Q تحياتي|أهلا، Q
        Q جزاكم الله خيرا
    """,
    "zh": """
        你好，Q谢谢！|您好！Q|Q非常感谢。|大家好，Q|各位好，Q多谢|Q 谢谢您的帮助！|早上好，Q
        Q麻烦您了。|客服您好，Q|Q先谢谢了
    """,
    "ja": """
        こんにちは。Q よろしくお願いします。|お世話になっております。Q
        Qありがとうございます。|おはようございます、Q|はじめまして。Q
        Q よろしくお願いいたします。|お疲れ様です。Q|Qお願いします。|こんばんは。Q
        Q 以上、よろしくお願いします。
    """,
    "ko": """
        안녕하세요. Q 감사합니다.|안녕하세요, Q|Q 미리 감사합니다!|안녕하십니까? Q
        수고하십니다. Q|Q 답변 부탁드립니다.|안녕하세요 Q|Q 고맙습니다|여러분 안녕하세요, Q
        Q 도와주셔서 감사합니다.
    """,
    "th": """
        สวัสดีครับ Q ขอบคุณครับ|สวัสดีค่ะ Q|Q ขอบคุณค่ะ|สวัสดีทุกคน Q|เรียนเจ้าหน้าที่ Q
        Q ขอบคุณล่วงหน้าครับ|รบกวนสอบถามครับ Q|Q ขอบพระคุณค่ะ|หวัดดีครับ Q|Q ขอบคุณมากค่ะ
    """,
    "id": """
        Halo, Q Terima kasih!|Selamat pagi, Q|Q Terima kasih sebelumnya.|Halo semua, Q
        Selamat siang Bapak Budi, Q|Q Makasih ya|Permisi, Q|Q Hormat saya, Dewi
        Assalamualaikum, Q|Q Terima kasih atas bantuannya.
    """,
}
AS_THEY_ARE = (
    "Was heißt danke auf Ungarisch?",
    "Danke!",
    "Hallo, guten Tag!",
    "Bonjour",
    "您好！谢谢",
    "Wann sagt man Mahlzeit?",
    "Hola, how do you say this in English?",
    "Halo: which game of the series should I play first?",
    "Ciao Bella, what does it mean?",
    "Moin oder Servus, was sagt man in Wien?",
    "Comment dire merci en allemand ?",
    "¿Qué significa saludos cordiales?",
)


def phrases(known, kind):
    texts = getattr(known, kind).replace("\n", " ").split("|")
    return [" ".join(text.split()) for text in texts if text.strip()]


def around(code):
    texts = AROUND[code].strip().replace("\n", "|").split("|")
    return [text.strip() for text in texts]


@pytest.mark.parametrize("code", COURTESIES)
def test_each_phrase_is_left_out_in_context(code):
    known = COURTESIES[code]
    question = QUESTIONS[code][1]
    first = phrases(known, "greetings")[0]
    thanks = phrases(known, "thanks")[0]
    in_front = phrases(known, "greetings")
    in_front += [f"{first} {whom}" for whom in phrases(known, "to_whom")]
    at_end = phrases(known, "thanks") + phrases(known, "regards")
    at_end += [f"{thanks} {after}" for after in phrases(known, "after_thanks")]
    kept = [p for p in in_front if without_courtesies(f"{p}, {question}") != question]
    kept += [p for p in at_end if without_courtesies(f"{question} {p}!") != question]
    assert not kept


@pytest.mark.parametrize("code", COURTESIES)
def test_ten_courtesies_leave_the_questions_vector(code):
    encode = DuplicateDetector.from_encoder("use").encode
    assert len(around(code)) == 10
    for question in QUESTIONS[code][:2]:
        bare = question.rstrip(".。")
        asked = [text.replace("Q", bare) for text in around(code)]
        cosines = encode(asked) @ encode([bare])[0]
        assert [t for t, c in zip(asked, cosines) if c < 0.99] == []


def test_what_is_asked_about_stays():
    for text in AS_THEY_ARE:
        assert without_courtesies(text) == text


def test_english_questions_stay_as_they_are():
    texts = [row["question"] for row in handwritten_questions()]
    texts += [question.text for question in embedded_corpus().questions]
    assert [text for text in texts if without_courtesies(text) != text] == []


def test_a_mail_of_several_lines_leaves_its_question():
    mail = "Guten Tag,\n\nwie setze ich mein Passwort zurück?\n\nMit freundlichen Grüßen\nA. Muster"
    assert plain(mail) == "wie setze ich mein Passwort zurück?"


@pytest.mark.parametrize(
    ("around", "code"),
    [
        ("Sehr geehrter Herr Dr. Weber, Q", "de"),
        ("Guten Morgen zusammen! Q Vielen Dank und beste Grüße", "de"),
        ("Q Vielen Dank für Ihre Mühe im Voraus. Herzliche Grüße aus Köln", "de"),
        ("Beste mevrouw de Vries, Q", "nl"),
        ("Q Met vriendelijke groet, Piet de Jong", "nl"),
        ("Здравствуйте, Анна! Q", "ru"),
        ("Q非常感谢您的帮助！", "zh"),
        ("Yth. Bapak Andi, Q", "id"),
    ],
)
def test_names_and_several_phrases_go_with_them(around, code):
    question = QUESTIONS[code][1]
    assert plain(around.replace("Q", question)) == question


def test_a_name_after_a_greetings_comma_is_asked_about():
    text = "Hallo, Outlook: warum startet es nicht mehr?"
    assert without_courtesies(text) == "Outlook: warum startet es nicht mehr?"
