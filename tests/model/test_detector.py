"""The detector, whose parts are the reference; odd questions, files; what a word does."""

import json
import re
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from refusals import refuses
from sklearn.metrics.pairwise import paired_cosine_distances
from small_models import letters, make_detector, make_mixed_detector, random_questions
from tqdm import tqdm

from siamese import DuplicateDetector, QuestionIndex, QuestionPairs, match_questions
from siamese.encoders import find_encoder
from siamese.encoders.joined import Head, Joined
from siamese.encoders.protocol import unknown_texts
from siamese.errors import ArgumentError, CheckpointError, DataError
from siamese.model.decision import part_cosines
from siamese.model.detector import UNLABELLED_THRESHOLD
from siamese.model.explain import differences, explain
from siamese.model.file import read_file, write_file

TEXTS = (
    "how do i learn to cook rice",
    "what is the best way",
    "how far is it",
    "age old are you ?",
)


@pytest.fixture(scope="module", params=["masked", "as the course's"])
def detector(request):
    return make_detector(threshold=0.5, mask_padding=request.param == "masked")


def of_letters(**options):
    return DuplicateDetector(letters, threshold=0.9, **options)


def test_predict_follows_the_threshold_for_one_and_for_many(detector):
    one, many = "how far ?", random_questions(12)
    pairwise = detector.similarity([one] * 12, many)
    for sides in ((one, many), (many, one), (one, tuple(many))):
        assert_allclose(detector.similarity(*sides), pairwise, atol=1e-6)
        assert detector.predict(*sides).tolist() == (pairwise > 0.5).tolist()
    cosine = detector.similarity(one, many[0])
    assert detector.predict(one, many[0], threshold=cosine - 1e-3) is True
    assert detector.predict(one, many[0], threshold=cosine + 1e-3) is False
    assert (
        detector.similarity(one, []).shape == (0,)
        and detector.predict([], []).tolist() == []
    )


def test_encode_takes_a_text_a_list_and_tables_in_batches_of_any_size():
    pandas, options = pytest.importorskip("pandas"), {"batch_size": 7}
    texts = [*random_questions(30), "how far ?", "how far ?"]
    detector = make_mixed_detector()
    expected = detector.encode(texts)
    assert expected.shape == (32, detector.encoder.size)
    assert_allclose(detector.encode(texts[3], **options), expected[3], atol=1e-5)
    frame = pandas.DataFrame({"question": texts}, index=range(5, 37))
    for table in (
        tuple(texts),
        frame["question"],
        frame,
        np.array(texts),
        {"text": texts},
    ):
        assert_allclose(detector.encode(table, **options), expected, atol=1e-5)
    assert detector.encode([], **options).shape == (0, detector.encoder.size)


NO_QUESTIONS = {
    "a number among texts": (
        lambda detector: detector.similarity(["how", 5], ["how", "far"]),
        DataError,
        ["5"],
    ),
    "None among texts": (lambda detector: detector.encode([None]), DataError, ["None"]),
    "None": (lambda detector: detector.encode(None), ArgumentError, ["list", "None"]),
    "a threshold of 5": (
        lambda detector: detector.predict("how", "far", 5),
        ArgumentError,
        ["threshold", "-1 to 1", "5"],
    ),
    "a text for a fit": (
        lambda detector: detector.with_threshold("high"),
        ArgumentError,
        ["threshold", "high"],
    ),
    "a fit of 5": (
        lambda detector: detector.with_threshold(5),
        ArgumentError,
        ["threshold", "-1 to 1", "5"],
    ),
    "a threshold of NaN": (
        lambda detector: detector.with_threshold({"threshold": np.nan}),
        ArgumentError,
        ["-1 to 1"],
    ),
    "a text where a list is asked": (
        lambda detector: match_questions(detector, "how", ["far"]),
        ArgumentError,
        ["list", "'how'"],
    ),
    "a number for a list": (
        lambda detector: detector.similarity(3, "how"),
        ArgumentError,
        ["list", "3"],
    ),
    "a text for a threshold": (
        lambda detector: detector.predict("how", "far", "0.8x"),
        ArgumentError,
        ["threshold"],
    ),
    "sides of two lengths": (
        lambda detector: detector.similarity(["how", "far"], ["how"]),
        ArgumentError,
        ["2 first", "1 second"],
    ),
    "a probability without a fit": (
        lambda detector: detector.probability("how", "far"),
        ArgumentError,
        ["calibration"],
    ),
    "an empty batch": (
        lambda detector: detector.encode(["how"], batch_size=0),
        ArgumentError,
        ["batch_size"],
    ),
    "a table of ids and texts": (
        lambda detector: detector.encode({"id": [1], "text": ["how"]}),
        DataError,
        ["id, text"],
    ),
}


