"""A threshold of a few labels: asked near the border, kept in a file, model or index."""

import re
import shlex
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from programs import environment_of
from small_models import make_detector, random_questions

from siamese import DuplicateDetector, QuestionIndex
from siamese.corpus import handwritten_questions
from siamese.encoders import find_encoder
from siamese.encoders.joined import Head, Joined
from siamese.index.asking import best_cut, duplicate_share, next_rank, shown
from siamese.model.decision import fit_parts, part_cosines
from siamese.reading.pairs import read_pairs

HEADER = "question1,question2,is_duplicate\n"


@pytest.mark.parametrize(
    "header",
    ["Question1,QUESTION2,Is_Duplicate", "\ufeffis_duplicate,Question2,question1"],
)
def test_answers_are_known_by_their_columns_in_any_case_and_order(run, header):
    row = "a b,c d,1" if header.startswith("Q") else "1,c d,a b"
    path = Path("answers.csv")
    path.write_text(f"{header}\n{row}\n", "utf-8")
    Path("q.txt").write_text("how far\nhow far is it\nwhy\n")
    command = [
        "threshold",
        "q.txt",
        "--model",
        "model",
        "--answers",
        path,
        "--label",
        2,
    ]
    assert "2 of 2" in run(*command, stdin="y\n")[2]
    pairs = read_pairs(path)
    assert (pairs.question1[0], pairs.question2[0], len(pairs)) == ("a b", "c d", 2)


@pytest.mark.parametrize("saved", ["utf-8", "cp1252", "utf-8-sig", "utf-16"])
def test_answers_are_added_to_earlier_ones_whoever_saved_them(run, saved):
    path = Path("answers.csv")
    text = f'{HEADER}"Où\nist",b,1\r\n'
    by_spreadsheet = saved in ("utf-8-sig", "utf-16")
    encoding = None if by_spreadsheet else saved
    mark = {"utf-8-sig": ";", "utf-16": "\t"}.get(saved, ",")
    path.write_text(
        text.replace(",", mark).rstrip() if by_spreadsheet else text, saved, newline=""
    )
    listed = ['Wo ist "hier"; ja, Où?', "far far, Où", "age"]
    Path("q.txt").write_text("\n".join(listed), encoding or "utf-8")
    command = ["threshold", "q.txt", "--model", "model", "--answers", "answers.csv"]
    command += ["--encoding", encoding] if encoding else []
    for count in (2, 3):
        assert f"{count} of {count}" in run(*command, "--label", count, stdin="y\n")[2]
    pairs = read_pairs(path, encoding=encoding)
    assert (pairs.question1[0], pairs.question2[0]) == ("Où\nist", "b")
    assert len(pairs) == 3
    assert {*pairs.question1[1:], *pairs.question2[1:]} <= {*listed}


def test_the_command_asks_and_writes_to_model_or_index(run):
    detector = make_detector(threshold=0.2)
    model = detector.save(Path("model"), overwrite=True)
    QuestionIndex.build(
        detector, random_questions(200), path="old", model=model
    ).close()
    code, _, err = run(
        "threshold", "old", "--label", "30", stdin="what\ny\ns\nn\n" + "n\ny\n" * 4
    )
    assert code in (0, 2) and "2 of 30" in err and "The same question?" in err
    assert not Path("old.answers.csv").exists()
    with QuestionIndex.open("old") as index:
        assert len(index.answers()) == 10
    one, two = random_questions(60, seed=2), random_questions(60, seed=3)
    labels = detector.similarity(one, two) > 0.5
    lines = [f"{a},{b},{int(y)}" for a, b, y in zip(one, two, labels)]
    Path("mine.csv").write_text("\n".join(["x,y,grade", *lines]))
    options = ["--answers", "mine.csv", "--columns", "x,y,grade"]
    assert "95 % interval" in run("threshold", "old", *options)[1]
    with QuestionIndex.open("old") as index:
        fitted = index.detector
    assert fitted.threshold == pytest.approx(0.5, abs=0.1) and fitted.calibration
    Path("q.txt").write_text("how far\n")
    out = run("threshold", "q.txt", "--model", "model", *options)[1]
    assert (
        f"Threshold {fitted.threshold:.3f}" in out and "not saved; --output FILE" in out
    )
    assert DuplicateDetector.load(model).threshold == pytest.approx(0.2)
    assert run("threshold", "model", *options)[0] == 0
    assert DuplicateDetector.load(model).threshold == pytest.approx(fitted.threshold)


