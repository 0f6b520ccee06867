"""Reading for the commands: lists of questions, models, and indexes.

Nothing is printed here: what is to be said of a file or a model is returned in lines.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from siamese.cli.arguments import (
    CheckOptions,
    ListReading,
    RowReading,
    answers_file,
    flag_of,
    given,
    refuse_flags,
)
from siamese.cli.messages import in_flags
from siamese.encoders import (
    GET_MINILM,
    MINILM,
    MINILM_PACKAGE,
    USE,
    is_encoder_name,
)
from siamese.encoders.joined import Joined
from siamese.encoders.languages import KNOWN, knowing_parts, unknown_languages
from siamese.encoders.protocol import FrozenEncoder
from siamese.errors import ArgumentError, CheckpointError, DataError
from siamese.model.across import ENGLISH_WITH_OTHER, TWO_OTHERS
from siamese.model.detector import DuplicateDetector, is_lower_across
from siamese.model.near_misses import NearMissCheck
from siamese.reading.questions import QuestionList, read_questions
from siamese.system.arguments import counted
from siamese.system.files import explained
from siamese.system.open_types import JsonMapping, Keywords
from siamese.text.columns import normal_name, read_spec
from siamese.text.display import NO_LABELS
from siamese.text.language import (
    ENGLISH,
    LANGUAGES,
    ListLanguages,
    list_languages,
    spread,
)

if TYPE_CHECKING:
    from siamese.index import QuestionIndex
    from siamese.reading.rows import ReadReport

# By benchmarks/default_threshold.py.
ABOVE_DEFAULT = (
    "Of pairs above it 6 in 10 were duplicates among Quora's questions, 8 in 10 in news, 9 in 10 on a "
    "forum."
)
MANY = 10_000  # questions of a list from which on an index is advised
LIST_FLAGS = ("bad_rows", "encoding", "column", "id_column", "keep_repeated")


class UnreadList(DataError):
    """A list that cannot be read so; `options` are those of `read_questions`."""

    def __init__(self, error: DataError, path: str, options: Keywords):
        super().__init__(error.message, arguments=error.arguments)
        self.path = path
        self.options = options


# ---- Lists of questions ----


def row_options(read: RowReading) -> Keywords:
    """How the rows of a file are read, as the library's readers take it."""
    return {"bad_rows": read.bad_rows, "encoding": read.encoding}


def question_list(
    path: str, read: ListReading, repeated: JsonMapping | None = None
) -> QuestionList:
    """The questions of a file; `repeated` is that of `read_questions`."""
    options: Keywords = {
        **row_options(read),
        "column": read.column,
        "id_column": read.id_column,
        "keep_repeated": read.keep_repeated,
        "repeated": repeated,
    }
    try:
        return read_questions(path, **options)
    except DataError as error:
        raise UnreadList(error, path, options) from None


def questions_like(
    index: QuestionIndex, path: str, read: ListReading, names: Sequence[str]
) -> QuestionList:
    """The questions of a file for an index, read as its list was where no flag of these names is given."""
    built = index.facts.reading
    own = {name: built[name] for name in names if name in built} | given(read)
    known = {name: value for name, value in own.items() if name in LIST_FLAGS}
    return question_list(path, replace(read, **known), built.get("repeated"))


def about_list(
    path: str, questions: QuestionList, ids: str = "the numbers of the data rows from 0"
) -> list[str]:
    """What was read of a list, and what was left out; `ids` are those of a list without its own."""
    names = list(dict.fromkeys(name for row in questions.columns or () for name in row))
    used = set(map(normal_name, read_spec(questions.column, names).columns))
    others = ", ".join(name for name in names if normal_name(name) not in used)
    if questions.has_ids:
        ids = "the file's own"
    count = counted(len(questions.ids), "question")
    text = f"{path}: {count}; column: {questions.column}; ids: {ids}"
    text += f"; not compared: {others}." if others else "."
    return [text, *findings(questions.report)]


def about_columns(index: QuestionIndex, questions: QuestionList) -> list[str]:
    """A line where a list is compared by other columns than the questions of an index."""
    compared = index.facts.reading.get("compared", questions.column)
    if questions.column == compared:
        return []
    return [
        f"The index compares {compared}, and of these questions {questions.column}."
    ]


