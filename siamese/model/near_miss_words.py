"""The words that tell near misses apart, one table of data a language: `Language`, and English.

The other languages are in `near_miss_languages`.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Language:
    """What the near-miss check knows of a language; words in lower case."""

    stemmer: str | None = "english"  # of Snowball; None: words are not stemmed
    nouns_have_capitals: bool = False  # so a capital does not say that a word is a name
    double_negation: bool = False  # Two negations of a sentence are one.
    # Patterns and what is put in their place before a text is read, without regard to case.
    rewrites: tuple[tuple[str, str], ...] = ()
    little: frozenset[str]  # words that weigh less than those of content
    determiners: frozenset[str]  # between a word and the one that it depends on
    numbers: dict[str, str]  # "two" -> "2"
    ordinals: dict[str, str]  # "second" -> "2"
    scales: dict[str, float]  # "million" -> 1e6
    units: dict[str, tuple[str, float]]  # "mg" -> the unit "g" and how many it is
    dates: list[list[str]]  # groups of words of time, of which one excludes the others
    negations: frozenset[str]
    without: tuple[
        str, str
    ]  # the word that is a negation of another: "without", "with"
    # "cannot" -> "not", "can"
    negated: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # "isn't", which asks no opposite as a first word
    own_negations: dict[str, str] = field(default_factory=dict)
    # after "don't" at the start of a question
    before_subject: frozenset[str] = frozenset()
    prefixes: tuple[str, ...]  # that make an opposite of a word
    prefix_pairs: tuple[tuple[str, str], ...]  # each other's opposites
    opposites: list[list[str]]  # groups of which one excludes the others
    # the same for nouns
    things: list[list[str]] = field(default_factory=list)
    directions: list[list[str]]  # the same for before and after, to and from
    scopes: list[list[str]]  # the same for all and some, first and last
    same: list[list[str]]  # synonyms: each is read as the first
    questions: dict[str, str]  # question words, each with its kind
    # words such as "can" and "must", each with its kind
    modals: dict[str, str] = field(default_factory=dict)
    measures: frozenset[str]  # after "how": how long is not how often
    clauses: frozenset[str]  # They begin what may stand first or last in a sentence.
    joins: frozenset[str]  # words between two that may be exchanged
    mutual: frozenset[str]  # before "with", which joins as "and" does

    def all_words(self) -> frozenset[str]:
        """All words of the table."""
        groups = [*self.dates, *self.opposites, *self.directions, *self.scopes]
        groups += [*self.things, *self.same]
        found = self.little | self.negations | self.joins | self.questions.keys()
        found |= self.numbers.keys() | self.ordinals.keys() | self.scales.keys()
        found |= self.units.keys() | self.negated.keys()
        return found.union(*groups)


def words_of(text: str) -> frozenset[str]:
    """Words, divided by blanks."""
    return frozenset(text.split())


def groups_of(text: str) -> list[list[str]]:
    """Groups of words, divided by a bar."""
    return [group.split() for group in text.split("|")]


def values_of(text: str) -> dict[str, str]:
    """Words and what they stand for, by turns."""
    parts = text.split()
    return dict(zip(parts[::2], parts[1::2]))


def units_of(text: str) -> dict[str, tuple[str, float]]:
    """Of each group the base unit, and then factors, each followed by the words for it."""
    found = {}
    for base, *parts in groups_of(text):
        factor = 1.0
        for part in (base, *parts):
            if part[0].isdigit():
                factor = float(part)
            else:
                found[part] = (base, factor)
    return found


ENGLISH = Language(
    little=words_of("""
        a an the this that these those my your our his her its their some any one ones i
        you we he she it they me us him them is are am was were be been being do does
        did done has have had can could will would shall should may might must to of in
        on at by for from with into onto about as than then so if and or but not no out
        up down off over under which what who whom whose how why when where there here
        please tell me just also very really too s t m re ve ll d get got many much
        good best way possible anyone someone anybody somebody help need want know does
        'd let us since while after before during without between through per
    """),
    determiners=words_of("a an the my your our his her its their"),
    numbers=values_of("""
        zero 0 two 2 three 3 four 4 five 5 six 6 seven 7 eight 8 nine 9 ten 10 eleven 11
        twelve 12 thirteen 13 fourteen 14 fifteen 15 sixteen 16 seventeen 17 eighteen 18
        nineteen 19 twenty 20 thirty 30 forty 40 fifty 50 sixty 60 seventy 70 eighty 80
        ninety 90
    """),
    ordinals=values_of("""
        1st 1 second 2 2nd 2 third 3 3rd 3 fourth 4 fifth 5 sixth 6 seventh 7 eighth 8
        ninth 9 tenth 10
    """),
    scales={
        "k": 1e3,
        "hundred": 1e2,
        "thousand": 1e3,
        "million": 1e6,
        "billion": 1e9,
        "lakh": 1e5,
        "lakhs": 1e5,
        "crore": 1e7,
        "crores": 1e7,
        "dozen": 12.0,
    },
    units=units_of("""
        g gram grams gramme grammes 0.001 mg milligram milligrams 1000 kg kgs kilo kilos
        kilogram kilograms 453.592 lb lbs pound-weight 28.35 oz ounce ounces |
        metre metres meter meters 0.01 cm centimetre centimetres centimeter centimeters
        0.001 mm millimetre millimetres millimeter millimeters 1000 km kms kilometre
        kilometres kilometer kilometers 1609.344 mile miles mi 0.0254 inch inches
        0.3048 foot feet ft 0.9144 yard yards |
        litre litres liter liters 0.001 ml millilitre millilitres milliliter milliliters |
        second seconds sec secs 60 minute minutes min mins 3600 hour hours hr hrs h
        86400 day days 604800 week weeks | month months 12 year years yr yrs |
        byte bytes 1e3 kb kilobyte kilobytes 1e6 mb megabyte megabytes 1e9 gb gigabyte
        gigabytes 1e12 tb terabyte terabytes | % percent per-cent pct |
        $ dollar dollars usd bucks | € euro euros eur | £ pounds gbp |
        ₹ rupee rupees rs inr | ¥ yen | watt watts w 1e3 kw | volt volts v |
        hz hertz 1e3 khz 1e6 mhz 1e9 ghz | mah | degree degrees °
    """),
    dates=groups_of("""
        monday tuesday wednesday thursday friday saturday sunday | january february
        march april may june july august september october november december |
        yesterday today tomorrow tonight | am pm | morning noon afternoon evening night
        midnight | spring summer autumn winter | weekday weekend | day week month year
        hour minute | daily weekly monthly yearly | early late | currently formerly
    """),
    negations=words_of("not n't never no without none nobody nothing neither nor"),
    without=("without", "with"),
    negated={
        "cannot": ("can", "not"),
        "cant": ("can", "not"),
        "dont": ("do", "not"),
        "doesnt": ("does", "not"),
        "didnt": ("did", "not"),
        "isnt": ("is", "not"),
        "arent": ("are", "not"),
        "wasnt": ("was", "not"),
        "werent": ("were", "not"),
        "wont": ("will", "not"),
        "wouldnt": ("would", "not"),
        "shouldnt": ("should", "not"),
        "couldnt": ("could", "not"),
        "hasnt": ("has", "not"),
        "havent": ("have", "not"),
        "hadnt": ("had", "not"),
        "unable": ("not", "able"),
        "won't": ("will", "not"),
        "can't": ("can", "not"),
        "shan't": ("shall", "not"),
        "ain't": ("is", "not"),
    },
    own_negations=values_of("""
        isn't is aren't are wasn't was weren't were doesn't does didn't did won't will
        wouldn't would shouldn't should hasn't has haven't have hadn't had can't can
        couldn't could
    """),
    before_subject=words_of("""
        i you we they he she it the a an my your our this that these those people there
        all most some any
    """),
    prefixes=("un", "in", "im", "il", "ir", "dis", "non", "mis", "a"),
    prefix_pairs=(
        ("en", "de"),
        ("en", "dis"),
        ("im", "ex"),
        ("in", "ex"),
        ("up", "down"),
        ("in", "out"),
        ("over", "under"),
        ("pre", "post"),
        ("in", "de"),
        ("as", "de"),
        ("pro", "anti"),
        ("hyper", "hypo"),
        ("intro", "extro"),
        ("ac", "de"),
        ("max", "min"),
        ("macro", "micro"),
        ("inter", "intra"),
        ("mono", "poly"),
        ("homo", "hetero"),
        ("fore", "hind"),
    ),
    opposites=groups_of("""
        on off | enable disable deactivate | activate deactivate | buy sell rent |
        open close shut | lock unlock | start stop end finish | begin end | gain lose |
        win lose | increase decrease reduce | raise lower | rise fall drop | add
        subtract | insert extract | remove add restore | delete create restore recover
        undelete | join leave | enter exit leave | connect disconnect | attach detach |
        install uninstall remove | subscribe unsubscribe cancel | follow unfollow |
        block unblock | mute unmute | hide show unhide | import export | upload download
        | encrypt decrypt | compress decompress extract | zip unzip | encode decode | push
        pull | send receive get | give take | lend borrow | teach learn study | ask answer |
        love hate | like dislike hate | accept refuse reject decline deny | allow forbid
        prevent | approve reject | pass fail | succeed fail | save spend delete | earn
        spend pay | fill empty | freeze
        melt thaw | heat cool | arrive depart leave | live die | kill save | marry
        divorce | build destroy demolish | attack defend | cause cure prevent treat |
        charge discharge drain | expand shrink | strengthen weaken | improve worsen |
        support oppose | agree disagree | remember forget | find lose | read write |
        speak listen | play pause stop | mount unmount | merge split | lengthen shorten |
        hot cold warm cool |
        big small | large small | tall short | long short | wide narrow | thick thin |
        heavy light | fast slow | quick slow | early late | old new young | rich poor |
        good bad evil | right wrong left | right left | easy hard difficult | safe dangerous
        unsafe | legal illegal | public private | free paid | full empty | true false |
        inside outside | internal external | indoor outdoor | front back rear | top bottom |
        north south east west | northern southern eastern western | horizontal vertical
        | black white red blue green yellow brown grey gray pink purple orange | positive
        negative | plus minus | online offline | wired wireless |
        solid liquid gas | wet dry | loud quiet | happy sad | liberal conservative
    """),
    things=groups_of("""
        boy girl | man woman | men women | male female | husband wife | father mother |
        dad mom mum | son daughter | brother sister | king queen | uncle aunt |
        grandfather grandmother | boyfriend girlfriend | parent child | adult child |
        teacher student pupil | employer employee | landlord tenant | buyer seller |
        doctor patient | row column | keyboard mouse monitor |
        profit loss | strength weakness | advantage disadvantage |
        pro con | love hatred | war peace | day night | life death | input output |
        sender recipient receiver | vowel consonant | introvert extrovert |
        democrat republican | christian muslim hindu jew |
        breakfast lunch dinner | hardware software | car bike bus train
    """),
    directions=groups_of("""
        before after during | to from | into out | in out | up down | above below |
        over under | upstairs downstairs | forward backward back | inward outward |
        incoming outgoing | ahead behind | since until | toward away | within after
    """),
    scopes=groups_of("""
        all some any none every each no | first last second | last this next | only also | always never
        sometimes often rarely | cheapest costliest most expensive | cheap expensive | highest lowest |
        high low | maximum minimum | max min | biggest smallest | largest smallest |
        longest shortest | tallest shortest | fastest slowest | oldest newest youngest
        latest earliest | best worst | most least | more less fewer | better worse |
        greatest smallest | easiest hardest | nearest farthest furthest | both either
        neither | many few | everything nothing something | everyone nobody someone |
        everywhere nowhere somewhere | entire part | whole half | full partial | least most
    """),
    same=groups_of("""
        is are | do does | has have | was were | buy purchase | start begin commence |
        delete remove erase | fix repair solve
        resolve | big large | small little tiny | fast quick rapid | quickly fast
        | method way | laptop notebook | phone cellphone smartphone mobile | picture photo
        image photograph | film movie | strange weird odd | change alter modify | choose
        select pick | make create | job work employment | email mail | advantage benefit
        pro | disadvantage drawback con | difference distinction | purpose aim goal |
        error mistake | answer reply respond | ask inquire | difficult hard tough |
        easy simple | expensive costly | famous popular | person people human |
        child kid | city town | country nation | company firm business | money cash |
        salary wage | symptom sign | car automobile | physician doctor | sick ill | enough
        sufficient | important significant | correct right | incorrect wrong | increase
        boost | reduce decrease lessen | improve enhance | study learn | earn make |
        colour color | favourite favorite | organise organize | programme program |
        centre center | metre meter | licence license | grey gray | realise realize |
        analyse analyze | behaviour behavior | neighbour neighbor | tyre tire |
        activate enable | switch turn | lose shed | happen occur | get obtain acquire
        receive | book novel | start launch | stop halt quit | end finish | attorney
        lawyer | bike bicycle | television tv | usa us america | uk britain | app
        application | kind type | site website | stay remain | view see | show display
        | store shop | trip journey | mom mother mum | dad father | ok okay fine |
        require need | various different | teenager teen | dialog dialogue
    """),
    questions=values_of("""
        why why when when where where who who whom who whose who how how what what which
        what
    """),
    modals={
        **values_of("""
            can can could can may can might can must must should must ought must shall
            must will will would will cannot can can't can couldn't can mustn't must
            shouldn't must won't will wouldn't will
        """),
        **dict.fromkeys(["have to", "has to", "need to", "needs to"], "must"),
    },
    measures=words_of(
        "many much long often far old big tall fast large soon late deep"
    ),
    clauses=words_of("""
        in on when after if for without with before at during since as while because
        under by from once unless until given
    """),
    joins=words_of("and or & vs versus"),
    mutual=words_of("""
        compare compares compared comparing comparison combine mix merge share shares
        meet met marry related compatible equal friends replaced
    """),
)
