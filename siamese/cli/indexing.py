"""The commands about an index: index build, add, remove and export; duplicates; serve."""

from __future__ import annotations

import argparse
import os
from shlex import quote
from typing import Any

import numpy as np

from siamese.cli import arguments as shared
from siamese.cli import reading
from siamese.cli.answers import answers_of, naming
from siamese.cli.arguments import arg, command, flag, one_of
from siamese.cli.languages import about_languages
from siamese.cli.output import Facts, Result, claim, note, table_result, threshold_facts
from siamese.cli.reading import opened, question_list
from siamese.errors import ArgumentError, DataError
from siamese.groups.grouping import (
    CUTS,
    GROUP_COLUMNS,
    below_threshold,
    group_columns,
    group_rows,
    pairs_above,
)
from siamese.groups.linkage import strongest_pairs
from siamese.groups.local import local_means, ranking_weight, scaled
from siamese.index.list_pairs import ListPairs
from siamese.model.explain import differences
from siamese.nn.nearest import cosines_with, in_blocks
from siamese.reading.clusters import first_places
from siamese.reading.columns import read_spec
from siamese.reading.questions import read_ids
from siamese.system.arguments import counted
from siamese.system.progress import elapsed

PAIR_COLUMNS = ("id1", "question1", "id2", "question2", "similarity")
WIDTH = 70  # characters of a question that are shown
SHOWN = 10  # pairs outside the groups that are printed; --json has more
MOST_PAIRS = 500_000  # that are written; more would take minutes
NAMED = 3  # questions without a known word that a note names
KEEP_HELP = (
    "the question to keep: central, first, longest, COLUMN=min or COLUMN=max [central]"
)
A_FILE = arg("index", help="the file of an index")
A_LIST = arg("questions", metavar="FILE", help="a list of questions, in any format")


@command(
    A_LIST,
    arg("--output", metavar="INDEX", help="the file to write [FILE.index]"),
    flag(
        "--overwrite", "replace the index that is there; its threshold and answers go"
    ),
    *(shared.MODEL, *shared.READ_LIST),
)
def index_build(flags: argparse.Namespace) -> Facts:
    """Encode a list of questions, to search it and to find duplicates in it.

    siamese index build questions.csv --output questions.db
    siamese index build faq.jsonl --model runs/course --column title --output faq.db
    """
    from siamese.index.file import IndexFile

    if flags.output is None and not os.path.isfile(flags.questions):
        raise ArgumentError(
            f"There is no file {flags.questions}. A pipe needs --output INDEX."
        )
    output = flags.output or f"{flags.questions}.index"
    claim(output, flags)
    if os.path.exists(output):
        IndexFile(output, create=True).close()  # A file of another kind is refused.
    model, questions = flags.model or "use", question_list(flags.questions, flags)
    detector = reading.load_model(model)
    read_by = reading.reading_options(flags, "column id_column keep_repeated")
    read_by["compared"] = questions.column
    read_by["numbered"] = not questions.has_ids
    options = {
        "path": output,
        "model": model,
        "reading": read_by,
        "overwrite": flags.overwrite,
    }
    try:
        reading.build_index(detector, questions, **options).close()
    except KeyboardInterrupt:
        if os.path.exists(unfinished := f"{output}.unfinished"):
            note(f"{unfinished} has the vectors so far; the same command goes on.")
        raise
    note(f'Ask it: siamese search {quote(output)} "..."')
    count = len(questions.ids)
    return {"output": output, "questions": count, "left_out": questions.report.left_out}


