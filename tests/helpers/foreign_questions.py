"""Questions in 23 languages: the sixteen that `use` knows, and seven others."""

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
