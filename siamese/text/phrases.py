"""Phrases of mail and of questions in the languages that `use` knows."""

from __future__ import annotations

_APOSTROPHES = str.maketrans("’", "'")


def folded_phrase(text: str) -> str:
    """A phrase as it is compared: differences of case, blanks and apostrophes go, "ss" is "ß"."""
    return " ".join(text.casefold().translate(_APOSTROPHES).replace("ß", "ss").split())


def _phrases(text: str) -> frozenset[str]:
    return frozenset(filter(None, map(folded_phrase, text.split("|"))))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Names may follow them.
GREETINGS = _phrases("""
    fyi | see below | please see below | siehe unten | zur info | zur kenntnis | voir
    ci-dessous | vedi sotto | hi | hiya | hello | hey | dear | greetings | good morning
    | good afternoon | good evening | good day | to whom it may concern | hallo | guten
    morgen | guten tag | guten abend | moin | servus | grüezi | grüß gott | liebe |
    lieber | liebes | sehr geehrte | sehr geehrter | sehr geehrtes | werte | werter |
    bonjour | bonsoir | salut | cher | chère | chers | chères | madame | monsieur | hola
    | buenos días | buenas tardes | buenas noches | buenas | estimado | estimada |
    estimados | estimadas | querido | querida | ciao | salve | buongiorno | buonasera |
    gentile | gentili | egregio | spettabile | caro | cara | cari | olá | oi | bom dia |
    boa tarde | boa noite | prezado | prezada | prezados | prezadas | caros | estimados
    | beste | geachte | goedemorgen | goedemiddag | goedenavond | goedendag | dag | hoi
    | dzień dobry | witam | cześć | szanowni państwo | szanowny panie | szanowna pani |
    drodzy | здравствуйте | добрый день | доброе утро | добрый вечер | привет |
    уважаемые | уважаемый | уважаемая | merhaba | merhabalar | iyi günler | günaydın |
    selam | sayın | selamat pagi | selamat siang | selamat sore | halo | yth | hej | hei
    | god morgon | goddag | bästa | kära | dobrý den | ahoj | vážení | добрий день |
    вітаю | مرحبا | السلام عليكم | عزيزي | 您好 |
    你好 | 大家好 | 尊敬的 | お世話になっております | こんにちは |
    안녕하세요 | สวัสดี | สวัสดีครับ | สวัสดีค่ะ | เรียน
""")
# At the end of a mail; names and addresses follow.
REGARDS = _phrases("""
    best regards | kind regards | kindest regards | warm regards | warmest regards |
    regards | many regards | with kind regards | with best regards | best wishes | with
    best wishes | sincerely | sincerely yours | yours sincerely | yours faithfully |
    yours truly | yours | respectfully | cheers | best | all the best | br | kr | rgds |
    thanks and regards | thanks & regards | thanks and best regards | thank you and best
    regards | thanks and kind regards | have a nice day | have a great day | have a good
    day | have a nice weekend | mit freundlichen grüßen | mit freundlichen grüssen | mit
    freundlichen gruessen | mit freundlichem gruß | mit freundlichem gruss | mit besten
    grüßen | mit besten grüssen | mit herzlichen grüßen | mit vielen grüßen | mit lieben
    grüßen | freundliche grüße | freundliche grüsse | freundliche gruesse | freundlicher
    gruß | beste grüße | beste grüsse | viele grüße | viele grüsse | viele gruesse |
    liebe grüße | liebe grüsse | herzliche grüße | herzliche grüsse | schöne grüße |
    sonnige grüße | grüße | grüsse | gruß | gruss | mfg | lg | vg | hochachtungsvoll |
    cordialement | bien cordialement | très cordialement | sincères salutations |
    meilleures salutations | salutations distinguées | salutations | bien à vous |
    amicalement | bonne journée | cdlt | saludos | saludos cordiales | un saludo | un
    cordial saludo | cordiales saludos | muchos saludos | atentamente | cordialmente |
    cordiali saluti | distinti saluti | saluti | un saluto | buona giornata | un
    cordiale saluto | atenciosamente | com os melhores cumprimentos | melhores
    cumprimentos | cumprimentos | abraços | um abraço | att | met vriendelijke groet |
    met vriendelijke groeten | vriendelijke groet | vriendelijke groeten | met
    hartelijke groet | hartelijke groet | hartelijke groeten | groeten | groet | mvg |
    pozdrawiam | serdecznie pozdrawiam | z poważaniem | z pozdrowieniami | pozdrowienia
    | с уважением | с наилучшими пожеланиями | всего доброго | всего хорошего |
    saygılarımla | saygılarımızla | saygılar | iyi çalışmalar | kolay gelsin | hormat
    saya | salam | salam hormat | med vänlig hälsning | med vänliga hälsningar | vänliga
    hälsningar | mvh | hilsen | med venlig hilsen | med vennlig hilsen | s pozdravem | з
    повагою | مع أطيب التحيات | مع خالص التحية | مع التحية |
    تحياتي | 此致 | 此致敬礼 | 此致 敬礼
    | 祝好 | 顺祝商祺 | 敬上 | 敬具 |
    よろしくお願いいたします | よろしくお願いします | よろしくお願い致します | 宜しくお願いいたします |
    宜しくお願いします | 드림 | 올림 | 안녕히 계세요 | ขอแสดงความนับถือ | ด้วยความเคารพ
""")
# A sign-off, too, unless text follows.
THANKS = _phrases("""
    thanks | thank you | thanks in advance | thank you in advance | many thanks | many
    thanks in advance | thanks a lot | thanks so much | thank you very much | thank you
    so much | thanks very much | thx | ty | tia | thanks for your help | thank you for
    your help | thanks for any help | danke | danke schön | danke im voraus | vielen
    dank | vielen dank im voraus | besten dank | herzlichen dank | danke und gruß |
    danke und viele grüße | vielen dank und viele grüße | merci | merci beaucoup | merci
    d'avance | merci par avance | gracias | muchas gracias | gracias de antemano |
    muchas gracias de antemano | grazie | grazie mille | grazie in anticipo | obrigado |
    obrigada | muito obrigado | muito obrigada | desde já agradeço | bedankt | alvast
    bedankt | dank je | dank u | dank je wel | dziękuję | z góry dziękuję | dzięki |
    спасибо | заранее спасибо | благодарю | teşekkürler | teşekkür ederim | şimdiden
    teşekkürler | terima kasih | tack | tack på förhand | takk | děkuji | děkuji předem
    | дякую | شكرا | شكراً | شكرا لكم | 谢谢 |
    謝謝 | 多谢 | 感谢 | ありがとうございます | ありがとうございました |
    감사합니다 | 고맙습니다 | ขอบคุณ | ขอบคุณครับ | ขอบคุณค่ะ
""")
# What stands before the colons of a quoted mail's header.
HEADER_NAMES = _phrases("""
    from | sent | date | to | cc | bcc | subject | reply-to | importance | attachments |
    von | gesendet | datum | an | betreff | kopie | wichtigkeit | anlagen | de | envoyé
    | envoyé le | à | objet | enviado | enviado el | enviada | fecha | para | asunto |
    data | assunto | da | inviato | a | oggetto | van | verzonden | aan | onderwerp | od
    | wysłano | do | temat | от | отправлено | дата | кому | тема | kimden | gönderildi
    | gönderilen | tarih | kime | konu | dari | dikirim | kepada | perihal | tanggal |
    från | skickat | till | ämne | odesláno |
    komu | předmět | від | من | إلى | التاريخ
    | الموضوع | تاريخ الإرسال | 发件人 | 发送时间 | 收件人 | 抄送 |
    主题 | 日期 | 寄件者 | 收件者 | 主旨 | 差出人 |
    送信日時 | 宛先 | 件名 | 日時 | 보낸 사람 | 보낸사람 |
    받는 사람 | 받는사람 | 제목 | 보낸 날짜 | 날짜 | จาก | ส่ง |
    ถึง | เรื่อง | วันที่
""")
# Those of them that begin it.
FIRST_HEADER_NAMES = _phrases("""
    from | von | de | da | van | od | от |
    kimden | dari | från | fra | від | من | 发件人 |
    寄件者 | 差出人 | 보낸 사람 | 보낸사람 | จาก |
    sent | date | gesendet | datum | subject | betreff
    | to | an
""")
# The end of "On 1 May 2026 A. Person wrote:".
WROTE = _phrases("""
    wrote | writes | said | schrieb | schreibt | geschrieben | a écrit | écrit |
    escribió | escribio | ha scritto | scritto | escreveu | schreef | napisał | napisała
    | napisał(a) | pisze | пишет | писал | написал | написала | написал(а) | yazdı |
    menulis | skrev | napsal | napsal(a) | пише |
    كتب | 写道 | 寫道 | のメッセージ | は書きました | 작성 |
    님이 작성 | เขียนว่า
""")
# Between a mail and the one that it answers, marks aside.
SEPARATORS = _phrases("""
    original message | original appointment | forwarded message | begin forwarded
    message | forwarded by | reply above this line | please type your reply above
    this line | ursprüngliche nachricht | originalnachricht | weitergeleitete nachricht
    | anfang der weitergeleiteten nachricht | message d'origine | message transféré | mensaje
    original | mensaje reenviado | messaggio originale | messaggio inoltrato | mensagem
    original | mensagem encaminhada | oorspronkelijk bericht | doorgestuurd bericht |
    wiadomość oryginalna | oryginalna wiadomość | исходное сообщение | пересланное
    сообщение | orijinal mesaj | özgün ileti | pesan asli |
    原始邮件 | 转发邮件 | 元のメッセージ | 원본
    메시지
""")
# Words that begin a question or a statement.
QUESTION_STARTS = _words("""
    how what why where when who whom whose which can could do does did is are am was
    were will would should shall may might must has have had i i'm i've my we our you
    your they the an there this that please if any anyone unable cannot can't wie was
    warum weshalb wieso wo woher wohin wann wer wen wem wessen welche welcher welches
    kann können könnte darf muss soll ist sind gibt hat haben ich mein meine wir unser
    der die das ein eine es bitte comment pourquoi où quand qui que quel quelle quels
    quelles est est-ce je mon ma mes puis-je peut-on le la les il cómo qué por dónde
    cuándo quién cuál cuáles puedo se mi el un una es hay come cosa che perché dove
    quando chi quale quali posso è si il mio como o que onde quem qual quais posso meu
    minha hoe wat waarom waar wanneer wie welke kan mag moet ik mijn jak co dlaczego
    gdzie kiedy kto który czy mogę как что почему где когда кто какой какая какие можно
    я мой nasıl ne neden nerede kim hangi bagaimana apa mengapa dimana kapan siapa
""")
# Standards, products and illnesses whose names look like a ticket's number, such as
# WD-40.
NO_PROJECTS = _words("""
    covid sars utf iso iec din en ieee rfc cve cwe sha md aes rsa base mpeg mp gpt pep
    jsr rtx gtx rx wd ak php css html http usb ps ww vitamin omega b f a c h i m us mig
    boeing airbus type class level grade chapter section windows win office ios android
    python java c++ ipv x arm intel core ryzen hl mf lp ps t k e s v p n z q r catch
    route article area channel unit phase formula apollo agent carbon cat co hiv h1n
    cobol fortran ansi ascii pi ma msc d g l o u w y j mk no nr vol ch pg bc ad am pm
    gmt utc est pst cet dvd cd hd fm am ham rs oc mac xbox nes snes hdmi ddr pci sata
    lte wpa rgb cmyk dxo mcu nato fifa psi iq gcse a-level ap sat toefl ielts cfa ipcc
    osi tcp udp ean isbn issn swift iban vat gdpr hipaa soc pci-dss nist owasp bs astm
    api sae tls ssl vt
""")