def test_a_curve_lists_pairs_by_its_probability_and_is_refitted(run, rows):
    use = find_encoder("use")
    head = Head(use, np.diag(np.linspace(1, 9, 512)))
    model = DuplicateDetector(Joined([(0.5, use), (0.5, head)]))
    one, two = random_questions(200, seed=2), random_questions(200, seed=3)
    vectors = model.encode(one), model.encode(two)
    cosines, parts = np.vecdot(*vectors), part_cosines(model.encoder, *vectors)
    noisy = np.random.default_rng(0).normal(np.median(cosines), 0.1, 200)
    model = model.with_threshold(fit_parts(parts, cosines, cosines > noisy).fit)
    model.save("curve")
    labelled = zip(one, two, (cosines > np.quantile(cosines, 0.7)).astype(int))
    Path("mine.csv").write_text(
        HEADER + "".join(f"{a},{b},{y}\n" for a, b, y in labelled)
    )
    Path("q.txt").write_text("\n".join(one))
    table = rows("duplicates", "q.txt", "--model", "curve", "--pairs")
    probabilities = [float(row["probability"]) for row in table]
    sides = ([row[side] for row in table] for side in ("question1", "question2"))
    np.testing.assert_allclose(probabilities, model.probability(*sides), atol=1e-5)
    assert (
        probabilities == sorted(probabilities, reverse=True)
        and min(probabilities) > 0.5
    )
    fit = ["--answers", "mine.csv", "--output", "new"]
    out = run("threshold", "q.txt", "--model", "curve", *fit[:2])[1]
    low, high = map(
        float, re.search(r"Threshold 0\.500, .* \[(.*), (.*)\]", out).groups()
    )
    assert (
        low < 0.5 < high
        and "not saved; --output FILE" in out
        and "--threshold" not in out
    )
    assert run("threshold", "curve", *fit)[0] == 0
    # 30 % are duplicates now, 50 % before: the same order, and a later cut.
    chances, new = (
        model.probability(one, two),
        DuplicateDetector.load("new").probability(one, two),
    )
    assert np.argsort(new).tolist() == np.argsort(chances).tolist()
    assert 0.2 < (new > 0.5).mean() < 0.4 < (chances > 0.5).mean()
    code, _, err = run("threshold", "curve", *fit)
    assert code == 2 and "--overwrite" in err


def test_what_cannot_be_fitted_is_one_sentence(refused):
    Path("one.csv").write_text(f"{HEADER}how far,how old,1\n")
    Path("bad.csv").write_text(f"{HEADER}how far,how old,1\nhow,far\n")
    Path("other.csv").write_text("question1,question2,is_duplicate,more\nx,y,1,z\n")
    Path("q.txt").write_text("how far\nhow far is it\nwhy\n")
    label = ["one.csv", "--model", "model", "--label", "3"]
    ask = ["q.txt", "--model", "model", "--label", "2"]
    for options, why, replies in (
        (["model"], "--answers FILE", None),
        (["model", "--label", "3"], "--label asks about the questions", None),
        (["model", "--label", "-3"], "Pass --label N, at least 1", None),
        (["model", "--answers", "one.csv"], "both classes are needed", None),
        ([*label, "--answers", "other.csv"], "is not a table of answers alone", None),
        ([*label, "--answers", "bad.csv"], "line 3: 2 fields", None),
        (
            [*label, "--answers", "bad.csv", "--bad-rows", "skip"],
            "line 3: 2 fields",
            None,
        ),
        ([*label, "--answers", "."], "is a directory", None),
        ([*ask, "--answers", "q.txt/a.csv"], "Cannot write q.txt", ""),
        (ask, "There are no pairs: at least one", ""),
        (ask, "All 2 pairs are non-duplicates; both classes are needed", "n\nn\n"),
    ):
        refused(["threshold", *options], why, stdin=replies)


@pytest.fixture
def unanswered(run):
    """An index in the file "old", of a model with the threshold 0.2."""
    detector = make_detector(threshold=0.2)
    model = detector.save("model", overwrite=True)
    QuestionIndex.build(detector, random_questions(99), path="old", model=model).close()


