"""README, the pages of docs/ and the other Markdown files: links, commands, figures' commands, code blocks.

The reference is the thing itself: a file that is there, the command's own parser, Python. (That the
pages build without a warning is `make docs`.)
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
from command_flags import FLAGS

import siamese
from siamese.cli.main import build_parser

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", ".github/CONTRIBUTING.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "teaching").glob("*.md")),
]
FENCE = re.compile(r"^(?P<fence>```+)(?P<kind>[^\n`]*)\n(?P<text>.*?)^(?P=fence)\s*$", re.M | re.S)
NOT_RUN = "# not run: "


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, *kinds: str) -> list[str]:
    """The texts of a page's fenced blocks of these kinds."""
    found = FENCE.finditer(page.read_text(encoding="utf-8"))
    return [block["text"] for block in found if block["kind"].strip() in kinds]


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def code_in_text(page: Path) -> list[str]:
    """What stands between single backticks, over the ends of lines too."""
    paragraphs = re.split(r"\n\s*\n", prose(page))
    spans = (span for text in paragraphs for span in re.findall(r"`([^`]+)`", text))
    return [" ".join(span.split()) for span in spans]


def anchors(page: Path) -> set[str]:
    """What links may name in a page: its headings, in lower case, spaces made hyphens."""
    headings = re.findall(r"^#+ +(.*)$", prose(page), re.M)
    plain = (re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()) for heading in headings)
    return {heading.strip().replace(" ", "-") for heading in plain}


# ---- Links ----


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files_and_headings_that_are_there(page):
    for target in re.findall(r"\]\(<?([^)>\s]+)>?\)", prose(page)):
        if re.match(r"[a-z]+:", target):
            continue  # the web: cannot be reached where this runs
        path, _, anchor = unquote(target).partition("#")
        file = page if not path else (page.parent / path).resolve()
        if file.parent == ROOT / "docs" / "notebooks":
            file = ROOT / "notebooks" / "solution" / file.name  # `make docs` copies them
        assert file.exists(), f"{name_of(page)} links to {target}, which is not there"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{name_of(page)}: {path} has no heading #{anchor}"


def test_every_page_stands_in_the_contents():
    docs, named = ROOT / "docs", {"index"}
    for folder in ("", "teaching/"):
        contents = "".join(blocks(docs / folder / "index.md", "{toctree}"))
        named |= {folder + name for name in re.findall(r"^([a-z_/]+)$", contents, re.M)}
    assert {
        str(page.relative_to(docs).with_suffix("")) for page in PAGES if docs in page.parents
    } == named


def test_the_material_is_taught_where_the_table_says():
    sources = {path.name[:2]: path for path in (ROOT / "notebooks" / "src").glob("*.py")}
    table = (ROOT / "docs" / "teaching" / "material.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\d–, ]+) \| .+ \| (\d\d) \| (.+) \|$", table, re.M)
    assert len(rows) > 50
    for lines, number, section in rows:
        headings = re.findall(
            r"^# #+ (.+?)(?: \(\d+ minutes\))?$", sources[number].read_text(encoding="utf-8"), re.M
        )
        assert section in headings, f"lines {lines}: notebook {number} has no section {section!r}"


def test_the_api_page_has_every_public_name_once():
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r":: siamese\.(\w+)$", text, re.M)) == sorted(siamese.__all__)


# ---- Commands ----


COMMAND = r"(index(?: (?:build|add|remove|export)\b)?|[a-z][a-z-]*)"


