"""Gemma 4's text in float64, layer by layer: GGUF's `gemma4`.

    x = sqrt(width) embedding[token]
    per layer:  x += rms_norm(Wo attention(q, k, v), post_attention_norm)
                x += rms_norm(f, post_ffw_norm),  f = Wdown (gelu_tanh(Wgate n) * Wup n)
                x *= layer_output_scale, where there is one
    logits = cap tanh(Whead rms_norm(x, output_norm) / cap), without a cap where that is 0

q and k are normed by heads and turned by RoPE. v is rms_norm(v, 1) by heads. Scores have no scale.
Without attn_v, v is k before its norm. attention.sliding_window_pattern says which layers see a
window. Keys that end in _swa (lengths of heads and RoPE) are for these layers; the others divide
RoPE's frequencies by rope_freqs. Arrays give KV heads and FFN rows by layer. The last
attention.shared_kv_layers layers have neither k nor v. They read those of the last layer before all
of them that has the same kind: with a window, or without one.

Some layers have experts beside the FFN. The FFN's input is n = rms_norm(x, ffn_norm), the experts'
is m = rms_norm(x, pre_ffw_norm_2):

    f = rms_norm(ffn(n), post_ffw_norm_1) + rms_norm(experts(m), post_ffw_norm_2)
    router logits = W (rms_norm(x, 1) * ffn_gate_inp.scale) / sqrt(width)

Weights of experts, normed over the chosen ones, are multiplied by ffn_down_exps.scale.

Where embedding_length_per_layer_input is n, above 0, each layer l ends with, before its scale,

    x += rms_norm(Wproj (gelu_tanh(Winp_gate x) * P_l), post_norm)
    P_l = (rms_norm((Wper_layer_model_proj x0)_l / sqrt(width), per_layer_proj_norm)
           + sqrt(n) (per_layer_token_embd[token])_l) / sqrt(2)

Here x0 is the scaled embedding, and _l denotes the l-th n of all layers' elements.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

import experts
import gguf_io
import rope
from elementary import gelu_tanh, rms_norm

ARCHITECTURE = "gemma4"
DEFAULT_CAP = 30.0  # the cap of logits where the file gives none


@dataclasses.dataclass(frozen=True)
class Layer:
    kv_heads: int
    key: int  # length of a key head
    value: int
    window: int  # 0: none
    rope: rope.RopeConfig
    divided: bool  # whether rope_freqs divides its frequencies
    source: int | None  # the layer whose keys and values it reads, if not its own


@dataclasses.dataclass(frozen=True)
class Shape:
    layers: tuple[Layer, ...]
    cap: float
    per_layer: int  # elements


def source_of(layer: int, windowed: list[bool], shared: int) -> int | None:
    first = len(windowed) - shared
    if layer < first:
        return None
    return max(i for i in range(first) if windowed[i] == windowed[layer])


def read_shape(file: gguf_io.Gguf, plain: rope.RopeConfig) -> Shape | None:
    if file.get("general.architecture") != ARCHITECTURE:
        return None

    def get(key, default=None):
        return file.get(f"{ARCHITECTURE}.{key}", default)

    count = get("block_count")
    by_layer = lambda x: x if isinstance(x, list) else [x] * count  # noqa: E731
    windowed = by_layer(get("attention.sliding_window_pattern"))
    shared = get("attention.shared_kv_layers", 0)
    key, value = get("attention.key_length"), get("attention.value_length")
    local_key = get("attention.key_length_swa", key)
    local_rope = dataclasses.replace(
        plain, base=get("rope.freq_base_swa", 10000.0), scaling="none", factor=1.0,
        dimensions=get("rope.dimension_count_swa", plain.dimensions))  # fmt: skip
    layers = []
    for i, kv_heads in enumerate(by_layer(get("attention.head_count_kv"))):
        source = source_of(i, windowed, shared)
        if windowed[i]:
            local_value = get("attention.value_length_swa", value)
            layers.append(Layer(kv_heads, local_key, local_value, get("attention.sliding_window"),
                                local_rope, False, source))  # fmt: skip
        else:
            layers.append(Layer(kv_heads, key, value, 0, plain, True, source))
    per_layer = get("embedding_length_per_layer_input", 0)
    return Shape(tuple(layers), get("final_logit_softcapping", DEFAULT_CAP), per_layer)


def _heads(x: np.ndarray, length: int) -> np.ndarray:
    return x.reshape(len(x), -1, length)


def _keys_values(model, n: np.ndarray, prefix: str, of: Layer, positions, divisors):
    epsilon = model.config.epsilon
    k = _heads(model.linear(n, prefix + "attn_k"), of.key)
    if prefix + "attn_v.weight" in model.weights:
        v = _heads(model.linear(n, prefix + "attn_v"), of.value)
    else:
        v = k
    v = rms_norm(v, 1.0, epsilon)
    k = rope.rotate(model.norm(k, prefix + "attn_k_norm"), positions, of.rope, divisors)
    return model.rounded_cache(k), model.rounded_cache(v)


def _attend(model, attention, n: np.ndarray, layer: int, positions, mask_of, kept: dict):
    of, prefix = model.config.gemma4.layers[layer], f"blk.{layer}."
    divisors = model.vector("rope_freqs.weight") if of.divided else None
    q = model.norm(_heads(model.linear(n, prefix + "attn_q"), of.key), prefix + "attn_q_norm")
    q = rope.rotate(q, positions, of.rope, divisors)
    if of.source is None:
        kept[layer] = _keys_values(model, n, prefix, of, positions, divisors)
    k, v = kept[layer if of.source is None else of.source]
    out = attention(q, k, v, mask_of(of.window), scale=1.0)
    return model.linear(out.reshape(len(n), -1), prefix + "attn_output")


def _dense(model, n: np.ndarray, prefix: str) -> np.ndarray:
    gate, up = (model.linear(n, f"{prefix}ffn_{name}") for name in ("gate", "up"))
    return model.linear(gelu_tanh(gate) * up, prefix + "ffn_down")


def _beside(model, x: np.ndarray, dense: np.ndarray, prefix: str) -> np.ndarray:
    """The dense layer's result combined with that of the experts, which read the stream x."""
    read = rms_norm(x, 1.0, model.config.epsilon) * model.vector(prefix + "ffn_gate_inp.scale")
    n = model.norm(x, prefix + "pre_ffw_norm_2")
    out, choice = experts.feed_forward(model, n, prefix, read / math.sqrt(x.shape[1]))
    model.choices.append(choice)
    return model.norm(dense, prefix + "post_ffw_norm_1") + model.norm(
        out, prefix + "post_ffw_norm_2"
    )


