"""A head over an encoder's vectors: what few labels, links and a whole run make of it."""

import dataclasses
import functools
import json
import pickle
import re
from itertools import pairwise

import numpy as np
import pytest
from corpus_parts import write_pairs
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from small_models import WORDS, letters, make_detector

from siamese import (
    DuplicateDetector,
    PairClassifier,
    QuestionIndex,
    TrainConfig,
    Trainer,
    encoders,
)
from siamese.encoders import find_encoder
from siamese.encoders.joined import Head, Joined
from siamese.errors import ArgumentError, DataError, ShapeError
from siamese.evaluation.metrics import evaluate_scores
from siamese.model.detector import judged, pairs_of
from siamese.reading.pairs import QuestionPairs
from siamese.training.few_labels import parts_of, teach
from siamese.training.report import measure, with_lstm

SUBJECTS = [f"subject{number}" for number in range(60)]


class Topics:
    """A subject's vector, and an asker's vector of the same length, which says nothing of duplicates."""

    def __init__(self):
        self.texts = []

    def encode(self, texts):
        self.texts += texts
        return np.array(
            [sum(vector_of(word) for word in text.split()[:2]) for text in texts]
        )


@functools.cache
def vector_of(word):
    drawn = np.random.default_rng(list(word.encode())).standard_normal(12)
    sides = [drawn, 0 * drawn] if word.startswith("subject") else [0 * drawn, 2 * drawn]
    return np.concatenate(sides)


def questions_of(count, seed, askers=10**6):
    """Pairs of one subject or of two, by askers drawn at random."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % 2 == 0
    one = rng.choice(len(SUBJECTS), count)
    two = np.where(
        labels, one, (one + 1 + rng.choice(len(SUBJECTS) - 1, count)) % len(SUBJECTS)
    )
    # Few pairs name a question together, so that parts without common questions can be
    # made.
    sides = (
        [f"{SUBJECTS[s]} asker{rng.integers(askers)}" for s in side]
        for side in (one, two)
    )
    return QuestionPairs(*sides, labels)


OTHERS = questions_of(400, 1)
SIDES, LABELS = (OTHERS.question1, OTHERS.question2), OTHERS.is_duplicate


def bare():
    detector = DuplicateDetector.from_encoder(Topics())
    detector.encoder.fingerprint = "f" * 64
    return detector


def with_head(encoder, matrix):
    """A model of an encoder and a head on it."""
    return DuplicateDetector(Joined([(0.5, encoder), (0.5, Head(encoder, matrix))]))


def matrix_of(model):
    """The matrix of a model's head."""
    return model.encoder.encoders[1].matrix


@pytest.fixture(autouse=True)
def fewer_and_larger_steps(monkeypatch):
    monkeypatch.setattr("siamese.training.head.STEPS", 30)
    monkeypatch.setattr("siamese.training.head.LEARNING_RATE", 3e-3)


@functools.cache
def taught(count, seed=0):
    return teach(bare(), questions_of(count, seed))


def roc_auc(scores, labels=LABELS):
    return evaluate_scores(scores, labels).roc_auc


def test_few_labels_find_what_tells_duplicates_apart_and_say_what_they_bought():
    model, bought = taught(200)
    assert bought.measure == "ROC AUC" and (bought.labels, bought.duplicates) == (
        200,
        100,
    )
    assert bought.after > bought.encoder + 0.05
    assert "bought nothing" not in str(bought) and model.threshold_from == "labels"
    labelled = questions_of(200, 0)
    right, without = (
        each.predict(*SIDES) == LABELS for each in (model, bare().fitted(labelled))
    )
    assert right.mean() > without.mean() + 0.03
    again, _ = teach(bare(), labelled)
    assert_array_equal(matrix_of(again), matrix_of(model))


