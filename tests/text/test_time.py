"""The time of every function that reads a stranger's text grows with the text's length alone.

This is the one test that looks at a clock, and it looks at a ratio: of a text four times
as long. The texts are units of the function's own alphabet, repeated, with an end that
does not match.
"""

import contextlib
import gc
import random
import time
from collections.abc import Callable

import pytest

from siamese.encoders import find_encoder
from siamese.encoders.protocol import valid_unicode
from siamese.errors import SiameseError
from siamese.index.asking import shown
from siamese.index.stems import words_in
from siamese.model.explain import differences
from siamese.reading.clusters import as_models_read
from siamese.reading.questions import read_questions
from siamese.text.cleaning import cleaned, folded, normalized
from siamese.text.columns import read_spec
from siamese.text.courtesies import without_courtesies, without_greeting
from siamese.text.display import harmless
from siamese.text.mail import without_mail
from siamese.text.repeated import Repeated, find_repeated
from siamese.text.tokenizer import word_tokenize
from siamese.text.wrapping import plain, without_output

TIMES = (
    4  # so much longer is the longer one of two texts: 4 times is linear, 16 quadratic
)
RATIO = 6.8  # at most, of their times
ENOUGH = 0.004  # seconds that a clock measures well
# Seconds: a shorter time may be another process's, and a longer text decides.
CERTAIN = 0.1
# Characters; a text of so many in less than `ENOUGH` may take what it likes.
LONGEST = 1 << 18
SMALL = 1_000  # characters; up to these a text doubles its length in three steps
TRIES = 6  # of a measurement, since other programs disturb it
UNITS = 25  # random ones for each function

# Parts of units, with blanks between them.
MARKUP, MAIL, WORDS, OTHERS, WRAPS, MARKS_OF_MAIL = (
    parts.split(" ")
    for parts in (
        "< a b p > </ <a <br <p> </p> <a\thref='x'> <style> </style <script <head> <!-- --> <![if / ="
        " ' \" <b <!doctype <o:p> <pre \xa0 &amp; &lt; &#39; & amp; #x ;",
        "hi hello dear re: fwd: [1] all team thx thanks cheers regards help , . ! ? : many kind please",
        "a A Ab I to from vs the 1 1,0 .5 h264 a.b n't 's can not no -- ... … U.S. Mr. ’ “ ` `` '' _ % $",
        "é ü 日 한 क \u0301 \u0323 \u3099 \u0f73 \uff9e ﬁ ﷺ İ ½ \u200b \x1b[ 1; \x00 _x000D_ \u2028 \ud83d",
        "* ** _ __ ~~ ` ``` [ ] ( ) [b] [/b] [url=a] {code} {{ }} [a](http://b) | # > - 1. 1) SUP-311:"
        " [#12] [bug] How Is \" ' = == === ++ « “ ” h1. q: (solved) http://a <http://a> ^ \\ : –",
        "hello, hi thanks regards best --- _____ > ps: a : 1 @",
    )
)
BLANKS = [" ", "  ", "\t", "\n", "\r", "\x0b", "\xa0"]
TABLE = [
    "a,",
    '"',
    '""',
    '","',
    ";",
    "\t",
    "|",
    "{",
    "[",
    '{"a":',
    "sep=",
    ":",
    "+",
    "a:1",
    "<tr>",
]
MAILS = [
    *MARKS_OF_MAIL,
    "-- ",
    "> a",
    "On 1 a wrote:",
    "am 1 schrieb",
    "From: a",
    "To: b",
    "Sent from my a",
    "original message",
]
TEXT = [*MARKUP, *MAIL, *WORDS, *OTHERS, *BLANKS]

use = find_encoder("use")


def differences_of(text: str) -> None:
    differences(text, "x")


def lines_of(text: str) -> None:
    find_repeated([text] * 5)
    known = {"a": 1, "[a]": 1}
    Repeated(known, known, known).without(text)


