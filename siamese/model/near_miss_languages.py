"""The words that tell near misses apart in German, French, Spanish and Chinese: see `near_miss_words`."""

from __future__ import annotations

from siamese.model.near_miss_words import (
    ENGLISH,
    Language,
    groups_of,
    units_of,
    values_of,
    words_of,
)

GERMAN = Language(
    stemmer="german",
    nouns_have_capitals=True,
    rewrites=(
        # A question's own "nicht" asks no opposite: "Ist es nicht gefährlich?"
        (
            r"^((?:ist|sind|war|waren|muss|müssen|kann|können|darf|dürfen|soll|sollte|hat|habe"
            r"|haben|wird|werden|wäre|gibt)\b[^?,]*?)\snicht\b",
            r"\1",
        ),
        (r"\b(?:um wie ?viel uhr|in welchem jahr|an welchem tag)\b", "wann"),
        (r"\b(?:wie viel zeit|wie viele zeit)\b", "wie lange"),
        (r"\b(?:auf welche weise|auf welche art)\b", "wie"),
        (r"\bzum\b", "zu dem"),
        (r"\bzur\b", "zu der"),
        (r"\bim\b", "in dem"),
        (r"\bins\b", "in das"),
        (r"\bam\b", "an dem"),
        (r"\bvom\b", "von dem"),
        (r"\bbeim\b", "bei dem"),
    ),
    little=words_of("""
        der die das den dem des ein eine einen einem einer eines mein meine meinen meinem
        meiner meines dein deine ihr ihre ihren ihrem ihrer sein seine unser unsere dieser
        diese dieses diesen diesem ich du er sie es wir mich mir dich dir sich uns euch man
        jemand irgendwo hier da dort denn doch ja auch noch schon sehr so nur etwa eigentlich
        bitte und oder aber dass daß wenn ob als wie was wer wen wem wo wohin woher wann warum
        wieso weshalb welche welcher welches welchen welchem bin bist ist sind seid war waren
        wird werden wurde wurden werde worden habe hast hat haben hatte hatten kann kannst
        können könnte darf dürfen muss musst müssen soll sollte sollen will wollen möchte
        mag lassen lässt lasse gibt geben gehen geht machen macht mache tun tut an am auf aus
        bei beim bis für gegen im in ins mit nach ohne seit um unter über von vom vor während
        zu zum zur zwischen durch per dies davon dafür damit dabei mal bekomme brauche brauchen
    """),
    determiners=words_of("""
        der die das den dem des ein eine einen einem einer eines mein meine meinen meinem
        meiner dein deine ihr ihre unser unsere dieser diese dieses
    """),
    numbers=values_of("""
        null 0 zwei 2 zwo 2 drei 3 vier 4 fünf 5 sechs 6 sieben 7 acht 8 neun 9 zehn 10
        elf 11 zwölf 12 dreizehn 13 vierzehn 14 fünfzehn 15 sechzehn 16 siebzehn 17
        achtzehn 18 neunzehn 19 zwanzig 20 dreißig 30 vierzig 40 fünfzig 50 sechzig 60
        siebzig 70 achtzig 80 neunzig 90
    """),
    ordinals=values_of("""
        zweite 2 zweiten 2 zweiter 2 zweites 2 dritte 3 dritten 3 dritter 3 drittes 3
        vierte 4 vierten 4 vierter 4 viertes 4 fünfte 5 fünften 5 fünfter 5 sechste 6
        sechsten 6 siebte 7 siebten 7 achte 8 achten 8 neunte 9 neunten 9 zehnte 10
        zehnten 10
    """),
    scales={
        "hundert": 1e2,
        "tausend": 1e3,
        "million": 1e6,
        "millionen": 1e6,
        "milliarde": 1e9,
        "milliarden": 1e9,
        "dutzend": 12.0,
    },
    units=units_of("""
        g gramm 0.001 mg milligramm 1000 kg kilo kilos kilogramm 500 pfund |
        m meter metern 0.01 cm zentimeter 0.001 mm millimeter 1000 km kilometer kilometern |
        l liter litern 0.001 ml milliliter |
        s sekunde sekunden 60 min minute minuten 3600 h stunde stunden std
        86400 tag tage tagen 604800 woche wochen | monat monate monaten 12 jahr jahre jahren |
        byte bytes 1e3 kb kilobyte 1e6 mb megabyte 1e9 gb gigabyte 1e12 tb terabyte |
        % prozent | € euro euros eur | $ dollar dollars usd | £ | grad °
    """),
    dates=groups_of("""
        montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag | januar
        jänner februar märz april mai juni juli august september oktober november dezember |
        vorgestern gestern heute morgen übermorgen | vormittag mittag nachmittag abend nacht
        mitternacht | frühling frühjahr sommer herbst winter | werktag wochenende | tag woche
        monat jahr stunde minute | täglich wöchentlich monatlich jährlich | früh spät
    """),
    negations=words_of("""
        nicht nie niemals nirgends nirgendwo niemand niemanden nichts kein keine keinen
        keinem keiner keines keinerlei weder ohne
    """),
    without=("ohne", "mit"),
    prefixes=("un", "nicht", "in", "im", "ir", "des", "dis", "de", "miss", "a"),
    prefix_pairs=(
        ("ein", "aus"),
        ("an", "ab"),
        ("an", "aus"),
        ("auf", "zu"),
        ("auf", "ab"),
        ("hoch", "runter"),
        ("hoch", "herunter"),
        ("hinauf", "hinunter"),
        ("herauf", "herunter"),
        ("hinein", "heraus"),
        ("hin", "her"),
        ("be", "ent"),
        ("ver", "ent"),
        ("im", "ex"),
        ("vor", "nach"),
        ("vorwärts", "rückwärts"),
        ("innen", "außen"),
        ("über", "unter"),
        ("ober", "unter"),
        ("mehr", "minder"),
        ("zu", "ab"),
    ),
    opposites=groups_of("""
        an aus | kaufen verkaufen mieten vermieten | öffnen schließen | auf zu | anfangen
        aufhören | beginnen enden beenden | starten stoppen | gewinnen verlieren | finden
        verlieren | erhöhen senken verringern reduzieren | steigen fallen sinken | hinzufügen
        entfernen löschen | erstellen löschen wiederherstellen | hochladen herunterladen |
        importieren exportieren | verbinden trennen | sperren entsperren | blockieren
        freigeben | verstecken anzeigen | ausblenden einblenden | senden empfangen |
        verschicken erhalten | geben nehmen | leihen verleihen | lehren lernen | fragen
        antworten | lieben hassen | annehmen ablehnen | akzeptieren ablehnen | erlauben
        verbieten | bestehen durchfallen | speichern löschen | sparen ausgeben | füllen leeren
        | heizen kühlen | ankommen abfahren | leben sterben | heiraten scheiden | aufbauen
        abbauen | angreifen verteidigen | laden entladen | zunehmen abnehmen | stärken
        schwächen | verbessern verschlechtern | merken vergessen | lesen schreiben | mann frau
        | junge mädchen | männlich weiblich | vater mutter | sohn tochter | bruder schwester |
        lehrer schüler | arbeitgeber arbeitnehmer | vermieter mieter | käufer verkäufer |
        arzt patient | zeile spalte | maus tastatur monitor | heiß kalt warm kühl | groß klein
        | lang kurz | breit schmal | dick dünn | schwer leicht | schnell langsam | alt neu jung
        | reich arm | gut schlecht | richtig falsch | rechts links | rechte linke | einfach
        schwierig | sicher gefährlich | legal illegal | öffentlich privat | kostenlos bezahlt |
        voll leer | wahr falsch | innen außen | vorne hinten | oben unten | norden süden osten
        westen | waagerecht senkrecht | schwarz weiß rot blau grün gelb braun grau | positiv
        negativ | plus minus | gewinn verlust | stärke schwäche | vorteil nachteil | krieg
        frieden | nass trocken | laut leise | glücklich traurig | frühstück mittagessen
        abendessen | hardware software | auto fahrrad bus zug | brutto netto
    """),
    directions=groups_of("""
        vor nach während | von zu | von nach | aus in | auf ab | über unter | oben unten |
        vorwärts rückwärts | hin zurück | seit bis | innerhalb außerhalb | bevor nachdem
    """),
    scopes=groups_of("""
        alle einige manche jede jeder keine wenige viele | alle letzte nur | erste letzte zweite
        nächste | immer nie manchmal oft selten | billigste teuerste | billig teuer günstig |
        günstigste teuerste | höchste niedrigste | hoch niedrig | hohe niedrige | maximum minimum
        | maximal minimal | größte kleinste | längste kürzeste | schnellste langsamste | älteste
        neueste jüngste | beste schlechteste | meiste wenigste | mehr weniger | besser
        schlechter | leichteste schwerste | nächste fernste | beide keiner | ganz halb | alles
        nichts etwas
    """),
    same=groups_of("""
        ist sind | hat haben | kaufen erwerben | starten beginnen anfangen | löschen entfernen
        | reparieren beheben lösen | groß riesig | schnell rasch flott | laptop notebook |
        handy smartphone mobiltelefon telefon | bild foto fotografie | film spielfilm | ändern
        wechseln verändern | wählen auswählen aussuchen | erstellen anlegen machen | arbeit job
        stelle | mail email | vorteil nutzen | fehler error | antworten erwidern | schwierig
        schwer | einfach leicht | teuer kostspielig | berühmt bekannt | mensch person leute |
        kind kinder | stadt ort | firma unternehmen betrieb | geld bargeld | lohn gehalt |
        arzt doktor | krank erkrankt | genug ausreichend | wichtig bedeutend | richtig korrekt |
        falsch inkorrekt | erhöhen steigern | verringern reduzieren senken | verbessern
        optimieren | lernen studieren | auto wagen | aktivieren einschalten | deaktivieren
        ausschalten | passieren geschehen | bekommen erhalten | fernseher tv | konto
        benutzerkonto account | schicken senden | bücherei bibliothek | klausur prüfung
        | reicht reichen genügt genügen | student studierende studierender
    """),
    questions=values_of("""
        warum why wieso why weshalb why wann when wo where wohin where woher where wer who
        wen who wem who wie how was what welche what welcher what welches what welchen what
        welchem what ist whether sind whether kann whether können whether darf whether muss
        whether soll whether sollte whether gibt whether hat whether habe whether haben
        whether wird whether
    """),
    measures=words_of(
        "viel viele lange oft weit alt groß schnell bald spät tief hoch teuer"
    ),
    clauses=words_of(
        "in im bei auf wenn nach falls für ohne mit vor seit während als weil aus"
    ),
    joins=words_of("und oder & vs"),
    mutual=words_of(
        "vergleichen vergleich kombinieren mischen teilen treffen verheiratet"
    ),
)

