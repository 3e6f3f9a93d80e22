"""The block types with two, three or four values, multiples of one scale per block.

    bytes   [blocks, 52]   of TQ1_0: five digits of base 3 each. 13 of 256 bytes have the same
                           digits as others, so the field has the bytes and not the digits
"""

from __future__ import annotations

import numpy as np

from block_type import (
    HALF, TWO, BlockType, Fields, edited, gather, half, half_bytes, join, reciprocal, round_codes,
    round_half, signed_peak, spread, weights,
)  # fmt: skip


def _scaled(f: Fields) -> np.ndarray:
    """d * (code - 1)."""
    return f["d"].astype(np.float64)[:, None] * (f["codes"].astype(np.float64) - 1)


def _codes_around_one(x: np.ndarray, d: np.ndarray, top: int) -> np.ndarray:
    codes = round_codes(x * reciprocal(d.astype(np.float64))[:, None] + 1, 0, top)
    return codes.astype(np.uint8)


def _quantize_ternary(x: np.ndarray) -> Fields:
    d = round_half(np.abs(x).max(axis=1))
    return {"d": d, "codes": _codes_around_one(x, d, 2)}


# The bytes of a run hold the same digit of successive weights; then comes the next digit.
_RUNS = ((slice(0, 32), 5), (slice(32, 48), 5), (slice(48, 52), 4))


def _digits(raw: np.ndarray, count: int) -> np.ndarray:
    """The codes. A byte is a fraction of 256 whose base-3 digits after the point are the codes."""
    left = raw.astype(np.int64)
    out = []
    for _ in range(count):
        out.append(left * 3 // 256)
        left = left * 3 % 256
    return np.concatenate(out, axis=1)


def _bytes_of_digits(codes: np.ndarray, count: int) -> np.ndarray:
    """The least byte with these digits, followed by zeros up to the fifth."""
    digits = codes.reshape(len(codes), count, -1).astype(np.int64)
    number = (digits * 3 ** np.arange(4, 4 - count, -1)[:, None]).sum(axis=1)
    return -(-number * 256 // 243)


def _values_tq1_0(f: Fields) -> np.ndarray:
    codes = [_digits(f["bytes"][:, where], count) for where, count in _RUNS]
    return _scaled({"d": f["d"], "codes": np.concatenate(codes, axis=1)})


def _quantize_tq1_0(x: np.ndarray) -> Fields:
    plain = _quantize_ternary(x)
    ends = np.cumsum([(where.stop - where.start) * count for where, count in _RUNS])
    runs = np.split(plain["codes"], ends[:-1], axis=1)
    raw = [_bytes_of_digits(run, count) for run, (_, count) in zip(runs, _RUNS)]
    return {"d": plain["d"], "bytes": join(*raw)}


# 0x80 is 1/2, whose digits are all 1. The digits of 0xFF are all 2. 185 / 256 is 0.20111 in base 3.
TQ1_0 = BlockType(
    "TQ1_0", number=34, length=256, bytes=54,
    unpack=lambda raw: {"bytes": raw[:, :52], "d": half(raw[:, 52:54])},
    pack=lambda f: join(f["bytes"], half_bytes(f["d"])),
    values=_values_tq1_0, quantize=_quantize_tq1_0,
    known=(
        edited(52, 0x80, {3: 0xFF, 40: 185, 50: 0x00}) + HALF,
        weights(256, (slice(3, 160, 32), 0.5), (168, 0.5), (184, -0.5),
                (slice(242, 256, 4), -0.5)),
    ),
    error=0.89, fallback="Q4_0",
)  # fmt: skip


TQ2_0 = BlockType(
    "TQ2_0", number=35, length=256, bytes=66,
    unpack=lambda raw: {"codes": spread(raw[:, :64], 32, 2), "d": half(raw[:, 64:66])},
    pack=lambda f: join(gather(f["codes"], 32, 2), half_bytes(f["d"])),
    values=_scaled, quantize=_quantize_ternary,
    known=(
        edited(64, 0x55, {33: 0x1B}) + TWO,
        weights(256, (129, 4.0), (161, 2.0), (225, -2.0)),
    ),
    error=0.89, fallback="Q4_0",
)  # fmt: skip


def _values_q1_0(f: Fields) -> np.ndarray:
    return f["d"].astype(np.float64)[:, None] * (2 * f["codes"].astype(np.float64) - 1)


def _quantize_q1_0(x: np.ndarray) -> Fields:
    return {"d": round_half(np.abs(x).mean(axis=1)), "codes": (x >= 0).astype(np.uint8)}


Q1_0 = BlockType(
    "Q1_0", number=41, length=128, bytes=18,
    unpack=lambda raw: {"d": half(raw[:, :2]), "codes": spread(raw[:, 2:], 1, 1)},
    pack=lambda f: join(half_bytes(f["d"]), gather(f["codes"], 1, 1)),
    values=_values_q1_0, quantize=_quantize_q1_0,
    known=(HALF + edited(16, 0, {2: 0x81}), weights(128, (16, 0.5), (23, 0.5), rest=-0.5)),
    error=0.66, fallback="Q4_0",
)  # fmt: skip


def _quantize_q2_0(x: np.ndarray) -> Fields:
    """The peak gets the code 3, on the longer side."""
    d = round_half(signed_peak(x) / 2)
    return {"d": d, "codes": _codes_around_one(x, d, 3)}


Q2_0 = BlockType(
    "Q2_0", number=42, length=64, bytes=18,
    unpack=lambda raw: {"d": half(raw[:, :2]), "codes": spread(raw[:, 2:], 1, 2)},
    pack=lambda f: join(half_bytes(f["d"]), gather(f["codes"], 1, 2)),
    values=_scaled, quantize=_quantize_q2_0,
    known=(
        TWO + edited(16, 0x55, {3: 0xE4}), weights(64, (12, -2.0), (14, 2.0), (15, 4.0)),
    ),
    error=0.43, fallback="Q4_0",
)  # fmt: skip


ROWS = (TQ1_0, TQ2_0, Q1_0, Q2_0)
