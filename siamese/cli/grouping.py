"""The command `duplicates`: the groups or the pairs of duplicates in an index or a list."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from siamese.cli import arguments as shared
from siamese.cli.arguments import arg, command, either, flag
from siamese.cli.output import Result, counted, note, table_result, threshold_source
from siamese.cli.reading import labelled_pairs, open_index, question_list
from siamese.compat.progress import elapsed
from siamese.errors import ArgumentError, DataError

GROUP_COLUMNS = ["group", "id", "question", "similarity", "central"]
PAIR_COLUMNS = ["id1", "question1", "id2", "question2", "similarity"]
ADD_COLUMNS = ["id", "question", "answer", "similarity", "central_id", "central_question"]
BELOW = 0.1  # so far below the model's threshold cuts are tried
NAMED = 3  # questions without a known word that a note names


@command(
    shared.INDEX,
    shared.THRESHOLD,
    flag("--regroup", "make the groups of an index again"),
    arg("--largest", type=int, metavar="N", help="the most questions of a group [no bound]"),
    arg(
        "--choose-threshold",
        metavar="LABELS",
        help="labelled pairs: group by the threshold with the best B-cubed F1 on them, from "
        "--threshold up [from 0.1 below the model's own]",
    ),
    either(
        flag("--pairs", "write all pairs above the threshold, no groups"),
        arg("--add", metavar="FILE", help="add questions, and write which group each joins"),
    ),
    shared.MODEL,
    *shared.READ_LIST,
    *shared.LABELS,
    *shared.TABLE,
)
def duplicates(flags: argparse.Namespace) -> Result:
    """Find the groups of duplicates in an index or a list of questions, as CSV or JSON Lines.

    siamese duplicates questions.csv > groups.csv
    siamese duplicates old.index --threshold 0.85 --regroup > groups.csv    (an index stores its groups)
    siamese duplicates old.index --choose-threshold labelled.csv --largest 100 --output groups.csv
    siamese duplicates old.index --pairs --threshold 0.9 --output pairs.jsonl
    siamese duplicates old.index --add new.csv          (answers: joins group 17; forms group 40; new)
    """
    grouping = flags.largest, flags.choose_threshold, flags.regroup or None
    if flags.pairs and grouping != (None, None, None):
        raise ArgumentError(
            "--pairs makes no groups; leave out --largest, --choose-threshold and --regroup."
        )
    with open_index(flags.index, flags) as index:
        return _pairs(index, flags) if flags.pairs else _groups(index, flags)


def _pairs(index: Any, flags: argparse.Namespace) -> Result:
    """All pairs above a threshold, the most similar first."""
    from siamese.search.linkage import strongest_pairs

    cut = index.detector.threshold if flags.threshold is None else flags.threshold
    with elapsed(f"Comparing {counted(len(index), 'question')}"):
        first, second, cosines, lowest = strongest_pairs(index.vectors, cut)
    if lowest > cut:
        note(f"There are too many pairs: only those above {lowest:.4f} are written.")
    entries, rows = index.entries, []
    for at in np.argsort(-cosines, kind="stable"):
        one, two = entries[first[at]], entries[second[at]]
        values = (
            one["id"],
            one["question"],
            two["id"],
            two["question"],
            round(float(cosines[at]), 6),
        )
        rows.append(dict(zip(PAIR_COLUMNS, values)))
    facts = {"questions": len(entries), "pairs": len(rows), "threshold": cut}
    facts["threshold_from"] = threshold_source(index.detector, flags)
    summary = f"{counted(len(entries), 'question')}, cosine above {cut:.3f}: {counted(len(rows), 'pair')}."
    return table_result(flags, rows, PAIR_COLUMNS, summary, facts)


def _groups(index: Any, flags: argparse.Namespace) -> Result:
    """The groups of an index, or with --add the groups that new questions join."""
    from siamese.search.groups import group_rows

    cut, source = flags.threshold, threshold_source(index.detector, flags)
    if flags.choose_threshold is not None:
        cut, source = _chosen_threshold(index, flags), "labels"
    again = flags.regroup or flags.choose_threshold is not None
    with elapsed(f"Grouping {counted(len(index), 'question')}"):
        groups = index.groups(cut, largest=flags.largest, regroup=again)
    if flags.add is not None:
        columns, (rows, groups) = ADD_COLUMNS, _joined(index, flags, groups)
    else:
        columns, rows = GROUP_COLUMNS, list(group_rows(index.entries, groups))
    _name_unknown(index)
    cut, own = (index.grouping or {}).get("threshold", cut), index.detector.threshold
    cut = own if cut is None else cut
    if flags.threshold is None and flags.choose_threshold is None and cut != own:
        note(
            f"These groups were made with the threshold {cut:.3f}; the index's is {own:.3f} now. "
            "--regroup makes them again."
        )
        source = "groups"
    sizes = list(map(len, groups))
    facts = {"questions": len(index), "threshold": round(cut, 6), "threshold_from": source}
    facts |= {"groups": len(groups), "questions_in_groups": sum(sizes)}
    facts["largest"] = max(sizes, default=0)
    summary = (
        f"{counted(len(index), 'question')}, mean cosine above {cut:.3f}: "
        f"{counted(len(groups), 'group')} of {counted(sum(sizes), 'question')}, the largest of "
        f"{facts['largest']:,}."
    )
    return table_result(flags, rows, columns, summary, facts)


def _name_unknown(index: Any) -> None:
    """Names the questions of unknown words alone, which look alike whatever they ask."""
    entries = index.without_known_words()
    if entries:
        names = [f"{entry['id']} ({entry['question']:.40})" for entry in entries[:NAMED]]
        note(
            f"{counted(len(entries), 'question')} without any word that the model knows, in no group: "
            f"{', '.join(names)}{', ...' * (len(entries) > NAMED)}"
        )


def _chosen_threshold(index: Any, flags: argparse.Namespace) -> float:
    """The threshold whose groups have the best B-cubed F1 on labelled pairs.

    Questions that these do not name count as singletons: groups would look too pure without them.
    """
    from siamese.data.clusters import clusters
    from siamese.data.text import folded
    from siamese.evaluation.clustering import b_cubed
    from siamese.search.linkage import average_linkage, best_cut

    labelled = clusters(labelled_pairs(flags.choose_threshold, flags))
    number = dict(zip(map(folded, labelled.questions), labelled.question_cluster.tolist()))
    truth = np.array([number.get(folded(entry["question"]), -1) for entry in index.entries])
    named = truth >= 0
    if not named.any():
        raise DataError(f"{flags.choose_threshold}: none of its questions is in {flags.index}.")
    truth = np.where(named, truth, -1 - np.arange(len(truth)))
    lowest = flags.threshold
    if lowest is None:
        lowest = max(index.detector.threshold - BELOW, -1)
    with elapsed(f"Choosing a threshold for {counted(len(index), 'question')}"):
        merges = average_linkage(index.vectors, lowest, flags.largest)
        cut, score = best_cut(
            merges, lambda labels: b_cubed(labels, truth, counted=named).f, lowest
        )
    note(f"Chosen: threshold {cut:.4f}, B-cubed F1 {score:.4f}.")
    return cut


def _joined(index: Any, flags: argparse.Namespace, before: list[list]) -> tuple[list, list]:
    """Adds a list of questions; returns a row for each, with the group that it joins, and the groups."""
    from siamese.search.groups import with_columns

    new, entries = question_list(flags.add, flags), index.entries
    texts = {entry["id"]: entry["question"] for entry in entries}
    grouped = {entries[member.row]["id"] for group in before for member in group}
    ids = new.ids if new.has_ids else None
    with elapsed(f"Adding {counted(len(new.questions), 'question')}"):
        added = index.add(new.questions, ids=ids, columns=new.columns)
    groups, entries, rows = index.groups(), index.entries, []
    group_of = {entries[m.row]["id"]: (at, m) for at, group in enumerate(groups, 1) for m in group}
    for i, question, columns in zip(added.ids, new.questions, new.columns or [{}] * len(added.ids)):
        row = dict.fromkeys(ADD_COLUMNS) | {"id": i, "question": question, "answer": "new"}
        if i in group_of:
            at, member = group_of[i]
            members = [entries[m.row] for m in groups[at - 1]]
            verb = "joins" if any(m["id"] in grouped for m in members) else "forms"
            row |= {"answer": f"{verb} group {at}", "similarity": round(member.similarity, 6)}
            row |= {f"central_{name}": members[0][name] for name in ("id", "question")}
        if i in texts and (ids is None or texts[i] == question):
            row["answer"] = "stored already"
        rows.append(with_columns(row, columns))
    return rows, groups
