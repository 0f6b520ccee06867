"""The package's shape: its public names, and imports that run one way between its folders."""

import ast
import doctest
import functools
import importlib
import os
import pkgutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from programs import output_of, without
from small_models import make_detector

import siamese

PACKAGE = Path(siamese.__file__).parent
ROOT = Path(__file__).resolve().parents[1]
# A folder of the tool imports from those before it in this list.
TOOL = [
    "errors",
    "system",
    "nn",
    "text",
    "reading",
    "corpus",
    "evaluation",
    "encoders",
    "model",
    "groups",
    "index",
    "training",
    "serving",
    "cli",
]
# The course, in Trax: what each of its folders imports from.
COURSE = {"course": {*TOOL[:-3]}, "teaching": {*TOOL[:-2], "course"}}
COURSE["checks"] = {"teaching"}  # the name under which notebooks import them
# Arrows from the tool into the course: commands.
INTO_THE_COURSE = {
    ("cli.training", "course.import_weights"),
    ("cli.course", "teaching.grade"),
}


def test_public_names_load_and_stay_when_their_modules_are_imported():
    modules = {module.name for module in pkgutil.iter_modules(siamese.__path__)}
    # Importing siamese.x sets the attribute x of the package: a function x would be
    # gone.
    assert not modules & set(siamese.__all__)
    for node in ast.parse((PACKAGE / "__init__.pyi").read_text()).body:
        if isinstance(node, ast.ImportFrom):
            module = importlib.import_module(f"siamese.{node.module}")
            (name,) = (alias.name for alias in node.names)
            assert getattr(siamese, name) is getattr(module, name)
            assert callable(getattr(siamese, name)) and name in siamese.__all__


def _name(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


@functools.cache
def imports():
    """(module, imported module), without ``siamese.``."""
    modules = {_name(path): path for path in PACKAGE.rglob("*.py")}
    found = set()
    for name, path in modules.items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, (ast.Import, ast.ImportFrom)):
                continue
            base = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            names = [base + alias.name for alias in node.names]
            for target in (target.removeprefix("siamese.") for target in names):
                found.add(
                    (name, target if target in modules else target.rpartition(".")[0])
                )
    return found


def _allowed(module, imported):
    here, there = module.split(".")[0], imported.split(".")[0]
    if here == there or (module, imported) in INTO_THE_COURSE:
        return True
    if here in COURSE:
        return there in COURSE[here]
    return there in TOOL[: TOOL.index(here)] if here in TOOL else False


def test_imports_between_folders_run_one_way():
    modules = {_name(path) for path in PACKAGE.rglob("*.py")} - {""}
    inside = {(here, there) for here, there in imports() if here and there in modules}
    assert not {pair for pair in inside if not _allowed(*pair)}
    assert inside >= INTO_THE_COURSE  # None is listed that is not there.
    importing = {
        here
        for here, there in imports()
        if there.split(".")[0] in ("trax", "tensorflow")
    }
    assert {here.split(".")[0] for here in importing} <= {"course", "teaching"}


def test_what_takes_long_to_import_is_imported_late(tmp_path):
    code = """
        import sys
        import siamese
        def loaded(*names): return [name for name in names if name in sys.modules]
        assert siamese.word_tokenize("Is it?") == ["Is", "it", "?"]
        assert not loaded("numpy", "nltk", "jax", "trax")
        from siamese.encoders import is_encoder_name
        assert is_encoder_name("use+wordllama")
        assert not loaded("scipy", "jax", "joblib", "safetensors", "nltk", "trax")
        import siamese.checks
        from siamese.cli.main import main
        assert main(["predict", sys.argv[1], "how far", "how far"]) == 0
        assert not loaded("jax", "trax", "tensorflow", "sklearn", "nltk")
    """
    output_of(code, arguments=[make_detector().save(tmp_path / "model")])


