"""A made export of a forum with planted duplicates, and which columns find them best.

Usage: python benchmarks/forum.py make FOLDER [--wording far] [--posts 20000] [--seed 0]
       python benchmarks/forum.py measure FOLDER [--words 50] [--results benchmarks/results/forum.json]

`make` writes posts.csv and next.csv (next week's 1,000 posts) as Windows-1252 with the columns title, body,
tags and created_at, and truth.json with row numbers from 0. forum_phrases.txt has the hand-written texts:
300 needs in threads of six, which are near misses of each other; each is planted in two wordings, and
50 of them stand in next.csv again. The second wording is `plain`, with the nouns that most people use, or
`far`, in words as different as they come. What the other posts are about comes from forum_grammar.txt and
the embedded corpus, each need once. In a body 130 of 170 words are sentences that fit any post.

`measure` compares title, body, title+body and 2*title+body. Pairs: all pairs of the export in falling order
of their cosine. Groups: average linkage, by their pairs. Search: the title of a planted post finds its
duplicate. `--words` cuts each text. Vectors stay in the folder for temporary files.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import random
import re
import tempfile
import time
from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path

import numpy as np
from joblib import Memory
from search import best_cut, groupings
from sklearn.metrics import roc_auc_score

from siamese import DuplicateDetector, QuestionIndex, embedded_corpus
from siamese.data.questions import read_questions
from siamese.search.linkage import average_linkage, strongest_pairs

HERE = Path(__file__).resolve().parent
ENCODING = "cp1252"
COLUMNS = ("title", "body", "title+body", "2*title+body")
START, DAYS = datetime.datetime(2023, 1, 2, 6), 700
NEXT = 1_000  # posts of next week
PRECISION = 0.7
DEPTH = 100  # hits of a search that count
# The share of posts with each line of the sections "lines top" and "lines bottom".
TOP, BOTTOM = (0.12, 0.2, 0.08), (0.15, 0.1, 0.08, 0.05, 0.03, 0.02)
NUMBERS = {"n": (3, 48), "m": (2, 30), "d": (4, 20), "year": (2009, 2022)}  # that fill blanks


def read_threads() -> list[dict]:
    """The hand-written threads: group, tags, background and needs (mark -> list of (title, text))."""
    threads: list[dict] = []
    for line in (HERE / "forum_phrases.txt").read_text(encoding="utf-8").splitlines():
        mark, _, text = line.partition(" ")
        if mark == "==":
            group, tags, _ = text.split(" ", 2)
            threads.append({"group": group, "tags": tags, "background": [], "needs": []})
        elif mark == "~":
            threads[-1]["background"].append(text)
        elif mark == "-":
            threads[-1]["needs"].append({"-": [tuple(text.split(" | "))], "+": [], "=": []})
        elif mark and mark in "+=":
            threads[-1]["needs"][-1][mark].append(tuple(text.split(" | ")))
    return threads


def read_grammar() -> dict[str, list[str]]:
    """The sections of the grammar, name -> lines."""
    text = (HERE / "forum_grammar.txt").read_text(encoding="utf-8")
    sections = (section.splitlines() for section in text.split("\n@ ")[1:])
    return {name: lines for name, *lines in sections}


class Writer:
    """Writes posts, one after the other, from one generator of random numbers."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.grammar = read_grammar()
        self.pools = {
            name: self.grammar[f"{name}s"][0].split(", ")
            for name in ("brand", "relative", "town", "name", "day", "month")
        }
        self.deck = self.needs()
        self.rng.shuffle(self.deck)

    def needs(self) -> list[tuple]:
        """What the posts are about that are not planted: of the grammar, and of the embedded corpus."""
        meanings: dict[tuple, list[str]] = {}
        for question in embedded_corpus().questions:
            meanings.setdefault((question.subject, question.meaning), []).append(question.text)
        needs: list[tuple] = [("corpus", tag, texts) for (tag, _), texts in meanings.items()]
        for line in self.grammar["kinds"]:
            group, tag, kind, objects = line.split(" | ")
            for thing, fault in product(objects.split(", "), self.grammar[f"faults {group}"]):
                needs.append((group, tag, kind, thing, fault))
        return needs

    def filled(self, text: str, product: str = "", objects: str = "") -> str:
        """A phrase with its choices made and its blanks filled in, with a capital letter."""
        text = re.sub(r"\[([^]]*)\]", lambda m: self.rng.choice(m[1].split("|")), text)
        values = {name: self.rng.choice(pool) for name, pool in self.pools.items()}
        values |= {name: self.rng.randint(*ends) for name, ends in NUMBERS.items()}
        values |= {"money": f"{self.rng.randint(12, 390)} €"}
        text = text.format(product=product, object=objects, **values)
        return text[:1].upper() + text[1:]

    def body(self, group: str, core: str, background: list[str], words: Sequence[str]) -> str:
        """A body around its core: background, sentences of the grammar, lines of signatures."""
        rng, grammar = self.rng, self.grammar
        length = rng.lognormvariate(5.03, 0.42)  # words, 170 in the mean with closing and lines
        before = rng.sample(background, rng.choice((0, 0, 1))) if background else []
        rest = [line for line in background if line not in before]
        after = rng.sample(rest, min(len(rest), rng.randint(0, 2)))
        pool = grammar.get(f"context {group}", []) + grammar["context any"]
        pool = rng.sample(pool, len(pool))
        sentences = [*before, core, *after]
        count = sum(len(sentence.split()) for sentence in sentences)
        while count < length - 12 and pool:
            sentences.append(self.filled(pool.pop(), *words))
            count += len(sentences[-1].split())
        lines = [self.filled(rng.choice(grammar["openings"]))] if rng.random() < 0.6 else []
        while sentences:
            size = rng.randint(2, 5)
            lines.append(" ".join(sentences[:size]))
            sentences = sentences[size:]
        if rng.random() < 0.7:
            lines.append(self.filled(rng.choice(grammar["closings"])))
        lines[:0] = [line for line, p in zip(grammar["lines top"], TOP) if rng.random() < p]
        lines += [line for line, p in zip(grammar["lines bottom"], BOTTOM) if rng.random() < p]
        text = "\n".join(lines)
        return text.replace("'", "’") if rng.random() < 0.3 else text

    def planted(self, thread: dict, wording: tuple[str, str]) -> list[str]:
        """The title, body and tags of a hand-written wording."""
        group, background = thread["group"], thread["background"]
        body = self.body(group, wording[1], background, self.grammar[f"words {group}"])
        return [wording[0], body, thread["tags"].replace(",", ";")]

    def other(self) -> list[str]:
        """The title, body and tags of the next post that is about something not yet asked."""
        rng, need = self.rng, self.deck.pop()
        if need[0] == "corpus":
            title, core = rng.sample(need[2], 2)
            words = ("whole thing", rng.choice(("answers", "tips", "opinions")))
            return [title, self.body("corpus", core, [], words), f"{need[1]};question"]
        group, tag, kind, thing, fault = need
        titles, texts = (part.split(" / ") for part in fault.split(" | "))
        name = f"{rng.choice(self.pools['brand'])} {kind}"
        title = rng.choice(self.grammar["titles"]).replace("{fault}", rng.choice(titles))
        title = self.filled(title, rng.choice((name, name.split()[0])), thing)
        core = [self.filled(f"{rng.choice(texts)}.", name, thing)]
        about = "[It is about|This concerns|I own|We have|I am speaking of] [the|our] {product}."
        core.insert(rng.randint(0, 1), self.filled(about, name))
        body = self.body(group, " ".join(core), [], (name, thing))
        return [title, body, f"{tag};{rng.choice(('help', 'question', 'problem', kind))}"]


