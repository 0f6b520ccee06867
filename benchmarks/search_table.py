"""The Markdown page that benchmarks/search.py writes of its results."""

from __future__ import annotations

LABELS = {
    "bm25": "BM25 (bm25s)",
    "words": "siamese, words only (BM25)",
    "tfidf": "TF-IDF cosine",
    "minilm": "all-MiniLM-L6-v2 (pretrained; a ceiling)",
}


def rounded(value):
    """Numbers in four significant digits, all the way down."""
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value


def markdown(results: dict) -> str:
    """The tables of the parts that were measured."""
    pool = results["pool"]
    lines = [
        "# Search, measured",
        "",
        f"Made by `python benchmarks/search.py`. Pool: {pool['questions']:,} distinct real questions; "
        f"{pool['queries']:,} queries: question1 of the test duplicates.",
    ]
    if "retrieval" in results:
        lines += _table(
            "Is a duplicate found?",
            "MRR looks at 100 answers; recall@k is the share of a question's known duplicates among "
            "the first k; found first: a known duplicate stands first. Labels are incomplete: a true "
            "duplicate that nobody labelled counts as a mistake, for all methods alike. Unseen: only the "
            f"{next(iter(results['retrieval'].values()))['unseen_queries']:,} queries no question of "
            "whose cluster stands in a training row, so that training cannot have told the answer.",
            [
                "search",
                "MRR",
                "recall@1",
                "recall@10",
                "found first",
                "unseen: MRR",
                "recall@1",
                "recall@10",
                "prepared in",
                "queries/s",
            ],
            [
                [
                    LABELS.get(name)
                    or "siamese, " + f"`{name}`".replace(" and words`", "` and words"),
                    f"{row['mrr']:.3f}",
                    f"{row['recall_at_1']:.3f}",
                    f"{row['recall_at_10']:.3f}",
                    f"{row['found_first']:.3f}",
                    f"{row['unseen_mrr']:.3f}",
                    f"{row['unseen_recall_at_1']:.3f}",
                    f"{row['unseen_recall_at_10']:.3f}",
                    f"{row['prepare_s']:,.0f} s",
                    f"{row['queries_per_s']:,.0f}",
                ]
                for name, row in sorted(results["retrieval"].items(), key=lambda x: -x[1]["mrr"])
            ],
        )
        lines += [
            f"\nOne query from the text, {name}: p50 {row['text_p50_ms']:.1f} ms, by vectors alone "
            f"{row['vectors_text_p50_ms']:.1f} ms."
            for name, row in results["retrieval"].items()
            if "vectors_text_p50_ms" in row
        ]
    if "speed" in results:
        lines += _exact("Exact search", results["speed"])
        found = results["speed"]
        lines += [
            "",
            f"The index was built in {found['build_s']:.1f} s. From text to answer, encoding included: "
            f"p50 {found['text_p50_ms']:.1f} ms, {found['text_queries_per_s']:,.0f} queries/s in one "
            "call.",
        ]
    if "million" in results:
        lines += _exact("A million vectors, exact", results["million"])
    if "duplicates" in results:
        found = results["duplicates"]
        lines += [
            "",
            "## Groups in the whole list",
            "",
            f"`siamese duplicates` on {found['questions']:,} questions: {found['whole_s']:.0f} s from "
            f"start to file, peak memory {found['peak_MB']:,.0f} MB; cosine above "
            f"{found['threshold']:.3f}, joined by {found['joined_by']}, gives {found['groups']:,} groups "
            f"of {found['questions_in_groups']:,} questions, the largest of {found['largest']:,}.",
        ]
    if "mining" in results:
        lines += _table(
            "Average precision of all pairs by cosine",
            "Over the known pairs of the whole file, training rows included; pairs beyond the most "
            "similar ones count as never found.",
            [
                "model",
                "average precision",
                "best F1",
                "at a cosine of",
                "known pairs found",
                "time",
            ],
            [
                [
                    f"`{name}`",
                    f"{row['average_precision']:.3f}",
                    f"{row['best_f1']:.3f}",
                    f"{row['best_threshold']:.3f}",
                    f"{row['known_pairs_found']:,} of {row['known_pairs']:,}",
                    f"{row['seconds']:.0f} s",
                ]
                for name, row in results["mining"].items()
            ],
        )
    return "\n".join(lines) + "\n"


def _exact(title: str, found: dict) -> list[str]:
    return _table(
        title,
        "",
        ["storage", "memory", "one query, p50", "queries/s in batches"],
        [
            [
                storage,
                f"{found[f'{storage}_MB']:,.0f} MB",
                f"{found[f'{storage}_p50_ms']:.1f} ms",
                f"{found[f'{storage}_queries_per_s']:,.0f}",
            ]
            for storage in ("float32",)
            if f"{storage}_MB" in found
        ],
    )


def _table(title: str, note: str, header: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["", f"## {title}", ""]
    if note:
        lines += [note, ""]
    lines += [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    return lines + [f"| {' | '.join(row)} |" for row in rows]
