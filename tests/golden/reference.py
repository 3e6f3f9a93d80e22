#!/usr/bin/env python3
"""The forward pass of a GGUF model in float64: what the engine's logits are held against.

    reference.py MODEL.gguf --tokens 1,2,3 -o out.npy    logits of all positions, [n, vocab] float64

Architectures `llama` (Llama 2 and 3, Mistral), `qwen2` and `qwen3`, and two that only tests know.
Every weight is dequantised exactly and every operation is float64, so the only errors are float64's
own. Written from the models' papers and from the meaning that GGUF gives to its keys; it shares
nothing with the engine.

    x = embedding[token]
    per layer:  x += Wo attention(rope(Wq n), rope(Wk n), Wv n),   n = rms_norm(x, attn_norm)
                x += Wdown (silu(Wgate n) * Wup n),                n = rms_norm(x, ffn_norm)
    hidden = rms_norm(x, output_norm)
    logits = Whead hidden

`test-decoder` is such a one. `test-encoder` norms what BERT norms (Devlin et al. 2019), and every
position sees all others; without the key rope.dimension_count it does not turn at all:

    x = layer_norm(embedding[token], token_embd_norm)
    per layer:  x = layer_norm(x + Wo attention(rope(Wq x), rope(Wk x), Wv x), attn_output_norm)
                x = layer_norm(x + Wdown (silu(Wgate x) * Wup x), layer_output_norm)
    hidden = x

`Noise` rounds the activations that enter a matrix product, and K and V, to a narrower type. It
models no engine: it measures how far an engine that computes so may lie from the exact logits.
"""

from __future__ import annotations

import argparse
import dataclasses

import numpy as np

import gguf_io
import quants
import rope

ENCODERS = ("test-encoder",)
LAYOUTS = {
    "llama": rope.NORM,
    "qwen2": rope.NEOX,
    "qwen3": rope.NEOX,
    "test-decoder": rope.NEOX,
    "test-encoder": rope.NEOX,
}


@dataclasses.dataclass(frozen=True)
class Noise:
    """Types that activations and the KV cache are rounded to; None leaves float64."""

    activation: quants.Type | None = None
    kv: quants.Type | None = None


@dataclasses.dataclass(frozen=True)
class Config:
    arch: str
    layers: int
    heads: int
    kv_heads: int
    key_length: int
    value_length: int
    epsilon: float
    window: int
    rope: rope.RopeConfig

    @property
    def encoder(self) -> bool:
        return self.arch in ENCODERS


def _rope_config(file: gguf_io.Gguf, arch: str, key_length: int) -> rope.RopeConfig:
    def get(key, default):
        return file.get(f"{arch}.rope.{key}", default)

    factor = get("scaling.factor", get("scale_linear", 0.0)) or 1.0
    trained = file.get(f"{arch}.context_length", 0)
    return rope.RopeConfig(
        layout=LAYOUTS[arch],
        dimensions=get("dimension_count", 0 if arch in ENCODERS else key_length),
        base=get("freq_base", 10000.0),
        scaling=get("scaling.type", "linear"),
        factor=factor,
        original_context=get("scaling.original_context_length", trained),
        attention_factor=get("scaling.attn_factor", 1.0),
        extrapolation=get("scaling.yarn_ext_factor", 1.0),
        beta_fast=get("scaling.yarn_beta_fast", 32.0),
        beta_slow=get("scaling.yarn_beta_slow", 1.0),
    )


def read_config(file: gguf_io.Gguf) -> Config:
    arch = file.get("general.architecture")
    if arch not in LAYOUTS:
        raise ValueError(f"the reference knows {', '.join(LAYOUTS)}, not {arch}")
    heads = file.get(f"{arch}.attention.head_count")
    default_length = file.get(f"{arch}.embedding_length") // heads
    key_length = file.get(f"{arch}.attention.key_length", default_length)
    epsilon = "layer_norm_epsilon" if arch in ENCODERS else "layer_norm_rms_epsilon"
    return Config(
        arch=arch,
        layers=file.get(f"{arch}.block_count"),
        heads=heads,
        kv_heads=file.get(f"{arch}.attention.head_count_kv", heads),
        key_length=key_length,
        value_length=file.get(f"{arch}.attention.value_length", default_length),
        epsilon=file.get(f"{arch}.attention.{epsilon}"),
        window=file.get(f"{arch}.attention.sliding_window", 0),
        rope=_rope_config(file, arch, key_length),
    )


def rms_norm(x: np.ndarray, weight: np.ndarray, epsilon: float) -> np.ndarray:
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + epsilon) * weight


def layer_norm(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray, epsilon: float
) -> np.ndarray:
    return rms_norm(x - np.mean(x, axis=-1, keepdims=True), weight, epsilon) + bias


