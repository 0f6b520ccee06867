"""A made forum with planted paraphrases, to measure how well duplicates are found (benchmarks/forum.py).

    python tools/make_forum.py FOLDER [--wording far] [--posts 20000] [--seed 0]

writes posts.csv (title, body, tags, created_at; Windows-1252), next.csv (next week's
posts) and truth.json. Each of 300 needs of forum_phrases.txt, all written by hand,
stands in two posts; the needs of a thread are near misses of each other (another
number, direction, negation or name). The other posts are made from forum_grammar.txt
and the embedded corpus, each need once. In a body 130 of 170 words are sentences that
fit any post. The texts were written before any score was seen.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import random
import re
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from siamese import embedded_corpus

HERE = Path(__file__).resolve().parent
ENCODING = "cp1252"
START = datetime.datetime(2023, 1, 2, 6)
DAYS = 700
NEXT = 1_000  # posts of next week
# The share of posts with each line of the sections "lines top" and "lines bottom".
TOP = (0.12, 0.2, 0.08)
BOTTOM = (0.15, 0.1, 0.08, 0.05, 0.03, 0.02)
NUMBERS = {
    "n": (3, 48),
    "m": (2, 30),
    "d": (4, 20),
    "year": (2009, 2022),
}  # that fill blanks


def read_threads() -> list[dict]:
    """The hand-written threads: group, tags, background and needs (mark -> list of (title, text))."""
    threads: list[dict] = []
    for line in (HERE / "forum_phrases.txt").read_text(encoding="utf-8").splitlines():
        mark, _, text = line.partition(" ")
        if mark == "==":
            group, tags, _ = text.split(" ", 2)
            threads.append(
                {"group": group, "tags": tags, "background": [], "needs": []}
            )
        elif mark == "~":
            threads[-1]["background"].append(text)
        elif mark == "-":
            threads[-1]["needs"].append(
                {"-": [tuple(text.split(" | "))], "+": [], "=": []}
            )
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
            meanings.setdefault((question.subject, question.meaning), []).append(
                question.text
            )
        needs: list[tuple] = [
            ("corpus", tag, texts) for (tag, _), texts in meanings.items()
        ]
        for line in self.grammar["kinds"]:
            group, tag, kind, objects = line.split(" | ")
            for thing, fault in product(
                objects.split(", "), self.grammar[f"faults {group}"]
            ):
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

    def body(
        self, group: str, core: str, background: list[str], words: Sequence[str]
    ) -> str:
        """A body around its core: background, sentences of the grammar, lines of signatures."""
        rng = self.rng
        grammar = self.grammar
        # words, 170 in the mean with closing and lines
        length = rng.lognormvariate(5.03, 0.42)
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
        lines = (
            [self.filled(rng.choice(grammar["openings"]))] if rng.random() < 0.6 else []
        )
        while sentences:
            size = rng.randint(2, 5)
            lines.append(" ".join(sentences[:size]))
            sentences = sentences[size:]
        if rng.random() < 0.7:
            lines.append(self.filled(rng.choice(grammar["closings"])))
        lines[:0] = [
            line for line, p in zip(grammar["lines top"], TOP) if rng.random() < p
        ]
        lines += [
            line for line, p in zip(grammar["lines bottom"], BOTTOM) if rng.random() < p
        ]
        text = "\n".join(lines)
        return text.replace("'", "’") if rng.random() < 0.3 else text

    def planted(self, thread: dict, wording: tuple[str, str]) -> list[str]:
        """The title, body and tags of a hand-written wording."""
        group = thread["group"]
        background = thread["background"]
        body = self.body(group, wording[1], background, self.grammar[f"words {group}"])
        return [wording[0], body, thread["tags"].replace(",", ";")]

    def other(self) -> list[str]:
        """The title, body and tags of the next post that is about something not yet asked."""
        rng = self.rng
        need = self.deck.pop()
        if need[0] == "corpus":
            title, core = rng.sample(need[2], 2)
            words = ("whole thing", rng.choice(("answers", "tips", "opinions")))
            return [title, self.body("corpus", core, [], words), f"{need[1]};question"]
        group, tag, kind, thing, fault = need
        titles, texts = (part.split(" / ") for part in fault.split(" | "))
        name = f"{rng.choice(self.pools['brand'])} {kind}"
        title = rng.choice(self.grammar["titles"]).replace(
            "{fault}", rng.choice(titles)
        )
        title = self.filled(title, rng.choice((name, name.split()[0])), thing)
        core = [self.filled(f"{rng.choice(texts)}.", name, thing)]
        about = "[It is about|This concerns|I own|We have|I am speaking of] [the|our] {product}."
        core.insert(rng.randint(0, 1), self.filled(about, name))
        body = self.body(group, " ".join(core), [], (name, thing))
        return [
            title,
            body,
            f"{tag};{rng.choice(('help', 'question', 'problem', kind))}",
        ]


def make(folder: Path, count: int, seed: int, wording: str) -> None:
    """Writes posts.csv, next.csv and truth.json into a folder."""
    writer = Writer(seed)
    threads = read_threads()
    needs = [(thread, need) for thread in threads for need in thread["needs"]]
    rows = iter(writer.rng.sample(range(count), 2 * len(needs)))
    pairs = []
    posts = {}
    for thread, need in needs:
        pairs.append((next(rows), next(rows)))
        texts = need["-"][0], need["+" if wording == "plain" else "="][0]
        posts |= {
            row: writer.planted(thread, text) for row, text in zip(pairs[-1], texts)
        }
    ordered = [posts[row] if row in posts else writer.other() for row in range(count)]

    # Next week's posts ask some of the needs again.
    again = {
        at: need["="][1] for at, (_, need) in enumerate(needs) if len(need["="]) > 1
    }
    spots = writer.rng.sample(range(NEXT), len(again))
    posts = {
        spot: writer.planted(needs[at][0], again[at]) for spot, at in zip(spots, again)
    }
    coming = [posts[row] if row in posts else writer.other() for row in range(NEXT)]

    folder.mkdir(parents=True, exist_ok=True)
    write_posts(
        folder / "posts.csv",
        ordered,
        sorted(writer.rng.random() * DAYS for _ in ordered),
    )
    days = sorted(DAYS + writer.rng.random() * 7 for _ in coming)
    write_posts(folder / "next.csv", coming, days)
    truth = {
        "pairs": pairs,
        "next": [(spot, pairs[at]) for spot, at in zip(spots, again)],
        "threads": [sum(pairs[at : at + 6], ()) for at in range(0, len(pairs), 6)],
    }
    (folder / "truth.json").write_text(json.dumps(truth) + "\n")


def write_posts(path: Path, posts: list[list[str]], days: list[float]) -> None:
    """A table of posts, each with its time: so many days after `START`."""
    with open(path, "w", encoding=ENCODING, newline="") as file:
        table = csv.writer(file)
        table.writerow(("title", "body", "tags", "created_at"))
        for post, day in zip(posts, days):
            time = START + datetime.timedelta(day)
            table.writerow([*post, time.isoformat(" ", "seconds")])


def main() -> None:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "folder", type=Path, help="of posts.csv, next.csv and truth.json"
    )
    parser.add_argument("--posts", type=int, default=20_000)
    parser.add_argument("--wording", choices=("plain", "far"), default="plain")
    parser.add_argument("--seed", type=int, default=0)
    flags = parser.parse_args()
    least = 2 * sum(len(thread["needs"]) for thread in read_threads())
    if flags.posts < least:
        parser.error(f"--posts is at least {least}, two for each need")
    make(flags.folder, flags.posts, flags.seed, flags.wording)


if __name__ == "__main__":
    main()
