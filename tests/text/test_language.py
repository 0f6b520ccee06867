"""Which language a text and a list are in."""

import json
import subprocess
import sys

import pytest

from siamese.corpus import embedded_corpus, handwritten_questions
from siamese.text.language import LANGUAGES, language_of, list_languages, text_languages

# Four questions in each: the password, the station, the invoice, the sick cat.
QUESTIONS = {
    "en": [
        "I forgot my password, how can I reset it?",
        "Where is the nearest train station?",
        "Why have I not received an invoice yet?",
        "My cat has not eaten for two days.",
    ],
    "de": [
        "Ich habe mein Passwort vergessen, wie setze ich es zurück?",
        "Wo ist der nächste Bahnhof?",
        "Warum habe ich noch keine Rechnung bekommen?",
        "Meine Katze frisst seit zwei Tagen nichts.",
    ],
    "fr": [
        "J'ai oublié mon mot de passe, comment le réinitialiser ?",
        "Où se trouve la gare la plus proche ?",
        "Pourquoi n'ai-je pas encore reçu de facture ?",
        "Mon chat ne mange plus depuis deux jours.",
    ],
    "es": [
        "He olvidado mi contraseña, ¿cómo puedo restablecerla?",
        "¿Dónde está la estación más cercana?",
        "¿Por qué no he recibido todavía la factura?",
        "Mi gato no come desde hace dos días.",
    ],
    "it": [
        "Ho dimenticato la password, come posso reimpostarla?",
        "Dov'è la stazione più vicina?",
        "Perché non ho ancora ricevuto la fattura?",
        "Il mio gatto non mangia da due giorni.",
    ],
    "pt": [
        "Esqueci minha senha, como posso redefini-la?",
        "Onde fica a estação mais próxima?",
        "Por que ainda não recebi a fatura?",
        "O meu gato não come há dois dias.",
    ],
    "nl": [
        "Ik ben mijn wachtwoord vergeten, hoe stel ik het opnieuw in?",
        "Waar is het dichtstbijzijnde station?",
        "Waarom heb ik nog geen factuur ontvangen?",
        "Mijn kat eet al twee dagen niet.",
    ],
    "pl": [
        "Nie pamiętam hasła, jak mogę je zresetować?",
        "Gdzie jest najbliższy dworzec?",
        "Dlaczego nie dostałem jeszcze faktury?",
        "Mój kot od dwóch dni nic nie je.",
    ],
    "ru": [
        "Я забыл пароль, как его сбросить?",
        "Где находится ближайший вокзал?",
        "Почему я до сих пор не получил счёт?",
        "Мой кот не ест уже два дня.",
    ],
    "tr": [
        "Şifremi unuttum, nasıl sıfırlayabilirim?",
        "En yakın tren istasyonu nerede?",
        "Faturam neden hâlâ gelmedi?",
        "Kedim iki gündür yemek yemiyor.",
    ],
    "ar": [
        "نسيت كلمة المرور، كيف يمكنني إعادة تعيينها؟",
        "أين تقع أقرب محطة قطار؟",
        "لماذا لم أستلم الفاتورة حتى الآن؟",
        "قطتي لم تأكل منذ يومين.",
    ],
    "zh": [
        "我忘记了密码，怎样才能重新设置？",
        "离这里最近的火车站在哪里？",
        "为什么我到现在还没有收到发票？",
        "我的猫已经两天没有吃东西了。",
    ],
    "ja": [
        "パスワードを忘れました。どうすれば再設定できますか？",
        "一番近い駅はどこですか？",
        "どうして請求書がまだ届かないのですか？",
        "うちの猫が二日間何も食べていません。",
    ],
    "ko": [
        "비밀번호를 잊어버렸는데 어떻게 재설정하나요?",
        "가장 가까운 기차역이 어디에 있나요?",
        "왜 아직도 청구서를 받지 못했나요?",
        "우리 고양이가 이틀째 밥을 먹지 않아요.",
    ],
    "th": [
        "ฉันลืมรหัสผ่าน จะตั้งรหัสใหม่ได้อย่างไร",
        "สถานีรถไฟที่ใกล้ที่สุดอยู่ที่ไหน",
        "ทำไมฉันยังไม่ได้รับใบแจ้งหนี้",
        "แมวของฉันไม่กินอาหารมาสองวันแล้ว",
    ],
    "id": [
        "Saya lupa kata sandi, bagaimana cara mengatur ulang?",
        "Di mana stasiun kereta terdekat?",
        "Mengapa saya belum menerima tagihan?",
        "Kucing saya tidak makan sejak dua hari yang lalu.",
    ],
    "sv": [
        "Jag har glömt mitt lösenord, hur återställer jag det?",
        "Var ligger närmaste järnvägsstation?",
        "Varför har jag inte fått någon faktura än?",
        "Min katt har inte ätit på två dagar.",
    ],
    "cs": [
        "Zapomněl jsem heslo, jak ho mohu obnovit?",
        "Kde je nejbližší nádraží?",
        "Proč jsem ještě nedostal fakturu?",
        "Moje kočka už dva dny nic nejí.",
    ],
    "vi": [
        "Tôi quên mật khẩu, làm thế nào để đặt lại?",
        "Ga tàu gần nhất ở đâu?",
        "Tại sao tôi vẫn chưa nhận được hóa đơn?",
        "Con mèo của tôi không ăn gì đã hai ngày.",
    ],
    "uk": [
        "Я забув пароль, як його скинути?",
        "Де знаходиться найближчий вокзал?",
        "Чому я досі не отримав рахунок?",
        "Мій кіт уже два дні нічого не їсть.",
    ],
    "hi": [
        "मैं अपना पासवर्ड भूल गया हूँ, इसे कैसे बदलूँ?",
        "सबसे नज़दीकी रेलवे स्टेशन कहाँ है?",
        "मुझे अभी तक बिल क्यों नहीं मिला?",
        "मेरी बिल्ली दो दिन से कुछ नहीं खा रही है।",
    ],
    "el": [
        "Ξέχασα τον κωδικό μου, πώς μπορώ να τον αλλάξω;",
        "Πού είναι ο πλησιέστερος σταθμός;",
        "Γιατί δεν έχω λάβει ακόμα το τιμολόγιο;",
        "Η γάτα μου δεν τρώει εδώ και δύο μέρες.",
    ],
    "he": [
        "שכחתי את הסיסמה שלי, איך אפשר לאפס אותה?",
        "איפה תחנת הרכבת הקרובה ביותר?",
        "למה עדיין לא קיבלתי חשבונית?",
        "החתול שלי לא אוכל כבר יומיים.",
    ],
}
NAMES = """iPhone 15 Pro|Galaxy S24 Ultra|MacBook Air M3|Photoshop CC|Microsoft Excel 2019
Adobe Acrobat Reader|Windows 11|Outlook|SharePoint|Teams|Zoom|Cisco AnyConnect
Lenovo ThinkPad X1|Dell Latitude 7440|HP LaserJet Pro|Jira|Confluence|GitLab|Salesforce|SAP GUI
AutoCAD 2024|SolidWorks|MATLAB|Slack|OneDrive|Citrix Workspace|VMware Fusion|Kubernetes
Docker Desktop|PostgreSQL|Oracle Database|Visual Studio Code|PyCharm|Figma|Miro|Canva|Trello
Asana|Notion|Dropbox|Google Drive|Gmail|Samsung Monitor|Logitech MX Master|Jabra Evolve 75
Philips Hue|Volvo XC60|IKEA Kallax|Nespresso Vertuo|Bosch Serie 6"""
TITLES = """printer jam|vpn down|password reset|new laptop|broken screen|slow wifi|email bounce
license expired|monitor flicker|mouse dead|account locked|order late|wrong size|refund status
missing parcel|invoice copy|login error|app crash|update failed|disk full|sync problem
calendar invite|shared mailbox|guest wifi|badge lost|door code|parking permit|travel expenses
leave request|payslip question|headset noise|camera black|battery drain|keyboard layout
docking station|dual monitors|toner empty|paper jam|scan to mail|fax number|phone forwarding
voicemail pin|meeting room|projector cable|software install|admin rights|backup restore
file deleted|folder access|spam mail"""
WHAT_IT_LOADS = """
import json, sys
from siamese.corpus import handwritten_questions
from siamese.text.language import list_languages
languages = list_languages([row["question"] for row in handwritten_questions()])
print(json.dumps([languages.main, "py3langid" in sys.modules]))
"""


