"""The command that finds the duplicates in a list or an index: their groups, or their pairs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from siamese.cli import arguments as shared
from siamese.cli import reading
from siamese.cli.answers import answers_of, naming
from siamese.cli.arguments import (
    CheckOptions,
    CommandOptions,
    ListReading,
    OneOf,
    TableOptions,
    flag,
    option,
    refuse_flags,
)
from siamese.cli.output import (
    Facts,
    Result,
    claim,
    note,
    table_result,
    threshold_facts,
)
from siamese.cli.pairs import differences_table, pair_table
from siamese.cli.reading import Source, no_labels, opened
from siamese.encoders.protocol import unknown_rows
from siamese.errors import DataError
from siamese.groups.grouping import (
    CUTS,
    GroupedSnapshot,
    Grouping,
    Snapshot,
    below_threshold,
    group_labels,
    grouped,
    not_answered,
    refused_pairs,
)
from siamese.groups.table import (
    GROUP_COLUMNS,
    Row,
    group_columns,
    group_rows,
    pair_rows,
)
from siamese.groups.within import Part, grouped_within, keys_of, together
from siamese.index.list_pairs import ListPairs
from siamese.reading.clusters import answer_key, check_answers
from siamese.reading.pairs import QuestionPairs
from siamese.system.arguments import counted
from siamese.text.language import list_languages
from siamese.text.values import json_value

WIDTH = 70  # characters of a question that are shown
SHOWN = 10  # pairs outside the groups that are printed; --json has more
MOST_BELOW = 50  # pairs outside the groups of all parts
MOST_NAMED = 3  # questions without a known word that a note names
KEEP_HELP = "the question to keep: central, first, longest, COLUMN=min or COLUMN=max [default: central]"
# The commands that lead to a threshold, or need none.
WAYS_ON = """\
A threshold of your own takes about 30 answers, or labelled pairs:
  siamese threshold {same} --label 30
  siamese threshold {same} --answers labelled.csv