def findings(report: ReadReport | None) -> list[str]:
    """Which rows of a file were left out or repeated."""
    assert report is not None  # They were read from a file.
    lines = report.finding_lines()
    if not lines:
        return []
    spoken = [in_flags(line, ("keep_repeated", "id_column")) for line in lines]
    return ["\n  ".join([f"{report.path}:", *spoken])]


# ---- Models ----

OWN_CHECK = CheckOptions()  # no flags: a model has the near-miss check that it has


def refuse_preset(name: str) -> None:
    """Refuses a preset's name in a model's place, with the command that trains it."""
    from siamese.training.config import PRESETS

    if name in PRESETS and not os.path.exists(name):
        raise ArgumentError(
            f"`{name}` is a preset of `siamese train`; train it first: siamese train --questions "
            f"LABELLED.csv --preset {name} --output runs/{name}, then name runs/{name}."
        )


def with_check_of(
    detector: DuplicateDetector, name: str, check: CheckOptions
) -> DuplicateDetector:
    """A model with the near-miss check that flags ask for; they are refused for one without a check."""
    if not given(check):
        return detector
    if detector.check is None:
        refuse_flags("", "a model without a check", check, name)
    if check.no_near_miss_check:
        return detector.with_check(None)
    return detector.with_check(NearMissCheck.shipped(check.ignore))


def load_model(name: str, check: CheckOptions = OWN_CHECK) -> DuplicateDetector:
    """The model of a path or an encoder's name, with the near-miss check that flags ask for."""
    refuse_preset(name)
    try:
        detector = DuplicateDetector.load(name)
    except CheckpointError as error:
        if os.path.isfile(name):
            raise
        raise CheckpointError(f"{error.message} `siamese train` makes one.") from None
    return with_check_of(detector, name, check)


def too_long(detector: DuplicateDetector, questions: Iterable[str]) -> list[str]:
    """A line on how many questions are too long for the model, where there are any."""
    count = detector.encoder.truncated(questions)
    if not count:
        return []
    question = counted(count, "question")
    return [f"{question} too long for the model, which reads only the beginning."]


def no_labels(
    detector: DuplicateDetector, name: str, threshold: float | None
) -> list[str]:
    """What is said where the model's own threshold counts and is a default, with no labels behind it."""
    if threshold is not None or detector.threshold_from != "default":
        return []
    if isinstance(detector.encoder, FrozenEncoder):
        name = f"Encoder {detector.encoder.name}"
    fit = "`siamese threshold` fits it to yours"
    line = f"{name}, threshold {detector.threshold:.3f}. {NO_LABELS[:-1]}; {fit}."
    is_measured = detector.encoder.name == USE and detector.check is not None
    return [line, ABOVE_DEFAULT] if is_measured else [line]


# ---- The languages of a list ----

LOOKED_AT = 1_000  # questions of an index, by which its language is told
# So many times as long as `use` takes `minilm`: 6 on short questions, 13 on tickets
# (docs/tasks/train.md).
TIMES_USE = 10
FEW = 500  # questions, which take less than a minute on any machine
TIMED = 200  # questions of a longer list whose time by `use` is taken
MULTILINGUAL = "--model NAME, a multilingual model of sentence-transformers"


def for_languages(
    detector: DuplicateDetector, questions: Sequence[str], languages: ListLanguages
) -> DuplicateDetector:
    """An encoder's model without the parts that do not know the languages of a list; others as they are."""
    if detector.threshold_from != "default" or not isinstance(detector.encoder, Joined):
        return detector
    encoder = knowing_parts(detector.encoder, questions, languages)
    if encoder is detector.encoder:
        return detector
    return DuplicateDetector.from_encoder(encoder).with_check(detector.check)