FUNCTIONS: dict[str, tuple[Callable[[str], object], list[str]]] = {
    "tags": (cleaned, [*MARKUP, *BLANKS]),
    "cleaned": (cleaned, TEXT),
    "greetings": (without_greeting, [*MAIL, *BLANKS]),
    "courtesies": (without_courtesies, [*MAIL, *BLANKS, "danke, ", "您好", ", "]),
    "folded": (folded, [*OTHERS, *BLANKS]),
    "accents": (lambda text: normalized(text, "NFKC"), OTHERS),
    "clusters": (as_models_read, [*MAIL, *BLANKS]),
    "tokens": (word_tokenize, [*WORDS, *MAIL, *BLANKS]),
    "words": (words_in, [*WORDS, *OTHERS]),
    "spelling": (use.respelled, [*WORDS, "recieve "]),
    "pieces": (
        lambda text: use._pieces.ids([valid_unicode(text)]),
        [*WORDS, *OTHERS, *BLANKS],
    ),
    "known": (use.knows, OTHERS),
    "differences": (differences_of, [*WORDS, *BLANKS]),
    "asked": (lambda text: shown(text, text), TEXT),
    "display": (harmless, OTHERS),
    "lines": (lines_of, [*MARKUP, *BLANKS]),
    "tags of titles": (lines_of, [*WRAPS, *BLANKS]),
    "mail": (without_mail, [*MAILS, *BLANKS, "\n", "\n", "\n"]),
    "wrapped": (plain, [*WRAPS, *BLANKS]),
    "output": (
        without_output,
        [*WRAPS, "```", "```\n", "{code}\n", "\n", "at a(", 'File "', "\n"],
    ),
    "wrapped mail": (plain, [*WRAPS, *MAILS, *MARKUP, "\n", "\n"]),
    "columns": (lambda text: read_spec(text, ["a"]), [*TABLE, *OTHERS]),
}
# What once took quadratic time or longer: a beginning, a unit, an end.
ONCE_SLOW = {
    "tags": [
        ("<p>a", " ", "]"),
        ("<p>a", "\n", "x"),
        ("", "<a ", "x"),
        ("<p>", "<!--", "x"),
        ("<p>", "<a x='", "x"),
        ("<p>", "<style>", "x"),
        ("<p>", "<br ", "x"),
        ("<p><a ", "=", "x"),
        ("<p><a ", "='", "x"),
        ("<p>", "<![", "x"),
    ],
    "cleaned": [("&", "amp;", "x"), ("\x1b[", "1;", " "), ("", "&lt;", "x")],
    "greetings": [
        ("", "thx,     .", "x"),
        ("a?", "thx,\n ", "x"),
        ("hi", " all", "x"),
        ("hi", "!", "x"),
        ("", "re: ", "x"),
        ("", "please help", "x"),
        ("a. ", " ", "x"),
        ("", "\n", "x"),
        ("", "thanks. ", "x"),
        ("re:[", "1", "x"),
    ],
    "accents": [
        ("e", "\u0301\u0323", "x"),
        ("", "\u0f73\u0f71", ""),
        ("e", "\u3099\uff9e", "x"),
        ("ﷺ", "\u0323", ""),
    ],
    "folded": [("e", "\u0323\u0301", "x")],
    "differences": [
        ("", ".", "x"),
        ("a to", " ", "x"),
        ("", "a to ", "."),
        ("", "1,", "x"),
        ("A", "a", "'"),
    ],
    "tokens": [
        ("a.", " ", "x"),
        ("", '" ', "x"),
        ("", "'", "x"),
        ("", ".", "x"),
        ("", "a-", "'"),
        ("", ") ", "x"),
    ],
    "clusters": [("a", " ", "x")],
    "mail": [
        ("a\n", "thanks\n", "a?"),
        ("a\n", "thanks\n\n", "a?"),
        ("a\n", "On 1 a wrote:\n>\n", "x"),
        ("a\n", "On 1\n", "wrote:"),
        ("a\nregards\n", "a:\n", "x"),
        ("a\n", "From: a\n\n", "x"),
    ],
    "wrapped": [
        ("", "*a", "x"),
        ("", "**a ", "x"),
        ("", "[a](http://a", "x"),
        ("", "[b]", "x"),
        ("", "[b]a[/b]", "x"),
        ("", "{code}a", "x"),
        ("[", "#", "1"),
        ("", "[#1] ", "x"),
        ("`a <", "http://a", "x"),
        ("a", "\n===", "\n"),
    ],
    "columns": [(":", "1", "x"), ("", "+", "x")],
}


