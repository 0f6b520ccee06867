"""Records what the package of a checkout does: run by tools/contract.py, which sets PYTHONPATH.

It uses public names (docs/api.md) and commands alone, so that it runs on any commit.
Names that a commit changes are in `NAMES`, and settings that some commits lack in
`LEAN`. A value that cannot be recorded is a text that begins with FAILED, which no
comparison passes.
"""

from __future__ import annotations

import argparse
import codecs
import csv
import gzip
import io
import json
import os
import pickle
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

# Our name of a preset -> its names in the commits, the newest first.
NAMES = {
    "course": ("course",),
    "lstm": ("lstm", "best"),
    "head": ("head",),
    "ensemble": ("ensemble", "general"),
}
# Folders of a run -> our name of them.
FOLDERS = {"lstm": "lstm", "best": "lstm", "general": "ensemble"}
# What a training leaves out where the commit has it: it is dear, or goes in a later
# commit.
LEAN = {"hard_negatives": 0, "topic_block": 1}
SMALL = {"d_model": 32, "batch_size": 64, "eval_every": 10}
STEPS = 12
SHORT = 60  # characters
# Others and duplicates: enough for a head of many labels, an LSTM beside it, and a
# curve.
TRAINING = 2600, 3800
QUESTIONS = 3000  # of the file, whose vectors are recorded
LISTED = 300  # of them stand in the commands' list, beside those by hand
SEED = 34
SLOW = 2.0  # seconds after which a value's name is printed


Pair = tuple[str, str, int]  # two questions, and 1 for duplicates


class Data(NamedTuple):
    """The questions that are asked."""

    pairs: list[Pair]  # half of them duplicates
    training: list[Pair]
    handwritten: list[dict[str, str]]
    questions: list[str]


class Recorder:
    """The recorded values by name; the last part of a name is the value's kind."""

    def __init__(self) -> None:
        self.values: dict[str, np.ndarray] = {}

    def keep(self, name: str, value: Any) -> None:
        """Keeps a value, or what a function without arguments gives."""
        try:
            begun = time.monotonic()
            self.values[name] = np.asarray(value() if callable(value) else value)
            if time.monotonic() - begun > SLOW:
                print(f"{time.monotonic() - begun:5.1f} s  {name}", file=sys.stderr)
        except Exception as error:
            traceback.print_exc()
            self.values[name] = np.asarray(f"FAILED: {type(error).__name__}: {error}")

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """A part that is noted as failed where it raises; the others are recorded still."""
        try:
            yield
        except Exception as error:
            traceback.print_exc()
            self.values[f"{name}/failed"] = np.asarray(
                f"FAILED: {type(error).__name__}: {error}"
            )


# ---- The questions ----


