"""The commands that answer questions: predict for pairs, search for a new one, match for two lists."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from shlex import quote

import numpy as np

from siamese.cli import arguments as shared
from siamese.cli import reading
from siamese.cli.arguments import arg, command, flag
from siamese.cli.languages import about_languages
from siamese.cli.output import Facts, Result, claim, note, table_result, threshold_facts
from siamese.cli.reading import (
    labelled_pairs,
    load_model,
    note_cut,
    note_default,
    opened,
    question_list,
)
from siamese.errors import ArgumentError
from siamese.groups.grouping import renamed, table_names
from siamese.model.detector import DuplicateDetector
from siamese.model.explain import explain
from siamese.nn.nearest import top_k
from siamese.system.arguments import counted, whole_number
from siamese.system.progress import elapsed
from siamese.text.cleaning import has_words
from siamese.text.display import harmless, rounded

ANSWERS = ("similarity", "probability", "is_duplicate")
MATCHES = ("id", "question", "match_id", "match", *ANSWERS)


@command(
    arg("model", help=shared.MODEL_HELP),
    arg("question1", help="a question; or a file of pairs, - for standard input"),
    arg("question2", nargs="?", help="the other question"),
    flag("--explain", "show what each word of two questions does to their cosine"),
    shared.THRESHOLD,
    *shared.READ_PAIRS,
    *shared.TABLE,
)
def predict(flags: argparse.Namespace) -> Result:
    """Answer whether two questions, or many pairs, are duplicates.

    siamese predict use "How old are you?" "What is your age?" --explain
    siamese predict runs/course pairs.csv --output answers.csv
    """
    claim(flags.output, flags)
    detector = load_model(flags.model)
    note_default(detector, flags)
    facts, pair = threshold_facts(detector, flags), (flags.question1, flags.question2)
    if flags.question2 is None:
        return _file_answers(detector, facts, flags)
    of_file = "output bad_rows encoding columns"
    reading.refuse_flags(flags, of_file, "Two questions are given, not a file")
    _check_words(*pair)
    note_cut(detector, pair)
    cut = facts["threshold"]
    ((cosine, probability, is_duplicate),) = detector.answers(
        *([side] for side in pair), cut
    )
    unknown = [word for question in pair for word in detector.unknown_words(question)]
    verdict, sign = ("duplicate", ">") if is_duplicate else ("not a duplicate", "<=")
    score = probability if detector.measure == "probability" else cosine
    line = f"-> {verdict}: {detector.measure} {score:.3f} {sign} {cut:.3f}"
    text = "\n".join(f"  {line}" for line in (*pair, line, *_unseen(unknown)))
    answer = {"question1": pair[0], "question2": pair[1], "is_duplicate": is_duplicate}
    answer |= {
        "similarity": cosine,
        "probability": probability,
        "unknown_words": unknown,
        **facts,
    }
    if flags.explain:
        explanation = explain(detector, *pair)
        answer |= {name: explanation.as_dict()[name] for name in ("words1", "words2")}
        text += f"\n\n{explanation}"
    return text, rounded(answer)


def _check_words(*questions: str) -> None:
    """Refuses a question without a letter or digit."""
    if wordless := [question for question in questions if not has_words(question)]:
        raise ArgumentError(
            f"{wordless[0]!r} has no word: a question needs a letter or a digit."
        )


def _file_answers(
    detector: DuplicateDetector, facts: Facts, flags: argparse.Namespace
) -> Result:
    """The answers for a file of pairs, as a table in the file's order."""
    if flags.explain:
        raise ArgumentError("--explain takes two questions, not a file.")
    pairs = labelled_pairs(flags.question1, flags, labels=False)
    note_cut(detector, [*pairs.question1, *pairs.question2])
    names, table = ("question1", "question2", *ANSWERS, "id"), []
    with elapsed(f"Encoding {counted(len(pairs), 'pair')}"):
        answers = detector.answers(pairs.question1, pairs.question2, flags.threshold)
    rows = zip(pairs.question1, pairs.question2, answers, pairs.ids)
    for *pair, (*scores, is_duplicate), own in rows:
        table.append(dict(zip(names, (*pair, *scores, int(is_duplicate), own))))
    facts["pairs"], facts["duplicates"] = (
        len(table),
        sum(row["is_duplicate"] for row in table),
    )
    return table_result(flags, table, names, facts)


def _unseen(words: list[str]) -> list[str]:
    """A line that names words, where there are any."""
    return [f"words the model has never seen: {', '.join(words)}"] if words else []


