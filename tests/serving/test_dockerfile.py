"""The Dockerfile, read: there is no base image here to build it from."""

import json
import re
import shlex
from pathlib import Path

from siamese.cli.main import build_parser

ROOT = Path(__file__).parents[2]


DOCKER = ROOT / "docker"
TEXT = (DOCKER / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
# (name, arguments) of each instruction of the two images, lines joined
GRADING, SERVING = (
    [tuple(line.split(None, 1)) for line in stage.splitlines() if line.strip() and line[0] != "#"]
    for stage in re.split(r"^(?=FROM )", TEXT, flags=re.M)[1:]
)


def test_what_is_copied_is_there_and_not_ignored():
    ignored = (DOCKER / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    lines = (shlex.split(words)[:-1] for name, words in GRADING + SERVING if name == "COPY")
    copied = {source for sources in lines for source in sources}
    assert copied == {line[1:] for line in ignored if line.startswith("!")}
    assert all((ROOT / name).exists() for name in copied)


def test_each_image_runs_an_accepted_command_as_a_user_without_rights():
    grading, serving = dict(GRADING), dict(SERVING)
    assert json.loads(grading["CMD"]) == ["grade", "--help"]
    assert not {grading["USER"], serving["USER"]} & {"root", "0"}
    command = json.loads(serving["ENTRYPOINT"]) + json.loads(serving["CMD"])
    flags = build_parser().parse_args(command[1:])
    assert flags.port == int(serving["EXPOSE"]) and flags.host == "0.0.0.0"
    assert Path(flags.index).is_relative_to(serving["VOLUME"])
    assert f":{flags.port}/health" in serving["HEALTHCHECK"] and '".[serve]"' in serving["RUN"]