def make(folder: Path, count: int, seed: int, wording: str) -> None:
    """Writes posts.csv, next.csv and truth.json into a folder."""
    writer, threads = Writer(seed), read_threads()
    needs = [(thread, need) for thread in threads for need in thread["needs"]]
    rows = iter(writer.rng.sample(range(count), 2 * len(needs)))
    pairs, posts = [], {}
    for thread, need in needs:
        pairs.append((next(rows), next(rows)))
        texts = need["-"][0], need["+" if wording == "plain" else "="][0]
        posts |= {row: writer.planted(thread, text) for row, text in zip(pairs[-1], texts)}
    ordered = [posts[row] if row in posts else writer.other() for row in range(count)]
    again = {at: need["="][1] for at, (_, need) in enumerate(needs) if len(need["="]) > 1}
    spots = writer.rng.sample(range(NEXT), len(again))
    posts = {spot: writer.planted(needs[at][0], again[at]) for spot, at in zip(spots, again)}
    coming = [posts[row] if row in posts else writer.other() for row in range(NEXT)]

    folder.mkdir(parents=True, exist_ok=True)
    times = sorted(writer.rng.random() * DAYS for _ in ordered)
    times += sorted(DAYS + writer.rng.random() * 7 for _ in coming)
    for name, part, days in ("posts", ordered, times), ("next", coming, times[count:]):
        with open(folder / f"{name}.csv", "w", encoding=ENCODING, newline="") as file:
            table = csv.writer(file)
            table.writerow(("title", "body", "tags", "created_at"))
            for post, day in zip(part, days):
                table.writerow([*post, (START + datetime.timedelta(day)).isoformat(" ", "seconds")])
    truth = {"pairs": pairs, "next": [(spot, pairs[at]) for spot, at in zip(spots, again)]}
    truth["threads"] = [sum(pairs[at : at + 6], ()) for at in range(0, len(pairs), 6)]
    (folder / "truth.json").write_text(json.dumps(truth) + "\n")


def encoded(texts: list[str]) -> np.ndarray:
    """The texts' vectors by the encoder `use`."""
    return DuplicateDetector.load("use").encode(texts)


def f1(precision: np.ndarray, recall: np.ndarray) -> np.ndarray:
    """The harmonic mean, 0 where both are."""
    return 2 * precision * recall / np.maximum(precision + recall, 1e-9)


