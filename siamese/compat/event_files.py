"""TensorBoard's event files without TensorFlow: what Trax's Loop writes its figures with.

tensorboardX has the protocol buffers and the file format. Its own EventFileWriter writes in a thread of its
own, in which a full disk ends in a traceback that nobody can catch; this one writes where it is called.
"""

from __future__ import annotations

import itertools
import os
from contextlib import suppress
from typing import Any

_opened = itertools.count()


class EventFileWriter:
    """Adds events to a new file in `log_dir`; the methods of TensorFlow's class of that name.

    Nothing is queued: the further arguments, which say how, have no effect.

    Raises:
      OSError: here, in `add_event` or in `flush`: the file cannot be written.
    """

    def __init__(self, log_dir, *queueing: Any):
        from tensorboardX.event_file_writer import EventsWriter

        os.makedirs(log_dir, exist_ok=True)
        # Names by the second alone: a second writer within it would overwrite the first one's file.
        unique = f".{os.getpid()}.{next(_opened)}"
        self._writer = EventsWriter(os.path.join(log_dir, "events"), unique)
        self.add_event, self.flush = self._writer.write_event, self._writer.flush

    def close(self) -> None:
        """Closes the file; `flush` has raised what went wrong before."""
        with suppress(OSError):
            self._writer.close()


def make_tensor_proto(values, shape):
    """`tf.make_tensor_proto` for texts, which is what Trax's Loop asks for."""
    from tensorboardX.proto.tensor_pb2 import TensorProto
    from tensorboardX.proto.tensor_shape_pb2 import TensorShapeProto

    dims = TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in shape])
    return TensorProto(dtype="DT_STRING", string_val=values, tensor_shape=dims)