def about_languages(
    detector: DuplicateDetector,
    questions: Sequence[str],
    languages: ListLanguages | None = None,
    asked: str | None = None,
) -> list[str]:
    """A line for each language, from 5 % of a list on, that the model or a part of it does not know.

    Args:
      detector: the model that compares.
      questions: the list.
      languages: those of the list, where they are known.
      asked: the name of the model that was asked for, which may have more parts.
    """
    own = detector.encoder.name
    left_out = set(asked.split("+")) - set(own.split("+")) if asked else set()
    name = "+".join([own, *sorted(left_out & KNOWN.keys())])
    lines = []
    for unknown in unknown_languages(questions, name, languages):
        if unknown.part in left_out:
            lines.append(f"{unknown.text}; `{own}` alone compares these questions.")
            continue
        other = "--model use" if unknown.language in KNOWN["use"] else MULTILINGUAL
        lines.append(f"{unknown}. Another encoder: {other}.")
    return lines


def about_across(
    detector: DuplicateDetector, threshold: float | None, *codes: str
) -> list[str]:
    """A line where the default threshold counts for questions of several languages.

    `codes` are these languages, keys of `LANGUAGES`.
    """
    if threshold is not None or not is_lower_across(detector) or len({*codes}) < 2:
        return []
    with_english, others = (
        f"{detector.threshold - lower:.3f}"
        for lower in (ENGLISH_WITH_OTHER, TWO_OTHERS)
    )
    return [
        f"Between two languages the threshold is lower: {with_english} for English with "
        f"another one, {others} for two others."
    ]


def codes_of(index: QuestionIndex) -> list[str]:
    """The languages of an index, where they are known."""
    languages = index.facts.languages
    return [] if languages is None else list(languages.shares)


def about_stems(index: QuestionIndex) -> list[str]:
    """A line where words of another language are found as if they were English."""
    if index.facts.languages is not None:
        return []
    texts = [entry["question"] for entry in index.snapshot().entries[:LOOKED_AT]]
    main = list_languages(texts).main
    if main == ENGLISH:
        return []
    return [
        f"Its words are stemmed as English ones, and the questions look {LANGUAGES[main]}; "
        "made again, the index takes their own stems."
    ]


def about_minilm(detector: DuplicateDetector, questions: Sequence[str]) -> list[str]:
    """A line on what `minilm` would take for an English list that `use` compares."""
    if detector.encoder.name != USE or not questions:
        return []
    minutes = 0
    if len(questions) > FEW:
        minutes = round(TIMES_USE * _seconds(detector, questions) / 60)
    takes = "less than a minute"
    if minutes:
        takes = "about a minute" if minutes == 1 else f"about {minutes:,} minutes"
    line = f"On English tickets --model {MINILM} finds more, and takes {takes} here."
    if importlib.util.find_spec(MINILM_PACKAGE) is None:
        line = f"{line} To get it: {GET_MINILM}"
    return [line]


def _seconds(detector: DuplicateDetector, questions: Sequence[str]) -> float:
    """How long a list takes on all cores, by a sample on one."""
    sample = [questions[at] for at in spread(len(questions), TIMED)]
    detector.encode(sample[:1])  # The first time takes longer.
    begun = time.perf_counter()
    detector.encode(sample)
    seconds = time.perf_counter() - begun
    return seconds * len(questions) / len(sample) / (os.cpu_count() or 1)


# ---- What a command compares: an index, or a list of questions ----


def kind_of(path: str) -> str:
    """The kind of a path or a name: 'index', 'model' (also where nothing is there) or 'questions'."""
    if path != "-" and (is_encoder_name(path) or os.path.isdir(path)):
        return "model"
    if os.path.isfile(path):
        with explained(path, "read", DataError), open(path, "rb") as file:
            start = file.read(16)
        if start == b"SQLite format 3\0":
            return "index"
        # Of safetensors, the length of a JSON header and its start.
        if start[5:9] == b"\0\0\0{":
            return "model"
    return "questions" if path == "-" or os.path.exists(path) else "model"


def kind_of_target(path: str) -> str:
    """`kind_of` what a command is given to work on; ArgumentError where nothing is there."""
    if path != "-" and not os.path.exists(path) and not is_encoder_name(path):
        refuse_preset(path)
        raise ArgumentError(
            f"There is no {path}: no list of questions, no index and no model."
        )
    return kind_of(path)


