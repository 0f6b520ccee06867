"""Indexes that were edited by hand, and hostile ones: an answer or one message each, and nothing hangs."""

import json
import random
import sqlite3
from contextlib import closing

import pytest
from refusals import refuses
from small_models import make_detector, random_questions

from siamese import QuestionPairs
from siamese.errors import CheckpointError, SiameseError
from siamese.groups.answers import AnswerChange
from siamese.index import QuestionIndex

TEXTS = [f"{text} {n}" for n, text in enumerate(random_questions(40))]
# SQL of values that an editor, or a broken program, may leave.
VALUES = (
    "NULL", "''", "'x'", "'{}'", "'[]'", "'null'", "'true'", "'-1'", "'0'", "'1e999'", "'NaN'",
    "'\"text\"'", "'[1, 2]'", "'[\"\"]'", "'[5]'", "'ä'", "0", "-1", "1.5", "1e308",
    "9223372036854775807", "-9223372036854775808", "'99999999999999999999999999'",
    f"'{'9' * 5000}'", f"'{'[' * 900}{']' * 900}'", f"""'{'{"a":' * 2000}1{"}" * 2000}'""",
    "x''", "x'00'", "x'ff'", "x'00000000'", "x'ffffffff'", "x'ffffff7f'", "x'01000000'",
    "cast(x'ff' as text)", "cast(x'22ff0a22' as text)", "zeroblob(32)", "zeroblob(100000)",
    "'{\"threshold\": \"x\"}'", "'{\"threshold\": 5, \"last\": 1}'",
    "'{\"threshold\": 0.5, \"last\": \"x\"}'", "'{\"threshold\": 0.5, \"calibration\": [1]}'",
    "'{\"threshold\": 0.5, \"calibration\": {\"slope\": \"x\"}}'",
    "'{\"threshold\": 0.5, \"calibration\": {\"borders\": 3}}'",
    "'{\"name\": 5, \"fingerprint\": 3}'", "'{\"name\": \"use\", \"fingerprint\": \"no\"}'",
)  # fmt: skip
SETTINGS = (
    "next_id",
    "size",
    "model_checksum",
    "model",
    "encoder",
    "reading",
    "fit",
    "grouping",
)
COLUMNS = {
    "question": "row id folded text columns",
    "encoded": "row stems vector",
    "term": "number stem",
    "grouped": "row first",
    "local": "row mean",
    "answer": "one two is_duplicate",
    "change": "number token base",
    "setting": "name value",
    "sqlite_sequence": "name seq",
}
READINGS = (
    {"column": 5}, {"compared": ["title"]}, {"id_column": {}}, {"repeated": 5}, {"repeated": [5]},
    {"repeated": "text"}, {"numbered": "yes"}, {"keep_repeated": 1.5}, {"repeated": {"a": {}}},
    {"repeated": {"lines": 1}}, {"repeated": {"lines": ["a"]}}, {"repeated": {"lines": {"a": "b"}}},
)  # fmt: skip
OTHERS = (
    *(
        f"update setting set value = '{json.dumps(own)}' where name = 'reading'"
        for own in READINGS
    ),
    "insert into grouped values (99999, 99999)",
    "insert into grouped values (1, 99999)",
    "update grouped set first = row + 1",
    "insert into encoded values (99999, x'01000000', zeroblob(32))",
    "insert into question values (99999, 'new', 'a', 'a', '{}')",
    "update question set row = row + 1000",
    "update encoded set vector = (select vector from encoded limit 1)",
    "pragma user_version = 150994944",
    "pragma user_version = -1",
    "pragma application_id = 5",
    "alter table question add column more",
    "alter table term rename to terms",
    "drop index question_folded",
    "drop trigger removed",
    "analyze",
)


def edits():
    """Statements of each kind: one value everywhere, in the first row or the last; rows that are gone."""
    dice = random.Random(17)
    for name in SETTINGS:
        for value in dice.sample(VALUES, 6):
            yield f"update setting set value = {value} where name = '{name}'"
        yield f"delete from setting where name = '{name}'"
    for table, columns in COLUMNS.items():
        for column in columns.split():
            for value in dice.sample(VALUES, 5):
                which = dice.choice(
                    ["", " where rowid = (select max(rowid) from {})"]
                ).format(table)
                yield f"update or ignore {table} set {column} = {value}{which}"
        yield f"delete from {table}"
        yield f"delete from {table} where rowid % 2"
    yield from OTHERS


