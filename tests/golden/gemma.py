"""The parts of Gemma 3 that other decoders lack (Gemma Team 2025, arXiv 2503.19786).

    x = sqrt(width) embedding[token]
    per layer:  x += rms_norm(Wo attention(q, k, v), post_attention_norm)
                x += rms_norm(Wdown (gelu_tanh(Wgate n) * Wup n), post_ffw_norm)

n, q and k are as in other decoders with norms of queries and keys. In every group of (6) layers the
last sees all positions before it and uses the file's RoPE. The others see a window and use a RoPE
base of their own, 10000, that no factor scales. Scores are multiplied by key_length^-0.5; in the
largest model, which has 62 layers, by (width / heads)^-0.5.

A norm's factor is the weight as it stands in a GGUF file. A directory holds the factor less one.
"""

from __future__ import annotations

import dataclasses

import gguf_io
import rope

ARCHITECTURE = "gemma3"
PERIOD, LOCAL_BASE, LARGEST_LAYERS = 6, 10000.0, 62
NORM_SHIFT = 1.0  # added to a directory's norms
# The values of keys that config.json omits, as those of released models do.
DEFAULTS = {
    "attention_bias": False, "attn_logit_softcapping": None, "final_logit_softcapping": None,
    "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh", "max_position_embeddings": 131072,
    "num_attention_heads": 8, "num_key_value_heads": 4, "query_pre_attn_scalar": 256,
    "rms_norm_eps": 1e-6, "rope_local_base_freq": LOCAL_BASE, "rope_scaling": None,
    "rope_theta": 1e6, "sliding_window_pattern": PERIOD, "tie_word_embeddings": True,
    "vocab_size": 262208,
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Shape:
    windowed: tuple[bool, ...]  # by layer
    local: rope.RopeConfig  # for layers with a window
    scale: float  # factor of scores


def windowed(layers: int, period: int) -> tuple[bool, ...]:
    return tuple((i + 1) % period != 0 for i in range(layers))


def local_rope(plain: rope.RopeConfig, base: float) -> rope.RopeConfig:
    return dataclasses.replace(plain, base=base, scaling="none", factor=1.0)


def read_shape(file: gguf_io.Gguf, plain: rope.RopeConfig, key_length: int) -> Shape | None:
    if file.get("general.architecture") != ARCHITECTURE:
        return None

    def get(key, default=None):
        return file.get(f"{ARCHITECTURE}.{key}", default)

    layers = get("block_count")
    period = get("attention.sliding_window_pattern", PERIOD)
    if not get("attention.sliding_window", 0):
        period = 1
    length = key_length
    if layers == LARGEST_LAYERS:
        length = get("embedding_length") / get("attention.head_count")
    local = local_rope(plain, get("rope.freq_base_swa", LOCAL_BASE))
    return Shape(windowed(layers, period), local, length**-0.5)