FRENCH = Language(
    stemmer="french",
    double_negation=True,
    rewrites=(
        # A question's own negation asks no opposite: "N'est-il pas dangereux ?"
        (r"^n['’ ]e? ?(\w+-\w+) pas\b", r"\1"),
        (r"\bqu['’]est-ce qu(?:e\b|['’])", "que "),
        (r"\best-ce qu(?:e\b|['’])", " "),
        (r"\b(?:à|a) quelle heure\b", "quand"),
        (r"\b(?:en quelle année|de quelle année|jusqu['’](?:à|a) quand)\b", "quand"),
        (r"\bcomment (?:puis-je|peut-on|faire pour|je peux)\b", "comment"),
        (r"\b(?:de quelle façon|de quelle manière)\b", "comment"),
        (r"\bdu\b", "de le"),
        (r"\bdes\b", "de les"),
        (r"\bau\b", "à le"),
        (r"\baux\b", "à les"),
        (r"\b(l|d|n|s|j|m|t|c|qu|jusqu|lorsqu|puisqu)['’](?=\w)", r"\1 "),
        (r"-(?:t-)?(je|tu|il|elle|on|nous|vous|ils|elles|ce|le|la|les|y|en)\b", r" \1"),
    ),
    little=words_of("""
        le la les l un une des du de d au aux mon ma mes ton ta tes son sa ses notre nos votre
        vos leur leurs ce cet cette ces c je j tu il elle on nous vous ils elles me m te t se s
        moi toi lui y en qui que qu quoi quel quelle quels quelles dont où quand comment
        pourquoi combien et ou mais si ne n est sont suis es êtes sommes était étaient être
        été a ai as ont avons avez avait avoir peut peux pouvez pouvons peuvent puis pourrait
        dois doit devez doivent faut faire fait fais font va vais veux veut voudrais
        à dans par pour sur sous avec sans vers chez entre depuis pendant avant après jusqu
        comme aussi très plus tout bien ici là donc alors lorsque puisque ça cela aller
        existe possible
    """),
    determiners=words_of("""
        le la les l un une mon ma mes ton ta tes son sa ses notre nos votre vos leur leurs ce
        cet cette ces
    """),
    numbers=values_of("""
        zéro 0 deux 2 trois 3 quatre 4 cinq 5 six 6 sept 7 huit 8 neuf 9 dix 10 onze 11
        douze 12 treize 13 quatorze 14 quinze 15 seize 16 vingt 20 trente 30 quarante 40
        cinquante 50 soixante 60
    """),
    ordinals=values_of("""
        deuxième 2 second 2 seconde 2 troisième 3 quatrième 4 cinquième 5 sixième 6 septième
        7 huitième 8 neuvième 9 dixième 10
    """),
    scales={
        "cent": 1e2,
        "cents": 1e2,
        "mille": 1e3,
        "million": 1e6,
        "millions": 1e6,
        "milliard": 1e9,
        "milliards": 1e9,
        "douzaine": 12.0,
    },
    units=units_of("""
        g gramme grammes 0.001 mg milligramme milligrammes 1000 kg kilo kilos kilogramme
        kilogrammes | m mètre mètres 0.01 cm centimètre centimètres 0.001 mm millimètre
        millimètres 1000 km kilomètre kilomètres | l litre litres 0.001 ml millilitre
        millilitres | seconde secondes 60 min minute minutes 3600 h heure heures
        86400 jour jours 604800 semaine semaines | mois 12 an ans année années |
        octet octets 1e3 ko 1e6 mo 1e9 go 1e12 to | % pourcent |
        € euro euros eur | $ dollar dollars usd | £ livre livres | degré degrés °
    """),
    dates=groups_of("""
        lundi mardi mercredi jeudi vendredi samedi dimanche | janvier février mars avril mai
        juin juillet août septembre octobre novembre décembre | avant-hier hier aujourd'hui
        demain après-demain | matin midi après-midi soir nuit minuit | printemps été automne
        hiver | semaine week-end | jour semaine mois année heure minute | quotidien
        hebdomadaire mensuel annuel | tôt tard
    """),
    negations=words_of("""
        pas jamais rien personne aucun aucune nul nulle ni non sans
    """),
    without=("sans", "avec"),
    prefixes=(
        "in",
        "im",
        "il",
        "ir",
        "dés",
        "dé",
        "dis",
        "mal",
        "mé",
        "anti",
        "non",
        "a",
    ),
    prefix_pairs=(
        ("ac", "dé"),
        ("em", "dé"),
        ("en", "dé"),
        ("im", "ex"),
        ("in", "ex"),
        ("sur", "sous"),
        ("pré", "post"),
        ("em", "débar"),
        ("aug", "dimin"),
        ("max", "min"),
        ("hyper", "hypo"),
    ),
    opposites=groups_of("""
        allumer éteindre | acheter vendre louer | ouvrir fermer | ouvert fermé | verrouiller
        déverrouiller | commencer finir arrêter terminer | démarrer arrêter | gagner perdre |
        trouver perdre | augmenter diminuer réduire baisser | monter descendre | ajouter
        supprimer retirer enlever | créer supprimer restaurer | entrer sortir | arriver partir
        | connecter déconnecter | installer désinstaller | bloquer débloquer | cacher afficher
        masquer | importer exporter | télécharger téléverser envoyer | envoyer recevoir |
        donner prendre | prêter emprunter | enseigner apprendre | demander répondre | aimer
        détester | accepter refuser | autoriser interdire | réussir échouer | enregistrer
        supprimer | économiser dépenser | remplir vider | chauffer refroidir | vivre mourir |
        construire détruire | attaquer défendre | charger décharger | améliorer aggraver |
        souvenir oublier | lire écrire | homme femme | garçon fille | père mère | fils fille
        | frère sœur | professeur élève étudiant | employeur employé | propriétaire locataire |
        acheteur vendeur | médecin patient | ligne colonne | souris clavier écran | chaud froid
        tiède | grand petit | long court | large étroit | épais mince | lourd léger | rapide
        lent | vieux nouveau jeune neuf | riche pauvre | bon mauvais | juste faux | droite
        gauche | droit gauche | facile difficile | sûr dangereux | légal illégal | public privé |
        gratuit payant | plein vide | vrai faux | intérieur extérieur | devant derrière | haut
        bas | bas élevé | nord sud est ouest | horizontal vertical | noir blanc rouge bleu vert
        jaune brun gris | positif négatif | plus moins | gain perte | force faiblesse | avantage
        inconvénient | guerre paix | mouillé sec | bruyant silencieux | heureux triste |
        petit-déjeuner déjeuner dîner | logiciel matériel | voiture vélo bus train | brut net
    """),
    directions=groups_of("""
        avant après pendant | de vers | depuis jusqu | dans hors | sur sous | dessus dessous |
        haut bas | avancer reculer | aller retour | entrant sortant | dedans dehors
    """),
    scopes=groups_of("""
        tous toutes tout certains quelques aucun chaque plusieurs | toutes dernière | tous dernier
        | premier dernier second suivant | première dernière seconde suivante | seulement aussi |
        toujours jamais parfois souvent rarement | maximum minimum | plus moins | mieux pire |
        meilleur pire | élevé bas faible | élevés bas faibles | cher abordable | entier moitié
        demi | beaucoup peu
    """),
    same=groups_of("""
        est sont | acheter acquérir | supprimer effacer | réparer résoudre corriger | grand gros |
        rapide vite rapidement | portable ordinateur laptop | téléphone smartphone mobile | image
        photo photographie | film movie | changer modifier | choisir sélectionner | créer faire |
        travail emploi boulot | mail email courriel | avantage bénéfice | erreur faute | difficile
        dur | facile simple | cher coûteux | célèbre connu | personne gens | enfant gosse | ville
        cité | entreprise société firme | argent monnaie | salaire paie | médecin docteur |
        malade souffrant | suffire suffisent | important essentiel | correct juste | augmenter
        accroître | réduire diminuer | améliorer perfectionner | voiture auto automobile |
        activer allumer | désactiver éteindre | arriver survenir | obtenir recevoir | télé
        télévision tv | envoyer expédier | dure prend durer prendre | réduction remise rabais |
        résilier annuler | imprimante imprimer
    """),
    questions=values_of("""
        pourquoi why quand when où where qui who comment how combien many que what qu what
        quoi what quel what quelle what quels what quelles what est whether sont whether peut
        whether puis whether faut whether dois whether peux whether pouvez whether
    """),
    measures=words_of("long souvent loin"),
    clauses=words_of(
        "dans en sur quand après si pour sans avec avant depuis pendant comme sous chez"
    ),
    joins=words_of("et ou & vs"),
    mutual=words_of("comparer comparaison combiner mélanger partager rencontrer marié"),
)

