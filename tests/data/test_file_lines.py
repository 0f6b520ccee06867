"""Lines of a file, whatever the size of the blocks it is read in."""

import gzip
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from siamese.data import file_lines
from siamese.data.file_lines import OpenFile
from siamese.data.read_report import ReadReport
from siamese.errors import DataError

pieces = st.sampled_from(
    [b"a", b"b c", b"\n", b"\r\n", b"\0", b"\xc3\xa9", b"\xe9", b"\xff", b"\n\n"]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(pieces, max_size=30), st.integers(2, 20), st.booleans())
def test_lines_equal_the_whole_file_decoded_at_once(tmp_path, parts, block, zipped):
    # The "a" at both ends keeps the file from being empty or mostly NUL bytes.
    data = b"aaaaaaaaaaaaaaaa" * 20 + b"".join(parts)
    path = tmp_path / "lines"
    path.write_bytes(gzip.compress(data) if zipped else data)
    clean = data.replace(b"\0", b"").replace(b"\r\n", b"\n").decode("utf-8", "replace")
    expected = clean.split("\n")
    report = ReadReport("lines")
    with (
        mock.patch.multiple(file_lines, BLOCK_BYTES=block, HEAD_BYTES=block),
        OpenFile(path) as file,
    ):
        lines = list(file.lines(report))
    assert "".join(lines) == clean
    assert [line.removesuffix("\n") for line in lines] == (
        expected if expected[-1] else expected[:-1]
    )

    raw = data.split(b"\n")

    def found(test):
        return [number for number, line in enumerate(raw, start=1) if test(line)]

    nul, crlf = found(lambda line: b"\0" in line), found(lambda line: line.endswith(b"\r"))
    bad = found(lambda line: "\ufffd" in line.decode("utf-8", "replace"))
    for kind, numbers in (
        ("nul", nul),
        ("crlf", [n for n in crlf if n < len(raw)]),
        ("bytes", bad),
    ):
        assert report.count(kind) == len(numbers)
        if numbers:
            assert report.findings[kind].lines == numbers[:5]


def test_a_byte_order_mark_counts_only_at_the_start(tmp_path):
    path = tmp_path / "lines"
    path.write_bytes("\ufeffa\n\ufeffb\n".encode())
    report = ReadReport("lines")
    with OpenFile(path) as file:
        assert list(file.lines(report)) == ["a\n", "\ufeffb\n"]
    assert report.findings["bom"].lines == [1] and report.count("bom") == 1


def test_a_name_that_cannot_be_a_file():
    with pytest.raises(DataError, match="cannot be read: File name too long"):
        OpenFile("x" * 5000)
