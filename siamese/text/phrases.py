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
            grüß gott | grüß dich | tach | liebe | lieber | liebes |
            sehr geehrte | sehr geehrter | sehr geehrtes | werte | werter |
            mahlzeit | guten tag zusammen | schönen tag |
            wunderschönen guten morgen | einen guten tag | einen guten morgen |
            n'abend | nabend | hallöchen | grüß euch | hallihallo | seid gegrüßt |
            hi zusammen | moinsen
        """,
        to_whom="""
            zusammen | miteinander | team | liebes team | leute | alle | an alle |
            allerseits | damen und herren | herr | frau | kollegen |
            kolleginnen und kollegen | kolleginnen | kollege | kollegin |
            ihr lieben | freunde | forum | community | support | support-team |
            kundenservice | kundendienst | it | it-team | helpdesk | kollegium |
            service-team | leserinnen und leser | mitglieder | nutzer |
            forenmitglieder | liebe leute | liebes forum | it-support |
            kundenservice-team | ansprechpartner
        """,
        thanks="""
            danke | vielen dank | vielen lieben dank | besten dank |
            herzlichen dank | lieben dank | tausend dank | danke schön |
            dankeschön | danke sehr | danke dir | danke euch | danke ihnen |
            schon mal danke | schonmal danke | schon mal vielen dank |
            vorab danke | vorab vielen dank | schon jetzt vielen dank |
            ich danke ihnen | ich bedanke mich | danke und gruß |
            danke und viele grüße | vielen dank und viele grüße |
            danke im voraus | vielen dank im voraus | danke vielmals |
            herzlichsten dank | recht herzlichen dank | dank im voraus |
            haben sie vielen dank | merci vielmals | ich wäre ihnen dankbar |
            ich bin für jede hilfe dankbar | für hilfe wäre ich dankbar |
            über eine antwort würde ich mich freuen |
            ich freue mich auf eine antwort | danke für alles |
            großes dankeschön | danke schön im voraus
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
            für ihr verständnis | für alles | für die rückmeldung |
            für ihre rückmeldung | für eine rückmeldung | für die info |
            für die schnelle antwort | für ihre geduld | für deine antwort |
            für deine zeit
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
            ich freue mich auf ihre antwort | gruß und dank |
            mit freundlichem gruße | mit sonnigen grüßen | freundlichst |
            viele liebe grüße | ganz liebe grüße | beste wünsche |
            ich wünsche einen schönen tag | noch einen schönen tag |
            schönen abend noch | schönen feierabend | auf wiedersehen | bis dann |
            alles gute
        """,
    ),
    "fr": Courtesies(
        greetings="""
            bonjour | bonsoir | salut | coucou | cher | chère | chers | chères |
            madame | monsieur | madame, monsieur | rebonjour | bonjour à tous |
            bonjour à toutes et à tous | bien le bonjour | bonjour tout le monde |
            hello à tous | bonjour à vous | chers tous | chère équipe |
            madame, mademoiselle, monsieur | mesdames, messieurs |
            mesdames et messieurs | bonjour bonjour
        """,
        to_whom="""
            à tous | à toutes | à toutes et à tous | tout le monde | madame |
            monsieur | mesdames | messieurs | mesdames et messieurs |
            madame et monsieur | l'équipe | à l'équipe | toute l'équipe |
            collègue | collègues | les amis | service client | support |
            la communauté | l'équipe support | le support | à vous | la team |
            les gens | chers collègues | mademoiselle | les amis du forum
        """,
        thanks="""
            merci | merci beaucoup | merci bien | merci d'avance |
            merci par avance | un grand merci | mille mercis | je vous remercie |
            je vous remercie d'avance | en vous remerciant |
            en vous remerciant d'avance | avec mes remerciements |
            d'avance merci | merci et bonne journée | merci infiniment |
            merci à vous | merci à tous | merci pour tout | merci encore |
            grand merci | tous mes remerciements | avec tous mes remerciements |
            je vous en remercie | je vous en remercie d'avance |
            je vous remercie par avance | en vous remerciant par avance |
            je vous serais reconnaissant | merci de votre aide |
            merci de votre réponse | dans l'attente de votre réponse |
            dans l'attente de votre retour
        """,
        after_thanks="""
            d'avance | par avance | à tous | à vous | pour votre aide |
            pour votre réponse | pour vos réponses | pour ton aide | pour l'aide |
            de votre aide | de votre réponse | pour votre retour | pour tout |
            infiniment | et bonne journée | et bonne soirée |
            pour votre retour rapide | pour votre réponse rapide |
            pour votre aide précieuse | pour votre compréhension |
            pour votre attention | pour votre temps | pour vos conseils |
            pour tes conseils | pour votre soutien | pour ton temps |
            pour les réponses
        """,
        regards="""
            cordialement | bien cordialement | très cordialement |
            sincères salutations | meilleures salutations | mes salutations |
            salutations distinguées | salutations | bien à vous | bien à toi |
            amicalement | bonne journée | bonne soirée | excellente journée |
            belle journée | cdlt | à bientôt | respectueusement |
            bonne fin de journée | bon après-midi | bon week-end |
            cordiales salutations | bien sincèrement | sincèrement |
            avec mes salutations | amitiés | bises | bien respectueusement |
            bonne continuation | passez une bonne journée |
            veuillez agréer mes salutations distinguées |
            je vous souhaite une bonne journée | bon courage
        """,
    ),
    "es": Courtesies(
        greetings="""
            hola | buenos días | buenas tardes | buenas noches | buen día |
            buenas | muy buenas | estimado | estimada | estimados | estimadas |
            querido | querida | queridos | hola buenas | hola buenos días |
            saludos a todos | qué tal | hola a todos | hola qué tal |
            hola buenas tardes | hola buenas noches | muy buenos días |
            muy buenas tardes | apreciado | apreciada | apreciados | distinguido |
            distinguidos | saludos | cordial saludo | holi | a quien corresponda
        """,
        to_whom="""
            a todos | a todas | a todos y todas | todos | todas | amigos |
            equipo | señor | señora | señores | señor/a | sr | sra | sres |
            compañeros | compañeras | colega | colegas | cliente | gente |
            buenas | buenos días | buenas tardes | qué tal | soporte | foro |
            estimados | equipo de soporte | servicio al cliente |
            atención al cliente | grupo | comunidad | amigo | amiga | chicos |
            señoras y señores | muy buenas
        """,
        thanks="""
            gracias | muchas gracias | mil gracias | muchísimas gracias |
            gracias de antemano | muchas gracias de antemano |
            muchas gracias por adelantado | desde ya gracias |
            desde ya muchas gracias | de antemano gracias |
            de antemano, muchas gracias | le agradezco | les agradezco |
            os agradezco | se agradece | muy agradecido | muy agradecida |
            gracias y un saludo | gracias y saludos | un saludo y gracias |
            gracias por todo | se lo agradezco | os lo agradezco |
            se lo agradecería | le agradecería su ayuda |
            les agradezco de antemano | agradezco su ayuda |
            agradezco de antemano | agradecido de antemano | quedo a la espera |
            quedo atento | quedo atenta | quedo a la espera de su respuesta |
            un millón de gracias | gracias anticipadas | infinitas gracias
        """,
        after_thanks="""
            de antemano | por adelantado | por su ayuda | por tu ayuda |
            por vuestra ayuda | por la ayuda | por todo | por su respuesta |
            por vuestra respuesta | por su atención | a todos | y saludos |
            y un saludo | por su tiempo | por su comprensión |
            por vuestro tiempo | por la atención | por responder | por tu tiempo |
            por tu respuesta | por sus respuestas | por la información |
            por el apoyo | anticipadas
        """,
        regards="""
            saludos | saludos cordiales | un saludo | un cordial saludo |
            cordiales saludos | muchos saludos | un abrazo | atentamente | atte |
            cordialmente | que tenga un buen día | hasta pronto | buen día |
            reciba un cordial saludo | reciban un cordial saludo |
            con un cordial saludo | un fuerte abrazo | besos | afectuosamente |
            respetuosamente | que tengan un buen día | buena tarde | feliz día |
            buen fin de semana | hasta luego | saluda atentamente |
            le saluda atentamente | cuídense
        """,
    ),
    "it": Courtesies(
        greetings="""
            ciao | salve | buongiorno | buon giorno | buonasera | buona sera |
            buon pomeriggio | gentile | gentili | gentilissimi | egregio |
            egregi | spettabile | caro | cara | cari | care | spett.le | spett |
            buongiorno a tutti | ciao ciao | gentile cliente | gentilissimo |
            gentilissima | egregia | stimato | buondì | saluti a tutti |
            buona giornata a tutti | a chi di competenza | ehilà
        """,
        to_whom="""
            a tutti | a tutte | tutti | a voi | azienda | ditta | signore |
            signora | signori | sig | team | amici | ragazzi | colleghi |
            collega | assistenza | servizio clienti | supporto | signor |
            gentili signori | gente | forum | a voi tutti | squadra | community |
            staff | redazione
        """,
        thanks="""
            grazie | grazie mille | mille grazie | molte grazie | tante grazie |
            grazie in anticipo | grazie anticipatamente | vi ringrazio |
            la ringrazio | ti ringrazio | ringrazio in anticipo | ringrazio |
            vi ringrazio in anticipo | la ringrazio in anticipo |
            grazie e saluti | grazie e buona giornata | resto in attesa |
            grazie di cuore | grazie di tutto | grazie infinite | grazie tante |
            grazie ancora | vi ringrazio molto | la ringrazio molto |
            ringraziando in anticipo | ringraziandovi in anticipo |
            vi sarei grato | le sarei grato | attendo risposta |
            in attesa di risposta | in attesa di un riscontro |
            in attesa di un vostro riscontro | un grazie anticipato |
            grazie per tutto
        """,
        after_thanks="""
            in anticipo | anticipatamente | a tutti | per l'aiuto |
            per il vostro aiuto | per il suo aiuto | per la risposta |
            per la vostra risposta | per la disponibilità | di tutto | di cuore |
            e saluti | e buona giornata | di un riscontro |
            di un vostro riscontro | di una risposta | di una vostra risposta |
            per il riscontro | per l'attenzione | per il supporto | per il tempo |
            per la pazienza | per la collaborazione | per il tuo aiuto |
            per la cortese attenzione | infinite
        """,
        regards="""
            cordiali saluti | distinti saluti | saluti | un saluto |
            tanti saluti | cari saluti | un cordiale saluto | buona giornata |
            buona serata | buon lavoro | cordialmente | a presto | in fede |
            con i migliori saluti | i migliori saluti | i miei saluti |
            un caro saluto | con cordialità | buon pomeriggio | buon weekend |
            buon fine settimana | arrivederci | un abbraccio | ossequi |
            le auguro una buona giornata | con stima
        """,
    ),
    "pt": Courtesies(
        greetings="""
            olá | oi | bom dia | boa tarde | boa noite | prezado | prezada |
            prezados | prezadas | caro | cara | caros | caras | estimados |
            estimado | exmos | olá bom dia | viva | tudo bem | oi tudo bem |
            olá tudo bem | oi gente | boas | muito bom dia | muito boa tarde |
            olá boa tarde | olá boa noite | excelentíssimo | exmo | exma |
            ilustríssimo | e aí | saudações a todos | a quem possa interessar
        """,
        to_whom="""
            a todos | a todas | pessoal | gente | todos | equipe | equipa |
            senhor | senhora | senhores | sr | sra | amigos | colega | colegas |
            suporte | galera | bom dia | boa tarde | tudo bem | turma | malta |
            time | amigo | amiga | povo | equipe de suporte | atendimento |
            prezados | doutor | doutora | senhoras e senhores
        """,
        thanks="""
            obrigado | obrigada | muito obrigado | muito obrigada |
            obrigado desde já | obrigada desde já | desde já agradeço |
            desde já obrigado | desde já muito obrigado | agradeço desde já |
            agradeço | agradecido | agradecida | grato | grata | grato desde já |
            valeu | obrigado e cumprimentos | obrigadão | obrigadíssimo |
            muito grato | muito grata | muitíssimo obrigado | agradecemos |
            agradeço a ajuda | agradeço antecipadamente |
            obrigado antecipadamente | obrigado por tudo | fico agradecido |
            fico no aguardo | aguardo retorno | aguardo resposta | mil obrigados |
            agradeço a atenção | brigado
        """,
        after_thanks="""
            desde já | pela ajuda | pela atenção | pela resposta | por tudo |
            pela vossa ajuda | pela sua ajuda | a todos | antecipadamente |
            a ajuda | a atenção | pelo apoio | pelo retorno | pelo tempo |
            pela paciência | pela compreensão | por responder | pelo suporte
        """,
        regards="""
            atenciosamente | com os melhores cumprimentos |
            melhores cumprimentos | cumprimentos | com cumprimentos | abraços |
            um abraço | abraço | att | cordialmente | saudações | até breve |
            tenha um bom dia | bom trabalho | abs | bom dia | boa tarde |
            boa noite | bom fim de semana | com os meus cumprimentos |
            respeitosamente | com estima | beijos | um grande abraço |
            forte abraço | até logo | até mais | bom final de semana |
            um bom dia | uma boa tarde | tenha uma boa tarde |
            tenha uma ótima semana | cordiais saudações
        """,
    ),
    "nl": Courtesies(
        greetings="""
            hallo | hoi | goedemorgen | goedemiddag | goedenavond | goedendag |
            dag | beste | geachte | lieve | hoi hoi | goeiemorgen | goeiedag |
            hoi iedereen | hallo allemaal | hallo daar | goedenmorgen |
            goedenmiddag | goeiemiddag | goeieavond | waarde | dag allemaal |
            hee | heej | beste allemaal
        """,
        to_whom="""
            allemaal | allen | iedereen | team | mensen | heer | mevrouw |
            heer/mevrouw | heer of mevrouw | meneer | dames en heren | collega |
            collega's | klantenservice | helpdesk | daar | samen |
            mensen van de helpdesk | leden | forumleden | vrienden |
            mevrouw of meneer | supportteam | medewerker | redactie | lezer
        """,
        thanks="""
            bedankt | alvast bedankt | dank je | dank u | dank je wel |
            dank u wel | dankjewel | dankuwel | heel erg bedankt |
            hartelijk dank | hartelijk bedankt | veel dank | alvast dank |
            bij voorbaat dank | bij voorbaat bedankt | bedankt alvast |
            dank alvast | bedankt en groeten | dank | dank jullie wel |
            hartelijk dank alvast | heel veel dank | veel dank alvast | met dank |
            met dank bij voorbaat | dank voor alles | ontzettend bedankt |
            super bedankt | ik hoor het graag | ik hoor graag van u |
            graag uw reactie | zeer bedankt
        """,
        after_thanks="""
            alvast | voor de hulp | voor uw hulp | voor je hulp |
            voor jullie hulp | voor de moeite | voor uw reactie |
            voor je reactie | voor het antwoord | bij voorbaat | en groeten |
            voor uw antwoord | voor uw tijd | voor jullie tijd | voor alles |
            voor de reactie | voor de snelle reactie | voor je tijd |
            voor de informatie | voor het meedenken | voor jullie moeite
        """,
        regards="""
            met vriendelijke groet | met vriendelijke groeten |
            vriendelijke groet | vriendelijke groeten | met hartelijke groet |
            hartelijke groet | hartelijke groeten | groeten | groet | groetjes |
            mvg | fijne dag | fijne dag nog | prettige dag | hoogachtend |
            tot ziens | met de beste groeten | beste groeten | de groeten |
            veel groeten | warme groet | liefs | fijn weekend | prettig weekend |
            fijne avond | nog een fijne dag | een fijne dag | tot horens |
            met hoogachting | succes
        """,
    ),
    "pl": Courtesies(
        greetings="""
            dzień dobry | dobry wieczór | witam | witajcie | cześć | hej |
            szanowni państwo | szanowny panie | szanowna pani | szanowna firmo |
            drodzy | witam serdecznie | dobry | siema | siemka | czołem |
            dzień dobry państwu | witam państwa | witaj | szanowna redakcjo |
            szanowny kliencie | drogi | droga | hejka | witam wszystkich |
            cześć wszystkim
        """,
        to_whom="""
            wszystkim | wszystkich | państwa | panie | pani | panowie | zespole |
            koledzy | koleżanki | kolego | serdecznie | forumowicze | wam |
            kolego i koleżanko | drodzy | ludzie | zespół | forumowiczów |
            użytkownicy | redakcjo | panowie i panie
        """,
        thanks="""
            dziękuję | dziękuje | dziękujemy | z góry dziękuję | z góry dzięki |
            z góry dziękuje | dzięki | wielkie dzięki | dzięki z góry |
            dziękuję z góry | bardzo dziękuję | serdecznie dziękuję |
            dziękuję bardzo | dziękuję i pozdrawiam | będę wdzięczny |
            będę wdzięczna | z góry dziękuję za pomoc | dzięki wielkie |
            dziękuję serdecznie | serdeczne dzięki | dziękuję ślicznie |
            dziękuję pięknie | z góry serdecznie dziękuję |
            z góry bardzo dziękuję | dziękuję za wszystko | byłbym wdzięczny |
            byłabym wdzięczna | czekam na odpowiedź | proszę o odpowiedź |
            z góry dziękujemy | dzięki za pomoc | dziękuję za uwagę |
            wdzięczny z góry
        """,
        after_thanks="""
            z góry | bardzo | za pomoc | za odpowiedź | za wszelką pomoc |
            za każdą pomoc | za informację | za wszystko | i pozdrawiam |
            i miłego dnia | za wsparcie | za szybką odpowiedź |
            za poświęcony czas | za rady | za uwagę | serdecznie | państwu
        """,
        regards="""
            pozdrawiam | serdecznie pozdrawiam | pozdrawiam serdecznie |
            z poważaniem | z pozdrowieniami | pozdrowienia | pozdro |
            miłego dnia | do widzenia | życzę miłego dnia | z wyrazami szacunku |
            z wyrazami uznania | łączę pozdrowienia | łączę wyrazy szacunku |
            serdeczne pozdrowienia | ciepło pozdrawiam | miłego wieczoru |
            miłego weekendu | dobrego dnia | życzę miłego wieczoru | na razie |
            do zobaczenia | do usłyszenia
        """,
    ),
    "ru": Courtesies(
        greetings="""
            здравствуйте | здравствуй | добрый день | доброе утро | добрый вечер |
            доброго дня | доброго времени суток | привет | приветствую |
            уважаемые | уважаемый | уважаемая | дорогие | всем привет |
            всем здравствуйте | доброй ночи | добрейшего дня | здравия желаю |
            салют | хай | приветик | приветствую вас | мое почтение |
            уважаемые господа | уважаемые коллеги | дорогой | дорогая |
            день добрый | всем доброго дня | всем добрый день
        """,
        to_whom="""
            всем | коллеги | друзья | господа | команда | господин | госпожа |
            ребята | поддержка | служба поддержки | форумчане | дамы и господа |
            вас | народ | всех | все | форум | специалисты | администрация |
            пользователи | товарищи | уважаемые коллеги | друг
        """,
        thanks="""
            спасибо | большое спасибо | огромное спасибо | заранее спасибо |
            спасибо заранее | спасибо большое | заранее благодарю |
            заранее благодарен | заранее благодарна | благодарю | благодарю вас |
            благодарю заранее | спасибо за помощь | буду благодарен |
            буду благодарна | буду признателен | всем спасибо | спасибо всем |
            премного благодарен | премного благодарна | спасибо огромное |
            спасибо большущее | благодарим | благодарю за помощь |
            спасибо за внимание | спасибо за ответ | с благодарностью |
            очень признателен | очень благодарен | очень благодарна | жду ответа |
            жду вашего ответа | заранее признателен | заранее спасибо большое |
            спасибо вам
        """,
        after_thanks="""
            заранее | большое | за помощь | за ответ | за ответы |
            за вашу помощь | за внимание | всем | за поддержку | за понимание |
            за потраченное время | за совет | за советы | огромное | вам
        """,
        regards="""
            с уважением | с наилучшими пожеланиями | всего доброго |
            всего хорошего | хорошего дня | удачи | до свидания | с приветом |
            с наилучшими | всех благ | всего наилучшего | с почтением |
            с искренним уважением | искренне ваш | до встречи | до связи |
            хорошего вечера | хороших выходных | доброго дня | пока
        """,
    ),
    "tr": Courtesies(
        greetings="""
            merhaba | merhabalar | iyi günler | iyi akşamlar | günaydın | selam |
            selamlar | sayın | değerli | sevgili | selamün aleyküm |
            iyi çalışmalar | kolay gelsin | herkese merhaba | iyi geceler |
            iyi sabahlar | hayırlı günler | hayırlı sabahlar | hayırlı akşamlar |
            selamlar herkese | merhaba arkadaşlar | kıymetli | saygıdeğer |
            selamun aleyküm | esenlikler | tünaydın | iyi haftalar
        """,
        to_whom="""
            herkese | arkadaşlar | hocam | ekip | yetkili | bay | bayan |
            efendim | dostlar | millet | destek ekibi | ilgili | iyi günler |
            hocalarım | hanımefendi | beyefendi | ekibi | müşteri hizmetleri |
            değerli arkadaşlar | üyeler | forum üyeleri | dostlarım | yetkililer
        """,
        thanks="""
            teşekkürler | teşekkür ederim | teşekkür ederiz | çok teşekkürler |
            çok teşekkür ederim | şimdiden teşekkürler |
            şimdiden teşekkür ederim | şimdiden çok teşekkürler | sağ olun |
            sağol | sağolun | yardımınız için teşekkürler |
            yardımınız için teşekkür ederim | yardımlarınız için teşekkürler |
            cevabınız için teşekkürler | ilginiz için teşekkürler |
            ilginiz için teşekkür ederim | teşekkürler iyi günler |
            teşekkürler, iyi çalışmalar | çok sağ olun | çok sağolun |
            minnettarım | çok minnettar kalırım | teşekkürü borç bilirim |
            yardımınıza teşekkürler | ilginize teşekkürler | emeğinize sağlık |
            şimdiden sağ olun | şimdiden sağolun |
            ilginiz ve yardımınız için teşekkürler | cevabınızı bekliyorum |
            yardımcı olursanız sevinirim | teşekkür ederim iyi çalışmalar |
            teşekkürlerimi sunarım | allah razı olsun
        """,
        after_thanks="""
            şimdiden | iyi günler | iyi çalışmalar | herkese | çok |
            iyi akşamlar | iyi haftalar
        """,
        regards="""
            saygılarımla | saygılarımızla | saygılar | iyi çalışmalar |
            iyi günler | kolay gelsin | sevgiler | selamlar |
            en iyi dileklerimle | hoşça kalın | saygı ve sevgilerimle |
            saygı ve selamlar | saygılar sunarım | saygılarımı sunarım |
            sevgi ve saygılarımla | iyi akşamlar | iyi geceler | iyi haftalar |
            hayırlı günler | sevgilerimle | görüşmek üzere | hoşçakalın |
            iyi dileklerimle
        """,
    ),
    "ar": Courtesies(
        greetings="""
            مرحبا | مرحباً | مرحبًا | أهلا | أهلاً | أهلا وسهلا | السلام عليكم |
            السلام عليكم ورحمة الله | السلام عليكم ورحمة الله وبركاته |
            صباح الخير | مساء الخير | تحية طيبة | تحية طيبة وبعد | عزيزي |
            السادة | السادة الكرام | أعزائي | مرحبا بكم | مرحبا جميعا |
            أهلا وسهلا بكم | صباح النور | مساء النور | نهاركم سعيد | طاب يومكم |
            طابت أوقاتكم | يوم سعيد | سلام عليكم | سلام | تحياتي لكم |
            السيد المحترم | حضرة السادة | هلا
        """,
        to_whom="""
            جميعا | جميعاً | بكم | الكرام | المحترمين | أصدقائي | يا شباب |
            فريق الدعم | سيدي | سيدتي | للجميع | يا أصدقاء | أيها الأصدقاء |
            أيها الزملاء | زملائي | إخواني | يا جماعة | الأعزاء | بالجميع
        """,
        thanks="""
            شكرا | شكراً | شكرًا | شكرا لكم | شكراً لكم | شكرا جزيلا |
            شكراً جزيلاً | شكرا مقدما | شكراً مقدماً | شكرا لمساعدتكم |
            شكراً لمساعدتكم | جزاكم الله خيرا | جزاك الله خيرا | مع الشكر |
            مع جزيل الشكر | ولكم جزيل الشكر | ولكم الشكر | وشكرا | وشكراً |
            أشكركم | أشكركم مقدما | جزاكم الله خيراً | جزاك الله خيراً |
            جزيل الشكر | شكرا لك | شكراً لك | شكرا جزيلا لكم | شكراً جزيلاً لكم |
            ألف شكر | لكم جزيل الشكر | شاكرين لكم | شاكرا لكم | شاكرين تعاونكم |
            أكون شاكرا | بارك الله فيكم | بارك الله فيك | مع الشكر والتقدير |
            شكرا سلفا | شكرا على المساعدة | وجزاكم الله خيرا | ممنون لكم
        """,
        after_thanks="""
            مقدما | مقدماً | جزيلا | جزيلاً | لكم | لك | على المساعدة |
            على مساعدتكم | لمساعدتكم | على اهتمامكم | للجميع | على وقتكم |
            على تعاونكم | على الرد | سلفا | جميعا
        """,
        regards="""
            مع أطيب التحيات | مع خالص التحية | مع التحية | تحياتي | مع تحياتي |
            وتفضلوا بقبول فائق الاحترام | والسلام عليكم | مع السلامة |
            يومكم سعيد | مع فائق الاحترام | وتقبلوا تحياتي | تقبلوا تحياتي |
            دمتم بخير | دمتم سالمين | إلى اللقاء | مع أطيب التمنيات |
            مع الاحترام | ودمتم | تحياتنا | طاب يومكم | نهاركم سعيد
        """,
    ),
    "zh": Courtesies(
        greetings="""
            你好 | 您好 | 大家好 | 早上好 | 上午好 | 下午好 | 晚上好 | 各位好 |
            尊敬的 | 嗨 | 哈喽 | 客服您好 | 客服你好 | 请问一下 | 你们好 |
            老师好 | 老师您好 | 各位老师好 | 老师们好 | 同学们好 | 各位朋友好 |
            朋友们好 | 各位大神好 | 您们好 | 诸位好 | 亲们好 | 亲 | 早安 | 午安 |
            晚安 | 早 | 大家早上好 | 大家晚上好 | 大家下午好 | 各位老师 |
            各位大佬 | 各位大佬好 | 各位朋友 | 客服 | 在吗 | 打扰了 | 打扰一下 |
            不好意思打扰了 | 您好，打扰了
        """,
        to_whom="""
            客服 | 各位 | 大家 | 老师 | 先生 | 女士 | 朋友们 | 同事们 | 团队 |
            同学们 | 您好 | 你好 | 管理员 | 工作人员 | 大佬们 | 小伙伴们 | 亲们 |
            经理
        """,
        thanks="""
            谢谢 | 多谢 | 感谢 | 非常感谢 | 万分感谢 | 十分感谢 | 谢谢您 |
            谢谢你 | 谢谢你们 | 谢谢大家 | 谢谢帮助 | 谢谢您的帮助 |
            感谢您的帮助 | 先谢谢了 | 先谢了 | 谢谢了 | 提前感谢 | 提前谢谢 |
            谢谢啦 | 麻烦您了 | 麻烦了 | 辛苦了 | 拜托了 | 感激不尽 | 谢谢！祝好 |
            谢谢各位 | 多谢各位 | 多谢了 | 感谢大家 | 感谢各位 | 感谢您 | 感谢你 |
            衷心感谢 | 不胜感激 | 在此先谢过 | 先谢过 | 先行谢过 | 预先感谢 |
            有劳了 | 劳驾 | 劳烦了 | 烦请回复 | 望回复 | 请尽快回复 | 期待回复 |
            谢谢您的回复 | 感谢您的回复 | 谢谢您的帮忙 | 谢谢老师 | 谢谢客服 |
            十分感激 | 拜谢
        """,
        after_thanks="""
            您 | 了 | 啦 | 大家 | 各位 | 您的帮助 | 您的回复 | 各位的帮助 | 你 |
            老师 | 客服 | 的帮助 | 您的支持 | 您的耐心
        """,
        regards="""
            此致 | 此致敬礼 | 此致 敬礼 | 祝好 | 顺祝商祺 | 敬上 | 祝您愉快 |
            祝工作顺利 | 祝您生活愉快 | 期待您的回复 | 盼复 | 再见 |
            祝您工作顺利 | 祝您一切顺利 | 祝一切顺利 | 祝好运 | 祝安好 | 谨上 |
            顺颂商祺 | 祝您身体健康 | 祝您有愉快的一天 | 静候佳音 | 等待您的回复 |
            回头见 | 拜拜
        """,
    ),
    "ja": Courtesies(
        greetings="""
            こんにちは | こんばんは | おはようございます |
            お世話になっております | お世話になります |
            いつもお世話になっております | お疲れ様です | お疲れさまです |
            はじめまして | 初めまして | 突然のご連絡失礼いたします | 失礼します |
            失礼いたします | 拝啓 | すみません | 担当者様 | ご担当者様 |
            関係者各位 | 皆さんこんにちは | みなさんこんにちは | 皆様こんにちは |
            いつも大変お世話になっております | 大変お世話になっております |
            お世話さまです | お世話様です | お疲れ様でございます |
            お忙しいところ失礼いたします | お忙しいところすみません |
            夜分に失礼いたします | 夜分遅くに失礼いたします | 恐れ入ります |
            おはようございます皆さん | 皆さんおはようございます |
            みなさんこんばんは | どうも | 前略 | 初めて質問します |
            初めて投稿します | はじめまして、こんにちは | 質問です |
            質問があります | お尋ねします
        """,
        to_whom="""
            皆さん | みなさん | 皆様 | ご担当者様 | 担当者様 | サポートの皆様 |
            先生 | 各位 | サポート担当者様 | スタッフの皆様 | 皆さま |
            ご担当の方 | カスタマーサポート様
        """,
        thanks="""
            ありがとうございます | ありがとうございました | ありがとう |
            有難うございます | よろしくお願いします | よろしくお願いいたします |
            よろしくお願い致します | 宜しくお願いします | 宜しくお願いいたします |
            宜しくお願い致します | どうぞよろしくお願いします |
            どうぞよろしくお願いいたします | 何卒よろしくお願いいたします |
            よろしくお願い申し上げます | お願いします | お願いいたします |
            教えてください | お手数をおかけします |
            お手数ですがよろしくお願いします | ご回答よろしくお願いします |
            ご回答のほどよろしくお願いします | 助かります |
            お手数をおかけしますが | お手数ですが | お忙しいところ恐れ入りますが |
            ご確認よろしくお願いします | ご対応よろしくお願いします |
            どうぞよろしく | 誠にありがとうございます |
            どうもありがとうございます | どうもありがとう |
            ありがとうございますm(__)m | 宜しくお願い申し上げます |
            何卒宜しくお願いいたします | 何卒よろしくお願い申し上げます |
            どうぞ宜しくお願いします | よろしくお願いします！ | よろしくです |
            よろしく | ご教示ください | ご教示いただけますと幸いです |
            ご教授ください | 教えていただけると助かります |
            教えていただけますでしょうか | 教えて頂けると幸いです |
            ご回答いただけると幸いです | ご返信いただけますと幸いです |
            回答お願いします | ご回答お願いします | 感謝いたします | 感謝します |
            助けてください | 大変助かります
        """,
        after_thanks="",
        regards="""
            敬具 | 以上です | 以上 | 失礼します | 失礼いたします |
            お返事お待ちしております | ご返信お待ちしております |
            ご回答お待ちしております | ご回答をお待ちしております |
            ご連絡お待ちしております | 草々 | かしこ | それでは |
            それではよろしくお願いします | では失礼します |
            それでは失礼いたします | お待ちしております |
            ご返事お待ちしております | 良い一日を | またよろしくお願いします
        """,
    ),
    "ko": Courtesies(
        greetings="""
            안녕하세요 | 안녕하십니까 | 안녕 | 반갑습니다 | 수고하십니다 |
            수고 많으십니다 | 안녕하세요 여러분 | 여러분 안녕하세요 | 수고하세요 |
            처음 뵙겠습니다 | 담당자님 안녕하세요 | 관리자님 안녕하세요 |
            고객센터 담당자님 안녕하세요 | 안녕하세요 반갑습니다 |
            다들 안녕하세요 | 모두 안녕하세요 | 여러분 반갑습니다 |
            좋은 아침입니다 | 좋은 하루입니다 | 수고가 많으십니다 |
            수고 많으세요 | 항상 수고 많으십니다 | 문의드립니다 | 문의 드립니다 |
            질문드립니다 | 질문 있습니다 | 질문이 있습니다 | 실례합니다 | 하이 |
            안녕들 하세요 | 고생 많으십니다
        """,
        to_whom="""
            여러분 | 담당자님 | 선생님 | 고객센터 | 팀장님 | 관리자님 | 고객님 |
            운영자님 | 매니저님 | 고수님들 | 회원님들 | 담당자분 | 모두
        """,
        thanks="""
            감사합니다 | 고맙습니다 | 감사해요 | 고마워요 | 감사드립니다 |
            미리 감사합니다 | 미리 감사드립니다 | 미리 고맙습니다 |
            정말 감사합니다 | 대단히 감사합니다 | 도와주셔서 감사합니다 |
            답변 부탁드립니다 | 답변 부탁드려요 | 답변 부탁합니다 | 부탁드립니다 |
            부탁드려요 | 빠른 답변 부탁드립니다 | 잘 부탁드립니다 |
            답변 감사합니다 | 답변 기다리겠습니다 | 답변 기다릴게요 |
            기다리겠습니다 | 답변 주시면 감사하겠습니다 |
            도움 주시면 감사하겠습니다 | 도움 부탁드립니다 | 확인 부탁드립니다 |
            감사합니다! | 감사합니다~ | 정말 고맙습니다 | 진심으로 감사드립니다 |
            진심으로 감사합니다 | 항상 감사합니다 | 매번 감사합니다 |
            감사하겠습니다 | 알려주시면 감사하겠습니다 |
            도와주시면 감사하겠습니다 | 도와주세요 | 알려주세요 |
            꼭 부탁드립니다 | 잘 부탁드려요 | 잘 부탁합니다 | 회신 부탁드립니다 |
            회신 기다리겠습니다 | 빠른 회신 부탁드립니다 |
            빠른 답변 기다리겠습니다 | 답변 주시면 감사합니다 |
            바쁘신데 감사합니다 | 시간 내주셔서 감사합니다 | 읽어주셔서 감사합니다
        """,
        after_thanks="",
        regards="""
            드림 | 올림 | 안녕히 계세요 | 수고하세요 | 수고하십시오 |
            좋은 하루 되세요 | 좋은 하루 보내세요 | 즐거운 하루 되세요 |
            그럼 안녕히 계세요 | 그럼 수고하세요 | 수고하십시요 |
            안녕히 계십시오 | 좋은 하루 되십시오 | 행복한 하루 되세요 |
            좋은 주말 되세요 | 건강하세요 | 이만 줄이겠습니다 | 배상
        """,
    ),
    "th": Courtesies(
        greetings="""
            สวัสดี | สวัสดีครับ | สวัสดีค่ะ | สวัสดีคะ | สวัสดีทุกคน |
            สวัสดีครับทุกคน | สวัสดีค่ะทุกคน | เรียนทุกท่าน | เรียนเจ้าหน้าที่ |
            หวัดดี | หวัดดีครับ | หวัดดีค่ะ | อรุณสวัสดิ์ | ขอสอบถามหน่อยครับ |
            ขอสอบถามหน่อยค่ะ | สอบถามครับ | สอบถามค่ะ | รบกวนสอบถามครับ |
            รบกวนสอบถามค่ะ | สวัสดีตอนเช้า | สวัสดีตอนเช้าครับ |
            สวัสดีตอนเช้าค่ะ | สวัสดีตอนบ่ายครับ | สวัสดีตอนบ่ายค่ะ |
            สวัสดีทุกท่าน | สวัสดีครับทุกท่าน | สวัสดีค่ะทุกท่าน | สวัสดีแอดมิน |
            สวัสดีครับแอดมิน | สวัสดีค่ะแอดมิน | เรียนแอดมิน | เรียนทีมงาน |
            เรียนคุณ | ขออนุญาตสอบถามครับ | ขออนุญาตสอบถามค่ะ | ขอสอบถามครับ |
            ขอสอบถามค่ะ | ขอถามหน่อยครับ | ขอถามหน่อยค่ะ | ขอโทษครับ | ขอโทษค่ะ |
            ดีครับ | ดีค่ะ | ฮัลโหล
        """,
        to_whom="""
            ทุกคน | ทุกท่าน | ทีมงาน | เจ้าหน้าที่ | พี่ๆ | เพื่อนๆ | แอดมิน |
            ครับ | ค่ะ | พี่ | น้อง | ผู้ดูแล | ฝ่ายบริการลูกค้า | สมาชิก
        """,
        thanks="""
            ขอบคุณ | ขอบคุณครับ | ขอบคุณค่ะ | ขอบคุณคะ | ขอบคุณมาก |
            ขอบคุณมากครับ | ขอบคุณมากค่ะ | ขอบคุณล่วงหน้า | ขอบคุณล่วงหน้าครับ |
            ขอบคุณล่วงหน้าค่ะ | ขอบคุณมากๆครับ | ขอบคุณมากๆค่ะ | ขอบพระคุณ |
            ขอบพระคุณครับ | ขอบพระคุณค่ะ | ขอบใจ | ขอบคุณสำหรับความช่วยเหลือ |
            ขอบคุณสำหรับความช่วยเหลือครับ | ขอบคุณสำหรับความช่วยเหลือค่ะ |
            ขอบคุณมากนะครับ | ขอบคุณมากนะคะ | ขอบคุณนะครับ | ขอบคุณนะคะ |
            ขอบคุณทุกคน | ขอบคุณทุกคนครับ | ขอบคุณทุกคนค่ะ | ขอบคุณทุกคำตอบครับ |
            ขอบคุณทุกคำตอบค่ะ | ขอบคุณอย่างยิ่ง | ขอบคุณเป็นอย่างสูง |
            ขอบพระคุณมาก | ขอบพระคุณมากครับ | ขอบพระคุณมากค่ะ |
            ขอบพระคุณล่วงหน้าครับ | ขอบพระคุณล่วงหน้าค่ะ | ขอบใจมาก |
            รบกวนด้วยครับ | รบกวนด้วยค่ะ | รบกวนด้วยนะครับ | รบกวนด้วยนะคะ |
            ช่วยด้วยครับ | ช่วยด้วยค่ะ | ขอบคุณมากๆ
        """,
        after_thanks="""
            ครับ | ค่ะ | มาก | มากครับ | มากค่ะ | ล่วงหน้า | นะครับ | นะคะ |
            มากนะครับ | มากนะคะ | ทุกคน
        """,
        regards="""
            ขอแสดงความนับถือ | ด้วยความเคารพ | ด้วยความนับถือ | สวัสดีครับ |
            สวัสดีค่ะ | ขอแสดงความนับถืออย่างสูง | ด้วยความเคารพอย่างสูง |
            ด้วยความปรารถนาดี | โชคดีครับ | โชคดีค่ะ | ลาก่อน | สวัสดี
        """,
    ),
    "id": Courtesies(
        greetings="""
            halo | hai | selamat pagi | selamat siang | selamat sore |
            selamat malam | salam | assalamualaikum | assalamu'alaikum | yth |
            dengan hormat | permisi | kepada yth | halo selamat pagi |
            salam sejahtera | hallo semua | hai semua | pagi | siang | sore |
            malam | halo min | halo admin | selamat datang | met pagi |
            met siang | assalamu alaikum | assalamualaikum wr wb |
            assalamualaikum wr. wb | salam kenal | numpang tanya | mohon maaf |
            maaf mengganggu | izin bertanya | mau tanya | om swastiastu
        """,
        to_whom="""
            semua | semuanya | kak | min | admin | bapak | ibu | bapak/ibu |
            bapak ibu | pak | bu | tim | teman-teman | gan | mas | mbak |
            rekan-rekan | saudara | selamat pagi | selamat siang | para ahli |
            guys | sobat | kawan | kawan-kawan | agan | suhu | rekan |
            tim support | layanan pelanggan | kakak | bro | sis
        """,
        thanks="""
            terima kasih | terimakasih | makasih | terima kasih banyak |
            terima kasih sebelumnya | terima kasih atas bantuannya |
            terima kasih atas bantuan anda | terima kasih atas perhatiannya |
            sebelumnya terima kasih | mohon bantuannya | makasih banyak |
            makasih ya | trims | mohon dibantu | atas perhatiannya terima kasih |
            terima kasih dan salam | terima kasih ya | terima kasih kak |
            terima kasih min | terima kasih semuanya |
            terima kasih atas bantuan dan perhatiannya |
            terima kasih atas waktunya | terima kasih atas jawabannya |
            terima kasih sekali | banyak terima kasih | matur nuwun | thanks ya |
            makasih sebelumnya | makasih kak | mohon pencerahannya |
            mohon bantuan | mohon penjelasannya | ditunggu jawabannya |
            saya tunggu jawabannya | atas bantuannya saya ucapkan terima kasih |
            saya ucapkan terima kasih | tolong dibantu | mohon infonya
        """,
        after_thanks="""
            sebelumnya | banyak | atas bantuannya | atas bantuan anda |
            atas perhatiannya | atas perhatian anda | atas jawabannya | ya |
            semua | kak | min | sekali | semuanya | pak | bu | mas | mbak | gan |
            atas waktunya | atas kerja samanya | atas responsnya
        """,
        regards="""
            hormat saya | hormat kami | salam | salam hormat | salam hangat |
            salam sejahtera | wassalam | sampai jumpa |
            semoga harimu menyenangkan | hormat | salam kenal | salam sukses |
            wassalamualaikum | wassalamualaikum wr wb | sukses selalu |
            selamat beraktivitas | semoga sukses | semoga hari anda menyenangkan |
            sekian | sekian dan terima kasih | dengan hormat
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
    from | sent | date | to | cc | bcc | subject | reply-to | importance |
    attachments | von | gesendet | datum | an | betreff | kopie | wichtigkeit |
    anlagen | de | envoyé | envoyé le | à | objet | enviado | enviado el |
    enviada | fecha | para | asunto | data | assunto | da | inviato | a |
    oggetto | van | verzonden | aan | onderwerp | od | wysłano | do | temat | от |
    отправлено | дата | кому | тема | kimden | gönderildi | gönderilen | tarih |
    kime | konu | dari | dikirim | kepada | perihal | tanggal | från | skickat |
    till | ämne | odesláno | komu | předmět | від | من | إلى | التاريخ | الموضوع |
    تاريخ الإرسال | 发件人 | 发送时间 | 收件人 | 抄送 | 主题 | 日期 | 寄件者 |
    收件者 | 主旨 | 差出人 | 送信日時 | 宛先 | 件名 | 日時 | 보낸 사람 |
    보낸사람 | 받는 사람 | 받는사람 | 제목 | 보낸 날짜 | 날짜 | จาก | ส่ง | ถึง |
    เรื่อง | วันที่ | gesendet am | bezug | copie à | copie | cc à | répondre à |
    date d'envoi | fecha de envío | enviado em | enviada em | enviado a | copia |
    data invio | inviato il | verzonden op | verstuurd | datum verzonden |
    data wysłania | wysłane | dw | otrzymano | отправлена | отправлен | копия |
    от кого | дата отправки | bilgi | gönderen | gönderme tarihi | kopya |
    المرسل | إلى من | نسخة | تم الإرسال | أُرسلت | أرسلت في | تاريخ | 时间 |
    发送日期 | 寄件人 | 收信人 | 傳送時間 | 寄件日期 | 副本 | 日付 | 送信者 |
    送信日 | 受信者 | 보낸 시간 | 보낸 일시 | 발신 | 발신자 | 수신 | 수신자 |
    참조 | 일시 | ผู้ส่ง | ส่งเมื่อ | ผู้รับ | สำเนา | หัวข้อ | pengirim | terkirim |
    untuk | tembusan | subjek | kopi | fra | sendt | til | emne | dato | kopija |
    kopie | надіслано | копія
