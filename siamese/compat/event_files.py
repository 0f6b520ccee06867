"""TensorBoard's event files without TensorFlow: what Trax's Loop writes its figures with.

tensorboardX has the protocol buffers and the file format. Its own EventFileWriter writes in a thread of its
own, in which a full disk ends in a traceback that nobody can catch; this one writes where it is called.
"""

from __future__ import annotations

import importlib
import itertools
import os
from contextlib import nullcontext, suppress
from typing import Any

_opened = itertools.count()


def tensorboard(module: str, name: str | None = None) -> Any:
    """A module of tensorboardX, or a name in it."""
    found = importlib.import_module(f"tensorboardX.{module}")
    return getattr(found, name) if name else found


class EventFileWriter:
    """Adds events to a new file in `log_dir`; the methods of TensorFlow's class of that name.

    Nothing is queued: `max_queue` and `flush_secs` have no effect.

    Raises:
      OSError: here, in `add_event` or in `flush`: the file cannot be written.
    """

    def __init__(self, log_dir, max_queue=10, flush_secs=120, filename_suffix=None):
        os.makedirs(log_dir, exist_ok=True)
        # Names by the second alone: a second writer within it would begin the first one's file anew.
        unique = f".{os.getpid()}.{next(_opened)}{filename_suffix or ''}"
        events_writer = tensorboard("event_file_writer", "EventsWriter")
        self._writer = events_writer(os.path.join(log_dir, "events"), unique)
        self._failed = False

    def _tried(self, method, *args) -> None:
        try:
            method(*args)
        except OSError:
            self._failed = True
            raise

    def add_event(self, event) -> None:
        """Writes one event, a protocol buffer."""
        self._tried(self._writer.write_event, event)

    def flush(self) -> None:
        """Hands what was written to the system."""
        self._tried(self._writer.flush)

    def close(self) -> None:
        """Closes the file; an error that was raised already is not raised again."""
        with suppress(OSError) if self._failed else nullcontext():
            self._writer.close()


def make_tensor_proto(values, shape):
    """`tf.make_tensor_proto` for texts, which is what Trax's Loop asks for."""
    proto = tensorboard("proto.tensor_pb2")
    shapes = tensorboard("proto.tensor_shape_pb2").TensorShapeProto
    return proto.TensorProto(
        dtype="DT_STRING",
        string_val=values,
        tensor_shape=shapes(dim=[shapes.Dim(size=size) for size in shape]),
    )