def test_training_goes_on_from_a_head_and_a_worse_model_than_the_encoder_is_called_so():
    first, alone = taught(200)[0], taught(200, 7)[1]
    notes = []
    second, bought = teach(first, questions_of(200, 7), note=notes.append)
    assert bought.encoder == alone.encoder and bought.after > alone.after
    assert "learned before" in notes[-1]
    assert (
        np.abs(matrix_of(second) - matrix_of(first)).sum()
        < np.abs(matrix_of(second) - np.eye(24)).sum()
    )
    # A head of the askers.
    head = np.diag([0.01] * 12 + [9.0] * 12)
    bad = with_head(first.encoder.encoders[0], head)
    _, bought = teach(bad, questions_of(40, 7))
    assert bought.after <= bought.encoder and "the encoder alone is as good" in str(
        bought
    )


def test_a_thousand_labels_decide_by_a_curve_of_the_parts(tmp_path, monkeypatch):
    model, bought = taught(1000)
    probability, cosine = model.probability(*SIDES), model.similarity(*SIDES)
    assert model.threshold == 0.5 and (model.predict(*SIDES) == LABELS).mean() > 0.8
    assert bought.after == pytest.approx(roc_auc(cosine), abs=0.05)
    assert_array_equal(model.predict(*SIDES), probability > 0.5)
    pairs = pairs_of(model, *SIDES)
    assert_array_equal(model.decision.scores(*pairs), probability)
    for answer, p in zip(judged(model, *pairs), probability):
        assert answer.probability == pytest.approx(p)
        assert answer.is_duplicate == (p > 0.5)
    # In place of the encoder that the file names.
    base = model.encoder.encoders[0]
    monkeypatch.setattr(base, "name", "use")
    named = encoders.NAMED["use"]._replace(make=lambda: base)
    monkeypatch.setitem(encoders.NAMED, "use", named)
    loaded = DuplicateDetector.load(model.save(tmp_path / "model.safetensors"))
    assert_array_equal(loaded.probability(*SIDES), probability)
    fingerprints = [each.encoder.fingerprint for each in (loaded, model, bare())]
    assert fingerprints[0] == fingerprints[1] != fingerprints[2]
    # A duplicate by the curve is a candidate by the cosine, also after a refit.
    assert (cosine > model.calibration.candidate_cut(0.5))[
        probability > 0.5
    ].mean() > 0.95
    assert model.predict("subject1 asker5", "subject1 asker5", threshold=0.999)
    moved = loaded.fitted(QuestionPairs(*SIDES, LABELS & (np.arange(400) % 3 == 0)))
    assert (cosine > moved.calibration.candidate_cut(0.5))[
        moved.predict(*SIDES)
    ].mean() > 0.95


def test_groups_hits_and_pairs_are_decided_by_the_curve():
    model, _ = taught(1000)
    texts = list(dict.fromkeys(questions_of(90, 3).question1))
    with QuestionIndex.build(model, texts) as index:
        groups = [
            [texts[member.row] for member in group] for group in index.grouped().groups
        ]
        assert len(groups) > 3
        assert all(model.predict(*group) for group in groups if len(group) == 2)
        for hit in index.search(texts[0], k=5, mode="vectors"):
            assert hit.is_duplicate == model.predict(texts[0], hit.question)
            assert hit.probability == pytest.approx(
                model.probability(texts[0], hit.question)
            )


def test_links_alone_order_a_list_and_set_no_threshold():
    links = questions_of(300, 0).duplicates()
    listed = [*questions_of(300, 5).question1, *links.question2]
    topics = Topics()
    model, bought = teach(DuplicateDetector.from_encoder(topics), links, listed)
    assert bought.measure == "mean reciprocal rank" and bought.after > bought.encoder
    assert model.threshold_from == "default" and model.calibration is None
    # In the list's order, whatever the process's hash seed.
    linked = {*links.question1, *links.question2}
    behind = [text for text in dict.fromkeys(listed) if text not in linked]
    assert [text for text in topics.texts if text in set(behind)] == behind
    # A link is learned against no known answer.
    asked = ["subject1 asker0"] * 20
    linked = [f"subject1 asker{number}" for number in range(1, 21)]
    links = QuestionPairs(asked, linked, np.ones(20, bool))
    # All are known duplicates.
    model, _ = teach(bare(), links, [*linked, "Subject1 ASKER0"])
    assert_array_equal(matrix_of(model), np.eye(24))


