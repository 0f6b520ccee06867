"""A run that starts from a saved model: before the first step it answers as that; few labels and many."""

import numpy as np
import pytest
from small_models import WORDS

from siamese import DuplicateDetector, QuestionPairs, Trainer
from siamese.cli.main import main
from siamese.data.vocabulary import Vocabulary
from siamese.errors import ArgumentError, DataError
from siamese.nn.encoder import TowerConfig
from siamese.training.fine_tuning import fine_tuning_config


@pytest.fixture(scope="module")
def pairs(one_length):
    return one_length.train


@pytest.fixture(scope="module")
def model():
    """A random tower over few words, so that most words of the corpus are unknown to it."""
    vocabulary = Vocabulary(WORDS, folded=True).with_unknown_ids(7)
    tower = TowerConfig(vocabulary.size, 8, mask_padding=True, bidirectional=True)
    rng = np.random.default_rng(0)
    weights = {n: rng.standard_normal(s).astype(np.float32) for n, s in tower.shapes().items()}
    return DuplicateDetector(weights, vocabulary, tower, threshold=0.4)


@pytest.mark.slow
def test_before_the_first_step_it_answers_as_the_model_did(model, pairs):
    config = fine_tuning_config(model, pairs.is_duplicate)
    trainer = Trainer(pairs, config, init_from=model, quiet=True)
    started = trainer.save()
    assert len(started.vocabulary) > len(model.vocabulary) + 50 and started.threshold == 0.4
    assert started.vocabulary.words[: len(model.vocabulary)] == model.vocabulary.words
    texts = [*pairs.question1[:50], "how far is xyzzy", "what plugh"]
    np.testing.assert_allclose(started.encode(texts), model.encode(texts), atol=1e-5)


def test_the_towers_choices_are_the_models(model, pairs):
    config = fine_tuning_config(model, pairs.is_duplicate, epochs=1)
    assert (config.d_model, config.bidirectional, config.unknown_ids, config.epochs) == (
        8,
        True,
        7,
        1,
    )
    assert fine_tuning_config(model, np.ones(30, bool)).pair_batch_size == 0
    with pytest.raises(ArgumentError, match="d_model is 8 in the model"):
        fine_tuning_config(model, pairs.is_duplicate, d_model=128)


@pytest.mark.parametrize("count, rate", [(30, 0.0005), (999, 0.0005), (1000, 0.002), (2000, 0.002)])
def test_many_labels_have_a_larger_learning_rate(model, count, rate):
    labels = np.arange(count) % 3 == 0
    assert fine_tuning_config(model, labels).learning_rate == rate
    assert fine_tuning_config(model, labels, learning_rate=0.01).learning_rate == 0.01


@pytest.mark.parametrize("count", [30, 400])
@pytest.mark.slow
def test_few_labels_and_many(model, pairs, tmp_path, count, capsys):
    path = model.save(tmp_path / "model")
    some = pairs.rows(0, count)
    rows = zip(some.question1, some.question2, some.is_duplicate.astype(int))
    text = "\n".join(
        ["question1\tquestion2\tis_duplicate", *("\t".join(map(str, r)) for r in rows)]
    )
    (tmp_path / "mine.tsv").write_text(text)
    run = str(tmp_path / "run")
    options = [
        "--init-from",
        str(path),
        "--output",
        run,
        "--learning-rate",
        "0.01",
        "--epochs",
        "4",
    ]
    assert main(["train", "--questions", str(tmp_path / "mine.tsv"), *options]) == 0
    told = capsys.readouterr().out
    tuned = DuplicateDetector.load(run)
    assert ("it stays 0.400" in told) == (tuned.threshold == 0.4)
    assert ("All 30 labels trained" in told) == (count == 30)

    def gap(detector):
        cosines = detector.similarity(some.question1, some.question2)
        return cosines[some.is_duplicate].mean() - cosines[~some.is_duplicate].mean()

    assert gap(tuned) > gap(model)


@pytest.mark.slow
def test_a_run_goes_on_only_from_its_own_model(model, pairs, one_length, tmp_path):
    config = fine_tuning_config(model, pairs.is_duplicate, steps=2, checkpoint_every=2)
    run = {"output_dir": tmp_path / "run", "valid": one_length.valid, "quiet": True}
    trainer = Trainer(pairs, config, init_from=model, **run)
    trainer.train()
    again = Trainer(pairs, config, init_from=model, **run)
    assert again.step == 2
    np.testing.assert_array_equal(
        again.save().weights["embedding"], trainer.save().weights["embedding"]
    )
    other = DuplicateDetector(
        {n: a + 1 for n, a in model.weights.items()}, model.vocabulary, model.tower
    )
    with pytest.raises(Exception, match="the model to start from"):
        Trainer(pairs, config, init_from=other, **run)


@pytest.mark.slow
def test_pairs_of_one_kind_train_too(model, pairs):
    duplicates = pairs.duplicates()
    config = fine_tuning_config(model, duplicates.is_duplicate, steps=2)
    some = QuestionPairs(duplicates.question1, duplicates.question2, duplicates.is_duplicate)
    Trainer(some, config, init_from=model, valid=some, quiet=True).train()


@pytest.mark.slow
def test_two_duplicates_train_and_one_is_refused(model, pairs):
    rows = [*np.flatnonzero(pairs.is_duplicate)[:2], *np.flatnonzero(~pairs.is_duplicate)[:20]]
    few = pairs.select(np.array(rows))
    config = fine_tuning_config(model, few.is_duplicate, steps=2)
    Trainer(few, config, init_from=model, valid=few, quiet=True).train()
    with pytest.raises(DataError, match="at least 2 duplicates; the 21 pairs have 1"):
        fine_tuning_config(model, few.is_duplicate[1:])


@pytest.mark.slow
def test_fewer_duplicates_to_validate_on_than_a_batch_has(model, pairs):
    few = pairs.select(np.flatnonzero(pairs.is_duplicate)[:3])
    config = fine_tuning_config(model, pairs.is_duplicate, steps=2)
    assert config.batch_size > 3
    Trainer(pairs, config, init_from=model, valid=few, quiet=True).train()


class Lengths:
    """A made-up encoder: the shares of a few letters in a text."""

    name = "letters"

    def encode(self, texts):
        return np.array([[text.count(letter) + 0.1 for letter in "aeiou"] for text in texts])


@pytest.mark.slow
def test_an_encoder_alone_gets_a_tower_and_a_tower_beside_one_keeps_it(model, pairs):
    alone = DuplicateDetector.from_encoder(Lengths(), "letters", threshold=0.6)
    config = fine_tuning_config(alone, pairs.is_duplicate, d_model=8, steps=1)
    assert config.encoder == "letters"
    trainer = Trainer(pairs, config, init_from=alone, quiet=True)
    trainer.train()
    tuned = trainer.save()
    assert tuned.tower.d_model == 8 and tuned.encoder.name == "letters" and tuned.threshold == 0.6
    texts = ["how do i cook rice", "old cats"]
    np.testing.assert_allclose(
        tuned.encode(texts)[:, :5], np.sqrt(0.75) * alone.encode(texts), atol=1e-6
    )
    again = fine_tuning_config(tuned, pairs.is_duplicate)
    started = Trainer(pairs, again, init_from=tuned, quiet=True).save()
    np.testing.assert_allclose(started.encode(texts), tuned.encode(texts), atol=1e-5)
