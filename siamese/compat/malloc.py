"""Freed memory that stays with the process: a training step need not ask the system for it anew.

A step on the CPU needs some 100 MB for its intermediate arrays. XLA asks the C library for them at each
step and frees them after it. glibc takes blocks of that size from the system and gives them back at
once, and the system clears every page again: half of a step's time went into that. Here glibc is told to
keep what is freed. Peak memory stays what it is; between steps the process does not shrink.
"""

from __future__ import annotations

import ctypes
import functools
import sys

# From glibc's malloc.h.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX, _M_ARENA_MAX = -1, -2, -4, -8


@functools.cache
def keep_memory() -> bool:
    """Tells glibc to keep freed memory for the next step; does nothing on other C libraries.

    Returns:
      Whether it took effect: True on Linux with glibc.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        library = ctypes.CDLL(None)
        _ = library.gnu_get_libc_version  # Other C libraries have no such name.
        mallopt = library.mallopt
    except (OSError, AttributeError):
        return False
    settings = {
        _M_MMAP_MAX: 0,  # Large blocks too come from the heap,
        _M_TRIM_THRESHOLD: 2**31 - 1,  # which is never given back,
        _M_TOP_PAD: 64 << 20,  # grows by large pieces,
        _M_ARENA_MAX: 1,  # and is one: a thread's own heap holds no block over 64 MB.
    }
    taken = [mallopt(name, value) == 1 for name, value in settings.items()]
    return all(taken)
