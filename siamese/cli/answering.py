"""The commands that answer questions: predict for pairs, search for a new one, match for two lists."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from shlex import quote
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np

from siamese.cli import arguments as shared
from siamese.cli import reading
from siamese.cli.arguments import (
    CheckOptions,
    CommandOptions,
    ListReading,
    PairReading,
    TableOptions,
    flag,
    option,
    positional,
    refuse_flags,
)
from siamese.cli.labelled import labelled_pairs
from siamese.cli.output import (
    Facts,
    Result,
    claim,
    note,
    table_result,
    threshold_facts,
)
from siamese.cli.reading import (
    Source,
    load_model,
    no_labels,
    opened,
    too_long,
)
from siamese.errors import ArgumentError
from siamese.groups.table import renamed, table_names
from siamese.groups.within import LANGUAGE, keys_of, rows_by_key
from siamese.model.decision import Questions, ReadTexts
from siamese.model.detector import DuplicateDetector, judged, own_borders, pairs_of
from siamese.model.explain import explain
from siamese.nn.nearest import top_k
from siamese.system.arguments import whole_number
from siamese.system.open_types import JsonMapping
from siamese.text.cleaning import has_words
from siamese.text.display import harmless, rounded
from siamese.text.language import list_languages, sure_language

if TYPE_CHECKING:
    from siamese.index import Hit, QuestionIndex
    from siamese.reading.questions import QuestionList

ANSWERS = ("similarity", "probability", "is_duplicate", "difference")
MATCHES = ("id", "question", "match_id", "match", *ANSWERS)


# ---- predict ----


@dataclass(frozen=True, kw_only=True)
class Predict(CommandOptions):
    """The options of `siamese predict`."""

    model: Annotated[str, positional(help=shared.MODEL_HELP)]
    question1: Annotated[
        str, positional(help="a question; or a file of pairs, - for standard input")
    ]
    question2: Annotated[str | None, positional(help="the other question")] = None
    explain: Annotated[
        bool, flag("show what each word of two questions does to their cosine")
    ] = False
    threshold: shared.Threshold = None
    check: CheckOptions
    read: PairReading
    table: TableOptions


def predict(options: Predict) -> Result:
    """Answer whether two questions, or many pairs, are duplicates.

    siamese predict use "How old are you?" "What is your age?" --explain
    siamese predict runs/course pairs.csv --output answers.csv
    """
    target = "a file" if options.question2 is None else "two questions"
    refuse_flags("predict", target, options)
    claim(options.table.output, options)
    detector = load_model(options.model, options.check)
    note(*no_labels(detector, options.model, options.threshold))
    facts = threshold_facts(detector, options.threshold)
    if options.question2 is None:
        return _file_answers(detector, facts, options)

    pair = options.question1, options.question2
    _check_words(*pair)
    note(*too_long(detector, pair))
    text, answer = _pair_answer(detector, pair, options.threshold)
    answer = facts | answer
    if options.explain:
        explanation = explain(detector, *pair)
        words = explanation.as_dict()
        answer |= {name: words[name] for name in ("words1", "words2", "compared")}
        text += f"\n\n{explanation}"
    return Result(text, rounded(answer))


def _check_words(*questions: str) -> None:
    """Refuses a question without a letter or digit."""
    wordless = [question for question in questions if not has_words(question)]
    if wordless:
        raise ArgumentError(
            f"{wordless[0]!r} has no word: a question needs a letter or a digit."
        )


def _pair_answer(
    detector: DuplicateDetector, pair: tuple[str, str], threshold: float | None
) -> tuple[str, Facts]:
    """The answer to two questions, as a text and as values."""
    one, two = pair
    sides = pairs_of(detector, [one], [two])
    (answered,) = judged(detector, *sides, threshold)
    cosine, probability, is_duplicate, difference = answered
    cut = float(own_borders(detector, *sides)[0]) if threshold is None else threshold
    unknown = [word for question in pair for word in detector.unknown_words(question)]
    verdict = "duplicate" if is_duplicate else "not a duplicate"
    sign = ">" if is_duplicate else "<="
    measure = detector.decision.measure
    score = float(detector.decision.scores(*sides)[0])
    lines = [*pair, f"-> {verdict}: {measure} {score:.3f} {sign} {cut:.3f}"]
    if difference:
        lines.append(f"near miss: {difference}")
        if measure == "cosine":
            lines[-1] += f" (takes {cosine - score:.3f} off the cosine {cosine:.3f})"
    lines += _unseen(unknown)
    answer = {
        "question1": one,
        "question2": two,
        "is_duplicate": is_duplicate,
        "similarity": cosine,
        "probability": probability,
        "difference": difference,
        "unknown_words": unknown,
        "threshold": cut,
    }
    return "\n".join(f"  {line}" for line in lines), answer


def _unseen(words: list[str]) -> list[str]:
    """A line that names words, where there are any."""
    return [f"words the model has never seen: {', '.join(words)}"] if words else []


def _file_answers(
    detector: DuplicateDetector, facts: Facts, options: Predict
) -> Result:
    """The answers for a file of pairs, as a table in the file's order."""
    read = labelled_pairs(options.question1, options.read, labels=False)
    note(*read.notes)
    pairs = read.pairs
    note(*too_long(detector, [*pairs.question1, *pairs.question2]))
    sides = pairs_of(detector, pairs.question1, pairs.question2)
    answers = judged(detector, *sides, options.threshold)
    names = ("question1", "question2", *ANSWERS, "id")
    table = []
    duplicates = 0
    for one, two, answer, own in zip(
        pairs.question1, pairs.question2, answers, pairs.ids
    ):
        cosine, probability, is_duplicate, difference = answer
        duplicates += is_duplicate
        cells = one, two, cosine, probability, int(is_duplicate), difference, own
        table.append(dict(zip(names, cells)))
    facts = {**facts, "pairs": len(table), "duplicates": duplicates}
    assert pairs.report is not None
    delimiter = pairs.report.delimiter
    return table_result(options.table, table, names, facts, delimiter=delimiter)


