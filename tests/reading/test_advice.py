"""What a message advises works when it is followed."""

import gzip
import re

import pytest
from refusals import refuses

from siamese.errors import DataError
from siamese.reading.pairs import read_pairs
from siamese.reading.questions import read_questions

QUESTION = "question,by\n{},me\nhow far is it,you\n"
# What a file holds, the encodings that read it right, and the encoding that was asked
# for.
TEXTS = {
    "western": ("Où est le café", "cp1252", None),
    "western, bytes of cp1252 alone": ("“Où” – 5 €", "cp1252", None),
    "old Mac": ("Où est le café Ångström", "mac_roman", None),
    "DOS": ("Wie fährt man über Köln", "cp850", None),
    "Polish": ("Gdzie jest Łódź ž", "cp1250", None),
    "Russian": ("Где находится музей", "cp1251", None),
    "Japanese": ("駅はどこですか", "shift_jis", None),
    "Chinese": ("火车站在哪里", "gb18030", None),
    "Korean": ("역이 어디에 있나요", "euc_kr", None),
    "UTF-16": ("Où est le café", "utf-16-le", None),
    "UTF-16, the other": ("Où est le café", "utf-16-be", None),
    "UTF-8, asked for as ASCII": ("Où est le café", "utf-8", "ascii"),
    "western, asked for as UTF-16": ("Où est le café", "cp1252", "utf-16"),
    "western, asked for as UTF-8": ("Où est le café", "cp1252", "utf-8"),
    "UTF-16 without its mark": ("Où est le café", "utf-16-le", "utf-16"),
}


def advised(message):
    """The encodings that a message names."""
    return dict.fromkeys(re.findall(r"encoding='([\w-]+)'", message))


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("name", TEXTS)
def test_each_encoding_that_a_message_names_reads_the_file(tmp_path, name, packed):
    text, encoding, asked = TEXTS[name]
    content = QUESTION.format(text).encode(encoding)
    path = tmp_path / "q.csv"
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(DataError) as error:
        read_questions(path, encoding=asked)
    names = advised(str(error.value))
    assert names, error.value
    read = {name: read_questions(path, encoding=name).questions for name in names}
    if not packed or asked is None:
        assert any(questions[0] == text for questions in read.values()), (names, read)


def test_bytes_that_cp1252_lacks_are_no_reason_to_advise_it(tmp_path):
    path = tmp_path / "q.csv"
    path.write_bytes(b"question,by\ncaf\x81 \x8d,me\n")
    with pytest.raises(DataError) as error:
        read_questions(path)
    assert advised(str(error.value)) and "cp1252" not in advised(str(error.value))
    for name in advised(str(error.value)):
        read_questions(path, encoding=name)
    with pytest.raises(DataError) as error:
        read_questions(path, encoding="cp1252")
    assert "cp1252 reads" not in str(error.value)
    for name in advised(str(error.value)):
        read_questions(path, encoding=name)


@pytest.mark.parametrize("first", ["utf-8", "cp1252"])
def test_no_encoding_is_advised_for_a_file_that_has_two(tmp_path, first):
    other = {"utf-8": "cp1252", "cp1252": "utf-8"}[first]
    path = tmp_path / "q.csv"
    lines = b"question,by\n", "Où,me\n".encode(first), "café,you\n".encode(other)
    path.write_bytes(b"".join(lines))
    with pytest.raises(DataError) as error:
        read_questions(path)
    assert not advised(str(error.value)) and "Correct it" in str(error.value)
    assert len(read_questions(path, bad_rows="skip").questions) == 1


@pytest.mark.parametrize("bad_rows", ["refuse", "skip"])
def test_a_header_in_another_encoding_is_advised_about_too(tmp_path, bad_rows):
    path = tmp_path / "q.csv"
    path.write_bytes("question,où\nhow far,me\n".encode("cp1252"))
    with pytest.raises(DataError) as error:
        read_questions(path, bad_rows=bad_rows)
    assert "cp1252" in advised(str(error.value))


@pytest.mark.parametrize(
    "names", ["title,question", "my title,a question", "a+b,question"]
)
def test_a_column_that_a_message_names_is_read(tmp_path, names):
    path = tmp_path / "q.csv"
    path.write_text(f"question,text,{names.split(',')[0]}\nhow,far,x\n")
    with pytest.raises(DataError) as error:
        read_questions(path)
    columns = re.findall(r"column='([^']+)'", str(error.value))
    assert columns
    for column in columns:
        assert read_questions(path, column=column).questions


def test_ids_are_read_with_their_texts(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text("id1,id2\na,b\n")
    with refuses(DataError, "texts="):
        read_pairs(path)
    assert len(read_pairs(path, texts={"a": "how", "b": "far"})) == 1
