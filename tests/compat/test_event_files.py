import pytest
from tensorboardX.proto.event_pb2 import Event
from tensorboardX.proto.summary_pb2 import Summary

from siamese.compat.event_files import EventFileWriter, make_tensor_proto
from siamese.compat.loop import _disk_errors_explained
from siamese.errors import CheckpointError


def an_event(value, step):
    summary = Summary(value=[Summary.Value(tag="loss", simple_value=value)])
    return Event(step=step, summary=summary)


def test_events_are_read_back_as_they_were_written(tmp_path):
    record_reader = pytest.importorskip("tensorboardX.record_writer")
    writer = EventFileWriter(str(tmp_path / "train"))
    for step, value in ((1, 0.5), (2, 0.25)):
        writer.add_event(an_event(value, step))
    writer.close()
    (file,) = (tmp_path / "train").glob("events.out.tfevents.*")
    data, events = file.read_bytes(), []
    while data:  # length, its masked CRC, content, its masked CRC: the TFRecord format
        length = int.from_bytes(data[:8], "little")
        content = data[12 : 12 + length]
        crc = int.from_bytes(data[12 + length : 16 + length], "little")
        assert crc == record_reader.masked_crc32c(content)
        events.append(Event.FromString(content))
        data = data[16 + length :]
    assert events[0].file_version == "brain.Event:2"
    assert [(e.step, e.summary.value[0].simple_value) for e in events[1:]] == [(1, 0.5), (2, 0.25)]


def test_two_writers_of_one_second_keep_their_own_files(tmp_path):
    for _ in range(3):
        EventFileWriter(str(tmp_path)).close()
    assert len(list(tmp_path.glob("events.out.tfevents.*"))) == 3


def test_a_disk_error_is_raised_where_it_happens_and_once(tmp_path):
    """/dev/full takes nothing: writing to it is writing to a full disk."""
    writer = EventFileWriter(str(tmp_path))
    writer.add_event(an_event(0.5, 1))
    writer._writer._py_recordio_writer._writer = open("/dev/full", "wb")  # noqa: SIM115
    writer.add_event(an_event(0.5, 2))
    full = pytest.raises(CheckpointError, match=r"No space left on device\. Free some space")
    with full, _disk_errors_explained(tmp_path):
        writer.flush()
    writer.close()


def test_other_system_errors_pass_as_they_are(tmp_path):
    with pytest.raises(FileNotFoundError), _disk_errors_explained(tmp_path):
        open(tmp_path / "missing")  # noqa: SIM115


def test_a_text_tensor():
    proto = make_tensor_proto([b"a", b"b"], [2])
    assert list(proto.string_val) == [b"a", b"b"]
    assert [dim.size for dim in proto.tensor_shape.dim] == [2]
