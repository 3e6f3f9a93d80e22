"""The i-quants: super-blocks of 256 weights that take rows of grids (grids.py), and IQ4_XS.

The fields besides those that all types have (block_type.py), in the order of the weights:

    rows    [blocks, 32 or 64]   indices into the grid, of 8 or 4 weights each
    signs   [blocks, 32]         of 8 weights each: a bit per weight from the lowest on, 1 for
                                 minus. IQ2_XXS, IQ2_XS and IQ3_XXS store the lower seven bits;
                                 the eighth makes the number of ones even
    deltas  [blocks, 8 or 32]    of IQ1: 1 where 1/8 is subtracted from the row's values, else 0

Scales are stored without the bias that all types share: an s means 2 s + 1.
"""

from __future__ import annotations

import dataclasses

import numpy as np

import grids
from block_type import (
    HALF, ONE, TWO, BlockType, Fields, edited, gather, half, half_bytes, join, nearest, reciprocal,
    repeat, round_codes, round_half, signed_peak, spread, weights,
)  # fmt: skip
from types_32 import IQ4_NL_VALUES

DELTA = 1 / 8
# The weight of a sub-block's largest element, whose error must outweigh all others.
HEAVY = 1e3
CHUNK = 1024  # groups at once


def _words(raw: np.ndarray, kind: str) -> np.ndarray:
    return np.ascontiguousarray(raw).view(kind)


def _bytes_of(words: np.ndarray, kind: str) -> np.ndarray:
    return np.ascontiguousarray(words.astype(kind)).view(np.uint8)


def _integer(x: np.ndarray) -> np.ndarray:
    return x.astype(np.int64)