@pytest.mark.parametrize(("count", "advice"), [(3, "Answer more"), (20, "near misses")])
def test_answers_of_one_kind_bind_the_groups_of_an_index(
    run, unanswered, count, advice
):
    for _ in range(2):  # The second run asks nothing, and fits again.
        code, _, err = run("threshold", "old", "--label", count, stdin="n\n" * count)
        assert code == 2 and "stays what it is, and the answers bind the groups" in err
        assert f"All {count} pairs are non-duplicates" in err and advice in err
        with QuestionIndex.open("old") as index:
            assert len(index.answers()) == count and index.detector.threshold == 0.2


def test_answers_of_a_broken_run_are_kept(run, unanswered, monkeypatch):
    assert run("threshold", "old", "--label", "20", stdin="n\n" * 20)[0] == 2
    monkeypatch.setattr(
        "sys.stdin", Mock(readline=Mock(side_effect=["y\n", KeyboardInterrupt]))
    )
    assert run("threshold", "old", "--label", "30")[0] == 130
    with QuestionIndex.open("old") as index:
        assert index.answers().is_duplicate.sum() == 1 and len(index.answers()) == 21
    out = run("threshold", "old", "--label", "21")[1]
    assert (
        "Of 21 labels 1 is a duplicate, and it takes 5" in out and "near misses" in out
    )
    with QuestionIndex.open("old") as index:
        assert index.detector.threshold == 0.2 and index.detector.calibration is None


@pytest.mark.parametrize("border", [5, 60, 600])
@pytest.mark.parametrize("start", [0.0, 0.3, 0.99])
def test_both_answers_come_within_ten_questions(border, start):
    ranks, labels = [], []
    while len(set(labels)) < 2:
        left = np.setdiff1d(np.arange(1200), ranks)
        ranks.append(next_rank(ranks, labels, 1200, left, start))
        labels.append(ranks[-1] < border)
    assert len(ranks) <= 10


@pytest.mark.parametrize("half", [20, 100, 400])
@pytest.mark.parametrize("near_misses", [0, 15])
def test_thirty_answers_find_the_cut_with_the_best_f1(half, near_misses):
    """Of a list whose first pairs may be near misses, and whose pairs are duplicates ever more seldom."""
    share = 0.9 / (1 + (np.arange(1200) / half) ** 2)
    share[:near_misses] = 0.2
    reached = []
    for draw in range(20):
        truth = np.random.default_rng(draw).uniform(size=1200) < share
        f1 = 2 * np.cumsum(truth) / (np.arange(1, 1201) + truth.sum())
        ranks, labels = [], []
        while len(ranks) < 30:
            left = np.setdiff1d(np.arange(1200), ranks)
            ranks.append(next_rank(ranks, labels, 1200, left))
            labels.append(truth[ranks[-1]])
        assert len(set(ranks)) == 30
        cut = best_cut(duplicate_share(ranks, labels, 1200))
        reached.append(f1[cut - 1] / f1.max())
    assert np.mean(reached) > 0.8


def test_what_is_shown_is_short_and_marks_the_words_that_differ():
    one, two = shown("How far is  Rome?", "How FAR is Oslo? " + "so " * 200)
    assert one == "How far is [Rome?]" and two.startswith("How FAR is [Oslo?] [so]")
    assert len(re.sub(r"[][]", "", two)) <= 300


def test_an_answer_can_be_taken_back(run):
    Path("q.txt").write_text("how far\nhow old\ncook rice\nwhat is far\n")
    command = ["threshold", "q.txt", "--model", "model", "--label", "3"]
    err = run(*command, stdin="u\ny\ny\nu\nu\nn\nn\nq\n")[2]
    assert (
        "no answer of this run to take back" in err
        and "u (undo the last answer)" in err
    )
    assert read_pairs("q.txt.answers.csv").is_duplicate.tolist() == [0, 0]
    texts = re.findall("^1 of 3\n(.*)\n(.*)$", err, re.M)
    assert len(texts) == 3 and len(set(texts)) == 1  # Taken back, it is asked again.


class Labeller:
    """A process of `siamese threshold`, one question at a time."""

    def __init__(self, target, *flags):
        command = [sys.executable, "-m", "siamese.cli", "threshold", target, *flags]
        pipe = subprocess.PIPE
        options = {
            "stdin": pipe,
            "stdout": subprocess.DEVNULL,
            "stderr": pipe,
            "text": True,
        }
        options |= {"bufsize": 1, "env": environment_of()}
        self.process = subprocess.Popen(command, **options)
        self.messages = ""
        self.wait()

    def wait(self):
        """Reads messages until it asks, which acknowledges the answer before."""
        lines = iter(self.process.stderr.readline, "")
        self.messages = ""
        for line in lines:
            self.messages += line
            if line.startswith("The same question?"):
                return
        raise AssertionError(self.messages)

    def reply(self, letter):
        print(letter, file=self.process.stdin, flush=True)
        self.wait()

    def shown(self):
        return re.findall("^  (.*)$", self.messages, re.M)[-2:]