def same_target(path: str, options: TargetOptions) -> str:
    """An index or a list with its flags, as the next command names it again."""
    flags: Keywords = {"model": options.model} if options.model else {}
    flags |= given(options.check)
    if "ignore" in flags:
        flags["ignore"] = ",".join(options.check.ignore)
    read = options.read
    if kind_of(path) != "index":
        own = given(read)
        flags |= {name: own[name] for name in LIST_FLAGS if name in own}
    words = [path]
    for name, value in flags.items():
        words += [flag_of(name)] if value is True else [flag_of(name), value]
    return shlex.join(words)


@dataclass
class Source:
    """What a command compares: the questions of an index, or of a list, and their model."""

    path: str
    name: str  # of the model
    detector: DuplicateDetector
    questions: QuestionList | None = None  # None: an index in a file
    # The `QuestionIndex`; that of a list is made when it is asked for.
    stored: QuestionIndex | None = None
    language: str | None = None  # the main one of the questions, where it was said
    languages: ListLanguages | None = None  # of a list
    answers: str | None = None  # the file of answers beside a list, if it is there
    delimiter: str = ","  # between the cells of a list: a table goes out so

    def notes(self) -> list[str]:
        """What is to be said of a list before it is compared, or of the words of an index."""
        if self.questions is None or self.languages is None:
            return about_stems(self.index())
        compared = self.questions.compared
        lines = about_list(self.path, self.questions)
        if len(compared) > MANY and self.path != "-":
            lines.append("`siamese index build` keeps the vectors.")
        lines += too_long(self.detector, compared)
        if self.languages.is_english:
            return lines + about_minilm(self.detector, compared)
        return lines + about_languages(
            self.detector, compared, self.languages, self.name
        )

    def index(self) -> QuestionIndex:
        """The `QuestionIndex`; that of a list is in memory, and its questions are encoded now."""
        if self.stored is None:
            self.stored = build_index(
                self.detector, self.questions, language=self.language
            )
        return self.stored


class TargetOptions(Protocol):
    """The options of a command that compares the questions of a list or an index."""

    @property
    def model(self) -> str | None:
        """A model's path or an encoder's name; None for that of the index, or `use`."""

    @property
    def check(self) -> CheckOptions:
        """What counts as a near miss."""

    @property
    def read(self) -> ListReading:
        """How a list is read."""


@contextlib.contextmanager
def opened(
    path: str, options: TargetOptions, language: str | None = None
) -> Iterator[Source]:
    """The index at a path, or a list of questions with its model, until the end of the block.

    `language` is the main one of a list where it is said.
    """
    name = options.model or path
    if kind_of_target(path) != "questions":
        with open_index(path, options.model, options.check) as index:
            main = index.facts.reading.get("language")
            yield Source(path, name, index.detector, stored=index, language=main)
        return
    detector = load_model(options.model or "use", options.check)
    questions = question_list(path, options.read)
    languages = list_languages(questions.compared, language)
    beside = answers_file(path)
    yield Source(
        path,
        name,
        for_languages(detector, questions.compared, languages),
        questions,
        language=language,
        languages=languages,
        answers=beside if os.path.isfile(beside) else None,
        delimiter=questions.report.delimiter,
    )


def open_index(
    path: str, model: str | None, check: CheckOptions | None = None
) -> QuestionIndex:
    """The `QuestionIndex` in a file, with another near-miss check where flags ask for one."""
    from siamese.index import QuestionIndex

    kind_of_target(path)
    if check is None or not given(check):
        return QuestionIndex.open(path, model)

    def asked_check(detector: DuplicateDetector) -> NearMissCheck | None:
        return with_check_of(detector, path, check).check

    return QuestionIndex.open(path, model, check=asked_check)


def build_index(
    detector: DuplicateDetector,
    questions: QuestionList | None,
    language: str | None = None,
    **options: Any,
) -> QuestionIndex:
    """The `QuestionIndex` of a list, in memory or (with `path`) in a file.

    `language` is the main one where it is said.
    """
    from siamese.index import QuestionIndex

    assert questions is not None
    reading = {
        "compared": questions.column,
        "repeated": questions.repeated.to_json(),
        **({"language": language} if language else {}),
        **options.pop("reading", {}),
    }
    return QuestionIndex.build(
        detector,
        questions.questions,
        ids=questions.ids,
        columns=questions.columns,
        compared=questions.compared,
        reading=reading,
        show_progress=sys.stderr.isatty(),
        **options,
    )
