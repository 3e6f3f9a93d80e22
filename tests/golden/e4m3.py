"""E4M3, a float of one byte: a sign, 4 bits of exponent (bias 7) and 3 of mantissa. It has no
infinities, and one magnitude is NaN (Micikevicius et al. 2022, "FP8 formats for deep learning")."""

from __future__ import annotations

import numpy as np


def _e4m3_values() -> np.ndarray:
    codes = np.arange(256)
    exponent, mantissa = codes >> 3 & 15, codes & 7
    size = np.where(exponent == 0, mantissa * 2.0**-9, (8 + mantissa) * 2.0 ** (exponent - 10.0))
    values = np.where(codes & 128, -size, size)
    return np.where(codes & 127 == 127, np.nan, values)


E4M3 = _e4m3_values()
E4M3_MAX = 448.0


def to_e4m3(x: np.ndarray) -> np.ndarray:
    """The nearest codes, ties to the even code;
    x
    <= 448."""
    sizes = E4M3[:127]
    above = np.clip(np.searchsorted(sizes, np.abs(x)), 1, 126)
    low, high = np.abs(x) - sizes[above - 1], sizes[above] - np.abs(x)
    up = (high < low) | ((high == low) & (above % 2 == 0))
    codes = np.where(up, above, above - 1)
    return (codes | np.where(np.signbit(x), 128, 0)).astype(np.uint8)
