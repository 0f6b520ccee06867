"""The package's shape: its public names, and imports that run one way between its folders."""

import ast
import importlib
import pkgutil
from pathlib import Path

import siamese

PACKAGE = Path(siamese.__file__).parent
# From the bottom to the top: a folder imports from those above it in this list, never from below or beside.
LAYERS = [
    {"errors", "progress"},
    {"compat"},
    {"storage"},
    {"nn"},
    {"data"},
    {"course"},
    {"batching", "evaluation"},
    {"search"},
    {"training"},
    {"serving", "teaching"},
    {"checks", "cli"},
]
# To be mended: each of these is removed with its import.
UPWARDS = {
    ("compat", "data.course_nltk"),
    ("course.classify", "evaluation.metrics"),
    ("course.classify", "evaluation.bootstrap"),
    ("course.classify", "evaluation.thresholds"),
    ("course.classify", "evaluation.baselines"),
    ("course.generator", "batching.pair_batches"),
    ("course.model", "training.config"),
    ("course.train_model", "training.loop"),
    ("data.hard_negatives", "course.similarity"),
    ("nn.encoder", "course.similarity"),
}


def test_public_names_load_and_stay_when_their_modules_are_imported():
    modules = {module.name for module in pkgutil.iter_modules(siamese.__path__)}
    # Importing siamese.x sets the attribute x of the package: a function x would be gone.
    assert not modules & set(siamese.__all__)
    for name, path in siamese._EXPORTS.items():
        module = importlib.import_module(f"siamese.{path}")
        assert getattr(siamese, name) is getattr(module, name)
        assert callable(getattr(siamese, name))


def _name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imports() -> set[tuple[str, str]]:
    """(module, imported module) inside the package, read from the source, without ``siamese.``."""
    modules = {_name(path): path for path in PACKAGE.rglob("*.py")}
    found = set()
    for name, path in modules.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("siamese"):
                base = node.module.removeprefix("siamese").removeprefix(".")
                targets = [f"{base}.{alias.name}".strip(".") for alias in node.names]
                found |= {(name, t if t in modules else base) for t in targets}
            elif isinstance(node, ast.Import):
                found |= {
                    (name, alias.name.removeprefix("siamese."))
                    for alias in node.names
                    if alias.name.startswith("siamese.")
                }
    return {(a, b) for a, b in found if a and b}


def test_imports_between_folders_run_one_way():
    layer = {folder: height for height, folders in enumerate(LAYERS) for folder in folders}
    upwards = set()
    for module, imported in imports():
        here, there = module.split(".")[0], imported.split(".")[0]
        if here != there and layer[there] >= layer[here]:
            upwards.add((module, imported))
    assert upwards == UPWARDS
