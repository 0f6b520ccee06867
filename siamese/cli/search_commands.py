"""The commands about search: indexes, groups, explanations, the local page, course weights."""

from __future__ import annotations

import argparse
import functools
import os
import sys
import time

from siamese.cli.output import Result, note, note_findings, read_list, reading
from siamese.errors import ArgumentError
from siamese.search.display import harmless


def index(flags: argparse.Namespace) -> Result:
    """Encode a list of questions, to search it and to find duplicates in it.

    siamese index runs/course questions.csv --output old
    siamese index use faq.jsonl --output faq --column title    (the encoder `use`, without training)
    siamese index add old more.csv         (costs kilobytes; pages that search the index see it at once)
    siamese index remove old --ids 7 12
    """
    from siamese.search.detector import DuplicateDetector
    from siamese.search.index import QuestionIndex

    started = time.monotonic()
    detector = DuplicateDetector.load(flags.model)
    found = read_list(flags.questions, flags)
    output = flags.output or f"{str(flags.questions).rstrip('/')}.index"
    places = {"path": output, "model": flags.model}
    made = QuestionIndex.build(
        detector, found.questions, ids=found.ids, columns=found.columns, **places
    )
    seconds = time.monotonic() - started
    facts = {
        "output": str(output),
        "questions": len(made),
        "left_out": found.left_out,
        "bytes": made.vectors.nbytes,
        "seconds": round(seconds, 1),
    }
    text = f"{len(made):,} questions, {made.vectors.nbytes / 1e6:,.1f} MB of vectors, in {seconds:.1f} s."
    if found.left_out:
        some = "question was" if found.left_out == 1 else "questions were"
        text += f"\n{found.left_out:,} empty {some} left out."
    return f'{text}\nSaved in {output}. Ask it: siamese search {output} "..."', facts


def index_add(flags: argparse.Namespace) -> Result:
    """Add a file's questions to an index.

    siamese index add old more.csv
    """
    from siamese.search.index import QuestionIndex

    found = read_list(flags.questions, flags)
    with QuestionIndex.open(flags.index, flags.model) as made:
        added = made.add(
            found.questions, ids=found.ids if found.has_ids else None, columns=found.columns
        )
        facts = {"left_out": found.left_out, "questions": len(made)}
    facts |= {name: getattr(added, name) for name in ("added", "replaced", "skipped")}
    text = (
        f"{added.added:,} questions added, {added.replaced:,} replaced, {added.skipped:,} skipped"
    )
    return f"{text}; the index has {facts['questions']:,}.", facts


def index_remove(flags: argparse.Namespace) -> Result:
    """Remove questions from an index by their ids.

    siamese index remove old --ids 7 12
    siamese index remove old ids.txt
    """
    from siamese.data.questions import read_ids
    from siamese.search.index import QuestionIndex

    if (flags.ids is None) == (flags.questions is None):
        raise ArgumentError("Give the ids to remove: either --ids ID ... or a file.")
    asked = flags.ids
    if asked is None:
        asked, report = read_ids(flags.questions)
        note_findings(report)
    with QuestionIndex.open(flags.index, flags.model) as made:
        facts = {"removed": made.remove(asked), "questions": len(made)}
    return f"{facts['removed']:,} questions removed; the index has {len(made):,}.", facts


