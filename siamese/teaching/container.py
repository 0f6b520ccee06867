"""The command line that grades strangers' notebooks in a container."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from siamese.errors import ArgumentError
from siamese.search.display import csv_line
from siamese.teaching.grade import notebooks_in


def docker_command(
    image: str, folder: str, results: str, options: Sequence[str], *, gigabytes: float, jobs: int
) -> str:
    """Shell lines that make `results` and grade `folder` in the image, which sees no network.

    Args:
      image: its name; the command `siamese` runs in it.
      folder: of notebooks; the container may only read it.
      results: the folder where the pages and ``grades.csv`` go.
      options: more of `siamese grade`.
      gigabytes: memory for one notebook.
      jobs: how many run at a time.

    Raises:
      ArgumentError: not a folder, or no notebook in it.
    """
    if not Path(folder).is_dir():
        raise ArgumentError(f"--container takes one folder of notebooks; {folder} is not a folder.")
    notebooks_in(folder)
    user = (os.getuid(), os.getgid()) if hasattr(os, "getuid") and os.getuid() else (1000, 1000)

    def mount(source: str, target: str, *more: str) -> str:
        fields = ["type=bind", f"source={os.path.abspath(source)}", f"target={target}", *more]
        return f"mount={csv_line(fields)}"

    settings = [
        "rm", "init", "network=none", "read-only", "tmpfs=/tmp", "env=HOME=/tmp",
        f"user={user[0]}:{user[1]}", "cap-drop=ALL", "security-opt=no-new-privileges",
        f"memory={round(gigabytes * 1024 * jobs)}m",
        f"pids-limit={512 * jobs}",  # Threads count; a kernel has one for each core several times.
        mount(folder, "/hand-ins", "readonly"), mount(results, "/results"), "entrypoint=siamese",
    ]  # fmt: skip
    grade = ["grade", "/hand-ins", "--html=/results", "--csv=/results/grades.csv", f"--jobs={jobs}"]
    command = ["docker", "run", *(f"--{setting}" for setting in settings), image, *grade, *options]
    # As root `install` gives the folder to the user inside.
    make = ["install", "-d", "-o", f"{user[0]}", "-g", f"{user[1]}", os.path.abspath(results)]
    return f"{shlex.join(make)}\n{shlex.join(command)}"
