"""The parts of gpt-oss that other decoders lack (OpenAI 2025, arXiv 2508.10925).

    layers 0, 2, 4, ...   see a window, the others all positions before them; RoPE is the same
    attention             weights = softmax of a head's scores and its sink (attn_sinks.weight);
                          the sink's own weight has no value
    router                logits have a bias; weights are the softmax of the chosen logits
    experts               gate, up and down have biases; with g = min(gate, 7) and u = up between
                          -7 and 7: Wdown (g sigmoid(1.702 g) (u + 1)) + bias

In a directory, gate and up of all experts are one tensor, [experts, 2 ffn, embedding] of MXFP4,
with gates in even rows and ups in odd ones. A block of 32 columns has 16 bytes, column 2 j in the
low half of byte j, and an exponent.
"""

from __future__ import annotations

import numpy as np

import hf_layouts
import safetensors_io
from elementary import softmax

ARCHITECTURE = "gpt-oss"
LIMIT, ALPHA = 7.0, 1.702
PERIOD = 2
# The values of keys that config.json omits.
DEFAULTS = {
    "attention_bias": True, "head_dim": 64, "num_key_value_heads": 8, "rope_theta": 150000.0,
    "sliding_window": 128, "swiglu_limit": LIMIT, "tie_word_embeddings": False,
}  # fmt: skip


def windowed(layer: int) -> bool:
    return layer % PERIOD == 0


def swiglu(gate: np.ndarray, up: np.ndarray) -> np.ndarray:
    g, u = np.minimum(gate, LIMIT), np.clip(up, -LIMIT, LIMIT)
    return g * 0.5 * (1 + np.tanh(0.5 * ALPHA * g)) * (u + 1)


def weights_beside(scores: np.ndarray, sink: float) -> np.ndarray:
    """The softmax of each row with a sink after it; the sink's weight is left out."""
    column = np.full((len(scores), 1), sink)
    return softmax(np.concatenate([scores, column], axis=1))[:, :-1]


def interleaved(gate: np.ndarray, up: np.ndarray) -> np.ndarray:
    """[experts, ffn, ...] of gates and ups, interleaved as in a directory."""
    return np.stack([gate, up], axis=2).reshape(len(gate), -1, *gate.shape[2:])


def blocks(values: np.ndarray) -> dict[str, safetensors_io.Stored]:
    """The MXFP4 parts, by the ends of their names, of [experts, rows, columns] that MXFP4 holds
    exactly."""
    pairs, exponents = hf_layouts.mxfp4_pairs(values.reshape(-1, values.shape[2]))
    pairs = pairs.reshape(*values.shape[:2], -1, hf_layouts.MX_GROUP // 2)
    return {
        "_blocks": safetensors_io.Stored("U8", pairs.shape, pairs.astype(np.uint8).tobytes()),
        "_scales": safetensors_io.Stored(
            "U8", pairs.shape[:3], (exponents + 127).astype(np.uint8).tobytes()
        ),
    }


def block_values(stored: dict[str, safetensors_io.Stored], name: str) -> np.ndarray:
    """[experts, rows, columns] of such parts, decoded independently."""
    pairs, scales = (
        np.frombuffer(t.data, np.uint8).reshape(t.shape).astype(np.int64)
        for t in (stored[name + "_blocks"], stored[name + "_scales"])
    )
    codes = np.empty((*pairs.shape[:-1], 2 * pairs.shape[-1]), np.int64)
    codes[..., 0::2], codes[..., 1::2] = pairs % 16, pairs // 16
    signs = np.where(codes >= 8, -1.0, 1.0)
    values = signs * hf_layouts.E2M1[codes % 8] * 2.0 ** (scales[..., None] - 127)
    return values.reshape(*values.shape[:2], -1)
