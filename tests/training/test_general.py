"""The preset `general`, on a small table: trains, goes on bit for bit, is saved whole, answers."""

import json

import jax
import numpy as np
import pytest
from small_vectors import D, write_vectors

from siamese import CheckpointError, DuplicateDetector, QuestionIndex
from siamese.errors import ArgumentError
from siamese.storage.checkpoints import list_checkpoints, load_newest
from siamese.training.config import TrainConfig
from siamese.training.export import export
from siamese.training.trainer import Trainer

SMALL = {
    "d_model": 8, "batch_size": 16, "pair_batch_size": 16, "hard_negatives": 40, "topic_block": 0,
    "eval_every": 3, "checkpoint_every": 2, "epochs": 0.0, "schedule": "rsqrt",
}  # fmt: skip


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    return write_vectors(tmp_path_factory.mktemp("vectors") / "small")


def train(corpus, vectors, output, steps, **changes):
    config = TrainConfig.general(
        embedding=str(vectors), **SMALL, steps=steps, **{"warmup_steps": 2, **changes}
    )
    trainer = Trainer(corpus.train, config, output, valid=corpus.valid, quiet=True)
    trainer.train()
    return trainer


@pytest.fixture(scope="module")
def whole(corpus, vectors, tmp_path_factory):
    output = tmp_path_factory.mktemp("runs") / "whole"
    trainer = train(corpus, vectors, output, 5)
    return trainer, trainer.save(trainer.evaluate(corpus.test)), output


@pytest.mark.slow
def test_the_saved_model_is_whole_and_answers_as_the_trained_one(corpus, whole):
    trainer, detector, output = whole
    saved = DuplicateDetector.load(output)
    assert saved.checksum == detector.checksum and saved.threshold == detector.threshold
    questions = [*corpus.test.question1[:5] * 6, "", "how \ud800 far?", "don’t &amp; do"]
    expected = detector.encode(questions)
    assert expected.shape[1] == 2 * D + 256
    np.testing.assert_array_equal(saved.encode(questions), expected)
    np.testing.assert_allclose(saved.encode(questions[:4]), expected[:4], atol=1e-6)
    shouted = saved.encode([question.upper() for question in questions[:4]])
    np.testing.assert_array_equal(shouted, saved.encode(questions[:4]))
    ids = detector.vocabulary.encode(questions[0])
    batch = np.array([ids + [1] * (64 - len(ids))], np.int32)
    found, _ = trainer.loop.eval_model((batch, batch))
    for columns in saved.tower.blocks.values():  # Their shares are other ones in training.
        one, other = found[0, columns], expected[0, columns]
        np.testing.assert_allclose(
            one / np.linalg.norm(one), other / np.linalg.norm(other), atol=1e-3
        )
    # Pairs are judged with the shares that chose the threshold.
    long = " ".join(questions[:4])
    for asked in (questions[0], questions[1]), (questions[0], long), (long, long[9:]):
        pair = []
        for question in asked:
            ids = saved.vocabulary.encode(question)
            pair.append(np.array([ids + [1] * (64 - len(ids))], np.int32))
        one, other = trainer.loop.eval_model(tuple(pair))
        assert abs(saved.similarity(*asked) - float((one * other).sum())) < 1e-3
    assert 0 < saved.tower.familiar_length < len(saved.vocabulary.encode(long))
    assert saved.tower.static_share == 0.75 and saved.tower.pair_static_share == 0.6
    assert saved.predict(questions[0], questions[0]) and saved.similarity("", questions[0]) == 0
    assert QuestionIndex.build(saved, questions[:9]).vector_weight == 0.75  # Others: 0.6.
    many = questions[:4] * 1200  # Past the number from which all cores tokenize.
    np.testing.assert_allclose(saved.encode(many)[:4], expected[:4], atol=1e-6)


@pytest.mark.slow
def test_going_on_is_bit_exact_and_checkpoints_hold_no_tables(corpus, vectors, whole, tmp_path):
    train(corpus, vectors, tmp_path / "parts", 3)
    trainer = train(corpus, vectors, tmp_path / "parts", 5)
    assert trainer.loop.resumed_from.name.startswith("step-00000003")
    ours, expected = (load_newest(path).checkpoint for path in (tmp_path / "parts", whole[2]))
    for field in ("weights", "slots", "random_state", "batch_position"):
        found, wanted = (jax.tree.leaves(getattr(c, field)) for c in (ours, expected))
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted):
            np.testing.assert_array_equal(a, b)
    tables = {array.shape for array in whole[1].weights.values()} - {()}
    held = {
        np.shape(leaf) for leaf in jax.tree.leaves((ours.weights, ours.slots, ours.model_state))
    }
    assert (trainer.data.vocabulary.size, 256) in tables - held
    # What is exported is what the run saves.
    detector, _ = export(tmp_path / "parts", output=tmp_path / "exported")
    assert detector.checksum == whole[1].checksum
    newest = list_checkpoints(tmp_path / "parts")[0].path
    facts = json.loads((newest / "vocabulary.json").read_bytes())
    assert set(facts) == {"vectors", "characters", "familiar_length"}


def test_other_vectors_than_the_run_began_with_are_refused(corpus, tmp_path):
    vectors = write_vectors(tmp_path / "vectors")
    train(corpus, vectors, tmp_path / "run", 1)
    write_vectors(tmp_path / "vectors", seed=1)
    with pytest.raises(
        CheckpointError, match="the training questions, or the model to start from, differ"
    ):
        train(corpus, vectors, tmp_path / "run", 2)
    with pytest.raises(CheckpointError, match="trained on other vectors"):
        export(tmp_path / "run")


@pytest.mark.slow
def test_the_embedding_has_its_own_rate(corpus, vectors, tmp_path):
    """The first step of Adam moves every number that has a gradient by the rate, whatever the gradient."""
    moved = {}
    for rate in (1.0, 0.25):
        trainer = train(corpus, vectors, None, 1, embedding_rate=rate, warmup_steps=0)
        after = np.asarray(trainer.loop.model.weights[0][0])
        moved[rate] = np.abs(after).max()
    assert 0.24 < moved[0.25] / moved[1.0] < 0.26


def test_lazy_adam_and_the_course_s_tower_are_refused():
    with pytest.raises(ArgumentError, match="needs lazy_adam=False"):
        TrainConfig.general(lazy_adam=True)
    with pytest.raises(ArgumentError, match="embedding needs mask_padding"):
        TrainConfig.course(embedding="wordllama")


def test_groups_and_hits_are_judged_as_pairs_are(whole, tmp_path, capsys):
    from siamese import QuestionIndex
    from siamese.cli.main import main

    _, detector, output = whole
    questions = ["how do i cook rice?", "how do i learn to cook rice?", "what is the best way"]
    index = QuestionIndex.build(detector, questions)
    index.save(tmp_path / "index", model=output / "model")
    cosine = detector.similarity(*questions[:2])
    hit = next(h for h in index.search(questions[0], k=3) if h.question == questions[1])
    assert abs(hit.similarity - cosine) < 1e-6
    vectors = detector.encode(questions[:2])
    assert abs(float(vectors[0] @ vectors[1]) - cosine) > 1e-4  # Searches order by another one.
    options = ["duplicates", str(tmp_path / "index"), "--pairs", "--threshold", "-1", "--json"]
    assert main(options) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert (
        abs(rows[0]["similarity"] - detector.similarity(rows[0]["question1"], rows[0]["question2"]))
        < 1e-5
    )
