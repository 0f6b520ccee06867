"""The checks of data_generator, classify and predict: solutions score full, and mistakes are named."""

import random

import exercise_solutions
import numpy as np
import pytest
from exercise_mistakes import changed, failed_hints

from siamese.teaching.checks import EXERCISES

CHECKS = {name: EXERCISES[4][name] for name in ("data_generator", "classify", "predict")}
POWER = "max_len = 2 ** int(np.ceil(np.log2(max_len)))"
LONGEST = "max(max(map(len, input1)), max(map(len, input2)))"
RESET = "            input1, input2 = [], []\n"
SHUFFLE = "        random.shuffle(order)\n"
GET = "vocab.get(w, 0)"
NEXT = 'next(data_generator(part1, part2, len(part1), vocab["<PAD>"], shuffle=False))'


def of(name, *replacements):
    return lambda: changed(name, *replacements)


def pads_in_place(Q1, Q2, batch_size, pad=1, shuffle=True):
    for q1, q2 in exercise_solutions.data_generator(Q1, Q2, batch_size, pad, shuffle):
        for q in Q1:
            q += [pad] * (q1.shape[1] - len(q))
        yield q1, q2


def each_side_its_length(Q1, Q2, batch_size, pad=1, shuffle=True):
    for q1, q2 in exercise_solutions.data_generator(Q1, Q2, batch_size, pad, shuffle):
        yield tuple(
            np.array([row[: 2 ** int(np.ceil(np.log2((q != pad).sum(1).max())))] for row in q])
            for q in (q1, q2)
        )


def random_pairs(Q1, Q2, batch_size, pad=1, shuffle=True):
    if not shuffle:
        yield from exercise_solutions.data_generator(Q1, Q2, batch_size, pad, False)
    while True:
        rows = [random.randrange(len(Q1)) for _ in range(batch_size)]
        part1, part2 = [Q1[i] for i in rows], [Q2[i] for i in rows]
        yield next(exercise_solutions.data_generator(part1, part2, batch_size, pad, False))


def shuffles_each_side(Q1, Q2, batch_size, pad=1, shuffle=True):
    Q1, Q2 = list(Q1), list(Q2)
    if shuffle:
        random.shuffle(Q1)
        random.shuffle(Q2)
    yield from exercise_solutions.data_generator(Q1, Q2, batch_size, pad, shuffle)


