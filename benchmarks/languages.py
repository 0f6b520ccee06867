"""How well `use` and the tool's tables work in languages other than English.

    python benchmarks/languages.py --data ../shared/data/languages [--parts translations,similarity,...]

translations   Tatoeba's sentences and their English translations: for which part of them is the translation
               the nearest of all English sentences?
similarity     STS benchmark: Pearson's r of the cosine and people's ratings, in the language, and of the
               first sentence in English with the second one
thresholds     half of the STS benchmark: above which cosine there are as many pairs as above 0.70 in
               English; the other half: precision and recall for ratings of 4 and more, at 0.70 and
               at the default
recognition    Tatoeba: how many texts alone are told right by `siamese.text.language`, how many lists of
               300, and what it takes
spelling       Tatoeba: how many sentences change where slips are set right
questions      the handwritten questions in German, French, Spanish and Chinese, in English, and in a mixed
               list: pairs of duplicates at the default threshold
near_misses    pairs by hand in four languages: how often a near miss is behind the paraphrase, and how
               many pairs that ask the same stay above the default threshold, of those whose cosine is above
search         hybrid search beside vectors alone, MRR: the handwritten questions of a group, and the pairs
               of the STS benchmark with a rating of at least 4 among all its sentences
faq            tickets in five languages against an English FAQ

DATA has the folders tatoeba (`deu-eng.deu`, `deu-eng.eng`, ...) and sts (`de.csv`, ...).
Results are merged into languages.json, and languages.md is made from it: a part can be
run again alone.
"""

import argparse
import csv
import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from results import FOLDER, markdown_table, read_figures, write_figures
from sklearn.metrics import average_precision_score, precision_recall_curve

from siamese import DuplicateDetector, QuestionIndex
from siamese.corpus import HANDWRITTEN_FILES, handwritten_questions
from siamese.encoders import find_encoder
from siamese.evaluation.retrieval import evaluate_retrieval
from siamese.model.across import lowered
from siamese.model.detector import are_above, pairs_of
from siamese.text import language

HERE = Path(__file__).parent
TATOEBA = {
    "de": "deu",
    "fr": "fra",
    "es": "spa",
    "it": "ita",
    "pt": "por",
    "nl": "nld",
    "pl": "pol",
    "ru": "rus",
    "tr": "tur",
    "ar": "ara",
    "zh": "cmn",
    "ja": "jpn",
    "ko": "kor",
    "th": "tha",
    "id": "ind",
    "uk": "ukr",
    "sv": "swe",
    "cs": "ces",
    "vi": "vie",
    "hi": "hin",
}
STS = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "zh", "ja")
SAME_RATING = 4.0  # of STS, from which two sentences count as the same
DEPTH = 100  # answers looked at for MRR
LIST = 300  # texts of a list whose language is told
SHORT = 20  # letters of a text that is called short

Figures = dict[str, dict[str, float]]


def sentences(data: Path, code: str) -> tuple[list[str], list[str]]:
    """Sentences of a language, and their English translations."""
    name = f"{TATOEBA[code]}-eng"
    files = (data / "tatoeba" / f"{name}.{end}" for end in (TATOEBA[code], "eng"))
    foreign, english = (file.read_text("utf-8").splitlines() for file in files)
    return foreign, english


def translations(data: Path) -> Figures:
    """For which part of the sentences the translation is nearest."""
    detector = DuplicateDetector.from_encoder("use")
    figures = {}
    for code in TATOEBA:
        vectors = list(map(detector.encode, sentences(data, code)))
        nearest = (vectors[0] @ vectors[1].T).argmax(axis=1)
        found = np.mean(nearest == np.arange(len(nearest)))
        figures[code] = {"translation_found": float(found), "sentences": len(nearest)}
    return figures