def pair_figures(vectors: np.ndarray, truth: dict) -> dict[str, float]:
    """How the planted pairs rank among all pairs of the list, by falling cosine."""
    pairs = {tuple(sorted(pair)) for pair in truth["pairs"]}
    known = np.array([vectors[i] @ vectors[j] for i, j in pairs])
    first, second, cosines, _ = strongest_pairs(vectors, float(np.quantile(known, 0.02)))
    order = np.argsort(-cosines, kind="stable")
    low, high = np.minimum(first, second)[order], np.maximum(first, second)[order]
    is_right = np.array([pair in pairs for pair in zip(low.tolist(), high.tolist())])
    right = np.cumsum(is_right)
    precision, recall = right / np.arange(1, len(right) + 1), right / len(pairs)
    scores = f1(precision, recall)
    near = [tuple(sorted(p)) for thread in truth["threads"] for p in combinations(thread, 2)]
    labels = [pair in pairs for pair in near]
    return {
        "average_precision": precision[is_right].sum() / len(pairs),
        f"recall_at_precision_{PRECISION}": recall[precision >= PRECISION].max(initial=0),
        "best_f1": scores.max(),
        "best_cut": cosines[order][scores.argmax()],
        "near_miss_auc": roc_auc_score(labels, [vectors[i] @ vectors[j] for i, j in near]),
        "median_cosine": np.median(known),
    }


def group_figures(vectors: np.ndarray, truth: dict, cut: float) -> dict[str, float]:
    """Precision and recall of the pairs in groups: at a cut, and at the cut with the best F1."""
    cuts = groupings(vectors, cut - 0.1)

    def figures(labels: np.ndarray) -> tuple[float, float]:
        sizes = np.bincount(labels)
        right = sum(labels[i] == labels[j] for i, j in truth["pairs"])
        return right / max(1, (sizes * (sizes - 1) // 2).sum()), right / len(truth["pairs"])

    best, score = best_cut(cuts, lambda labels: float(f1(*figures(labels))))
    precision, recall = figures(average_linkage(vectors, cut))
    at_cut = {"groups_precision": precision, "groups_recall": recall}
    return at_cut | {"groups_best_cut": best, "groups_best_f1": score}


def search_figures(index: QuestionIndex, titles: list[str], truth: dict) -> dict[str, float]:
    """The mean reciprocal rank of a planted post's duplicate, asked for by the post's title."""
    asked = [pair[side] for pair in truth["pairs"] for side in (0, 1)]
    duplicates = [pair[1 - side] for pair in truth["pairs"] for side in (0, 1)]
    figures = {}
    for mode in ("vectors", "hybrid"):
        ranks = []
        answers = index.search([titles[row] for row in asked], DEPTH, mode=mode)
        for row, duplicate, hits in zip(asked, duplicates, answers):
            ids = [hit.id for hit in hits if hit.id != str(row)]
            ranks += [1 + ids.index(str(duplicate)) if str(duplicate) in ids else np.inf]
        figures[f"mrr_{mode}"] = np.mean(1 / np.array(ranks))
    return figures


def measure(folder: Path, words: int | None, path: Path) -> None:
    """Measures each choice of columns, prints, and adds the figures to the file of results."""
    truth = json.loads((folder / "truth.json").read_text())
    cache = Memory(Path(tempfile.gettempdir(), "forum-vectors"), verbose=0)
    detector = DuplicateDetector.from_encoder(cache.cache(encoded), "use")
    results = json.loads(path.read_text()) if path.exists() else {}
    titles: list[str] = []
    for column in COLUMNS:
        texts = read_questions(folder / "posts.csv", column=column, encoding=ENCODING).questions
        titles, texts = titles or texts, [" ".join(text.split()[:words]) for text in texts]
        cpu, wall = time.process_time(), time.perf_counter()
        with QuestionIndex.build(detector, texts) as index:
            spent = {
                "index_cpu_s": time.process_time() - cpu,
                "index_s": time.perf_counter() - wall,
            }
            pairs = pair_figures(index.vectors, truth)
            groups = group_figures(index.vectors, truth, pairs["best_cut"])
            figures = pairs | groups | search_figures(index, titles, truth) | spent
        name = f"{folder.name}, {column}" + (f", {words} words" if words else "")
        results[name] = {key: round(float(value), 4) for key, value in figures.items()}
        print(name, json.dumps(results[name], indent=1), flush=True)
    path.write_text(json.dumps(results, indent=1) + "\n")


def main() -> None:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("task", choices=("make", "measure"))
    parser.add_argument("folder", type=Path, help="of posts.csv, next.csv and truth.json")
    parser.add_argument("--posts", type=int, default=20_000)
    parser.add_argument("--wording", choices=("plain", "far"), default="plain")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--words", type=int, help="measure only the first words of each text")
    parser.add_argument("--results", type=Path, default="benchmarks/results/forum.json")
    flags = parser.parse_args()
    if flags.task == "make":
        make(flags.folder, flags.posts, flags.seed, flags.wording)
    else:
        measure(flags.folder, flags.words, flags.results)


if __name__ == "__main__":
    main()