@command(A_FILE, A_LIST, *shared.READ_LIST, shared.MODEL)
def index_add(flags: argparse.Namespace) -> Facts:
    """Add a list of questions to an index; stored questions are skipped, changed ones replaced.

    siamese index add questions.db more.csv
    """
    with opened(flags.index, flags, stored=True) as (index, detector):
        column, built = flags.column, index.reading
        questions = reading.list_for(index, flags.questions, flags, " ".join(built))
        new, own = questions.column, built.get("compared", questions.column)
        forms = {
            (len(parts.columns), parts.words) for parts in map(read_spec, (new, own))
        }
        if column and len(forms) > 1:
            what = f"The index compares {own}; of {new} the same questions would be stored twice"
            raise ArgumentError(f"{what}. Leave --column out, or build another index.")
        texts, ids = questions.questions, questions.ids if questions.has_ids else None
        if ids and built.get("numbered"):
            note(
                "The index numbers its questions itself: such a number as an id replaces one."
            )
        compared = questions.compared
        reading.note_cut(detector, compared)
        for line in about_languages(detector, compared):
            note(line)
        with elapsed(f"Encoding {counted(len(texts), 'question')}"):
            options = {"ids": ids, "columns": questions.columns, "compared": compared}
            _, added, replaced, skipped = index.add(texts, **options)
        facts = {"added": added, "replaced": replaced, "skipped": skipped}
        return {**facts, "left_out": questions.report.left_out, "questions": len(index)}


@command(
    A_FILE,
    one_of(
        arg(
            "file", metavar="FILE", nargs="?", help="an id a line, or a table with ids"
        ),
        arg("--ids", nargs="+", metavar="ID", help="the ids themselves"),
        required=True,
    ),
    *(shared.BAD_ROWS, shared.ENCODING, shared.ID_COLUMN, shared.MODEL),
)
def index_remove(flags: argparse.Namespace) -> Facts:
    """Remove questions from an index by their ids.

    siamese index remove questions.db --ids 7 12
    siamese index remove questions.db ids.csv
    """
    ids = flags.ids
    if ids is not None:
        reading.refuse_flags(
            flags, "bad_rows encoding id_column", "--ids names the ids themselves"
        )
    else:
        options = reading.reading_options(flags, "bad_rows encoding id_column")
        ids, report = read_ids(flags.file, **options)
        reading.note_findings(report)
    with opened(flags.index, flags, stored=True) as (index, _):
        return {"removed": index.remove(ids), "questions": len(index)}


@command(
    A_FILE,
    arg("output", metavar="FILE", help="the file to write"),
    *(shared.OVERWRITE, shared.MODEL),
)
def index_export(flags: argparse.Namespace) -> Facts:
    """Write an index as a Parquet file, for engines beyond one machine.

    siamese index export questions.db questions.parquet       (id, question, columns, vector; needs pyarrow)
    """
    if not flags.output.lower().endswith(".parquet"):
        raise ArgumentError(
            f"{flags.output}: an index is written as Parquet. Name the file so."
        )
    claim(flags.output, flags)
    with opened(flags.index, flags, stored=True) as (index, _):
        return {
            "output": flags.output,
            "questions": index.export(flags.output, overwrite=flags.overwrite),
        }


@command(
    shared.INDEX,
    shared.THRESHOLD,
    flag("--regroup", "make the groups of an index again"),
    one_of(
        arg("--keep", metavar="RULE", help=KEEP_HELP),
        flag("--pairs", "write all pairs above the threshold, no groups"),
        flag(
            "--differences",
            "write the pairs that differ in a number, a negation or a name",
        ),
    ),
    *shared.LIST_TABLE,
)
def duplicates(flags: argparse.Namespace) -> Result:
    """Find the groups of duplicates in an index or a list of questions, as CSV.

    siamese duplicates posts.csv --keep created_at=min --output groups.csv
    siamese duplicates questions.db --threshold 0.85 --regroup     (an index stores its groups)
    """
    claim(flags.output, flags)
    with opened(flags.index, flags) as (index, _):
        path = shared.answers_file(flags.index)
        if reading.kind_of(flags.index) == "questions" and os.path.isfile(path):
            _take_answers(index, path, flags)
        if flags.pairs or flags.differences:
            return _pairs(index, flags)
        return _groups(index, flags)


def _take_answers(index: Any, path: str, flags: argparse.Namespace) -> None:
    """Lets the answers beside a list bind its groups, and fit how they are made."""
    answers = answers_of(path, reading.reading_options(flags, "bad_rows encoding"))
    note(f"{path}: {counted(len(answers), 'answer')} of yours, which bind the groups.")
    with naming(path):
        bound = index.add_answers(answers)
    if others := len(answers) - bound:
        note(f"{others:,} of them {'is' if others == 1 else 'are'} of other questions.")
    if flags.threshold is None and len(answers):
        with elapsed("Fitting a threshold to the answers"):
            similar = ListPairs.of(*index.snapshot()[:2])
            try:
                index.set_threshold(
                    similar.fitted(index.detector, answers, resamples=0)
                )
            except DataError as error:
                note(f"{error} The threshold stays {index.detector.threshold:.3f}.")


