"""The command `duplicates`: the groups or the pairs of duplicates in an index or a list."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from siamese.cli import arguments as shared
from siamese.cli.arguments import arg, command, either, flag
from siamese.cli.indexing import add_questions
from siamese.cli.output import Result, counted, note, table_result, threshold_facts
from siamese.cli.reading import open_index, question_list, same_flags
from siamese.compat.progress import elapsed
from siamese.errors import ArgumentError
from siamese.search.display import rounded

GROUP_COLUMNS = ["group", "keep", "similarity", "same_text", "id", "question"]
PAIR_COLUMNS = ["id1", "question1", "id2", "question2", "similarity"]
ADD_COLUMNS = ["id", "question", "answer", "similarity", "central_id", "central_question"]
WIDTH = 70  # characters of a question that are shown
NAMED = 3  # questions without a known word that a note names


@command(
    shared.INDEX,
    shared.THRESHOLD,
    arg(
        "--keep",
        default="central",
        metavar="RULE",
        help="the question of a group that is kept: central, first, longest, or COLUMN=min or COLUMN=max "
        "of a column of numbers or ISO dates [%(default)s]",
    ),
    flag("--regroup", "make the groups of an index again"),
    arg("--largest", type=int, metavar="N", help="the most questions of a group [no bound]"),
    either(
        flag("--pairs", "write all pairs above the threshold, no groups"),
        flag("--differences", "write the pairs that differ in a number, a negation or a name"),
        arg("--add", metavar="FILE", help="add questions, and write which group each joins"),
    ),
    shared.MODEL,
    *shared.READ_LIST,
    *shared.TABLE,
)
def duplicates(flags: argparse.Namespace) -> Result:
    """Find the groups of duplicates in an index or a list of questions, as CSV or JSON Lines.

    siamese duplicates questions.csv > groups.csv
    siamese duplicates posts.csv --keep created_at=min --output groups.csv
    siamese duplicates old.index --threshold 0.85 --regroup > groups.csv    (an index stores its groups)
    siamese duplicates old.index --pairs --threshold 0.9 --output pairs.jsonl
    siamese duplicates old.index --differences          (above the threshold, and yet not the same?)
    siamese duplicates old.index --add new.csv          (answers: joins group 17; forms group 40; new)
    """
    pairs = flags.pairs or flags.differences
    if pairs and (flags.regroup or flags.largest is not None):
        raise ArgumentError(
            "--pairs and --differences make no groups; leave out --largest and --regroup."
        )
    with open_index(flags.index, flags, numbered=True) as index:
        return _pairs(index, flags) if pairs else _groups(index, flags)


def _pairs(index: Any, flags: argparse.Namespace) -> Result:
    """All pairs above a threshold, the most similar first; or those that differ in more than words."""
    from siamese.search.explain import differences
    from siamese.search.linkage import strongest_pairs

    facts = threshold_facts(index.detector, flags)
    cut, size = facts["threshold"], counted(len(index), "question")
    with elapsed(f"Comparing {size}"):
        first, second, cosines, lowest = strongest_pairs(index.vectors, cut)
    if lowest > cut:
        note(f"There are too many pairs: only those above {lowest:.4f} are written.")
    entries, rows = index.entries, []
    for at in np.argsort(-cosines, kind="stable"):
        sides = [entries[side[at]][name] for side in (first, second) for name in ("id", "question")]
        row = rounded(dict(zip(PAIR_COLUMNS, [*sides, float(cosines[at])])))
        if flags.differences:
            row["differs"] = "; ".join(differences(sides[1], sides[3]))
        if row.get("differs", True):
            rows.append(row)
    facts |= {"questions": len(entries), "pairs": len(rows)}
    which = "" if flags.pairs else ", different in a number, a negation or a name"
    summary = f"{size}, cosine above {cut:.3f}: {counted(len(rows), 'pair')}{which}."
    columns = PAIR_COLUMNS + ["differs"] * flags.differences
    return table_result(flags, rows, columns, summary, facts)


def _groups(index: Any, flags: argparse.Namespace) -> Result:
    """The groups of an index, or with --add the groups that new questions join."""
    from siamese.search.groups import group_rows

    with elapsed(f"Grouping {counted(len(index), 'question')}"):
        groups = index.groups(flags.threshold, largest=flags.largest, regroup=flags.regroup)
    if flags.add is not None:
        columns, (rows, groups) = ADD_COLUMNS, _joined(index, flags, groups)
    else:
        columns = GROUP_COLUMNS
        rows = list(group_rows(index.entries, groups, index.vectors, flags.keep))
    _name_unknown(index)
    facts = threshold_facts(index.detector, flags)
    own, cut = facts["threshold"], (index.grouping or facts)["threshold"]
    if flags.threshold is None and cut != own:
        note(
            f"These groups were made with the threshold {cut:.3f}; the index's is {own:.3f} now. "
            "--regroup makes them again."
        )
        facts = {"threshold": cut, "threshold_from": "groups"}
    sizes = list(map(len, groups))
    facts |= {"questions": len(index), "groups": len(groups), "questions_in_groups": sum(sizes)}
    facts["largest"] = max(sizes, default=0)
    summary = (
        f"{counted(len(index), 'question')}, mean cosine above {cut:.3f}: "
        f"{counted(len(groups), 'group')} of {counted(sum(sizes), 'question')}, the largest of "
        f"{facts['largest']:,}."
    )
    if facts["threshold_from"] == "default" and flags.add is None:
        facts |= _ranking(index, groups, flags)
    return table_result(flags, rows, columns, summary, facts)


def _ranking(index: Any, groups: list[list], flags: argparse.Namespace) -> dict[str, Any]:
    """Prints what lies below a threshold without labels: the next pairs, counts, and the way to labels."""
    from siamese.search.groups import below_threshold

    with elapsed("Looking below the threshold"):
        above, pairs = below_threshold(index.vectors, groups)
    entries, path = index.entries, flags.index
    lines = ["The most similar pairs outside the groups, each question once:" if pairs else ""]
    rows = []
    for *places, cosine in pairs:
        one, two = (entries[place] for place in places)
        texts = [" ".join(entry["question"].split())[:WIDTH] for entry in (one, two)]
        lines.append(f"  {cosine:.3f}  {texts[0]} | {texts[1]}")
        rows.append(rounded({"id1": one["id"], "id2": two["id"], "similarity": cosine}))
    about = ", ".join(f"{count:,} above {cut}" for cut, count in above.items())
    lines += [f"Pairs in the whole list, about: {about}."]
    if path != "-":
        path += same_flags(flags)
        lines += [
            "A threshold of your own takes about 30 answers, or labelled pairs:",
            f"  siamese threshold {path} --label 30",
            f"  siamese threshold {path} --answers labelled.csv",
        ]
    note("\n".join(filter(None, lines)))
    return {"pairs_above": {str(cut): n for cut, n in above.items()}, "next_pairs": rows}


def _name_unknown(index: Any) -> None:
    """Names the questions of unknown words alone, which look alike whatever they ask."""
    entries = index.entries
    unknown = index.detector.without_known_words([entry["question"] for entry in entries])
    entries = [entries[at] for at in np.flatnonzero(unknown)]
    if entries:
        names = [f"{entry['id']} ({entry['question']:.40})" for entry in entries[:NAMED]]
        note(
            f"{counted(len(entries), 'question')} without any word that the model knows, in no group: "
            f"{', '.join(names)}{', ...' * (len(entries) > NAMED)}"
        )


def _joined(index: Any, flags: argparse.Namespace, before: list[list]) -> tuple[list, list]:
    """Adds a list of questions; returns a row for each, with the group that it joins, and the groups."""
    from siamese.search.groups import with_columns

    old, new = index.entries, question_list(flags.add, flags)
    stored = {(entry["id"], entry["question"] if new.has_ids else None) for entry in old}
    grouped = {old[member.row]["id"] for group in before for member in group}
    ids = add_questions(index, new).ids
    groups, entries, group_of = index.groups(), index.entries, {}
    for group in groups:
        members = [entries[member.row] for member in group]
        number = entries[min(member.row for member in group)]["id"]
        verb = "forms" if grouped.isdisjoint(member["id"] for member in members) else "joins"
        central = members[0]["id"], members[0]["question"]
        for member, entry in zip(group, members):
            group_of[entry["id"]] = f"{verb} group {number}", member.similarity, *central
    rows = []
    for i, question, columns in zip(ids, new.questions, new.columns or [{}] * len(ids)):
        answer, *others = group_of.get(i, ("new", None, None, None))
        if (i, question if new.has_ids else None) in stored:
            answer = "stored already"
        row = rounded(dict(zip(ADD_COLUMNS, [i, question, answer, *others])))
        rows.append(with_columns(row, columns))
    return rows, groups
