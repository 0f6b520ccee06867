"""A flag without effect on what a command is given is an error, which names the flag and says why."""

from pathlib import Path

import pytest

LIST = "id,question\n1,how far\n2,how old\n3,is rice old\n"
PAIRS = "question1,question2,label\nhow far,how old,0\nhow old,how old is it,1\n"
ON_INDEX = "is read as it is"
NO_CHECK = "has no near-miss check"
NO_LIST = "no list of questions"
# command, flag, why
ROWS = [
    ("predict model far old", "--output t.csv", "not a file"),
    ("predict model far old", "--overwrite", "not a file"),
    ("predict model far old", "--bad-rows skip", "not a file"),
    ("predict model far old", "--encoding cp1252", "not a file"),
    ("predict model far old", "--columns a,b", "not a file"),
    ("predict model p.csv", "--explain", "not two questions"),
    ("predict model far old", "--ignore number", NO_CHECK),
    ("predict model p.csv", "--no-near-miss-check", NO_CHECK),
    ("search q.db far", "--ignore number", NO_CHECK),
    ("search q.csv far --model model", "--no-near-miss-check", NO_CHECK),
    ("match q.db", "--ignore number", NO_CHECK),
    ("duplicates q.db", "--no-near-miss-check", NO_CHECK),
    ("duplicates q.csv --model model", "--ignore number,date", NO_CHECK),
    ("threshold q.db --label 3", "--ignore number", NO_CHECK),
    ("threshold model --answers p.csv", "--no-near-miss-check", NO_CHECK),
    ("index build q.csv --model model --output x.db", "--ignore number", NO_CHECK),
    ("serve q.db", "--no-near-miss-check", NO_CHECK),
    ("evaluate model --questions p.csv", "--ignore number", NO_CHECK),
    ("evaluate q.db --queries q.csv --relevant r.csv", "--ignore date", "no labels"),
    ("search q.db far", "--column question", ON_INDEX),
    ("search q.db far", "--id-column id", ON_INDEX),
    ("search q.db far", "--keep-repeated", ON_INDEX),
    ("search q.db far", "--bad-rows skip", ON_INDEX),
    ("search q.db far", "--encoding cp1252", ON_INDEX),
    ("search q.db far", "--language de", ON_INDEX),
    ("match q.db", "--language de", ON_INDEX),
    ("duplicates q.db", "--language de", ON_INDEX),
    ("serve q.db", "--language de", ON_INDEX),
    ("match q.db", "--column question", ON_INDEX),
    ("match q.db", "--bad-rows skip", ON_INDEX),
    ("duplicates q.db", "--column question", ON_INDEX),
    ("duplicates q.db", "--encoding cp1252", ON_INDEX),
    ("duplicates q.csv --model model", "--regroup", "made each time"),
    ("duplicates q.db --pairs", "--regroup", "make no groups"),
    ("duplicates q.db --differences", "--regroup", "make no groups"),
    ("duplicates q.db", "--differences", "without the near-miss check"),
    ("duplicates q.db", "--overwrite", "No output is named"),
    ("serve q.db", "--column question", ON_INDEX),
    ("serve q.csv", "--json", "in JSON by itself"),
    ("index remove q.db --ids 1", "--bad-rows skip", "names the ids themselves"),
    ("index remove q.db --ids 1", "--id-column id", "names the ids themselves"),
    ("evaluate model --questions p.csv", "--model use", "is a model itself"),
    ("evaluate model --questions p.csv", "--column question", NO_LIST),
    ("evaluate q.db --questions p.csv", "--id-column id", NO_LIST),
    ("evaluate q.db --queries q.csv --relevant r.csv", "--threshold 0.5", "no labels"),
    ("evaluate q.db --queries q.csv --relevant r.csv", "--columns a,b", "no labels"),
    ("evaluate q.db --queries q.csv --relevant r.csv", "--list q.csv", "no labels"),
    ("evaluate q.csv --groups id", "--list q.csv", "no pairs"),
    ("evaluate q.csv --groups id", "--columns a,b", "no pairs"),
    ("threshold model --answers p.csv", "--model use", "is a model itself"),
    ("threshold model --answers p.csv", "--keep-repeated", NO_LIST),
    ("threshold q.db --label 3", "--column question", ON_INDEX),
    ("threshold q.db --label 3", "--output m", "keeps its threshold itself"),
    ("threshold q.db --label 3", "--overwrite", "keeps its threshold itself"),
    ("threshold q.db --label 3", "--columns a,b", "keeps its answers itself"),
    ("threshold q.db --label 3", "--list q.csv", "keeps its answers itself"),
    ("threshold q.db --label 3", "--bad-rows skip", "keeps its answers itself"),
    ("threshold q.csv --label 3 --model model", "--columns a,b", "reads none"),
    ("threshold q.csv --label 3 --model model", "--list q.csv", "reads none"),
    ("train --questions p.csv", "--column question", NO_LIST),
    ("train --questions p.csv", "--train-rows 1", "fixed settings on all"),
    ("train --questions p.csv", "--test-rows 1", "fixed settings on all"),
    ("train --questions p.csv", "--split clusters", "fixed settings on all"),
    ("train --questions p.csv", "--test p.csv", "fixed settings on all"),
    ("train --questions p.csv", "--steps 5", "fixed settings on all"),
    ("train --questions p.csv", "--set margin=0.5", "fixed settings on all"),
]


@pytest.fixture
def files(run):
    Path("q.csv").write_text(LIST)
    Path("p.csv").write_text(PAIRS)
    Path("r.csv").write_text("query_id,id\n1,2\n")
    build = ["index", "build", "q.csv", "--model", "model", "--output", "q.db"]
    assert run(*build)[0] == 0


@pytest.mark.parametrize(("command", "flag", "why"), ROWS)
def test_a_flag_without_effect_is_refused(run, files, command, flag, why):
    before = sorted(Path().iterdir())
    code, out, err = run(*command.split(), *flag.split())
    assert (code, out) == (2, "")
    message = " ".join(err.splitlines()[-1:])
    assert why in message and "leave out" in message, message
    named = flag.split()
    assert named[0] in message or f"{named[0]} {named[1].partition('=')[0]}" in message
    assert sorted(Path().iterdir()) == before
