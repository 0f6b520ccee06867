"""Writes the pinned lists: requirements.txt and requirements/*.txt. `make requirements` runs it.

The requirements stand in setup.cfg (the package and its extras) and in pyproject.toml's
groups. uv resolves them for Python 3.11 on Linux; a version in a list stays unless
``--upgrade`` is given. A list leaves out the pins of the lists below it, and keeps the
comment at its head.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BASE = "requirements.txt"
NOTEBOOKS = "requirements/notebooks.txt"
# List -> the lists below it, the extras, the groups.
LISTS = {
    BASE: ([], ["course", "plots"], ["dev"]),
    NOTEBOOKS: ([BASE], ["notebooks"], []),
    "requirements/extras.txt": (
        [BASE, NOTEBOOKS],
        ["minilm", "serve", "tables", "wordllama"],
        ["browser", "minilm"],
    ),
    "requirements/docs.txt": ([BASE, NOTEBOOKS], [], ["docs"]),
    "requirements/scale.txt": ([BASE], [], ["scale"]),
    "requirements/tensorflow.txt": ([BASE], ["course"], []),
    "requirements/bench.txt": ([], [], ["bench"]),
}

# Trax asks for the first four, and the weights of minilm for sentence-transformers;
# siamese does not need them.
LEFT_OUT = {
    BASE: ["gym", "tensorflow", "tensorflow-datasets", "tensorflow-text"],
    "requirements/tensorflow.txt": [],
    "requirements/extras.txt": ["sentence-transformers"],
}


def pins(name: str) -> list[str]:
    """The lines `package==version` of a list."""
    return re.findall(r"^[^#\s]+==\S+", (ROOT / name).read_text(encoding="utf-8"), re.M)


def package(pin: str) -> str:
    """A pin's package, as package indexes compare names."""
    return re.sub(r"[-_.]+", "-", pin.partition("==")[0]).lower()


def resolve(name: str, folder: Path, upgrade: bool) -> list[str]:
    """The pins of a list, without those of the lists below it."""
    below, extras, groups = LISTS[name]
    fixed = [pin for lower in below for pin in pins(lower)]
    (folder / "below.txt").write_text("\n".join(fixed))
    (folder / "left_out.txt").write_text("\n".join(LEFT_OUT.get(name, LEFT_OUT[BASE])))
    (folder / "out.txt").write_text("" if upgrade else "\n".join(pins(name)))
    command = ["uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate"]
    command += ["--python-version", "3.11", "--python-platform", "linux"]
    command += ["--output-file", "out.txt"]
    command += ["--constraints", "below.txt", "--excludes", "left_out.txt"]
    if extras:
        command.append(str(ROOT / "setup.cfg"))
    for extra in extras:
        command += ["--extra", extra]
    for group in groups:
        command += ["--group", f"{ROOT / 'pyproject.toml'}:{group}"]
    if not below and not extras:
        command += ["--no-deps"]  # its own requirements may be of any version
    subprocess.run(command, cwd=folder, check=True)
    lower = {package(pin) for pin in fixed}
    spelled = {package(pin): pin.partition("==")[0] for pin in pins(name)}
    resolved = re.findall(r"^([^#\s]+)==(\S+)", (folder / "out.txt").read_text(), re.M)
    return [
        f"{spelled.get(name, name)}=={version}"
        for name, version in resolved
        if name not in lower
    ]


def main() -> None:
    """Writes each list below its comment."""
    for name in LISTS:
        path = ROOT / name
        head = re.match(r"(?:#.*\n|\n)*", path.read_text(encoding="utf-8"))[0]
        with tempfile.TemporaryDirectory() as folder:
            lines = resolve(name, Path(folder), "--upgrade" in sys.argv)
        path.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
        print(f"{name}: {len(lines)} packages")


if __name__ == "__main__":
    main()
