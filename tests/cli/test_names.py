"""File names that are not UTF-8: each command takes them, and prints them as escapes."""

import os
import subprocess
import sys

import pytest
from programs import mounted_tmpfs

LIST = "id,question\n1,how far is it?\n2,how old are you?\n"
NAME = os.fsdecode(b"fra\xe9ge")

if sys.platform != "linux":
    pytest.skip(
        "needs a file system that takes any bytes for a name", allow_module_level=True
    )


@pytest.fixture
def listed(run):
    """The name of a list of questions, in the folder of the commands."""
    with open(f"{NAME}.csv", "w") as file:
        file.write(LIST)
    return f"{NAME}.csv"


def test_an_index_of_such_a_name_is_made_changed_and_searched(run, listed):
    index = f"{NAME}.db"
    model = f"{NAME}.safetensors"
    groups = f"{NAME}.groups"
    os.rename("model", model)
    for command in (
        ["index", "build", listed, "--model", model, "--output", index],
        ["index", "add", index, listed],
        ["index", "remove", index, "--ids", "2"],
        ["search", index, "how far?"],
        ["duplicates", listed, "--model", model, "--output", groups, "--json"],
        ["match", listed, index, "--output", f"{NAME}.matches"],
        ["predict", model, "how far?", "how old?"],
    ):
        code, out, err = run(*command)
        assert code == 0, (command, err)
        assert (out + err).encode()  # Nothing is printed that is no text.
    for output in (index, groups, f"{NAME}.matches"):
        assert os.path.getsize(output)


@pytest.mark.parametrize(
    "command",
    [
        ["duplicates", "{}.csv"],
        ["search", "{}.db", "how far?"],
        ["predict", "{}", "a", "b"],
        ["index", "build", "{}.csv"],
        ["index", "export", "{}.db", "{}.parquet"],
        ["data", "{}"],
        ["train", "--questions", "{}"],
        ["threshold", "{}", "--answers", "{}"],
        ["import-weights", "{}", "new", "--vocab", "{}"],
        ["grade", "{}"],
    ],
    ids=" ".join,
)
def test_a_missing_file_of_such_a_name_is_one_message(run, command):
    code, _, err = run(*(word.format(NAME) for word in command))
    assert code == 2 and err.encode() and "Traceback" not in err


def test_on_a_read_only_disk_an_index_of_such_a_name_is_searched_and_none_is_written(
    run, listed, tmp_path
):
    with mounted_tmpfs(tmp_path / "disk", "8m") as disk:
        index = disk / f"{NAME}.db"
        command = ["index", "build", listed, "--model", "model", "--output", index]
        assert run(*command)[0] == 0
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        code, out, err = run("search", index, "how far is it?")
        assert code == 0 and "how far is it?" in out, err
        for command in (
            [
                "index",
                "build",
                listed,
                "--model",
                "model",
                "--output",
                disk / f"{NAME}.2",
            ],
            ["index", "add", index, listed],
            ["duplicates", index, "--output", disk / f"{NAME}.groups"],
        ):
            code, _, err = run(*command)
            assert code == 2 and err.encode() and "Traceback" not in err, err