""")
# Those of them that begin it.
FIRST_HEADER_NAMES = _phrases("""
    from | von | de | da | van | od | от |
    kimden | dari | från | fra | від | من | 发件人 |
    寄件者 | 差出人 | 보낸 사람 | 보낸사람 | จาก | от кого | gönderen | المرسل |
    寄件人 | 送信者 | 발신 | 발신자 | ผู้ส่ง | pengirim | fra |
    sent | date | gesendet | datum | subject | betreff
    | to | an
""")
# The end of "On 1 May 2026 A. Person wrote:".
WROTE = _phrases("""
    wrote | writes | said | schrieb | schreibt | geschrieben | a écrit | écrit |
    escribió | escribio | ha scritto | scritto | escreveu | schreef | napisał |
    napisała | napisał(a) | pisze | пишет | писал | написал | написала |
    написал(а) | yazdı | menulis | skrev | napsal | napsal(a) | пише | пишут |
    şunları yazdı | şunu yazdı | كتب | كتبت | كتب ما يلي | 写道 | 寫道 | 撰写 |
    于写道 | のメッセージ | は書きました | のメール | が書きました |
    さんが書きました | wrote the following | 작성 | 작성했습니다 | 작성함 |
    썼습니다 | 님이 작성 | เขียนว่า | ได้เขียนว่า | เขียน
