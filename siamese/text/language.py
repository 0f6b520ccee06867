"""Which language a text is in, and which languages a list has.

The model is py3langid's (naive Bayes on byte n-grams; Lui and Baldwin, 2012), restricted
to `LANGUAGES`. A short text is hard to tell alone, so a list is looked at first: the
shares of its languages are estimated by expectation maximization, and only languages
with a share of more than 1 % are at hand for its texts. A text counts as another
language than the list's main one only where that is sure.

The model takes a third of a second to load. A list in plain English does not need it:
its texts have words that no other language has.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from siamese.errors import ArgumentError
from siamese.text.cleaning import straightened

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

# Those that a text can be in: the sixteen that `use` was trained on, then others.
LANGUAGES = {
    "en": "English",
    "ar": "Arabic",
    "de": "German",
    "es": "Spanish",
    "fr": "French",
    "id": "Indonesian or Malay",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ru": "Russian",
    "th": "Thai",
    "tr": "Turkish",
    "zh": "Chinese",
    "cs": "Czech",
    "el": "Greek",
    "he": "Hebrew",
    "hi": "Hindi",
    "sv": "Swedish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
    # These are met more rarely, and the model is not measured on them here.
    "bg": "Bulgarian",
    "da": "Danish",
    "fa": "Persian",
    "fi": "Finnish",
    "hr": "Croatian",
    "hu": "Hungarian",
    "no": "Norwegian",
    "ro": "Romanian",
    "sk": "Slovak",
}
ENGLISH = "en"
SURE = 0.99  # the probability from which a text counts as another language
SURE_LETTERS = 20  # and its letters
LEAST_SHARE = 0.01  # of a list's texts in a language that is at hand
SAMPLE = 1_000  # texts of a list whose languages are estimated
LONGEST = 500  # characters of a text that are looked at
_KEPT = 50_000  # texts whose languages are kept

_CODES = tuple(LANGUAGES)
_SAME = {"ms": "id", "nn": "no"}  # labels of the model that count as another
_MEASURED = 23  # the first ones of them
_RARE = 0.05  # how probable each other one is beside these before a text is seen
_STEPS = 20  # of expectation maximization
_ENGLISH_AT_FIRST = 0.5  # its share before a text is seen
# Letters and words that a language does not have, of those that look alike to the model.
_NOT_IN = {
    re.compile("[іїєґ]", re.IGNORECASE): ("ru", "bg"),
    re.compile("[ыэё]", re.IGNORECASE): ("uk", "bg"),
    re.compile(
        r"\b(?:що|щоб|як|яка|яке|який|якщо|це|цей|цього|чи|коли|вона|вони|воно|був|була|були"
        r"|буде|має|дуже|немає|може|треба|зараз|чому|його|йому|вже|навіть|хто|де|ще|від|після"
        r"|ласка|тобою|мною)\b|[а-я]i|i[а-я]",
        re.IGNORECASE,
    ): ("ru", "bg"),
    re.compile(
        r"\b(?:что|чтобы|как|какая|какой|если|это|этот|когда|она|они|оно|был|очень|нет|нужно"
        r"|сейчас|здесь|почему|меня|ему|его|даже|тобой|мной|хорошо|есть|или|где|кто)\b",
        re.IGNORECASE,
    ): ("uk",),
    re.compile("[¿¡]"): ("de", "en", "fr", "id", "it", "pt"),
    re.compile("[ñáíóú]"): ("it",),
    re.compile(
        r"ñ|\b(?:el|los|las|y|muy|soy|hay|pero|mis|usted|estoy)\b", re.IGNORECASE
    ): (
        "it",
        "pt",
    ),
    re.compile("[ãõçâêô]"): ("es", "it"),
    re.compile("[ěřů]"): ("sk", "hr"),
    re.compile("[ôľĺŕä]"): ("cs",),
    re.compile("[äö]"): ("da", "no"),
    re.compile("[æø]"): ("sv",),
}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Common words of English that are no common words of another language here.
_ENGLISH_WORDS = _words("""
    about above access account across actually after again against age air allowed
    almost already always american and any anybody anyone anything apple are aren't
    around ask away back bags bank battery because become becoming been before being
    believe best better between birthday board boil book both bought box boyfriend
    bring broken build bus business but buy call can't cannot car card care cars
    cats causes change charge check child children city class clean clear close code
    cold college comes company cook cost could couldn't country create customer data
    date days deal delete did didn't differ difference different do's does doesn't
    dog dogs doing don't done down drive drop during each earn easiest easy eat
    either email engineering english enough ever every everyone everything exam
    examples exist feel few file first fix food foreign found free freeze friend
    friends from get gets getting girl girlfriend give given giving go goes going
    gone good got great group grow guys happen happened happens has hasn't hate have
    haven't having he's health hear hello help here high himself his home hours
    house how how's hundred i'd i'll i'm i've if improve increase india indian
    instead interest into invest isn't issue it's its job jobs keep keeps kill know
    language large laugh learn leave leaves letter life like liked live living loan
    look looking lose loss lost love made make makes making many marriage math mean
    means might mind money month months moon more movie movies much music must my
    myself need needs never news next nobody not nothing number numbers off office
    often old one only opinion order other others our out own paper pay people
    person phone pick place plans play please police possible printer printing
    probability program question questions quickly quit read really recover remove
    rent reset return right run safe said same save say says science second see seen
    sell send sent set several she should shouldn't show since sister sleep slow
    smart someone something sometimes song songs sort speak spend stay still stopped
    story study such take taking talk teach tell than thanks that that's the their
    them themselves then there there's these they they're thing things think third
    this those through throw time times today together tomorrow too took top travel
    treat try trying turn turned two understand university unlock until up update
    use used useful using value very wait walk wants wash washing watch way ways
    we're weather website week weeks weight well went were weren't what what's when
    where where's whether which while white who who's whole whom whose why window
    with without woman women won't words work worked working works world worse worth
    would wouldn't write writing wrong year years yesterday you you'll you're you've
    young your yourself
