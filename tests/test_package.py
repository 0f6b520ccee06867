"""The package's public names: each loads, and none is also the name of a module."""

import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import siamese


def test_public_names_load_and_stay_when_their_modules_are_imported():
    rooms = {module.name for module in pkgutil.iter_modules(siamese.__path__)}
    # Importing siamese.x sets the attribute x of the package: a function x would be gone.
    assert not rooms & set(siamese.__all__)
    for name, room in siamese._EXPORTS.items():
        module = importlib.import_module(f"siamese.{room}")
        assert getattr(siamese, name) is getattr(module, name)
        assert callable(getattr(siamese, name))


# Python as it is where Trax is not installed: its import fails as it does there.
WITHOUT_TRAX = """
import importlib.abc, sys
class NoTrax(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "trax":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, NoTrax())
import siamese
sys.meta_path.insert(0, sys.meta_path.pop(1))
"""


def test_without_trax_training_says_so_in_one_sentence():
    code = WITHOUT_TRAX + (
        "try: siamese.Trainer\n"
        "except siamese.MissingDependencyError as error: print(error)\n"
        "from siamese.cli import main\n"
        "sys.exit(main(['demo']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert "Trax, which is not installed" in done.stdout
    assert done.stderr.splitlines()[-1].startswith("siamese demo: This needs Trax")
    assert "Traceback" not in done.stderr


def test_no_message_tells_to_install_siamese_from_an_index():
    for path in Path(siamese.__file__).parent.rglob("*.py"):
        assert not re.search(r"pip install ['\"]?siamese\b", path.read_text(encoding="utf-8")), path


def test_the_package_says_that_it_is_typed():
    assert (Path(siamese.__file__).parent / "py.typed").is_file()


def test_the_citation_names_this_version():
    citation = Path(siamese.__file__).parents[1] / "CITATION.cff"
    assert f"\nversion: {siamese.__version__}\n" in citation.read_text(encoding="utf-8")