@pytest.mark.slow
def test_without_trax_the_tool_trains_and_answers_and_the_course_says_so(tmp_path):
    run, questions = str(tmp_path / "run"), str(tmp_path / "pairs.csv")
    pairs = [f"how many are {n}?,is it {n + n % 2}?,{n % 2}" for n in range(100)]
    Path(questions).write_text("\n".join(["question1,question2,is_duplicate", *pairs]))
    train = ["train", "--questions", questions, "--preset", "course", "--output", run]
    train += ["--steps", "2", "--set", "d_model=8", "--batch-size", "8"]
    commands = [
        train,
        ["evaluate", run, "--questions", questions],
        ["predict", run, "A?", "B?"],
    ]
    shown = output_of(
        without("trax") + "from siamese.cli.main import main\n"
        f"for command in {commands!r}: assert main(command) == 0, command\n"
        "assert not [name for name in sys.modules if name.split('.')[0] == 'trax']\n"
        "try: siamese.train_model\nexcept siamese.MissingDependencyError as error: print(error)\n"
    )
    assert "\nThis needs Trax, which is not installed" in shown


@pytest.mark.slow
def test_in_a_plain_install_the_demo_starts_with_the_tool(tmp_path):
    code = """
        import sys
        from siamese.cli.main import main
        sys.stderr = sys.stdout
        folder = sys.argv[1]
        assert main(["demo", "--output", folder]) == 0
    """
    helpers = str(Path(__file__).parent / "helpers")
    path = os.pathsep.join([str(PACKAGE.parent), helpers])
    arguments = [tmp_path / "demo"]
    code = without("trax") + textwrap.dedent(code)
    shown = output_of(code, arguments=arguments, PYTHONPATH=path)
    assert "Trax, which is not installed: the demo starts with the tool" in shown
    assert "1. The assignment" not in shown and "Refused by the near-miss" in shown
    assert (tmp_path / "demo" / "handwritten.csv").exists()


def test_the_package_is_typed_and_the_citation_names_this_version():
    assert (PACKAGE / "py.typed").is_file()
    citation = PACKAGE.with_name("CITATION.cff").read_text("utf-8")
    assert f"\nversion: {siamese.__version__}\n" in citation


@pytest.mark.slow
@pytest.mark.parametrize(
    "file", sorted(f for f in PACKAGE.rglob("*.py") if ">>> " in f.read_text())
)
def test_the_examples_of_docstrings_give_what_they_say(file):
    name = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)
    module = importlib.import_module(name.removesuffix(".__init__"))
    assert doctest.testmod(module).failed == 0


@pytest.mark.slow
def test_the_wheel_of_the_source_distribution_has_all_that_the_tool_reads(tmp_path):
    """Built from the files that git lists, installed beside nothing else, and asked a question."""
    source = tmp_path / "source"
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True)
    for name in filter(lambda name: (ROOT / name).is_file(), listed.split("\0")):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes((ROOT / name).read_bytes())
    build = "import setuptools.build_meta as b; b.build_sdist('dist')"
    subprocess.run(
        [sys.executable, "-c", build], cwd=source, check=True, stdout=subprocess.DEVNULL
    )
    (sdist,) = (source / "dist").glob("siamese_questions-*.tar.gz")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-build-isolation"]
    wheels = tmp_path / "wheels"
    subprocess.run([*pip, "wheel", *options, "-w", wheels, sdist], check=True)
    (wheel,) = wheels.glob("siamese_questions-*.whl")
    target = tmp_path / "installed"
    subprocess.run([*pip, "install", "--no-deps", "-t", target, wheel], check=True)
    asked = (
        "siamese.DuplicateDetector.pretrained().predict('CSV to JSON', 'JSON to CSV')"
    )
    code = (
        "import siamese, siamese.corpus; print(siamese.__file__, siamese.__version__, "
        f"len(siamese.corpus.handwritten_questions('zh')), {asked})"
    )
    environment = {**os.environ, "PYTHONPATH": str(target)}
    printed = subprocess.check_output(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, text=True
    )
    file, version, questions, is_duplicate = printed.split()
    assert file.startswith(str(target)) and version == siamese.__version__
    assert questions == "40" and is_duplicate == "False"
    assert (target / "siamese" / "serving" / "page" / "page.html").is_file()