def labels_of(target):
    if target == "q.db":
        with QuestionIndex.open(target) as index:
            pairs = index.answers()
    else:
        pairs = read_pairs(f"{target}.answers.csv")
    keys = map(frozenset, zip(pairs.question1, pairs.question2))
    return dict(zip(keys, pairs.is_duplicate.tolist(), strict=True))


@pytest.mark.parametrize("target", ["q.txt", "q.db"])
def test_two_people_who_label_at_once_lose_no_answer(run, target):
    Path("q.txt").write_text("\n".join(dict.fromkeys(random_questions(30))))
    assert (
        run("index", "build", "q.txt", "--model", "model", "--output", "q.db")[0] == 0
    )
    flags = ["--label", "20", *(["--model", "model"] if target == "q.txt" else [])]
    people = [Labeller(target, *flags) for _ in range(2)]
    try:
        one, two = people
        assert one.shown() == two.shown()
        one.reply("y")
        two.reply("n")  # to the same pair: the answer that was first stays
        assert "Not stored: Another person answered duplicates" in two.messages
        assert list(labels_of(target).values()) == [True]
        assert one.shown() == two.shown()
        one.reply("n")
        two.reply("s")
        two.reply("n")
        assert sorted(labels_of(target).values()) == [False, False, True]
        two.reply("u")
        two.reply("u")
        assert "no answer of this run to take back" in two.messages
        assert sorted(labels_of(target).values()) == [False, True]
        two.reply("y")
        two.process.kill()
        one.reply("n")  # to the same pair again
        assert "Another person answered duplicates" in one.messages
        one.reply("n")
        assert sorted(labels_of(target).values()) == [False, False, True, True]
    finally:
        for labeller in people:
            labeller.process.kill()
            labeller.process.communicate()


def test_an_index_has_its_answers_in_itself_alone(run):
    Path("q.txt").write_text("\n".join(dict.fromkeys(random_questions(30))))
    assert (
        run("index", "build", "q.txt", "--model", "model", "--output", "q.db")[0] == 0
    )
    run("threshold", "q.db", "--label", "9", stdin="y\nn\nn\n")
    with QuestionIndex.open("q.db") as index:  # as the page takes one back
        answers = index.answers()
        index.add_answers(answers.rows(0, 1), forget=True)
    Path("mine.csv").write_text(
        f"{HEADER}{answers.question1[1]},{answers.question2[1]},1\n"
    )
    _, _, err = run("threshold", "q.db", "--label", "9", stdin="q\n")
    assert "3 of 9" in err and list(labels_of("q.db").values()) == [False, False]
    # A file is read into it once, and it says which answers it changes.
    _, _, err = run("threshold", "q.db", "--answers", "mine.csv")
    assert "changed 1 answer" in err and sorted(labels_of("q.db").values()) == [
        False,
        True,
    ]
    Path("mine.csv").unlink()
    assert "3 of 9" in run("threshold", "q.db", "--label", "9", stdin="q\n")[2]
    assert sorted(path.name for path in Path().iterdir()) == ["model", "q.db", "q.txt"]


@pytest.mark.parametrize(
    "rows",
    [
        "how far,how old,1\nhow far,how old,0\n",
        "how far,how old,1\nHow  OLD,How far,0\n",
        "how far,how old,1\nhow old,how,1\nHOW,how far,0\n",
        "how far,How far,0\n",
    ],
)
def test_answers_that_contradict_each_other_are_named(refused, run, rows):
    Path("q.txt").write_text("how far\nhow old\nhow\nHow far\n")
    Path("q.txt.answers.csv").write_text(HEADER + rows)
    assert (
        run("index", "build", "q.txt", "--model", "model", "--output", "q.db")[0] == 0
    )
    for command in (
        ["duplicates", "q.txt", "--model", "model"],
        ["threshold", "q.txt", "--model", "model", "--label", "5"],
        ["threshold", "q.db", "--answers", "q.txt.answers.csv"],
    ):
        refused(
            command, "q.txt.answers.csv: The answers contradict each other", stdin="q\n"
        )
    with QuestionIndex.open("q.db") as index:
        assert len(index.answers()) == 0