def parts(text):
    return text.replace("\n", "|").split("|")


@pytest.mark.parametrize("code", QUESTIONS)
def test_a_text_and_a_list_are_told(code):
    questions = QUESTIONS[code]
    assert [language_of(question)[0] for question in questions] == [code] * 4
    languages = list_languages(questions)
    assert languages.main == code and list(languages.shares) == [code]


@pytest.mark.parametrize("code", ["de", "fr", "zh", "cs"])
def test_a_few_texts_of_another_language_are_told_where_they_are_sure(code):
    english = [row["question"] for row in handwritten_questions()]
    mixed = english[:36] + QUESTIONS[code]
    languages = list_languages(mixed)
    assert list(languages.shares) == ["en", code]
    assert text_languages(mixed, languages) == ["en"] * 36 + [code] * 4


def test_a_few_english_texts_of_a_german_list_are_told():
    english = [row["question"] for row in handwritten_questions()]
    foreign = QUESTIONS["de"] * 9 + english[:4]
    languages = list_languages(foreign)
    assert languages.main == "de"
    assert text_languages(foreign, languages) == ["de"] * 36 + ["en"] * 4


@pytest.mark.parametrize("text", [NAMES, TITLES], ids=["names", "titles"])
def test_titles_and_names_of_products_are_not_taken_for_another_language(text):
    titles = parts(text)
    assert len(titles) == 50
    languages = list_languages(titles)
    assert languages.is_english
    mixed = titles + QUESTIONS["sv"] + QUESTIONS["de"]
    languages = list_languages(mixed, main="en")
    assert text_languages(mixed, languages)[:50] == ["en"] * 50


def test_the_questions_of_the_package_are_in_english():
    handwritten = [row["question"] for row in handwritten_questions()]
    corpus = [question.text for question in embedded_corpus().questions]
    for texts in (handwritten, corpus):
        assert list_languages(texts).is_english
    every = list_languages(handwritten)._replace(shares=dict.fromkeys(LANGUAGES, 0.1))
    assert set(text_languages(handwritten, every)) == {"en"}


def test_a_list_in_plain_english_loads_no_model():
    result = subprocess.run(
        [sys.executable, "-c", WHAT_IT_LOADS], capture_output=True, check=True
    )
    assert json.loads(result.stdout) == ["en", False]


def test_the_owner_says_the_language_and_an_empty_list_is_english():
    languages = list_languages(["Toner", "WLAN"], main="de")
    assert languages.main == "de"
    assert text_languages(["Toner", "WLAN"], languages) == ["de", "de"]
    assert list_languages([]).is_english
    assert list_languages(["", "?", "123"]).is_english
