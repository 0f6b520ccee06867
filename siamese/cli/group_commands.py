"""The commands that compare whole lists: groups of duplicates in one, matches between two."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from siamese.cli.output import Result, note, read_list, threshold_source
from siamese.errors import ArgumentError, DataError
from siamese.search.display import NO_LABELS, csv_line, json_text
from siamese.storage.atomic import write_text_atomically

GROUP_COLUMNS = ["group", "id", "question", "similarity", "central"]
PAIR_COLUMNS = ["id1", "question1", "id2", "question2", "similarity"]
ADD_COLUMNS = ["id", "question", "answer", "similarity", "central_id", "central_question"]
MATCH_COLUMNS = ["id", "question", "match_id", "match", "similarity", "probability", "is_duplicate"]
Rows = list[dict[str, Any]]
BELOW = 0.1  # so far below the model's threshold cuts are tried


def duplicates(flags: argparse.Namespace) -> Result:
    """Find the groups of duplicates in an index, as CSV or JSON Lines.

    siamese duplicates old > groups.csv
    siamese duplicates old --choose-threshold labelled.csv --largest 100 --output groups.csv
    siamese duplicates old --pairs --threshold 0.9 --output pairs.jsonl
    siamese duplicates old --add new.csv          (answers: joins group 17; new; joins 3 and 9)
    """
    from siamese.search.groups import group_rows, groups_of
    from siamese.search.index import QuestionIndex
    from siamese.search.linkage import average_linkage, best_cut

    if flags.pairs and (flags.largest, flags.choose_threshold) != (None, None):
        raise ArgumentError("--pairs makes no groups; leave out --largest and --choose-threshold.")
    made = QuestionIndex.open(flags.index, flags.model)
    threshold = made.detector.threshold if flags.threshold is None else flags.threshold
    started = time.monotonic()
    facts: dict[str, Any] = {"questions": len(made)}
    facts["threshold_from"] = threshold_source(made.detector, flags)
    if flags.pairs:
        rows = _pair_rows(made, threshold)
        text = f"{len(made):,} questions, cosine above {threshold:.3f}: {len(rows):,} pairs"
        facts |= {"threshold": threshold, "pairs": len(rows)}
        return _table(flags, rows, PAIR_COLUMNS, text, facts, started)
    score, lowest = None, threshold
    if flags.choose_threshold is not None:
        score = _score(flags.choose_threshold, made)
        lowest = threshold if flags.threshold is not None else max(threshold - BELOW, -1)
    vectors = made.vectors
    merges = average_linkage(vectors, lowest, flags.largest)
    if score is not None:
        threshold, facts["b_cubed_f1"] = best_cut(merges, score, lowest)
        facts["threshold_from"] = "labels"
        note(f"Chosen: --threshold {threshold:.4f}, B-cubed F1 {facts['b_cubed_f1']:.4f}.")
    groups = groups_of(vectors, merges.labels(threshold))
    rows = list(group_rows(made.entries, groups))
    facts |= {
        "threshold": round(threshold, 6),
        "groups": len(groups),
        "questions_in_groups": len(rows),
        "largest": len(groups[0]) if groups else 0,
    }
    text = (
        f"{len(made):,} questions, mean cosine above {threshold:.3f}: {len(groups):,} groups that "
        f"hold {len(rows):,} questions, the largest {facts['largest']:,}"
    )
    columns = GROUP_COLUMNS
    if flags.add is not None:
        rows, columns = _add(flags, made, vectors, groups, threshold), ADD_COLUMNS
        facts["added"] = len(rows)
        text += f"; {len(rows):,} questions added to the index"
    return _table(flags, rows, columns, text, facts, started)


def match(flags: argparse.Namespace) -> Result:
    """Find for each question of one list the best matches in another, as CSV or JSON Lines.

    siamese match new.csv faq.csv --model runs/course > matches.csv
    siamese match new.csv faq.csv --model runs/course --one-to-one --threshold 0.8 --output matches.jsonl
    """
    from siamese.search.detector import DuplicateDetector
    from siamese.search.groups import with_columns
    from siamese.search.match import match_questions

    if flags.one_to_one and flags.k is not None:
        raise ArgumentError("--one-to-one gives each question one match at most; leave out -k.")
    detector = DuplicateDetector.load(flags.model)
    cut = detector.threshold if flags.threshold is None else flags.threshold
    started = time.monotonic()
    questions, ids, columns = _read(flags.a, flags)
    others, other_ids, other_columns = _read(flags.b, flags)
    options = {
        "k": 1 if flags.k is None else flags.k,
        "one_to_one": flags.one_to_one,
        "threshold": cut,
    }
    found = match_questions(detector, questions, others, **options)
    rows = []
    for own_id, question, own_columns, matches in zip(ids, questions, columns, found):
        for row, cosine in matches or [(None, None)]:
            own = {**dict.fromkeys(MATCH_COLUMNS), "id": own_id, "question": question}
            more = {}
            if row is not None:
                own |= {"match_id": other_ids[row] if other_ids else row, "match": others[row]}
                own |= {"similarity": round(cosine, 6), "is_duplicate": int(cosine > cut)}
                if detector.calibration is not None:
                    own["probability"] = round(detector.calibrated(cosine), 6)
                more = {f"match_{name}": value for name, value in other_columns[row].items()}
            rows.append(with_columns(with_columns(own, own_columns), more))
    matched = sum(any(cosine > cut for _, cosine in matches) for matches in found)
    text = (
        f"{len(questions):,} questions, {len(others):,} to match them with: {matched:,} have a match "
        f"above {cut:.3f}"
    )
    facts = {"questions": len(questions), "others": len(others), "matched": matched}
    facts["threshold_from"] = threshold_source(detector, flags)
    return _table(flags, rows, MATCH_COLUMNS, text, {**facts, "threshold": cut}, started)


def _read(path: str, flags: argparse.Namespace) -> tuple[list[str], list[str], Rows]:
    """A file's questions, their ids and other columns."""
    found = read_list(path, flags)
    return found.questions, found.ids, found.columns or [{}] * len(found.questions)