@pytest.mark.parametrize("name", NO_QUESTIONS)
def test_what_is_no_question_is_refused(detector, name):
    call, error, names = NO_QUESTIONS[name]
    with refuses(error, *names):
        call(detector)


@pytest.mark.parametrize(
    "use",
    [
        lambda detector: detector.encode,
        lambda detector: partial(QuestionIndex.build, detector),
    ],
    ids=["a model", "an index"],
)
def test_a_table_of_several_columns_is_refused_by_their_names(detector, use):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": [1], "body": ["how far ?"], "score": [2]})
    with refuses(DataError, "id, body, score"):
        use(detector)(frame)


def test_of_a_table_with_a_title_it_is_said_how_it_is_read(detector):
    pandas = pytest.importorskip("pandas")
    forum = pandas.DataFrame({"id": [1], "body": ["how far ?"], "Title": [2]})
    with refuses(DataError, "read_questions", "ids=q.ids"):
        QuestionIndex.build(detector, forum)


def test_long_work_shows_a_bar_with_the_time_left(monkeypatch, capsys):
    at_once = {"delay": 0, "mininterval": 0}
    monkeypatch.setattr("tqdm.tqdm", lambda **options: tqdm(**options | at_once))
    detector = make_detector()
    detector.encode(random_questions(20), batch_size=5)
    assert capsys.readouterr().err == ""
    detector.encode(random_questions(20), batch_size=5, show_progress=True)
    assert re.search(r"encoding: +\d+%.*/20\.0.*<\d\d:\d\d", capsys.readouterr().err)
    QuestionIndex.build(detector, random_questions(20), show_progress=True)
    assert "encoding: 100%" in capsys.readouterr().err


@pytest.mark.parametrize("share", [0.25, 0.75])
def test_the_cosine_is_the_weighted_mean_of_the_parts_cosines(share):
    lstm = make_detector()
    detector = make_mixed_detector(share)
    first, second = random_questions(100), random_questions(100, seed=2)
    frozen = 1 - paired_cosine_distances(letters(first), letters(second))
    expected = share * frozen + (1 - share) * lstm.similarity(first, second)
    assert_allclose(detector.similarity(first, second), expected, atol=1e-5)
    vectors = detector.encode(first)
    assert vectors.dtype == np.float32 and vectors.shape == (100, 26 + 8)
    assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert_array_equal(detector.encode([" ", "? ?"]), np.zeros((2, 34)))
    assert unknown_texts(detector.encoder, ["xyzzy", "how", "?"]).tolist() == [0, 0, 1]


def vowels(texts):
    """An encoder that has no vector for a text without vowels."""
    return [[text.count(vowel) for vowel in "aeiou"] for text in texts]


@pytest.mark.parametrize("share", [0.2, 0.8])
def test_a_text_that_one_part_has_no_vector_for_has_the_other_parts_own_cosines(share):
    frozen, lstm = find_encoder(vowels), make_detector()
    detector = make_detector(
        beside=lambda lstm: Joined([(share, frozen), (1 - share, lstm)])
    )
    texts = ["xyzzy ?", "how far", "hw fr ?", "what is rice"]
    one, two = ([texts[at] for at in side] for side in zip(*np.ndindex(4, 4)))
    expected = np.stack([frozen.encode(side) for side in (one, two)])
    cosines = part_cosines(detector.encoder, detector.encode(one), detector.encode(two))
    assert_allclose(cosines[:, 0], np.vecdot(*expected), atol=1e-6)
    assert_allclose(cosines[:, 1], lstm.similarity(one, two), atol=1e-5)
    assert not cosines[0, 0] and detector.similarity(
        "xyzzy ?", "xyzzy ?"
    ) == pytest.approx(1)
    vector = detector.encode("xyzzy ?")
    assert_array_equal(vector[:5], 0)
    assert_allclose(vector[5:], lstm.encode("xyzzy ?"), atol=1e-6)


