"""What nobody sees or means is cleaned and folded away; what is text stays."""

from itertools import count

import pytest
from small_models import make_detector

from siamese import DuplicateDetector, TrainConfig
from siamese.data.questions import repeated_lines, without_lines
from siamese.data.text import cleaned, folded, without_greeting

INVISIBLE = "\x00\x7f\x1b\u00ad\u200b\u200c\u200d\u200e\u200f\u202a\u202e\u2060\u2066"
INVISIBLE += "\ufffc\x1b[0;1m\u2069\ufeff\u180e\ufe0f\u3164"
CLEANED = {
    f"pass{INVISIBLE}word": "password", "<p>How do I <b>reset</b> it?</p>": "How do I reset it?",
    "<div class='a'>How do I<br>reset it?</div>": "How do I reset it?",
    "How do I<br/>reset it?": "How do I reset it?", "<p>How do I reset it?": "How do I reset it?",
    "<head><title>x</title></head><p>How do I reset it?": "How do I reset it?",
    "<style>p {color: red}</style>pass<b>word</b> <em>now</em><o:p></o:p>": "password now",
    "<html><body>How <mark>do</mark> I<!-- a\nb -->?</body></html>": "How do I?",
    "<details><summary>Is it <wbr>far?</summary></details>": "Is it far?",
    "Is it <font color=red>far?": "Is it far?", "Is it far?<!-- -->": "Is it far?",
    "pass<wbr>word": "password", "&lt;p&gt;Is it &amp;lt; 5?&lt;/p&gt;": "Is it < 5?",
    "<p>Is &lt;b&gt;x&lt;/b&gt; bold?</p>": "Is <b>x</b> bold?",
    "How\x0bdo\x85I\x1creset_x000D_\n\x1fit?": "How do I reset it?",
    "HOW DO I RESET IT?": "How do i reset it?", "INVOICE MISSING": "Invoice missing",
    "Tom &amp; Jerry &#39;98 &amp;quot;x&quot; &#x27;y&amp;amp;#x27;": "Tom & Jerry '98 \"x\" 'y'",
}  # fmt: skip
AS_IT_IS = (
    "What is <br> for?", "Is a < b and c > d?", "vector<int> or List<String>?", "AT&T or R&D?", "NASA JPL?",
    "if (a<b) then", "Is <T> or <name> ok?", "What does <!-- --> do?", "What is <a href='x'> for?",
    "?copy=1&reg=2", "What does <script>x()</script> do?", "<!--" * 50_000,
)  # fmt: skip
GREETED = {
    "Hi all, how far is it? Thanks in advance!": "How far is it?",
    "AW: RE: Fwd: hello team. Dear all: how far is it?  thx": "How far is it?",
    "Dear Sir or Madam, how far is it? Kind regards, John Smith": "How far is it?",
}
NO_GREETING = (
    "Hello!", "Thanks in advance!", "Hello world in C?", "Hey Jude, who wrote it?", "Is it far, thanks?",
    "How? Thanks to Bob it works now, but it fails again, so why?", "High, low or none?", "",
    "It exists. Please help me open it", "Which ends a letter? Best regards or kind regards",
    "hey.com login?", "re:Invent?", "hi.fi or lossless?", "Hey:5", "Hi, ?", "Hello. Thanks.",
)  # fmt: skip
FORMS = {
    "Z\u0075\u0308rich": "zürich", "ＡＢＣ １２３": "abc 123", "ﬁnal oﬃce": "final office",
    "“What’s” ‹this’": "\"what's\" 'this'", "IS  it\u00a0FAR ?": "is it far ?", "a—b": "a-b",
    "don´t": "don't",
}  # fmt: skip


def test_what_nobody_sees_or_means_goes_and_text_stays():
    for text, expected in (*CLEANED.items(), *zip(AS_IT_IS, AS_IT_IS)):
        assert " ".join(cleaned(text).split()) == expected
    for text, expected in (*GREETED.items(), *zip(NO_GREETING, NO_GREETING)):
        assert without_greeting(text) == expected
    for text, expected in FORMS.items():
        assert folded(text) == folded(folded(text)) == expected


ALIKE = [
    ("How do I reset my password?", "how do i re\u00adset my pass\u200bword?"),
    ("zürich", "zu\u0308rich"), ("abc", "ＡＢＣ"), ("is it far?", "<p>Is it <b>far</b>?</p>"),
    ("is it far?", "Hi all, is it far? Thanks a lot!"),
]  # fmt: skip


def test_every_model_but_the_courses_reads_folded_text():
    words = ["how", "do", "i", "reset", "my", "password", "zürich", "abc", "?", "is", "it", "far"]
    folding, course = (make_detector(words=words, folded=fold) for fold in (True, False))
    for one, other in ALIKE:
        assert 1 - 1e-6 < folding.similarity(one, other) <= 1
        assert course.similarity(one, other) < 0.999
        assert folding.unknown_words(other) == []
    assert folding.without_known_words(["xyzzy plugh", "IT", "ошибка？"]).tolist() == [1, 0, 1]
    assert folding.cut(["it " * 512, "it " * 513, "far"]) == 1
    lengths = DuplicateDetector.from_encoder(
        lambda texts: [[len(t), t.count("A"), 1.0] for t in texts]
    )
    assert lengths.similarity("pass\u00adword", "password") == pytest.approx(1)
    for one, other in (("“A” or ‘b’", "\"A\" or 'b'"), ("A–B — c", "A-B - c"), ("A\x0bb", "A b")):
        assert lengths.as_read(one) == other == course.as_read(other) != course.as_read(one)
    assert lengths.similarity("A", "a") < 0.9  # An encoder gets the case as it is.
    assert TrainConfig.preset("best").folded and not TrainConfig().folded


SIGNATURE, TEMPLATE = "Sent from my phone", "### What did you expect?"
NUMBERS = count()


def posts(size: int, *lines: str) -> list[str]:
    return ["\n".join([f"How do I solve number {next(NUMBERS)}?", *lines]) for _ in range(size)]


def test_what_counts_as_a_repeated_line():
    for texts, expected in (
        (posts(450, SIGNATURE) + posts(6, TEMPLATE) + posts(143), {SIGNATURE: 450, TEMPLATE: 6}),
        (posts(450, SIGNATURE) + posts(6, TEMPLATE) + posts(144), {SIGNATURE: 450}),  # just 1 %
        (posts(120) + posts(2, TEMPLATE), {}),  # two duplicates may share a line
        (posts(99, SIGNATURE), {}),
        (posts(200, "Hello all", "Thanks", ""), {}),
        ([SIGNATURE + "\n"] * 200, {}),  # a text of one line
        (posts(100, "  SENT  from my phone") + posts(100, SIGNATURE + " \r"), {SIGNATURE: 200}),
        ([f"<p>Why {n}?</p><p>{SIGNATURE}</p>" for n in range(200)], {f"<p>{SIGNATURE}</p>": 200}),
    ):
        assert repeated_lines(texts) == expected


def test_lines_are_left_out_whatever_their_blanks_and_case():
    for text, expected in (
        (f"Why?\n {TEMPLATE} \nBecause.\nSENT from  my phone", "Why?\nBecause."),
        (f"Why?<br>{SIGNATURE}<br/>", "Why?<br>"),
        ("Sent from my phone or not?", "Sent from my phone or not?"),
        (f"{SIGNATURE}\n\n{TEMPLATE}", f"{SIGNATURE}\n\n{TEMPLATE}"),  # nothing else
    ):
        assert without_lines(text, [SIGNATURE, TEMPLATE]) == expected
