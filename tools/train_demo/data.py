"""Training batches: texts made as they are needed, grouped by length.

A row of a batch is one text, never cut or joined with another. Stories and conversations differ in
length, so texts of like length go into one batch and little is lost to padding. That costs less
than rows of the full context, whose attention would mostly look at other texts.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np

import bpe
import chats

SPECIALS = [chats.TEXT_END, chats.START, chats.END]
# The rows of a batch are padded to a multiple of this length.
STEP = 32
# The number of texts that are made at a time, sorted by length and shuffled.
CHUNK = 500


def learn_tokenizer(seed: int, max_tokens: int) -> bpe.Tokenizer:
    rng = random.Random(f"{seed} tokenizer")
    texts = []
    for _ in range(8000):
        for text, _ in chats.document(rng):
            for special in SPECIALS:
                text = text.replace(special, "")
            texts.append(text)
    merges = bpe.learn(texts, max_tokens - len(SPECIALS))
    return bpe.Tokenizer(merges, SPECIALS)


def _encode(tokenizer: bpe.Tokenizer, rng: random.Random) -> tuple[list[int], list[float]]:
    ids: list[int] = []
    weights: list[float] = []
    for text, weight in chats.document(rng):
        piece = tokenizer.encode(text)
        ids += piece
        weights += [weight] * len(piece)
    return ids, weights


def _pad(rows: list[tuple[list[int], list[float]]], length: int) -> tuple[np.ndarray, np.ndarray]:
    ids = np.zeros((len(rows), length), np.int64)
    weights = np.zeros((len(rows), length), np.float32)
    for i, (tokens, weight) in enumerate(rows):
        ids[i, : len(tokens)] = tokens
        weights[i, : len(tokens)] = weight
    return ids, weights


def batches(
    tokenizer: bpe.Tokenizer, seed: str, tokens: int, context: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Endless batches (ids, loss weights), [rows, length] each, of about `tokens` tokens."""
    rng = random.Random(seed)
    by_length: dict[int, list] = {}
    while True:
        ready = []
        for _ in range(CHUNK):
            row = _encode(tokenizer, rng)
            # Rows are a position longer than the model's input, since the last token is only a
            # target.
            length = -(-(len(row[0]) - 1) // STEP) * STEP + 1
            if length > context + 1:
                continue
            group = by_length.setdefault(length, [])
            group.append(row)
            if len(group) * length >= tokens:
                ready.append(_pad(group, length))
                by_length[length] = []
        rng.shuffle(ready)
        yield from ready