# ---- search ----


@dataclass(frozen=True, kw_only=True)
class Search(CommandOptions):
    """The options of `siamese search`."""

    index: shared.Index
    question: Annotated[str, positional(help="a new question")]
    k: Annotated[int, option("-k", help="how many hits [default: %(default)s]")] = 10
    threshold: shared.Threshold = None
    vectors_only: Annotated[
        bool, flag("rank by cosine alone [default: by vectors and words]")
    ] = False
    within: shared.WithinValues = None
    language: shared.MainLanguage = None
    model: shared.Model = None
    check: CheckOptions
    read: ListReading


def search(options: Search) -> Result:
    """Find the questions of an index or a list that are similar to a new one.

    siamese search questions.csv "How old are you?"             (a list is encoded each time)
    siamese search questions.db "How old are you?" -k 3 --json
    siamese search tickets.db "It does not print" --within product=Printer --within language
    """
    from siamese.index import weight_of

    question = options.question
    _refuse_file(question, options.index)
    _check_words(question)
    if reading.kind_of(options.index) == "index":
        refuse_flags("search", "an index", options, options.index)
    mode = "vectors" if options.vectors_only else "hybrid"
    within = _values_of(options.within or ())
    with opened(options.index, options, options.language) as source:
        asked_in = filter(None, [sure_language(question)])
        index = _noted_index(source, options.threshold, *asked_in)
        detector = source.detector
        note(*too_long(detector, [question]))
        hits = index.search(
            question,
            options.k,
            threshold=options.threshold,
            mode=mode,
            within=within,
        )
        # In other languages the weight of the words differs from text to text.
        languages = index.facts.languages if mode == "hybrid" else None
        is_one_weight = languages is None or languages.is_english
    facts = threshold_facts(detector, options.threshold)
    facts |= {
        "question": question,
        "hits": [rounded(hit._asdict()) for hit in hits],
        "mode": mode,
        "vector_weight": weight_of(detector),
        "unknown_words": detector.unknown_words(question),
    }
    weight = facts["vector_weight"] if is_one_weight else None
    lines = _hit_lines(hits, detector.decision.measure, facts["threshold"], weight)
    if not hits:
        where = " and ".join(options.within or ())
        lines = [f"Nothing found where {where}." if where else "Nothing found."]
    return Result("\n".join([*lines, *_unseen(facts["unknown_words"])]), facts)


def _noted_index(
    source: Source, threshold: float | None, *asked_in: str
) -> QuestionIndex:
    """The index of what is searched, after the notes on it and on its threshold.

    `asked_in` are the languages of questions that it is asked, as far as they are known.
    """
    note(*source.notes())
    note(*no_labels(source.detector, source.name, threshold))
    index = source.index()
    codes = [*reading.codes_of(index), *asked_in]
    note(*reading.about_across(source.detector, threshold, *codes))
    return index


def _values_of(within: Sequence[str]) -> dict[str, str | None]:
    """The columns that are named with their values; that of `language` alone is None."""
    values: dict[str, str | None] = {}
    for word in within:
        name, mark, value = word.partition("=")
        if not mark and name != LANGUAGE:
            raise ArgumentError(
                f"--within {word}: name a value, --within {quote(word)}=VALUE; "
                f"{LANGUAGE} alone is that of the question."
            )
        values[name] = value if mark else None
    return values