""")
# Between a mail and the one that it answers, marks aside.
SEPARATORS = _phrases("""
    original message | original appointment | forwarded message |
    begin forwarded message | forwarded by | reply above this line |
    please type your reply above this line | ursprüngliche nachricht |
    originalnachricht | weitergeleitete nachricht |
    anfang der weitergeleiteten nachricht | message d'origine |
    message transféré | mensaje original | mensaje reenviado |
    messaggio originale | messaggio inoltrato | mensagem original |
    mensagem encaminhada | oorspronkelijk bericht | doorgestuurd bericht |
    wiadomość oryginalna | oryginalna wiadomość | исходное сообщение |
    пересланное сообщение | orijinal mesaj | özgün ileti | pesan asli | 原始邮件 |
    转发邮件 | 元のメッセージ | 원본 메시지 | urspr. nachricht |
    nachricht weitergeleitet | beginn der weitergeleiteten nachricht |
    message original | courriel d'origine | début du message transféré |
    message réexpédié | inicio del mensaje reenviado | mensaje reenviado por |
    inizio messaggio inoltrato | messaggio d'origine | mensagem reencaminhada |
    início da mensagem encaminhada | mensagem de origem | origineel bericht |
    begin doorgestuurd bericht | wiadomość przekazana dalej |
    przekazana wiadomość | wiadomość przesłana dalej |
    początek przekazywanej wiadomości | исходное письмо | оригинальное сообщение |
    пересылаемое сообщение | перенаправленное сообщение |
    начало переадресованного сообщения | iletilen mesaj | iletilmiş mesaj |
    yönlendirilen ileti | asıl ileti | özgün mesaj | الرسالة الأصلية |
    رسالة معاد توجيهها | الرسالة المعاد توجيهها | بداية الرسالة المعاد توجيهها |
    原邮件 | 原始郵件 | 轉寄的郵件 | 转发的邮件 | 以下是转发的邮件 | 原始信件 |
    以下是轉寄的郵件 | 転送メッセージ | 転送されたメッセージ |
    オリジナルメッセージ | 元のメール | 転送メール | 전달된 메시지 | 전달된 메일 |
    원본 메일 | 원본메시지 | ข้อความเดิม | ข้อความต้นฉบับ | ข้อความที่ส่งต่อ |
    pesan terusan | pesan yang diteruskan | pesan diteruskan |
    ursprungligt meddelande | vidarebefordrat meddelande | oprindelig meddelelse |
    původní zpráva | оригінальне повідомлення