def test_a_head_needs_duplicates():
    pairs = questions_of(200, 0)
    with pytest.raises(DataError):
        teach(bare(), pairs.select(np.flatnonzero(~pairs.is_duplicate)))


def test_an_lstm_starts_from_no_model():
    with pytest.raises(ArgumentError):
        Trainer(questions_of(200, 0), TrainConfig.preset("lstm"), init_from=bare())


def test_an_lstm_that_says_nothing_adds_nothing_and_many_pairs_give_a_curve(
    monkeypatch,
):
    monkeypatch.setattr("siamese.training.report.LEAST_PAIRS", 60)
    head = with_head(bare().encoder, np.eye(24))
    pairs, rng = questions_of(120, 1), np.random.default_rng(1)
    sides = pairs.question1, pairs.question2
    sides = [[f"{text} {rng.choice(WORDS)}" for text in side] for side in sides]
    pairs = QuestionPairs(*sides, pairs.is_duplicate)
    both, gain = with_lstm(head, make_detector(1), pairs)
    mixed = [
        roc_auc(each.similarity(*sides), pairs.is_duplicate) for each in (both, head)
    ]
    assert gain == pytest.approx(np.subtract(*mixed)) and gain < 0
    for held_out, decides in ((pairs, "probability"), (pairs.rows(0, 50), "cosine")):
        report, fitted = measure(both, held_out, OTHERS)
        assert (
            report.measure == fitted.decision.measure == decides
            and report.encoder == "Topics"
        )
        untrained = report.baselines["encoder"].roc_auc
        assert untrained == pytest.approx(roc_auc(bare().similarity(*SIDES)))


HEAD = TrainConfig.preset(
    "head", batch_size=32, pair_batch_size=32, epochs=0.0, steps=40,
    eval_every=20, checkpoint_every=10, warmup_steps=5, learning_rate=0.003, schedule="rsqrt",
)  # fmt: skip


def test_a_run_of_a_head_goes_on_bit_for_bit_and_keeps_the_model_s_lstm(tmp_path):
    pairs, valid = questions_of(300, 0), OTHERS
    models = []
    start = make_detector(
        beside=lambda lstm: Joined([(0.75, bare().encoder), (0.25, lstm)])
    )
    options = {"valid": valid, "init_from": start, "quiet": True}
    for name, stops in (("whole", (60,)), ("parts", (15, 60))):
        for steps in stops:
            config = dataclasses.replace(HEAD, steps=steps)
            trainer = Trainer(pairs, config, tmp_path / name, **options)
            trainer.train()
        models.append(trainer.save())
    report = trainer.evaluate(valid)
    assert trainer.resumed_from == 15
    assert models[0].encoder.name == "Topics+head+lstm"
    assert_array_equal(*map(matrix_of, models))
    assert report.metrics.roc_auc > report.baselines["encoder"].roc_auc + 0.015
    # At least 500 steps, unless epochs were asked for.
    for epochs in (1.0, TrainConfig.preset("head").epochs):
        config = dataclasses.replace(HEAD, epochs=epochs, steps=1)
        assert (Trainer(pairs, config, **options).total_steps < 500) == (epochs == 1)


@pytest.fixture
def train(tmp_path, monkeypatch, run):
    """Function of flags: `siamese train` on 40 pairs."""
    pairs = questions_of(40, 0, askers=100)
    write_pairs(tmp_path / "mine.csv", pairs)
    # In place of the encoder that a command finds by its name.
    topics = find_encoder(Topics())
    topics.name, topics.fingerprint = "use", "f" * 64
    named = encoders.NAMED["use"]._replace(make=lambda: topics)
    monkeypatch.setitem(encoders.NAMED, "use", named)
    posts = [*pairs.question1, *pairs.question2]
    text = "\n".join(["key,post", *(f"{i},{post}" for i, post in enumerate(posts))])
    (tmp_path / "posts.csv").write_text(text)
    text = "\n".join(["id1,id2", *(f"{i},{i + 40}" for i in range(0, 40, 2))])
    (tmp_path / "links.csv").write_text(text)
    make_detector().save(tmp_path / "lstm")

    def train(*flags, file="mine.csv", start=("--init-from", "use")):
        return run("train", "--questions", file, *start, *flags)

    return train


