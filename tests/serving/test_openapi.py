"""The OpenAPI document and the server are one, as schemathesis sees it."""

import pytest
from small_models import make_detector, random_questions

from siamese.search.index import QuestionIndex

pytest.importorskip("fastapi")
pytest.importorskip("schemathesis")

from running import running
from schemathesis.cli import schemathesis

OPTIONS = "--max-examples 30 --seed 1 --generation-database none --no-color --request-timeout 30"


@pytest.mark.slow
@pytest.mark.parametrize("key", [None, "secret"])
def test_no_check_of_the_fuzzer_fails(key, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    options = {"ids": range(50), "columns": [{"topic": "rice"}] * 50}
    index = QuestionIndex.build(make_detector(threshold=0.9), random_questions(50), **options)
    with running(index, key=key) as address:
        command = ["run", f"{address}/openapi.json", *OPTIONS.split()]
        # What a key does not change is covered once.
        command += ["-H", f"Authorization: Bearer {key}"] if key else ["--phases", "fuzzing"]
        with pytest.raises(SystemExit) as ended:
            schemathesis(command)
    shown = capsys.readouterr().out
    assert ended.value.code == 0, "\n".join(line[:300] for line in shown.splitlines())
    assert "Fuzzing (in" in shown and ("Coverage (in" in shown) == bool(key)
