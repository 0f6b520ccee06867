"""The commands that compare questions by a model: predict for pairs, match for two lists."""

from __future__ import annotations

import argparse
from typing import Any

from siamese.cli import arguments as shared
from siamese.cli.arguments import arg, command, flag
from siamese.cli.output import Result, note, table_result, threshold_source, write_out
from siamese.cli.reading import note_cut, note_findings, question_list
from siamese.compat.progress import elapsed
from siamese.errors import ArgumentError
from siamese.search.display import NO_LABELS

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
    from siamese.data.reading import ReadReport, source_name
    from siamese.search.streaming import answer_file

    if threshold_source(detector, flags) == "default":
        note(f"Threshold {detector.threshold:.3f}. {NO_LABELS}")
    report = ReadReport(source_name(flags.question1), bad_rows=flags.bad_rows)
    names = ("threshold", "columns", "encoding", "excel")
    options = {name: getattr(flags, name) for name in names} | {"as_json": flags.json}
    for line in answer_file(detector, flags.question1, report, **options):
        write_out(line)
    note_findings(report)


def _answer(detector: Any, flags: argparse.Namespace) -> Result:
    """The answer for two questions."""
    pair = flags.question1, flags.question2
    note_cut(detector, pair)
    cut = detector.threshold if flags.threshold is None else flags.threshold
    ((cosine, probability, is_duplicate),) = detector.judged(
        detector.similarity([pair[0]], [pair[1]]), cut
    )
    answer = dict(zip(("question1", "question2"), pair)) | {"is_duplicate": is_duplicate}
    answer |= {"similarity": round(cosine, 6), "threshold": round(cut, 6)}
    answer["threshold_from"] = threshold_source(detector, flags)
    answer["unknown_words"] = unknown = [w for text in pair for w in detector.unknown_words(text)]
    verdict, sign = ("duplicate", ">") if is_duplicate else ("not a duplicate", "<=")
    lines = [
        f"  {pair[0]}",
        f"  {pair[1]}",
        f"  -> {verdict}: cosine {cosine:.3f} {sign} {cut:.3f}",
    ]
    if probability is not None:
        answer["probability"] = round(probability, 6)
        lines[-1] += f", probability {probability:.2f}"
    if unknown:
        lines.append(f"     words the model has never seen: {', '.join(unknown)}")
    if answer["threshold_from"] == "default":
        lines.append(f"     {NO_LABELS}")
    if flags.explain:
        from siamese.search.explain import explain

        explanation = explain(detector, *pair)
        answer |= {name: explanation.as_dict()[name] for name in ("words1", "words2")}
        lines += ["", explanation.words()]
    return "\n".join(lines), answer


@command(
    arg("a", metavar="A", help="the questions to match, a list in any format"),
    arg("b", metavar="B", help="the questions to match them with"),
    shared.NEW_MODEL,
    shared.THRESHOLD,
    arg("-k", type=int, help="matches of each question [1]"),
    flag("--one-to-one", "match no question twice: the best assignment above the threshold"),
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
    from siamese.search.match import match_questions

    if flags.one_to_one and flags.k is not None:
        raise ArgumentError("--one-to-one gives each question one match at most; leave out -k.")
    detector = DuplicateDetector.load(flags.model)
    cut = detector.threshold if flags.threshold is None else flags.threshold
    first, second = question_list(flags.a, flags), question_list(flags.b, flags)
    options = {"k": 1 if flags.k is None else flags.k, "one_to_one": flags.one_to_one}
    sizes = len(first.questions), len(second.questions)
    note_cut(detector, [*first.questions, *second.questions])
    with elapsed(f"Matching {sizes[0]:,} questions with {sizes[1]:,}"):
        matches = match_questions(
            detector, first.questions, second.questions, threshold=cut, **options
        )
    rows, columns1, columns2 = [], first.columns, second.columns
    for at, best in enumerate(matches):
        for other, cosine in best or [(None, None)]:
            row = dict.fromkeys(MATCH_COLUMNS)
            row |= {"id": first.ids[at], "question": first.questions[at]}
            more = {}
            if other is not None:
                row |= {"match_id": second.ids[other], "match": second.questions[other]}
                row |= {"similarity": round(cosine, 6), "is_duplicate": int(cosine > cut)}
                if detector.calibration is not None:
                    row["probability"] = round(detector.calibrated(cosine), 6)
                more = columns2[other] if columns2 else {}
            row = with_columns(row, columns1[at] if columns1 else {})
            rows.append(with_columns(row, {f"match_{name}": more[name] for name in more}))
    matched = sum(any(cosine > cut for _, cosine in best) for best in matches)
    facts = {"questions": sizes[0], "others": sizes[1], "matched": matched, "threshold": cut}
    facts["threshold_from"] = threshold_source(detector, flags)
    summary = (
        f"{sizes[0]:,} questions, {sizes[1]:,} to match them with; matches above {cut:.3f} for "
        f"{matched:,}."
    )
    return table_result(flags, rows, MATCH_COLUMNS, summary, facts)
