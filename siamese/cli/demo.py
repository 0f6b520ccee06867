"""The demo: the assignment in Trax, then the tool on questions written by hand; each with a mistake."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import random
import shlex
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from siamese.cli.arguments import CommandOptions, option
from siamese.cli.output import Facts, Result, aligned, note
from siamese.corpus import (
    HANDWRITTEN,
    embedded_corpus,
    handwritten_questions,
)
from siamese.errors import ArgumentError, DataError
from siamese.evaluation.groups import group_figures
from siamese.system.files import explained, lock_run, write_text_atomically
from siamese.text.display import rounded

if TYPE_CHECKING:
    import numpy as np

    from siamese.corpus import EmbeddedCorpus
    from siamese.index import QuestionIndex
    from siamese.reading.pairs import QuestionPairs
    from siamese.text.vocabulary import Vocabulary

FILE = "handwritten.csv"  # of the demo's folder; where it is, the folder is the demo's
SEED = 34  # of the assignment's weights and batches, as in the course
MOST_WORDS = 0.6  # from this share of common words on, a pair shares most of its words
ANSWERS = 30  # that fit the threshold of the handwritten questions
LANGUAGES = {"de": "German", "es": "Spanish", "fr": "French", "zh": "Chinese"}
SHOWN = ("de", "zh")  # the languages of which a question is shown
WIDTH = 80  # of a terminal


@dataclass(frozen=True, kw_only=True)
class Demo(CommandOptions):
    """The options of `siamese demo`."""

    output: Annotated[
        str, option(help="directory of the run [default: %(default)s]")
    ] = "demo"
    steps: Annotated[
        int, option(help="steps of the assignment's training [default: %(default)s]")
    ] = 80


def demo(options: Demo) -> Result:
    """Train the assignment in Trax, then find duplicates in questions written by hand.

    siamese demo --output demo --steps 80
    """
    folder = Path(options.output)
    _claim(folder)
    with lock_run(folder):  # Two demos at once would write the same files.
        started = time.monotonic()
        course_lines, course_facts = _course_part(folder, options.steps)
        hand_lines, hand_facts = _handwritten_part()
    seconds = round(time.monotonic() - started, 1)
    lines = [
        *course_lines,
        *hand_lines,
        f"\nDone in {seconds:.0f} s. Next, on these questions or on a file of yours:",
        f"  siamese duplicates {shlex.quote(f'{folder}/{FILE}')}",
    ]
    facts = {"course": course_facts, "handwritten": hand_facts, "seconds": seconds}
    return Result("\n".join(lines), rounded(facts))


def _claim(folder: Path) -> None:
    """Writes the handwritten questions to a new folder, or a former demo's; ArgumentError for another."""
    with explained(folder, error=ArgumentError):
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / FILE
        text = HANDWRITTEN.read_text("utf-8")
        is_ours = file.exists() and file.read_bytes() == text.encode()
        if any(folder.iterdir()) and not is_ours:
            raise ArgumentError(
                f"{folder} holds other files. Name a new folder: `siamese demo --output FOLDER`."
            )
    if not is_ours:
        write_text_atomically(file, text, overwrite=False)


def _wrapped(text: str, indent: str = "  ") -> str:
    return textwrap.fill(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent, tabsize=1
    )


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


# ---- The assignment ----


def _course_part(folder: Path, steps: int) -> tuple[list[str], Facts]:
    """Lines and figures of the assignment's model; none where Trax is not installed."""
    if importlib.util.find_spec("trax") is None:
        note(
            "The assignment needs Trax, which is not installed: the demo starts with the tool."
        )
        return [], {}
    corpus = embedded_corpus()
    text = (
        f"The assignment, in Trax's Loop: {steps} steps on the duplicates of "
        f"{len(corpus.train):,} pairs, which a grammar made. Its LSTM starts with a bias on the "
        "forget gate alone: from Trax's own start it needs hundreds of steps to learn anything."
    )
    note(_wrapped(text, ""))
    # Trax prints to standard output, which is for the result.
    with contextlib.redirect_stdout(sys.stderr):
        scores, threshold = _assignment(corpus, folder / "course", steps)
    pairs = corpus.test
    shares = _common_shares(list(pairs.question1), list(pairs.question2))
    facts = _course_figures(scores, threshold, pairs.is_duplicate, shares)
    lines = [
        f"1. The assignment, in Trax: {steps} steps, then {len(pairs):,} test pairs",
        "",
        *_can_and_cannot(steps, facts),
    ]
    for at in _telling_pairs(scores, threshold, pairs.is_duplicate, shares):
        lines += _prediction(pairs, at, scores[at], threshold)
    return [*lines, ""], facts