def test_a_threshold_is_given_fitted_or_the_default():
    first, second = TEXTS * 2, [*TEXTS, *TEXTS[1:], TEXTS[0]]
    labels = [1] * 4 + [0] * 4
    default = DuplicateDetector.from_encoder(letters)
    detector = default.fitted(QuestionPairs(first, second, labels))
    assert (detector.similarity(first, second)[:4] > detector.threshold).all()
    assert detector.decision.probabilities(detector.threshold) == pytest.approx(
        0.5, abs=1e-6
    )
    assert detector.threshold_from == "labels"
    assert of_letters().threshold_from == "model"
    assert default.threshold_from == "default"
    assert default.threshold == UNLABELLED_THRESHOLD


def test_a_number_is_a_threshold_and_keeps_the_calibration(tmp_path):
    calibration = {"n": 40, "slope": 9.0, "intercept": -5.0}
    fit = {"threshold": 0.6, "calibration": calibration}
    fitted = make_detector().with_threshold(fit)
    other = fitted.with_threshold(0.9)
    assert (fitted.threshold, other.threshold) == (0.6, 0.9)
    assert (fitted.threshold_from, other.threshold_from) == ("labels", "given")
    pair = "how far", "how old"
    assert other.probability(*pair) == fitted.probability(*pair)
    loaded = DuplicateDetector.load(other.save(tmp_path / "model"))
    assert (loaded.threshold, loaded.threshold_from) == (0.9, "given")


def test_duplicates_of_lower_cosines_fit_no_threshold():
    first, second = TEXTS * 2, [*TEXTS, *TEXTS[1:], TEXTS[0]]
    pairs = QuestionPairs(first, second, [0] * 4 + [1] * 4)
    with refuses(DataError, "higher cosines"):
        DuplicateDetector.from_encoder(letters).fitted(pairs)


@pytest.mark.parametrize(
    "make",
    [
        lambda frozen: Head(frozen, np.eye(2)),
        lambda frozen: Head(frozen, np.eye(26) * np.nan),
        lambda frozen: Joined([]),
        lambda frozen: Joined([(0.5, frozen), (0.0, frozen)]),
        lambda frozen: Joined([(np.nan, frozen)]),
        lambda frozen: DuplicateDetector(frozen, threshold=np.nan),
    ],
)
def test_parts_that_do_not_fit_are_refused(make):
    with pytest.raises(ArgumentError):
        make(find_encoder(letters))


def test_a_base_that_several_parts_share_encodes_a_text_once():
    asked = []

    def counting(texts):
        asked.extend(texts)
        return letters(texts)

    base = find_encoder(counting)
    asked.clear()
    turned = np.roll(np.eye(26), 1, axis=0)
    parts = [(0.5, base), (0.3, Head(base, turned)), (0.2, Head(base, np.eye(26)))]
    vectors = Joined(parts).encode(list(TEXTS))
    assert asked == list(TEXTS)
    for (share, part), place in zip(parts, Joined(parts).parts):
        expected = np.sqrt(share) * part.encode(list(TEXTS))
        assert_allclose(vectors[:, place], expected, atol=1e-6)


@pytest.mark.parametrize(
    "save",
    [
        lambda path: of_letters().save(path),
        lambda path: QuestionIndex.build(of_letters(), TEXTS, path=path),
    ],
    ids=["a model", "an index"],
)
def test_a_model_over_an_object_is_in_no_file(tmp_path, save):
    with refuses(CheckpointError, "'letters'"):
        save(tmp_path / "file")
    assert not list(tmp_path.iterdir())


def test_an_index_of_a_model_over_an_object_stays_in_memory():
    with QuestionIndex.build(of_letters(), TEXTS) as index:
        index.add("one more")
        assert index.search("one more", 1)[0].id == str(len(TEXTS))


