"""What the subcommands about search, groups, streams, imports and explanations do."""

from __future__ import annotations

import argparse
import csv
import io
import os
import sys
import time
from typing import Any

from siamese.cli.commands import Result, note_findings
from siamese.cli.output import write_out
from siamese.errors import ArgumentError
from siamese.search.display import excel_cell, harmless
from siamese.storage.atomic import write_text_atomically


def index(flags: argparse.Namespace) -> Result:
    """`siamese index`: encodes a file's questions once, to be searched many times."""
    from siamese.search.detector import DuplicateDetector
    from siamese.search.index import QuestionIndex

    started = time.monotonic()
    detector = DuplicateDetector.load(flags.model)
    found = _read_list(flags)
    options = {"storage": flags.storage, "approximate": flags.approximate}
    made = QuestionIndex.build(
        detector, found.questions, ids=found.ids, columns=found.columns, **options
    )
    output = flags.output or f"{str(flags.questions).rstrip('/')}.index"
    made.save(output, model=flags.model)
    seconds = time.monotonic() - started
    facts = {
        "output": str(output),
        "questions": len(made),
        "left_out": found.left_out,
        "storage": made.vectors.storage,
        "bytes": made.vectors.nbytes,
        "approximate": made.has_graph,
        "seconds": round(seconds, 1),
    }
    kind = "approximate and exact search" if made.has_graph else "exact search"
    text = (
        f"{len(made):,} questions, {made.vectors.nbytes / 1e6:,.1f} MB of vectors, for {kind}, in "
        f"{seconds:.1f} s."
    )
    if found.left_out:
        some = "question was" if found.left_out == 1 else "questions were"
        text += f"\n{found.left_out:,} empty {some} left out."
    return f'{text}\nSaved in {output}. Ask it: siamese search {output} "..."', facts


def index_add(flags: argparse.Namespace) -> Result:
    """`siamese index add`: adds a file's questions to an index."""
    from siamese.search.index import QuestionIndex

    found = _read_list(flags)
    with QuestionIndex.open_for_change(flags.index, flags.model) as made:
        made.add(found.questions, ids=found.ids, columns=found.columns)
    facts = {"added": len(found.questions), "left_out": found.left_out, "questions": len(made)}
    return f"{facts['added']:,} questions added; the index has {len(made):,}.", facts


def index_remove(flags: argparse.Namespace) -> Result:
    """`siamese index remove`: removes questions from an index."""
    from siamese.data.question_list import ID_NAMES, read_questions
    from siamese.search.index import QuestionIndex

    if (flags.ids is None) == (flags.questions is None):
        raise ArgumentError("Give the ids to remove: either --ids ID ... or a file.")
    asked = flags.ids
    if asked is None:
        found = read_questions(flags.questions)
        note_findings(found.report)
        lines = found.questions[found.questions[:1] in [[name] for name in ID_NAMES] :]
        asked = lines if found.ids is None else found.ids
    with QuestionIndex.open_for_change(flags.index, flags.model) as made:
        # Ids that were counted are numbers, and all ids of a CSV file are text.
        ids = [int(i) if i not in made and str(i).isdecimal() else i for i in asked]
        facts = {"removed": made.remove(ids), "questions": len(made)}
    return f"{facts['removed']:,} questions removed; the index has {len(made):,}.", facts


def search(flags: argparse.Namespace) -> Result:
    """`siamese search`: old questions similar to a new one."""
    if flags.question == "-" or os.path.exists(flags.question):
        raise ArgumentError(
            f"{flags.question!r} is a file, not a question. Ask one question at a time: "
            f'siamese search {flags.index} "How old are you?".'
        )
    made = _load_index(flags)
    started = time.monotonic()
    approximate = True if flags.approximate else (False if flags.exact else None)
    hits = made.search(flags.question, flags.k, approximate=approximate, threshold=flags.threshold)
    seconds = time.monotonic() - started
    unknown = made.detector.unknown_words(flags.question)
    as_json = {
        "question": flags.question,
        "hits": [_hit(hit) for hit in hits],
        "unknown_words": unknown,
        "seconds": round(seconds, 4),
    }
    lines = [_hit_text(hit) for hit in hits]
    cut = made.detector.threshold if flags.threshold is None else flags.threshold
    if any(hit.is_duplicate for hit in hits):
        lines.append(f"* a duplicate: cosine above {cut:.3f}")
    if not lines:
        why = "the index is empty" if not len(made) else "the question has no words"
        lines = [f"Nothing found: {why}."]
    if unknown:
        lines.append(f"words the model has never seen: {', '.join(unknown)}")
    return "\n".join(lines), as_json


