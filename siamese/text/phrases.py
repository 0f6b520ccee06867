"""Phrases of mail and of questions in the languages that `use` knows."""

from __future__ import annotations

from typing import NamedTuple

from siamese.text.cleaning import folded_phrase


def _phrases(text: str) -> frozenset[str]:
    return frozenset(filter(None, map(folded_phrase, text.split("|"))))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


class Courtesies(NamedTuple):
    """What stands around questions of a language: phrases between bars."""

    greetings: str
    to_whom: str  # may follow a greeting
    thanks: str
    after_thanks: str  # may follow thanks
    regards: str


# Of the languages that `use` knows besides English.
COURTESIES = {
    "de": Courtesies(
        greetings="""
            hallo | guten morgen | guten tag | guten abend | schönen guten tag |
            einen schönen guten tag | moin | moin moin | servus | grüezi |
            grüß gott | grüß dich | tach | liebe | lieber | liebes | sehr geehrte |
            sehr geehrter | sehr geehrtes | werte | werter | mahlzeit
        """,
        to_whom="""
            zusammen | miteinander | team | liebes team | leute | alle | an alle |
            allerseits | damen und herren | herr | frau | kollegen |
            kolleginnen und kollegen | kolleginnen | kollege | kollegin | ihr lieben |
            freunde | forum | community | support | support-team | kundenservice |
            kundendienst | it | it-team | helpdesk
        """,
        thanks="""
            danke | vielen dank | vielen lieben dank | besten dank | herzlichen dank |
            lieben dank | tausend dank | danke schön | dankeschön | danke sehr |
            danke dir | danke euch | danke ihnen | schon mal danke | schonmal danke |
            schon mal vielen dank | vorab danke | vorab vielen dank |
            schon jetzt vielen dank | ich danke ihnen | ich bedanke mich |
            danke und gruß | danke und viele grüße | vielen dank und viele grüße |
            danke im voraus | vielen dank im voraus
        """,
        after_thanks="""
            im voraus | vorab | schon mal | für die hilfe | für ihre hilfe |
            für eure hilfe | für deine hilfe | für jede hilfe |
            für die unterstützung | für ihre unterstützung |
            für eure unterstützung | für die mühe | für ihre mühe |
            für eure mühe | für die antwort | für ihre antwort |
            für eure antworten | für tipps | für jeden tipp | für ihre antworten |
            für eine antwort | für eine schnelle antwort | für ihre zeit |
            für eure zeit | für die schnelle hilfe | für euer verständnis |
            für ihr verständnis
        """,
        regards="""
            mit freundlichen grüßen | mit freundlichen gruessen |
            mit freundlichem gruß | mit besten grüßen | mit herzlichen grüßen |
            mit vielen grüßen | mit lieben grüßen | freundliche grüße |
            freundliche gruesse | freundlicher gruß | beste grüße | viele grüße |
            viele gruesse | liebe grüße | lieber gruß | herzliche grüße |
            schöne grüße | sonnige grüße | grüße | gruß | mfg | lg | vg |
            hochachtungsvoll | schönen tag noch | einen schönen tag noch |
            schönes wochenende | bis bald | tschüss | mit freundlichem gruss |
            ich freue mich auf ihre antwort | gruß und dank
        """,
    ),
    "fr": Courtesies(
        greetings="""
            bonjour | bonsoir | salut | coucou | cher | chère | chers | chères |
            madame | monsieur | madame, monsieur | rebonjour | bonjour à tous |
            bonjour à toutes et à tous
        """,
        to_whom="""
            à tous | à toutes | à toutes et à tous | tout le monde | madame |
            monsieur | mesdames | messieurs | mesdames et messieurs |
            madame et monsieur | l'équipe | à l'équipe | toute l'équipe |
            collègue | collègues | les amis | service client | support |
            la communauté
        """,
        thanks="""
            merci | merci beaucoup | merci bien | merci d'avance | merci par avance |
            un grand merci | mille mercis | je vous remercie |
            je vous remercie d'avance | en vous remerciant |
            en vous remerciant d'avance | avec mes remerciements | d'avance merci |
            merci et bonne journée
        """,
        after_thanks="""
            d'avance | par avance | à tous | à vous | pour votre aide |
            pour votre réponse | pour vos réponses | pour ton aide | pour l'aide |
            de votre aide | de votre réponse | pour votre retour | pour tout |
            infiniment | et bonne journée | et bonne soirée |
            pour votre retour rapide | pour votre réponse rapide |
            pour votre aide précieuse | pour votre compréhension |
            pour votre attention
        """,
        regards="""
            cordialement | bien cordialement | très cordialement |
            sincères salutations | meilleures salutations | mes salutations |
            salutations distinguées | salutations | bien à vous | bien à toi |
            amicalement | bonne journée | bonne soirée | excellente journée |
            belle journée | cdlt | à bientôt | respectueusement |
            bonne fin de journée | bon après-midi | bon week-end
        """,
    ),
    "es": Courtesies(
        greetings="""
            hola | buenos días | buenas tardes | buenas noches | buen día | buenas |
            muy buenas | estimado | estimada | estimados | estimadas | querido |
            querida | queridos | hola buenas | hola buenos días | saludos a todos |
            qué tal
        """,
        to_whom="""
            a todos | a todas | a todos y todas | todos | todas | amigos | equipo |
            señor | señora | señores | señor/a | sr | sra | sres | compañeros |
            compañeras | colega | colegas | cliente | gente | buenas | buenos días |
            buenas tardes | qué tal | soporte | foro
        """,
        thanks="""
            gracias | muchas gracias | mil gracias | muchísimas gracias |
            gracias de antemano | muchas gracias de antemano |
            muchas gracias por adelantado | desde ya gracias | desde ya muchas gracias |
            de antemano gracias | de antemano, muchas gracias | le agradezco |
            les agradezco | os agradezco | se agradece | muy agradecido |
            muy agradecida | gracias y un saludo | gracias y saludos |
            un saludo y gracias
        """,
        after_thanks="""
            de antemano | por adelantado | por su ayuda | por tu ayuda |
            por vuestra ayuda | por la ayuda | por todo | por su respuesta |
            por vuestra respuesta | por su atención | a todos | y saludos |
            y un saludo | por su tiempo | por su comprensión | por vuestro tiempo
        """,
        regards="""
            saludos | saludos cordiales | un saludo | un cordial saludo |
            cordiales saludos | muchos saludos | un abrazo | atentamente | atte |
            cordialmente | que tenga un buen día | hasta pronto | buen día
        """,
    ),
    "it": Courtesies(
        greetings="""
            ciao | salve | buongiorno | buon giorno | buonasera | buona sera |
            buon pomeriggio | gentile | gentili | gentilissimi | egregio | egregi |
            spettabile | caro | cara | cari | care | spett.le | spett
        """,
        to_whom="""
            a tutti | a tutte | tutti | a voi | azienda | ditta | signore | signora | signori | sig |
            team | amici | ragazzi | colleghi | collega | assistenza |
            servizio clienti | supporto
        """,
        thanks="""
            grazie | grazie mille | mille grazie | molte grazie | tante grazie |
            grazie in anticipo | grazie anticipatamente | vi ringrazio | la ringrazio |
            ti ringrazio | ringrazio in anticipo | ringrazio |
            vi ringrazio in anticipo | la ringrazio in anticipo | grazie e saluti |
            grazie e buona giornata | resto in attesa
        """,
        after_thanks="""
            in anticipo | anticipatamente | a tutti | per l'aiuto |
            per il vostro aiuto | per il suo aiuto | per la risposta |
            per la vostra risposta | per la disponibilità | di tutto | di cuore |
            e saluti | e buona giornata | di un riscontro | di un vostro riscontro |
            di una risposta | di una vostra risposta | per il riscontro |
            per l'attenzione
        """,
        regards="""
            cordiali saluti | distinti saluti | saluti | un saluto | tanti saluti |
            cari saluti | un cordiale saluto | buona giornata | buona serata |
            buon lavoro | cordialmente | a presto | in fede
        """,
    ),
    "pt": Courtesies(
        greetings="""
            olá | oi | bom dia | boa tarde | boa noite | prezado | prezada | prezados |
            prezadas | caro | cara | caros | caras | estimados | estimado | exmos |
            olá bom dia | viva | tudo bem | oi tudo bem | olá tudo bem
        """,
        to_whom="""
            a todos | a todas | pessoal | gente | todos | equipe | equipa | senhor |
            senhora | senhores | sr | sra | amigos | colega | colegas | suporte |
            galera | bom dia | boa tarde | tudo bem
        """,
        thanks="""
            obrigado | obrigada | muito obrigado | muito obrigada | obrigado desde já |
            obrigada desde já | desde já agradeço | desde já obrigado |
            desde já muito obrigado | agradeço desde já | agradeço | agradecido |
            agradecida | grato | grata | grato desde já | valeu |
            obrigado e cumprimentos
        """,
        after_thanks="""
            desde já | pela ajuda | pela atenção | pela resposta | por tudo |
            pela vossa ajuda | pela sua ajuda | a todos | antecipadamente | a ajuda |
            a atenção
        """,
        regards="""
            atenciosamente | com os melhores cumprimentos | melhores cumprimentos |
            cumprimentos | com cumprimentos | abraços | um abraço | abraço | att |
            cordialmente | saudações | até breve | tenha um bom dia | bom trabalho |
            abs | bom dia | boa tarde | boa noite | bom fim de semana
        """,
    ),
    "nl": Courtesies(
        greetings="""
            hallo | hoi | goedemorgen | goedemiddag | goedenavond | goedendag | dag |
            beste | geachte | lieve | hoi hoi | goeiemorgen | goeiedag
        """,
        to_whom="""
            allemaal | allen | iedereen | team | mensen | heer | mevrouw |
            heer/mevrouw | heer of mevrouw | meneer | dames en heren | collega |
            collega's | klantenservice | helpdesk | daar | samen
        """,
        thanks="""
            bedankt | alvast bedankt | dank je | dank u | dank je wel | dank u wel |
            dankjewel | dankuwel | heel erg bedankt | hartelijk dank |
            hartelijk bedankt | veel dank | alvast dank | bij voorbaat dank |
            bij voorbaat bedankt | bedankt alvast | dank alvast | bedankt en groeten
        """,
        after_thanks="""
            alvast | voor de hulp | voor uw hulp | voor je hulp | voor jullie hulp |
            voor de moeite | voor uw reactie | voor je reactie | voor het antwoord |
            bij voorbaat | en groeten | voor uw antwoord | voor uw tijd |
            voor jullie tijd
        """,
        regards="""
            met vriendelijke groet | met vriendelijke groeten | vriendelijke groet |
            vriendelijke groeten | met hartelijke groet | hartelijke groet |
            hartelijke groeten | groeten | groet | groetjes | mvg | fijne dag |
            fijne dag nog | prettige dag | hoogachtend | tot ziens
        """,
    ),
    "pl": Courtesies(
        greetings="""
            dzień dobry | dobry wieczór | witam | witajcie | cześć | hej |
            szanowni państwo | szanowny panie | szanowna pani | szanowna firmo |
            drodzy | witam serdecznie
        """,
        to_whom="""
            wszystkim | wszystkich | państwa | panie | pani | panowie | zespole |
            koledzy | koleżanki | kolego | serdecznie | forumowicze | wam
        """,
        thanks="""
            dziękuję | dziękuje | dziękujemy | z góry dziękuję | z góry dzięki |
            z góry dziękuje | dzięki | wielkie dzięki | dzięki z góry |
            dziękuję z góry | bardzo dziękuję | serdecznie dziękuję | dziękuję bardzo |
            dziękuję i pozdrawiam | będę wdzięczny | będę wdzięczna |
            z góry dziękuję za pomoc | dzięki wielkie
        """,
        after_thanks="""
            z góry | bardzo | za pomoc | za odpowiedź | za wszelką pomoc |
            za każdą pomoc | za informację | za wszystko | i pozdrawiam |
            i miłego dnia
        """,
        regards="""
            pozdrawiam | serdecznie pozdrawiam | pozdrawiam serdecznie | z poważaniem |
            z pozdrowieniami | pozdrowienia | pozdro | miłego dnia | do widzenia |
            życzę miłego dnia | z wyrazami szacunku
        """,
    ),
    "ru": Courtesies(
        greetings="""
            здравствуйте | здравствуй | добрый день |
            доброе утро | добрый вечер | доброго дня |
            доброго времени суток | привет |
            приветствую | уважаемые | уважаемый |
            уважаемая | дорогие | всем привет |
            всем здравствуйте
        """,
        to_whom="""
            всем | коллеги | друзья | господа | команда |
            господин | госпожа | ребята | поддержка |
            служба поддержки | форумчане |
            дамы и господа
        """,
        thanks="""
            спасибо | большое спасибо |
            огромное спасибо | заранее спасибо |
            спасибо заранее | спасибо большое |
            заранее благодарю | заранее благодарен |
            заранее благодарна | благодарю |
            благодарю вас | благодарю заранее |
            спасибо за помощь | буду благодарен |
            буду благодарна | буду признателен |
            всем спасибо | спасибо всем
        """,
        after_thanks="""
            заранее | большое | за помощь | за ответ |
            за ответы | за вашу помощь | за внимание |
            всем
        """,
        regards="""
            с уважением | с наилучшими пожеланиями |
            всего доброго | всего хорошего |
            хорошего дня | удачи | до свидания |
            с приветом
        """,
    ),
    "tr": Courtesies(
        greetings="""
            merhaba | merhabalar | iyi günler | iyi akşamlar | günaydın | selam |
            selamlar | sayın | değerli | sevgili | selamün aleyküm |
            iyi çalışmalar | kolay gelsin
        """,
        to_whom="""
            herkese | arkadaşlar | hocam | ekip | yetkili | bay | bayan | efendim |
            dostlar | millet | destek ekibi | ilgili | iyi günler
        """,
        thanks="""
            teşekkürler | teşekkür ederim | teşekkür ederiz | çok teşekkürler |
            çok teşekkür ederim | şimdiden teşekkürler | şimdiden teşekkür ederim |
            şimdiden çok teşekkürler | sağ olun | sağol | sağolun |
            yardımınız için teşekkürler | yardımınız için teşekkür ederim |
            yardımlarınız için teşekkürler | cevabınız için teşekkürler |
            ilginiz için teşekkürler | ilginiz için teşekkür ederim |
            teşekkürler iyi günler | teşekkürler, iyi çalışmalar
        """,
        after_thanks="""
            şimdiden | iyi günler | iyi çalışmalar | herkese
        """,
        regards="""
            saygılarımla | saygılarımızla | saygılar | iyi çalışmalar |
            iyi günler | kolay gelsin | sevgiler | selamlar | en iyi dileklerimle |
            hoşça kalın
        """,
    ),
    "ar": Courtesies(
        greetings="""
            مرحبا | مرحباً | مرحبًا | أهلا | أهلاً | أهلا وسهلا | السلام عليكم |
            السلام عليكم ورحمة الله | السلام عليكم ورحمة الله وبركاته | صباح الخير |
            مساء الخير | تحية طيبة | تحية طيبة وبعد | عزيزي | السادة | السادة الكرام |
            أعزائي | مرحبا بكم
        """,
        to_whom="""
            جميعا | جميعاً | بكم | الكرام | المحترمين | أصدقائي | يا شباب | فريق الدعم |
            سيدي | سيدتي | للجميع
        """,
        thanks="""
            شكرا | شكراً | شكرًا | شكرا لكم | شكراً لكم | شكرا جزيلا | شكراً جزيلاً |
            شكرا مقدما | شكراً مقدماً | شكرا لمساعدتكم | شكراً لمساعدتكم |
            جزاكم الله خيرا | جزاك الله خيرا | مع الشكر | مع جزيل الشكر |
            ولكم جزيل الشكر | ولكم الشكر | وشكرا | وشكراً | أشكركم | أشكركم مقدما |
            جزاكم الله خيراً | جزاك الله خيراً | جزيل الشكر
        """,
        after_thanks="""
            مقدما | مقدماً | جزيلا | جزيلاً | لكم | لك | على المساعدة | على مساعدتكم |
            لمساعدتكم | على اهتمامكم | للجميع
        """,
        regards="""
            مع أطيب التحيات | مع خالص التحية | مع التحية | تحياتي | مع تحياتي |
            وتفضلوا بقبول فائق الاحترام | والسلام عليكم | مع السلامة | يومكم سعيد
        """,
    ),
    "zh": Courtesies(
        greetings="""
            你好 | 您好 | 大家好 | 早上好 | 上午好 | 下午好 | 晚上好 | 各位好 | 尊敬的 |
            嗨 | 哈喽 | 客服您好 | 客服你好 | 请问一下 | 你们好 | 老师好 | 老师您好 |
            各位老师好 | 老师们好 | 同学们好 | 各位朋友好 | 朋友们好 | 各位大神好
        """,
        to_whom="""
            客服 | 各位 | 大家 | 老师 | 先生 | 女士 | 朋友们 | 同事们 | 团队 | 同学们 |
            您好 | 你好
        """,
        thanks="""
            谢谢 | 多谢 | 感谢 | 非常感谢 | 万分感谢 | 十分感谢 | 谢谢您 | 谢谢你 |
            谢谢你们 | 谢谢大家 | 谢谢帮助 | 谢谢您的帮助 | 感谢您的帮助 | 先谢谢了 |
            先谢了 | 谢谢了 | 提前感谢 | 提前谢谢 | 谢谢啦 | 麻烦您了 | 麻烦了 |
            辛苦了 | 拜托了 | 感激不尽 | 谢谢！祝好
        """,
        after_thanks="""
            您 | 了 | 啦 | 大家 | 各位 | 您的帮助 | 您的回复 | 各位的帮助
        """,
        regards="""
            此致 | 此致敬礼 | 此致 敬礼 | 祝好 | 顺祝商祺 | 敬上 | 祝您愉快 |
            祝工作顺利 | 祝您生活愉快 | 期待您的回复 | 盼复 | 再见
        """,
    ),
    "ja": Courtesies(
        greetings="""
            こんにちは | こんばんは | おはようございます | お世話になっております |
            お世話になります | いつもお世話になっております | お疲れ様です |
            お疲れさまです | はじめまして | 初めまして | 突然のご連絡失礼いたします |
            失礼します | 失礼いたします | 拝啓 | すみません | 担当者様 | ご担当者様 |
            関係者各位 | 皆さんこんにちは | みなさんこんにちは | 皆様こんにちは
        """,
        to_whom="""
            皆さん | みなさん | 皆様 | ご担当者様 | 担当者様 | サポートの皆様 | 先生 |
            各位
        """,
        thanks="""
            ありがとうございます | ありがとうございました | ありがとう |
            有難うございます | よろしくお願いします | よろしくお願いいたします |
            よろしくお願い致します | 宜しくお願いします | 宜しくお願いいたします |
            宜しくお願い致します | どうぞよろしくお願いします |
            どうぞよろしくお願いいたします | 何卒よろしくお願いいたします |
            よろしくお願い申し上げます | お願いします | お願いいたします |
            教えてください | お手数をおかけします | お手数ですがよろしくお願いします |
            ご回答よろしくお願いします | ご回答のほどよろしくお願いします | 助かります |
            お手数をおかけしますが | お手数ですが | お忙しいところ恐れ入りますが |
            ご確認よろしくお願いします | ご対応よろしくお願いします | どうぞよろしく
        """,
        after_thanks="",
        regards="""
            敬具 | 以上です | 以上 | 失礼します | 失礼いたします |
            お返事お待ちしております | ご返信お待ちしております |
            ご回答お待ちしております | ご回答をお待ちしております |
            ご連絡お待ちしております
        """,
    ),
    "ko": Courtesies(
        greetings="""
            안녕하세요 | 안녕하십니까 | 안녕 | 반갑습니다 | 수고하십니다 |
            수고 많으십니다 | 안녕하세요 여러분 | 여러분 안녕하세요 | 수고하세요 |
            처음 뵙겠습니다 | 담당자님 안녕하세요 | 관리자님 안녕하세요 |
            고객센터 담당자님 안녕하세요
        """,
        to_whom="""
            여러분 | 담당자님 | 선생님 | 고객센터 | 팀장님 | 관리자님 | 고객님
        """,
        thanks="""
            감사합니다 | 고맙습니다 | 감사해요 | 고마워요 | 감사드립니다 |
            미리 감사합니다 | 미리 감사드립니다 | 미리 고맙습니다 | 정말 감사합니다 |
            대단히 감사합니다 | 도와주셔서 감사합니다 | 답변 부탁드립니다 |
            답변 부탁드려요 | 답변 부탁합니다 | 부탁드립니다 | 부탁드려요 |
            빠른 답변 부탁드립니다 | 잘 부탁드립니다 | 답변 감사합니다 |
            답변 기다리겠습니다 | 답변 기다릴게요 | 기다리겠습니다 |
            답변 주시면 감사하겠습니다 | 도움 주시면 감사하겠습니다 |
            도움 부탁드립니다 | 확인 부탁드립니다
        """,
        after_thanks="",
        regards="""
            드림 | 올림 | 안녕히 계세요 | 수고하세요 | 수고하십시오 | 좋은 하루 되세요 |
            좋은 하루 보내세요 | 즐거운 하루 되세요
        """,
    ),
    "th": Courtesies(
        greetings="""
            สวัสดี | สวัสดีครับ | สวัสดีค่ะ | สวัสดีคะ | สวัสดีทุกคน | สวัสดีครับทุกคน |
            สวัสดีค่ะทุกคน | เรียนทุกท่าน | เรียนเจ้าหน้าที่ | หวัดดี | หวัดดีครับ |
            หวัดดีค่ะ | อรุณสวัสดิ์ | ขอสอบถามหน่อยครับ | ขอสอบถามหน่อยค่ะ |
            สอบถามครับ | สอบถามค่ะ | รบกวนสอบถามครับ | รบกวนสอบถามค่ะ
        """,
        to_whom="""
            ทุกคน | ทุกท่าน | ทีมงาน | เจ้าหน้าที่ | พี่ๆ | เพื่อนๆ | แอดมิน | ครับ |
            ค่ะ
        """,
        thanks="""
            ขอบคุณ | ขอบคุณครับ | ขอบคุณค่ะ | ขอบคุณคะ | ขอบคุณมาก | ขอบคุณมากครับ |
            ขอบคุณมากค่ะ | ขอบคุณล่วงหน้า | ขอบคุณล่วงหน้าครับ | ขอบคุณล่วงหน้าค่ะ |
            ขอบคุณมากๆครับ | ขอบคุณมากๆค่ะ | ขอบพระคุณ | ขอบพระคุณครับ | ขอบพระคุณค่ะ |
            ขอบใจ | ขอบคุณสำหรับความช่วยเหลือ | ขอบคุณสำหรับความช่วยเหลือครับ |
            ขอบคุณสำหรับความช่วยเหลือค่ะ
        """,
        after_thanks="""
            ครับ | ค่ะ | มาก | มากครับ | มากค่ะ | ล่วงหน้า
        """,
        regards="""
            ขอแสดงความนับถือ | ด้วยความเคารพ | ด้วยความนับถือ | สวัสดีครับ | สวัสดีค่ะ
        """,
    ),
    "id": Courtesies(
        greetings="""
            halo | hai | selamat pagi | selamat siang | selamat sore | selamat malam |
            salam | assalamualaikum | assalamu'alaikum | yth | dengan hormat | permisi |
            kepada yth | halo selamat pagi | salam sejahtera
        """,
        to_whom="""
            semua | semuanya | kak | min | admin | bapak | ibu | bapak/ibu | bapak ibu |
            pak | bu | tim | teman-teman | gan | mas | mbak | rekan-rekan | saudara |
            selamat pagi | selamat siang
        """,
        thanks="""
            terima kasih | terimakasih | makasih | terima kasih banyak |
            terima kasih sebelumnya | terima kasih atas bantuannya |
            terima kasih atas bantuan anda | terima kasih atas perhatiannya |
            sebelumnya terima kasih | mohon bantuannya | makasih banyak | makasih ya |
            trims | mohon dibantu | atas perhatiannya terima kasih |
            terima kasih dan salam
        """,
        after_thanks="""
            sebelumnya | banyak | atas bantuannya | atas bantuan anda |
            atas perhatiannya | atas perhatian anda | atas jawabannya | ya | semua |
            kak | min
        """,
        regards="""
            hormat saya | hormat kami | salam | salam hormat | salam hangat |
            salam sejahtera | wassalam | sampai jumpa | semoga harimu menyenangkan
        """,
    ),
}


