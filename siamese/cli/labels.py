"""The commands about labels: data describes them, evaluate measures by them, threshold fits to them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from siamese.cli import arguments as shared
from siamese.cli import reading
from siamese.cli.answers import AnswersFile, naming
from siamese.cli.arguments import arg, command, one_of
from siamese.cli.output import Facts, Result, aligned, claim, note, threshold_facts
from siamese.cli.reading import labelled_pairs, note_cut, opened, question_list
from siamese.encoders import is_encoder_name
from siamese.errors import ArgumentError, DataError
from siamese.index.asking import ENOUGH, Answer, shown
from siamese.index.list_pairs import ListPairs
from siamese.model.detector import DuplicateDetector
from siamese.model.file import model_path
from siamese.reading.clusters import answer_key, clusters
from siamese.reading.pairs import QuestionPairs
from siamese.system.arguments import counted
from siamese.system.files import check_writable
from siamese.system.progress import elapsed
from siamese.text.cleaning import folded

ANSWERS_HELP = (
    "labelled pairs, which an index stores in itself; of a list the file of its answers [default: "
    "LIST.answers.csv]"
)
MANY = 20  # labels of which few are duplicates where most similar pairs differ
NEAR_MISSES = (
    "Most pairs that look alike here differ (near misses), and one threshold separates them badly: "
    "compare titles alone (--column), or answer more."
)
BIND = ", and the answers bind the groups"

WEIGHTS = [
    tenths / 10 for tenths in range(11)
]  # of the vectors, from which one is chosen
DEPTH = 100  # answers of a query that count
MODES = ("hybrid", "vectors", "words")


@command(
    arg("questions", metavar="FILE", help="a file of labelled pairs"),
    *shared.READ_PAIRS,
)
def data(flags: argparse.Namespace) -> Facts:
    """Describe a file of labelled pairs: clusters of duplicates, conflicts (pairs labelled apart in one).

    siamese data questions.csv --json
    """
    pairs = labelled_pairs(flags.questions, flags)
    joined = clusters(pairs)
    return {
        "rows": pairs.report.rows, "pairs": len(pairs), "duplicates": int(pairs.is_duplicate.sum()),
        "base_rate": round(pairs.base_rate, 6), "questions": len(joined.questions),
        "clusters": int((joined.sizes > 1).sum()), "conflicts": len(joined.conflict_rows),
    }  # fmt: skip


@command(
    shared.TARGET,
    one_of(
        arg("--questions", metavar="FILE", help="labelled pairs, any format"),
        arg(
            "--queries",
            metavar="FILE",
            help="questions with ids, to search the index for",
        ),
        required=True,
    ),
    shared.THRESHOLD,
    arg("--relevant", metavar="FILE", help="CSV or JSON Lines with query_id and id"),
    shared.MODEL,
    *shared.LIST_AND_PAIRS,
)
def evaluate(flags: argparse.Namespace) -> Result:
    """Measure a model on labelled pairs, or the search of an index on queries with known answers.

    siamese evaluate runs/course --questions questions.csv
    siamese evaluate questions.db --queries new.csv --relevant known.csv
    """
    from siamese.evaluation.report import Evaluation

    if (flags.queries is None) != (flags.relevant is None):
        raise ArgumentError(
            "Queries and their answers belong together: --queries and --relevant."
        )
    if flags.queries:
        reading.refuse_flags(flags, "threshold columns list", "Queries have no labels")
        return _on_queries(flags)
    with opened(flags.index, flags, model=True) as (_, detector):
        pairs = labelled_pairs(flags.questions, flags)
    note_cut(detector, {*pairs.question1, *pairs.question2})
    with elapsed(f"Encoding {counted(len(pairs), 'pair')}"):
        scores = detector.score(pairs.question1, pairs.question2)
    cut, source = threshold_facts(detector, flags).values()
    source = "a default, no labels behind it" if source == "default" else source
    columns = pairs.question1, pairs.question2, scores, pairs.is_duplicate, cut
    chances = (
        None if detector.calibration is None else detector.probabilities_of(scores)
    )
    options = {"probabilities": chances, "measure": detector.measure}
    evaluation = Evaluation(*columns, threshold_from=source, **options)
    return str(evaluation), evaluation.to_dict()


def _on_queries(flags: argparse.Namespace) -> Result:
    """Chooses the weight of the vectors on one half of the queries, and measures on the other half.

    Queries that share an answer, directly or through others, are a cluster; it is in
    one half.
    """
    from siamese.evaluation.retrieval import (
        evaluate_retrieval,
        read_relevance,
        shared_clusters,
    )

    queries = question_list(flags.queries, flags)
    options = reading.reading_options(flags, "bad_rows encoding")
    relevance, report = read_relevance(flags.relevant, **options)
    reading.note_findings(report)
    texts = dict(zip(queries.ids, queries.questions))
    known = [
        (text, relevance[name]) for name, text in texts.items() if name in relevance
    ]
    if not known:
        raise ArgumentError(
            f"{flags.relevant} names no query of {flags.queries} by its id."
        )
    rows = list(zip(*zip(*known), shared_clusters([answers for _, answers in known])))
    measuring, choosing = (
        [row for row in rows if row[2] % 2 == half] for half in (0, 1)
    )
    with opened(flags.index, flags) as (index, detector):
        note_cut(detector, texts.values())
        asked = {answer for _, answers in known for answer in answers}
        stored = {entry["id"] for entry in index.entries}
        for named, ids, path in (
            (relevance, texts, flags.queries),
            (asked, stored, flags.index),
        ):
            if missing := set(named).difference(ids):
                shown = (
                    f"{len(missing):,} of the {len(named):,} ids in {flags.relevant}"
                )
                note(
                    f"{shown} are not in {path}, such as {min(missing)!r}: is it the right list?"
                )

        def measured(rows: list[tuple], mode: str, weight: float) -> Any:
            texts, answers, clusters = zip(*rows)
            hits = index.search(texts, DEPTH, mode=mode, vector_weight=weight)
            ranked = [[hit.id for hit in best] for best in hits]
            return evaluate_retrieval(ranked, answers, clusters=clusters)

        weight, source = (
            index.vector_weight,
            "that of the index: the queries cannot be divided",
        )
        with elapsed(f"Searching for the answers of {len(rows):,} queries"):
            if choosing:
                mrr = {
                    w: measured(choosing, "hybrid", w).mrr for w in {weight, *WEIGHTS}
                }
                weight = max(mrr, key=lambda w: (round(mrr[w], 6), -abs(w - weight)))
                source = f"chosen on {len(choosing):,} other queries"
            tables = {
                mode: measured(measuring, mode, weight).intervals for mode in MODES
            }
    table = [
        ["search", *tables["hybrid"]],
        *([m, *row.values()] for m, row in tables.items()),
    ]
    lines = [
        *aligned(table),
        f"{len(measuring):,} of {len(rows):,} queries, the first {DEPTH} answers; 95 % intervals "
        "over clusters.",
        f"Weight of the vectors in hybrid search: {weight:g}, {source} (in Python: "
        "search with vector_weight=).",
    ]
    facts = {
        "queries": len(measuring),
        "queries_that_chose": len(choosing),
        "depth": DEPTH,
    }
    facts |= {"vector_weight": weight}
    for mode, row in tables.items():
        facts[mode] = {name: vars(interval) for name, interval in row.items()}
    return "\n".join(lines), facts


@command(
    shared.TARGET,
    arg(
        "--label",
        type=int,
        default=0,
        metavar="N",
        help="ask until there are N answers",
    ),
    arg("--answers", metavar="FILE", help=ANSWERS_HELP),
    arg("--output", metavar="FILE", help="the model to write [the one that was read]"),
    *(shared.OVERWRITE, shared.MODEL),
    *shared.LIST_AND_PAIRS,
)
def threshold(flags: argparse.Namespace) -> Result:
    """Fit the threshold of a model or an index to a few labels of your own.

    siamese threshold questions.db --label 30                    (asks about pairs of the index's questions)
    siamese threshold use --answers labelled.csv --output model.safetensors    (makes a model of an encoder)
    """
    target, kind = flags.index, reading.kind_of(flags.index)
    if flags.label < 0 or not (flags.label or flags.answers):
        raise ArgumentError(
            "Pass --label N, at least 1, to label pairs, or --answers FILE."
        )
    if kind == "index" and flags.output:
        raise ArgumentError(
            "An index keeps its own threshold; --output is for a model."
        )
    claim(flags.output and model_path(flags.output), flags)
    output = flags.output
    if kind == "model" and not is_encoder_name(target):
        output = output or target
    if kind == "index" and not flags.answers:
        why = f"{target} is an index, which keeps its answers itself, and no --answers FILE is read"
        reading.refuse_flags(flags, "bad_rows encoding columns list", why)
    # An index has its answers in itself, a list in a file beside it.
    path = flags.answers or (target if kind == "index" else shared.answers_file(target))
    if flags.label and kind != "index":
        reading.refuse_flags(
            flags, "columns list", "--label asks about pairs and reads none"
        )
        check_writable(path)
    with opened(target, flags, model=True) as (index, detector):
        if flags.label and (index is None or target == "-"):
            what = (
                "--label asks about the questions of an index or a file, by its name."
            )
            raise ArgumentError(what)

        # The answers.
        facts: Facts = {
            "answers": path,
            "before": round(detector.threshold, 6),
            "output": output,
        }
        if kind == "index" and flags.answers:
            pairs = labelled_pairs(path, flags, index)
            earlier = index.answers()
            with naming(path):
                facts["answers_in_index"] = index.add_answers(pairs)
            _note_changed(earlier, pairs)
        similar = None
        if index is not None:
            with elapsed("Looking for similar pairs"):
                similar = ListPairs.of(*index.snapshot()[:2])
        if flags.label and kind == "index":
            pairs = _label(index, index, similar, flags)
            facts["answers_in_index"] = len(pairs)
        elif flags.label:
            options = reading.reading_options(flags, "bad_rows encoding")
            pairs = _label(AnswersFile(path, options), index, similar, flags)
        elif kind != "index":
            pairs = labelled_pairs(path, flags, index)
        note_cut(detector, {*pairs.question1, *pairs.question2})

        # What they fit. `duplicates` finds the answers of an index, and those beside a
        # list.
        is_beside = kind == "questions" and path == shared.answers_file(target)
        is_bound = len(pairs) > 0 and (kind == "index" or is_beside)
        stays = "The threshold stays what it is" + is_bound * BIND
        duplicates = int(pairs.is_duplicate.sum())
        if 0 < duplicates < min(ENOUGH, len(pairs)):
            are = "is a duplicate" if duplicates == 1 else "are duplicates"
            text = (
                f"{stays}: {detector.threshold:.3f}. Of {len(pairs)} labels {duplicates} {are}, and it "
                f"takes {ENOUGH}. {_way_on(pairs, flags)}"
            )
            if flags.output:  # for the next command
                detector.save(output, overwrite=flags.overwrite)
                text += f"\nThe model as it was is saved in {output}."
            return text, {
                **facts,
                "pairs": len(pairs),
                "duplicates": duplicates,
                "fitted": False,
            }
        try:
            if similar is None:
                fit = detector.fitted(pairs).card["threshold_fit"]
            else:
                fit = similar.fitted(detector, pairs)
        except DataError as error:
            raise DataError(f"{error} {stays}. {_way_on(pairs, flags)}") from None
        fitted = detector.with_fit(fit)
        if kind == "index":
            index.set_threshold(fit)
        elif output:
            # Without --output the model that was read gets the threshold.
            fitted.save(output, overwrite=flags.overwrite or not flags.output)
        if is_beside:
            index.set_threshold(fit)
            with naming(path):
                index.add_answers(pairs)
        lines = [_fitted_text(fit, detector)]
        if is_bound:
            text, groups = _groups_text(index, pairs)
            lines.append(text)
            facts |= groups
    lines.append(_where_kept(fitted, output, is_beside, flags))
    return "\n".join(lines), {**facts, **fit, "fitted": True}


def _fitted_text(fit: Mapping[str, Any], detector: DuplicateDetector) -> str:
    """What labelled pairs have fitted; `detector` has the threshold before."""
    text = (
        f"Threshold {fit['threshold']:.3f}, 95 % interval [{fit['low']:.3f}, {fit['high']:.3f}], of "
        f"{counted(fit['pairs'], 'label')}, {fit['duplicates']} of them duplicates (before: "
        f"{detector.threshold:.3f})."
    )
    if weight := fit.get("weight", 0):
        text += (
            f" Groups of this list: cosines with local scaling of weight {weight:g}, above "
            f"{fit['list_threshold']:.3f}."
        )
    return text


def _groups_text(index: Any, pairs: QuestionPairs) -> tuple[str, Facts]:
    """What the groups of an index hold now: how many pairs of them are answers, and how many are new."""
    with elapsed(f"Grouping {counted(len(index), 'question')}"):
        shot = index.grouped()
    group_of = {}
    for number, group in enumerate(shot.groups):
        for member in group:
            group_of[folded(shot.entries[member.row]["question"])] = number
    count = sum(len(group) * (len(group) - 1) // 2 for group in shot.groups)
    answered = {
        answer_key(one, two)
        for one, two, is_duplicate in zip(
            pairs.question1, pairs.question2, pairs.is_duplicate
        )
        if is_duplicate
        and group_of.get(folded(one), -1) == group_of.get(folded(two), -2)
    }
    yours = len(answered)
    text = (
        f"Groups: {counted(len(shot.groups), 'group')} with {counted(count, 'pair')}, {yours:,} of them "
        f"your answers, {count - yours:,} new."
    )
    return text, {
        "groups": len(shot.groups),
        "pairs_in_groups": count,
        "pairs_new": count - yours,
    }


def _where_kept(
    fitted: DuplicateDetector, output: str | None, is_beside: bool, flags: Any
) -> str:
    """Where a fit is kept, and how the next command finds it."""
    kind = reading.kind_of(flags.index)
    place = flags.index if kind == "index" else output
    text = (
        f"Saved in {place}."
        if place
        else "It is not saved; --output FILE writes a model."
    )
    if kind != "questions":
        return text
    same = reading.same_list(flags)
    if is_beside:
        found = f"`siamese duplicates {same}` fits it to the answers in {shared.answers_file(flags.index)}."
        return f"{text} {found}" if place else found
    if fitted.measure == "cosine":  # Only a file keeps a curve.
        text += (
            f" Or give it: siamese duplicates {same} --threshold {fitted.threshold:.3f}"
        )
    return text


def _way_on(pairs: QuestionPairs, flags: Any) -> str:
    """What finds duplicates without a fitted threshold."""
    is_model = reading.kind_of(flags.index) == "model" or flags.index == "-"
    same = "" if is_model else reading.same_list(flags)
    advice = (
        "Answer more with the same command, and a larger --label where all were asked."
    )
    if not flags.label:
        advice = f"Answer some pairs: `siamese threshold {same} --label 30`."
        if is_model:
            advice = "Add pairs of the other kind to the file."
    if len(pairs) >= MANY and pairs.is_duplicate.sum() < ENOUGH:
        advice = NEAR_MISSES
    if is_model:
        return advice
    return (
        f"{advice} Meanwhile:\n"
        f"  siamese match {same} -k 3    (the most similar other questions of each)\n"
        f'  siamese search {same} "..."    (those of a new one)\n'
        f"  siamese duplicates {same} --pairs --threshold 0.5    (pairs, the most similar first)"
    )


def _note_changed(earlier: QuestionPairs, pairs: QuestionPairs) -> None:
    """Prints which answers of an index those of a file replace."""
    keys = map(answer_key, earlier.question1, earlier.question2)
    label_of = dict(zip(keys, earlier.is_duplicate.tolist()))
    changed = {}
    for one, two, label in zip(
        pairs.question1, pairs.question2, pairs.is_duplicate.tolist()
    ):
        if label_of.get(answer_key(one, two), label) != label:
            changed[answer_key(one, two)] = f"{one[:80]!r} and {two[:80]!r}"
    if changed:
        count = counted(len(changed), "answer")
        note(
            f"The file has changed {count} of the index, such as that to {min(changed.values())}."
        )


def _label(
    place: Any, index: Any, similar: ListPairs, flags: argparse.Namespace
) -> QuestionPairs:
    """Asks about pairs of an index until there are `flags.label` answers; returns all of them.

    `place` keeps the answers: an index, or an `AnswersFile`. Each is there before the
    next pair is shown. Others may answer at the same time: their answers count, and are
    never replaced or taken back.
    """
    answers = place.answers()
    if len(answers) < flags.label:
        path = flags.index if place is index else place.path
        note(
            f"The answers are saved in {path}; the same command goes on with them.",
            f"A threshold takes {ENOUGH} answers of yes; with fewer the former one stays.",
        )
    mine: list[Answer] = []  # the answers of this run
    skipped: list[tuple[str, str]] = []
    while len(answers) < flags.label:
        candidate = similar.next(answers, skipped)
        if candidate is None:
            break
        one, two = (similar.entries[row] for row in candidate[:2])
        pair = one["question"], two["question"]
        number = f"{len(answers) + 1} of {flags.label}"
        compared = tuple(
            getattr(flags, "compared", {}).get(text, text) for text in pair
        )
        reply = _ask(compared, (number, one["id"], two["id"]))
        if reply == "q":
            break
        if reply == "s":
            skipped.append(pair)
        elif reply == "u":
            _take_back(place, mine)
        else:
            _keep_answer(place, pair, reply == "y", mine, skipped)
        answers = place.answers()
    return answers


def _keep_answer(
    place: Any,
    pair: tuple[str, str],
    is_duplicate: bool,
    mine: list[Answer],
    skipped: list[tuple[str, str]],
) -> None:
    """Stores an answer, if the pair has none by now, and it contradicts no other; else it is skipped."""
    try:
        stored = place.change_answer(*pair, is_duplicate, None)
    except DataError as error:
        note(f"Not stored: {error}")
        skipped.append(pair)
        return
    if stored == is_duplicate:
        mine.append((*pair, int(is_duplicate)))
    elif stored is None:
        note("Not stored: one of the questions was removed meanwhile.")
        skipped.append(pair)
    else:
        note(f"Not stored: another person answered {'ny'[stored]} meanwhile.")


def _take_back(place: Any, mine: list[Answer]) -> None:
    """Takes the last answer of this run back; another person's answer to the pair stays."""
    if not mine:
        note("There is no answer of this run to take back.")
        return
    *pair, label = mine.pop()
    if place.change_answer(*pair, None, bool(label)) is not None:
        note("Another person has changed that answer meanwhile; it stays.")


def _ask(pair: tuple[str, str], heading: tuple[str, str, str]) -> str:
    """Asks on standard error, reads standard input; the answer is y, n, s, u, or q, also at its end.

    The heading is the number of the question, and the ids of the pair, which is shown
    as it is compared.
    """
    number, *ids = heading
    note(f"\n{number}", *(f"  [{own}] {text}" for own, text in zip(ids, shown(*pair))))
    reply = ""
    while reply not in ("y", "n", "s", "u", "q"):
        note("The same question? y, n, s (skip), u (undo the last answer), q (stop)")
        reply = (sys.stdin.readline() or "q").strip().lower()[:1]
    return reply