def similarity(data: Path) -> Figures:
    """Pearson's r of cosines and ratings."""
    detector = DuplicateDetector.from_encoder("use")
    vectors, ratings = {}, {}
    for code in STS:
        with open(data / "sts" / f"{code}.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        sides = ([row[side] for row in rows] for side in (0, 1))
        vectors[code] = list(map(detector.encode, sides))
        ratings[code] = [float(row[2]) for row in rows]

    def correlation(one: np.ndarray, two: np.ndarray, code: str) -> float:
        return float(np.corrcoef((one * two).sum(axis=1), ratings[code])[0, 1])

    return {
        code: {
            "sts": correlation(*vectors[code], code),
            "sts_with_english": correlation(vectors["en"][0], vectors[code][1], code),
        }
        for code in STS
    }


def thresholds(data: Path) -> Figures:
    """The default threshold inside a language and between two, chosen and reported on halves of STS."""
    detector = DuplicateDetector.from_encoder("use")
    texts: dict[str, list[list[str]]] = {}
    vectors = {}
    for code in STS:
        with open(data / "sts" / f"{code}.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        texts[code] = [[row[side] for row in rows] for side in (0, 1)]
        vectors[code] = list(map(detector.encode, texts[code]))
    right = np.array([float(row[2]) >= SAME_RATING for row in rows])
    chooses = np.random.default_rng(0).permutation(len(right)) % 2 == 0
    english = (vectors["en"][0] * vectors["en"][1]).sum(axis=1)
    above = (english[chooses] > detector.threshold).mean()
    figures = {}
    for one, two in [*((c, c) for c in STS), *itertools.permutations(STS, 2)]:
        if two == "en" and one != "en":
            continue
        cosines = (vectors[one][0] * vectors[two][1]).sum(axis=1)
        borders = detector.threshold - lowered(texts[one][0], texts[two][1])
        row = {"as_many_above": float(np.quantile(cosines[chooses], 1 - above))}
        for name, cut in (("0.7", detector.threshold), ("default", borders)):
            found = (cosines > cut)[~chooses]
            row[f"precision_{name}"] = float(right[~chooses][found].mean())
            row[f"recall_{name}"] = float(found[right[~chooses]].mean())
        figures[one if one == two else f"{one}-{two}"] = row
    return figures


def recognition(data: Path) -> Figures:
    """Texts alone, by length, and lists, whose language is told right."""
    figures = {}
    texts = {code: sentences(data, code)[0] for code in TATOEBA}
    texts["en"] = sentences(data, "de")[1]
    language.language_of("Wo ist der Schlüssel?")  # loads the model
    for code, own in texts.items():
        start = time.perf_counter()
        right = np.array([language.language_of(text)[0] == code for text in own])
        seconds = time.perf_counter() - start
        short = np.array([sum(map(str.isalpha, text)) <= SHORT for text in own])
        lists = [own[at : at + LIST] for at in range(0, len(own) - LIST + 1, LIST)]
        told = [language.list_languages(some) for some in lists]
        kept = [language.text_languages(some, of) for some, of in zip(lists, told)]
        figures[code] = {
            "long_right": float(right[~short].mean()),
            "short_right": float(right[short].mean()),
            "lists_right": sum(of.main == code for of in told) / len(told),
            "taken_for_another": sum(len(k) - k.count(code) for k in kept),
            "microseconds_a_text": seconds / len(own) * 1e6,
        }
    return figures


def spelling(data: Path) -> Figures:
    """How many sentences change where slips are set right."""
    encoder = find_encoder("use")
    figures = {}
    for code in TATOEBA:
        own = sentences(data, code)[0]
        changed = [text for text in own if encoder.respelled(text) != text]
        figures[code] = {"respelled_of_1000": 1000 * len(changed) / len(own)}
    return figures


def meaning_of(row: dict[str, str], english: dict[str, str]) -> str:
    """The meaning of a handwritten question, of one name in all languages."""
    twin = row.get("english", "")
    return row["group"] or english.get(twin) or twin or row["id"]


def pair_figures(
    detector: DuplicateDetector, texts: list[str], meanings: list[str], codes: list[str]
) -> dict[str, float]:
    """Which pairs of a list are found at the default threshold, and how all pairs rank by what decides."""
    upper = np.triu_indices(len(texts), 1)
    one, two = pairs_of(detector, texts, texts)
    rows = np.stack(upper, axis=1)
    all_scores = []
    all_found = []
    for part in np.array_split(rows, 1 + len(rows) // 10_000):
        sides = one.rows(part[:, 0]), two.rows(part[:, 1])
        all_scores.append(detector.decision.scores(*sides))
        all_found.append(are_above(detector, all_scores[-1], *sides))
    scores = np.concatenate(all_scores)
    found = np.concatenate(all_found)
    right = np.equal.outer(meanings, meanings)[upper]
    across = np.not_equal.outer(codes, codes)[upper]
    precision, recall, cuts = precision_recall_curve(right, scores)
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-9)
    figures = {
        "questions": len(texts),
        "pairs": int(right.sum()),
        "precision": float(right[found].mean()) if found.any() else float("nan"),
        "recall": float(found[right].mean()),
        "average_precision": float(average_precision_score(right, scores)),
        "best_threshold": float(cuts[f1[:-1].argmax()]),
        "best_f1": float(f1.max()),
    }
    if across.any():
        figures["recall_across"] = float(found[right & across].mean())
        figures["precision_across"] = float(right[found & across].mean())
        alike = scores > detector.threshold
        figures["precision_across_0.7"] = float(right[alike & across].mean())
        figures["recall_across_0.7"] = float(alike[right & across].mean())
    return figures


def questions(data: Path) -> Figures:
    """The handwritten questions, by language and all together."""
    detector = DuplicateDetector.from_encoder("use")
    english = {row["id"]: row["group"] for row in handwritten_questions()}
    lists = {code: handwritten_questions(code) for code in HANDWRITTEN_FILES}
    figures = {}
    every: list[tuple[str, str, str]] = []
    for code, rows in lists.items():
        own = [(row["question"], meaning_of(row, english), code) for row in rows]
        every += own
        figures[code] = pair_figures(detector, *map(list, zip(*own)))
    figures["mixed"] = pair_figures(detector, *map(list, zip(*every)))
    return figures


def near_misses(data: Path) -> Figures:
    """The near-miss check on the pairs by hand of other languages, in both halves."""
    detector = DuplicateDetector.from_encoder("use")

    def scores(rows: list[dict[str, str]], first: str, second: str) -> list[np.ndarray]:
        sides = [[row[name] for row in rows] for name in (first, second)]
        pairs = pairs_of(detector, *sides)
        cosines = detector.with_check(None).decision.scores(*pairs)
        return [cosines, detector.decision.scores(*pairs)]

    triples, same = (
        list(csv.DictReader((HERE / "by_hand" / name).open(encoding="utf-8")))
        for name in ("near_misses_foreign.csv", "same_foreign.csv")
    )
    figures = {}
    for half in ("choose", "report"):
        for code in dict.fromkeys(row["language"] for row in triples):
            own, alike = (
                [row for row in rows if (row["language"], row["half"]) == (code, half)]
                for rows in (triples, same)
            )
            paraphrase = scores(own, "question", "paraphrase")
            near = scores(own, "question", "near_miss")
            cosines, left = scores(alike, "question1", "question2")
            accepted = cosines > detector.threshold
            figures[f"{code}, {half}"] = {
                "triples": len(own),
                "behind_by_cosine": float((paraphrase[0] > near[0]).mean()),
                "behind": float((paraphrase[1] > near[1]).mean()),
                "refused": float((near[1] <= detector.threshold).mean()),
                "same": int(accepted.sum()),
                "same_kept": float((left > detector.threshold)[accepted].mean()),
            }
    return figures


def search_figures(
    detector: DuplicateDetector, texts: list[str], relevant: dict[int, set[int]]
) -> dict[str, float]:
    """MRR of a search for some questions of a list among the others, by each way."""
    index = QuestionIndex.build(detector, texts)
    asked = [texts[row] for row in relevant]
    figures = {"questions": len(texts), "asked": len(asked)}
    for mode in ("vectors", "hybrid"):
        answers = index.search(asked, DEPTH + 1, mode=mode)
        ranked = [
            [int(hit.id) for hit in hits if int(hit.id) != own][:DEPTH]
            for own, hits in zip(relevant, answers)
        ]
        metrics = evaluate_retrieval(ranked, list(relevant.values()), ks=(1,))
        figures[f"{mode}_mrr"] = metrics.mrr
    return figures


def search(data: Path) -> Figures:
    """Hybrid search beside vectors alone, inside a language."""
    detector = DuplicateDetector.from_encoder("use")
    figures = {}
    for code in HANDWRITTEN_FILES:
        rows = handwritten_questions(code)
        groups = [row["group"] for row in rows]
        relevant = {
            at: {other for other, own in enumerate(groups) if own == group} - {at}
            for at, group in enumerate(groups)
            if group
        }
        texts = [row["question"] for row in rows]
        figures[f"{code}, handwritten"] = search_figures(detector, texts, relevant)
    for code in STS:
        with open(data / "sts" / f"{code}.csv", encoding="utf-8", newline="") as file:
            table = list(csv.reader(file))
        place: dict[str, int] = {}
        for one, two, _ in table:
            place.setdefault(one, len(place))
            place.setdefault(two, len(place))
        same: dict[int, set[int]] = {}
        for one, two, rating in table:
            if float(rating) >= SAME_RATING and one != two:
                same.setdefault(place[one], set()).add(place[two])
                same.setdefault(place[two], set()).add(place[one])
        figures[f"{code}, STS"] = search_figures(detector, list(place), same)
    return figures


def faq(data: Path) -> Figures:
    """Which entry of an English FAQ is nearest to tickets in five languages."""
    detector = DuplicateDetector.from_encoder("use")
    folder = HERE.parent / "tests" / "languages"
    entries = list(csv.DictReader((folder / "faq.csv").open(encoding="utf-8")))
    tickets = list(csv.DictReader((folder / "tickets.csv").open(encoding="utf-8")))
    texts, known = ([row["question"] for row in rows] for rows in (tickets, entries))
    nearest = (detector.encode(texts) @ detector.encode(known).T).argmax(axis=1)
    first = [entries[at]["id"] for at in nearest]
    has_answer = np.array([bool(row["answer"]) for row in tickets])
    right = np.array([row["answer"] == id_ for row, id_ in zip(tickets, first)])
    answered = detector.predict(texts, [known[at] for at in nearest])
    return {
        "faq": {
            "tickets_with_an_entry": int(has_answer.sum()),
            "right_entry_first": int(right.sum()),
            "answered": int((answered & has_answer).sum()),
            "answered_right": int((answered & right).sum()),
            "without_an_entry": int((~has_answer).sum()),
            "answered_wrongly": int((answered & ~has_answer).sum()),
        }
    }


PARTS: dict[str, Callable[[Path], Figures]] = {
    "translations": translations,
    "similarity": similarity,
    "thresholds": thresholds,
    "recognition": recognition,
    "spelling": spelling,
    "questions": questions,
    "near_misses": near_misses,
    "search": search,
    "faq": faq,
}


BY_LANGUAGE = {
    "translation_found": ("finds the English translation", 3),
    "sts": ("STS r", 3),
    "sts_with_english": ("STS r, English with it", 3),
    "long_right": ("recognized alone, over 20 letters", 3),
    "short_right": ("recognized alone, shorter", 3),
    "lists_right": ("lists of 300 recognized", 3),
    "taken_for_another": ("texts of these taken for another language", 0),
    "respelled_of_1000": ("sentences of 1,000 respelled", 0),
}
BY_LIST = {
    "questions": ("questions", 0),
    "pairs": ("pairs of duplicates", 0),
    "precision": ("precision", 3),
    "recall": ("recall", 3),
    "precision_across": ("precision across languages", 3),
    "recall_across": ("recall across languages", 3),
    "precision_across_0.7": ("precision across languages, at 0.70 for all pairs", 3),
    "recall_across_0.7": ("recall across languages, at 0.70 for all pairs", 3),
    "average_precision": ("average precision", 3),
    "best_threshold": ("threshold of the best F1", 3),
    "best_f1": ("best F1", 3),
}


BY_HALF = {
    "triples": ("triples", 0),
    "behind_by_cosine": ("near miss behind the paraphrase, cosine alone", 2),
    "behind": ("the same, with the check", 2),
    "refused": ("near misses at or below the default threshold", 2),
    "same": ("pairs that ask the same, with a cosine above it", 0),
    "same_kept": ("of these stay above it with the check", 2),
}
BY_PAIR = {
    "as_many_above": ("cosine above which as many lie as above 0.70 in English", 3),
    "precision_0.7": ("precision at 0.70", 3),
    "recall_0.7": ("recall at 0.70", 3),
    "precision_default": ("precision at the default", 3),
    "recall_default": ("recall at the default", 3),
}
BY_SEARCH = {
    "questions": ("texts", 0),
    "asked": ("asked", 0),
    "vectors_mrr": ("MRR by vectors", 3),
    "hybrid_mrr": ("MRR by vectors and words", 3),
}


def table(figures: Figures, names: dict[str, tuple[str, int]]) -> str:
    """Figures as a table of Markdown: a row for each name, a column for each key."""
    rows = []
    for name, (shown, digits) in names.items():
        values = (row.get(name) for row in figures.values())
        cells = ["" if v is None else f"{v:.{digits}f}" for v in values]
        rows.append([shown, *cells])
    return markdown_table(["", *figures], rows)


def shown_pairs(figures: Figures) -> Figures:
    """Languages, each with English, and the mean of the pairs of two others."""
    shown = {name: row for name, row in figures.items() if name[2:3] != "-"}
    shown |= {name: row for name, row in figures.items() if name.startswith("en-")}
    others = [row for name, row in figures.items() if name not in shown]
    if others:
        means = {key: float(np.mean([row[key] for row in others])) for key in others[0]}
        shown["two others, mean"] = means
    return shown


def page(results: dict[str, Figures]) -> str:
    """The figures as Markdown."""
    by_language: Figures = {code: {} for code in language.LANGUAGES}
    for part in ("translations", "similarity", "recognition", "spelling"):
        for code, figures in results.get(part, {}).items():
            by_language[code] |= figures
    by_language = {code: row for code, row in by_language.items() if row}
    lines = [
        "# Languages, measured\n",
        "Made by `python benchmarks/languages.py --data DATA`; its docstring says what is measured.\n",
        "## Sentences\n",
        table(by_language, BY_LANGUAGE),
        "## Thresholds inside a language, and between two\n",
        table(shown_pairs(results.get("thresholds", {})), BY_PAIR),
        "## Handwritten questions, all pairs at the default threshold\n",
        table(results.get("questions", {}), BY_LIST),
        "## Near misses written by hand\n",
        table(results.get("near_misses", {}), BY_HALF),
        "## Search inside a language\n",
        table(results.get("search", {}), BY_SEARCH),
        "## Tickets in five languages against an English FAQ\n",
    ]
    for name, value in results.get("faq", {}).get("faq", {}).items():
        lines.append(f"- {name.replace('_', ' ')}: {value}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Reads the arguments, measures and writes."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--results", type=Path, default=FOLDER, help="folder")
    flags = parser.parse_args()
    path = flags.results / "languages.json"
    results = read_figures(path)
    for part in flags.parts.split(","):
        results[part] = PARTS[part](flags.data)
        print(part, json.dumps(results[part], indent=1), flush=True)
        write_figures(path, results, page(results))


if __name__ == "__main__":
    main()