""")
# What a phone or a program writes below a mail, named where "…" stands.
FOOTERS = _phrases("""
    sent from my … | sent from a … | sent from the … | sent from mail for … |
    sent from outlook … | sent from yahoo … | sent from gmail … |
    sent from samsung … | sent from proton … | sent from outlook |
    sent from yahoo | sent from gmail | sent via … | get outlook for … |
    download outlook … | von meinem … gesendet | von meiner … gesendet |
    gesendet von … | gesendet mit … | holen sie sich outlook … |
    outlook für … herunterladen | envoyé de mon … | envoyé depuis mon … |
    télécharger outlook … | téléchargez outlook … | obtenir outlook … |
    outlook pour … télécharger | enviado desde … | obtener outlook … |
    enviado do … | enviado através do … | enviado via … | enviado pelo … |
    obter o outlook … | outlook para … | inviato da … | inviato dal mio … |
    ottieni outlook … | scarica outlook … | verzonden vanaf mijn … |
    verstuurd vanaf mijn … | outlook voor … downloaden | wysłano z … |
    wysłane z … | pobierz outlook … | pobierz aplikację outlook … |
    отправлено с … | отправлено из … | получить outlook … | получите outlook … |
    …imden gönderildi | …ımdan gönderildi | …umdan gönderildi |
    outlook for … edinin | dikirim dari … | dapatkan outlook … |
    skickat från min … | تم الإرسال من … | أُرسلت من … | أرسلت من … | مرسل من … |
    الحصول على outlook … | 发自我的… | 获取 outlook … | 获取outlook … |
    從我的…傳送 | …から送信 | outlook for …を入手する | 나의 …에서 보냄 | ส่งจาก…
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
