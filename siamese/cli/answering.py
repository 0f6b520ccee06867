"""The commands that compare questions by a model: predict for pairs, match for two lists."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from siamese.cli import arguments as shared
from siamese.cli.arguments import arg, command, either, flag
from siamese.cli.output import Result, note, remarks, table_result, threshold_facts, write_out
from siamese.cli.reading import note_cut, note_findings, question_list
from siamese.compat.progress import elapsed
from siamese.errors import ArgumentError
from siamese.search.display import NO_LABELS, rounded

MATCH_COLUMNS = ["id", "question", "match_id", "match", "similarity", "probability", "is_duplicate"]


@command(
    arg("model", help=shared.MODEL_HELP),
    arg("question1", help="a question; or a file of pairs, - for standard input"),
    arg("question2", nargs="?", help="the other question"),
    flag("--explain", "show what each word of two questions does to their cosine"),
    shared.THRESHOLD,
    *(shared.BAD_ROWS, shared.ENCODING, shared.COLUMNS, shared.EXCEL),
)
def predict(flags: argparse.Namespace) -> Result | None:
    """Answer whether two questions, or many pairs, are duplicates.

    siamese predict use "How old are you?" "What is your age?"
    siamese predict runs/course "How old are you?" "What is your age?" --explain --threshold 0.7
    siamese predict runs/course pairs.csv > answers.csv     (of JSON Lines, or with --json: JSON Lines)
    ... | siamese predict runs/course -
    """
    from siamese.search.detector import DuplicateDetector

    if flags.explain and flags.question2 is None:
        raise ArgumentError("--explain takes two questions, not a file.")
    detector = DuplicateDetector.load(flags.model)
    return (_answer_file if flags.question2 is None else _answer)(detector, flags)


def _answer_file(detector: Any, flags: argparse.Namespace) -> None:
    """Prints a line for each pair of a file; the first bad row ends it, or bad rows are skipped."""
    from siamese.data.readers.reading import ReadReport, source_name
    from siamese.search.streaming import answer_file

    if threshold_facts(detector, flags)["threshold_from"] == "default":
        note(f"Threshold {detector.threshold:.3f}. {NO_LABELS}")
    report = ReadReport(source_name(flags.question1), bad_rows=flags.bad_rows)
    names = ("threshold", "columns", "encoding", "excel")
    options = {name: getattr(flags, name) for name in names} | {"as_json": flags.json}
    for line in answer_file(detector, flags.question1, report, **options):
        write_out(line)
    note_findings(report)


def _answer(detector: Any, flags: argparse.Namespace) -> Result:
    """The answer for two questions."""
    pair = {"question1": flags.question1, "question2": flags.question2}
    note_cut(detector, pair.values())
    facts = threshold_facts(detector, flags)
    cosines = detector.similarity(*([question] for question in pair.values()))
    ((cosine, probability, is_duplicate),) = detector.judged(cosines, facts["threshold"])
    unknown = [word for question in pair.values() for word in detector.unknown_words(question)]
    verdict, sign = ("duplicate", ">") if is_duplicate else ("not a duplicate", "<=")
    line = f"-> {verdict}: cosine {cosine:.3f} {sign} {facts['threshold']:.3f}"
    line += "" if probability is None else f", probability {probability:.2f}"
    lines = [*pair.values(), line, *(f"   {remark}" for remark in remarks(unknown, facts))]
    text = "\n".join(f"  {line}" for line in lines)
    answer = {**pair, "is_duplicate": is_duplicate, "similarity": cosine}
    answer |= {"probability": probability, **facts, "unknown_words": unknown}
    if flags.explain:
        from siamese.search.explain import explain

        explanation = explain(detector, *pair.values())
        answer |= {name: explanation.as_dict()[name] for name in ("words1", "words2")}
        text += f"\n\n{explanation.words()}"
    return text, rounded(answer)


@command(
    arg("a", metavar="A", help="the questions to match, a list in any format"),
    arg("b", metavar="B", help="the questions to match them with"),
    shared.NEW_MODEL,
    shared.THRESHOLD,
    either(
        arg("-k", type=int, default=1, help="matches of each question [%(default)s]"),
        flag("--one-to-one", "match no question twice: the best assignment above the threshold"),
    ),
    *shared.READ_LIST,
    *shared.TABLE,
)
def match(flags: argparse.Namespace) -> Result:
    """Find for each question of one list the best matches in another, as CSV or JSON Lines.

    siamese match new.csv faq.csv > matches.csv
    siamese match new.csv faq.csv --model runs/course --one-to-one --threshold 0.8 --output matches.jsonl
    """
    from siamese.search.detector import DuplicateDetector
    from siamese.search.groups import with_columns
    from siamese.search.nearest import match_questions

    detector = DuplicateDetector.load(flags.model)
    facts = threshold_facts(detector, flags)
    cut = facts["threshold"]
    first, second = question_list(flags.a, flags), question_list(flags.b, flags)
    sizes = len(first.questions), len(second.questions)
    note_cut(detector, [*first.questions, *second.questions])
    options = {"k": flags.k, "one_to_one": flags.one_to_one, "threshold": cut}
    with elapsed(f"Matching {sizes[0]:,} questions with {sizes[1]:,}"):
        matches = match_questions(detector, first.questions, second.questions, **options)
    rows, matched = [], 0
    columns1, columns2 = (side.columns or [{}] * len(side.ids) for side in (first, second))
    for i, question, columns, best in zip(first.ids, first.questions, columns1, matches):
        judged = detector.judged(np.array([cosine for _, cosine in best]), cut)
        matched += any(is_duplicate for *_, is_duplicate in judged)
        empty = dict.fromkeys(MATCH_COLUMNS) | {"id": i, "question": question}
        rows += [with_columns(empty, columns)] * (not best)
        for (other, _), (*answer, is_duplicate) in zip(best, judged):
            cells = i, question, second.ids[other], second.questions[other], *answer
            row = rounded(dict(zip(MATCH_COLUMNS, (*cells, int(is_duplicate)))))
            more = {f"match_{name}": value for name, value in columns2[other].items()}
            rows.append(with_columns(with_columns(row, columns), more))
    summary = (
        f"{sizes[0]:,} questions, {sizes[1]:,} to match them with; matches above {cut:.3f} for "
        f"{matched:,}."
    )
    facts |= {"questions": sizes[0], "others": sizes[1], "matched": matched}
    return table_result(flags, rows, MATCH_COLUMNS, summary, facts)