def silu(x: np.ndarray) -> np.ndarray:
    """x * sigmoid(x); the sigmoid through tanh, which never overflows."""
    return x * 0.5 * (1 + np.tanh(0.5 * x))


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def visible(n: int, window: int) -> np.ndarray:
    """[query, key]: key <= query, and with a window also key > query - window."""
    query, key = np.arange(n)[:, None], np.arange(n)[None, :]
    mask = key <= query
    return mask & (key > query - window) if window else mask


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """q: [n, heads, key_length], k and v: [n, kv_heads, ...] -> [n, heads, value_length].
    Query head h reads KV head h // (heads / kv_heads); mask: [query, key], what is seen."""
    n, heads, length = q.shape
    out = np.empty((n, heads, v.shape[2]))
    for h in range(heads):
        g = h // (heads // k.shape[1])
        scores = q[:, h] @ k[:, g].T / np.sqrt(length)
        out[:, h] = softmax(np.where(mask, scores, -np.inf)) @ v[:, g]
    return out


class Model:
    def __init__(self, file: gguf_io.Gguf, noise: Noise = Noise()):
        self.config = read_config(file)
        self.noise = noise
        self.weights = {name: t.values() for name, t in file.tensors.items()}

    def vector(self, name: str) -> np.ndarray | None:
        weight = self.weights.get(name)
        return None if weight is None else weight.reshape(-1)

    def _rounded(self, x: np.ndarray, kind: quants.Type | None) -> np.ndarray:
        if kind is None:
            return x
        width = x.shape[-1]
        block = quants.block_length(kind)
        padded = np.zeros((x.size // width, -(-width // block) * block))
        padded[:, :width] = x.reshape(-1, width)
        raw = quants.quantize(kind, padded)
        return quants.dequantize(kind, raw, *padded.shape)[:, :width].reshape(x.shape)

    def linear(self, x: np.ndarray, name: str) -> np.ndarray:
        y = self._rounded(x, self.noise.activation) @ self.weights[name + ".weight"].T
        bias = self.vector(name + ".bias")
        return y if bias is None else y + bias

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        weight = self.vector(name + ".weight")
        if self.config.encoder:
            return layer_norm(x, weight, self.vector(name + ".bias"), self.config.epsilon)
        return rms_norm(x, weight, self.config.epsilon)

    def _attend(self, x: np.ndarray, prefix: str) -> np.ndarray:
        c, n = self.config, len(x)
        q = self.linear(x, prefix + "attn_q").reshape(n, c.heads, c.key_length)
        k = self.linear(x, prefix + "attn_k").reshape(n, c.kv_heads, c.key_length)
        v = self.linear(x, prefix + "attn_v").reshape(n, c.kv_heads, c.value_length)
        if c.arch == "qwen3":
            q = self.norm(q, prefix + "attn_q_norm")
            k = self.norm(k, prefix + "attn_k_norm")
        positions = np.arange(n)
        divisors = self.vector("rope_freqs.weight") if c.arch == "llama" else None
        q = rope.rotate(q, positions, c.rope, divisors)
        k = rope.rotate(k, positions, c.rope, divisors)
        k, v = self._rounded(k, self.noise.kv), self._rounded(v, self.noise.kv)
        mask = np.full((n, n), True) if c.encoder else visible(n, c.window)
        out = attention(q, k, v, mask).reshape(n, -1)
        return self.linear(out, prefix + "attn_output")

    def _feed_forward(self, x: np.ndarray, prefix: str) -> np.ndarray:
        gate = self.linear(x, prefix + "ffn_gate")
        up = self.linear(x, prefix + "ffn_up")
        return self.linear(silu(gate) * up, prefix + "ffn_down")

    def _decode(self, x: np.ndarray) -> np.ndarray:
        for i in range(self.config.layers):
            prefix = f"blk.{i}."
            x = x + self._attend(self.norm(x, prefix + "attn_norm"), prefix)
            x = x + self._feed_forward(self.norm(x, prefix + "ffn_norm"), prefix)
        return self.norm(x, "output_norm")

    def _encode(self, x: np.ndarray) -> np.ndarray:
        x = self.norm(x, "token_embd_norm")
        for i in range(self.config.layers):
            prefix = f"blk.{i}."
            x = self.norm(x + self._attend(x, prefix), prefix + "attn_output_norm")
            x = self.norm(x + self._feed_forward(x, prefix), prefix + "layer_output_norm")
        return x

    def hidden(self, tokens: list[int]) -> np.ndarray:
        """Row i: what the head reads at position i of the text; [len(tokens), embedding]."""
        x = self.weights["token_embd.weight"][tokens]
        return self._encode(x) if self.config.encoder else self._decode(x)

    def logits(self, tokens: list[int]) -> np.ndarray:
        """Row i: the logits after tokens[0] .. tokens[i]; [len(tokens), vocab]."""
        head = "output" if "output.weight" in self.weights else "token_embd"
        return self.linear(self.hidden(tokens), head)


def main() -> None:
    parser = argparse.ArgumentParser(description="Logits of a GGUF model in float64.")
    parser.add_argument("model")
    parser.add_argument("--tokens", required=True, help="token ids, separated by commas")
    parser.add_argument("-o", "--out", help="where the [n, vocab] float64 array goes, .npy")
    options = parser.parse_args()
    tokens = [int(t) for t in options.tokens.replace(",", " ").split()]
    logits = Model(gguf_io.read(options.model)).logits(tokens)
    if options.out:
        np.save(options.out, logits)
    for token in np.argsort(-logits[-1], kind="stable")[:5]:
        print(f"{token:8d} {logits[-1, token]:10.4f}")


if __name__ == "__main__":
    main()