USES = (
    lambda index: index.search(["how far", "rice"], k=50),
    lambda index: index.search("rice", mode="words"),
    lambda index: (
        index.snapshot().entries,
        index.facts.reading,
        index.detector.threshold,
        len(index),
    ),
    lambda index: index.grouped(),
    lambda index: index.answers(),
    lambda index: index.add("how old is cook"),
    lambda index: index.add(["best rice"], ids=["7"], columns=[{"z": 1}]),
    lambda index: index.remove(["3"]),
    lambda index: index.add_answers(QuestionPairs([TEXTS[5]], [TEXTS[6]], [1])),
    lambda index: index.change_answers([AnswerChange(*TEXTS[:2], None, (True,))]),
    lambda index: index.grouped(regroup=True),
    lambda index: index.set_threshold({"threshold": 0.4, "calibration": None}),
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of an index that has all that one can have."""
    folder = tmp_path_factory.mktemp("whole")
    detector = make_detector()
    reading = {"column": "title", "compared": "title", "numbered": True}
    columns = [{"n": n} for n in range(40)]
    options = {"columns": columns, "path": folder / "i", "reading": reading}
    with QuestionIndex.build(detector, TEXTS, **options) as index:
        index.set_threshold({"threshold": 0.5, "calibration": None})
        index.grouped()
        index.add_answers(QuestionPairs(TEXTS[0:4:2], TEXTS[1:4:2], [1, 0]))
    return detector, (folder / "i").read_bytes()


def use_all(path, detector):
    """Uses the index in every way; each one ends in an answer or in one message."""
    for use in USES:
        try:
            with QuestionIndex.open(path, detector) as index:
                use(index)
        except SiameseError as error:
            assert len(str(error).splitlines()) == 1 and len(str(error)) < 1000


@pytest.mark.parametrize("edit", [*edits()], ids=lambda edit: edit[:70])
def test_an_index_that_was_edited_is_an_answer_or_one_message(whole, tmp_path, edit):
    detector, content = whole
    (tmp_path / "i").write_bytes(content)
    with closing(sqlite3.connect(tmp_path / "i")) as db:
        try:
            db.execute(edit)
            db.commit()
        except sqlite3.Error:
            return  # SQLite itself refuses it.
        db.execute("pragma wal_checkpoint(truncate)").fetchall()
    use_all(tmp_path / "i", detector)


def test_bytes_changed_at_random_are_an_answer_or_one_message(whole, tmp_path):
    detector, content = whole
    dice = random.Random(5)
    for n in range(40):
        damaged = bytearray(content)
        for _ in range(dice.choice([1, 5, 200])):
            damaged[dice.randrange(len(damaged) if n % 2 else 16384)] = dice.randrange(
                256
            )
        if n % 4 == 3:
            del damaged[dice.randrange(len(damaged)) :]
        (tmp_path / "i").write_bytes(damaged)
        use_all(tmp_path / "i", detector)
        for end in ("-wal", "-shm", "-journal"):
            (tmp_path / f"i{end}").unlink(missing_ok=True)


ENDLESS = "with recursive n(x) as (select 1 union all select x + 1 from n) select"
NAMES = ("setting", "question", "encoded", "term", "grouped", "answer", "change")
IN_PLACE = "drop table {0}; create view {0} as {1} x, x, x, x, x from n"
HOSTILE = {
    **{f"an endless view {name}": IN_PLACE.format(name, ENDLESS) for name in NAMES},
    "an endless view of a pragma": f"create view pragma_user_version as {ENDLESS} x from n",
    "an endless view json_each": f"create view json_each as {ENDLESS} x as value from n",
    "a trigger that rewrites": "create trigger a after insert on question begin "
    "update question set text = 'rewritten'; end",
    "a trigger of another text": "drop trigger removed; create trigger removed after delete on question "
    "begin delete from question; end",
    "a temporary name": "create table temp_setting (name, value)",
    "an index on an expression": "create index a on question (abs(row))",
    "a column that is computed": "alter table question add column a as (hex(zeroblob(500000000)))",
    "a check": "create table a (b check (length(hex(zeroblob(400000000))) > b))",
    "a virtual table": "create virtual table a using fts5 (b)",
    "five thousand tables": "; ".join(f"create table a{n} (b)" for n in range(5000)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_index_is_refused_before_it_is_read(whole, tmp_path, name):
    detector, content = whole
    path = tmp_path / "i"
    path.write_bytes(content)
    with closing(sqlite3.connect(path)) as db:
        db.executescript(
            f"begin; {HOSTILE[name]}; commit; pragma wal_checkpoint(truncate)"
        )
    before = path.read_bytes()
    with refuses(CheckpointError, str(path), "tables"):
        QuestionIndex.open(path, detector)
    assert path.read_bytes() == before
