"""The cases that are measured: a number of texts of equal length, the same for every engine.

    Case.parse("32x75")    32 texts of 75 tokens each
"""

from __future__ import annotations

import dataclasses
import pathlib
import re

import numpy as np

SEED = 1
# Lengths of the texts whose vectors are compared with the truth. An engine that can packs all of
# them together.
CHECKED_LENGTHS = (75, 16, 75, 130, 75, 40, 5, 75, 75, 16, 75, 200, 75, 40, 16, 75)


@dataclasses.dataclass(frozen=True)
class Case:
    texts: int
    tokens: int

    @staticmethod
    def parse(word: str) -> Case:
        match = re.fullmatch(r"(\d+)x(\d+)", word)
        if not match or min(int(n) for n in match.groups()) < 1:
            raise ValueError(f"{word} is no case such as 32x75, texts x tokens")
        return Case(*(int(n) for n in match.groups()))

    def __str__(self) -> str:
        return f"{self.texts} x {self.tokens}"

    def batches(self) -> list[int]:
        """The numbers of texts that an engine may take at a time: all, or fewer in steps of four.
        """
        sizes = {self.texts, 1}
        size = 2
        while size < self.texts:
            sizes.add(size)
            size *= 4
        return sorted(sizes)


def make_texts(file, lengths: list[int]) -> list[list[int]]:
    """Random ids between the file's first and last special tokens, where it has them. A large
    vocabulary has special tokens below 1,000, so these ids are left out."""
    random = np.random.default_rng(SEED)
    low = 1000 if file.shape.vocabulary > 5000 else 0
    texts = []
    for length in lengths:
        text = random.integers(low, file.shape.vocabulary, length).tolist()
        if file.first_token is not None:
            text[0] = file.first_token
        if file.last_token is not None and length > 1:
            text[-1] = file.last_token
        texts.append(text)
    return texts


def write_texts(path: pathlib.Path, texts: list[list[int]]) -> None:
    path.write_text("".join(" ".join(map(str, text)) + "\n" for text in texts))


def read_texts(path: str | pathlib.Path) -> list[list[int]]:
    with open(path) as file:
        return [[int(word) for word in line.split()] for line in file]
