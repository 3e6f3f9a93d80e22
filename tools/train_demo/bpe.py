"""Byte-level BPE: training, encoding, decoding.

Text is cut by Qwen2's rule (`tokenizer.ggml.pre` = "qwen2"), then pairs are merged inside each
piece. Python's `re` has no Unicode classes, so LETTER and DIGIT stand for \\p{L} and \\p{N}. They
mean the same for this tool's texts, whose only numerals are digits. Pictures (emoji) keep their
four bytes as four tokens: merges are learnt from pieces that hold a letter or only ASCII.
"""

from __future__ import annotations

import collections
import re

LETTER, DIGIT = r"[^\W\d_]", r"\d"
PIECE = re.compile(
    rf"(?i:'s|'t|'re|'ve|'m|'ll|'d)|(?:(?!{LETTER}|{DIGIT})[^\r\n])?{LETTER}+|{DIGIT}"
    rf"| ?(?:(?!{LETTER}|{DIGIT})\S)+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def byte_letters() -> list[str]:
    """The printable character that stands for each byte in a vocabulary file, by GPT-2's table."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(0x100, 0x200))
    return [chr(byte) if byte in plain else chr(next(others)) for byte in range(256)]


def _merge_in(symbols: tuple, pair: tuple, joined: bytes) -> tuple:
    out, i = [], 0
    while i < len(symbols):
        if symbols[i : i + 2] == pair:
            out.append(joined)
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return tuple(out)


def learn(texts: list[str], max_tokens: int) -> list[tuple[bytes, bytes]]:
    """Merges in order. The bytes and the merges are together at most `max_tokens` tokens."""
    counts = collections.Counter(piece for text in texts for piece in PIECE.findall(text))
    words = {
        tuple(bytes([b]) for b in piece.encode()): count
        for piece, count in counts.items()
        if piece.isascii() or re.search(LETTER, piece)
    }
    merges: list[tuple[bytes, bytes]] = []
    while len(merges) + 256 < max_tokens:
        pairs: collections.Counter = collections.Counter()
        for symbols, count in words.items():
            for pair in zip(symbols, symbols[1:]):
                pairs[pair] += count
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        joined = best[0] + best[1]
        words = {
            _merge_in(symbols, best, joined) if best[0] in symbols else symbols: count
            for symbols, count in words.items()
        }
    return merges


class Tokenizer:
    """Ids: 256 bytes, then the merges' tokens in order, then the specials."""

    def __init__(self, merges: list[tuple[bytes, bytes]], specials: list[str]):
        self.merges, self.specials = merges, specials
        self.tokens = [bytes([b]) for b in range(256)]
        for a, b in merges:
            if a + b not in self.tokens:
                self.tokens.append(a + b)
        self._ids = {token: i for i, token in enumerate(self.tokens)}
        self._ranks = {pair: i for i, pair in enumerate(merges)}
        self._special = re.compile("(" + "|".join(map(re.escape, specials)) + ")")
        self._cache: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self.tokens) + len(self.specials)

    def id_of(self, special: str) -> int:
        return len(self.tokens) + self.specials.index(special)

    def _encode_piece(self, piece: str) -> list[int]:
        symbols = tuple(bytes([b]) for b in piece.encode())
        while len(symbols) > 1:
            known = [pair for pair in zip(symbols, symbols[1:]) if pair in self._ranks]
            if not known:
                break
            best = min(known, key=self._ranks.__getitem__)
            symbols = _merge_in(symbols, best, best[0] + best[1])
        return [self._ids[symbol] for symbol in symbols]

    def encode(self, text: str) -> list[int]:
        """The text's ids. The text of a special token becomes that token."""
        ids: list[int] = []
        for part in self._special.split(text):
            if part in self.specials:
                ids.append(self.id_of(part))
                continue
            for piece in PIECE.findall(part):
                if piece not in self._cache:
                    self._cache[piece] = self._encode_piece(piece)
                ids += self._cache[piece]
        return ids

    def decode(self, ids: list[int]) -> str:
        names = [special.encode() for special in self.specials]
        return b"".join((self.tokens + names)[i] for i in ids).decode("utf-8", "replace")