def duplicates(flags: argparse.Namespace) -> Result:
    """`siamese duplicates`: the groups of duplicates in an index, as CSV."""
    from siamese.search.groups import duplicate_groups, group_rows

    made = _load_index(flags)
    threshold = made.detector.threshold if flags.threshold is None else flags.threshold
    started = time.monotonic()
    groups = duplicate_groups(made.vectors, threshold)
    seconds = time.monotonic() - started
    rows = list(group_rows(made, groups))
    columns = list(dict.fromkeys(name for row in rows for name in row))
    columns = columns or ["group", "id", "question", "similarity", "central"]
    facts: dict[str, Any] = {
        "questions": len(made),
        "threshold": round(threshold, 6),
        "groups": len(groups),
        "questions_in_groups": len(rows),
        "largest": len(groups[0]) if groups else 0,
        "seconds": round(seconds, 1),
    }
    summary = (
        f"{len(made):,} questions, cosine above {threshold:.3f}: {len(groups):,} groups that "
        f"hold {len(rows):,} questions, the largest {facts['largest']:,}; {seconds:.1f} s."
    )
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, restval="", lineterminator="\n")
    writer.writeheader()
    cell = excel_cell if flags.excel else lambda value: value
    writer.writerows({name: cell(value) for name, value in row.items()} for row in rows)
    text = out.getvalue().encode("utf-8", "replace").decode()
    if flags.output:
        write_text_atomically(flags.output, text)
        return f"{summary}\nWritten to {flags.output}.", {**facts, "output": flags.output}
    print(summary, file=sys.stderr)
    return text.rstrip("\n"), {**facts, "rows": rows}


def predict_many(flags: argparse.Namespace) -> int:
    """`siamese predict MODEL FILE`: one line out for each line in; 1 where a line had an error."""
    from siamese.data.files import ReadReport, shown_name
    from siamese.search.detector import DuplicateDetector
    from siamese.search.streaming import answer_file

    if flags.json:
        raise ArgumentError("Many pairs are answered in their own format; leave --json out.")
    detector = DuplicateDetector.load(flags.model)
    report = ReadReport(shown_name(flags.question1))
    options = {"threshold": flags.threshold, "bad_rows": flags.bad_rows, "excel": flags.excel}
    failed = 0
    for line, good in answer_file(detector, flags.question1, report, **options):
        write_out(line)
        failed += not good
    if failed:
        del report.findings["bad"]
        text = f"{failed:,} of {report.rows:,} records had an error; see their error column."
        print(text, file=sys.stderr)
    note_findings(report)
    return 1 if failed else 0


def import_weights(flags: argparse.Namespace) -> Result:
    """`siamese import-weights`: course weights and a vocabulary, made into a saved model."""
    from siamese.search.import_weights import import_weights as imported

    detector = imported(flags.weights, flags.vocab, threshold=flags.threshold)
    detector.save(flags.output)
    facts = {
        "output": str(flags.output),
        "words": len(detector.vocabulary),
        "d_model": detector.tower.d_model,
        "threshold": detector.threshold,
        "step": detector.card["step"],
        "rows": detector.card["rows"],
    }
    clamped = facts["rows"] < detector.vocabulary.size
    rows = "one row less than ids, as in the course" if clamped else "a row for each id"
    text = (
        f"{facts['words']:,} words, vectors of {facts['d_model']}, threshold "
        f"{detector.threshold:.3f}; {rows}. Saved in {flags.output}; ask it:\n"
        f'  siamese predict {flags.output} "..." "..."'
    )
    return text, facts


def explain(flags: argparse.Namespace) -> Result:
    """`siamese explain`: which words pull a similarity up or down."""
    from siamese.search.detector import DuplicateDetector
    from siamese.search.explain import explain as explained
    from siamese.search.explain import plot_explanation

    found = explained(DuplicateDetector.load(flags.model), flags.question1, flags.question2)
    if not flags.plot:
        return str(found), found.as_dict()
    from siamese.evaluation.picture import save_picture

    save_picture(plot_explanation(found), flags.plot)
    return f"{found}\n\nDrawn in {flags.plot}.", {**found.as_dict(), "plot": flags.plot}


def app(flags: argparse.Namespace) -> int:
    """`siamese app`: a web page on this machine, until Ctrl-C."""
    from siamese.serving.app import serve

    if flags.json:
        raise ArgumentError("A page is for people; leave --json out.")
    serve(flags.model, flags.index, host=flags.host, port=flags.port)
    return 0


def _read_list(flags: argparse.Namespace):
    """The questions of a file; what was mended is told."""
    from siamese.data.question_list import read_questions

    columns = {"column": flags.column, "id_column": flags.id_column}
    found = read_questions(flags.questions, **columns, bad_rows=flags.bad_rows)
    note_findings(found.report)
    return found


def _load_index(flags: argparse.Namespace):
    from siamese.search.index import QuestionIndex

    return QuestionIndex.load(flags.index, flags.model)


def _hit(hit) -> dict[str, Any]:
    found = {**hit._asdict(), "similarity": round(hit.similarity, 6)}
    probability = found.pop("probability")
    return found if probability is None else {**found, "probability": round(probability, 6)}


def _hit_text(hit) -> str:
    mark = "*" if hit.is_duplicate else " "
    probability = "" if hit.probability is None else f"  {hit.probability:4.0%}"
    return (
        f"{mark} {hit.similarity:6.3f}{probability}  [{harmless(hit.id)}] {harmless(hit.question)}"
    )
