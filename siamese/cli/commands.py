"""The commands about models: train, evaluate, answer; and what surrounds them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from siamese.cli.output import (
    SOURCES,
    Result,
    note,
    note_findings,
    reading,
    threshold_source,
    write_out,
)
from siamese.errors import ArgumentError
from siamese.search.display import NO_LABELS
from siamese.training import config as configs


def train(flags: argparse.Namespace) -> Result:
    """Train on labelled pairs; by default the course's experiment.

    siamese train --questions questions.csv --preset best
    siamese train --questions questions.csv --train-rows 300000 --test-rows 10240
    siamese train --questions questions.csv.gz --output runs/small --set d_model=64 --epochs 2
    siamese train --questions questions.csv --steps 2000    (resumes where it stopped)
    siamese train --questions mine.csv --init-from model.safetensors --output runs/mine    (fine-tuning)
    """
    from siamese.data.split import check_both_labels
    from siamese.search.detector import DuplicateDetector
    from siamese.training.fine_tuning import FEW, fine_tuning_config
    from siamese.training.run import Trainer

    changes = configs.changes_from_flags(flags)
    config = configs.TrainConfig.preset(flags.preset, **changes)
    start = DuplicateDetector.load(flags.init_from) if flags.init_from else None
    output = flags.output or f"runs/{'fine-tuned' if start else flags.preset}"
    train_pairs, valid_pairs, test_pairs = _train_valid_test(flags, FEW if start else 0)
    if start:
        config = fine_tuning_config(start, train_pairs.is_duplicate, **changes)
    base = "best" if start else flags.preset
    different = config.changes(base).items()
    changed = ", ".join(f"{name}={value}" for name, value in different) or "unchanged"
    note(f"{f'Fine-tuning {flags.init_from}, p' if start else 'P'}reset {base}: {changed}.")
    trainer = Trainer(
        train_pairs,
        config,
        output,
        valid=valid_pairs,
        # The rows next to the test rows are most like them.
        held_out_pairs=max(1000, len(test_pairs or ()) // 2),
        init_from=start,
        resume=flags.resume,
        overwrite=flags.overwrite,
        quiet=flags.json,
    )
    data = trainer.data
    if not start:
        check_both_labels(data.held_out, "The pairs that choose the threshold")
    note(
        f"{len(train_pairs):,} rows train, {len(test_pairs or ()):,} test; {len(data.train[0]):,} "
        f"duplicates to train on, {len(data.valid[0]):,} to validate, {data.vocabulary.size:,} words."
    )
    if trainer.resumed_from:
        note(f"Resuming {output} at step {trainer.step}.")
    trainer.train()
    trainer.save(questions=str(flags.questions))  # Save first: evaluation may fail.
    unchanged = ""
    if start and (test_pairs is None or not trainer.keeps_labels_for_threshold):
        unchanged = (
            f"Too few labels are held out to fit a threshold: it stays {start.threshold:.3f}, that of "
            f"{flags.init_from}. Fit it to more: siamese threshold {output} --answers FILE\n"
        )
    if test_pairs is None:
        facts = {"output": output, "threshold": start.threshold, "steps": trainer.step}
        text = f"All {len(train_pairs)} labels trained, none is left to measure on.\n{unchanged}"
        return f"{text}Saved in {output}.", facts
    report = trainer.evaluate(test_pairs)
    trainer.save(report, questions=str(flags.questions))
    return f"{report}\n{unchanged}Saved in {output}.", {**report.as_dict(), "output": output}


def _train_valid_test(flags: argparse.Namespace, few: int):
    """The pairs to train on, to validate on (or None) and to test on.

    With fewer than `few` pairs and no flag that divides them all of them train and validate; nothing tests.
    """
    from siamese.data.split import split

    pairs = _labelled(flags, flags.questions)
    names = ("train_rows", "test_rows", "valid_rows", "split", "valid", "test")
    if len(pairs) < few and not any(getattr(flags, name) for name in names):
        return pairs, pairs, None
    return split(
        pairs,
        flags.train_rows,
        flags.test_rows,
        flags.valid_rows or 0,
        flags.split,
        valid=_labelled(flags, flags.valid) if flags.valid else None,
        test=_labelled(flags, flags.test) if flags.test else None,
    )


def export(flags: argparse.Namespace) -> Result:
    """Write an index as a Parquet file, for other engines.

    siamese export old old.parquet       (id, question, columns, vector; needs pyarrow)
    """
    from siamese.search.index import QuestionIndex

    with QuestionIndex.open(flags.index) as index:
        facts = {"output": flags.parquet, "questions": index.export(flags.parquet)}
    facts["bytes"] = Path(flags.parquet).stat().st_size
    text = f"{facts['questions']:,} questions, {facts['bytes'] / 1e6:,.1f} MB"
    return f"{text}. Written to {flags.parquet}.", facts


def evaluate(flags: argparse.Namespace) -> Result:
    """Measure a saved model on labelled pairs.

    siamese evaluate runs/course --questions questions.csv --skip-rows 300000 --rows 10240
    siamese evaluate runs/course --questions pairs.jsonl --threshold 0.7 --json
    siamese evaluate runs/course --questions questions.csv --report report      (needs matplotlib)
    """
    from siamese.evaluation.report import evaluate_pairs, short_table, write_report
    from siamese.search.detector import DuplicateDetector

    detector = DuplicateDetector.load(flags.model)
    pairs = _labelled(flags, flags.questions)
    if flags.skip_rows or flags.rows is not None:
        stop = None if flags.rows is None else flags.skip_rows + flags.rows
        measured = pairs.file_rows(flags.skip_rows, stop)
        if flags.skip_rows < 0 or not len(measured):
            raise ArgumentError(
                f"--skip-rows {flags.skip_rows} --rows {flags.rows} leaves none of {len(pairs)} pairs."
            )
        pairs = measured
    scores = detector.similarity(pairs.question1, pairs.question2)
    found = evaluate_pairs(
        pairs.question1,
        pairs.question2,
        scores,
        pairs.is_duplicate,
        detector.threshold if flags.threshold is None else flags.threshold,
        threshold_from=SOURCES[threshold_source(detector, flags)],
        probabilities=None if detector.calibration is None else detector.calibrated(scores),
    )
    text, facts = short_table(found), found.to_dict()
    if flags.report:
        about = {"Model": flags.model, "File": flags.questions}
        page = write_report(flags.report, found, facts=about)
        text += f"\n\nReport: {page}\nIt quotes questions of the evaluated file: mind who may read them."
        facts["report"] = str(page)
    return text, facts


def predict(flags: argparse.Namespace) -> Result | int:
    """Say whether two questions, or many pairs, are duplicates.

    siamese predict runs/course "How old are you?" "What is your age?"
    siamese predict runs/course "How old are you?" "What is your age?" --threshold 0.7 --json
    siamese predict runs/course pairs.csv > answers.csv     (CSV, TSV or JSON Lines: a line for each line)
    ... | siamese predict runs/course -
    """
    from siamese.search.detector import DuplicateDetector

    if flags.question2 is None:
        return _predict_many(flags)
    detector = DuplicateDetector.load(flags.model)
    answer = _answer(detector, flags.question1, flags.question2, flags.threshold)
    answer["threshold_from"] = threshold_source(detector, flags)
    text = _answer_text(answer)
    return text + f"\n     {NO_LABELS}" * (answer["threshold_from"] == "default"), answer


def _predict_many(flags: argparse.Namespace) -> int:
    """Answers for a file of pairs; stops at a row that cannot be read, or leaves it out and counts it."""
    from siamese.data.reading import ReadReport, source_name
    from siamese.search.detector import DuplicateDetector
    from siamese.search.streaming import answer_file

    if flags.json:
        raise ArgumentError("Many pairs are answered in their own format; leave --json out.")
    detector = DuplicateDetector.load(flags.model)
    if threshold_source(detector, flags) == "default":
        note(f"Threshold {detector.threshold:.3f}. {NO_LABELS}")
    report = ReadReport(source_name(flags.question1), bad_rows=flags.bad_rows or "refuse")
    options = {name: getattr(flags, name) for name in ("threshold", "excel", "columns")}
    for line in answer_file(detector, flags.question1, report, **options):
        write_out(line)
    note_findings(report)
    return 0


def data(flags: argparse.Namespace) -> Result:
    """Tell what is in a file of question pairs.

    siamese data questions.csv
    siamese data train.tsv.gz --json
    """
    from siamese.data.pairs import read_pairs
    from siamese.data.summary import describe, render

    pairs = read_pairs(flags.questions, **reading(flags))
    found = describe(pairs, train_rows=flags.train_rows, test_rows=flags.test_rows)
    return render(found), found


def grade(flags: argparse.Namespace) -> Result:
    """Run students' notebooks and check their functions.

    siamese grade handed-in/*.ipynb
    siamese grade 04_assignment.ipynb --details
    siamese grade handed-in --jobs 4 --csv grades.csv --html pages
    siamese grade handed-in --notebook 4 --json > grades.json
    siamese grade handed-in --check-limit 60 --check-limit train_model=300
    siamese grade handed-in --container siamese-grading
    """
    from siamese.storage.atomic import write_text_atomically
    from siamese.teaching.grade import Limits, grade_notebooks
    from siamese.teaching.report import as_csv, make_folder, summarize, table, write_pages

    if flags.container:
        return _grade_in_container(flags)
    check_of = dict(flags.check_limit)
    check = check_of.pop("", Limits().check)
    if flags.html:  # A folder that cannot be made is told now, not after an hour.
        make_folder(flags.html)
    grades = grade_notebooks(
        flags.notebooks,
        number=flags.notebook,
        limits=Limits(flags.time_limit, check, flags.memory_limit, check_of),
        jobs=flags.jobs,
        given_out=flags.given_out,
        note=note,
    )
    if flags.csv:
        write_text_atomically(flags.csv, as_csv(grades))
    if flags.html:
        write_pages(flags.html, grades)
    found = {
        "notebooks": [one.to_dict() for one in grades],
        "points": round(sum(one.points for one in grades), 2),
        "out_of": sum(one.out_of for one in grades),
        "summary": summarize(grades),
    }
    return table(grades, details=flags.details), found


def _grade_in_container(flags: argparse.Namespace) -> Result:
    """The command line that does it; runs nothing."""
    from siamese.teaching.container import docker_command

    if len(flags.notebooks) > 1 or flags.csv or flags.given_out:
        raise ArgumentError(
            "--container takes one folder, and writes grades.csv beside the pages (--html): leave --csv "
            "and --given-out out."
        )
    limits = [f"--check-limit={name}{'=' * bool(name)}{s:g}" for name, s in flags.check_limit]
    options = [
        f"--time-limit={flags.time_limit:g}",
        f"--memory-limit={flags.memory_limit:g}",
        *limits,
    ]
    options += [f"--notebook={flags.notebook}"] if flags.notebook else []
    options += ["--details"] if flags.details else []
    command = docker_command(
        flags.container,
        flags.notebooks[0],
        flags.html or "grades",
        options,
        gigabytes=flags.memory_limit or 8.0,
        jobs=flags.jobs,
    )
    return command, {"command": command}


def doctor(flags: argparse.Namespace) -> Result:
    """Print versions, devices, what was patched and why, what is missing.

    siamese doctor --json
    """
    from siamese.cli.doctor import examine, render

    found = examine()
    return render(found), found


def _labelled(flags: argparse.Namespace, path: str):
    """The labelled pairs of a file; what was left out is printed."""
    from siamese.data.pairs import read_pairs

    pairs = read_pairs(path, **reading(flags))
    note_findings(pairs.report)
    return pairs


def _answer(
    detector, question1: str, question2: str, threshold: float | None = None
) -> dict[str, Any]:
    threshold = detector.threshold if threshold is None else threshold
    cosines = detector.similarity([question1], [question2])
    ((similarity, probability, is_duplicate),) = detector.judged(cosines, threshold)
    answer = {
        "question1": question1,
        "question2": question2,
        "is_duplicate": is_duplicate,
        "similarity": round(similarity, 6),
        "threshold": round(threshold, 6),
        "unknown_words": detector.unknown_words(question1) + detector.unknown_words(question2),
    }
    if probability is not None:
        answer["probability"] = round(probability, 6)
    return answer


def _answer_text(answer: dict[str, Any]) -> str:
    verdict = "duplicate" if answer["is_duplicate"] else "not a duplicate"
    sign = ">" if answer["is_duplicate"] else "<="
    lines = [
        f"  {answer['question1']}",
        f"  {answer['question2']}",
        f"  -> {verdict}: cosine {answer['similarity']:.3f} {sign} {answer['threshold']:.3f}",
    ]
    if "probability" in answer:
        lines[-1] += f", probability {answer['probability']:.2f}"
    if answer["unknown_words"]:
        lines.append(f"     words the model has never seen: {', '.join(answer['unknown_words'])}")
    return "\n".join(lines)
