"""The Dockerfile, read: there is no base image here to build it from."""

import configparser
import json
import re
import shlex
from pathlib import Path

from siamese.cli.main import build_parser

ROOT = Path(__file__).parents[2]


def instructions():
    """(name, arguments) of each instruction, lines joined."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip() and line[0] != "#"]
    return [tuple(line.split(None, 1)) for line in lines]


def test_every_instruction_is_known_and_the_first_is_from():
    found = [name for name, _ in instructions()]
    known = {"FROM", "WORKDIR", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK"}
    assert found[0] == "FROM" and set(found) <= known | {"ENTRYPOINT", "CMD"}
    assert [found.count(name) for name in ("FROM", "ENTRYPOINT", "CMD", "HEALTHCHECK")] == [1] * 4


def test_what_is_copied_is_there_and_not_ignored():
    allowed = {
        line[1:]
        for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
        if line.startswith("!")
    }
    copied = set()
    for name, arguments in instructions():
        if name == "COPY":
            *sources, _ = shlex.split(arguments)
            copied |= set(sources)
    assert copied == allowed and all((ROOT / name).exists() for name in copied)


def test_it_installs_a_declared_extra_at_the_tested_versions():
    run = " ".join(arguments for name, arguments in instructions() if name == "RUN")
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
    # The readme and licence that setup.cfg reads are copied.
    assert {config["metadata"]["long_description"], config["metadata"]["license_files"]} <= {
        "file: README.md",
        "LICENSE",
    }


def test_it_runs_an_accepted_command_as_a_user_at_the_exposed_port():
    found = dict(instructions())
    command = json.loads(found["ENTRYPOINT"]) + json.loads(found["CMD"])
    assert command[0] == "siamese"
    flags = build_parser().parse_args(command[1:])
    assert flags.port == int(found["EXPOSE"]) and flags.host == "0.0.0.0"
    assert Path(flags.index).is_relative_to(found["VOLUME"])
    assert f":{flags.port}/health" in found["HEALTHCHECK"]
    assert found["USER"] not in ("root", "0")
