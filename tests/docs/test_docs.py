"""README, the pages of docs/ and the other Markdown files: links, commands, code blocks, English."""

import csv
import io
import itertools
import re
import shlex
from pathlib import Path
from urllib.parse import unquote

import pytest
from command_flags import FLAGS
from corpus_parts import pairs_of_length, write_pairs

import siamese
from examples import github_issues
from siamese.cli.main import build_parser, main
from siamese.corpus import HANDWRITTEN_FILES
from tools import run_readme

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / name for name in ("README.md", "CHANGELOG.md", ".github/CONTRIBUTING.md")
]
PAGES += sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
FENCE = re.compile(
    r"^(?P<fence>```+)(?P<kind>[^\n`]*)\n(?P<text>.*?)^(?P=fence)\s*$", re.M | re.S
)
NOT_RUN = "# not run: "
FILES = re.compile(r"\b(\w+\.(?:md|json))\b")
OTHER_FLAGS = {
    "--no-deps",
    "--test",
    "--disjoint",
    "--near",
    "--compare",
}  # of pip and scripts

each_page = pytest.mark.parametrize(
    "page", PAGES, ids=lambda page: str(page.relative_to(ROOT))
)


def blocks(page, *kinds):
    found = FENCE.finditer(page.read_text("utf-8"))
    return [block["text"] for block in found if block["kind"].strip() in kinds]


def prose(page):
    return FENCE.sub("", page.read_text("utf-8"))


def code_in_text(page):
    """The spans between single backticks, over the ends of lines too."""
    paragraphs = re.split(r"\n\s*\n", prose(page))
    spans = (span for text in paragraphs for span in re.findall(r"`([^`]+)`", text))
    return [" ".join(span.split()) for span in spans]


def anchors(page):
    """The names of a page's headings for links: lower case, spaces made hyphens."""
    headings = re.findall(r"^#+ +(.*)$", prose(page), re.M)
    plain = (
        re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
        for heading in headings
    )
    return {heading.strip().replace(" ", "-") for heading in plain}


@each_page
def test_links_and_paths_lead_to_files_and_headings_that_are_there(page):
    for target in re.findall(r"\]\(<?([^)>\s]+)>?\)", prose(page)):
        if re.match(r"[a-z]+:", target):
            continue  # the web: cannot be reached where this runs
        path, _, anchor = unquote(target).partition("#")
        file = page if not path else (page.parent / path).resolve()
        if file.parent == DOCS / "notebooks":
            # `make docs` copies them.
            file = ROOT / "notebooks" / "solution" / file.name
        assert file.exists(), target
        assert not anchor or file.suffix != ".md" or anchor in anchors(file), target
    folders = r"\b((?:benchmarks|examples|tests|tools|notebooks)/[\w/]+\.(?:py|md|json|txt|csv))\b"
    for path in re.findall(folders, page.read_text("utf-8")):
        assert (ROOT / path).exists(), path


def test_the_material_is_taught_where_the_table_says():
    table = (DOCS / "course" / "teaching" / "material.md").read_text("utf-8")
    rows = re.findall(r"^\| ([\d–, ]+) \| .+ \| (\d\d) \| (.+) \|$", table, re.M)
    assert len(rows) > 50
    for lines, number, section in rows:
        (source,) = (ROOT / "notebooks" / "src").glob(f"{number}*.py")
        headings = r"^# #+ (.+?)(?: \(\d+ minutes\))?$"
        assert section in re.findall(headings, source.read_text("utf-8"), re.M), lines


def test_the_api_page_has_every_public_name_once():
    text = (DOCS / "api.md").read_text("utf-8")
    assert sorted(re.findall(r":: siamese\.(\w+)$", text, re.M)) == sorted(
        siamese.__all__
    )