def _assignment(
    corpus: EmbeddedCorpus, folder: Path, steps: int
) -> tuple[np.ndarray, float]:
    """The cosines of the test pairs by the assignment's model, and a threshold of the validation pairs."""
    import siamese as course

    # Words and ids.
    pairs = corpus.train.duplicates(), corpus.valid, corpus.test
    words = [
        [
            list(map(course.word_tokenize, side))
            for side in (some.question1, some.question2)
        ]
        for some in pairs
    ]
    vocab = course.Vocabulary.from_pairs(*words[0])
    train, valid, test = (
        [list(map(vocab.encode, side)) for side in sides] for sides in words
    )
    trained = _train_course(train, vocab, folder, steps)

    # Its cosines, and the threshold that is best on the validation pairs.
    def scores_of(sides: list[list[list[int]]]) -> np.ndarray:
        one, two = sides
        return course.pair_scores(one, two, trained, vocab, batch_size=512)

    chosen = scores_of(valid)
    threshold = course.best_threshold(chosen, corpus.valid.is_duplicate)
    return scores_of(test), float(threshold)


def _train_course(
    train: list, vocab: Vocabulary, folder: Path, steps: int
) -> Callable[[tuple], tuple]:
    """The assignment's model, trained on duplicates: two lists of questions as ids."""
    import siamese as course

    one, two = train
    cut = int(len(one) * 0.8)  # the rest validates
    random.seed(SEED)
    model = functools.partial(course.Siamese, vocab.size, lstm_bias="forget_gate")
    loop = course.train_model(
        lambda: course.fast_forward(model()),
        course.TripletLoss,
        course.data_generator(one[:cut], two[:cut], 256),
        course.data_generator(one[cut:], two[cut:], 256),
        folder,
        random_seed=SEED,
    )
    loop.run(max(1, steps - loop.step))
    return loop.eval_model


def _common_shares(one: list[str], two: list[str]) -> np.ndarray:
    """Words in both questions of each pair, as a share of the words in either."""
    import numpy as np

    sides = zip(map(_words, one), map(_words, two))
    return np.array([len(a & b) / max(1, len(a | b)) for a, b in sides])


def _words(question: str) -> set[str]:
    """The different words of a question, without case and punctuation."""
    from siamese.text.tokenizer import word_tokenize

    words = word_tokenize(question.lower())
    return {word for word in words if any(map(str.isalnum, word))}


def _course_figures(
    scores: np.ndarray, threshold: float, labels: np.ndarray, shares: np.ndarray
) -> dict[str, float]:
    """Shares of right answers, of all pairs and by how many words they share, and the ROC AUC."""
    from siamese.evaluation.metrics import evaluate_scores

    is_right = (scores > threshold) == labels
    most = shares >= MOST_WORDS
    return {
        "accuracy": float(is_right.mean()),
        "always_different": float(1 - labels.mean()),
        "roc_auc": float(evaluate_scores(scores, labels, threshold).roc_auc),
        "accuracy_few_common_words": float(is_right[~most].mean()),
        "accuracy_most_words_common": float(is_right[most].mean()),
        "pairs_most_words_common": int(most.sum()),
    }


def _can_and_cannot(steps: int, facts: dict[str, float]) -> list[str]:
    """What so many steps teach, by the figures."""
    few = _percent(facts["accuracy_few_common_words"])
    most = _percent(facts["accuracy_most_words_common"])
    line = (
        f"{steps} steps teach which words mean the same: {few} of the answers are right where "
        f"questions have few words in common. They do not teach what one other word or the "
        f"order changes: {most} are right where questions share most of their words."
    )
    figures = (
        f'All answers: {_percent(facts["accuracy"])} right (always "different": '
        f"{_percent(facts['always_different'])}); ROC AUC {facts['roc_auc']:.2f} (guessing: 0.50)."
    )
    return [_wrapped(line), _wrapped(figures), ""]


def _telling_pairs(
    scores: np.ndarray, threshold: float, labels: np.ndarray, shares: np.ndarray
) -> list[int]:
    """The duplicate that is found with the fewest common words for its cosine; the worst false alarm."""
    import numpy as np

    found = np.flatnonzero(labels & (scores > threshold))
    false = np.flatnonzero(~labels & (scores > threshold))
    best = [found[np.argmax(scores[found] - shares[found])]] if len(found) else []
    worst = [false[np.argmax(scores[false])]] if len(false) else []
    return [int(at) for at in (*best, *worst)]