def _refuse_file(question: str, index: str) -> None:
    """Refuses a file in the place of a question."""
    if question == "-" or os.path.isfile(question):
        way = f"siamese match {quote(question)} {quote(index)}"
        raise ArgumentError(
            f"{question!r} is a file, not the question. For each question of a file: {way}"
        )


def _hit_lines(hits: list, measure: str, cut: float, weight: float | None) -> list[str]:
    """The hits of a search as lines of text, and what their marks and order mean."""
    lines = []
    for hit in hits:
        chance = "" if hit.probability is None else f"  {hit.probability:4.0%}"
        score = f"{'*' if hit.is_duplicate else ' '} {hit.similarity:6.3f}{chance}"
        why = f"  ({harmless(hit.difference)})" if hit.difference else ""
        lines.append(f"{score}  [{harmless(hit.id)}] {harmless(hit.question)}{why}")
    duplicates = [hit for hit in hits if hit.is_duplicate]
    if duplicates:
        is_lower = measure == "cosine" and any(h.similarity <= cut for h in duplicates)
        less = ", or above less for a question in another language" if is_lower else ""
        lines.append(f"* a duplicate: {measure} above {cut:.3f}{less}")
    cosines = [hit.similarity for hit in hits]
    if cosines != sorted(cosines, reverse=True):
        parts = "cosine", "shared words"
        if weight is not None:
            parts = (
                f"cosine (weight {weight:g})",
                f"shared words (weight {1 - weight:g})",
            )
        lines.append(
            f"Ordered by {' and '.join(parts)} together; --vectors-only orders by cosine."
        )
    return lines


# ---- match ----


@dataclass(frozen=True, kw_only=True)
class Match(CommandOptions):
    """The options of `siamese match`."""

    a: Annotated[
        str,
        positional(
            metavar="A",
            help="the questions to match, a list in any format; alone also an index",
        ),
    ]
    b: Annotated[
        str | None,
        positional(
            metavar="B",
            help="those to match them with, or their index [default: the other questions of A]",
        ),
    ] = None
    threshold: shared.Threshold = None
    k: Annotated[
        int, option("-k", help="matches of each question [default: %(default)s]")
    ] = 1
    within: shared.Within = None
    language: shared.MainLanguage = None
    model: shared.Model = None
    check: CheckOptions
    read: ListReading
    table: TableOptions


class Matched(NamedTuple):
    """A question with its hits."""

    id: str
    question: str
    columns: JsonMapping
    hits: Sequence[Hit]


@dataclass
class Matches:
    """The hits of each question, and what stands beside them in the table."""

    rows: list[Matched]
    names: Iterable[str]  # of the columns of the questions that were found
    facts: Facts = field(default_factory=dict)
    delimiter: str = ","


def match(options: Match) -> Result:
    """Find for each question the most similar others of its list, or those of another one, as CSV.

    siamese match tickets.csv -k 3 --output matches.csv         (for each the three nearest others)
    siamese match new.csv faq.csv -k 3 --threshold 0.8 --output matches.csv
    """
    claim(options.table.output, options)
    if options.b is None:
        return _match_table(_matched_alone(options), options.table)
    return _match_table(_matched_with(options.b, options), options.table)


def _matched_with(other: str, options: Match) -> Matches:
    """The most similar questions of another list or index for each question."""
    is_index = reading.kind_of(other) == "index"
    new = None if is_index else reading.question_list(options.a, options.read)
    if new:
        note(*reading.about_list(options.a, new))
    with opened(other, options) as source:
        note(*source.notes())
        note(*no_labels(source.detector, source.name, options.threshold))
        index = source.index()
        if new is None:
            kept = ("keep_repeated",)
            new = reading.questions_like(index, options.a, options.read, kept)
            note(*reading.about_list(options.a, new))
        note(*reading.about_columns(index, new))
        note(*too_long(source.detector, new.compared))
        languages = list_languages(new.compared, options.language)
        detector = source.detector
        note(*reading.about_languages(detector, new.compared, languages))
        codes = [*reading.codes_of(index), *languages.shares]
        note(*reading.about_across(detector, options.threshold, *codes))
        if options.within:
            hits = _hits_within(index, new, options)
        else:
            hits = index.search(
                new.compared, options.k, mode="vectors", threshold=options.threshold
            )
        entries = index.snapshot().entries
    names = [name for entry in entries for name in entry["columns"]]
    columns = new.columns or [{}] * len(hits)
    rows = map(Matched, new.ids, new.questions, columns, hits)
    facts = threshold_facts(source.detector, options.threshold)
    return Matches(list(rows), names, facts, new.report.delimiter)