WRONG = [
    # exercise, function () -> wrong solution, what the check must say
    ("data_generator", of("data_generator", POWER, "pass"), "padded to the longest question"),
    ("data_generator", of("data_generator", POWER, "max_len = 2 ** (int(np.log2(max_len)) + 1)"),
     "a length that is a power of two already stays"),
    ("data_generator", of("data_generator", LONGEST, "max(map(len, Q1 + Q2))"),
     "padded to the longest question of all data"),
    ("data_generator", of("data_generator", LONGEST, "max(map(len, input1))",
     "q in input2", "q in (q[:max_len] for q in input2)"), "the length looks at Q1 only"),
    ("data_generator", lambda: each_side_its_length, "each side has a length of its own"),
    ("data_generator", of("data_generator", "[pad]", "[1]"), "padded with 1 whatever pad says"),
    ("data_generator", of("data_generator", "[pad]", "[0]"), "padded with 0"),
    ("data_generator", of("data_generator", "q + [pad] * (max_len - len(q))",
     "[pad] * (max_len - len(q)) + q"), "the padding stands before the question"),
    ("data_generator", of("data_generator", "            idx = 0\n",
     "            idx = 0\n            input1, input2 = [], []\n"), "the pairs left over"),
    ("data_generator", of("data_generator", "if len(input1) == batch_size:",
     "if len(input1) == batch_size or idx == len(Q1):"), "the last batch of a pass is short"),
    ("data_generator", of("data_generator", RESET, "            pass\n"), "a loop that never ends"),
    ("data_generator", of("data_generator", RESET, "            pass\n", "== batch_size", ">= batch_size"),
     "empty the lists after each yield"),
    ("data_generator", of("data_generator", SHUFFLE, "        pass\n"), "never shuffled"),
    ("data_generator", of("data_generator", "    if shuffle:\n                random",
     "    if False:\n                random"), "shuffled at the start only"),
    ("data_generator", of("data_generator", "    if shuffle:\n                random",
     "    if True:\n                random"), "shuffled although shuffle=False"),
    ("data_generator", of("data_generator", "while True:", "while idx < len(Q1):"), "batches"),
    ("data_generator", of("data_generator", "yield np.array(b1), np.array(b2)", "yield b1, b2"),
     "yield arrays"),
    ("data_generator", of("data_generator", "yield np.array(b1), np.array(b2)", "yield np.array(b1)"),
     "yield both sides"),
    ("data_generator", of("data_generator", "np.array(b1)", "np.array(b1, float)"), "whole numbers"),
    ("data_generator", of("data_generator", "random.shuffle", "np.random.shuffle"), "random.shuffle"),
    ("data_generator", lambda: pads_in_place, "changed its input Q1"),
    ("data_generator", lambda: shuffles_each_side, "the same shuffled index"),
    ("data_generator", lambda: random_pairs, "do not draw pairs at random"),
    ("classify", of("classify", "> threshold", ">= threshold"), "> is asked for, not >="),
    ("classify", of("classify", ", shuffle=False", ""), "shuffle=False"),
    ("classify", of("classify", "> threshold", "> 0.7"), "the threshold is always 0.7"),
    ("classify", of("classify", "len(part1), vocab", "batch_size, vocab", "range(len(part1))",
     "range(batch_size)"), "IndexError"),
    ("classify", of("classify", "len(test_Q1), batch_size", "len(test_Q1) - batch_size + 1, batch_size"),
     "the last, short batch are left out"),
    ("classify", of("classify", "vocab[\"<PAD>\"]", "1"), "the padding is what the vocabulary says"),
    ("classify", of("classify", "right / len(test_Q1)", "right"), "the number of right answers"),
    ("classify", of("classify", "right / len(test_Q1)", "100 * right / len(test_Q1)"), "a percentage"),
    ("classify", of("classify", "right / len(test_Q1)", "right / batch_size"), "by the batch size"),
    ("classify", of("classify", "model((q1, q2))", "model(q1)"), "the pair (q1, q2)"),
    ("classify", of("classify", "v2[j].T", "v2[0].T"), "question 2 of the same row only"),
    ("classify", of("classify", "y_part = y[i : i + batch_size]", "y_part = y"), "24 pairs in batches"),
    ("classify", of("classify", "0, len(test_Q1), batch_size", "0, len(test_Q1), 64",
     "i + batch_size", "i + 64"), "use the argument batch_size"),
    ("classify", of("classify", "next(data_generator",
     "next(__import__('exercise_solutions').data_generator"), "with the argument data_generator"),
    ("predict", of("predict", "> threshold", ">= threshold"), "> and not >="),
    ("predict", of("predict", GET, "vocab[w]"), "looking a word up in a defaultdict with [] puts it in"),
    ("predict", of("predict", GET, "vocab.setdefault(w, 0)"), "the vocabulary has now"),
    ("predict", of("predict", f"{GET} for w in word_tokenize(q)",
     "vocab[w] for w in word_tokenize(q) if w in vocab"), "is not left out"),
    ("predict", of("predict", "word_tokenize(q)", "q.split()"), "word_tokenize takes the question mark"),
    ("predict", of("predict", "word_tokenize(q)", "word_tokenize(q.lower())"), "leave the case"),
    ("predict", of("predict", "> threshold", "> 0.7"), "use the argument"),
    ("predict", of("predict", "return d > threshold", "return d"), "compare the cosine"),
    ("predict", of("predict", "return d > threshold", "return [d > threshold] * 2"), "shape (2,)"),
    ("predict", of("predict", "vocab[\"<PAD>\"]", "1"), "vocab['<PAD>']"),
    ("predict", of("predict", "model((q1, q2))", "model((q1, q1))"), "two questions about other"),
    ("predict", of("predict", "return d > threshold", "print(d > threshold)"), "it returned None"),
    ("predict", of("predict", "model((q1, q2))", "model(q1, q2)"), "TypeError"),
]  # fmt: skip


@pytest.mark.parametrize("name", CHECKS)
def test_the_solution_scores_full(name, capsys):
    score = CHECKS[name](getattr(exercise_solutions, name))
    assert score.points == score.out_of >= 9 and not score.failures, score
    assert capsys.readouterr().out.startswith(f"✓ {name}: {score.out_of} of {score.out_of}")


@pytest.mark.parametrize("number", range(len(WRONG)), ids=lambda n: f"{WRONG[n][0]}-{n}")
def test_a_mistake_is_named(number):
    name, wrong, message = WRONG[number]
    score = CHECKS[name](wrong())
    assert score.points < score.out_of
    assert message in failed_hints(score)


ONE_CASE = [
    # exercise, function () -> solution with one flaw, the only case that it costs
    ("data_generator", of("data_generator", "yield np.array(b1), np.array(b2)", "yield b1, b2"),
     "one batch in order"),
    ("data_generator", of("data_generator", "np.array(b1)", "np.array(b1, float)"),
     "one batch in order"),
    ("classify", of("classify", "len(part1), vocab", "batch_size, vocab", "range(len(part1))",
     "range(batch_size)"), "a last batch that is short"),
    ("predict", of("predict", GET, "vocab[w]"), "unknown words do not enter the vocabulary"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "flawed", "case"), ONE_CASE)
def test_one_flaw_costs_one_case(name, flawed, case):
    assert [failure.case for failure in CHECKS[name](flawed()).failures] == [case]


RIGHT = [
    # what np.dot(v1, v2.T) > threshold gives, as in the course's own solution: [[True]]
    ("predict", of("predict", "v1[0], v2[0].T", "v1, v2.T")),
    ("classify", of("classify", "v1[j], v2[j].T", "v1[j : j + 1], v2[j : j + 1].T")),
    ("classify", of("classify", "return right", "return np.ones(1) * right")),
]


@pytest.mark.parametrize(("name", "right"), RIGHT)
def test_an_answer_of_one_element_is_right(name, right):
    assert CHECKS[name](right()).full


def test_every_exercise_has_five_mistakes():
    counts = {name: sum(row[0] == name for row in WRONG) for name in CHECKS}
    assert min(counts.values()) >= 5, counts
