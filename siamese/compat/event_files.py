"""TensorBoard's event files without TensorFlow: what Trax's Loop writes its figures with.

tensorboardX has the protocol buffers and the file format. Its own writer works in a thread of its own, in
which a full disk ends in a traceback that nobody can catch; this one writes where it is called.
"""

from __future__ import annotations

import itertools
import os
import time
from types import SimpleNamespace

_opened = itertools.count()


def summary_writer(log_dir: str, enable: bool = True) -> SimpleNamespace:
    """A writer to a new file in `log_dir`, with those methods of Trax's SummaryWriter that its Loop calls.

    Trax's `enable` has no effect.
    They are scalar(tag, number, step), text(tag, text, step), flush() and close(); each, and the making,
    raises OSError where the file cannot be written.
    """
    from tensorboardX import summary
    from tensorboardX.event_file_writer import EventsWriter
    from tensorboardX.proto.event_pb2 import Event

    os.makedirs(log_dir, exist_ok=True)
    # Names by the second alone: a second writer within it would begin the first one's file anew.
    writer = EventsWriter(os.path.join(log_dir, "events"), f".{os.getpid()}.{next(_opened)}")

    def add(make):
        def write(tag, value, step=None):
            event = Event(summary=make(tag, value), step=int(step or 0), wall_time=time.time())
            writer.write_event(event)

        return write

    methods = {"flush": writer.flush, "close": writer.close}
    return SimpleNamespace(scalar=add(summary.scalar), text=add(summary.text), **methods)