def _nearest_rows(
    targets: np.ndarray, importance: np.ndarray, grid: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The row with the least sum of importance * (target - value)^2 for every group, and that sum.
    Targets and importance: [blocks, 256]; results: [blocks, groups]. Sums are in float32, which may
    choose a row that is almost as near."""
    width = grid.shape[1]
    t, w = (a.reshape(-1, width).astype(np.float32) for a in (targets, importance))
    left, right = np.hstack([w * t, w]), np.hstack([-2 * grid, grid**2]).T.astype(np.float32)
    best, sums = np.empty(len(t), np.int64), (w * t**2).sum(axis=1)
    for at in range(0, len(t), CHUNK):
        costs = left[at : at + CHUNK] @ right
        best[at : at + CHUNK] = chosen = costs.argmin(axis=1)
        sums[at : at + CHUNK] += costs[np.arange(len(costs)), chosen]
    return best.reshape(len(targets), -1), sums.reshape(len(targets), -1)


def _scaled_targets(
    x: np.ndarray, count: int, unit: float, top: float, limit: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """d, the scales of `count` sub-blocks, x in units of the grid, and the importance. A weight is
    d * unit * (2 s + 1) * value. The largest weight of every sub-block gets the largest value,
    `top`, and the largest of the block has the largest s, `limit`."""
    parts = x.reshape(len(x), count, -1)
    at = np.abs(parts).argmax(axis=2)[:, :, None]
    peak = np.abs(signed_peak(parts))
    d = round_half(peak.max(axis=1) / (unit * top * (2 * limit + 1)))
    step = d.astype(np.float64)[:, None] * unit
    scales = round_codes((peak / top * reciprocal(step) - 1) / 2, 0, limit)
    targets = parts * reciprocal(step * (2 * scales + 1))[:, :, None]
    importance = np.ones_like(parts)
    np.put_along_axis(importance, at, HEAVY, axis=2)
    of_peaks = np.copysign(top, np.take_along_axis(parts, at, axis=2))
    np.put_along_axis(targets, at, of_peaks, axis=2)
    return d, scales.astype(np.uint8), targets.reshape(x.shape), importance.reshape(x.shape)


def _parity(bits: np.ndarray) -> np.ndarray:
    return np.bitwise_xor.reduce(bits >> np.arange(7)[:, None, None] & 1, axis=0)


@dataclasses.dataclass(frozen=True)
class _Signed:
    """Magnitudes with signs: d * unit * (2 s + 1) * +-row, with 4 bits for s."""

    grid: np.ndarray
    unit: float
    count: int  # scales
    even: bool  # whether 8 weights have an even number of minus signs

    def values(self, f: Fields) -> np.ndarray:
        signs = _integer(f["signs"])
        if self.even:
            signs = signs | _parity(signs) << 7
        minus = (signs[:, :, None] >> np.arange(8) & 1).reshape(-1, 256)
        rows = self.grid[_integer(f["rows"])].reshape(-1, 256)
        step = f["d"].astype(np.float64)[:, None] * self.unit
        return step * (2 * repeat(f["scales"], 256) + 1) * np.where(minus, -rows, rows)

    def quantize(self, x: np.ndarray) -> Fields:
        """If signs must be even and are not, the sign of the smallest of the 8 weights is flipped.
        """
        d, scales, targets, importance = _scaled_targets(
            x, self.count, self.unit, self.grid.max(), 15
        )
        minus = (targets < 0).reshape(-1, 8)
        if self.even:
            odd = np.flatnonzero(minus.sum(axis=1) % 2)
            minus[odd, np.abs(x).reshape(-1, 8).argmin(axis=1)[odd]] ^= True
        targets = np.where(minus.reshape(x.shape), -targets, targets)
        rows, _ = _nearest_rows(targets, importance, self.grid)
        signs = np.packbits(minus, axis=1, bitorder="little").reshape(-1, 32)
        signs = signs & 127 if self.even else signs
        return {"d": d, "rows": rows, "signs": signs, "scales": scales}


@dataclasses.dataclass(frozen=True)
class _Ternary:
    """d * (2 s + 1) * (row +- 1/8), with 3 bits for s."""

    count: int  # scales
    deltas: int

    def values(self, f: Fields) -> np.ndarray:
        rows = grids.IQ1[_integer(f["rows"])].reshape(-1, 256)
        moved = rows + np.where(repeat(f["deltas"], 256) > 0, -DELTA, DELTA)
        return f["d"].astype(np.float64)[:, None] * (2 * repeat(f["scales"], 256) + 1) * moved

    def quantize(self, x: np.ndarray) -> Fields:
        """Takes the delta with the smaller error."""
        d, scales, targets, importance = _scaled_targets(x, self.count, 1.0, 1 + DELTA, 7)
        tried = [_nearest_rows(targets - m, importance, grids.IQ1) for m in (DELTA, -DELTA)]
        plus, minus = (costs.reshape(len(x), self.deltas, -1).sum(axis=2) for _, costs in tried)
        deltas = (minus < plus).astype(np.uint8)
        rows = np.where(repeat(deltas, 32) > 0, tried[1][0], tried[0][0])
        return {"d": d, "rows": rows, "scales": scales, "deltas": deltas}


def _signs_and_scale(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Words of 32 bits for 32 weights: four sets of seven signs from the lowest bit on, then a
    scale."""
    signs = w[:, :, None] >> np.arange(0, 28, 7, dtype=np.uint32) & 127
    return signs.reshape(len(w), -1), w >> 28


def _words_of_signs_and_scale(f: Fields) -> np.ndarray:
    signs = f["signs"].astype(np.uint32).reshape(-1, 8, 4) << np.arange(0, 28, 7, dtype=np.uint32)
    return np.bitwise_or.reduce(signs, axis=2) | f["scales"].astype(np.uint32) << 28


def _unpack_iq2_xxs(raw):
    parts = raw[:, 2:].reshape(-1, 8, 8)
    rows, words = parts[:, :, :4].reshape(-1, 32), _words(parts[:, :, 4:], "<u4")[:, :, 0]
    signs, scales = _signs_and_scale(words)
    return {"d": half(raw[:, :2]), "rows": rows, "signs": signs, "scales": scales}


def _pack_iq2_xxs(f):
    words = _bytes_of(_words_of_signs_and_scale(f), "<u4").reshape(-1, 8, 4)
    parts = np.concatenate([f["rows"].reshape(-1, 8, 4), words], axis=2)
    return join(half_bytes(f["d"]), parts.reshape(-1, 64))


_IQ2_XXS = _Signed(grids.IQ2_XXS, 1 / 8, 8, even=True)

# Known blocks of the IQ2 types. Row 0 is eight times 8, and 8 / 8 is 1; the last row is eight times
# 43. Here row 1 begins with 43. One group has two minus signs; another has one, so the eighth is
# added. Its s is 2.
IQ2_XXS = BlockType(
    "IQ2_XXS", number=16, length=256, bytes=66,
    unpack=_unpack_iq2_xxs, pack=_pack_iq2_xxs,
    values=_IQ2_XXS.values, quantize=_IQ2_XXS.quantize,
    known=(
        ONE + edited(64, 0, {9: 1, 13: 0xC0, 14: 0x20, 15: 0x20}),
        weights(256, (slice(32, 64), 5.0), (40, 26.875), (slice(48, 50), -5.0), (56, -5.0),
                (63, -5.0), rest=1.0),
    ),
    error=0.39, fallback="IQ4_NL",
)  # fmt: skip


def _unpack_iq2_xs(raw):
    words = _words(raw[:, 2:66], "<u2")
    scales = spread(raw[:, 66:74], 1, 4)
    return {"d": half(raw[:, :2]), "rows": words & 511, "signs": words >> 9, "scales": scales}


def _pack_iq2_xs(f):
    words = _bytes_of(_integer(f["rows"]) | _integer(f["signs"]) << 9, "<u2")
    return join(half_bytes(f["d"]), words, gather(f["scales"], 1, 4))


_IQ2_XS = _Signed(grids.IQ2_XS, 1 / 8, 16, even=True)

IQ2_XS = BlockType(
    "IQ2_XS", number=17, length=256, bytes=74,
    unpack=_unpack_iq2_xs, pack=_pack_iq2_xs,
    values=_IQ2_XS.values, quantize=_IQ2_XS.quantize,
    known=(
        ONE + edited(72, 0, {0: 0xFF, 1: 0x01, 18: 0x03, 19: 0x80, 66: 0x73}),
        weights(256, (slice(0, 8), 5.375), (slice(64, 80), 7.0), (73, 37.625),
                (slice(78, 80), -7.0), (slice(80, 96), 15.0), rest=1.0),
    ),
    error=0.34, fallback="IQ4_NL",
)  # fmt: skip


def _unpack_iq2_s(raw):
    rows = raw[:, 2:34] | _integer(spread(raw[:, 66:74], 1, 2)) << 8
    scales = spread(raw[:, 74:82], 1, 4)
    return {"d": half(raw[:, :2]), "rows": rows, "signs": raw[:, 34:66], "scales": scales}


def _pack_iq2_s(f):
    high = gather(f["rows"] >> 8, 1, 2)
    low = f["rows"] & 255
    return join(half_bytes(f["d"]), low, f["signs"], high, gather(f["scales"], 1, 4))


_IQ2_S = _Signed(grids.IQ2_S, 1 / 8, 16, even=False)

IQ2_S = BlockType(
    "IQ2_S", number=22, length=256, bytes=82,
    unpack=_unpack_iq2_s, pack=_pack_iq2_s,
    values=_IQ2_S.values, quantize=_IQ2_S.quantize,
    known=(
        ONE + edited(80, 0, {31: 0xFF, 63: 0x81, 71: 0xC0, 79: 0x1F}),
        weights(256, (slice(224, 240), 31.0), (slice(240, 248), 3.0), (slice(248, 256), 16.125),
                (248, -16.125), (255, -16.125), rest=1.0),
    ),
    error=0.285, fallback="IQ4_NL",
)  # fmt: skip


def _unpack_iq3_xxs(raw):
    signs, scales = _signs_and_scale(_words(raw[:, 66:98], "<u4"))
    return {"d": half(raw[:, :2]), "rows": raw[:, 2:66], "signs": signs, "scales": scales}


def _pack_iq3_xxs(f):
    return join(half_bytes(f["d"]), f["rows"], _bytes_of(_words_of_signs_and_scale(f), "<u4"))


_IQ3_XXS = _Signed(grids.IQ3_XXS, 1 / 4, 8, even=True)

# Row 0 is four times 4, row 1 is 20 and three times 4, and the last row is 4, 28, 52, 62.
IQ3_XXS = BlockType(
    "IQ3_XXS", number=18, length=256, bytes=98,
    unpack=_unpack_iq3_xxs, pack=_pack_iq3_xxs,
    values=_IQ3_XXS.values, quantize=_IQ3_XXS.quantize,
    known=(
        ONE + edited(96, 0, {17: 1, 23: 0xFF, 72: 0x80, 73: 0x3F, 75: 0x10}),
        weights(256, (slice(64, 96), 3.0), (68, 15.0), (slice(72, 80), -3.0), (93, 21.0),
                (94, 39.0), (95, 46.5), rest=1.0),
    ),
    error=0.207, fallback="IQ4_NL",
)  # fmt: skip


def _unpack_iq3_s(raw):
    rows = raw[:, 2:66] | _integer(spread(raw[:, 66:74], 1, 1)) << 8
    scales = spread(raw[:, 106:110], 1, 4)
    return {"d": half(raw[:, :2]), "rows": rows, "signs": raw[:, 74:106], "scales": scales}


def _pack_iq3_s(f):
    high = gather(f["rows"] >> 8, 1, 1)
    low = f["rows"] & 255
    return join(half_bytes(f["d"]), low, high, f["signs"], gather(f["scales"], 1, 4))


_IQ3_S = _Signed(grids.IQ3_S, 1.0, 8, even=False)

# Row 0 is four times 1, and the last row is 1, 1, 15, 15.
IQ3_S = BlockType(
    "IQ3_S", number=21, length=256, bytes=110,
    unpack=_unpack_iq3_s, pack=_pack_iq3_s,
    values=_IQ3_S.values, quantize=_IQ3_S.quantize,
    known=(
        HALF + edited(108, 0, {10: 0xFF, 65: 0x04, 77: 0x8A, 104: 0x20}),
        weights(256, (slice(32, 64), 2.5), (41, -2.5), (42, 37.5), (43, -37.5), (47, -2.5),
                rest=0.5),
    ),
    error=0.152, fallback="IQ4_NL",
)  # fmt: skip


def _unpack_iq1_s(raw):
    words = _words(raw[:, 34:50], "<u2")
    high = words[:, :, None] >> np.arange(0, 12, 3, dtype=np.uint16) & 7
    return {
        "d": half(raw[:, :2]),
        "rows": raw[:, 2:34] | _integer(high).reshape(-1, 32) << 8,
        "scales": words >> 12 & 7,
        "deltas": words >> 15,
    }


def _pack_iq1_s(f):
    rows = _integer(f["rows"])
    high = np.bitwise_or.reduce((rows >> 8).reshape(-1, 8, 4) << np.arange(0, 12, 3), axis=2)
    words = high | _integer(f["scales"]) << 12 | _integer(f["deltas"]) << 15
    return join(half_bytes(f["d"]), rows & 255, _bytes_of(words, "<u2"))


_IQ1_S = _Ternary(count=8, deltas=8)

# Row 0 is eight times -1, row 2 is twice 0 and six times -1, and the last row is eight times 1.
IQ1_S = BlockType(
    "IQ1_S", number=19, length=256, bytes=50,
    unpack=_unpack_iq1_s, pack=_pack_iq1_s,
    values=_IQ1_S.values, quantize=_IQ1_S.quantize,
    known=(
        TWO + edited(48, 0, {13: 0xFF, 28: 0x02, 38: 0x38, 39: 0x10, 47: 0x80}),
        weights(256, (slice(96, 128), -5.25), (slice(104, 112), 6.75), (slice(224, 226), -0.25),
                (slice(226, 256), -2.25), rest=-1.75),
    ),
    error=0.67, fallback="IQ4_NL",
)  # fmt: skip


def _unpack_iq1_m(raw):
    """A group has four bits: three of its row's index, then the delta. Each of the four words at
    the end has four scales and above them four bits of d; the first word has d's lowest bits."""
    high = _integer(spread(raw[:, 32:48], 1, 4))
    words = _words(raw[:, 48:56], "<u2")
    scales = words[:, :, None] >> np.arange(0, 12, 3, dtype=np.uint16) & 7
    d = np.bitwise_or.reduce(words >> 12 << np.arange(0, 16, 4, dtype=np.uint16), axis=1)
    return {
        "d": d.astype("<u2").view("<f2"),
        "rows": raw[:, :32] | (high & 7) << 8,
        "scales": scales.reshape(-1, 16),
        "deltas": high >> 3,
    }


def _pack_iq1_m(f):
    rows, d = _integer(f["rows"]), _integer(f["d"].astype("<f2").view("<u2"))
    high = gather(rows >> 8 | _integer(f["deltas"]) << 3, 1, 4)
    scales = _integer(f["scales"]).reshape(-1, 4, 4) << np.arange(0, 12, 3)
    words = np.bitwise_or.reduce(scales, axis=2) | (d[:, None] >> np.arange(0, 16, 4) & 15) << 12
    return join(rows & 255, high, _bytes_of(words, "<u2"))


_IQ1_M = _Ternary(count=16, deltas=32)

# d is 1: 0x3C00, of which C lies in byte 53 and 3 in byte 55.
IQ1_M = BlockType(
    "IQ1_M", number=29, length=256, bytes=56,
    unpack=_unpack_iq1_m, pack=_pack_iq1_m,
    values=_IQ1_M.values, quantize=_IQ1_M.quantize,
    known=(
        edited(56, 0, {5: 0xFF, 34: 0xF0, 35: 0x08, 48: 0xC0, 53: 0xC0, 55: 0x32}),
        weights(256, (slice(32, 40), -6.125), (slice(40, 48), 6.125), (slice(48, 56), -1.125),
                (slice(240, 256), -2.625), rest=-0.875),
    ),
    error=0.57, fallback="IQ4_NL",
)  # fmt: skip


def _unpack_iq4_xs(raw):
    """A scale has six bits: the low four come from bytes 4 to 7, the high two from bytes 2 and 3.
    """
    scales = spread(raw[:, 4:8], 1, 4) | spread(raw[:, 2:4], 1, 2) << 4
    return {"d": half(raw[:, :2]), "scales": scales, "codes": spread(raw[:, 8:], 16, 4)}


def _pack_iq4_xs(f):
    high, low = gather(f["scales"] >> 4, 1, 2), gather(f["scales"] & 15, 1, 4)
    return join(half_bytes(f["d"]), high, low, gather(f["codes"], 16, 4))


def _values_iq4_xs(f: Fields) -> np.ndarray:
    step = f["d"].astype(np.float64)[:, None] * (repeat(f["scales"], 256) - 32)
    return step * IQ4_NL_VALUES[f["codes"]]


def _quantize_iq4_xs(x: np.ndarray) -> Fields:
    """The largest weight of a sub-block gets the code 0, on the longer side."""
    parts = x.reshape(len(x), 8, 32)
    scales = signed_peak(parts) / IQ4_NL_VALUES[0]
    d = round_half(np.abs(scales).max(axis=1) / 31)
    integer = round_codes(scales * reciprocal(d.astype(np.float64))[:, None], -31, 31)
    step = d.astype(np.float64)[:, None] * integer
    scaled = parts * reciprocal(step)[:, :, None]
    codes = nearest(scaled.reshape(x.shape), IQ4_NL_VALUES).reshape(parts.shape)
    np.put_along_axis(codes, np.abs(parts).argmax(axis=2)[:, :, None], 0, axis=2)
    return {"d": d, "scales": (integer + 32).astype(np.uint8), "codes": codes.reshape(x.shape)}


IQ4_XS = BlockType(
    "IQ4_XS", number=23, length=256, bytes=136,
    unpack=_unpack_iq4_xs, pack=_pack_iq4_xs,
    values=_values_iq4_xs, quantize=_quantize_iq4_xs,
    known=(
        ONE + edited(6, 0, {1: 0x08, 4: 0x10}) + edited(128, 0x88, {80: 0xF0}),
        weights(256, (slice(160, 192), 1.0), (160, -127.0), (176, 113.0), rest=-32.0),
    ),
    error=0.088, fallback="IQ4_NL",
)  # fmt: skip


ROWS = (IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S, IQ1_S, IQ1_M, IQ4_XS)
