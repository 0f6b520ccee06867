"""Event files: TensorBoard's format; an error of the disk where it happens."""

import pytest
from tensorboardX.proto.event_pb2 import Event
from tensorboardX.record_writer import masked_crc32c

from siamese.compat.event_files import summary_writer
from siamese.compat.loop import _disk_errors_explained
from siamese.errors import CheckpointError


def test_events_are_read_back_as_they_were_written(tmp_path):
    writer = summary_writer(str(tmp_path / "train"))
    for step, value in ((1, 0.5), (2, 0.25)):
        writer.scalar("loss", value, step)
    writer.text("config", "a = 1", step=3)
    writer.close()
    (file,) = (tmp_path / "train").glob("events.out.tfevents.*")
    data, events = file.read_bytes(), []
    while data:  # length, its masked CRC, content, its masked CRC: the TFRecord format
        length = int.from_bytes(data[:8], "little")
        content = data[12 : 12 + length]
        assert masked_crc32c(content) == int.from_bytes(data[12 + length : 16 + length], "little")
        events.append(Event.FromString(content))
        data = data[16 + length :]
    assert events[0].file_version == "brain.Event:2"
    values = [
        (e.step, e.summary.value[0].tag, e.summary.value[0].simple_value) for e in events[1:3]
    ]
    assert values == [(1, "loss", 0.5), (2, "loss", 0.25)]
    assert list(events[3].summary.value[0].tensor.string_val) == [b"a = 1"]


def test_two_writers_of_one_second_keep_their_own_files(tmp_path):
    for _ in range(3):
        summary_writer(str(tmp_path)).close()
    assert len(list(tmp_path.glob("events.out.tfevents.*"))) == 3


def test_a_disk_error_is_raised_where_it_happens(tmp_path, monkeypatch):
    """/dev/full takes nothing: writing to it is writing to a full disk."""
    full_disk = open("/dev/full", "wb")  # noqa: SIM115
    monkeypatch.setattr("tensorboardX.record_writer.open_file", lambda path: full_disk)
    full = pytest.raises(CheckpointError, match=r"No space left on device\. Free some space")
    with full, _disk_errors_explained(tmp_path):
        writer = summary_writer(str(tmp_path))
        writer.scalar("loss", 0.5, 1)
        writer.flush()
    with pytest.raises(FileNotFoundError), _disk_errors_explained(tmp_path):
        open(tmp_path / "missing")  # noqa: SIM115