""")
# Another language has these, too; each counts half.
_HALF_WORDS = _words(
    "a am an as at be by can do for he i in is it me my no of on or she to was we"
)
# Common words of the other languages in Latin letters, and hardly of English.
_OTHER_WORDS = _words("""
    aan aber aby adalah aku alla alle als altijd ama anche anda ao apa atau att auch
    auf aus av avec bagaimana bahwa bara bei bent bir bisa bist bu byl byla cara ce
    ces cette che chi co cok comment como con cosa cuando czy daha dal dans dari
    dass dat dei del della delle dengan denn des det deze di dia dich dir dla
    dlaczego doch donde dove een ein eine einem einen einer ela ele ella elle elles
    ellos em er eres essa esse est esta este esto estoy ett eu euch finns foi gdzie
    geen geven gli haar habe haben hay heb hebben heeft het hij ho hoe hon hur ich
    ieder ihm ihn ihr ihre ik ile ils im ini inte io isso ist itu jag jak jako jego
    jeho jej jemand jen jest jestem jestes jestli jika jsem jsi jsme jsou kami kan
    kann karena kde kdo kdy ke kein keine kita kto lei les leur lo loro lui maar
    mais mam med mein meine mengapa mes meu mia mich mij mijn min mina minha mio mir
    mis mit mitt mnie moet moi moja moje molto mon musi muy naar nach nada nas nasil
    nebo neden nel nella nem neni nerede nicht nie niet niets noch nog nooit nos
    nous num nur och od oder ona onze ook os ou para pela pelo perche pero po por
    porque pourquoi przez puedo quando que quem questa questo qui quien sa saya
    schon sehr sei sein seine sen ses seu sich sie siempre sind siz skad som sont
    sudah sus tengo tidak till todo toen tomu tot tra tuo tym uit uma una und une
    uno uns untuk uz vad veel vill voi vom von voor votre vous vy warum wat wenn wer
    werd werden wie wij wir wird wo worden yang yok za zich zij zijn zu zum zur
