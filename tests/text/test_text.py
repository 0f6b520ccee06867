"""Text: what nobody sees or means goes; tokens are NLTK's, numbers the course's."""

import json
import pickle
import random
import sys
import unicodedata
import zlib
from collections import defaultdict
from collections.abc import Mapping

import nltk
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from programs import output_of
from refusals import refuses
from small_models import make_detector

from siamese import DuplicateDetector, TrainConfig
from siamese.encoders import find_encoder
from siamese.encoders.joined import Joined
from siamese.encoders.protocol import unknown_texts
from siamese.errors import ArgumentError
from siamese.reading.pairs import read_pairs
from siamese.text.cleaning import cleaned, folded, normalized
from siamese.text.courtesies import without_greeting
from siamese.text.tokenizer import fast_path, word_tokenize
from siamese.text.vocabulary import Vocabulary, tokenize_questions

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
    "<p title='a > b'>Is it\n\n  far?</p>": "Is it far?",
    "<p title=don't>Is it far? I can't say</p>": "Is it far? I can't say",
    '<p class=x">Is "a > b" true?</p>': 'Is "a > b" true?',
    "<p>Is <b and <i it?</p>": "Is <b and <i it?",
    "<!DOCTYPE html><html><head></head><![if !mso]><p>Is it far?<o:p></o:p><![endif]>": "Is it far?",
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


MAIL = """<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "xhtml1.dtd">
<html xmlns:o="urn:schemas-microsoft-com:office:office">
<head><meta charset=utf-8><title>Mail</title>
<!--[if gte mso 9]><xml><o:Settings><o:Dpi>96</o:Dpi></o:Settings></xml><![endif]-->
<style><!--
{style}--></style></head>
<body lang=EN link="#0563C1"><div class=WordSection1><p class=MsoNormal>
{question}<o:p></o:p></p></div></body></html>"""
QUESTION = "How do I reset my password?"


@pytest.mark.parametrize(
    "make",
    [
        DuplicateDetector.pretrained,
        lambda: make_detector(
            words=["how", "do", "i", "reset", "my", "password", "?"], folded=True
        ),
    ],
    ids=["use", "lstm"],
)
def test_a_mail_whose_question_begins_at_character_20_000_is_its_question(make):
    mail = MAIL.format(style="p.MsoNormal {color: red}\n" * 800, question=QUESTION)
    spans = f"<div>{'<span class=x></span>' * 1000}<p>{QUESTION}</p></div>"
    assert min(mail.index(QUESTION), spans.index(QUESTION)) > 20_000
    detector = make()
    bare, *others = detector.encode([QUESTION, mail, spans])
    assert all((other == bare).all() for other in others)
    assert detector.encoder.truncated([mail, spans]) == 0


LONG = {  # a text, and whether both models read it to its end
    "the LSTM's 512 tokens": ("far " * 512, True),
    "more tokens than the LSTM reads": ("far " * 513, False),
    "few tokens, many characters": ("far" + "x" * 20_000, False),
    "blanks": ("How" + " \n" * 50_000 + "far?", True),
    "tags, and all is read": ("<p>x</p>" + "<b></b>" * 30_000 + "far?", True),
    "tags, and not all is read": ("<p>x</p>" + "<b></b>" * 40_000 + "far?", False),
    "an image": ("<p>Is it far?</p><img src='data:" + "QUJD" * 100_000 + "'>", False),
    "megabytes": ("How far is it? " * 1_000_000, False),
}


@pytest.mark.parametrize("name", LONG)
def test_a_text_is_read_to_its_end_or_counted(name):
    text, is_whole = LONG[name]
    use = find_encoder("use")
    both = make_detector(
        words=["how", "far", "?"],
        folded=True,
        beside=lambda lstm: Joined([(0.75, use), (0.25, lstm)]),
    )
    assert both.encoder.truncated([text, "far"]) == (not is_whole)
    # What is read is short, whatever comes after it.
    assert len(both.encoder.read(text)) < 1 << 17
    if not is_whole and len(text) > 1 << 17:
        assert (both.encode(text) == both.encode(text + "How far is it?" * 9)).all()


