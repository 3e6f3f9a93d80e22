"""Layers of a gated delta rule (Yang, Kautz and Hatamizadeh 2024, arXiv 2412.06464), and the other
parts of Qwen3-Next, Qwen3.5 and their successors.

The last of every `interval` layers has attention. There each query head has a gate after it: the
head's output is multiplied by the gate's sigmoid. The other layers keep a state instead:

    c = silu(y),  y_t = sum over j < K of w[:, j] x_{t - K + 1 + j},   x = Wqkv n
    q, k: c's rows of a key head, divided by max(2-norm, epsilon);  v: those of a value head
    b = sigmoid(Wb n),  g = a softplus(Wa n + dt),  z = Wz n
    S = e^g S;  e = b (v - S^T k);  S = S + k e^T;  o = S^T q / sqrt(length)
    y = Wo (rms_norm(o, ssm_norm) silu(z))

Value head j belongs to key head j mod (key heads) in `qwen35` and `qwen35moe`. In `qwen3next` it
belongs to key head j div (value heads / key heads), and ssm_ba has, for every key head, the rows of
b and then those of a. A shared expert is weighed by sigmoid(w n).
"""

from __future__ import annotations

import dataclasses

import numpy as np

import gguf_io
from elementary import rms_norm, silu

DEALT, BESIDE = ("qwen35", "qwen35moe"), ("qwen3next",)
ARCHITECTURES = DEALT + BESIDE


@dataclasses.dataclass(frozen=True)
class Shape:
    keys: int
    values: int
    length: int
    taps: int
    dealt: bool
    full: tuple[bool, ...]  # by layer: whether it has attention

    def key_head(self, value_head: int) -> int:
        if self.dealt:
            return value_head % self.keys
        return value_head // (self.values // self.keys)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(0.5 * x))


def full_layers(layers: int, interval: int) -> tuple[bool, ...]:
    return tuple((i + 1) % interval == 0 for i in range(layers))


def read_shape(file: gguf_io.Gguf) -> Shape | None:
    arch = file.get("general.architecture")
    if arch not in ARCHITECTURES:
        return None

    def get(key, default=None):
        return file.get(f"{arch}.{key}", default)

    full = full_layers(get("block_count"), get("full_attention_interval", 4))
    recurrent = get("attention.recurrent_layers")
    if recurrent is not None:
        full = tuple(not r for r in recurrent)
    values, length = get("ssm.time_step_rank"), get("ssm.state_size")
    if get("ssm.inner_size") != values * length:
        raise ValueError("ssm.inner_size is that of all value heads")
    return Shape(get("ssm.group_count"), values, length, get("ssm.conv_kernel"), arch in DEALT,
                 full)  # fmt: skip


def _before(t: int, shared: int, count: int) -> list[int]:
    """The rows that row t sees before it, at most `count`. Rows from `shared` on see only rows
    before `shared`."""
    end = min(t, shared)
    return list(range(max(0, end - count), end))


def convolve(x: np.ndarray, w: np.ndarray, shared: int) -> np.ndarray:
    """The convolution and silu. x: [n, channels]; w: [channels, K]."""
    return silu(mix(x, w, shared))


def mix(x: np.ndarray, w: np.ndarray, shared: int) -> np.ndarray:
    out = np.zeros_like(x)
    for t in range(len(x)):
        seen = [*_before(t, shared, w.shape[1] - 1), t]
        for back, row in enumerate(reversed(seen)):
            out[t] += w[:, w.shape[1] - 1 - back] * x[row]
    return out


def delta_rule(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, g: np.ndarray, b: np.ndarray, shared: int
) -> np.ndarray:
    """The output of one value head; q, k, v are [n, length], g and b [n]."""
    s, out = np.zeros((k.shape[1], v.shape[1])), np.zeros_like(v)
    for t in range(len(k)):
        now = np.exp(g[t]) * s
        now = now + np.outer(k[t], b[t] * (v[t] - now.T @ k[t]))
        out[t] = now.T @ q[t] / np.sqrt(k.shape[1])
        if t < shared:
            s = now
    return out


def _gates(model, x: np.ndarray, prefix: str, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """(alpha, beta) of every value head: [n, values]."""
    if prefix + "ssm_alpha.weight" in model.weights:
        return model.linear(x, prefix + "ssm_alpha"), model.linear(x, prefix + "ssm_beta")
    both = model.linear(x, prefix + "ssm_ba").reshape(len(x), shape.keys, 2, -1)
    return both[:, :, 1].reshape(len(x), -1), both[:, :, 0].reshape(len(x), -1)


def attend(model, x: np.ndarray, prefix: str) -> np.ndarray:
    shape, n = model.config.hybrid, len(x)
    shared = n if model.alternatives == 1 else n - model.alternatives
    taps = model.weights[prefix + "ssm_conv1d.weight"]
    mixed = convolve(model.linear(x, prefix + "attn_qkv"), taps, shared)
    heads = mixed.reshape(n, -1, shape.length)
    norms = np.linalg.norm(heads, axis=2, keepdims=True)
    unit = heads / np.maximum(norms, model.config.epsilon)
    q, k = unit[:, : shape.keys], unit[:, shape.keys : 2 * shape.keys]
    v, z = heads[:, 2 * shape.keys :], model.linear(x, prefix + "attn_gate")
    alpha, beta = _gates(model, x, prefix, shape)
    rate, bias = model.vector(prefix + "ssm_a"), model.vector(prefix + "ssm_dt.bias")
    g, b = rate * np.logaddexp(0, alpha + bias), sigmoid(beta)
    out = np.empty_like(v)
    for j in range(shape.values):
        h = shape.key_head(j)
        out[:, j] = delta_rule(q[:, h], k[:, h], v[:, j], g[:, j], b[:, j], shared)
    normed = rms_norm(out, model.vector(prefix + "ssm_norm.weight"), model.config.epsilon)
    return model.linear(normed.reshape(n, -1) * silu(z), prefix + "ssm_out")