""")
_LEAST_PART = 1 / 5  # of a plain text's words
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
_ANY_WORD = re.compile(r"[^\W\d_]+(?:'[a-z]+)?")
_WIDE = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]")


class ListLanguages(NamedTuple):
    """The languages of a list: the main one, and the share of each that is at hand."""

    main: str
    shares: dict[str, float]

    @property
    def is_english(self) -> bool:
        """Whether all of it is in English."""
        return list(self.shares) == [ENGLISH]


def list_languages(texts: Sequence[str], main: str | None = None) -> ListLanguages:
    """The languages of a list, estimated from at most `SAMPLE` of its texts.

    Args:
      texts: the list; English where it is empty.
      main: the main language where the owner says it; a key of `LANGUAGES`, else an ArgumentError.
    """
    if main is not None and main not in LANGUAGES:
        raise ArgumentError(
            f"There is no language {main!r} here; the languages: {', '.join(LANGUAGES)}."
        )
    seen = list(dict.fromkeys(texts[at] for at in spread(len(texts), SAMPLE)))
    counts = [_english_words(text) for text in seen]
    plain = sum(count > 0 and part >= _LEAST_PART for count, part in counts)
    unclear = sum(
        not count and _is_unclear(text) for text, (count, _) in zip(seen, counts)
    )
    is_plain = plain > len(seen) / 2 and unclear <= LEAST_SHARE * len(seen)
    if not seen or (is_plain and main in (None, ENGLISH)):
        return ListLanguages(main or ENGLISH, {main or ENGLISH: 1.0})
    shares = _shares(_probabilities(seen))
    if main is None:
        main = _CODES[int(shares.argmax())]
    at_hand = {
        code: float(share)
        for code, share in zip(_CODES, shares)
        if share > LEAST_SHARE or code == main
    }
    # A share made of guesses at short texts alone is none.
    sure = Counter(_told(seen, main, at_hand))
    kept = {
        code: share
        for code, share in at_hand.items()
        if code == main or sure[code] > LEAST_SHARE * len(seen)
    }
    total = sum(kept.values())
    ordered = sorted(kept, key=lambda code: (code != main, -kept[code]))
    return ListLanguages(main, {code: kept[code] / total for code in ordered})


def text_languages(texts: Sequence[str], languages: ListLanguages) -> list[str]:
    """The language of each text of a list: the main one but where another is sure."""
    if languages.is_english:
        return [ENGLISH] * len(texts)
    return _told(texts, languages.main, languages.shares)


def language_of(text: str) -> tuple[str, float]:
    """The language of a text alone, and how probable it is among `LANGUAGES`, 0 to 1.

    Example:
      >>> language_of("Wie setze ich mein Passwort zurück?")[0]
      'de'
    """
    if is_plain_english(text):
        return ENGLISH, 1.0
    row = _probabilities([text])[0] * _prior()
    row /= row.sum()
    return _CODES[int(row.argmax())], float(row.max())


@functools.lru_cache(_KEPT)
def sure_language(text: str) -> str | None:
    """The language of a text alone; None where it is not sure.

    A text in another language than English needs more of its words than of English.

    Example:
      >>> sure_language("Wie setze ich mein Passwort zurück?"), sure_language("Passwort?")
      ('de', None)
    """
    if is_plain_english(text):
        return ENGLISH
    if letters(text) < SURE_LETTERS or not is_plainly_foreign(text):
        return None
    code, probability = language_of(text)
    return code if probability >= SURE else None


def is_plain_english(text: str) -> bool:
    """Whether a text of ASCII, quotes aside, has enough words that are English alone."""
    count, parts = _english_words(text)
    return count > 0 and parts >= _LEAST_PART


def is_plainly_foreign(text: str) -> bool:
    """Whether more words are of another language than are of English, by their letters or a table."""
    foreign, english, half = _words_by_language(text)
    return foreign > english + half / 2


def _words_by_language(text: str) -> tuple[int, int, int]:
    """How many words are of another language, by their letters or a table, of English, and of both."""
    words = _ANY_WORD.findall(straightened(text[:LONGEST]).lower())
    foreign = sum(word in _OTHER_WORDS or not word.isascii() for word in words)
    english = sum(map(_ENGLISH_WORDS.__contains__, words))
    half = sum(map(_HALF_WORDS.__contains__, words))
    return foreign, english, half


def _is_unclear(text: str) -> bool:
    """Whether a text is long enough to tell its language, and its words do not say that it is English."""
    if letters(text) < SURE_LETTERS:
        return False
    foreign, english, half = _words_by_language(text)
    return not english or foreign >= english + half / 2


def _english_words(text: str) -> tuple[int, float]:
    """How many words are English alone, and their part of a text's words, 0 to 1."""
    text = straightened(text[:LONGEST])
    if not text.isascii():
        return 0, 0.0
    words = _WORD.findall(text.lower())
    count = sum(map(_ENGLISH_WORDS.__contains__, words))
    half = sum(map(_HALF_WORDS.__contains__, words))
    return count, (count + half / 2) / max(1, len(words))