def test_files_name_their_encoder_and_refuse_another_fingerprint(tmp_path):
    use = find_encoder("use")
    detector = make_detector(beside=lambda lstm: Joined([(0.5, use), (0.5, lstm)]))
    path = detector.save(tmp_path / "model.safetensors")
    QuestionIndex.build(
        DuplicateDetector.pretrained(), TEXTS, path=tmp_path / "index"
    ).close()
    loaded, index = DuplicateDetector.load(path), QuestionIndex.open(tmp_path / "index")
    assert loaded.encoder.name == "use+lstm" and loaded.encoder.shares == (0.5, 0.5)
    assert loaded.encoder.fingerprint == detector.encoder.fingerprint
    assert_array_equal(loaded.encode(TEXTS), detector.encode(TEXTS))
    assert index.search("cooking rice", 1)[0].question == TEXTS[0]
    assert index.detector.threshold_from == "default"
    arrays, facts = read_file(path, "model")
    facts["encoder"]["joined"][0][1]["fingerprint"] = "0" * 64
    write_file(path, "model", arrays, facts, overwrite=True)
    with refuses(CheckpointError, str(path), "encoder 'use'", "version"):
        DuplicateDetector.load(path)


def test_effects_are_what_leaving_a_word_out_changes():
    detector = make_detector(threshold=0.5, mask_padding=False)
    one, two = "how do i cook rice ?", "what is the xyzzy way ?"
    found = explain(detector, one, two)
    full = detector.similarity(one, two)
    assert found.similarity == pytest.approx(full, abs=1e-6)
    for words, text, other in ((found.words1, one, two), (found.words2, two, one)):
        tokens = text.split()
        assert [w.word for w in words] == tokens
        left = [" ".join(tokens[:at] + tokens[at + 1 :]) for at in range(len(tokens))]
        effects = full - detector.similarity(left, other)
        assert [word.effect for word in words] == pytest.approx(effects, abs=1e-5)
    assert json.loads(json.dumps(found.as_dict()))["words2"][3]["known"] is False
    assert "(never seen by the model)" in str(found)
    assert "the only word" in str(explain(detector, "rice", "rice far"))


def test_a_question_without_words_is_not_explained():
    with refuses(DataError, "question2"):
        explain(make_detector(), "rice", " \n")


@pytest.mark.parametrize(
    ("one", "two", "cosine"),
    [
        ("How do I convert CSV to JSON?", "How do I convert JSON to CSV?", 0.993),
        ("Is this mushroom safe to eat?", "Is this mushroom not safe to eat?", 0.994),
    ],
    ids=["direction", "negation"],
)
def test_the_encoder_hardly_sees_direction_and_negation(one, two, cosine):
    """The figures of docs/tasks/duplicates.md."""
    detector = DuplicateDetector.pretrained()
    assert detector.similarity(one, two) == pytest.approx(cosine, abs=1e-3)
    assert differences(one, two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("1920x1080 screen", "1920x1200 screen"),
        ("file 2024_01_05", "file 2024_02_05"),
        ("error 0x80070005", "error 0x80070057"),
        ("two boards", "three boards"),
        ("ipv4 router", "ipv6 router"),
        ("at 12h30", "at 12h45"),
        ("move it from 1.2 to 1.3", "move it from 1.3 to 1.2"),
        ("fly from rome to paris", "fly from paris to rome"),
        ("json from a csv", "csv from json"),
        ("csv into json", "json into csv"),
        ("h264 to h265", "h265 to h264"),
        ("Why isnt it safe?", "Why is it safe?"),
        ("it wont start", "it will start"),
        ("it doesn`t work", "it does work"),
    ],
)
def test_numbers_are_seen_wherever_they_stand(one, two):
    assert differences(one, two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("<h1>１,000 users&#39;", "1000 users'"),
        ("2 boards", "two boards"),
        ("git vs. svn", "svn vs. git"),
        ("I cant go from a to b", "I can't go from a to b"),
        ("from 5 to 5", "from 5 to 5?"),
    ],
)
def test_what_is_the_same_in_other_words_is_no_difference(one, two):
    assert not differences(one, two)


def test_capitals_alone_are_explained_as_the_sentence_they_are_read_as():
    use = DuplicateDetector.pretrained()
    texts = ("RESET MY PASSWORD", "Reset my password")
    loud, calm = (explain(use, text, "How can I reset it?").words1 for text in texts)
    assert [word.effect for word in loud] == [word.effect for word in calm]


def test_the_public_methods_are_at_most_twelve():
    public = [name for name in vars(DuplicateDetector) if not name.startswith("_")]
    methods = [name for name in public if callable(getattr(DuplicateDetector, name))]
    assert len(methods) <= 12, methods
