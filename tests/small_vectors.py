"""A small table of static vectors with a tokenizer.json, as files."""

import json

import numpy as np
import pytest

pytest.importorskip("tokenizers", reason="needs the package tokenizers: make extras")

TEXT = "how do i learn to cook rice what is the best way far are you old ? age cat s"
WORDS = [*TEXT.split()]
D = 12


def bpe_tokenizer():
    """Subwords of the words above: each word with its leading blank, their letters, and merges."""
    letters = sorted({letter for word in WORDS for letter in word} | {"▁"})
    tokens, merges = ["<unk>", *letters], []
    for word in WORDS:
        made = "▁"
        for letter in word:
            if made + letter not in tokens:
                tokens.append(made + letter)
            if f"{made} {letter}" not in merges:
                merges.append(f"{made} {letter}")
            made += letter
    return {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            ],
        },
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "BPE",
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": merges,
            "unk_token": "<unk>",
        },
    }


def write_vectors(folder, d=D, seed=0, **tables):
    """Writes table.safetensors and tokenizer.json; other tables in place of a random one."""
    from safetensors.numpy import save_file

    folder.mkdir(exist_ok=True)
    content = bpe_tokenizer()
    (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    rows = np.random.default_rng(seed).normal(size=(len(content["model"]["vocab"]), d))
    save_file(tables or {"vectors": rows.astype(np.float16)}, folder / "table.safetensors")
    return folder