SPANISH = Language(
    stemmer="spanish",
    double_negation=True,
    rewrites=(
        # A question's own negation asks no opposite: "¿No es peligroso?"
        (r"^¿? ?no (?=(?:es|son|está|están|hay|puedo|puede|debo|debería|tengo)\b)", ""),
        (r"\bpor qué\b", "por_qué"),
        (r"\b(?:a qué hora|en qué año|qué día|hasta cuándo)\b", "cuándo"),
        (r"\bcuánto tiempo\b", "cuánto"),
        (r"\bcómo (?:puedo|puede|se puede|podemos|hago para)\b", "cómo"),
        (r"\b(?:de qué manera|de qué forma)\b", "cómo"),
        (r"\bdel\b", "de el"),
        (r"\bal\b", "a el"),
    ),
    little=words_of("""
        el la los las lo un una unos unas mi mis tu tus su sus nuestro nuestra nuestros este
        esta estos estas ese esa esos esas yo tú él ella nosotros ellos ellas usted ustedes me
        te se nos le les que qué quién quiénes cuál cuáles cómo cuándo dónde cuánto
        cuánta cuántos cuántas y e o u pero si es son soy eres era eran ser sido está están
        estoy estar he ha han hay haber tengo tiene tienen tener puedo puede pueden poder
        por_qué podría debo debe deben debería quiero quiere hacer hago hace hacen va voy ir de del
        a al en por para con sin sobre bajo hacia desde hasta entre durante antes después
        como también muy más ya aquí ahí allí así cuando donde porque algún alguna alguno
        posible existe
    """),
    determiners=words_of("""
        el la los las un una unos unas mi mis tu tus su sus nuestro nuestra este esta ese esa
    """),
    numbers=values_of("""
        cero 0 dos 2 tres 3 cuatro 4 cinco 5 seis 6 siete 7 ocho 8 nueve 9 diez 10 once 11
        doce 12 trece 13 catorce 14 quince 15 dieciséis 16 diecisiete 17 dieciocho 18
        diecinueve 19 veinte 20 treinta 30 cuarenta 40 cincuenta 50 sesenta 60 setenta 70
        ochenta 80 noventa 90
    """),
    ordinals=values_of("""
        segundo 2 segunda 2 tercero 3 tercera 3 tercer 3 cuarto 4 cuarta 4 quinto 5 quinta 5
        sexto 6 sexta 6 séptimo 7 octavo 8 noveno 9 décimo 10
    """),
    scales={
        "cien": 1e2,
        "cientos": 1e2,
        "mil": 1e3,
        "millón": 1e6,
        "millones": 1e6,
        "docena": 12.0,
    },
    units=units_of("""
        g gramo gramos 0.001 mg miligramo miligramos 1000 kg kilo kilos kilogramo kilogramos |
        m metro metros 0.01 cm centímetro centímetros 0.001 mm milímetro milímetros 1000 km
        kilómetro kilómetros | l litro litros 0.001 ml mililitro mililitros | s segundos 60 min
        minuto minutos 3600 h hora horas 86400 día días 604800 semana semanas | mes meses 12
        año años | byte bytes 1e3 kb 1e6 mb 1e9 gb 1e12 tb | % porciento | € euro euros eur |
        $ dólar dólares usd | £ libra libras | grado grados °
    """),
    dates=groups_of("""
        lunes martes miércoles jueves viernes sábado domingo | enero febrero marzo abril mayo
        junio julio agosto septiembre octubre noviembre diciembre | anteayer ayer hoy mañana |
        mediodía tarde noche medianoche madrugada | primavera verano otoño invierno | día semana
        mes año hora minuto | diario semanal mensual anual | temprano tarde
    """),
    negations=words_of("""
        no nunca jamás nada nadie ningún ninguno ninguna tampoco ni sin
    """),
    without=("sin", "con"),
    prefixes=("des", "in", "im", "i", "ir", "dis", "anti", "no", "a", "mal"),
    prefix_pairs=(
        ("en", "des"),
        ("em", "des"),
        ("a", "des"),
        ("im", "ex"),
        ("in", "ex"),
        ("sobre", "sub"),
        ("pre", "pos"),
        ("max", "min"),
        ("hiper", "hipo"),
        ("en", "a"),
    ),
    opposites=groups_of("""
        encender apagar | enciendo apago | comprar vender alquilar | abrir cerrar | abre cierra |
        abro cierro | empezar terminar acabar | iniciar detener finalizar | ganar perder |
        encontrar perder | aumentar disminuir reducir | subir bajar | añadir quitar eliminar |
        agregar quitar eliminar | crear borrar restaurar | entrar salir | llegar salir | conectar
        desconectar | instalar desinstalar | bloquear desbloquear | ocultar mostrar | importar
        exportar | descargar subir cargar | enviar recibir | dar tomar | prestar pedir | enseñar
        aprender | preguntar responder | amar odiar | aceptar rechazar | permitir prohibir |
        aprobar suspender | guardar borrar | ahorrar gastar | llenar vaciar | calentar enfriar |
        vivir morir | construir destruir | atacar defender | cargar descargar | mejorar empeorar |
        recordar olvidar | leer escribir | hombre mujer | niño niña | padre madre | hijo hija |
        hermano hermana | profesor alumno estudiante | empleador empleado | casero inquilino |
        comprador vendedor | médico paciente | fila columna | ratón teclado pantalla | caliente
        frío tibio | grande pequeño | largo corto | ancho estrecho | grueso delgado | pesado
        ligero | rápido lento | viejo nuevo joven | rico pobre | bueno malo | correcto incorrecto
        | derecha izquierda | derecho izquierdo | fácil difícil | seguro peligroso | legal ilegal |
        público privado | gratis pago | lleno vacío | verdadero falso | interior exterior |
        delante detrás | arriba abajo | norte sur este oeste | horizontal vertical | negro blanco
        rojo azul verde amarillo marrón gris | positivo negativo | más menos | ganancia pérdida |
        fuerza debilidad | ventaja desventaja | guerra paz | mojado seco | ruidoso silencioso |
        feliz triste | desayuno almuerzo cena | coche bicicleta autobús tren | bruto neto
    """),
    directions=groups_of("""
        antes después durante | de hacia | desde hasta | dentro fuera | sobre bajo | encima debajo |
        arriba abajo | adelante atrás | ida vuelta | entrante saliente
    """),
    scopes=groups_of("""
        todos todas todo algunos algunas ningún cada varios | todas última | todos último | primero
        último segundo siguiente | primera última segunda siguiente | solo también | siempre nunca
        veces menudo | máximo mínimo | más menos | mejor peor | mayor menor | alto bajo | altas
        bajas | altos bajos | caro barato | entero medio mitad | ambos ninguno | mucho poco |
        muchos pocos
    """),
    same=groups_of("""
        es son | comprar adquirir | borrar eliminar suprimir | reparar arreglar resolver | grande
        enorme | rápido veloz rápidamente | portátil ordenador laptop computadora | teléfono móvil
        celular smartphone | imagen foto fotografía | película film | cambiar modificar | elegir
        seleccionar escoger | crear hacer | trabajo empleo | mail email correo | ventaja beneficio
        | error fallo | difícil complicado | fácil sencillo simple | caro costoso | famoso conocido
        | persona gente | niño chico | ciudad pueblo | empresa compañía | dinero plata | sueldo
        salario | médico doctor | enfermo malo | bastar bastan suficiente | importante esencial |
        correcto exacto | aumentar incrementar | reducir disminuir | mejorar optimizar | coche
        auto carro | activar encender | desactivar apagar | pasar ocurrir | obtener recibir
        conseguir | tele televisión tv | enviar mandar | empezar comenzar iniciar | cancelar anular
        | descuento rebaja | desde de
    """),
    questions=values_of("""
        por_qué why cuándo when dónde where quién who quiénes who cómo how cuánto many cuánta
        many cuántos many cuántas many qué what cuál what cuáles what es whether son whether
        puedo whether puede whether debo whether hay whether está whether
    """),
    measures=words_of("lejos"),
    clauses=words_of(
        "en cuando después si para sin con antes desde durante como bajo por al"
    ),
    joins=words_of("y e o u & vs"),
    mutual=words_of("comparar comparación combinar mezclar compartir casado"),
)