def _prediction(
    pairs: QuestionPairs, at: int, score: float, threshold: float
) -> list[str]:
    """A test pair beside what was expected of it, with the reason."""
    one = pairs.question1[at]
    two = pairs.question2[at]
    expected = bool(pairs.is_duplicate[at])
    predicted = bool(score > threshold)
    names = {True: "the same", False: "different"}
    verdict = "right" if expected == predicted else "WRONG"
    a = _words(one)
    b = _words(two)
    count = f"{len(a & b)} of their {len(a | b)} words are in both"
    reason = f"{count}: it has learned that the others mean the same."
    if expected != predicted and a == b:
        reason = "All words are in both; the mean over them hardly shows that the order differs."
    elif expected != predicted:
        reason = f"{count}; the mean over all words hardly shows the others."
    return [
        f"  expected {names[expected]}, predicted {names[predicted]} "
        f"(cosine {score:.2f}): {verdict}",
        _wrapped(one, " " * 4),
        _wrapped(two, " " * 4),
        _wrapped(f"-> {reason}", " " * 4),
    ]


# ---- The tool on the handwritten questions ----


def _handwritten_part() -> tuple[list[str], Facts]:
    """Lines and figures of the tool, which nothing has trained for these questions."""
    from siamese.index import QuestionIndex
    from siamese.model.detector import DuplicateDetector

    note("The tool, with the encoder `use`, on 300 questions written by hand.")
    rows = handwritten_questions()
    meaning = {row["question"]: row["group"] or row["id"] for row in rows}
    near = sum(bool(row["near_miss"]) for row in rows)
    with QuestionIndex.build(DuplicateDetector.pretrained(), list(meaning)) as index:
        groups = _groups(index)
        languages, language_lines = _other_languages(index, rows)
        lines = [
            "2. The tool, without labels, on 300 questions written by hand",
            "",
            _wrapped(
                f"{near} of them are near misses: they look like another question, and ask "
                "something else."
            ),
            "",
            *_one_group(groups),
            *_refused(index, meaning),
            *_wrongly_grouped(index, groups, meaning),
            *language_lines,
        ]
        before = _pair_figures(groups, meaning)
        _answer(index, meaning)
        after = _pair_figures(_groups(index), meaning)
    facts = {"without_answers": before, "after_answers": after, "languages": languages}
    return [*lines, *_before_and_after(before, after)], facts


def _groups(index: QuestionIndex) -> list[list[str]]:
    """The questions of each group, the largest group first."""
    snapshot = index.grouped()
    return [
        [snapshot.entries[member.row]["question"] for member in group]
        for group in snapshot.groups
    ]


def _one_group(groups: list[list[str]]) -> list[str]:
    """The first group, as an example."""
    example = [_wrapped(question, " " * 4) for question in groups[0]]
    return [f"  One of {len(groups)} groups of duplicates:", *example, ""]


def _similar_pairs(index: QuestionIndex) -> list[tuple[float, str, str]]:
    """(Cosine, question, question) of the pairs above the threshold by their cosine, the highest first."""
    import numpy as np

    texts = [entry["question"] for entry in index.snapshot().entries]
    cosines = index.vectors @ index.vectors.T
    one, two = np.triu_indices(len(texts), 1)
    above = np.flatnonzero(cosines[one, two] > index.detector.threshold)
    order = above[np.argsort(-cosines[one, two][above], kind="stable")]
    return [
        (float(cosines[one[at], two[at]]), texts[one[at]], texts[two[at]])
        for at in order
    ]


def _refused(index: QuestionIndex, meaning: dict[str, str]) -> list[str]:
    """The pair with the highest cosine that the near-miss check rightly refuses, and why."""
    detector = index.detector
    for cosine, one, two in _similar_pairs(index):
        if meaning[one] != meaning[two] and not detector.predict(one, two):
            assert detector.check is not None  # The shipped models have one.
            reasons = detector.check.reasons(one, two)
            why = "; ".join(f"{reason.kind}: {reason}" for reason in reasons)
            return [
                f"  Refused by the near-miss check, although the cosine is {cosine:.2f}:",
                _wrapped(one, " " * 4),
                _wrapped(two, " " * 4),
                _wrapped(f"-> {why}", " " * 4),
                "",
            ]
    return []


