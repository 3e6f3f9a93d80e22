"""Multi-head latent attention in float64 (DeepSeek-V2, arXiv 2405.04434, section 2.1).

    latent, kr = split(Wkv_a x);  latent = rms_norm(latent);  kr = rope(kr)     one for all heads
    q = Wq x, or Wq_b rms_norm(Wq_a x);  per head  qn, qr = split(q);  qr = rope(qr)
    per head    k = K latent, v = V latent
                score = (qn . k + qr . kr) / sqrt(length of q)
                out = softmax(scores) v

A file holds V as attn_v_b, [heads, value, latent], and K as attn_k_b, transposed: [heads, latent,
nope]. So the absorbed form reads both along their rows. This file computes that form:

    qn . K latent = (K^T qn) . latent           sum of p V latent = V (sum of p latent)

The cache holds latent and kr as one row. RoPE turns neighbouring values. Where the file has
rope.scaling.yarn_log_multiplier, m, YaRN's growth of cosines is undone. Instead all scores grow by
(1 + m ln(factor))^2. m is a tenth of config.json's mscale_all_dim, which equals mscale.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

import gguf_io
import rope
from elementary import rms_norm, softmax


@dataclasses.dataclass(frozen=True)
class Shape:
    latent: int
    nope: int
    rope: int
    value: int
    scale: float  # factor of scores


def log_multiplier(file: gguf_io.Gguf) -> float:
    arch = file.get("general.architecture")
    yarn = file.get(f"{arch}.rope.scaling.type") == "yarn"
    return file.get(f"{arch}.rope.scaling.yarn_log_multiplier", 0.0) if yarn else 0.0


def read_shape(file: gguf_io.Gguf) -> Shape | None:
    arch = file.get("general.architecture")
    if arch != "deepseek2":
        return None
    length = file.get(f"{arch}.attention.key_length_mla")
    turned = file.get(f"{arch}.rope.dimension_count")
    grown = 1 + log_multiplier(file) * math.log(file.get(f"{arch}.rope.scaling.factor", 1.0))
    return Shape(
        latent=file.get(f"{arch}.attention.kv_lora_rank"),
        nope=length - turned,
        rope=turned,
        value=file.get(f"{arch}.attention.value_length_mla"),
        scale=grown**2 / math.sqrt(length),
    )


def without_growth(config: rope.RopeConfig) -> rope.RopeConfig:
    """The same angles, with cosines that grow only by the file's own factor."""
    plain = dataclasses.replace(config, attention_factor=1.0)
    factor = config.attention_factor / rope.magnitude(plain)
    return dataclasses.replace(config, attention_factor=factor)


def queries(model, x: np.ndarray, prefix: str) -> tuple[np.ndarray, np.ndarray]:
    """By head, the part that meets the latent, not yet absorbed, and the part that RoPE turns, not
    yet turned."""
    if prefix + "attn_q_a.weight" in model.weights:
        low = model.norm(model.linear(x, prefix + "attn_q_a"), prefix + "attn_q_a_norm")
        q = model.linear(low, prefix + "attn_q_b")
    else:
        q = model.linear(x, prefix + "attn_q")
    shape = model.config.mla
    q = q.reshape(len(x), model.config.heads, shape.nope + shape.rope)
    return q[:, :, : shape.nope], q[:, :, shape.nope :]


def cached(model, x: np.ndarray, prefix: str) -> tuple[np.ndarray, np.ndarray]:
    """The latent, normed, and the keys of the turned part, not yet turned; one row a token."""
    both = model.linear(x, prefix + "attn_kv_a_mqa")
    latent, key = np.split(both, [model.config.mla.latent], axis=1)
    weight = model.vector(prefix + "attn_kv_a_norm.weight")
    return rms_norm(latent, weight, model.config.epsilon), key


def attend(model, x: np.ndarray, prefix: str, positions: np.ndarray, mask: np.ndarray):
    """x: [n, embedding], normed -> [n, heads * value], the output matrix's input."""
    config, shape = model.config, model.config.mla
    qn, qr = queries(model, x, prefix)
    latent, kr = cached(model, x, prefix)
    qr = rope.rotate(qr, positions, config.rope)
    kr = rope.rotate(kr[:, None, :], positions, config.rope)[:, 0]
    row = model.rounded_cache(np.concatenate([latent, kr], axis=1))
    latent, kr = np.split(row, [shape.latent], axis=1)
    k_b = model.weights[prefix + "attn_k_b.weight"].reshape(config.heads, shape.latent, shape.nope)
    v_b = model.weights[prefix + "attn_v_b.weight"].reshape(config.heads, shape.value, shape.latent)
    qn, out = model.rounded_activations(qn), np.empty((len(x), config.heads, shape.value))
    for h in range(config.heads):
        scores = (qn[:, h] @ k_b[h].T) @ latent.T + qr[:, h] @ kr.T
        mixed = softmax(np.where(mask, scores * shape.scale, -np.inf)) @ latent
        out[:, h] = model.rounded_activations(mixed) @ v_b[h].T
    return out.reshape(len(x), -1)
