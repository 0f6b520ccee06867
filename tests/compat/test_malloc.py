"""keep_memory: a large array that is freed and made again faults no page anew."""

import platform
import subprocess
import sys

import pytest

SCRIPT = """
import resource, sys
import numpy as np
from siamese.compat.malloc import keep_memory
if sys.argv[1] == "keep":
    assert keep_memory() is True
    assert keep_memory() is True
for _ in range(12):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    array = np.ones(25_000_000, np.float32)
    del array
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
print(faults)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc only")
def test_freed_pages_are_used_again():
    faults = {}
    for how in ("plain", "keep"):
        command = [sys.executable, "-c", SCRIPT, how]
        faults[how] = int(subprocess.run(command, check=True, capture_output=True).stdout)
    assert faults["keep"] < 20 < faults["plain"]  # Large pages make the latter few, but not none.


def test_elsewhere_it_does_nothing(monkeypatch):
    from siamese.compat import malloc

    monkeypatch.setattr(malloc.sys, "platform", "darwin")
    assert malloc.keep_memory.__wrapped__() is False


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc only")
def test_it_is_set_before_jax_has_threads():
    # Set later, threads have heaps of their own by then, which hand large blocks back at each step.
    script = """
import siamese, siamese.compat, sys
siamese.compat.prepare()
from siamese.compat.malloc import keep_memory
assert keep_memory.cache_info().currsize == 0, "too soon"
import jax
from jax._src import xla_bridge
assert keep_memory.cache_info().currsize == 1 and not xla_bridge._backends
"""
    subprocess.run([sys.executable, "-c", script], check=True)
