"""Rotary position embedding: angles, their scaling for long contexts, and the two pair layouts.

A head's first `dimensions` values form dimensions / 2 pairs; pair i turns by position *
frequency(i), where frequency(i) = base^(-2 i / dimensions) before scaling. The rest of the head
stays as it is.

    NORM   pair i is (x[2i], x[2i + 1])                   the layout of `llama` GGUF files
    NEOX   pair i is (x[i], x[i + dimensions / 2])        the layout of `qwen2` and `qwen3`

Scalings, named as in `{arch}.rope.scaling.type`:

    linear  every frequency is divided by the factor (position interpolation, Chen et al. 2023)
    yarn    frequencies that turn often within the original context stay, slow ones are divided,
            with a ramp between; sine and cosine grow by 1 + 0.1 ln(factor)
            (Peng et al. 2023, "YaRN", sections 3.2 to 3.4)
    the tensor rope_freqs.weight divides each frequency by a factor of its own (Llama 3), as do
    rope_factors_long.weight and rope_factors_short.weight (LongRoPE, Ding et al. 2024)
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

NORM = "norm"
NEOX = "neox"
LLAMA3 = {"low": 1.0, "high": 4.0, "original_context": 64}


@dataclasses.dataclass(frozen=True)
class RopeConfig:
    layout: str
    dimensions: int
    base: float = 10000.0
    scaling: str = "none"
    factor: float = 1.0
    original_context: int = 0
    attention_factor: float = 1.0
    extrapolation: float = 1.0
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    whole_pairs: bool = True  # whether the ends of YaRN's ramp are rounded to whole pairs


def _pair_with_turns(config: RopeConfig, turns: float) -> float:
    """The (fractional) pair that makes `turns` rotations over the original context."""
    wave = config.original_context / (turns * 2 * math.pi)
    return config.dimensions * math.log(wave) / (2 * math.log(config.base))


def _yarn_kept_share(config: RopeConfig) -> np.ndarray:
    """By pair: 1 where the frequency is kept, 0 where it is divided by the factor. The ramp's ends
    are whole pairs in YaRN's published code, and unrounded in gpt-oss. Its upper end may lie beyond
    the last pair."""
    low = _pair_with_turns(config, config.beta_fast)
    high = _pair_with_turns(config, config.beta_slow)
    if config.whole_pairs:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(0.0, low), min(config.dimensions - 1.0, high)
    pairs = np.arange(config.dimensions // 2, dtype=np.float64)
    ramp = (pairs - low) / max(0.001, high - low)
    return (1 - np.clip(ramp, 0, 1)) * config.extrapolation


def frequencies(config: RopeConfig, divisors: np.ndarray | None = None) -> np.ndarray:
    """Radians per position, one per pair."""
    exponents = -np.arange(0, config.dimensions, 2, dtype=np.float64) / config.dimensions
    plain = config.base**exponents
    if divisors is not None:
        plain = plain / divisors
    if config.scaling in ("none", "longrope"):
        return plain
    interpolated = plain / config.factor
    if config.scaling == "linear":
        return interpolated
    if config.scaling == "yarn":
        kept = _yarn_kept_share(config)
        return interpolated * (1 - kept) + plain * kept
    raise ValueError(f"no RoPE scaling is called {config.scaling}")


def magnitude(config: RopeConfig) -> float:
    """The factor of sine and cosine."""
    if config.scaling == "yarn" and config.extrapolation != 0:
        return config.attention_factor * (1 + 0.1 * math.log(config.factor))
    return config.attention_factor


def rotate(
    x: np.ndarray, positions: np.ndarray, config: RopeConfig, divisors: np.ndarray | None = None
) -> np.ndarray:
    """Turns x: [tokens, heads, head_dim] -> the same shape."""
    angles = positions.astype(np.float64)[:, None] * frequencies(config, divisors)
    cosine = (np.cos(angles) * magnitude(config))[:, None, :]
    sine = (np.sin(angles) * magnitude(config))[:, None, :]
    half = config.dimensions // 2
    if config.layout == NORM:
        first, second = slice(0, config.dimensions, 2), slice(1, config.dimensions, 2)
    else:
        first, second = slice(0, half), slice(half, config.dimensions)
    out = x.copy()
    a, b = x[:, :, first], x[:, :, second]
    out[:, :, first] = a * cosine - b * sine
    out[:, :, second] = a * sine + b * cosine
    return out


def llama3_divisors(
    dimensions: int, base: float, factor: float, low: float, high: float, original_context: int
) -> np.ndarray:
    """The values of rope_freqs.weight for Llama 3.1's scaling. Wavelengths shorter than
    original_context / high stay, and those longer than original_context / low are stretched by
    `factor`. Between the two the frequency is interpolated linearly in context / wavelength."""
    exponents = -np.arange(0, dimensions, 2, dtype=np.float64) / dimensions
    turns = original_context * base**exponents / (2 * math.pi)
    smooth = np.clip((turns - low) / (high - low), 0, 1)
    return 1 / ((1 - smooth) / factor + smooth)


def divisor_tensors(spec):
    """Yields (name, values) of a golden model's tensors (model_specs.Spec)."""
    if spec.llama3_factor:
        base, factor = spec.rope["freq_base"], spec.llama3_factor
        yield "rope_freqs.weight", llama3_divisors(spec.key, base, factor, **LLAMA3)
    if spec.long_factor:
        pairs = spec.rope["dimension_count"] // 2
        for name, most in (("long", spec.long_factor), ("short", 1.5)):
            yield f"rope_factors_{name}.weight", np.geomspace(1.0, most, pairs)
