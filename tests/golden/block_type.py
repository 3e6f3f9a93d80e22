"""The block types of GGUF files: one row, a BlockType, for each (types_*.py), and the code that
rows share.

Fields are integers and half-precision scales in the order of the weights they belong to:

    codes    [blocks, n]      unsigned, biased as stored (a Q4_0 code of 8 stands for 0)
    d, m     [blocks] float16 scale and minimum of a block; d and dmin of a K-quant's super-block
    scales, mins [blocks, sub-blocks]  a K-quant's integer scales, biased as stored; scales of
                                       i-quants; E4M3 of NVFP4
    e        [blocks] uint8   the power-of-two scale of MXFP4

The layouts follow ggml's block structures (ggml-common.h). Two habits of theirs explain most lines
below: 4-bit codes of a 32-block sit as weight j in the low and weight j + 16 in the high half of
byte j, and K-quants interleave in runs of 32 weights.
"""

from __future__ import annotations

import dataclasses
from typing import Callable

import numpy as np

Fields = dict[str, np.ndarray]

HALF_MAX = 65504.0


@dataclasses.dataclass(frozen=True)
class BlockType:
    name: str  # "Q4_0"
    number: int  # ggml_type
    length: int  # weights per block
    bytes: int
    unpack: Callable[[np.ndarray], Fields]  # uint8 [blocks, bytes] -> fields
    pack: Callable[[Fields], np.ndarray]  # the inverse: every bit belongs to one field
    # The exact values of a block: ggml's formula in float64, where all its products and differences
    # are exact.
    values: Callable[[Fields], np.ndarray]
    # A plain and valid quantiser, not ggml's: nearest codes for a scale from the largest magnitude.
    quantize: Callable[[np.ndarray], Fields]  # float64 [blocks, length]
    known: tuple[bytes, np.ndarray]  # a block and its weights, worked out by hand
    error: float  # root mean square on normal random weights, with about a tenth of room
    fallback: str = "F16"  # the type used instead where rows are not whole blocks


# Bits.


def half(raw: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(raw).view("<f2")[:, 0]


def half_bytes(x: np.ndarray) -> np.ndarray:
    return x.astype("<f2").reshape(-1, 1).view(np.uint8)


def join(*parts: np.ndarray) -> np.ndarray:
    return np.concatenate([p.astype(np.uint8) for p in parts], axis=1)


def nibbles(raw: np.ndarray) -> np.ndarray:
    """16 bytes -> 32 codes: low halves first, then high halves."""
    return np.concatenate([raw & 15, raw >> 4], axis=1)


def nibble_bytes(codes: np.ndarray) -> np.ndarray:
    n = codes.shape[1] // 2
    return (codes[:, :n] & 15) | ((codes[:, n:] & 15) << 4)


def spread(raw: np.ndarray, run: int, bits: int) -> np.ndarray:
    """Runs of `run` bytes, each byte holding 8 / bits codes -> codes. The lowest bits of the whole
    run come first, then the next ones."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    runs = raw.reshape(len(raw), -1, 1, run)
    return ((runs >> shifts[:, None]) & ((1 << bits) - 1)).reshape(len(raw), -1)


def gather(codes: np.ndarray, run: int, bits: int) -> np.ndarray:
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    runs = codes.reshape(len(codes), -1, len(shifts), run).astype(np.uint8)
    shifted = runs << shifts[:, None]
    return np.bitwise_or.reduce(shifted, axis=2).reshape(len(codes), -1)


# Numbers.


def repeat(x: np.ndarray, n: int) -> np.ndarray:
    """One value per sub-block -> one per weight."""
    return np.repeat(x.astype(np.float64), n // x.shape[1], axis=1)


def reciprocal(x: np.ndarray) -> np.ndarray:
    """1 / x, and 0 where x is 0: a block of zeros gets zero codes."""
    return np.divide(1.0, x, out=np.zeros_like(x, np.float64), where=x != 0)


def round_half(x: np.ndarray) -> np.ndarray:
    return np.clip(x, -HALF_MAX, HALF_MAX).astype(np.float16)


def signed_peak(x: np.ndarray) -> np.ndarray:
    """The element of the largest magnitude in each row, with its sign."""
    return np.take_along_axis(x, np.abs(x).argmax(axis=-1)[..., None], axis=-1)[..., 0]


def round_codes(x: np.ndarray, low: int, high: int) -> np.ndarray:
    return np.clip(np.rint(x), low, high).astype(np.int64)


def nearest(x: np.ndarray, table: np.ndarray) -> np.ndarray:
    return np.abs(x[:, :, None] - table).argmin(axis=2).astype(np.uint8)


# Known blocks.

ONE, TWO, HALF, MINUS_ONE = b"\x00\x3c", b"\x00\x40", b"\x00\x38", b"\x00\xbc"


def edited(size: int, fill: int, edits: dict[int, int]) -> bytes:
    """`size` bytes of `fill`, some of them changed."""
    raw = bytearray([fill]) * size
    for at, byte in edits.items():
        raw[at] = byte
    return bytes(raw)


def weights(length: int, *changes: tuple[slice | int, float], rest: float = 0.0) -> np.ndarray:
    out = np.full(length, rest)
    for where, value in changes:
        out[where] = value
    return out