def _pairs(index: Any, flags: argparse.Namespace) -> Result:
    """All pairs above a threshold, the most similar first; or those that differ in more than words."""
    if flags.regroup:
        raise ArgumentError(
            "--pairs and --differences make no groups; leave out --regroup."
        )
    entries, vectors, detector, *_ = index.snapshot()
    facts = threshold_facts(detector, flags)
    size = len(entries)
    least, decide = detector.rule(facts["threshold"])
    if (
        flags.differences
    ):  # Equal texts differ in nothing: the first of them stands for all.
        some = np.unique(first_places([entry["question"] for entry in entries], str))
        entries, vectors = [entries[at] for at in some], vectors[some]

    # The pairs above it, in the order of local scaling.
    weight = ranking_weight(detector, vectors) if flags.pairs else 0.0
    shifts = None
    if flags.pairs and flags.threshold is None and detector.list_cut[1]:
        least = facts["threshold"] = detector.list_cut[0]
        shifts = local_means(vectors) * np.float32(weight / 2)
    allowed = decide and (lambda i, j: decide(vectors[i], vectors[j]))
    with elapsed(f"Comparing {counted(len(entries), 'question')}"):
        first, second, cosines, _ = strongest_pairs(vectors, least, allowed, shifts)
        ranked_by = cosines
        if shifts is not None:
            cosines = in_blocks(
                lambda i, j: cosines_with(vectors[i], vectors[j]), first, second
            )
        elif weight:
            ranked_by = scaled(
                vectors, np.stack([first, second], axis=1), cosines, weight
            )
    best = np.argsort(-ranked_by.round(6), kind="stable")[:MOST_PAIRS]
    if len(best) < len(cosines):
        note(
            f"There are too many pairs: only the {len(best):,} most similar are looked at."
        )
    first, second, cosines, scores = (
        first[best],
        second[best],
        cosines[best],
        ranked_by[best],
    )
    if decide:
        scores = in_blocks(
            lambda i, j: detector.scores_of(vectors[i], vectors[j]), first, second
        )
    name = "probability" if decide else "adjusted" if weight else None

    # As they are printed.
    rows = []
    for at in np.lexsort((second, first, -scores.round(6))):
        row = _pair(entries, first[at], second[at], float(cosines[at]))
        if name:
            row[name] = float(scores[at])
        if flags.differences:
            row["differs"] = "; ".join(differences(row["question1"], row["question2"]))
        if flags.pairs or row["differs"]:
            rows.append(row)
    facts |= {"questions": size, "pairs": len(rows), "measure": detector.measure}
    facts |= {"weight": weight}
    own = [name] * bool(name) + ["differs"] * flags.differences
    return table_result(flags, rows, [*PAIR_COLUMNS, *own], facts)


def _pair(entries: list[dict], one: int, two: int, cosine: float) -> dict[str, Any]:
    sides = [entries[at][name] for at in (one, two) for name in ("id", "question")]
    return dict(zip(PAIR_COLUMNS, [*sides, round(cosine, 6)]))


