"""The K-quants: super-blocks of 256 weights, whose sub-blocks have integer scales."""

from __future__ import annotations

import numpy as np

from block_type import (
    HALF, ONE, TWO, BlockType, Fields, edited, gather, half, half_bytes, join, reciprocal, repeat,
    round_codes, round_half, signed_peak, spread, weights,
)  # fmt: skip


def _values_with_minima(f: Fields) -> np.ndarray:
    """d * sc * code - dmin * mn."""
    d, dmin = f["d"].astype(np.float64)[:, None], f["dmin"].astype(np.float64)[:, None]
    codes = f["codes"].astype(np.float64)
    return d * repeat(f["scales"], 256) * codes - dmin * repeat(f["mins"], 256)


def _quantize_with_minima(count: int, top: int, limit: int):
    """`count` sub-blocks with an integer scale and an integer minimum, never positive."""

    def quantize(x: np.ndarray) -> Fields:
        parts = x.reshape(len(x), count, -1)
        low = np.maximum(-parts.min(axis=2), 0.0)
        dmin = round_half(low.max(axis=1) / limit)
        mins = round_codes(low * reciprocal(dmin.astype(np.float64))[:, None], 0, limit)
        floor = dmin.astype(np.float64)[:, None] * mins
        scales = np.maximum(parts.max(axis=2) + floor, 0.0) / top
        d = round_half(scales.max(axis=1) / limit)
        integer = round_codes(scales * reciprocal(d.astype(np.float64))[:, None], 0, limit)
        step = d.astype(np.float64)[:, None] * integer
        codes = round_codes((parts + floor[:, :, None]) * reciprocal(step)[:, :, None], 0, top)
        return {
            "d": d,
            "dmin": dmin,
            "scales": integer.astype(np.uint8),
            "mins": mins.astype(np.uint8),
            "codes": codes.reshape(len(x), 256).astype(np.uint8),
        }

    return quantize


def _symmetric(zero: int, top: int, bias: int) -> dict:
    """16 sub-blocks of 16 weights with a signed integer scale: d * (sc - bias) * (code - zero). A
    scale without bias is an int8. Scales range from -top to top."""

    def values(f: Fields) -> np.ndarray:
        scales = f["scales"].astype(np.float64) - bias if bias else f["scales"].view(np.int8)
        d, codes = f["d"].astype(np.float64)[:, None], f["codes"].astype(np.float64)
        return d * repeat(scales, 256) * (codes - zero)

    def quantize(x: np.ndarray) -> Fields:
        parts = x.reshape(len(x), 16, 16)
        scales = signed_peak(parts) / -zero
        d = round_half(np.abs(scales).max(axis=1) / top)
        integer = round_codes(scales * reciprocal(d.astype(np.float64))[:, None], -top, top)
        step = d.astype(np.float64)[:, None] * integer
        codes = round_codes(parts * reciprocal(step)[:, :, None] + zero, 0, 2 * zero - 1)
        return {
            "d": d,
            "scales": (integer + bias).astype(np.uint8),
            "codes": codes.reshape(len(x), 256).astype(np.uint8),
        }

    return {"values": values, "quantize": quantize}


def _unpack_q2_k(raw):
    return {
        "scales": raw[:, :16] & 15,
        "mins": raw[:, :16] >> 4,
        "codes": spread(raw[:, 16:80], 32, 2),
        "d": half(raw[:, 80:82]),
        "dmin": half(raw[:, 82:84]),
    }


def _pack_q2_k(f):
    scales = f["scales"] | (f["mins"] << 4)
    d, dmin = half_bytes(f["d"]), half_bytes(f["dmin"])
    return join(scales, gather(f["codes"], 32, 2), d, dmin)


Q2_K = BlockType(
    "Q2_K", number=10, length=256, bytes=84,
    unpack=_unpack_q2_k, pack=_pack_q2_k,
    values=_values_with_minima, quantize=_quantize_with_minima(16, 3, 15),
    known=(
        edited(16, 0, {0: 0x21, 3: 0x01, 9: 0x03})
        + edited(64, 0, {0: 0x03, 21: 0x0C, 50: 0x02}) + ONE + HALF,
        weights(256, (slice(0, 16), -1.0), (0, 2.0), (53, 3.0), (146, 6.0)),
    ),
    error=0.36, fallback="IQ4_NL",
)  # fmt: skip


def _unpack_q3_k(raw):
    """The third bit of all 256 codes comes first: bit k of byte l belongs to weight 32 k + l. Of
    the 16 scales, 8 bytes hold the low four bits and 4 bytes the high two."""
    high = spread(raw[:, :32], 32, 1)
    low = spread(raw[:, 32:96], 32, 2)
    scales_low = np.concatenate([raw[:, 96:104] & 15, raw[:, 96:104] >> 4], axis=1)
    scales_high = spread(raw[:, 104:108], 4, 2)
    return {
        "codes": low | (high << 2),
        "scales": scales_low | (scales_high << 4),
        "d": half(raw[:, 108:110]),
    }


def _pack_q3_k(f):
    codes, scales = f["codes"], f["scales"]
    high = gather((codes >> 2) & 1, 32, 1)
    low = gather(codes & 3, 32, 2)
    scales_low = (scales[:, :8] & 15) | ((scales[:, 8:] & 15) << 4)
    return join(high, low, scales_low, gather(scales >> 4, 4, 2), half_bytes(f["d"]))