The most similar other questions of each, whatever the threshold:
  siamese match {same} -k 3"""
TABLE = OneOf()


@dataclass(frozen=True, kw_only=True)
class Duplicates(CommandOptions):
    """The options of `siamese duplicates`."""

    index: shared.Index
    threshold: shared.Threshold = None
    regroup: Annotated[bool, flag("recompute the groups of an index")] = False
    keep: Annotated[
        str | None, option(metavar="RULE", help=KEEP_HELP, one_of=TABLE)
    ] = None
    pairs: Annotated[
        bool, flag("write all pairs above the threshold, no groups", one_of=TABLE)
    ] = False
    differences: Annotated[
        bool,
        flag(
            "write the pairs that were kept apart as near misses, and in what they differ",
            one_of=TABLE,
        ),
    ] = False
    within: shared.Within = None
    language: shared.MainLanguage = None
    model: shared.Model = None
    check: CheckOptions
    read: ListReading
    table: TableOptions


def duplicates(options: Duplicates) -> Result:
    """Find the groups of duplicates in an index or a list of questions, as CSV.

    siamese duplicates posts.csv --keep created_at=min --output groups.csv
    siamese duplicates questions.db --threshold 0.85 --regroup     (an index stores its groups)
    """
    claim(options.table.output, options)
    path = options.index
    is_list = reading.kind_of_target(path) == "questions"
    if options.pairs or options.differences:
        refuse_flags("duplicates", "pairs", options)
    if options.within:
        refuse_flags("duplicates", "within", options)
    refuse_flags("duplicates", "a list" if is_list else "an index", options, path)
    with opened(path, options, options.language) as source:
        note(*source.notes())
        if source.answers is None:
            note(*no_labels(source.detector, source.name, options.threshold))
        if not (options.pairs or options.differences):
            return _group_table(source, options)
        snapshot, answers = _list_and_answers(source, options)
        note(*_about_across(source, snapshot, options))
        keys = keys_of(snapshot.entries, options.within or (), source.language)
        if options.pairs:
            return pair_table(snapshot, keys, options, source.delimiter)
        return differences_table(snapshot, answers, keys, options, source.delimiter)


def _list_and_answers(
    source: Source, options: Duplicates
) -> tuple[Snapshot, QuestionPairs | None]:
    """The questions with their vectors, and the answers that bind their groups, where there are any."""
    if source.questions is None:
        index = source.index()
        return index.snapshot(), index.answers()
    listed = source.questions.with_rows()
    is_shown = sys.stderr.isatty()
    snapshot = Snapshot.of(source.detector, listed, show_progress=is_shown)
    if source.answers is None:
        return snapshot, None
    return _fitted_to_answers(snapshot, source.answers, options)


def _fitted_to_answers(
    snapshot: Snapshot, path: str, options: Duplicates
) -> tuple[Snapshot, QuestionPairs]:
    """A list and the answers beside it, to which its threshold is fitted."""
    answers = answers_of(path, reading.row_options(options.read))
    note(f"{path}: {counted(len(answers), 'answer')} of yours, which bind the groups.")
    known = set(snapshot.questions.folded)
    keys = map(answer_key, answers.question1, answers.question2)
    own = answers.select([at for at, key in enumerate(keys) if known.issuperset(key)])
    with naming(path):
        check_answers(own)
    others = len(answers) - len(own)
    if others:
        note(f"{others:,} of them {'is' if others == 1 else 'are'} of other questions.")
    if options.threshold is None and len(answers):
        try:
            fit = ListPairs.of_list(snapshot).fitted(
                snapshot.detector, answers, resamples=0
            )
            detector = snapshot.detector.with_threshold(json_value(fit))
            snapshot = replace(snapshot, detector=detector)
        except DataError as error:
            note(f"{error} The threshold stays {snapshot.detector.threshold:.3f}.")
    return snapshot, own


def _about_across(source: Source, snapshot: Snapshot, options: Duplicates) -> list[str]:
    """A line where the default threshold counts for questions of several languages."""
    texts = [entry["question"] for entry in snapshot.entries]
    languages = list_languages(texts, source.language)
    return reading.about_across(snapshot.detector, options.threshold, *languages.shares)


# ---- Groups ----


def _group_table(source: Source, options: Duplicates) -> Result:
    """The table of the groups, with what there is to say of them."""
    parts, snapshot, answers = _groups(source, options)
    rows = group_rows(snapshot, options.keep or "central")
    note(*_about_across(source, snapshot, options))
    note(*_unknown_line(snapshot))
    facts, summary = _about_groups(snapshot, options)
    if facts["threshold_from"] == "groups":
        now = snapshot.detector.list_cut[0]
        note(
            f"These groups were made with the threshold {snapshot.threshold:.3f}; the model's is {now:.3f} "
            "now: --regroup makes them again."
        )
    if snapshot.detector.check is not None:
        facts["kept_apart"], line = _kept_apart(snapshot, answers)
        summary = f"{summary}\n{line}"
    after = ""
    if facts["threshold_from"] == "default":
        after, found = _below(parts, options)
        facts |= found
    # The header is the same where there is no group.
    columns = [*GROUP_COLUMNS, *group_columns(snapshot.entries).values()]
    return table_result(
        options.table,
        rows,
        columns,
        facts,
        summary=summary,
        after=after,
        delimiter=source.delimiter,
    )


def _groups(
    source: Source, options: Duplicates
) -> tuple[list[Part], GroupedSnapshot, QuestionPairs | None]:
    """What is grouped alone, all of it together with its groups, and the answers that bind these."""
    if options.within:
        whole, answers = _list_and_answers(source, options)
        keys = keys_of(whole.entries, options.within, source.language)
        parts = grouped_within(whole, answers, keys, options.threshold)
        return parts, together(whole, parts), answers
    if source.questions is None:
        index = source.index()
        if index.facts.groups_are_of_another_check:
            note("The groups are made again: another near-miss check had made them.")
        snapshot = index.grouped(options.threshold, regroup=options.regroup)
        answers = index.answers()
    else:
        whole, answers = _list_and_answers(source, options)
        snapshot = grouped(whole, options.threshold, answers)
    return [Part(np.arange(len(snapshot.entries)), snapshot)], snapshot, answers


def _about_groups(snapshot: GroupedSnapshot, options: Duplicates) -> tuple[Facts, str]:
    """The threshold of the groups, where it comes from, how many there are; and this in a sentence."""
    facts = threshold_facts(snapshot.detector, options.threshold)
    is_older = (snapshot.threshold, snapshot.weight) != snapshot.detector.list_cut
    if options.threshold is None and is_older:
        facts["threshold_from"] = "groups"
    sizes = [len(group) for group in snapshot.groups]
    facts |= {
        "threshold": snapshot.threshold,
        "weight": snapshot.weight,
        "questions": len(snapshot.entries),
        "groups": len(sizes),
        "questions_in_groups": sum(sizes),
        "largest": max(sizes, default=0),
    }
    measure = f"{snapshot.detector.decision.measure} on average"
    if snapshot.weight:
        measure = f"cosine with local scaling of weight {snapshot.weight:g} on average"
    return facts, (
        f"{counted(facts['questions'], 'question')}, {measure} above {snapshot.threshold:.3f}: "
        f"{counted(facts['groups'], 'group')} "
        f"of {counted(facts['questions_in_groups'], 'question')}, the largest of {facts['largest']:,}."
    )


def _unknown_line(snapshot: Snapshot) -> list[str]:
    """A line that names questions without any word that the model knows."""
    encoder = snapshot.detector.encoder
    are_unknown = unknown_rows(encoder, snapshot.questions.texts, snapshot.vectors)
    unknown = [entry for entry, alone in zip(snapshot.entries, are_unknown) if alone]
    if not unknown:
        return []
    names = [
        f"{entry['id']} ({entry['question']:.40})" for entry in unknown[:MOST_NAMED]
    ]
    more = ", ..." if len(unknown) > MOST_NAMED else ""
    return [
        f"{counted(len(unknown), 'question')} without any word that the model knows, in no group: "
        f"{', '.join(names)}{more}"
    ]


def _kept_apart(
    snapshot: GroupedSnapshot, answers: QuestionPairs | None
) -> tuple[int, str]:
    """How many pairs the check keeps apart in groups, and a line: they share none, and nobody answered."""
    pairs = snapshot.refused
    if pairs is None:
        grouping = Grouping.of(
            snapshot.detector, snapshot.threshold, snapshot.questions
        )
        pairs = refused_pairs(snapshot.detector, snapshot.questions, grouping)
    group_of = group_labels(snapshot.groups, len(snapshot.entries))
    pairs = pairs[group_of[pairs[:, 0]] != group_of[pairs[:, 1]]]
    if answers is not None:
        pairs = not_answered(snapshot, pairs, answers)
    count = len(pairs)
    were = "was" if count == 1 else "were"
    line = (
        f"{counted(count, 'pair')} above the threshold {were} kept apart as near misses"
    )
    more = "; --differences lists them" if count else ""
    return count, f"{line}{more}."


def _below(parts: Sequence[Part], options: Duplicates) -> tuple[str, Facts]:
    """What lies below a threshold without labels: the next pairs, counts, and the way to labels."""
    snapshots = [part.snapshot for part in parts]
    found = list(map(below_threshold, snapshots))
    above = sum((below.above for below in found), np.zeros(len(CUTS)))
    counts = {f"{CUTS[at]:g}": round(above[at]) for at in (40, 30, 20, 10, 0)}
    scored: list[tuple[float, Row]] = []
    for snapshot, below in zip(snapshots, found):
        pairs = [pair[:2] for pair in below.pairs]
        shown = pair_rows(snapshot, np.array(pairs, np.int64).reshape(-1, 2))
        scored += zip((score for *_, score in below.pairs), shown)
    if len(snapshots) > 1:
        scored = sorted(scored, key=lambda pair: -pair[0])[:MOST_BELOW]
    rows = [row for _, row in scored]
    lines = []
    if rows and any(below.is_scaled for below in found):
        lines.append(
            "Pairs outside the groups, each question once; those that are close to many come last:"
        )
    elif rows:
        lines.append("The most similar pairs outside the groups, each question once:")
    for row in rows[:SHOWN]:
        one, two = (
            " ".join(row[name].split())[:WIDTH] for name in ("question1", "question2")
        )
        why = f"  ({row['difference']})" if row["difference"] else ""
        lines.append(f"  {row['similarity']:.3f}  {one} | {two}{why}")
    about = ", ".join(f"{count:,} above {cut}" for cut, count in counts.items())
    lines.append(f"Pairs in the whole list, about: {about}.")
    if options.index != "-":
        same = reading.same_target(options.index, options)
        lines.append(WAYS_ON.format(same=same))
    return "\n".join(lines), {"pairs_above": counts, "next_pairs": rows}
