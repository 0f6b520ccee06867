"""The commands about models: train, evaluate, answer; and what surrounds them."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from siamese.cli.output import Result, note, note_findings, reading, write_out
from siamese.errors import ArgumentError
from siamese.training import config as configs


def demo(flags: argparse.Namespace) -> Result:
    """Train on the embedded corpus, evaluate, and answer two questions.

    siamese demo --output demo --steps 300
    """
    started = time.monotonic()
    from siamese.data.corpus import embedded_corpus

    corpus = embedded_corpus()
    note(
        f"Embedded corpus: {len(corpus.train):,} training, {len(corpus.valid):,} validation and "
        f"{len(corpus.test):,} test pairs about {len(corpus.subjects)} subjects (made by a grammar)."
    )
    from siamese.training.trainer import Trainer

    course = configs.TrainConfig.course(
        steps=flags.steps,
        seed=flags.seed,
        # Trax's own start takes thousands of steps; see docs/questions.md.
        lstm_bias="forget_gate",
    )
    best = configs.TrainConfig.best(
        steps=flags.steps, epochs=0.0, seed=flags.seed, warmup_steps=max(1, flags.steps // 10)
    )
    folder, test, made = Path(flags.output), corpus.test, {}
    for preset, config, output in (("course", course, folder), ("best", best, folder / "best")):
        begun = time.monotonic()
        trainer = Trainer(
            corpus.train, config, output, valid=corpus.valid, overwrite=True, quiet=flags.json
        )
        note(
            f"Training the preset {preset}: {trainer.data.vocabulary.size:,} words, {flags.steps} steps."
        )
        trainer.train()
        report = trainer.evaluate(test)
        made[preset] = trainer.save(report), report, time.monotonic() - begun
    detector, report, _ = made["course"]
    rows = [test.is_duplicate.tolist().index(wanted) for wanted in (True, False)]
    answers = [_answer(detector, test.question1[i], test.question2[i]) for i in rows]
    seconds = time.monotonic() - started
    parts = [
        f"The course's model: {report}",
        *map(_answer_text, answers),
        _presets_table(made),
        f"Done in {seconds:.0f} s. The models are in {flags.output} (the course's) and "
        f"{flags.output}/best; ask them yourself:\n"
        f'  siamese predict {flags.output} "{answers[0]["question1"]}" "..."',
    ]
    presets = {name: report.as_dict() for name, (_, report, _) in made.items()}
    found = {"presets": presets, "answers": answers, "seconds": round(seconds, 1)}
    return "\n\n".join(parts), {**report.as_dict(), **found}


def _presets_table(made: dict) -> str:
    lines = [f"{'preset':<10}{'accuracy at 0.7':>16}{'tuned':>9}{'ROC AUC':>10}{'seconds':>9}"]
    for name, (_, report, seconds) in made.items():
        lines.append(
            f"{name:<10}{report.accuracy:>16.4f}{report.tuned_accuracy:>9.4f}{report.roc_auc:>10.4f}"
            f"{seconds:>9.0f}"
        )
    return "\n".join((*lines, "course: with lstm_bias=forget_gate, the one change the demo makes."))


def train(flags: argparse.Namespace) -> Result:
    """Train on labelled pairs; by default the course's experiment.

    siamese train --questions questions.csv --train-rows 300000 --test-rows 10240
    siamese train --questions questions.csv.gz --output runs/small --d-model 64 --epochs 2
    siamese train --questions questions.csv --steps 2000    (goes on where it stopped)
    siamese train --questions mine.csv --init-from model --output runs/mine    (fine-tuning)
    """
    hosts = (flags.coordinator, flags.processes, flags.process_id)
    if flags.distributed or any(value is not None for value in hosts):
        from siamese.training import devices

        devices.connect(*hosts)
    if not flags.init_from:
        config = configs.config_from_flags(flags)
        note(f"Choices (preset {flags.preset}):\n{config}")
    pairs = _labelled(flags, flags.questions)
    from siamese.training.fine_tuning import FEW, fine_tuning_config
    from siamese.training.split import check_both_labels, split
    from siamese.training.trainer import Trainer

    asked = (
        flags.train_rows,
        flags.test_rows,
        flags.valid_rows,
        flags.split,
        flags.valid,
        flags.test,
    )
    few = flags.init_from and len(pairs) < FEW and not any(asked)
    train_pairs, valid_pairs, test_pairs = (
        (pairs, pairs, None)
        if few
        else split(
            pairs,
            flags.train_rows,
            flags.test_rows,
            flags.valid_rows or 0,
            flags.split,
            valid=_labelled(flags, flags.valid) if flags.valid else None,
            test=_labelled(flags, flags.test) if flags.test else None,
        )
    )
    start = None
    if flags.init_from:
        from siamese.search.detector import DuplicateDetector

        start = DuplicateDetector.load(flags.init_from)
        given = configs.choices_from_flags(flags)
        config = fine_tuning_config(start, train_pairs.is_duplicate, **given)
        note(f"Choices (fine-tuning of {flags.init_from}):\n{config}")

    trainer = Trainer(
        train_pairs,
        config,
        flags.output,
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
    if trainer.loop.resumed_from:
        note(f"Going on from {trainer.loop.resumed_from} at step {trainer.loop.step}.")
    trainer.train()
    trainer.save(questions=str(flags.questions))  # Whatever the evaluation may meet.
    kept = ""
    if start and (few or not trainer.keeps_labels_for_threshold):
        kept = (
            f"Too few labels are held out to fit a threshold: it stays {start.threshold:.3f}, that of "
            f"{flags.init_from}. Fit it to more: siamese threshold {flags.output} --answers FILE\n"
        )
    if few:
        found = {
            "output": str(flags.output),
            "threshold": start.threshold,
            "steps": trainer.loop.step,
        }
        text = f"All {len(pairs)} labels trained, none is left to measure on.\n{kept}"
        return f"{text}Saved in {flags.output}.", found
    report = trainer.evaluate(test_pairs)
    trainer.save(report, questions=str(flags.questions))
    found = {**report.as_dict(), "output": str(flags.output)}
    return f"{report}\n{kept}Saved in {flags.output}.", found


def export(flags: argparse.Namespace) -> Result:
    """Make a saved model of a run's checkpoint, or a Parquet file of an index.

    siamese export runs/course
    siamese export runs/course --step 800 --output model800
    siamese export old old.parquet       (id, question, columns, vector, for other engines; needs pyarrow)
    """
    if flags.parquet is not None:
        return _export_index(flags)
    from siamese.training.export import export

    detector, path = export(flags.run, flags.step, flags.output)
    found = {"output": str(path), "step": detector.card["steps"], "threshold": detector.threshold}
    return f"Saved step {found['step']:,} in {path}; its threshold is the course's 0.7.", found


def _export_index(flags: argparse.Namespace) -> Result:
    from siamese.search.index_files import export_parquet

    if flags.step is not None or flags.output is not None:
        raise ArgumentError("--step and --output are for a run; an index has neither.")
    found = {"output": flags.parquet, "questions": export_parquet(flags.run, flags.parquet)}
    found["bytes"] = Path(flags.parquet).stat().st_size
    text = f"{found['questions']:,} questions, {found['bytes'] / 1e6:,.1f} MB"
    return f"{text}. Written to {flags.parquet}.", found


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
        stop = len(pairs) if flags.rows is None else flags.skip_rows + flags.rows
        if not 0 <= flags.skip_rows < min(stop, len(pairs)):
            raise ArgumentError(
                f"--skip-rows {flags.skip_rows} --rows {flags.rows} leaves none of {len(pairs)} pairs."
            )
        pairs = pairs.rows(flags.skip_rows, stop)
    scores = detector.similarity(pairs.question1, pairs.question2)
    found = evaluate_pairs(
        pairs.question1,
        pairs.question2,
        scores,
        pairs.is_duplicate,
        detector.threshold if flags.threshold is None else flags.threshold,
        threshold_from="saved with the model" if flags.threshold is None else "given",
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
    return _answer_text(answer), answer


def _predict_many(flags: argparse.Namespace) -> int:
    """One line out for each line of a file; 1 where a line had an error."""
    from siamese.data.files import ReadReport, shown_name
    from siamese.search.detector import DuplicateDetector
    from siamese.search.streaming import answer_file

    if flags.json:
        raise ArgumentError("Many pairs are answered in their own format; leave --json out.")
    detector = DuplicateDetector.load(flags.model)
    report = ReadReport(shown_name(flags.question1))
    options = {name: getattr(flags, name) for name in ("threshold", "bad_rows", "excel", "columns")}
    failed = 0
    for line, good in answer_file(detector, flags.question1, report, **options):
        write_out(line)
        failed += not good
    if failed:
        del report.findings["bad"]
        note(f"{failed:,} of {report.rows:,} records had an error; see their error column.")
    note_findings(report)
    return 1 if failed else 0


def data(flags: argparse.Namespace) -> Result:
    """Tell what is in a file of question pairs.

    siamese data questions.csv
    siamese data train.tsv.gz --strict --json
    """
    from siamese.data.pairs import read_pairs
    from siamese.data.summary import describe, render

    pairs = read_pairs(flags.questions, strict=flags.strict, **reading(flags))
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
    """The labelled pairs of a file; what was mended is told."""
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