def _of_layers(model, x: np.ndarray, tokens: list[int]) -> np.ndarray:
    """P of all layers: [layers, rows, n]."""
    n = model.config.gemma4.per_layer
    products = model.linear(x, "per_layer_model_proj") / math.sqrt(x.shape[1])
    normed = model.norm(products.reshape(len(x), -1, n), "per_layer_proj_norm")
    table = model.weights["per_layer_token_embd.weight"][tokens].reshape(normed.shape)
    return np.swapaxes((normed + math.sqrt(n) * table) / math.sqrt(2), 0, 1)


def decode(model, attention, x: np.ndarray, tokens: list[int], positions, mask_of) -> np.ndarray:
    """The output of the last norm for the tokens' scaled embeddings x."""
    parts = _of_layers(model, x, tokens) if model.config.gemma4.per_layer else None
    kept: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    for i in range(model.config.layers):
        prefix = f"blk.{i}."
        n = model.norm(x, prefix + "attn_norm")
        y = _attend(model, attention, n, i, positions, mask_of, kept)
        x = x + model.norm(y, prefix + "post_attention_norm")
        f = _dense(model, model.norm(x, prefix + "ffn_norm"), prefix)
        if prefix + "ffn_gate_inp.weight" in model.weights:
            f = _beside(model, x, f, prefix)
        x = x + model.norm(f, prefix + "post_ffw_norm")
        if parts is not None:
            gated = gelu_tanh(model.linear(x, prefix + "inp_gate")) * parts[i]
            x = x + model.norm(model.linear(gated, prefix + "proj"), prefix + "post_norm")
        scale = model.vector(prefix + "layer_output_scale.weight")
        x = x if scale is None else x * scale[0]
    return model.norm(x, "output_norm")


def capped(shape: Shape | None, logits: np.ndarray) -> np.ndarray:
    if shape is None or not shape.cap:
        return logits
    return shape.cap * np.tanh(logits / shape.cap)