def _pair_rows(made: Any, threshold: float) -> Rows:
    """All pairs above a threshold, the most similar first."""
    from siamese.search.linkage import strongest_pairs

    first, second, cosines, lowest = strongest_pairs(made.vectors, threshold)
    if lowest > threshold:
        note(f"Too many pairs: only those above {lowest:.4f} are kept.")
    order = np.argsort(-cosines, kind="stable")
    entries, rows = made.entries, []
    for i, j, cosine in zip(first[order], second[order], cosines[order].tolist()):
        one, two = entries[i], entries[j]
        values = one["id"], one["question"], two["id"], two["question"], round(cosine, 6)
        rows.append(dict(zip(PAIR_COLUMNS, values)))
    return rows


def _score(path: str, made: Any) -> Callable[[np.ndarray], float]:
    """The B-cubed F1 of groups, averaged over those of the index's questions that a file's pairs name.

    All others are taken for duplicates of none: groups would look too pure without them.
    """
    from siamese.data.clusters import clusters
    from siamese.data.pairs import read_pairs
    from siamese.evaluation.clustering import b_cubed

    found = clusters(read_pairs(path))
    cluster = dict(zip(found.questions, found.question_cluster.tolist()))
    known = np.array([cluster.get(entry["question"], -1) for entry in made.entries], np.int64)
    if not (known >= 0).any():
        raise DataError(f"{path}: none of its questions is in the index, letter by letter.")
    truth = np.where(known >= 0, known, -1 - np.arange(len(known)))
    return lambda labels: b_cubed(labels, truth, counted=known >= 0).f


def _add(
    flags: argparse.Namespace, made: Any, vectors: np.ndarray, groups: list, threshold: float
) -> Rows:
    """Adds a file's questions to the index; tells which of the groups each belongs to."""
    """Adds a file's questions to the index; tells which of the groups each belongs to."""
    from siamese.search.groups import join_groups, with_columns

    found = read_list(flags.add, flags)
    questions, ids = found.questions, found.ids if found.has_ids else None
    columns = found.columns or [{}] * len(questions)
    labels = np.arange(len(vectors))
    for group in groups:
        labels[[member.row for member in group]] = group[0].row
    own = len(vectors) + np.arange(len(questions))
    encoded = made.detector.encode(questions)
    joined = join_groups(vectors, labels, encoded, own, threshold).tolist()
    entries, rows = made.entries, []
    number = {group[0].row: at for at, group in enumerate(groups, 1)}
    added = made.add(questions, ids=ids, columns=columns)
    for i, question, more, label, vector in zip(added.ids, questions, columns, joined, encoded):
        own = {**dict.fromkeys(ADD_COLUMNS), "id": i, "question": question, "answer": "new"}
        if label < len(vectors):
            central = entries[label]
            own |= {"central_id": central["id"], "central_question": central["question"]}
            own |= {"similarity": round(float(vectors[label] @ vector), 6)}
            own["answer"] = f"joins group {number[label]}" if label in number else "forms a group"
        rows.append(with_columns(own, more))
    return rows


def _table(
    flags: argparse.Namespace,
    rows: Rows,
    columns: list[str],
    found: str,
    facts: dict,
    started: float,
) -> Result:
    """Rows as CSV, in a file or on standard output; as JSON Lines in a file of that name."""
    facts["seconds"] = round(time.monotonic() - started, 1)
    summary = f"{found}; {facts['seconds']:.1f} s."
    if facts["threshold_from"] == "default":
        summary += f" {NO_LABELS}"
    lines = map(json_text, rows)
    if not str(flags.output).endswith(".jsonl"):
        names = list(dict.fromkeys([*columns, *(name for row in rows for name in row)]))
        table = [names, *(map(row.get, names) for row in rows)]
        lines = [csv_line(cells, excel=flags.excel) for cells in table]
    text = "".join(f"{line}\n" for line in lines)
    if flags.output:
        write_text_atomically(flags.output, text)
        return f"{summary}\nWritten to {flags.output}.", {**facts, "output": flags.output}
    note(summary)
    return text.rstrip("\n"), {**facts, "rows": rows}