def test_an_answer_that_contradicts_others_is_not_stored_and_the_next_pair_is_asked(
    run,
):
    Path("q.txt").write_text("how far\nhow old\nhow rice\n")
    command = ["threshold", "q.txt", "--model", "model", "--label", "3"]
    err = run(*command, stdin="y\ny\nn\n")[2]
    assert "Not stored: The answers contradict each other" in err
    assert read_pairs("q.txt.answers.csv").is_duplicate.tolist() == [1, 1]


@pytest.fixture
def linked(run):
    """A list, an index of it and pairs by their ids; the number of pairs."""
    texts = list(dict.fromkeys(random_questions(80)))
    lines = ["id,question", *(f"q{n},{text}" for n, text in enumerate(texts))]
    Path("q.csv").write_text("\n".join(lines))
    ends = [(n, (n * 7 + 3) % len(texts)) for n in range(len(texts))]
    cosines = make_detector().similarity(
        *([texts[end] for end in side] for side in zip(*ends))
    )
    rows = [f"q{a},q{b},{int(cosine > 0.6)}" for (a, b), cosine in zip(ends, cosines)]
    Path("links.csv").write_text("\n".join(["id1,id2,is_duplicate", *rows]))
    assert (
        run("index", "build", "q.csv", "--model", "model", "--output", "q.db")[0] == 0
    )
    return len(texts)


@pytest.mark.parametrize("source", ["q.csv", "q.db"])
def test_pairs_by_id_fit_a_threshold(run, linked, source):
    command = ["threshold", "q.db", "--answers", "links.csv", "--list", source]
    code, out, err = run(*command)
    assert code == 0 and f"of {linked} labels" in out, err


def test_pairs_by_id_are_measured(run, linked):
    command = ["evaluate", "model", "--questions", "links.csv", "--list", "q.csv"]
    assert run(*command)[0] == 0


def test_what_thirty_answers_are_worth_on_the_handwritten_questions(
    run, rows, monkeypatch
):
    """The figures of the README and of docs/quickstart.md."""
    owners = {
        own["question"]: own["group"] or own["id"] for own in handwritten_questions()
    }
    Path("q.txt").write_text("\n".join(owners))

    def pairs(group_of):
        both = combinations(group_of, 2)
        return {
            frozenset(pair)
            for pair in both
            if len({group_of[text] for text in pair}) == 1
        }

    def found(*flags):
        table = rows("duplicates", "q.txt", *flags)
        return pairs({row["question"]: row["group"] for row in table})

    true, before = pairs(owners), found()
    assert [len(true), len(before), len(before & true)] == [120, 57, 53]
    answer = lambda pair, _: "ny"[owners[pair[0]] == owners[pair[1]]]  # noqa: E731
    monkeypatch.setattr("siamese.cli.asking._ask", answer)
    out = run("threshold", "q.txt", "--label", "30")[1]
    # With answers beside the list its threshold is fitted, not the default.
    assert "This threshold is a default" not in run("duplicates", "q.txt")[2]
    after = found()  # It fits the same threshold to the same answers.
    # They bind the groups, on both sides of the cut.
    answers = read_pairs("q.txt.answers.csv")
    yours = answers.is_duplicate.sum()
    assert [len(after), len(after & true), yours] == [81, 72, 11]
    assert (
        f"{len(after)} pairs, {yours} of them your answers, {len(after) - yours} new"
        in out
    )
    for one, two, is_duplicate in zip(
        answers.question1, answers.question2, answers.is_duplicate
    ):
        assert ({one, two} in after) == is_duplicate
    command = [
        "threshold",
        "use",
        "--answers",
        "q.txt.answers.csv",
        "--output",
        "fitted",
    ]
    assert run(*command)[0] == 0
    model = DuplicateDetector.load("fitted")  # the encoder's, with that threshold
    assert 0.4 < model.threshold < 0.8 and model.encoder.name == "use"
    assert model.threshold_from == "labels" and model.calibration is not None


def test_a_list_is_described_and_a_long_one_has_the_way_to_an_index(run, monkeypatch):
    Path("my q.csv").write_text(
        "title,body,tags\nHow far?,I ask.,x\nHow old?,Tell.,y\n"
    )
    err = run("duplicates", "my q.csv")[2]
    assert "2 questions; column: title+body:50" in err and "not compared: tags" in err
    assert "Encoder use, threshold 0.700. This threshold is a default" in err
    assert "siamese index build" not in err
    monkeypatch.setattr("siamese.cli.reading.MANY", 1)
    err = run("duplicates", "my q.csv")[2]
    assert "`siamese index build` keeps the vectors." in err
    assert err.count("--label 30") == 1