MANY = ["--steps=2", "--batch-size=4"]


def test_the_command_teaches_a_head_of_few_labels(train):
    code, out, err = train()
    assert code == 0 and "ROC AUC" in out and "Saved in runs/head" in out, err
    assert "20 of them duplicates" in err and "raised the ROC AUC" in err
    assert re.search(r"questions encoded in \d+\.\d s\.\n", err)
    model = DuplicateDetector.load("runs/head")
    assert model.encoder.name == "use+head" and model.threshold_from == "labels"


@pytest.fixture
def path(train, tmp_path):
    """A head's file, taught of few labels."""
    assert train()[0] == 0
    return tmp_path / "runs" / "head" / "model.safetensors"


def ensemble(train, *flags):
    """The preset `ensemble`; it starts from an encoder's name, without --init-from."""
    return train("--preset", "ensemble", *flags, start=())


def test_few_labels_replace_no_model(train, path):
    content = path.read_bytes()
    code, _, err = train()
    assert code == 2 and "--overwrite" in err
    assert path.read_bytes() == content


def test_many_labels_replace_no_model(train, path, monkeypatch):
    monkeypatch.setattr("siamese.training.head.MANY", 30)
    content = path.read_bytes()
    code, _, err = train(*MANY)
    assert code == 2 and "--overwrite" in err
    assert path.read_bytes() == content


def test_ensemble_replaces_no_model(train, path, monkeypatch):
    monkeypatch.setattr("siamese.cli.training.LSTM_DUPLICATES", 0)
    content = path.read_bytes()
    assert ensemble(train, "--output", "runs/head")[0] == 2
    assert path.read_bytes() == content


def test_ensemble_trains_a_head_alone_of_too_few_duplicates(train, monkeypatch):
    monkeypatch.setattr("siamese.training.head.MANY", 30)
    code, _, err = ensemble(train, "--output", "runs/few", *MANY)
    assert code == 0 and "Preset head: steps=2, batch_size=4" in err
    assert re.search(r"Encoded in \d+\.\d s, trained in \d+\.\d s\.", err)


def test_ensemble_teaches_a_head_alone_of_few_labels(train, monkeypatch):
    monkeypatch.setattr("siamese.cli.training.LSTM_DUPLICATES", 21)
    monkeypatch.setattr("siamese.cli.training.USUALLY", ((50, 0.9),))
    code, _, err = ensemble(train)
    assert code == 0 and "No LSTM: it needs 21 duplicates" in err
    assert "Fewer than 50 were not tried" in err
    assert DuplicateDetector.load("runs/ensemble").encoder.name == "use+head"


def test_the_same_command_resumes_its_run(train, monkeypatch):
    monkeypatch.setattr("siamese.training.head.MANY", 30)
    for _ in range(2):
        code, _, err = train(*MANY, "--output", "runs/run")
        assert code == 0, err
    assert "Resuming" in err


def test_links_of_a_list_teach_an_order(train):
    flags = ["--list", "posts.csv", "--column", "post", "--id-column", "key", "--json"]
    code, out, err = train(*flags, file="links.csv")
    assert code == 0 and "no threshold" in err and err.count("posts.csv: ") == 1, err
    assert json.loads(out)["measure"] == "mean reciprocal rank"


