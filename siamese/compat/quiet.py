"""Quiet loading of big packages: their known banners are held back, and nothing else is."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# Lines that TensorFlow and its parts write to stderr while loading, whatever one does with them.
_NOISE = (
    b"oneDNN custom operations are on",
    b"TF_ENABLE_ONEDNN_OPTS",
    b"Could not find cuda drivers",
    b"Unable to register cu",
    b"failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: UNKNOWN ERROR (303)",
    b"computation_placer already registered",
    b"Attempting to register factory for plugin",
    b"All log messages before absl::InitializeLog()",
    b"This TensorFlow binary is optimized to use available CPU instructions",
    b"To enable the following instructions:",
    b"Could not find TensorRT",
    b"Gym has been unmaintained since 2022",
    b"Please upgrade to Gymnasium",
    b"Users of this version of Gym should be able",
    b"See the migration guide at https://gymnasium",
)


@contextmanager
def quiet_load() -> Iterator[None]:
    """Holds back stderr while a big package loads, then writes all but the known banners."""
    import tempfile  # Not with `import siamese`: it brings a dozen modules.

    try:
        saved = os.dup(2)
    except OSError:  # stderr is closed: nothing to filter
        yield
        return
    sys.stderr.flush() if sys.stderr else None
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush() if sys.stderr else None
            os.dup2(saved, 2)
            os.close(saved)
            held.seek(0)
            rest = [line for line in held if not any(noise in line for noise in _NOISE)]
            if any(line.strip() for line in rest):
                os.write(2, b"".join(rest))