def seconds(function: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    with contextlib.suppress(SiameseError):
        function(text)
    return time.process_time() - start


def assert_time_is_linear(
    function: Callable[[str], object],
    text_of: Callable[[int], str],
    longest: int = LONGEST,
) -> None:
    """Lets a text grow until its time can be measured: slowly at first, since some patterns never end."""
    size = 4
    most = longest // TIMES
    while size <= most:
        shorter = seconds(function, text_of(size))
        longer = seconds(function, text_of(TIMES * size))
        for _ in range(TRIES):
            if longer < ENOUGH or longer <= RATIO * shorter:
                break
            shorter = min(shorter, seconds(function, text_of(size)))
            longer = min(longer, seconds(function, text_of(TIMES * size)))
            if longer > 2:  # Each try would take as long.
                break
        is_linear = longer <= RATIO * shorter
        assert is_linear or longer < CERTAIN, (
            f"{longer:.3f} s for {TIMES * size} characters, {shorter:.3f} s for {size}: "
            f"{text_of(64)!r:.90}"
        )
        if is_linear and shorter > ENOUGH:
            return
        if size == most:
            return
        if size > SMALL:
            times = round(ENOUGH / max(shorter, 1e-6))
            size = min(size * min(max(times, 2), 16), most)
        else:
            size = size * 5 // 4


def pumped(beginning: str, unit: str, end: str) -> Callable[[int], str]:
    return lambda size: beginning + unit * (size // len(unit)) + end


@pytest.fixture(autouse=True, scope="module")
def no_garbage_collection():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_longer_text_takes_as_much_longer(name):
    function, alphabet = FUNCTIONS[name]
    choose = random.Random(name)
    for case in ONCE_SLOW.get(name, ()):
        assert_time_is_linear(function, pumped(*case))
    for _ in range(UNITS):
        unit = "".join(choose.choices(alphabet, k=choose.randint(1, 4)))[
            : choose.randint(1, 8)
        ]
        beginning = choose.choice(["", *alphabet])
        end = choose.choice([*alphabet, "x"])
        assert_time_is_linear(function, pumped(beginning, unit, end))


FIRST_LINES = [
    ("", "<a />", "x"),
    ("", " ", "x"),
    ("<br>", " ", "x"),
    (" ", " <br ", "x"),
    ("", "<br>x", "<tr"),
    ("[", " ", "x"),
    ("{", " ", "x"),
    ("sep", " ", "x"),
    ("<a", " a", "x"),
    ("<tr", " ", "x"),
    ("", "<p ", "x"),
    ("<br>", "a", "<tr"),
    ('id,question\n1,"', 'a","b\n', "x"),
    ('id,question\n1,"', '"",\n', "x"),
    ("id,question\n", '1,"a\n', "x"),
    ("", "[", "x"),
    ('{"question": ', "[", "x"),
    ("", "question,", "x"),
    ("", "a\n", "x,y"),
    ("", "\n", "x"),
    ("a,", "a,", "b\n" * 3),
    ("question,", "a,", "b\nx"),
]


def random_files():
    choose = random.Random("files")
    for _ in range(UNITS):
        unit = "".join(
            choose.choices([*TABLE, *MARKUP, *BLANKS], k=choose.randint(1, 4))
        )[:8]
        beginning = choose.choice(
            ["", "id,question\n", "question\n", '{"question": "', "\n"]
        )
        yield beginning, unit, "x"


@pytest.mark.parametrize("case", [*FIRST_LINES, *random_files()], ids=repr)
def test_any_file_is_recognised_in_linear_time(tmp_path, case):
    def read(text: str) -> None:
        (tmp_path / "list").write_text(text, encoding="utf-8", errors="replace")
        read_questions(str(tmp_path / "list"), bad_rows="skip")

    assert_time_is_linear(read, pumped(*case))