Q3_K = BlockType(
    "Q3_K", number=11, length=256, bytes=110,
    unpack=_unpack_q3_k, pack=_pack_q3_k,
    **_symmetric(zero=4, top=31, bias=32),
    known=(
        edited(32, 0xFF, {1: 0xFE, 8: 0xBF}) + edited(64, 0, {0: 0x02, 35: 0x10})
        + edited(12, 0, {0: 0x01, 4: 0xE0, 8: 0x42}) + TWO,
        weights(256, (0, 4.0), (1, -8.0), (195, -4.0), (200, 16.0)),
    ),
    error=0.17, fallback="IQ4_NL",
)  # fmt: skip


def _unpack_scales_and_mins(raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """12 bytes -> eight 6-bit scales and eight 6-bit minima. Bytes 0-3 and 4-7 hold the first four
    scales and minima. Their top two bits belong to the last four, whose low four bits share bytes
    8-11, scale below minimum."""
    a, b, c = raw[:, 0:4], raw[:, 4:8], raw[:, 8:12]
    scales = np.concatenate([a & 63, (c & 15) | ((a >> 6) << 4)], axis=1)
    mins = np.concatenate([b & 63, (c >> 4) | ((b >> 6) << 4)], axis=1)
    return scales, mins


def _pack_scales_and_mins(scales: np.ndarray, mins: np.ndarray) -> np.ndarray:
    a = scales[:, :4] | ((scales[:, 4:] >> 4) << 6)
    b = mins[:, :4] | ((mins[:, 4:] >> 4) << 6)
    c = (scales[:, 4:] & 15) | ((mins[:, 4:] & 15) << 4)
    return np.concatenate([a, b, c], axis=1)


# Q4_K and Q5_K: sub-block 0 has scale 2 and minimum 3, sub-block 5 has scale 33 and minimum 21,
# with high bits in bytes 1 and 5. All others have neither.
_K4_SCALES = edited(12, 0, {0: 2, 4: 3, 1: 0x80, 5: 0x40, 9: 0x51})


def _unpack_q4_k(raw):
    scales, mins = _unpack_scales_and_mins(raw[:, 4:16])
    return {
        "d": half(raw[:, 0:2]),
        "dmin": half(raw[:, 2:4]),
        "scales": scales,
        "mins": mins,
        "codes": spread(raw[:, 16:144], 32, 4),
    }


def _pack_q4_k(f):
    scales = _pack_scales_and_mins(f["scales"], f["mins"])
    d, dmin = half_bytes(f["d"]), half_bytes(f["dmin"])
    return join(d, dmin, scales, gather(f["codes"], 32, 4))


Q4_K = BlockType(
    "Q4_K", number=12, length=256, bytes=144,
    unpack=_unpack_q4_k, pack=_pack_q4_k,
    values=_values_with_minima, quantize=_quantize_with_minima(8, 15, 63),
    known=(
        ONE + ONE + _K4_SCALES + edited(128, 0, {0: 0x0F, 71: 0xA0}),
        weights(256, (slice(0, 32), -3.0), (slice(160, 192), -21.0), (0, 27.0), (167, 309.0)),
    ),
    error=0.086, fallback="Q5_0",
)  # fmt: skip


def _unpack_q5_k(raw):
    scales, mins = _unpack_scales_and_mins(raw[:, 4:16])
    high = spread(raw[:, 16:48], 32, 1)
    return {
        "d": half(raw[:, 0:2]),
        "dmin": half(raw[:, 2:4]),
        "scales": scales,
        "mins": mins,
        "codes": spread(raw[:, 48:176], 32, 4) | (high << 4),
    }


def _pack_q5_k(f):
    scales = _pack_scales_and_mins(f["scales"], f["mins"])
    d, dmin = half_bytes(f["d"]), half_bytes(f["dmin"])
    high, low = gather(f["codes"] >> 4, 32, 1), gather(f["codes"] & 15, 32, 4)
    return join(d, dmin, scales, high, low)


Q5_K = BlockType(
    "Q5_K", number=13, length=256, bytes=176,
    unpack=_unpack_q5_k, pack=_pack_q5_k,
    values=_values_with_minima, quantize=_quantize_with_minima(8, 31, 63),
    known=(
        ONE + ONE + _K4_SCALES + edited(32, 0, {0: 0x01, 7: 0x20})
        + edited(128, 0, {0: 0x0F, 71: 0xA0}),
        weights(256, (slice(0, 32), -3.0), (slice(160, 192), -21.0), (0, 59.0), (167, 837.0)),
    ),
    error=0.042, fallback="Q5_1",
)  # fmt: skip


def _unpack_q6_k(raw):
    return {
        "codes": spread(raw[:, :128], 64, 4) | (spread(raw[:, 128:192], 32, 2) << 4),
        "scales": raw[:, 192:208],
        "d": half(raw[:, 208:210]),
    }


def _pack_q6_k(f):
    codes = f["codes"]
    low, high = gather(codes & 15, 64, 4), gather(codes >> 4, 32, 2)
    return join(low, high, f["scales"], half_bytes(f["d"]))


Q6_K = BlockType(
    "Q6_K", number=14, length=256, bytes=210,
    unpack=_unpack_q6_k, pack=_pack_q6_k,
    **_symmetric(zero=32, top=127, bias=0),
    known=(
        edited(128, 0, {0: 0x05, 82: 0x70}) + edited(64, 0, {0: 0x03, 50: 0x20})
        + edited(16, 0, {0: 0x01, 13: 0xFF}) + HALF,
        weights(256, (slice(0, 16), -16.0), (slice(208, 224), 16.0), (0, 10.5), (210, -3.5)),
    ),
    error=0.02, fallback="Q8_0",
)  # fmt: skip


ROWS = (Q2_K, Q3_K, Q4_K, Q5_K, Q6_K)