def threshold(flags: argparse.Namespace) -> Result:
    """Fit the threshold of a model or an index to a few labels of your own.

    siamese threshold old --label 30                                    (asks about the index's questions)
    siamese threshold runs/mine --label 30 --questions questions.csv    (asks about a list's questions)
    siamese threshold old --answers labelled.csv                        (asks nothing)
    siamese threshold use --answers labelled.csv --output model.safetensors    (makes a model of an encoder)
    """
    from siamese.cli import labelling
    from siamese.data.pairs import read_pairs
    from siamese.evaluation.thresholds import fit_threshold
    from siamese.search.detector import DuplicateDetector
    from siamese.search.index import QuestionIndex
    from siamese.search.stored.file import is_index_file

    is_index = is_index_file(flags.target)
    made = QuestionIndex.open(flags.target, flags.model) if is_index else None
    detector = made.detector if is_index else DuplicateDetector.load(flags.target)
    output = _model_to_write(flags, is_index)
    path = flags.answers or f"{str(flags.target).rstrip('/')}.answers.csv"
    if flags.label:
        if flags.questions:
            texts = read_list(flags.questions, flags).questions
            made_of = QuestionIndex.build(detector, texts)
        elif is_index:
            made_of = made
        else:
            raise ArgumentError("Pairs of which questions? Give a list of them (--questions FILE).")
        answers = labelling.Answers(path)
        candidates = labelling.similar_candidates(made_of)
        note(f"Answers are kept in {path}; go on later with the same command.")
        asking = functools.partial(_ask_on_terminal, count=flags.label)
        border = detector.threshold
        labelling.ask(candidates, answers, flags.label, asking, detector.similarity, border)
        pairs = answers.pairs
    elif flags.answers:
        pairs = read_pairs(path, **reading(flags))
        note_findings(pairs.report)
    else:
        raise ArgumentError("Give --label 30 to be asked, or labelled pairs (--answers FILE).")
    labels = pairs.is_duplicate
    if not labels.any() or labels.all():
        raise ArgumentError(
            f"{int(labels.sum())} duplicates among {len(labels)} labels: both kinds are needed. The "
            f"threshold stays {detector.threshold:.3f}."
        )
    fit = fit_threshold(detector.similarity(pairs.question1, pairs.question2), labels)
    if is_index:
        made.set_threshold(fit.to_dict())
    else:
        detector.with_fit(fit.to_dict()).save(output)
    facts = {"before": round(detector.threshold, 6), **fit.to_dict(), "answers": str(path)}
    facts["output"] = str(output)
    text = (
        f"Threshold {fit.threshold:.3f}, 95 % interval [{fit.low:.3f}, {fit.high:.3f}], of {fit.pairs} "
        f"labels, {fit.duplicates} of them duplicates (before: {detector.threshold:.3f}). Written, with "
        f"the calibration, to {output}."
    )
    return text, facts


def _model_to_write(flags: argparse.Namespace, is_index: bool) -> str:
    """Where `siamese threshold` writes; refused before any question is asked."""
    if is_index and flags.output:
        raise ArgumentError(
            "An index keeps its own threshold; --output is for a model. Leave it out."
        )
    if not is_index and not flags.output and not os.path.exists(flags.target):
        raise ArgumentError(
            f"{flags.target} is an encoder. Name the file of the model to write (--output FILE)."
        )
    return flags.output or flags.target


def _ask_on_terminal(question1: str, question2: str, number: int, count: int) -> bool | None:
    """Asks on standard error, reads standard input; EOFError at its end or for q."""
    text = f"\n{number} of {count}\n  {harmless(question1)}\n  {harmless(question2)}"
    while True:
        note(f"{text}\nThe same question? y, n, s (skip), q (stop)")
        line = sys.stdin.readline()
        answer = line.strip().lower()[:1]
        if not line or answer == "q":
            raise EOFError
        if answer in ("y", "n", "s"):
            return None if answer == "s" else answer == "y"


def import_weights(flags: argparse.Namespace) -> Result:
    """Make a saved model of the course's model.pkl.gz.

    siamese import-weights model.pkl.gz --vocab vocab.json mine.safetensors
    """
    from siamese.search.import_weights import import_weights as imported

    detector = imported(flags.weights, flags.vocab, threshold=flags.threshold)
    path = detector.save(flags.output)
    facts = {
        "output": str(path),
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
        f"{detector.threshold:.3f}; {rows}. Saved in {path}; ask it:\n"
        f'  siamese predict {path} "..." "..."'
    )
    return text, facts


def explain(flags: argparse.Namespace) -> Result:
    """Show which words make two questions alike or different.

    siamese explain runs/course "How old are you?" "What is your age?"
    siamese explain runs/course "How old are you?" "What is your age?" --plot words.png
    """
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
    """Serve a local web page: compare two questions, search old ones.

    siamese app runs/course
    siamese app runs/course --index old --port 8000       (needs gradio: pip install gradio)
    """
    from siamese.serving.app import serve

    if flags.json:
        raise ArgumentError("A page is for people; leave --json out.")
    serve(flags.model, flags.index, host=flags.host, port=flags.port)
    return 0


def serve(flags: argparse.Namespace) -> int:
    """Answer over HTTP: a JSON API to search an index and to change it.

    siamese serve old                        (needs fastapi and uvicorn: pip install fastapi uvicorn)
    siamese serve old --port 9000 --workers 4
    SIAMESE_API_KEY=... siamese serve old --host 0.0.0.0   (clients send Authorization: Bearer ...)
    """
    from siamese.serving.api import serve

    if flags.json:
        raise ArgumentError("The server answers in JSON by itself; leave --json out.")
    places = {"host": flags.host, "port": flags.port, "names": tuple(flags.allow_host)}
    serve(flags.index, model=flags.model, workers=flags.workers, **places)
    return 0
