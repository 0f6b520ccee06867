"""The Dockerfile, read: there is no base image here to build it from."""

import configparser
import itertools
import json
import re
import shlex
from pathlib import Path

import pytest

from siamese.cli.main import build_parser

ROOT = Path(__file__).parents[2]


def stages():
    """For each image a list of (name, arguments) of its instructions, lines joined."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip() and line[0] != "#"]
    found = []
    for name, arguments in (line.split(None, 1) for line in lines):
        if name == "FROM":
            found.append([])
        found[-1].append((name, arguments))
    return found


def test_every_instruction_is_known_and_the_first_is_from():
    known = {"FROM", "WORKDIR", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK"}
    grading, serving = [[name for name, _ in stage] for stage in stages()]
    assert set(grading + serving) <= known | {"ENTRYPOINT", "CMD"}
    once = ("FROM", "ENTRYPOINT", "CMD", "HEALTHCHECK")
    assert [serving.count(name) for name in once] == [1] * 4
    assert [grading.count(name) for name in once] == [1, 1, 1, 0]


def test_what_is_copied_is_there_and_not_ignored():
    allowed = {
        line[1:]
        for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
        if line.startswith("!")
    }
    copied = set()
    for name, arguments in itertools.chain(*stages()):
        if name == "COPY":
            *sources, _ = shlex.split(arguments)
            copied |= set(sources)
    assert copied == allowed and all((ROOT / name).exists() for name in copied)


def test_it_installs_a_declared_extra_at_the_tested_versions():
    run = " ".join(arguments for name, arguments in stages()[1] if name == "RUN")
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    extra = re.search(r'"\.\[(\w+)\]"', run)[1]
    wanted = config["options.extras_require"][extra] + config["options"]["install_requires"]
    names = {re.match(r"[\w-]+", line)[0] for line in wanted.split("\n") if line}
    pinned = set()
    for file in re.findall(r"--constraint (\S+)", run):
        lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
        pinned |= {line.split("==")[0] for line in lines if "==" in line}
    assert names <= pinned
    # The readme and the licences that setup.cfg reads are copied (the test above has what is).
    assert config["metadata"]["long_description"] == "file: README.md"
    assert config["metadata"]["license_files"].split() == ["LICENSE", "THIRD-PARTY.md"]


def test_it_runs_an_accepted_command_as_a_user_at_the_exposed_port():
    found = dict(stages()[1])
    command = json.loads(found["ENTRYPOINT"]) + json.loads(found["CMD"])
    assert command[0] == "siamese"
    flags = build_parser().parse_args(command[1:])
    assert flags.port == int(found["EXPOSE"]) and flags.host == "0.0.0.0"
    assert Path(flags.index).is_relative_to(found["VOLUME"])
    assert f":{flags.port}/health" in found["HEALTHCHECK"]
    assert found["USER"] not in ("root", "0")


def test_the_image_for_grading_has_what_the_notebooks_need_and_a_user_without_rights():
    found = dict(stages()[0])
    assert found["FROM"].endswith(" AS grading") and found["USER"] not in ("root", "0")
    assert "--no-deps -r requirements.txt -r requirements/notebooks.txt ." in found["RUN"]
    assert json.loads(found["ENTRYPOINT"]) == ["siamese"]
    with pytest.raises(SystemExit, match="0"):
        build_parser().parse_args(json.loads(found["CMD"]))
