"""The command that finds the duplicates in a list or an index: their groups, or their pairs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

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
    command,
    flag,
    option,
)
from siamese.cli.effects import refuse_flags
from siamese.cli.kept_apart import (
    PAIR_COLUMNS,
    about_kept_apart,
    kept_apart_rows,
    pair_rows,
)
from siamese.cli.output import (
    Facts,
    Result,
    claim,
    note,
    note_each,
    table_result,
    threshold_facts,
)
from siamese.cli.reading import opened
from siamese.encoders.protocol import unknown_rows
from siamese.errors import DataError
from siamese.groups.grouping import (
    CUTS,
    GROUP_COLUMNS,
    Snapshot,
    below_threshold,
    group_columns,
    group_rows,
)
from siamese.groups.linkage import strongest_pairs
from siamese.groups.local import local_means, ranking_weight, scaled
from siamese.groups.within import (
    Key,
    Part,
    grouped_within,
    keys_of,
    rows_by_key,
    together,
)
from siamese.index.list_pairs import ListPairs
from siamese.model.decision import Questions
from siamese.nn.nearest import EQUAL, cosines_with, in_blocks
from siamese.system.arguments import counted

if TYPE_CHECKING:
    from siamese.index import QuestionIndex
    from siamese.model.detector import DuplicateDetector

WIDTH = 70  # characters of a question that are shown
SHOWN = 10  # pairs outside the groups that are printed; --json has more
MOST_PAIRS = 500_000  # that are written; more would take minutes
MOST_BELOW = 50  # pairs outside the groups of all parts
NAMED = 3  # questions without a known word that a note names
KEEP_HELP = "the question to keep: central, first, longest, COLUMN=min or COLUMN=max [default: central]"
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


@command(Duplicates)
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
        note_each(source.notes())
        note(*source.about_threshold(options.threshold))
        if source.questions is not None:
            source.questions = source.questions.with_rows()
        index = source.index()
        answers = shared.answers_file(path)
        if is_list and os.path.isfile(answers):
            _take_answers(index, answers, options)
        if options.differences:
            return _differences_table(index, options, source.delimiter)
        if options.pairs:
            return _pair_table(index, options, source.delimiter)
        return _group_table(index, options, source.delimiter)


def _take_answers(index: QuestionIndex, path: str, options: Duplicates) -> None:
    """Lets the answers beside a list bind its groups, and fit how they are made."""
    answers = answers_of(path, reading.row_options(options.read))
    note(f"{path}: {counted(len(answers), 'answer')} of yours, which bind the groups.")
    with naming(path):
        bound = index.add_answers(answers)
    others = len(answers) - bound
    if others:
        note(f"{others:,} of them {'is' if others == 1 else 'are'} of other questions.")
    if options.threshold is not None or not len(answers):
        return
    similar = ListPairs.of_list(index.snapshot())
    try:
        index.set_threshold(similar.fitted(index.detector, answers, resamples=0))
    except DataError as error:
        note(f"{error} The threshold stays {index.detector.threshold:.3f}.")


# ---- Pairs ----


@dataclass
class FoundPairs:
    """Pairs of rows above a threshold, at most `MOST_PAIRS`."""

    first: np.ndarray  # int64 [n]
    second: np.ndarray  # int64 [n]
    cosines: np.ndarray  # float32 [n]
    scores: np.ndarray  # float [n]: what puts them in order
    score: str | None  # the name of the scores; None: they are the cosines
    threshold: float
    weight: float  # of local scaling in their order
    count: int  # of all pairs above the threshold


# What puts a row of the table in its place: the score and both places in the list.
ScoredRow = tuple[float, int, int, dict[str, Any]]


def _pair_table(index: QuestionIndex, options: Duplicates, delimiter: str) -> Result:
    """All pairs above a threshold, the most similar first."""
    shot = index.snapshot()
    entries = shot.entries
    detector = shot.detector
    parts = rows_by_key(_keys(index, shot, options)).values()
    found_in = []
    scored: list[ScoredRow] = []
    for part in parts or [np.zeros(0, np.int64)]:
        found, own = _pairs_among(shot, part, options)
        found_in.append(found)
        scored += own
    scored.sort(key=lambda own: (-own[0], *own[1:3]))
    rows = [row for *_, row in scored]
    facts = threshold_facts(detector, options.threshold)
    facts |= {
        "threshold": found_in[0].threshold,
        "questions": len(entries),
        "pairs": len(rows),
        "measure": detector.decision.measure,
        "weight": max(found.weight for found in found_in),
    }
    columns = [*PAIR_COLUMNS]
    columns += sorted({found.score for found in found_in if found.score})
    return table_result(options.table, rows, columns, facts, delimiter=delimiter)


def _pairs_among(
    shot: Snapshot, rows: np.ndarray, options: Duplicates
) -> tuple[FoundPairs, list[ScoredRow]]:
    """The pairs above the threshold among some questions of a list, as rows of the table."""
    found = _found_pairs(shot.detector, shot.questions.rows(rows), options)
    shown = len(found.first)
    if shown < found.count:
        note(
            f"There are too many pairs: only the {shown:,} most similar are looked at."
        )
    pairs = rows[np.stack([found.first, found.second], axis=1)]
    scores = found.scores.round(6)
    scored: list[ScoredRow] = []
    for at, (ends, row) in enumerate(zip(pairs.tolist(), pair_rows(shot, pairs))):
        if found.score:
            row[found.score] = float(found.scores[at])
        scored.append((float(scores[at]), *ends, row))
    return found, scored


def _ranking(
    detector: DuplicateDetector, vectors: np.ndarray, options: Duplicates
) -> tuple[float, float, np.ndarray | None]:
    """The threshold, the weight of local scaling, and what it takes off the cosines of each row."""
    weight = ranking_weight(detector, vectors)
    if options.threshold is not None:
        return options.threshold, weight, None
    if not detector.list_cut[1]:
        return detector.threshold, weight, None
    # Answers have fitted a threshold on the scaled cosines.
    return detector.list_cut[0], weight, local_means(vectors) * np.float32(weight / 2)


def _found_pairs(
    detector: DuplicateDetector, questions: Questions, options: Duplicates
) -> FoundPairs:
    """The pairs above the threshold, in the order of local scaling."""
    vectors = questions.vectors
    threshold, weight, shifts = _ranking(detector, vectors, options)
    cut = min(threshold, EQUAL)
    decision = detector.decision
    rule = decision.rule(cut, questions)

    def scores_of(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return decision.scores(questions.rows(i), questions.rows(j))

    allowed = None
    if rule.penalties or rule.joins:
        allowed = lambda i, j: scores_of(i, j) > cut  # noqa: E731
    first, second, cosines, _ = strongest_pairs(
        vectors, rule.threshold, allowed, shifts
    )

    ranked_by = cosines
    if shifts is not None:
        cosines = in_blocks(
            lambda i, j: cosines_with(vectors[i], vectors[j]), first, second
        )
    elif weight:
        ends = np.stack([first, second], axis=1)
        ranked_by = scaled(vectors, ends, cosines, weight)
    best = np.argsort(-ranked_by.round(6), kind="stable")[:MOST_PAIRS]
    count = len(cosines)
    first = first[best]
    second = second[best]
    scores = ranked_by[best]
    name = "adjusted" if weight else None
    if decision.measure == "probability":
        name = "probability"
        scores = in_blocks(scores_of, first, second)
    return FoundPairs(
        first, second, cosines[best], scores, name, threshold, weight, count
    )


def _differences_table(
    index: QuestionIndex, options: Duplicates, delimiter: str
) -> Result:
    """The pairs above the threshold that the near-miss check keeps apart, the most similar first."""
    shot = index.snapshot()
    if shot.detector.check is None:
        target = "differences without a check"
        refuse_flags("duplicates", target, options, options.model or options.index)
    keys = _keys(index, shot, options)
    rows = kept_apart_rows(shot, index.answers(), options.threshold, keys)
    facts = threshold_facts(shot.detector, options.threshold)
    if options.threshold is None:
        facts["threshold"], facts["weight"] = shot.detector.list_cut
    facts |= {"questions": len(shot.entries), "pairs": len(rows)}
    facts["measure"] = shot.detector.decision.measure
    return table_result(options.table, rows, PAIR_COLUMNS, facts, delimiter=delimiter)


def _keys(index: QuestionIndex, shot: Snapshot, options: Duplicates) -> list[Key]:
    """The values of the columns within which each question is compared."""
    main = index.facts.reading.get("language")
    return keys_of(shot.entries, options.within or (), main)


# ---- Groups ----


def _group_table(index: QuestionIndex, options: Duplicates, delimiter: str) -> Result:
    """The groups of an index, what they are, and where their threshold is a default what lies below."""
    if options.within:
        whole = index.snapshot()
        keys = _keys(index, whole, options)
        parts = grouped_within(whole, index.answers(), keys, options.threshold)
        shot = together(whole, parts)
    else:
        if index.facts.groups_are_of_another_check:
            note("The groups are made again: another near-miss check had made them.")
        shot = index.grouped(options.threshold, regroup=options.regroup)
        parts = [Part(np.arange(len(shot.entries)), shot)]
    rows = list(group_rows(shot, options.keep or "central"))
    note(*_unknown_line(shot))
    facts = threshold_facts(shot.detector, options.threshold)
    now, weight_now = shot.detector.list_cut
    is_older = (shot.threshold, shot.weight) != (now, weight_now)
    if options.threshold is None and is_older:
        note(
            f"These groups were made with the threshold {shot.threshold:.3f}; the model's is {now:.3f} "
            "now: --regroup makes them again."
        )
        facts["threshold_from"] = "groups"
    sizes = [len(group) for group in shot.groups]
    facts |= {
        "threshold": shot.threshold,
        "weight": shot.weight,
        "questions": len(shot.entries),
        "groups": len(sizes),
        "questions_in_groups": sum(sizes),
        "largest": max(sizes, default=0),
    }
    lines, counts = about_kept_apart(shot, index.answers())
    facts |= counts
    summary = "\n".join([_summary(shot, facts), *lines])
    after = ""
    if facts["threshold_from"] == "default":
        after, found = _below(parts, options)
        facts |= found
    # The header is the same where there is no group.
    columns = [*GROUP_COLUMNS, *group_columns(shot.entries).values()]
    return table_result(
        options.table,
        rows,
        columns,
        facts,
        summary=summary,
        after=after,
        delimiter=delimiter,
    )


def _unknown_line(shot: Snapshot) -> list[str]:
    """A line that names questions without any word that the model knows."""
    encoder = shot.detector.encoder
    are_unknown = unknown_rows(encoder, shot.questions.texts, shot.vectors)
    unknown = [entry for entry, alone in zip(shot.entries, are_unknown) if alone]
    if not unknown:
        return []
    names = [f"{entry['id']} ({entry['question']:.40})" for entry in unknown[:NAMED]]
    more = ", ..." if len(unknown) > NAMED else ""
    return [
        f"{counted(len(unknown), 'question')} without any word that the model knows, in no group: "
        f"{', '.join(names)}{more}"
    ]


def _summary(shot: Snapshot, facts: Facts) -> str:
    """The groups in a sentence."""
    measure = f"{shot.detector.decision.measure} on average"
    if shot.weight:
        measure = f"cosine with local scaling of weight {shot.weight:g} on average"
    return (
        f"{counted(facts['questions'], 'question')}, {measure} above {shot.threshold:.3f}: "
        f"{counted(facts['groups'], 'group')} "
        f"of {counted(facts['questions_in_groups'], 'question')}, the largest of {facts['largest']:,}."
    )


def _below(parts: Sequence[Part], options: Duplicates) -> tuple[str, Facts]:
    """What lies below a threshold without labels: the next pairs, counts, and the way to labels."""
    shots = [part.shot for part in parts]
    found = list(map(below_threshold, shots))
    above = sum((below.above for below in found), np.zeros(len(CUTS)))
    counts = {f"{CUTS[at]:g}": round(above[at]) for at in (40, 30, 20, 10, 0)}
    scored: list[tuple[float, dict[str, Any]]] = []
    for shot, below in zip(shots, found):
        pairs = [pair[:2] for pair in below.pairs]
        shown = pair_rows(shot, np.array(pairs, np.int64).reshape(-1, 2))
        scored += zip((score for *_, score in below.pairs), shown)
    if len(shots) > 1:
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
        lines += _ways_on(same)
    return "\n".join(lines), {"pairs_above": counts, "next_pairs": rows}


def _ways_on(same: str) -> Sequence[str]:
    """The commands that lead to a threshold, or need none."""
    return (
        "A threshold of your own takes about 30 answers, or labelled pairs:",
        f"  siamese threshold {same} --label 30",
        f"  siamese threshold {same} --answers labelled.csv",
        "The most similar other questions of each, whatever the threshold:",
        f"  siamese match {same} -k 3",
    )