def _wrongly_grouped(
    index: QuestionIndex, groups: list[list[str]], meaning: dict[str, str]
) -> list[str]:
    """The pair with the highest cosine that shares a group and asks different things."""
    group_of = {text: at for at, group in enumerate(groups) for text in group}
    for cosine, one, two in _similar_pairs(index):
        together = group_of.get(one, -1) == group_of.get(two, -2)
        if together and meaning[one] != meaning[two]:
            return [
                f"  WRONGLY grouped, the check saw no difference (cosine {cosine:.2f}):",
                _wrapped(one, " " * 4),
                _wrapped(two, " " * 4),
                "",
            ]
    return []


def _other_languages(
    index: QuestionIndex, rows: list[dict[str, str]]
) -> tuple[Facts, list[str]]:
    """How many questions in other languages find their English one first; lines with examples."""
    meaning = {row["question"]: row["group"] or row["id"] for row in rows}
    lines = ["  Asked in another language, and what is found first:"]
    right = 0
    total = 0
    for code in LANGUAGES:
        asked = [row for row in handwritten_questions(code) if _of_english(row)]
        found = index.search([row["question"] for row in asked], 1)
        hits = [hit for (hit,) in found]
        is_right = [
            meaning[hit.question] == _of_english(row) for row, hit in zip(asked, hits)
        ]
        right += sum(is_right)
        total += len(asked)
        if code in SHOWN:
            lines += [
                _wrapped(asked[0]["question"], " " * 4),
                f"      {hits[0].similarity:.2f}  {hits[0].question}",
            ]
    languages = list(LANGUAGES.values())
    names = f"{', '.join(languages[:-1])} or {languages[-1]}"
    lines.append(
        _wrapped(
            f"Of {total} questions in {names} {right} find their English one first."
        )
    )
    return {"asked": total, "found_first": right}, lines


def _of_english(row: dict[str, str]) -> str:
    """The meaning that a question in another language shares with an English one; "" for none."""
    return row["group"] or row["english"]


def _answer(index: QuestionIndex, meaning: dict[str, str]) -> None:
    """Thirty answers of yes or no, which the questions' author gives, and the threshold that they fit."""
    import numpy as np

    from siamese.index.list_pairs import ListPairs
    from siamese.reading.pairs import QuestionPairs

    similar = ListPairs.of_list(index.snapshot())
    one: list[str] = []
    two: list[str] = []
    labels: list[bool] = []
    while len(labels) < ANSWERS:
        pair = similar.next(QuestionPairs(one, two, np.array(labels, bool)))
        if pair is None:
            break
        texts = [similar.entries[row]["question"] for row in pair]
        one.append(texts[0])
        two.append(texts[1])
        labels.append(meaning[texts[0]] == meaning[texts[1]])
    answers = QuestionPairs(one, two, np.array(labels, bool))
    index.add_answers(answers)
    with contextlib.suppress(DataError):  # Too few are yes: the threshold stays.
        index.set_threshold(similar.fitted(index.detector, answers, resamples=0))


def _pair_figures(
    groups: list[list[str]], meaning: dict[str, str]
) -> dict[str, float | int]:
    """Precision and recall of groups over the pairs of questions."""
    import numpy as np

    group_of = {text: at for at, group in enumerate(groups) for text in group}
    alone = range(len(groups), len(groups) + len(meaning))
    labels = [group_of.get(text, at) for text, at in zip(meaning, alone)]
    figures = group_figures(np.array(labels), list(meaning.values()))
    return {
        "pairs_found": figures["pairs"],
        "precision": figures["precision"],
        "recall": figures["recall"],
    }


def _before_and_after(before: dict[str, float], after: dict[str, float]) -> list[str]:
    """What thirty answers change, in a table and in a sentence."""
    table = [["", "pairs found", "precision", "recall"]]
    for name, row in (
        ("without answers", before),
        (f"after {ANSWERS} answers", after),
    ):
        shares = (_percent(row[figure]) for figure in ("precision", "recall"))
        table.append([name, f"{row['pairs_found']}", *shares])
    changes = [
        f"{name} {'rose' if after[name] > before[name] else 'fell'} from "
        f"{_percent(before[name])} to {_percent(after[name])}"
        for name in ("recall", "precision")
        if after[name] != before[name]
    ]
    sentence = ", ".join(changes) or "nothing changed"
    text = (
        f"Thirty answers, yes or no, set the threshold: {sentence}. Precision is the share of "
        "the pairs found that are duplicates, recall the share of the duplicates found."
    )
    return ["", *(f"  {line}" for line in aligned(table)), "", _wrapped(text)]