def test_what_a_cut_text_has_in_front_decides_its_vector():
    use = DuplicateDetector.pretrained()
    question, image = "<p>How far is it?</p>", LONG["an image"][0]
    assert (use.encode("Is it far?") == use.encode(image)).all()
    assert folded(image + "a") != folded(image + "b")  # No two texts become one.
    assert use.encoder.truncated(["far " * 4_000, "far " * 5_000, question]) == 1
    words = " ".join(f"word{number}" for number in range(30_000))
    assert (use.encode(words) == use.encode(words + " more")).all()


@pytest.mark.parametrize("form", ["NFC", "NFKC"])
def test_accents_are_composed_as_unicodedata_does(form):
    letters = [
        "a",
        "\u01d6",
        "\ufdfa",
        "\uac00",
        "\u1100",
        "\u0915",
        "\u0cc6",
        "\U000110a5",
        " ",
    ]
    accents = [
        "\u0301",
        "\u0323",
        "\u0f73",
        "\uff9e",
        "\u3099",
        "\u0344",
        "\U0001d165",
        "\u1161",
        "\u0cc2",
    ]
    choose = random.Random(0)
    for _ in range(300):
        runs = (
            choose.choice(letters)
            + "".join(choose.choices(accents, k=choose.choice([0, 2, 90])))
            for _ in range(40)
        )
        text = "x" * 1000 + "".join(runs)
        assert normalized(text, form) == unicodedata.normalize(form, text)


def test_no_character_beyond_the_second_plane_is_an_accent():
    """`normalized` looks at those below it alone."""
    beyond = range(0x20000, sys.maxunicode + 1)
    assert not any(unicodedata.combining(chr(code)) for code in beyond)


def shortened(text):
    return ascii(text)[:40]


@pytest.mark.parametrize("text", [*CLEANED, *AS_IT_IS], ids=shortened)
def test_what_nobody_sees_goes_and_text_stays(text):
    assert " ".join(cleaned(text).split()) == CLEANED.get(text, text)


@pytest.mark.parametrize("text", [*GREETED, *NO_GREETING], ids=shortened)
def test_greetings_go_and_text_stays(text):
    assert without_greeting(text) == GREETED.get(text, text)


@pytest.mark.parametrize("text", FORMS, ids=shortened)
def test_forms_of_letters_are_folded_once_and_for_all(text):
    assert folded(text) == folded(folded(text)) == FORMS[text]


ALIKE = [
    ("How do I reset my password?", "how do i re\u00adset my pass\u200bword?"),
    ("zürich", "zu\u0308rich"), ("abc", "ＡＢＣ"), ("is it far?", "<p>Is it <b>far</b>?</p>"),
    ("is it far?", "Hi all, is it far? Thanks a lot!"),
]  # fmt: skip


@pytest.fixture(scope="module")
def folding_and_course():
    """Two models of the same words, one of which folds what it reads."""
    words = [
        "how",
        "do",
        "i",
        "reset",
        "my",
        "password",
        "zürich",
        "abc",
        "?",
        "is",
        "it",
        "far",
    ]
    return make_detector(words=words, folded=True), make_detector(words=words)


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_a_folding_model_reads_two_forms_as_one(folding_and_course, one, other):
    folding, course = folding_and_course
    assert 1 - 1e-6 < folding.similarity(one, other) <= 1
    assert course.similarity(one, other) < 0.999
    assert folding.unknown_words(other) == []


def test_a_folding_model_counts_what_it_does_not_know_or_read(folding_and_course):
    folding, _ = folding_and_course
    unknown = unknown_texts(folding.encoder, ["xyzzy plugh", "IT", "ошибка？"])
    assert unknown.tolist() == [1, 0, 1]
    assert folding.encoder.truncated(["it " * 512, "it " * 513, "far"]) == 1


def lengths_and_capitals(texts):
    return [[len(text), text.count("A"), 1.0] for text in texts]


@pytest.mark.parametrize(
    ("one", "other"),
    [("“A” or ‘b’", "\"A\" or 'b'"), ("A–B — c", "A-B - c"), ("A\x0bb", "A b")],
    ids=["quotes", "dashes", "line ends"],
)
def test_an_encoder_reads_plain_marks_where_the_courses_model_does_not(
    folding_and_course, one, other
):
    _, course = folding_and_course
    encoder = DuplicateDetector.from_encoder(lengths_and_capitals).encoder
    assert encoder.read(one) == other
    assert course.encoder.read(other) == other != course.encoder.read(one)