def test_one_pair_is_too_few_for_a_head(train, tmp_path):
    (tmp_path / "few.csv").write_text(
        "question1,question2,is_duplicate\nhow far,how old,1\n"
    )
    code, _, err = train(file="few.csv")
    assert code == 2 and "a head needs 3" in err and len(err.splitlines()) == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("flags", "start", "words"),
    [
        (
            ["--epochs", "3", "--set", "margin=1", "--train-rows", "9"],
            None,
            ["leave out: --epochs, --set margin, --train-rows"],
        ),
        (["--preset", "ensemble"], None, ["no ensemble", "leave --preset out"]),
        (["--output", "file/new"], None, ["a part of the path is a file"]),
        ([], ("--init-from", "lstm"), ["lstm has no encoder"]),
    ],
    ids=["flags of many steps", "an ensemble", "no folder", "no encoder"],
)
def test_what_the_command_refuses_it_refuses_before_it_trains(
    train, monkeypatch, tmp_path, flags, start, words
):
    # It is never called.
    monkeypatch.setattr("siamese.training.few_labels.teach", None)
    (tmp_path / "file").write_text("")
    code, _, err = train(*flags, **({"start": start} if start else {}))
    assert code == 2 and all(word in err for word in words), err


def test_every_part_that_is_left_out_has_both_labels():
    first, labels = ["a"] * 20 + ["b"] * 20, [True] * 20 + [False] * 20
    pairs = QuestionPairs(first, [f"{i}?" for i in range(40)], labels)
    parts = parts_of(pairs, seed=0)
    assert sorted(np.concatenate(parts).tolist()) == list(range(40))
    assert [len(set(pairs.is_duplicate[part])) for part in parts] == [2, 2, 2]


# ---- The estimator of scikit-learn: the detector is the reference ----

TOPICS = ["Spanish", "rice", "chess", "Python", "piano", "physics", "yoga", "French"]
PAIRS = [
    (f"How do I learn {t}?", f"What is the best way to learn {t}?") for t in TOPICS
]
PAIRS += [
    (f"How do I learn {t}?", f"Why does {o} cost so much?") for t, o in pairwise(TOPICS)
]
ANSWERS = [1] * len(TOPICS) + [0] * (len(TOPICS) - 1)


@pytest.mark.parametrize(
    "form",
    [list, np.array, lambda rows: np.array(rows, dtype=object)],
    ids=["a list", "texts", "objects"],
)
def test_it_answers_as_the_detector_with_the_same_fit(form):
    pairs = QuestionPairs(*map(list, zip(*PAIRS)), ANSWERS)
    detector = DuplicateDetector.pretrained().fitted(pairs)
    table = form(PAIRS)
    classifier = PairClassifier().fit(table, ANSWERS)
    found = classifier.detector_.threshold
    assert found == pytest.approx(detector.threshold, abs=1e-6)
    assert classifier.predict(table).tolist() == ANSWERS
    expected = detector.probability(pairs.question1, pairs.question2)
    probabilities = classifier.predict_proba(table)
    assert_allclose(probabilities[:, 1], expected, atol=1e-6)
    assert_allclose(probabilities.sum(axis=1), 1)


def test_labels_true_and_false_are_answered_by_true_and_false():
    classifier = PairClassifier()
    assert classifier.fit(PAIRS, np.array(ANSWERS, bool)).predict(
        PAIRS[:1]
    ).tolist() == [True]


def test_it_works_in_scikit_learns_tools(tmp_path):
    classifier = PairClassifier(letters)
    assert (
        classifier.get_params() == {"model": letters} == clone(classifier).get_params()
    )
    assert classifier.set_params(model="use").model == "use"
    detector = DuplicateDetector.pretrained()
    grid = {
        "pairclassifier__model": [letters, detector.save(tmp_path / "model"), detector]
    }
    pipeline = make_pipeline(FunctionTransformer(), classifier)
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(PAIRS, ANSWERS)
    assert search.best_score_ > 0.9 and len(search.cv_results_["params"]) == 3
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert again.predict(PAIRS).tolist() == ANSWERS


def test_other_pairs_and_labels_are_refused():
    classifier = PairClassifier(letters)
    with pytest.raises(ArgumentError):
        classifier.fit([("a", "b", "c")] * 2, [0, 1])
    with pytest.raises(ShapeError):
        classifier.fit(PAIRS, ANSWERS[1:])
    with pytest.raises(NotFittedError):
        classifier.predict(PAIRS)
