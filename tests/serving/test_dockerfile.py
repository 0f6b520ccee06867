"""The Dockerfile, read: there is no base image here to build it from."""

import json
import re
from pathlib import Path

from siamese.cli.main import build_parser

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8")


def words(name):
    """The arguments of each instruction of this name."""
    return re.findall(rf"^{name} (.+)$", TEXT, re.M)


def test_what_it_copies_is_there_and_what_it_runs_is_a_command_of_a_user_without_rights():
    ignored = (ROOT / "docker" / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    copied = {source for line in words("COPY") for source in line.split()[:-1]}
    assert copied == {line[1:] for line in ignored if line.startswith("!")}
    assert all((ROOT / name).exists() for name in copied)
    assert words("USER") == ["1000"] * 2  # of each of the two images
    command = json.loads(words("ENTRYPOINT")[-1]) + json.loads(words("CMD")[-1])
    flags = build_parser().parse_args(command[1:])
    assert (flags.host, str(flags.port)) == ("0.0.0.0", *words("EXPOSE"))
    assert flags.index.startswith(*words("VOLUME")) and f":{flags.port}/health" in TEXT