def read_data(path: Path | None) -> Data:
    """The questions of a table of labelled pairs, or of the embedded corpus."""
    import siamese

    if path is None:
        corpus = siamese.embedded_corpus().train
        columns = corpus.question1, corpus.question2, np.asarray(corpus.is_duplicate)
        rows = [(one, two, int(label)) for one, two, label in zip(*columns)]
    else:
        raw = path.read_bytes()
        unpacked = gzip.decompress(raw) if path.suffix == ".gz" else raw
        table = csv.DictReader(io.StringIO(unpacked.decode("utf-8"), newline=""))
        names = "question1", "question2", "is_duplicate"
        rows = [(row[names[0]], row[names[1]], int(row[names[2]])) for row in table]
    rows = [row for row in rows if row[0].strip() and row[1].strip()]
    pairs = drawn(rows, QUESTIONS // 4, QUESTIONS // 4)
    # Short questions have few lengths, for each of which a step is compiled.
    short = [row for row in rows if max(map(len, row[:2])) < SHORT]
    training = drawn(short, *TRAINING)
    if len(training) < sum(TRAINING):
        training = drawn(rows, *TRAINING)
    by_hand = next(Path(siamese.__file__).parent.rglob("handwritten.csv"))
    with open(by_hand, encoding="utf-8", newline="") as file:
        handwritten = list(csv.DictReader(file))
    questions = [question for one, two, _ in pairs for question in (one, two)]
    return Data(pairs, training, handwritten, questions)


def drawn(rows: Sequence[Pair], others: int, duplicates: int) -> list[Pair]:
    """So many pairs of each label, evenly from all rows, in a drawn order."""
    labels = np.array([label for *_, label in rows])
    chosen = []
    for label, count in enumerate((others, duplicates)):
        places = np.flatnonzero(labels == label)
        some = np.linspace(0, len(places) - 1, min(count, len(places)))
        chosen.append(places[some.astype(int)])
    order = np.random.default_rng(SEED).permutation(np.concatenate(chosen))
    return [rows[place] for place in order]


def write_table(
    name: str, header: Sequence[str], rows: Sequence[Sequence[Any]]
) -> None:
    """Writes a CSV file into the current folder."""
    with open(name, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def write_files(data: Data) -> None:
    """The lists and pairs that the commands read, in the current folder."""
    pair_header = ("question1", "question2", "is_duplicate")
    write_table("pairs.csv", pair_header, data.pairs)
    write_table("few.csv", pair_header, data.pairs[::5])
    write_table("training.csv", pair_header, data.training)
    # What `use` cannot read: there an LSTM is worth its place in an ensemble.
    secret = [
        (codecs.encode(one, "rot13"), codecs.encode(two, "rot13"), label) if n % 4 else
        (one, two, label)
        for n, (one, two, label) in enumerate(data.training)
    ]  # fmt: skip
    write_table("secret.csv", pair_header, secret)
    texts = [own["question"] for own in data.handwritten] + data.questions[:LISTED]
    header = ("id", "question", "created_at")
    # Times that are in no order, and different for all.
    rows = [(f"q{n}", text, n * 617 % 1009) for n, text in enumerate(texts)]
    write_table("list.csv", header, rows)
    write_table("plain.csv", header[1:], [row[1:] for row in rows[:400]])
    Path("lines.txt").write_text(
        "".join(" ".join(text.split()) + "\n" for text in texts[:400]), encoding="utf-8"
    )
    changed = [(i, f"{text} Please?", time) for i, text, time in rows[20:40]]
    fresh = [
        (f"n{n}", text, n)
        for n, text in enumerate(data.questions[LISTED : LISTED + 60])
    ]
    write_table("more.csv", header, [*rows[:20], *changed, *fresh])
    write_table("new.csv", header[:2], [row[:2] for row in [*fresh, *rows[:300:3]]])
    write_table("ids.csv", ("id",), [(f"q{n}",) for n in range(100, 130)])
    write_table("by_row.csv", ("id1", "id2"), [(n, n + 2) for n in range(80)])
    number = {own["id"]: f"q{n}" for n, own in enumerate(data.handwritten)}
    twins = [(own["id"], own["twin"]) for own in data.handwritten if own["twin"]]
    write_table(
        "relevant.csv", ("query_id", "id"), [(one, number[two]) for one, two in twins]
    )
    queries = [(own["id"], own["question"]) for own in data.handwritten if own["twin"]]
    write_table("queries.csv", ("id", "question"), queries)
    write_table("answers.csv", pair_header, data.pairs[: LISTED // 2 : 2])
    # What an owner would answer: the groups by hand are duplicates, near misses differ.
    text_of = {own["id"]: own["question"] for own in data.handwritten}
    first: dict[str, str] = {}
    answers = [(text_of[one], text_of[two], 0) for one, two in twins]
    for own in data.handwritten:
        if own["group"]:
            central = first.setdefault(own["group"], own["question"])
            if central != own["question"]:
                answers.append((central, own["question"], 1))
    shutil.copy("list.csv", "answered.csv")
    write_table("answered.csv.answers.csv", pair_header, answers[::2])


# ---- Commands ----


def siamese_command(*arguments: Any, stdin: str = "") -> str:
    """What a command prints on standard output; RuntimeError where it fails."""
    command = [sys.executable, "-m", "siamese.cli", *map(str, arguments)]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True)
    if done.returncode:
        shown = " ".join(map(str, arguments))
        raise RuntimeError(f"siamese {shown}: {done.returncode}: {done.stderr[-600:]}")
    return done.stdout


def timeless(text: str) -> str:
    """A command's JSON without what the clock says."""
    facts = json.loads(text)
    return json.dumps(
        {n: v for n, v in facts.items() if n not in ("seconds", "versions")}
    )


def keep_command(
    recorder: Recorder, name: str, *arguments: Any, stdin: str = ""
) -> None:
    """Keeps what a command prints: JSON where it is asked for, else a table."""
    kind = "json" if "--json" in arguments else "table"
    command = partial(siamese_command, *arguments, stdin=stdin)
    value = (lambda: timeless(command())) if kind == "json" else command
    recorder.keep(f"commands/{name}/{kind}", value)


def record_commands(recorder: Recorder, model: str = "use") -> None:
    """The tables and answers of the commands, on lists and an index."""
    keep = partial(keep_command, recorder)
    question = "How do I change my password?"
    # Lists
    keep("duplicates", "duplicates", "list.csv")
    keep(
        "duplicates facts", "duplicates", "list.csv", "--output", "groups.csv", "--json"
    )
    keep(
        "duplicates --keep created_at=min",
        "duplicates",
        "list.csv",
        "--keep",
        "created_at=min",
    )
    keep("duplicates --keep longest", "duplicates", "list.csv", "--keep", "longest")
    keep("duplicates --threshold", "duplicates", "list.csv", "--threshold", "0.6")
    keep(
        "duplicates --pairs", "duplicates", "list.csv", "--pairs", "--threshold", "0.7"
    )
    keep("duplicates --differences", "duplicates", "list.csv", "--differences")
    keep(
        "duplicates, answers beside", "duplicates", "answered.csv", "--threshold", "0.6"
    )
    keep(
        "duplicates, ids by row", "duplicates", "plain.csv", "--keep", "created_at=max"
    )
    keep("duplicates of lines", "duplicates", "lines.txt", "--threshold", "0.7")
    keep("match", "match", "new.csv", "list.csv", "-k", "3")
    keep("match, ids by row", "match", "new.csv", "plain.csv", "--threshold", "0.7")
    keep("search", "search", "list.csv", question, "--json")
    keep(
        "search --vectors-only",
        "search",
        "list.csv",
        question,
        "--vectors-only",
        "--json",
    )
    keep(
        "threshold of a list",
        "threshold",
        "list.csv",
        "--answers",
        "answers.csv",
        "--json",
    )
    shutil.copy("list.csv", "asked.csv")
    label = ("threshold", "asked.csv", "--label", "12", "--json")
    keep("threshold --label", *label, stdin="y\nn\ns\nu\n" + "y\nn\nn\n" * 12)
    keep("answers of --label", "data", "asked.csv.answers.csv", "--json")
    # Pairs
    keep(
        "predict", "predict", model, question, "How can I set a new password?", "--json"
    )
    keep(
        "predict --explain",
        "predict",
        model,
        question,
        "How is it set?",
        "--explain",
        "--json",
    )
    keep("predict of a file", "predict", model, "few.csv")
    keep("evaluate", "evaluate", model, "--questions", "few.csv", "--json")
    keep("data", "data", "pairs.csv", "--json")
    # An index
    keep(
        "index build", "index", "build", "list.csv", "--output", "list.index", "--json"
    )
    keep("index: duplicates", "duplicates", "list.index")
    keep("index: match", "match", "new.csv", "list.index", "-k", "2")
    keep("index: search", "search", "list.index", question, "--json")
    keep("index add", "index", "add", "list.index", "more.csv", "--json")
    keep("index: duplicates, after add", "duplicates", "list.index")
    regroup = ("duplicates", "list.index", "--threshold", "0.7", "--regroup")
    keep("index: duplicates --regroup", *regroup)
    keep("index remove", "index", "remove", "list.index", "ids.csv", "--json")
    keep(
        "index: threshold",
        "threshold",
        "list.index",
        "--answers",
        "answers.csv",
        "--json",
    )
    keep("index: duplicates, by answers", "duplicates", "list.index", "--keep", "first")
    keep("index: --pairs", "duplicates", "list.index", "--pairs", "--threshold", "0.7")
    queries = ("--queries", "queries.csv", "--relevant", "relevant.csv", "--json")
    keep("index: evaluate --queries", "evaluate", "list.index", *queries)
    keep("index build, ids by row", "index", "build", "plain.csv", "--json")
    keep("index: ids by row", "duplicates", "plain.csv.index", "--threshold", "0.7")
    fitted = (
        "threshold",
        model,
        "--answers",
        "answers.csv",
        "--output",
        "fitted.safetensors",
    )
    keep("threshold of a model", *fitted, "--json")
    keep("predict, fitted", "predict", "fitted.safetensors", "few.csv")


# ---- Models ----


def preset_name(preset: str) -> str:
    """The name that this commit has for a preset."""
    import siamese

    for name in NAMES[preset]:
        try:
            siamese.TrainConfig.preset(name)
            return name
        except siamese.ArgumentError:
            continue
    raise LookupError(f"This commit has no preset {preset}.")


def trained(preset: str, folder: str, questions: str, **settings: Any) -> str:
    """Trains a preset on pairs by the command; returns the run's folder."""
    import siamese

    known = siamese.TrainConfig.__dataclass_fields__
    name = preset_name(preset)
    command = ["train", "--questions", questions, "--preset", name, "--output", folder]
    command += ["--seed", SEED, "--json"]
    for setting, value in settings.items():
        if setting in ("steps", "batch_size", "learning_rate"):
            command += [f"--{setting.replace('_', '-')}", value]
        elif setting in known:
            command += ["--set", f"{setting}={value}"]
    Path(f"{folder}.json").write_text(
        timeless(siamese_command(*command)), encoding="utf-8"
    )
    return folder


def record_run(recorder: Recorder, name: str, folder: str) -> None:
    """The losses and the figures of a run."""
    for path in sorted(Path(folder).rglob("metrics.jsonl")):
        inner = [
            FOLDERS.get(part, part) for part in path.parent.relative_to(folder).parts
        ]
        lines = list(map(json.loads, path.read_text("utf-8").splitlines()))
        for figure in ("train/loss", "valid/loss"):
            values = np.array([line[figure] for line in lines], np.float64)
            place = "/".join([*inner, figure.partition("/")[0]])
            recorder.keep(f"{name}/{place}/losses", values)
    facts = json.loads(Path(f"{folder}.json").read_text("utf-8"))
    facts.pop("output", None)
    recorder.keep(f"{name}/figures/json", json.dumps(facts))


def encoded_by_a_process(pickled: bytes, texts: list[str]) -> np.ndarray:
    """A model's vectors, in another process."""
    return pickle.loads(pickled).encode(texts)


def record_model(
    recorder: Recorder, data: Data, name: str, path: str, processes: Any
) -> None:
    """Vectors, scores, hits, groups and threshold of a model."""
    import siamese

    detector = siamese.DuplicateDetector.load(path)
    by_hand = [own["question"] for own in data.handwritten]
    vectors = detector.encode(by_hand)
    recorder.keep(f"{name}/300 by hand/vectors", vectors)
    recorder.keep(f"{name}/questions/vectors", lambda: detector.encode(data.questions))
    recorder.keep(f"{name}/threshold/scores", np.float64(detector.threshold))
    one, two, _ = zip(*data.pairs)
    sides = list(one), list(two)
    recorder.keep(f"{name}/cosines/scores", lambda: detector.similarity(*sides))
    few = [side[:300] for side in sides]
    recorder.keep(f"{name}/predict/answers", lambda: detector.predict(*few))
    if detector.calibration is not None:
        recorder.keep(f"{name}/probability/scores", lambda: detector.probability(*few))
    # A model may travel and be shared.
    texts = by_hand[:100]
    expected = detector.encode(texts).tobytes()
    pickled = pickle.dumps(siamese.DuplicateDetector.load(path))
    ways: dict[str, Callable[[], list[np.ndarray]]] = {
        "pickled": lambda: [encoded_by_a_process(pickled, texts)],
        "joblib's processes": lambda: processes(pickled, texts),
        "four threads": lambda: list(
            ThreadPoolExecutor(4).map(detector.encode, [texts] * 4)
        ),
    }
    for way, encode in ways.items():
        equal = partial(
            lambda encode: [v.tobytes() == expected for v in encode()], encode
        )
        recorder.keep(f"{name}/{way}/equal", equal)
    # Hits in Python, groups by the commands.
    with siamese.QuestionIndex.build(detector, by_hand) as index:
        for mode in ("hybrid", "vectors", "words"):
            found = index.search(data.questions[:100], 5, mode=mode)
            hits = [[hit.id for hit in best] for best in found]
            cosines = [hit.similarity for best in found for hit in best]
            recorder.keep(f"{name}/{mode}/hits", json.dumps(hits))
            recorder.keep(f"{name}/{mode}/scores", np.array(cosines, np.float64))
    matches = siamese.match_questions(
        detector, by_hand[:100], data.questions[:1000], k=3
    )
    places = [[place for place, _ in best] for best in matches]
    recorder.keep(f"{name}/match_questions/hits", json.dumps(places))
    groups = siamese.duplicate_groups(detector.encode(data.questions), 0.8)
    rows = [[member.row for member in group] for group in groups]
    recorder.keep(f"{name}/duplicate_groups/groups", json.dumps(rows))
    explained = str(siamese.explain(detector, by_hand[4], by_hand[7]))
    recorder.keep(f"{name}/explain/text", explained)
    if name == "use":
        return  # `record_commands` asks it more.
    commands = {
        "duplicates": ("duplicates", "list.csv", "--model", path),
        "match": ("match", "new.csv", "list.csv", "--model", path),
        "predict": ("predict", path, "few.csv"),
    }
    for command, arguments in commands.items():
        recorder.keep(f"{name}/{command}/table", partial(siamese_command, *arguments))


def record_trainings(recorder: Recorder, data: Data, processes: Any) -> None:
    """12 steps of each preset, and models of the presets that have learnt a little."""
    few = ("train", "--questions", "few.csv", "--output", "few", "--json")
    keep_command(recorder, "train of few labels", *few)
    links = (
        "train",
        "--questions",
        "by_row.csv",
        "--list",
        "plain.csv",
        "--output",
        "links",
    )
    keep_command(recorder, "train of links by row", *links, "--json")
    for preset in ("course", "lstm", "head"):
        with recorder.part(f"12 steps/{preset}"):
            options = {"steps": STEPS, "eval_every": 1}
            folder = trained(preset, f"{preset}-steps", "training.csv", **options)
            record_run(recorder, f"12 steps/{preset}", folder)
    learning = {**LEAN, **SMALL, "steps": 60, "learning_rate": 0.01, "warmup_steps": 10}
    quick_start = {"lstm_bias": "forget_gate", "warmup_steps": 10}  # It learns at once.
    settings: dict[str, dict[str, Any]] = {
        "course": {**SMALL, **quick_start, "steps": 30},
        "lstm": learning,
        "head": {"steps": 60, "eval_every": 20},
        "ensemble": {**learning, "steps": 200},
    }
    for preset, changes in settings.items():
        with recorder.part(preset):
            questions = "secret.csv" if preset == "ensemble" else "training.csv"
            folder = trained(preset, preset, questions, **changes)
            record_run(recorder, preset, folder)
            record_model(recorder, data, preset, folder, processes)


# ---- The course ----


def record_course(recorder: Recorder, data: Data) -> None:
    """The course's functions, and 12 steps of its loop in Trax."""
    import siamese

    one = np.array(
        [[0.26726124, 0.53452248, 0.80178373], [0.5178918, 0.57543534, 0.63297887]]
    )
    v1 = one * [[1], [-1]]
    numbers = np.random.default_rng(SEED).normal(size=(2, 16, 8)).astype(np.float32)
    batch = siamese.l2_normalize(numbers[0]), siamese.l2_normalize(numbers[1])
    recorder.keep("course/l2_normalize/vectors", batch[0])
    recorder.keep("course/similarity_matrix/scores", siamese.similarity_matrix(*batch))
    recorder.keep(
        "course/cosine_similarity/scores", siamese.cosine_similarity(v1[0], one[1])
    )
    for year in (2020, 2022, 2023):
        functions = siamese.edition(year)
        losses = [functions.TripletLossFn(v1, one), functions.TripletLossFn(*batch)]
        recorder.keep(f"course/edition {year}/losses", np.array(losses, np.float64))
    for direction in ("rows", "columns", "both"):
        options = {"direction": direction, "reduction": "none"}
        loss = siamese.TripletLossFn(*batch, **options)
        recorder.keep(f"course/{direction}/losses", np.asarray(loss))
    tokens = [siamese.word_tokenize(text) for text in data.questions]
    recorder.keep("course/word_tokenize/tokens", json.dumps(tokens))
    words = {"<PAD>": 1}
    for row in tokens:
        for word in row:
            words.setdefault(word, len(words) + 1)
    ids = [[words[word] for word in row] for row in tokens]
    random.seed(SEED)
    batches = siamese.data_generator(ids[::2], ids[1::2], 64)
    for number in range(3):
        recorder.keep(f"course/data_generator {number}/batch", np.stack(next(batches)))
    siamese.train_model  # noqa: B018  # In some commits Trax's import draws numbers.
    random.seed(SEED)
    np.random.seed(SEED)
    network = partial(siamese.Siamese, len(words) + 1, 32)
    recorder.keep("course/Siamese/text", lambda: str(network()))
    printed = io.StringIO()
    with redirect_stdout(printed):
        loop = siamese.train_model(
            network, siamese.TripletLoss, batches, batches, "trax", random_seed=SEED,
            eval_at=lambda step: True,
        )  # fmt: skip
        loop.run(STEPS)
    lines = [line for line in printed.getvalue().splitlines() if "secs" not in line]
    recorder.keep("course/train_model/text", "\n".join(lines))
    history = loop.history.get("eval", "metrics/TripletLoss")
    recorder.keep("course/train_model/losses", np.array([loss for _, loss in history]))
    pair = next(siamese.data_generator(ids[::2], ids[1::2], 64, shuffle=False))
    for side, vectors in enumerate(loop.eval_model(pair)):
        recorder.keep(f"course/trained {side}/vectors", np.asarray(vectors))
    labels = [label for *_, label in data.pairs]
    arguments = (
        ids[::2][:512],
        ids[1::2][:512],
        labels[:512],
        0.7,
        loop.eval_model,
        words,
    )
    recorder.keep("course/classify/scores", lambda: siamese.classify(*arguments))
    Path("vocabulary.json").write_text(json.dumps(words), encoding="utf-8")
    imported = (
        "import-weights",
        "trax",
        "imported",
        "--vocab",
        "vocabulary.json",
        "--json",
    )
    recorder.keep("course/import-weights/json", partial(siamese_command, *imported))
    predict = partial(siamese_command, "predict", "imported", "few.csv")
    recorder.keep("course/import-weights, predict/table", predict)


def main() -> None:
    """The command line of tools/contract.py."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--checkout", type=Path, required=True)
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--quick", action="store_true")
    flags = parser.parse_args()

    import siamese

    if flags.checkout.resolve() not in Path(siamese.__file__).resolve().parents:
        sys.exit(f"siamese is {siamese.__file__}, which is not in {flags.checkout}.")
    from joblib import Parallel, delayed

    def processes(pickled: bytes, texts: list[str]) -> list[np.ndarray]:
        call = delayed(encoded_by_a_process)
        return Parallel(n_jobs=2)(call(pickled, texts) for _ in range(2))

    recorder = Recorder()
    data = read_data(flags.questions)
    with tempfile.TemporaryDirectory(prefix="contract-") as folder:
        os.chdir(folder)
        write_files(data)
        with recorder.part("use"):
            record_model(recorder, data, "use", "use", processes)
        with recorder.part("course"):
            record_course(recorder, data)
        with recorder.part("commands"):
            record_commands(recorder)
        if not flags.quick:
            with recorder.part("trainings"):
                record_trainings(recorder, data, processes)
        os.chdir("/")
    np.savez_compressed(flags.out, **recorder.values)


if __name__ == "__main__":
    main()
