"""Norms and activations in float64."""

from __future__ import annotations

import math

import numpy as np


def rms_norm(x: np.ndarray, weight: np.ndarray, epsilon: float) -> np.ndarray:
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + epsilon) * weight


def layer_norm(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | float, epsilon: float
) -> np.ndarray:
    return rms_norm(x - np.mean(x, axis=-1, keepdims=True), weight, epsilon) + bias


def silu(x: np.ndarray) -> np.ndarray:
    """x * sigmoid(x); the sigmoid through tanh, which never overflows."""
    return x * 0.5 * (1 + np.tanh(0.5 * x))


def _erf(x: np.ndarray) -> np.ndarray:
    return np.fromiter(map(math.erf, x.ravel().tolist()), np.float64, x.size).reshape(x.shape)


def gelu(x: np.ndarray) -> np.ndarray:
    """x times the normal distribution's probability of less than x (Hendrycks, Gimpel 2016)."""
    return x * 0.5 * (1 + _erf(x / math.sqrt(2)))


def gelu_tanh(x: np.ndarray) -> np.ndarray:
    """The tanh approximation of gelu from the same paper, with which Gemma is trained."""
    return x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