@pytest.mark.parametrize(
    "rows", [",,\n", "how far,how old,1\n,,\n", ";;\n how far;how old;0\n", ""]
)
def test_blank_rows_of_a_spreadsheet_are_no_answers(run, rows):
    mark = ";" if ";" in rows else ","
    Path("q.txt").write_text("how far\nhow old\nhow rice\n")
    Path("q.txt.answers.csv").write_text(HEADER.replace(",", mark) + rows)
    assert run("duplicates", "q.txt", "--model", "model")[0] == 0
    before = rows.count("how far")
    _, _, err = run(
        "threshold", "q.txt", "--model", "model", "--label", before + 1, stdin="y\n"
    )
    assert f"{before + 1} of {before + 1}" in err
    assert len(read_pairs("q.txt.answers.csv")) == before + 1


@pytest.mark.parametrize(
    "row", ["why,what,\n", "why,,1\n", "why,what,maybe\n", "why,what\n"]
)
@pytest.mark.parametrize("flags", [[], ["--bad-rows", "skip"]], ids=str)
def test_an_answer_that_is_not_whole_is_named_and_nothing_is_rewritten(
    refused, run, row, flags
):
    Path("q.txt").write_text("how far\nhow old\nhow rice\n")
    text = f"{HEADER}how far,how old,1\n{row}"
    Path("q.txt.answers.csv").write_text(text)
    command = ["threshold", "q.txt", "--model", "model", "--label", "2", *flags]
    refused(command, "line", stdin="y\n")
    assert "--bad-rows" not in run(*command, stdin="y\n")[2]  # It would not help.
    assert Path("q.txt.answers.csv").read_text() == text


def advised_commands(messages):
    return [
        line.split("    (")[0]
        for line in re.findall("siamese ([a-z]+ [^`\n]*)", messages)
    ]


@pytest.mark.parametrize("target", ["q.csv", "q.db"])
@pytest.mark.parametrize("flags", [[], ["--bad-rows", "skip"]], ids=str)
def test_links_of_a_list_or_an_index_are_read_by_its_ids_and_the_advice_works(
    run, target, flags
):
    texts = list(dict.fromkeys(random_questions(40)))
    lines = ["id,question", *(f"q{n},{text}" for n, text in enumerate(texts))]
    Path("q.csv").write_text("\n".join(lines))
    assert (
        run("index", "build", "q.csv", "--model", "model", "--output", "q.db")[0] == 0
    )
    Path("links.csv").write_text("id1,id2\nq1,q2\nq3,q4\n")
    model = ["--model", "model"] if target == "q.csv" else []
    command = ["threshold", target, "--answers", "links.csv", *model, *flags]
    code, _, err = run(*command)
    assert code == 2 and "names questions" in err and "both classes" in err
    if target == "q.db":
        with QuestionIndex.open("q.db") as index:
            assert index.answers().is_duplicate.tolist() == [True, True]
    commands = advised_commands(err)
    assert commands
    for advised in commands:
        advised = advised.replace('"..."', '"how far"')
        code, _, err = run(*shlex.split(advised), stdin="q\n")
        # Nobody answers here, so a threshold cannot be fitted yet.
        assert code == 0 or advised.startswith("threshold"), err
        assert "leave out" not in err


def test_answers_that_refused_pairs_are_the_same_name_the_kind_to_ignore(run):
    trains = [f"Does the {hour}:15 train to Leeds stop in York?" for hour in range(5)]
    others = ["Can I feed my dog grapes?", "May dogs eat grapes?", "How old is Rome?"]
    Path("q.txt").write_text("\n".join([*trains, *others]))
    pairs = [(trains[0], own, 1) for own in trains[1:]]
    pairs += [(*others[:2], 1), (others[0], others[2], 0), (trains[0], others[2], 0)]
    lines = ["question1,question2,is_duplicate", *(f"{a},{b},{c}" for a, b, c in pairs)]
    Path("q.txt.answers.csv").write_text("\n".join(lines))
    command = ["threshold", "q.txt", "--answers", "q.txt.answers.csv"]
    err = run(*command)[2]
    assert "4 of the 4 pairs that were refused for a number" in err
    assert "--ignore number" in err
    assert "--ignore" not in run(*command, "--ignore", "number")[2]
