"""The OpenAPI document and the server are one, as schemathesis sees it."""

import subprocess
import sys

import pytest
from small_models import make_detector, random_questions

from siamese.search.index import QuestionIndex

pytest.importorskip("fastapi")
pytest.importorskip("schemathesis")

from running import running

OPTIONS = "--max-examples 4 --seed 1 --generation-database none --no-color --request-timeout 30"


@pytest.mark.slow
@pytest.mark.parametrize("key", [None, "secret"])
def test_no_check_of_the_fuzzer_fails(key, tmp_path):
    questions = random_questions(50)
    options = {"ids": range(50), "columns": [{"topic": "rice"}] * 50}
    index = QuestionIndex.build(make_detector(threshold=0.9), questions, **options)
    with running(index, key=key) as address:
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{address}/openapi.json"]
        command += OPTIONS.split()
        command += ["-H", f"Authorization: Bearer {key}"] if key else []
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, "\n".join(line[:300] for line in done.stdout.splitlines())