def letters(text: str) -> int:
    """How many letters the beginning of a text has; one of Chinese, Japanese or Korean counts three."""
    text = text[:LONGEST]
    count = sum(map(str.isalpha, text))
    return count if text.isascii() else count + 2 * len(_WIDE.findall(text))


def _told(texts: Sequence[str], main: str, at_hand: dict[str, float]) -> list[str]:
    """The language of each text among those at hand; the main one where another is not sure."""
    codes = [code for code in _CODES if code in at_hand]
    told = [main] * len(texts)
    asked = [
        place
        for place, text in enumerate(texts)
        if letters(text) >= SURE_LETTERS
        and not (main == ENGLISH and is_plain_english(text))
    ]
    if len(codes) < 2 or not asked:
        return told
    columns = [_CODES.index(code) for code in codes]
    rows = _probabilities([texts[place] for place in asked])[:, columns]
    best = rows.argmax(axis=1)
    sure = rows.max(axis=1) >= SURE * rows.sum(axis=1)
    for place, column, is_sure in zip(asked, best, sure):
        if is_sure:
            told[place] = codes[column]
    return told


def spread(count: int, most: int) -> Sequence[int]:
    """At most so many places of a list, at equal distances."""
    if count <= most:
        return range(count)
    return np.linspace(0, count - 1, most).astype(int).tolist()


def _shares(probabilities: np.ndarray) -> np.ndarray:
    """The share of each language, float64 [languages], by expectation maximization.

    Args:
      probabilities: of each text alone, [texts, languages].
    """
    shares = _prior() * (1 - _ENGLISH_AT_FIRST)
    shares[_CODES.index(ENGLISH)] += _ENGLISH_AT_FIRST
    for _ in range(_STEPS):
        joint = probabilities * shares
        shares = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
    return shares


def _prior() -> np.ndarray:
    """How probable each language is before a text is seen, float64 [languages]."""
    prior = np.full(len(_CODES), _RARE)
    prior[:_MEASURED] = 1
    return prior / prior.sum()


def _probabilities(texts: Sequence[str]) -> np.ndarray:
    """How probable each language is for each text alone, float64 [texts, languages]."""
    identifier = _identifier()
    column = {code: at for at, code in enumerate(_CODES)}
    rows = np.full((len(texts), len(_CODES)), 1e-12)
    for row, text in zip(rows, texts):
        text = text[:LONGEST]
        if not any(map(str.isalpha, text)):
            row[:] = 1
            continue
        for label, probability in identifier.rank(text):
            row[column[_SAME.get(label, label)]] += probability
        for mark, codes in _NOT_IN.items():
            if mark.search(text):
                row[[column[code] for code in codes]] = 1e-12
    return rows / rows.sum(axis=1, keepdims=True)


@functools.cache
def _identifier() -> LanguageIdentifier:
    """The model; its package has no types."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages({*_CODES, *_SAME})
    return identifier