@command(
    shared.INDEX,
    arg("question", help="a new question"),
    arg("-k", type=int, default=10, help="how many hits [%(default)s]"),
    shared.THRESHOLD,
    flag("--vectors-only", "order by cosine [by vectors and words together]"),
    shared.MODEL,
    *shared.READ_LIST,
)
def search(flags: argparse.Namespace) -> Result:
    """Find the questions of an index or a list that are similar to a new one.

    siamese search questions.csv "How old are you?"             (a list is encoded each time)
    siamese search questions.db "How old are you?" -k 3 --json
    """
    if flags.question == "-" or os.path.isfile(flags.question):
        way = f"For each question of a file: siamese match {quote(flags.question)} {quote(flags.index)}"
        raise ArgumentError(f"{flags.question!r} is a file, not the question. {way}")
    _check_words(flags.question)
    options = {"mode": "vectors" if flags.vectors_only else "hybrid"}
    with opened(flags.index, flags) as (index, detector):
        note_cut(detector, [flags.question])
        hits = index.search(
            flags.question, flags.k, threshold=flags.threshold, **options
        )
        facts, weight = threshold_facts(detector, flags), index.vector_weight
        unknown = detector.unknown_words(flags.question)
    lines = [] if hits else ["Nothing found."]
    for hit in hits:
        chance = "" if hit.probability is None else f"  {hit.probability:4.0%}"
        score = f"{'*' if hit.is_duplicate else ' '} {hit.similarity:6.3f}{chance}"
        lines.append(f"{score}  [{harmless(hit.id)}] {harmless(hit.question)}")
    if any(hit.is_duplicate for hit in hits):
        lines.append(
            f"* a duplicate: {detector.measure} above {facts['threshold']:.3f}"
        )
    cosines = [hit.similarity for hit in hits]
    if cosines != sorted(cosines, reverse=True):
        lines.append(
            f"Ordered by cosine (weight {weight:g}) and shared words (weight {1 - weight:g}) "
            "together; --vectors-only orders by cosine."
        )
    facts |= {
        "question": flags.question,
        "hits": [rounded(hit._asdict()) for hit in hits],
    }
    facts |= {**options, "vector_weight": weight, "unknown_words": unknown}
    return "\n".join([*lines, *_unseen(unknown)]), facts


@command(
    arg(
        "a",
        metavar="A",
        help="the questions to match, a list in any format; alone also an index",
    ),
    arg(
        "index",
        metavar="B",
        nargs="?",
        help="those to match them with, or their index [A's others]",
    ),
    shared.THRESHOLD,
    arg("-k", type=int, default=1, help="matches of each question [%(default)s]"),
    *shared.LIST_TABLE,
)
def match(flags: argparse.Namespace) -> Result:
    """Find for each question the most similar others of its list, or those of another one, as CSV.

    siamese match tickets.csv -k 3 --output matches.csv         (for each the three nearest others)
    siamese match new.csv faq.csv -k 3 --threshold 0.8 --output matches.csv
    """
    claim(flags.output, flags)
    if flags.index is None:
        return _match_itself(flags)
    new = reading.kind_of(flags.index) != "index" and question_list(flags.a, flags)
    with opened(flags.index, flags) as (index, detector):
        new = new or reading.list_for(index, flags.a, flags, "keep_repeated repeated")
        facts = threshold_facts(detector, flags)
        note_cut(detector, new.compared)
        for line in about_languages(detector, new.compared):
            note(line)
        with elapsed(f"Searching for {counted(len(new.questions), 'question')}"):
            options = {"mode": "vectors", "threshold": flags.threshold}
            hits = index.search(new.compared, flags.k, **options)
        columns_of_b = [
            *index.column_names,
            *(name for best in hits for hit in best for name in hit.columns),
        ]
    columns = new.columns or [{}] * len(hits)
    matches = zip(new.ids, new.questions, columns, hits)
    return _match_table(list(matches), columns_of_b, facts, flags)


def _match_itself(flags: argparse.Namespace) -> Result:
    """The most similar other questions of each question of a list or an index."""
    from siamese.index import Hit

    k = whole_number(flags.k, "k", 1)
    flags.index = flags.a
    if reading.kind_of(flags.index) == "index":
        why = f"{flags.index} is an index, which is read as it is"
        reading.refuse_flags(flags, reading.LISTS, why)
    with opened(flags.index, flags) as (index, detector):
        entries, vectors, *_ = index.snapshot()
        columns_of_both = [
            *index.column_names,
            *(n for entry in entries for n in entry["columns"]),
        ]
        facts = threshold_facts(detector, flags)
        with elapsed(f"Searching for {counted(len(entries), 'question')}"):
            worded = np.flatnonzero(vectors.any(axis=1))
            places, _ = top_k(vectors[worded], vectors[worded], k + 1)
            nearest = dict(zip(worded.tolist(), worded[places].tolist()))
    matches = []
    for at, entry in enumerate(entries):
        others = [other for other in nearest.get(at, ()) if other != at][:k]
        judged = detector.judged(vectors[others], vectors[at][None], flags.threshold)
        hits = [
            Hit(
                entries[other]["id"],
                entries[other]["question"],
                *own,
                entries[other]["columns"],
            )
            for other, own in zip(others, judged)
        ]
        matches.append((entry["id"], entry["question"], entry["columns"], hits))
    return _match_table(matches, columns_of_both, facts, flags)


def _match_table(
    matches: list[tuple],
    columns_of_matches: Iterable[str],
    facts: Facts,
    flags: argparse.Namespace,
) -> Result:
    """A row for each hit of each question; `matches` are its id, text, other columns and hits."""
    # All columns of both lists, whether or not a row has them.
    names = {f"match_{name}": name for name in columns_of_matches}
    of_match = {
        names[name]: shown for name, shown in table_names(MATCHES, names).items()
    }
    taken = [*MATCHES, *of_match.values()]
    of_question = table_names(taken, (name for _, _, own, _ in matches for name in own))
    rows = []
    for i, question, own, best in matches:
        others = renamed(own, of_question)
        for *hit, is_duplicate, of_hit in best:
            row = dict(zip(MATCHES, (i, question, *hit, int(is_duplicate))))
            rows.append(row | renamed(of_hit, of_match) | others)
        if not best:  # A question without words has no match, and a row.
            rows.append(
                dict.fromkeys(MATCHES) | {"id": i, "question": question} | others
            )
    matched = sum(any(hit.is_duplicate for hit in best) for *_, best in matches)
    facts |= {"questions": len(matches), "matched": matched}
    return table_result(flags, rows, [*taken, *of_question.values()], facts)