CHINESE = Language(
    stemmer=None,
    rewrites=(
        (r"(.)[不没]\1", r"\1"),  # A question such as "能不能".
        (r"有没有", "有"),
        # A question's own negation asks no opposite.
        (r"不(?=[^，。？！]{1,4}吗)", ""),
        (r"几点|哪天|哪一天|何时|哪一年|到什么时候为止", "什么时候"),
        (r"多长时间", "多久"),
        (r"为何|为啥", "为什么"),
        (r"如何|怎样|怎么样", "怎么"),
        (r"哪儿|何处|什么地方|哪裡", "哪里"),
        (r"哪位", "谁"),
        (r"(?<=\d)(?=[\u4e00-\u9fff])|(?<=[\u4e00-\u9fff])(?=\d)", " "),
    ),
    little=words_of("""
        的 了 吗 呢 吧 啊 在 是 有 我 你 您 他 她 它 我们 你们 他们 这 那 这个 那个 这里 那里 个 张
        把 被 和 与 跟 及 或 或者 还是 也 就 还 很 想要 能 可以 可 应该 该 需要 请 请问 什么 怎么 为什么
        什么时候 哪里 谁 哪个 哪 哪家 哪款 多少 多久 几 从 到 由 往 向 为 里 一个 一下 如果 不同 不过 不少
        不错 没关系
    """),
    determiners=words_of("的 个 只 张 本 次 位 这 那 这个 那个 一个 里"),
    numbers=values_of("""
        零 0 二 2 两 2 三 3 四 4 五 5 六 6 七 7 八 8 九 9 十 10 十一 11 十二 12 十五 15 二十 20
        三十 30 四十 40 五十 50 一百 100 一千 1000
    """),
    ordinals=values_of("第二 2 第三 3 第四 4 第五 5"),
    scales={"百": 1e2, "千": 1e3, "万": 1e4, "亿": 1e8},
    units=units_of("""
        克 1000 公斤 千克 500 斤 0.001 毫克 | 米 0.01 厘米 0.001 毫米 1000 公里 千米 | 升 0.001
        毫升 | 秒 60 分钟 3600 小时 86400 天 604800 周 星期 | 个月 12 年 | % | 元 块 块钱 | 美元 |
        欧元 | 度
    """),
    dates=groups_of("""
        星期一 星期二 星期三 星期四 星期五 星期六 星期天 星期日 | 周一 周二 周三 周四 周五 周六 周日 周末 |
        一月 二月 三月 四月 五月 六月 七月 八月 九月 十月 十一月 十二月 | 前天 昨天 今天 明天 后天 | 早上
        上午 中午 下午 晚上 夜里 | 春天 夏天 秋天 冬天 | 去年 今年 明年 | 上周 本周 下周 | 上个月 下个月
    """),
    negations=words_of("不 没 没有 无 非 别 未 无法 不能 不会 不可以 不要 不用 禁止"),
    without=("没有", "有"),
    negated={
        "不能": ("不", "能"),
        "不会": ("不", "会"),
        "不可以": ("不", "可以"),
        "不要": ("不", "要"),
        "无法": ("不", "能"),
    },
    prefixes=("非",),
    prefix_pairs=(),
    opposites=groups_of("""
        打开 关闭 | 开启 关闭 | 启用 禁用 停用 | 买 卖 租 | 购买 出售 | 开始 结束 停止 |
        增加 减少 降低 | 上升 下降 | 添加 删除 | 创建 删除 恢复 | 进入 离开 退出 | 到达 出发 |
        连接 断开 | 安装 卸载 | 订阅 退订 | 显示 隐藏 | 导入 导出 | 上传 下载 | 发送 接收 |
        喜欢 讨厌 | 接受 拒绝 | 允许 禁止 | 通过 失败 | 保存 删除 | 加热 冷却 | 充电 放电 |
        记住 忘记 | 男 女 | 父亲 母亲 | 爸爸 妈妈 | 儿子 女儿 | 老师 学生 | 房东 租客 |
        买家 卖家 | 医生 病人 | 左 右 | 容易 困难 | 安全 危险 | 公开 私人 | 免费 收费 |
        里面 外面 | 前面 后面 | 上面 下面 | 黑色 白色 红色 蓝色 绿色 黄色 | 优点 缺点 |
        早餐 午餐 晚餐
    """),
    directions=groups_of("之前 之后 | 以前 以后 | 前 后 期间 | 以上 以下 | 以内 以外"),
    scopes=groups_of("""
        全部 所有 一些 部分 最后 每个 | 第一 最后 第二 | 最高 最低 | 最大 最小 | 最好 最差 | 最便宜 最贵 |
        便宜 贵 | 最长 最短 | 最快 最慢 | 最新 最旧 | 最多 最少 | 总是 从不 有时 经常 | 更多 更少 | 只 全部
    """),
    same=groups_of("""
        打开 开启 | 删除 移除 | 购买 买 | 出售 卖 | 修改 更改 改变 | 电脑 计算机 | 手机 电话 | 照片 图片 |
        账号 帐号 账户 | 全部 所有 | 公斤 千克 | 星期一 周一 | 星期二 周二 | 星期三 周三 | 星期四 周四 |
        星期五 周五 | 星期六 周六 | 星期天 星期日 周日 | 二手 旧 | 四川 | 三明治 | 百度 | 十分 | 万一
    """),
    questions=values_of("""
        为什么 why 什么时候 when 哪里 where 谁 who 怎么 how 多少 many 几 many 多久 long 什么 what 哪个
        what 哪 what 哪家 what 哪款 what 吗 whether
    """),
    measures=frozenset(),
    clauses=words_of("在 如果 当"),
    joins=words_of("和 与 跟 或 或者 还是 及"),
    mutual=frozenset(),
)

LANGUAGES = {
    "en": ENGLISH,
    "de": GERMAN,
    "fr": FRENCH,
    "es": SPANISH,
    "zh": CHINESE,
}