def test_an_encoder_gets_the_case_as_it_is_and_nothing_invisible():
    lengths = DuplicateDetector.from_encoder(lengths_and_capitals)
    assert lengths.similarity("pass\u00adword", "password") == pytest.approx(1)
    assert lengths.similarity("A", "a") < 0.9  # An encoder gets the case as it is.


def test_the_preset_lstm_folds_and_the_courses_does_not():
    assert TrainConfig.preset("lstm").folded and not TrainConfig().folded


PIECES = (
    [
        "a",
        "I",
        "do",
        "he",
        "Bob",
        "can",
        "not",
        "gon",
        "na",
        "U.S",
        "Mr",
        "Dr",
        "e.g",
        "x",
        "10",
    ]
    + [
        "'s",
        "'S",
        "'m",
        "'D",
        "'ll",
        "'LL",
        "'Ll",
        "n't",
        "N'T",
        "'re",
        "'ve",
        "'t",
        "'",
        "''",
    ]
    + [
        '"',
        "``",
        ",",
        ":",
        ".",
        "...",
        "?",
        "!",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "<",
        ">",
        "-",
        "--",
    ]
    + [
        "_",
        "/",
        "+",
        "$",
        "&",
        "*",
        "#",
        "@",
        "%",
        ";",
        "^",
        "=",
        "~",
        "|",
        "\\",
        "é",
        "’",
        "\n",
    ]
    + [" "] * 25
)


mixes = st.lists(st.sampled_from(PIECES), max_size=16).map("".join)
# NLTK imports these where they are, and they take seconds.
QUICK_NLTK = """
        import sys
        sys.modules.update(dict.fromkeys(('pandas', 'scipy', 'sklearn')))"""


@settings(max_examples=100)
@given(mixes | st.text(max_size=40))
@example("I can't, don't and won't.")
@example("It's what they do're'D")
@example('Say "yes" or "no" at 10:30, $5 (about 4.50%) or 1,000?')
@example("I met Dr. No. Then he left. क्या है? half a pair: \ud83d?")
def test_any_text_equals_nltk(text):
    assert word_tokenize(text) == nltk.word_tokenize(text)


def test_nltk_is_imported_by_many_threads():
    output_of(f"""{QUICK_NLTK}
        from multiprocessing.pool import ThreadPool
        from siamese.text.tokenizer import word_tokenize
        tokens = ThreadPool(8).map(word_tokenize, ["Mr. X cannot."] * 8, chunksize=1)
        assert tokens == [["Mr.", "X", "can", "not", "."]] * 8, tokens
    """)


@pytest.mark.quora
@pytest.mark.slow
def test_quora_questions_equal_nltk_with_its_own_data(quora):
    """The packaged parameters here; in another process NLTK with the real punkt_tab."""
    texts = read_pairs(quora / "questions.csv.gz").question1[:2000]
    code = f"""{QUICK_NLTK}
        import json, nltk
        nltk.data.find("tokenizers/punkt_tab/english/")
        tokens = [nltk.word_tokenize(text) for text in json.load(sys.stdin)]
        json.dump(tokens, sys.stdout)
    """
    folder = quora.with_name("nltk_data")
    answer = output_of(code, stdin=json.dumps(texts), NLTK_DATA=str(folder))
    assert sum(fast_path(text) is not None for text in texts) / len(texts) > 0.9
    for text, tokens in zip(texts, json.loads(answer), strict=True):
        assert word_tokenize(text) == tokens, text


texts = st.sampled_from(
    ["a b c", "B a?", "c c d", "", "can't", "D? a", "é \ud83d", "<PAD>"]
)
questions = st.lists(
    st.sampled_from(["a", "b", "c", "A", "B", "?", "<PAD>", "é"]), max_size=5
)


@given(st.lists(st.tuples(questions, questions), max_size=8))
def test_any_pairs_number_as_the_courses_loop(pairs):
    sides = [[pair[side] for pair in pairs] for side in (0, 1)]
    vocab = defaultdict(lambda: 0, {"<PAD>": 1})  # the assignment's cell
    for word in (word for one, two in pairs for word in one + two):
        if word not in vocab:
            vocab[word] = len(vocab) + 1
    assert dict(Vocabulary.from_pairs(*sides)) == vocab


