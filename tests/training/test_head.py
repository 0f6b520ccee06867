"""A head over an encoder's vectors: what few labels, links and a whole run make of it."""

import dataclasses

import numpy as np
import pytest

from siamese import (
    DuplicateDetector,
    QuestionIndex,
    QuestionPairs,
    TrainConfig,
    Trainer,
    duplicate_groups,
)
from siamese.errors import ArgumentError, DataError
from siamese.training.few_labels import teach
from siamese.training.report import with_tower
from tests.small_models import make_detector

SUBJECTS = [f"subject{number}" for number in range(60)]


class Topics:
    """A subject's vector, and an asker's vector of the same length, which says nothing of duplicates."""

    def encode(self, texts):
        rows = []
        for text in texts:
            subject, asker = text.split()[:2]
            rows.append(np.concatenate([_drawn(subject), 2 * _drawn(asker)]))
        return np.array(rows)


def _drawn(word):
    return np.random.default_rng(list(word.encode())).standard_normal(12)


def questions_of(count, seed):
    """Pairs of one subject or of two, by askers drawn at random."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % 2 == 0
    one = rng.choice(len(SUBJECTS), count)
    two = np.where(labels, one, (one + 1 + rng.choice(len(SUBJECTS) - 1, count)) % len(SUBJECTS))
    # Few pairs name a subject together, so that parts without common questions can be made.
    sides = ([f"{SUBJECTS[s]} asker{rng.integers(10**6)}" for s in side] for side in (one, two))
    return QuestionPairs(*sides, labels)


def bare():
    return DuplicateDetector.from_encoder(Topics(), "topics")


def test_few_labels_find_what_tells_duplicates_apart_and_say_what_they_bought():
    pairs, others = questions_of(200, 0), questions_of(400, 1)
    model, bought = teach(bare(), pairs)
    assert bought.measure == "ROC AUC" and (bought.labels, bought.duplicates) == (200, 100)
    assert bought.after > bought.before + 0.05 and "bought nothing" not in str(bought)
    sides, labels = (others.question1, others.question2), others.is_duplicate
    right, without = (m.predict(*sides) == labels for m in (model, bare().fitted(pairs)))
    assert right.mean() > without.mean() + 0.03 and model.threshold_from == "labels"
    again, _ = teach(bare(), pairs)
    np.testing.assert_array_equal(again.head, model.head)


def test_labels_that_say_nothing_are_reported_as_such():
    pairs = questions_of(200, 0)
    drawn = np.random.default_rng(3).permutation(pairs.is_duplicate)
    try:
        _, bought = teach(bare(), QuestionPairs(pairs.question1, pairs.question2, drawn))
    except DataError as error:  # Neither order nor threshold.
        assert "do not have higher cosines" in str(error)
    else:
        assert bought.after < 0.65


def test_a_thousand_labels_decide_by_a_curve_of_the_parts(tmp_path):
    pairs, others = questions_of(1000, 0), questions_of(400, 1)
    model, _ = teach(bare(), pairs)
    sides = others.question1, others.question2
    probability = model.probability(*sides)
    assert model.threshold == 0.5
    np.testing.assert_array_equal(model.predict(*sides), probability > 0.5)
    np.testing.assert_array_equal(model.score(*sides), probability)
    assert (model.predict(*sides) == others.is_duplicate).mean() > 0.9
    for answer, p in zip(model.answers(*sides), probability):
        assert answer[1:] == (pytest.approx(p), p > 0.5)
    loaded = DuplicateDetector.load(model.save(tmp_path / "model.safetensors"), Topics())
    np.testing.assert_array_equal(loaded.probability(*sides), probability)
    assert loaded.checksum == model.checksum != bare().checksum
    # A duplicate by the curve is among the candidates that the cosine finds.
    found = model.similarity(*sides) > model.rule()[0]
    assert found[probability > 0.5].mean() > 0.95
    assert model.predict("subject1 asker5", "subject1 asker5", threshold=0.999)
    strict = QuestionPairs(*sides, others.is_duplicate & (np.arange(400) % 3 == 0))
    moved = loaded.fitted(strict)
    known = moved.similarity(*sides) > moved.rule()[0]
    assert known[moved.predict(*sides)].mean() > 0.95 and moved.rule()[0] > loaded.rule()[0]
    refitted = loaded.fitted(others.rows(0, 60))
    assert (refitted.predict(*sides) == others.is_duplicate).mean() > 0.9
    assert (np.argsort(refitted.probability(*sides)) == np.argsort(probability)).mean() > 0.9


def test_groups_hits_and_pairs_are_decided_by_the_curve(monkeypatch):
    monkeypatch.setattr("siamese.search.nearest.MOST_ROWS_PER_BLOCK", 16)
    model, _ = teach(bare(), questions_of(1000, 0))
    texts = list(dict.fromkeys(questions_of(150, 3).question1))
    vectors, (cut, decide) = model.encode(texts), model.rule()
    with QuestionIndex.build(model, texts[:-20]) as index:
        groups = index.groups()
        assert groups == duplicate_groups(index) and len(groups) > 5
        index.add(texts[-20:])
        for group in index.groups():
            rows = [member.row for member in group]
            if len(rows) == 2:
                assert decide(vectors[rows[:1]], vectors[rows[1:]]).all()
                assert model.predict(texts[rows[0]], texts[rows[1]])
        for hit in index.search(texts[0], k=5, mode="vectors"):
            assert hit.is_duplicate == model.predict(texts[0], hit.question)
            assert hit.probability == pytest.approx(model.probability(texts[0], hit.question))
    one, two = np.triu_indices(len(texts), 1)
    apart = ~decide(vectors[one], vectors[two]) & (np.vecdot(vectors[one], vectors[two]) > cut)
    assert apart.any()  # There are candidates that the curve refuses.


def test_links_alone_order_a_list_and_set_no_threshold():
    links = questions_of(300, 0).duplicates()
    listed = [*questions_of(300, 5).question1, *links.question2]
    model, bought = teach(bare(), links, listed)
    assert bought.measure == "mean reciprocal rank" and bought.after > bought.before
    assert model.threshold_from == "default" and model.calibration is None


def test_training_goes_on_from_a_head():
    first, _ = teach(bare(), questions_of(200, 0))
    second, bought = teach(first, questions_of(200, 7))
    _, alone = teach(bare(), questions_of(200, 7))
    assert bought.before > alone.before + 0.03 and bought.after > alone.after
    assert np.abs(second.head - first.head).sum() < np.abs(second.head - np.eye(24)).sum()


def test_what_a_head_needs_is_named():
    pairs = questions_of(200, 0)
    with pytest.raises(ArgumentError, match="has none"):
        teach(make_detector(), pairs)
    with pytest.raises(DataError, match="0 of the 100 pairs are duplicates"):
        teach(bare(), pairs.select(np.flatnonzero(~pairs.is_duplicate)))


@pytest.mark.slow
def test_a_run_of_a_head_goes_on_bit_for_bit_and_joins_a_tower(tmp_path):
    pairs, valid = questions_of(900, 0), questions_of(1200, 1)
    config = TrainConfig.head(
        batch_size=32, pair_batch_size=32, hard_negatives=0, topic_block=1, epochs=0.0, steps=60,
        eval_every=20, checkpoint_every=10, warmup_steps=5, learning_rate=0.003,
    )  # fmt: skip
    models = []
    for name, stops in (("whole", (60,)), ("parts", (25, 60))):
        for steps in stops:
            trainer = Trainer(
                pairs, dataclasses.replace(config, steps=steps, schedule="rsqrt"), tmp_path / name,
                valid=valid, init_from=bare(), quiet=True,
            )  # fmt: skip
            trainer.train()
        models.append(trainer.save(report := trainer.evaluate(valid)))
    assert trainer.resumed_from == 25
    np.testing.assert_array_equal(models[0].head, models[1].head)
    assert report.roc_auc > report.encoder_roc_auc + 0.02 and "without training" in str(report)
    tower = make_detector()
    both, gain = with_tower(models[0], tower, valid)
    assert list(both.shares) == ["encoder", "head", "tower"] and abs(gain) < 0.02
    parts = both.part_cosines(*(both.encode(side) for side in (valid.question1, valid.question2)))
    bare_cosines = bare().similarity(valid.question1, valid.question2)
    np.testing.assert_allclose(parts[:, 0], bare_cosines, atol=1e-5)


@pytest.mark.slow
def test_the_command_takes_a_head_by_default_and_says_what_it_needs(tmp_path, monkeypatch, capsys):
    from siamese.cli.main import main

    monkeypatch.chdir(tmp_path)
    pairs = questions_of(40, 0)
    rows = zip(pairs.question1, pairs.question2, pairs.is_duplicate.astype(int))
    lines = ["question1,question2,is_duplicate", *(f"{a} here,{b} there,{y}" for a, b, y in rows)]
    (tmp_path / "mine.csv").write_text("\n".join(lines))
    train = ["train", "--questions", "mine.csv"]
    assert main([*train, "--epochs", "3"]) == 2
    assert "leave out: epochs" in capsys.readouterr().err
    assert main(train) == 0
    out, err = capsys.readouterr()
    assert "ROC AUC" in out and "Saved in runs/head" in out and "20 of them duplicates" in err
    model = DuplicateDetector.load("runs/head")
    assert list(model.shares) == ["encoder", "head"] and model.threshold_from == "labels"
    assert main(train) == 2 and "--overwrite" in capsys.readouterr().err
    assert main([*train, "--init-from", "runs/head", "--output", "runs/more"]) == 0
    posts = [*pairs.question1, *pairs.question2]
    text = "\n".join(["id,question", *(f"{i},{post} ?" for i, post in enumerate(posts))])
    (tmp_path / "posts.csv").write_text(text)
    links = "\n".join(["id1,id2", *(f"{i},{i + 40}" for i in range(0, 40, 2))])
    (tmp_path / "links.csv").write_text(links)
    capsys.readouterr()
    options = ["--list", "posts.csv", "--output", "runs/links"]
    assert main(["train", "--questions", "links.csv", *options]) == 0
    assert "mean reciprocal rank" in (out := capsys.readouterr().out) and "no threshold" in out
