"""Runs the README's commands in order, word by word, in a copy of the repository: `make check-readme`.

Without ``--installed`` the first lines make an empty environment and install siamese in
it. With it, lines that make the environment are left out, and `siamese` is the command
of the Python that runs this. Questions that a command asks are answered y, n, y, n and
so on.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SET_UP = ("python3 -m venv", "pip install")


def commands(installed: bool) -> list[str]:
    """The lines of the README's blocks marked `sh`."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = "".join(re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)).splitlines()
    return [line for line in lines if not (installed and line.startswith(SET_UP))]


def run(folder: Path, installed: bool) -> str:
    """Copies the repository's files to `folder` and runs the commands there; returns what they printed.

    Raises:
      CalledProcessError: a command failed; its output is in the error.
    """
    listed = subprocess.check_output(
        ["git", "ls-files", "-z"], cwd=ROOT, text=True
    ).split("\0")
    for name in filter(lambda name: (ROOT / name).is_file(), listed):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes((ROOT / name).read_bytes())
    script = ["set -ex", *commands(installed)]
    if installed:
        script.insert(1, f'siamese() {{ "{sys.executable}" -m siamese.cli "$@"; }}')
    environment = {
        name: os.environ[name] for name in os.environ if name != "PYTHONPATH"
    }
    return subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=folder,
        env=environment,
        input="y\nn\n" * 40,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    ).stdout


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        try:
            print(run(Path(name), "--installed" in sys.argv))
        except subprocess.CalledProcessError as error:
            sys.exit(error.stdout)