@given(st.lists(st.tuples(texts, texts), max_size=10), st.integers(1, 4), st.booleans())
def test_questions_tokenized_together_number_and_encode_as_one_by_one(
    pairs, min_count, folded
):
    options = {"min_count": min_count, "folded": folded}
    one, two = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    tokens, n = tokenize_questions(one + two), len(pairs)
    # Each distinct question is cut once, in the order of first appearance.
    order = [*dict.fromkeys(one + two)]
    assert tokens.rows.tolist() == [order.index(text) for text in one + two]
    slow = Vocabulary.from_pairs(
        map(word_tokenize, one), map(word_tokenize, two), **options
    )
    assert tokens.vocabulary(tokens.rows[:n], tokens.rows[n:], **options) == slow
    ids = tokens.encode(slow)
    assert [ids[row].tolist() for row in tokens.rows] == [
        slow.encode(text) for text in one + two
    ]


def test_a_vocabulary_is_a_mapping():
    vocab = Vocabulary.from_pairs([["When", "will", "I"]], [["see", "you", "?"]])
    assert vocab.encode("When will I see you? x") == [2, 3, 4, 5, 6, 7, 0]
    assert isinstance(vocab, Mapping) and (vocab.size, len(vocab)) == (8, 7)
    assert vocab["never"] == 0 and "never" not in vocab and vocab.get("never") is None


def test_vocabularies_are_equal_by_their_words_and_by_folding():
    vocab = Vocabulary(["a", "b"])
    assert Vocabulary(["a", "b"]) == vocab != Vocabulary(["a"])
    assert Vocabulary(["a"]) != Vocabulary(["a"], folded=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda vocab: vocab.__setitem__("new", 3),
        lambda vocab: setattr(vocab, "folded", True),
    ],
    ids=["a word", "an attribute"],
)
def test_a_vocabulary_stays_as_it_is(change):
    with pytest.raises(AttributeError):
        change(Vocabulary(["a"]))


def test_folded_is_applied_in_building_counting_looking_and_encoding():
    vocab = Vocabulary.from_pairs([["When", "WHEN", "I"]], [["i", "?"]], folded=True)
    assert dict(vocab) == {"<PAD>": 1, "when": 2, "i": 3, "?": 4}
    assert vocab["When"] == vocab["when"] == 2 and "I" in vocab and vocab.get("I") == 3
    assert vocab["<PAD>"] == 1 and vocab["<pad>"] == 0
    assert vocab.encode("<p>\uff37hen\u00ad &quest;</p>") == [2, 4]


@pytest.mark.parametrize(
    ("least", "folds", "words"), [(2, False, "bd"), (2, True, "abd"), (3, True, "")]
)
def test_words_are_counted_as_they_are_folded(least, folds, words):
    pairs = [["a", "b", "A"], ["c"]], [["b", "d"], ["d", "e"]]
    vocab = Vocabulary.from_pairs(*pairs, min_count=least, folded=folds)
    assert list(vocab) == ["<PAD>", *words]


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda: word_tokenize(None), ["NoneType"]),
        (lambda: word_tokenize(float("nan")), ["float"]),
        (lambda: word_tokenize(b"bytes"), ["bytes"]),
        (lambda: Vocabulary("a b"), ["word_tokenize"]),
        (lambda: Vocabulary(["a", 5]), ["not 5"]),
        (lambda: Vocabulary.from_pairs(["a b"], ["c"]), ["list of tokens"]),
        (lambda: Vocabulary.from_pairs([["a"]], []), ["1 questions", "tokens2 0"]),
        (lambda: Vocabulary().encode([5]), ["not 5"]),
    ],
    ids=[
        "tokens of None",
        "tokens of NaN",
        "tokens of bytes",
        "a vocabulary of a text",
        "a vocabulary of a number",
        "pairs of texts",
        "unequal sides",
        "the id of a number",
    ],
)
def test_a_bad_argument_is_refused_by_what_it_is(make, names):
    with refuses(ArgumentError, *names):
        make()


def test_unknown_words_have_ids_of_their_own():
    plain = Vocabulary(["how", "are", "you"], folded=True)
    vocab = Vocabulary(["how", "are", "you"], folded=True, unknown_ids=50)
    assert vocab.size == plain.size + 50 and len(vocab) == len(plain) and vocab != plain
    expected = plain.size + zlib.crc32(b"zorkmids") % 50  # folded before it is hashed
    assert vocab["Zorkmids"] == vocab["zorkmids"] == expected
    assert "Zorkmids" not in vocab and vocab.get("Zorkmids") is None
    assert pickle.loads(pickle.dumps(vocab)) == vocab