def command_lines(text: str) -> list[list[str]]:
    """The `siamese ...` command lines in a block: comments, pipes and redirections left out."""
    found = []
    for line in text.splitlines():
        start = re.search(r"(?:^|\|\s*|^!|^\$ )\s*(siamese .*)", line)
        if start:
            words = shlex.split(start[1], comments=True)
            stop = next((i for i, word in enumerate(words) if word in ("|", ">", "<")), None)
            found.append([word for word in words[1:stop] if word != "..."])
    return found


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_command_lines_in_blocks_are_what_the_parser_takes(page):
    for text in blocks(page, "sh", "bash", "console"):
        for words in command_lines(text):
            try:
                build_parser().parse_args(words)
            except SystemExit as stopped:
                assert stopped.code == 0, f"{name_of(page)}: siamese {' '.join(words)}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_and_flags_in_the_text_exist(page):
    flags = set().union(*FLAGS.values())
    for code in code_in_text(page):
        if match := re.match(rf"siamese {COMMAND}( .*)?$", code):
            command, rest = match[1], match[2] or ""
            assert command in FLAGS, f"{name_of(page)}: there is no command `siamese {command}`"
            asked = set(re.findall(r"(?<!\S)--[a-z-]+", rest))
            assert asked <= FLAGS[command], f"{name_of(page)}: {code}"
        elif re.match(r"--[a-z-]+( |$)", code):
            asked = set(re.findall(r"(?<!\S)--[a-z][a-z-]*", code))
            assert asked <= flags | OTHER_FLAGS, f"{name_of(page)}: no command has {code}"


OTHER_FLAGS = {"--no-deps", "--test", "--ablation", "--disjoint"}  # of pip and of the benchmarks
OTHER_FLAGS |= {"--near", "--compare"}  # of the examples


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_benchmarks_tests_and_make_targets_that_are_named_exist(page):
    text = page.read_text(encoding="utf-8")
    for path in re.findall(
        r"\b((?:benchmarks|examples|tests|tools|notebooks)/[\w/]+\.(?:py|md|json))\b", text
    ):
        assert (ROOT / path).exists(), f"{name_of(page)} names {path}, which is not there"
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    lines = "\n".join(code_in_text(page) + blocks(page, "sh", "bash", ""))
    for target in re.findall(r"^make (?:[A-Z]+=\S+ )*([a-z-]+)", lines, re.M):
        assert target in targets, f"{name_of(page)}: there is no `make {target}`"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_nobody_is_sent_to_a_stranger_s_package(page):
    assert not re.search(r"pip install ['\"]?siamese\b", page.read_text(encoding="utf-8"))


# ---- Code ----


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder as the pages suppose it: questions.csv, and a model that has trained a little.

    Questions of about one length: a program is compiled for each length of a batch.
    """
    made = tmp_path_factory.mktemp("docs")
    prepare = """
        import csv, siamese
        pairs = siamese.embedded_corpus().train
        longer = [max(len(q.split()) for q in pair) for pair in zip(pairs.question1, pairs.question2)]
        pairs = pairs.select([row for row, words in enumerate(longer) if words == 14][:600])
        with open("questions.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["question1", "question2", "is_duplicate"])
            writer.writerows(zip(pairs.question1, pairs.question2, map(int, pairs.is_duplicate)))
        config = siamese.TrainConfig(steps=3, d_model=8, batch_size=32, lstm_bias="forget_gate")
        trainer = siamese.Trainer(pairs, config, "runs/course", quiet=True)
        trainer.train()
        trainer.save()
    """
    run_in(made, "\n".join(line[8:] for line in prepare.splitlines()))
    return made


def run_in(folder: Path, code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]


WITH_PYTHON = [page for page in PAGES if page.exists() and blocks(page, "python")]


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_python_blocks_run(page, folder):
    run = [text for text in blocks(page, "python") if not text.startswith(NOT_RUN)]
    run_in(folder, "\n".join(run))


@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_python_blocks_parse_and_say_why_they_are_not_run(page):
    for text in blocks(page, "python"):
        ast.parse(text)
        if text.startswith(NOT_RUN):
            reason = text.splitlines()[0].removeprefix(NOT_RUN)
            assert len(reason.split()) >= 3
            print(f"{name_of(page)}: not run: {reason}")