def _of_languages(kind: str) -> frozenset[str]:
    """The phrases of a kind, a field of `Courtesies`, of all languages."""
    return _phrases("|".join(getattr(known, kind) for known in COURTESIES.values()))


# Names may follow them.
GREETINGS = _of_languages("greetings") | _phrases("""
    fyi | see below | please see below | siehe unten | zur info | zur kenntnis |
    voir ci-dessous | vedi sotto | hi | hiya | hello | hey | dear | greetings |
    good morning | good afternoon | good evening | good day |
    to whom it may concern | hei | god morgon | goddag | bästa | kära |
    dobrý den | ahoj | vážení | добрий день | вітаю | เรียน
""")
# At the end of a mail; names and addresses follow.
REGARDS = _of_languages("regards") | _phrases("""
    best regards | kind regards | kindest regards | warm regards |
    warmest regards | regards | many regards | with kind regards |
    with best regards | best wishes | with best wishes | sincerely |
    sincerely yours | yours sincerely | yours faithfully | yours truly | yours |
    respectfully | cheers | best | all the best | br | kr | rgds |
    thanks and regards | thanks & regards | thanks and best regards |
    thank you and best regards | thanks and kind regards | have a nice day |
    have a great day | have a good day | have a nice weekend |
    med vänlig hälsning | med vänliga hälsningar | vänliga hälsningar | mvh |
    hilsen | med venlig hilsen | med vennlig hilsen | s pozdravem |
    з повагою | よろしくお願いいたします | よろしくお願いします |
    よろしくお願い致します | 宜しくお願いいたします | 宜しくお願いします
""")
# A sign-off, too, unless text follows.
THANKS = _of_languages("thanks") | _phrases("""
    thanks | thank you | thanks in advance | thank you in advance |
    many thanks | many thanks in advance | thanks a lot | thanks so much |
    thank you very much | thank you so much | thanks very much | thx | ty |
    tia | thanks for your help | thank you for your help | thanks for any help |
    tack | tack på förhand | takk | děkuji | děkuji předem | дякую |
    謝謝
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