def _hits_within(
    index: QuestionIndex, new: QuestionList, options: Match
) -> list[list[Hit]]:
    """For each question of a list the most similar ones of an index, of equal values of some columns."""
    from siamese.index import Hit

    k = whole_number(options.k, "k", 1)
    snapshot = index.snapshot()
    entries = snapshot.entries
    vectors = snapshot.vectors
    detector = snapshot.detector
    columns = new.columns or [{}] * len(new.questions)
    asked = [
        {"question": question, "columns": own}
        for question, own in zip(new.questions, columns)
    ]
    names = options.within or ()
    known = rows_by_key(keys_of(entries, names, index.facts.reading.get("language")))
    queries = detector.encode(new.compared)
    read = ReadTexts(detector.encoder.read, new.compared)
    asked_questions = Questions(read, queries)
    hits: list[list[Hit]] = [[] for _ in asked]
    for key, rows in rows_by_key(keys_of(asked, names, options.language)).items():
        own = known.get(key, rows[:0])
        own = own[vectors[own].any(axis=1)]
        asking = rows[queries[rows].any(axis=1)]
        places, _ = top_k(vectors[own], queries[asking], k)
        for at, best in zip(asking.tolist(), own[places]):
            verdicts = judged(
                detector,
                asked_questions.rows(np.full(len(best), at)),
                snapshot.questions.rows(best),
                options.threshold,
            )
            for row, answer in zip(best.tolist(), verdicts):
                found = entries[row]
                hit = Hit(found["id"], found["question"], *answer, found["columns"])
                hits[at].append(hit)
    return hits


def _matched_alone(options: Match) -> Matches:
    """The most similar other questions for each question of a list or an index."""
    from siamese.index import Hit

    k = whole_number(options.k, "k", 1)
    if reading.kind_of(options.a) == "index":
        refuse_flags("match", "an index alone", options, options.a)
    with opened(options.a, options, options.language) as source:
        index = _noted_index(source, options.threshold)
        detector = source.detector
        snapshot = index.snapshot()
        entries = snapshot.entries
        vectors = snapshot.vectors
        main = index.facts.reading.get("language")

    # A question without words is no neighbour, and the nearest of each is itself.
    nearest: dict[int, list[int]] = {}
    keys = keys_of(entries, options.within or (), main)
    for part in rows_by_key(keys).values():
        worded = part[vectors[part].any(axis=1)]
        places, _ = top_k(vectors[worded], vectors[worded], k + 1)
        nearest |= zip(worded.tolist(), worded[places].tolist())
    rows = []
    for at, entry in enumerate(entries):
        others = [other for other in nearest.get(at, ()) if other != at][:k]
        verdicts = judged(
            detector,
            snapshot.questions.rows(np.full(len(others), at)),
            snapshot.questions.rows(np.array(others, np.int64)),
            options.threshold,
        )
        hits = []
        for other, answer in zip(others, verdicts):
            found = entries[other]
            hits.append(Hit(found["id"], found["question"], *answer, found["columns"]))
        rows.append(Matched(entry["id"], entry["question"], entry["columns"], hits))
    names = [name for entry in entries for name in entry["columns"]]
    facts = threshold_facts(detector, options.threshold)
    return Matches(rows, names, facts, source.delimiter)


def _match_table(matches: Matches, table: TableOptions) -> Result:
    """A row for each hit of each question."""
    # All columns of both lists, whether or not a row has them.
    names = {f"match_{name}": name for name in matches.names}
    of_match = {
        names[name]: shown for name, shown in table_names(MATCHES, names).items()
    }
    taken = [*MATCHES, *of_match.values()]
    own_names = (name for matched in matches.rows for name in matched.columns)
    of_question = table_names(taken, own_names)

    rows = []
    count = 0
    for i, question, own, best in matches.rows:
        count += any(hit.is_duplicate for hit in best)
        others = renamed(own, of_question)
        for *hit, is_duplicate, difference, of_hit in best:
            cells = i, question, *hit, int(is_duplicate), difference
            row = dict(zip(MATCHES, cells))
            rows.append(row | renamed(of_hit, of_match) | others)
        if not best:  # A question without words has no match, and a row.
            row = dict.fromkeys(MATCHES) | {"id": i, "question": question}
            rows.append(row | others)
    facts = {**matches.facts, "questions": len(matches.rows), "matched": count}
    columns = [*taken, *of_question.values()]
    return table_result(table, rows, columns, facts, delimiter=matches.delimiter)
