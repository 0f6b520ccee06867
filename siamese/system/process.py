"""What belongs to the whole process: memory, compiled programs, signals, time, random generators.

A training step on the CPU needs some 100 MB for its intermediate arrays. XLA asks the C
library for them at each step and frees them after it. glibc takes blocks of that size
from the system and gives them back at once, and the system clears every page again:
half of a step's time went into that. A list of 144,593 questions needs the opposite:
what its encoding has freed must serve its groups, or go back to the system.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import platform
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import numpy as np

# From glibc's malloc.h: its number -> what it is set to.
# M_ARENA_MAX: threads share one heap; their own hold no block over 64 MB.
_ONE_HEAP = {-8: 1}
_KEPT_HEAP = _ONE_HEAP | {
    -4: 0,  # M_MMAP_MAX: large blocks too come from the heap,
    -1: 2**31 - 1,  # M_TRIM_THRESHOLD: which is never given back,
    -2: 64 << 20,  # M_TOP_PAD: and grows by large pieces.
}
MOST_CACHED = 512 << 20  # bytes of compiled programs on disk
LEAST_SECONDS = 0.01  # of the compilation of a program that is kept


@functools.cache
def keep_memory() -> bool:
    """Sets glibc's malloc to keep memory for the next training step; does nothing on other C libraries.

    It is for the whole process and cannot be undone: peak memory stays what it is, but
    between steps the process does not shrink. Call it before JAX is first used, whose
    threads keep the heaps they have.

    Returns:
      Whether it took effect: True on Linux with glibc.
    """
    return _set_malloc(_KEPT_HEAP)


def share_heap() -> bool:
    """Lets all threads allocate from one heap: what one thread frees serves the others.

    For the rest see `keep_memory`, which does this too.
    """
    return _set_malloc(_ONE_HEAP)


def _set_malloc(settings: Mapping[int, int]) -> bool:
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return all(mallopt(name, value) == 1 for name, value in settings.items())


def enable_compile_cache() -> Path | None:
    """Keeps XLA's compiled programs on disk, so that a second process does not compile them again.

    It is JAX's own cache and holds what JAX compiles from here on, for any code in the
    process, in ``$XDG_CACHE_HOME/siamese/xla`` (or ``~/.cache/...``); a directory that
    the user has already set in JAX stays. Where it has grown beyond 512 MiB, the call
    removes the oldest programs.

    Returns:
      The directory in use, or None where it cannot be written.
    """
    import jax

    if own := getattr(jax.config, "jax_compilation_cache_dir", None):
        return Path(own)
    directory = _writable_cache()
    if directory is None:
        return None
    _remove_oldest(directory)
    jax.config.update("jax_compilation_cache_dir", str(directory))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", LEAST_SECONDS)
    return directory


@contextmanager
def keeping_compiled_programs() -> Iterator[None]:
    """`enable_compile_cache` in a block that may import JAX, and may not."""
    directory = None
    if "jax" in sys.modules:
        enable_compile_cache()
    elif "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        directory = _writable_cache()
    if directory is None:
        yield
        return
    # JAX reads them at its import, which takes half a second.
    settings = {
        "JAX_COMPILATION_CACHE_DIR": str(directory),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": str(LEAST_SECONDS),
    }
    added = settings.keys() - os.environ.keys()
    os.environ.update((name, settings[name]) for name in added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)
        if "jax" in sys.modules:
            _remove_oldest(directory)


def _writable_cache() -> Path | None:
    """The directory of compiled programs; None where it cannot be written."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    directory = Path(base) / "siamese" / "xla"
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return directory if os.access(directory, os.W_OK) else None


def _remove_oldest(directory: Path) -> None:
    """Removes the oldest programs where all of them are larger than `MOST_CACHED`."""
    with suppress(OSError):
        # JAX's own limit (jax_compilation_cache_max_size) fails on what a killed
        # process left half written.
        files = filter(Path.is_file, directory.iterdir())
        oldest_last = sorted(files, key=lambda file: -file.stat().st_mtime)
        sizes = itertools.accumulate(file.stat().st_size for file in oldest_last)
        for file, size in zip(oldest_last, sizes):
            if size > MOST_CACHED:
                file.unlink(missing_ok=True)


class StopSignals:
    """Within ``with StopSignals() as signals`` the first SIGINT or SIGTERM is only noted in ``received``.

    A second Ctrl-C raises KeyboardInterrupt at once and clears ``received``. Python
    delivers signals to its main thread alone; in any other thread nothing is changed.
    """

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._before: dict[
            signal.Signals, Callable[[int, FrameType | None], object] | int | None
        ] = {}

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._remember)
        return self

    def _remember(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None and number == signal.SIGINT:
            self.received = None
            raise KeyboardInterrupt
        self.received = signal.Signals(number)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def raise_received(self) -> None:
        """Raises what the signal would have raised: KeyboardInterrupt, or SystemExit(128 + number)."""
        if self.received is signal.SIGINT:
            raise KeyboardInterrupt
        if self.received is not None:
            raise SystemExit(128 + self.received)


class TooSlow(BaseException):
    """A block of `limited` ran out of time.

    Not an Exception: a learner's `except Exception` must not catch it.
    """


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises `TooSlow` in the block after that time, again each second if it was swallowed.

    Works in the main thread on systems with SIGALRM, between two steps of Python;
    elsewhere there is no limit.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def keeping_generators() -> Iterator[None]:
    """Puts Python's and NumPy's global generators back at the end; also a decorator.

    Trax draws a number from `random` for each layer that is made, and its Loop seeds
    both generators: a learner's ``random.seed(34)`` would not survive making a model.
    """
    python = random.getstate()
    numpy = np.random.get_state()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