def table_rows(text):
    """The figures of three decimals of each row of the tables."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    figures = (re.findall(r"(?<![\d.])\d\.\d{3}(?!\d)", row) for row in rows)
    return [set(row) for row in figures if row]


@pytest.mark.parametrize(
    ("name", "lines"),
    [("README.md", 2), ("quality.md", 1), ("searching.md", 1), ("threshold.md", 2)],
)
def test_a_row_of_a_table_stands_in_the_results_file_that_its_section_names(
    name, lines
):
    """In so many lines of the files: pairs and search, or two models."""
    (page,) = (path for path in PAGES if path.name == name)
    checked = 0
    for section in re.split(r"^(?=## )", page.read_text("utf-8"), flags=re.M):
        rows = table_rows(section.replace('| always "no"', ""))
        files = [
            ROOT / "benchmarks" / "results" / file for file in FILES.findall(section)
        ]
        known = table_rows(
            "\n".join(file.read_text("utf-8") for file in files if file.exists())
        )
        together = [set().union(*some) for some in itertools.combinations(known, lines)]
        for row in rows:
            assert any(row <= figures for figures in together), row
            checked += 1
    assert checked > 5


@each_page
def test_commands_in_blocks_are_taken_by_the_parser(page):
    for line in "\n".join(blocks(page, "sh", "bash")).splitlines():
        if start := re.search(r"(?:^|\|\s*)(siamese .*)", line):
            words = shlex.split(start[1], comments=True)
            stop = next(
                (i for i, word in enumerate(words) if word in ("|", ">", "<")), None
            )
            try:
                build_parser().parse_args(words[1:stop])
            except SystemExit as stopped:
                assert stopped.code == 0, line


@each_page
def test_commands_flags_and_make_targets_in_the_text_exist(page):
    for code in code_in_text(page):
        flags = set(re.findall(r"(?<!\S)--[a-z][a-z-]*", code))
        if match := re.match(
            r"siamese (index (?:build|add|remove|export)\b|[a-z-]+)", code
        ):
            assert flags <= FLAGS[match[1]], code
        elif code.startswith("--"):
            assert flags <= set().union(*FLAGS.values()) | OTHER_FLAGS, code
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    lines = "\n".join(code_in_text(page) + blocks(page, "sh", "bash", ""))
    assert set(re.findall(r"^make (?:[A-Z]+=\S+ )*([a-z-]+)", lines, re.M)) <= targets


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.stem
)
def test_python_blocks_run_or_say_why_not(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Few lengths: few shapes to compile.
    write_pairs(tmp_path / "questions.csv", pairs_of_length(14).rows(0, 600))
    codes = blocks(page, "python")
    for code in codes:
        assert not code.startswith(NOT_RUN) or len(code.splitlines()[0].split()) >= 6
    code = "\n".join(code for code in codes if not code.startswith(NOT_RUN))
    code = code.replace("n_steps=20", "n_steps=2")  # Does it run?
    exec(compile(code, page.name, "exec"), {"__name__": "__main__"})


ISSUES = {
    (117, 101),
    (123, 104),
    (128, 114),
    (132, 112),
    (133, 115),
    (138, 118),
}  # duplicates


def test_the_example_ranks_the_duplicates_among_a_projects_issues_first():
    file = Path(github_issues.__file__).with_suffix(".json")
    pairs = github_issues.duplicates(github_issues.read_issues(file), threshold=0.6)
    ranking = [(pair.issue, pair.earlier) for pair in pairs]
    assert len({*ranking[:6]} & ISSUES) == 5 and {*ranking} >= ISSUES
    assert all(issue > earlier for issue, earlier in ranking)
    assert len({pair.issue for pair in pairs}) == len(pairs)
    assert all(pair.is_duplicate == (pair.similarity > 0.6) for pair in pairs)


def test_a_stranger_reads_the_readme_and_the_pages_to_their_end():
    lines = {page: len(page.read_text("utf-8").splitlines()) for page in PAGES}
    assert lines[ROOT / "README.md"] <= 110
    assert sum(count for page, count in lines.items() if DOCS in page.parents) <= 1_900
    first = run_readme.commands(installed=False)
    assert first[0].startswith("python3 -m venv") and first[1] == "pip install ."
    assert run_readme.commands(installed=True) == first[2:]


def test_the_first_result_in_the_readme_is_what_the_command_prints(capsys):
    """The lines of its first block: group, similarity and question, in the command's order."""
    (block, *_) = blocks(ROOT / "README.md", "text")
    lines = re.findall(r"^(\w+) +(\d\.\d\d) +(.+?)(?: {2,}.*| +<- .*)?$", block, re.M)
    assert main(["duplicates", str(ROOT / "examples" / "questions.csv")]) == 0
    rows = csv.DictReader(io.StringIO(capsys.readouterr().out))
    printed = [
        (row["group"], f"{float(row['similarity']):.2f}", row["question"])
        for row in rows
    ]
    assert len(lines) >= 5
    assert [row for row in printed if row in lines] == lines
    for group in {line[0] for line in lines}:
        assert [row for row in printed if row[0] == group] == [
            line for line in lines if line[0] == group
        ]


def test_the_sample_questions_are_those_of_the_corpus():
    """In English, German, French, Spanish and Chinese."""
    rows = [
        {"id": row["id"], "question": row["question"]}
        for file in HANDWRITTEN_FILES.values()
        for row in csv.DictReader(file.read_text("utf-8").splitlines())
    ]
    sample = (ROOT / "examples" / "questions.csv").read_text("utf-8")
    assert [*csv.DictReader(sample.splitlines())] == rows


@pytest.mark.slow
def test_the_commands_of_the_readme_run_in_order(tmp_path):
    output = run_readme.run(tmp_path, installed=True)
    assert "23 groups of 60 questions, the largest of 5" in output
    assert "How can I reset the password for my account?" in output
    assert "of 30 labels" in output and (tmp_path / "better.csv").exists()
    assert "-> duplicate: " in output
    assert (tmp_path / "runs" / "mine" / "model.safetensors").exists()
    assert (tmp_path / "groups.csv").read_text("utf-8-sig").startswith("group,")


SOURCES = (
    "siamese/**/*.py",
    "siamese/**/*.html",
    "notebooks/src/*.py",
    "examples/*.py",
)
TEXTS = [*PAGES, *(path for pattern in SOURCES for path in ROOT.glob(pattern))]
PHRASES = re.compile(
    r"\b(?:what others (?:saved|store|wrote)|who(?:ever)? (?:only |also )?\w+s .{0,40}\bdo(?:es)? without"
    r"|does without|under changed choices|anything amiss|whence|text of strangers|all is well"
    r"|waits for an answer|as it lies|(?:says|tells) duplicate|names? are there again|what you take along"
    r"|wants its time|one flatters|on one's own labelled|pip install ['\"]?siamese\b)",
    re.I,
)


def test_no_turn_of_phrase_comes_back():
    texts = {path: " ".join(path.read_text("utf-8").split()) for path in TEXTS}
    found = {
        str(path): match[0]
        for path, text in texts.items()
        if (match := PHRASES.search(text))
    }
    assert not found