def _groups(index: Any, flags: argparse.Namespace) -> Result:
    """The groups of an index."""
    with elapsed(f"Grouping {counted(len(index), 'question')}"):
        shot = index.grouped(flags.threshold, regroup=flags.regroup)
        entries, groups = shot.entries, shot.groups
        rows = list(group_rows(shot, flags.keep or "central"))
        is_unknown = shot.detector.without_known_words(
            [entry["question"] for entry in entries]
        )
    if unknown := [entry for entry, alone in zip(entries, is_unknown) if alone]:
        names = [
            f"{entry['id']} ({entry['question']:.40})" for entry in unknown[:NAMED]
        ]
        note(
            f"{counted(len(unknown), 'question')} without any word that the model knows, in no group: "
            f"{', '.join(names)}{', ...' * (len(unknown) > NAMED)}"
        )

    # How they were made.
    facts = threshold_facts(shot.detector, flags)
    cut = shot.threshold, shot.weight
    now = shot.detector.list_cut
    if flags.threshold is None and cut != now:
        own = f"the model's is {now[0]:.3f} now: --regroup makes them again"
        note(f"These groups were made with the threshold {cut[0]:.3f}; {own}.")
        facts["threshold_from"] = "groups"
    facts |= {"threshold": cut[0], "weight": cut[1]}
    measure = f"{shot.detector.measure} on average"
    if shot.weight:
        measure = f"cosine with local scaling of weight {shot.weight:g} on average"

    # What they are.
    sizes = list(map(len, groups))
    facts |= {
        "questions": len(entries),
        "groups": len(groups),
        "questions_in_groups": sum(sizes),
    }
    facts["largest"] = max(sizes, default=0)
    summary = (
        f"{counted(len(entries), 'question')}, {measure} above {shot.threshold:.3f}: "
        f"{counted(len(groups), 'group')} "
        f"of {counted(sum(sizes), 'question')}, the largest of {facts['largest']:,}."
    )
    after = ""
    if facts["threshold_from"] == "default":
        after, found = _ranking(shot, flags)
        facts |= found
    columns = [
        *GROUP_COLUMNS,
        *group_columns(entries).values(),
    ]  # also where there is no group
    return table_result(flags, rows, columns, facts, summary, after)


def _ranking(shot: Any, flags: argparse.Namespace) -> Result:
    """What lies below a threshold without labels: the next pairs, counts, and the way to labels."""
    with elapsed("Looking below the threshold"):
        above, pairs = pairs_above(shot.vectors), below_threshold(shot)
    counts = {f"{CUTS[at]:g}": round(above[at]) for at in (40, 30, 20, 10, 0)}
    rows = [_pair(shot.entries, *pair) for pair in pairs]
    lines = ["The most similar pairs outside the groups, each question once:"] * bool(
        rows
    )
    if rows and ranking_weight(shot.detector, shot.vectors):
        lines = [
            "Pairs outside the groups, each question once; those that are close to many come last:"
        ]
    for row in rows[:SHOWN]:
        texts = [
            " ".join(row[name].split())[:WIDTH] for name in ("question1", "question2")
        ]
        lines.append(f"  {row['similarity']:.3f}  {' | '.join(texts)}")
    about = ", ".join(f"{count:,} above {cut}" for cut, count in counts.items())
    lines.append(f"Pairs in the whole list, about: {about}.")
    if flags.index != "-":
        same = reading.same_list(flags)
        lines += [
            "A threshold of your own takes about 30 answers, or labelled pairs:",
            f"  siamese threshold {same} --label 30",
            f"  siamese threshold {same} --answers labelled.csv",
            "The most similar other questions of each, whatever the threshold:",
            f"  siamese match {same} -k 3",
        ]
    return "\n".join(lines), {"pairs_above": counts, "next_pairs": rows}


@command(
    arg(
        "index",
        nargs="?",
        help="an index or a list of questions [300 examples written by hand]",
    ),
    arg("--host", default="127.0.0.1", help="address to listen on [%(default)s]"),
    arg("--port", type=int, default=8000, help="0 picks a free one [%(default)s]"),
    arg(
        "--allow-host",
        nargs="+",
        default=[],
        metavar="NAME",
        help="extra Host header to accept",
    ),
    shared.MODEL,
    *shared.READ_LIST,
)
def serve(flags: argparse.Namespace) -> None:
    """Serve a page and a JSON API that search an index and change it.

    siamese serve questions.db               (needs the packages of the extra serve)
    siamese serve questions.csv              (a list of questions; what is added is lost at the end)
    siamese serve                            (300 questions written by hand, to look at the page)
    SIAMESE_API_KEY=... siamese serve questions.db --host 0.0.0.0   (clients send Authorization: Bearer ...)
    """
    if flags.json:
        raise ArgumentError("The server answers in JSON by itself; leave --json out.")
    from siamese.corpus import HANDWRITTEN
    from siamese.serving.api import serve as serve_index

    flags.index = flags.index or str(HANDWRITTEN)
    with opened(flags.index, flags) as (index, _):
        flags.list_since = float("inf")  # A server needs no way on.
        serve_index(index, flags.host, flags.port, flags.allow_host)
