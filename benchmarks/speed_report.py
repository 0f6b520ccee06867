"""The tables and plots of speed.py, from its figures."""

from __future__ import annotations

from pathlib import Path

from speed_contenders import D_MODEL, NAMES

LINES = {  # Of the growth plot: contender -> (label, colour).
    "trax": ("stock Trax", "0.55"),
    "ours": ("siamese", "C0"),
    "trax_fast": ("Trax, fast_forward", "C1"),
    "torch": ("PyTorch", "C3"),
    "keras": ("Keras", "C2"),
}
MAIN_TITLES = {
    "main": "The same malloc settings for every contender",
    "own_allocator": "The same with each contender's own malloc settings",
}


def table(result: dict) -> str:
    """The figures as Markdown."""
    lines = [
        f"# Speed\n\n{result.get('data', 'Made-up batches')}, d_model {D_MODEL}, {result['cores']} cores "
        f"of {result['processor']}; "
        f"large product {result['peak_gflops']:.0f} GFLOP/s. Written by benchmarks/speed.py.",
    ]
    for part, title in MAIN_TITLES.items():
        if result.get(part):
            lines += ["", f"## {title}", "", *_main_table(result, result[part])]
    for title, part in (
        ("pairs x length, words by Zipf's law", "shapes"),
        ("pairs x length, words drawn evenly", "even_shapes"),
        ("vocabulary, words drawn evenly", "vocabularies"),
    ):
        if result.get(part):
            lines += ["", f"## Step time by {title}", "", *_grid(result, part)]
    if result.get("data_sizes"):
        lines += ["", "## PairBatches by data size, batches of 256", ""]
        lines += ["| pairs | first batch ms | each batch ms |", "|---|---|---|"]
        for size, row in result["data_sizes"].items():
            lines.append(f"| {size} | {row['first_ms']:.0f} | {row['batch_ms']:.2f} |")
    for note in result.get("notes", ()):
        lines += ["", note]
    return "\n".join(lines) + "\n"


def _main_table(result: dict, rows: dict) -> list[str]:
    lines = [
        "| contender | pairs/s | x Trax | quickest pass pairs/s | x Trax | questions/s | step ms "
        "| CPU ms a step | GFLOP/s | x floor | MiB | first step s | second process s | others |",
        "|---" * 14 + "|",
    ]
    base = rows.get("trax", {})
    for key, row in rows.items():
        if "error" in row:
            lines.append(f"| {NAMES[key]} | not run: {row['error']} |" + " |" * 12)
            continue
        ratios = [
            f"{row[field] / base[field]:.2f}" if field in base else ""
            for field in ("train_pairs_per_s", "best_train_pairs_per_s")
        ]
        lines.append(
            f"| {NAMES[key]} | {row['train_pairs_per_s']:,.0f} | {ratios[0]} "
            f"| {row['best_train_pairs_per_s']:,.0f} | {ratios[1]} "
            f"| {row['encode_questions_per_s']:,.0f} | {row['step_ms']:.0f} | {row['cpu_ms']:.0f} "
            f"| {row['gflops']:.0f} | {result['peak_gflops'] / row['gflops']:.1f} "
            f"| {row['peak_mib']:.0f} | {row['first_step_s']:.1f} | {row['first_step_cached_s']:.1f} "
            f"| {row['others_share']:.0%} |"
        )
    lines += [
        "",
        "pairs/s from each batch's median over all passes; quickest pass: from each batch's least time, "
        "which other processes disturb least. others: the share of the cores that they took.",
    ]
    return lines


def _grid(result: dict, part: str) -> list[str]:
    """One line a setting, the contenders side by side."""
    settings = list(dict.fromkeys(key.rsplit(" ", 1)[0] for key in result[part]))
    names = list(dict.fromkeys(key.rsplit(" ", 1)[1] for key in result[part]))
    lines = [
        "| case | " + " | ".join(f"{n} ms | {n} us a pair | x floor | MiB" for n in names) + " |",
        "|---" * (4 * len(names) + 1) + "|",
    ]
    for setting in settings:
        cells = []
        for name in names:
            row = result[part].get(f"{setting} {name}", {"error": ""})
            if "error" in row:
                cells += ["", "", "", ""]
                continue
            cells += [
                f"{row['step_ms']:.1f}",
                f"{1e6 / row['train_pairs_per_s']:.0f}",
                f"{result['peak_gflops'] / row['gflops']:.1f}",
                f"{row['peak_mib']:.0f}",
            ]
        lines.append(f"| {setting} | " + " | ".join(cells) + " |")
    return lines


def plot(result: dict, path: Path) -> None:
    """Training and encoding speed of the contenders as bars."""
    plt = _pyplot()
    rows = {NAMES[k]: r for k, r in result["main"].items() if "error" not in r}
    figure, axes = plt.subplots(1, 2, figsize=(11, 3.2), sharey=True, layout="constrained")
    for axis, field, title in (
        (axes[0], "train_pairs_per_s", "training, pairs/s"),
        (axes[1], "encode_questions_per_s", "encoding, questions/s"),
    ):
        values = [row[field] for row in rows.values()]
        colours = ["C0" if name.startswith("siamese") else "0.6" for name in rows]
        axis.bar_label(axis.barh(list(rows), values, color=colours), fmt="{:,.0f}", padding=3)
        axis.set_title(title)
        axis.margins(x=0.15)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].invert_yaxis()
    figure.savefig(path, dpi=120)


def plot_growth(result: dict, path: Path) -> None:
    """Microseconds a pair against length, batch and vocabulary."""
    plt = _pyplot()
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True, layout="constrained")
    at = {}  # (batch, length, vocabulary, contender) -> microseconds a pair
    for key, row in result["shapes"].items():
        size, _, length, name = key.split()
        at[int(size), int(length), 41699, name] = row
    for key, row in result.get("vocabularies", {}).items():
        size, name = key.split()
        at[256, 32, int(size.replace(",", "")), name] = row
    panels = (
        (1, (256, None, 41699), "length (batch 256)"),
        (0, (None, 32, 41699), "batch (length 32)"),
        (2, (256, 32, None), "vocabulary (batch 256, length 32)"),
    )
    for axis, (place, fixed, title) in zip(axes, panels, strict=True):
        for name, (label, colour) in LINES.items():
            points = sorted(
                (key[place], 1e6 / row["train_pairs_per_s"])
                for key, row in at.items()
                if key[3] == name
                and "error" not in row
                and all(want in (None, have) for want, have in zip(fixed, key))
            )
            if points:
                axis.plot(*zip(*points), "o-", color=colour, label=label)
        axis.set(xscale="log", yscale="log", xlabel=title)
        if place != 2:
            ticks = (16, 32, 64) if place == 1 else (64, 256, 1024)
            axis.set_xticks(ticks, labels=[str(tick) for tick in ticks])
            axis.minorticks_off()
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("training, µs a pair")
    shown = {line.get_label(): line for axis in axes for line in axis.lines}
    figure.legend(handles=shown.values(), loc="outside right center", frameon=False)
    figure.savefig(path, dpi=120)


def _pyplot():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt
