"""The command `doctor`: versions, devices, what was patched and why, and what is missing."""

from __future__ import annotations

import argparse
import os
import platform
import re
import sys

from siamese import compat
from siamese.cli.arguments import command
from siamese.cli.output import Facts

TRAX = "1.4.1"


@command()
def doctor(flags: argparse.Namespace) -> Facts:
    """Print versions, devices, what was patched and why, what is missing.

    siamese doctor --json
    """
    import importlib.metadata  # Not at the top: each command would wait 50 ms for it.

    packages, problems, devices = {}, [], []
    # Of two versions the first on the path counts.
    installed = reversed(list(importlib.metadata.distributions()))
    versions = {package.name.replace("_", "-"): package.version for package in installed}
    for line in importlib.metadata.requires("siamese-questions") or ():
        name, extra = re.match(r"[\w-]+", line)[0], re.search(r'extra == "(\w+)"', line)
        packages[name] = versions.get(name, "not installed")
        if extra:
            packages[name] += f" (extra {extra[1]})"
        elif name not in versions:
            problems.append(f"{name} is missing: pip install {name}")
    trax, verdict = versions.get("trax"), "OK: the tool works; the course needs Trax."
    if trax not in (None, TRAX):
        problems.append(
            f"Trax {trax} was never tried with siamese, which changes parts of Trax {TRAX}. Install the "
            f"right one: pip install --no-deps trax=={TRAX}"
        )
    try:
        import jax
        import numpy as np

        import siamese

        devices = [f"{device.platform}: {device.device_kind}" for device in jax.devices()]
        if trax:  # The shortest proof that it works.
            model = siamese.Siamese(vocab_size=8, d_model=4)
            questions = np.array([[2, 3], [4, 5]], np.int32)
            model.init((questions, questions))
            loss = float(siamese.TripletLossFn(*model((questions, questions))))
            verdict = f"OK: a tiny Trax model ran, its loss is {loss:.3f}."
    except Exception as error:
        problems.append(f"{type(error).__name__}: {error}")
    return {
        "python": f"{platform.python_version()} ({sys.executable})",
        "platform": f"{platform.platform()}, {os.cpu_count()} cores",
        "devices": ", ".join(devices),
        "verdict": "see the problems" if problems else verdict,
        "packages": packages,
        "patched": compat.patched,
        "problems": problems,
    }
