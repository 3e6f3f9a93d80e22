#!/usr/bin/env python3
"""The forward pass of a GGUF model in float64, with which the engine's logits are compared.

    reference.py MODEL.gguf --tokens 1,2,3 -o out.npy    logits of all positions, [n, vocab] float64

Architectures `llama` (Llama 2 and 3, Mistral, Mixtral), `qwen2`, `qwen3`, `qwen3moe`, `glm4moe`,
`deepseek2` (DeepSeek V2 and V3, Kimi K2), `gemma3`, `gemma4`, `gpt-oss`, `minimax-m2`, `mistral3`,
`phi3`, `seed_oss`, `lfm2`, `lfm2moe`, `qwen35`, `qwen35moe` and `qwen3next`, the encoders `bert`,
`nomic-bert` and `jina-bert-v2`, and two that only tests know. Every weight is dequantised exactly
and every operation is float64, so the only errors are float64's own. The file is written from the
models' papers and from GGUF's definition of its keys. It shares no code with the engine.

    x = embedding[token]
    per layer:  x += Wo attention(rope(Wq n), rope(Wk n), Wv n),   n = rms_norm(x, attn_norm)
                x += Wdown (silu(Wgate n) * Wup n),                n = rms_norm(x, ffn_norm)
    hidden = rms_norm(x, output_norm)
    logits = Whead hidden

`test-decoder` is computed like this. Queries and keys are normed where the file has the norms.
Layers with experts have the computation of experts.py in place of the FFN. `glm4moe`, `gpt-oss` and
`seed_oss` call the norm before it post_attention_norm. Differences of architectures are in
gptoss.py for `gpt-oss`, gemma.py for `gemma3`, gemma4.py for `gemma4`, lfm.py for `lfm2` and
`lfm2moe`, hybrid.py for the last three, and mla.py for attention of `deepseek2`. `minimax-m2` norms
queries of all heads together, and keys too. `mistral3` multiplies queries at position p by 1 + s
ln(floor(p / original context) + 1).

Encoders have BERT's norms (Devlin et al. 2019), and every position sees all others. The latter also
holds in decoders whose key attention.causal is false:

    x = layer_norm(embedding[token] + position[i] + type[0], token_embd_norm)
    per layer:  x = layer_norm(x + Wo attention(q, k, v) + bo, attn_output_norm)
                x = layer_norm(x + Wdown act(x) + bdown, layer_output_norm)
    hidden = x

    bert          q, k, v = W x + b; positions from a table; act(x) = gelu(Wup x + bup)
    nomic-bert    as bert without that table: RoPE; act(x) = silu(Wgate x) * Wup x
    jina-bert-v2  as bert without that table: ALiBi; act(x) = gelu(Wgate x) * Wup x, or bert's.
                  For code: q = layer_norm(Wq x + bq, attn_q_norm) over all heads together, k alike,
                  and a second norm, x' = layer_norm(x' + x, attn_norm_2), after attention's
    test-encoder  RoPE, or nothing without the key rope.dimension_count; act as nomic-bert's

Q, K and V may be stored above each other in one tensor, attn_qkv. jina's gate may be stored above
its up in ffn_up, which then has twice feed_forward_length rows.

`Noise` rounds the inputs of matrix products, and K and V, to a narrower type. It models no
particular engine: it measures how far an engine with such rounding may be from the exact logits.
"""

from __future__ import annotations

import argparse
import dataclasses
import math

import numpy as np

import experts
import gemma
import gemma4
import gguf_io
import gptoss
import hybrid
import lfm
import mla
import quants
import rope
from elementary import gelu, gelu_tanh, layer_norm, rms_norm, silu, softmax

# The context that engines run the golden models with.
RUN_CONTEXT = 1024
ENCODERS = ("bert", "nomic-bert", "jina-bert-v2", "test-encoder")
# Architectures whose norm before the FFN is called post_attention_norm.
SECOND_NORM = ("glm4moe", "seed_oss", gptoss.ARCHITECTURE)
LAYOUTS = {
    "llama": rope.NORM,
    "qwen2": rope.NEOX,
    "qwen3": rope.NEOX,
    "qwen3moe": rope.NEOX,
    "glm4moe": rope.NEOX,
    "deepseek2": rope.NORM,
    "minimax-m2": rope.NEOX,
    "mistral3": rope.NORM,
    "phi3": rope.NEOX,
    "seed_oss": rope.NEOX,
    gemma.ARCHITECTURE: rope.NEOX,
    gemma4.ARCHITECTURE: rope.NEOX,
    gptoss.ARCHITECTURE: rope.NEOX,
    **dict.fromkeys(hybrid.ARCHITECTURES, rope.NEOX),
    **dict.fromkeys(lfm.ARCHITECTURES, rope.NEOX),
    "bert": rope.NEOX,
    "nomic-bert": rope.NEOX,
    "jina-bert-v2": rope.NEOX,
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
    ffn: int
    causal: bool
    alibi: tuple[float, ...]  # slopes by head; (): none
    experts: experts.Routing | None
    mla: mla.Shape | None
    gemma: gemma.Shape | None
    gemma4: gemma4.Shape | None = None
    hybrid: hybrid.Shape | None = None
    attending: tuple[bool, ...] = ()  # whether each layer of lfm2 has attention; (): all have
    temperature: float = 0.0  # the growth of queries, and the positions over which it happens
    span: int = 0

    @property
    def encoder(self) -> bool:
        return self.arch in ENCODERS


def alibi_slopes(heads: int, most: float) -> tuple[float, ...]:
    """Press et al. 2022: if n, the number of heads, is a power of two, head h has 2^(-most (h + 1)
    / n), where `most` is 8. Other numbers of heads take the slopes of the largest power of two
    below, and then every second slope of twice that number."""
    even = 2 ** int(math.log2(heads))

    def slope(h: int, n: int) -> float:
        return 2.0 ** (-most * (h + 1) / n)

    first = [slope(h, even) for h in range(even)]
    return tuple(first + [slope(2 * h, 2 * even) for h in range(heads - even)])


def _rope_dimensions(get, arch: str, key_length: int) -> int:
    if arch in ("bert", "jina-bert-v2"):
        return 0
    return get("dimension_count", 0 if arch == "test-encoder" else key_length)


def _rope_config(file: gguf_io.Gguf, arch: str, key_length: int) -> rope.RopeConfig:
    def get(key, default):
        return file.get(f"{arch}.rope.{key}", default)

    factor = get("scaling.factor", get("scale_linear", 0.0)) or 1.0
    trained = file.get(f"{arch}.context_length", 0)
    config = rope.RopeConfig(
        layout=LAYOUTS[arch],
        dimensions=_rope_dimensions(get, arch, key_length),
        base=get("freq_base", 10000.0),
        scaling=get("scaling.type", "linear"),
        factor=factor,
        original_context=get("scaling.original_context_length", trained),
        attention_factor=get("scaling.attn_factor", 1.0),
        extrapolation=get("scaling.yarn_ext_factor", 1.0),
        beta_fast=get("scaling.yarn_beta_fast", 32.0),
        beta_slow=get("scaling.yarn_beta_slow", 1.0),
        whole_pairs=get("scaling.yarn_truncate", True),
    )
    multiplier = mla.log_multiplier(file)
    if multiplier and arch == "mistral3":
        # Scores of all dimensions already grow by `grown`, so sines and cosines keep only the rest.
        grown = 1 + 0.1 * multiplier * math.log(config.factor)
        return dataclasses.replace(config, attention_factor=config.attention_factor / grown)
    return mla.without_growth(config) if multiplier else config


def read_config(file: gguf_io.Gguf) -> Config:
    arch = file.get("general.architecture")
    if arch not in LAYOUTS:
        raise ValueError(f"the reference knows {', '.join(LAYOUTS)}, not {arch}")
    heads = file.get(f"{arch}.attention.head_count")
    default_length = file.get(f"{arch}.embedding_length") // heads
    key_length = file.get(f"{arch}.attention.key_length", default_length)
    epsilon = "layer_norm_epsilon" if arch in ENCODERS else "layer_norm_rms_epsilon"
    alibi = arch == "jina-bert-v2"
    plain_rope = _rope_config(file, arch, key_length)
    kv_heads = file.get(f"{arch}.attention.head_count_kv", heads)
    return Config(
        arch=arch,
        layers=file.get(f"{arch}.block_count") - file.get(f"{arch}.nextn_predict_layers", 0),
        heads=heads,
        kv_heads=max(kv_heads) if isinstance(kv_heads, list) else kv_heads,
        key_length=key_length,
        value_length=file.get(f"{arch}.attention.value_length", default_length),
        epsilon=file.get(f"{arch}.attention.{epsilon}"),
        window=file.get(f"{arch}.attention.sliding_window", 0),
        rope=plain_rope,
        ffn=file.get(f"{arch}.feed_forward_length"),
        causal=file.get(f"{arch}.attention.causal", arch not in ENCODERS),
        alibi=alibi_slopes(heads, file.get(f"{arch}.attention.max_alibi_bias", 8.0)) * alibi,
        experts=experts.read_routing(file),
        mla=mla.read_shape(file),
        gemma=gemma.read_shape(file, plain_rope, key_length),
        gemma4=gemma4.read_shape(file, plain_rope),
        hybrid=hybrid.read_shape(file),
        attending=lfm.attending(file),
        temperature=file.get(f"{arch}.attention.temperature_scale", 0.0),
        span=file.get(f"{arch}.rope.scaling.original_context_length", 0),
    )


def positions_of(n: int, alternatives: int) -> np.ndarray:
    return np.minimum(np.arange(n), n - alternatives)


def visible(n: int, window: int, alternatives: int = 1) -> np.ndarray:
    """[query, key]: key <= query, and with a window also key > query - window. The last
    `alternatives` tokens are alternatives for one position, and do not see each other."""
    positions = positions_of(n, alternatives)
    query, key = positions[:, None], positions[None, :]
    mask = (key < query) | np.eye(n, dtype=bool)
    return mask & (key > query - window) if window else mask


def attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray, slopes: tuple[float, ...] = (),
    scale: float | None = None, sinks: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """q: [n, heads, key_length], k and v: [n, kv_heads, ...] -> [n, heads, value_length]. Query
    head h reads KV head h // (heads / kv_heads). mask: [query, key], true where visible. A score of
    head h loses slopes[h] for every position between query and key (ALiBi). A scale of None is
    key_length^-0.5. Sinks are one score a head, without a value."""
    n, heads, length = q.shape
    divisor = np.sqrt(length) if scale is None else 1 / scale
    out = np.empty((n, heads, v.shape[2]))
    distance = np.abs(np.arange(n)[:, None] - np.arange(n)[None, :])
    for h in range(heads):
        g = h // (heads // k.shape[1])
        scores = q[:, h] @ k[:, g].T / divisor
        if slopes:
            scores = scores - slopes[h] * distance
        seen = np.where(mask, scores, -np.inf)
        weights = softmax(seen) if sinks is None else gptoss.weights_beside(seen, sinks[h])
        out[:, h] = weights @ v[:, g]
    return out


class Model:
    def __init__(self, file: gguf_io.Gguf, noise: Noise = Noise()):
        self.begin(read_config(file), file.values(), noise)

    def begin(self, config: Config, weights: dict[str, np.ndarray], noise: Noise) -> None:
        """`weights`: by GGUF's names; matrices of experts and heads are stacked, above each other
        or by an axis."""
        self.config, self.weights, self.noise = config, weights, noise
        self.alternatives = 1  # this many tokens at a text's end stand for one position
        self.choices: list[experts.Choice] = []  # of the last text's layers with experts

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

    def rounded_activations(self, x: np.ndarray) -> np.ndarray:
        return self._rounded(x, self.noise.activation)

    def rounded_cache(self, x: np.ndarray) -> np.ndarray:
        return self._rounded(x, self.noise.kv)

    def experts_of(self, name: str) -> np.ndarray | None:
        """The matrices of all experts, [experts, rows, columns]."""
        weight = self.weights.get(name + ".weight")
        if weight is None:
            return None
        return weight.reshape(self.config.experts.count, -1, weight.shape[-1])

    def linear(self, x: np.ndarray, name: str) -> np.ndarray:
        y = self.rounded_activations(x) @ self.weights[name + ".weight"].T
        bias = self.vector(name + ".bias")
        return y if bias is None else y + bias

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        weight = self.vector(name + ".weight")
        if self.config.encoder:
            bias = self.vector(name + ".bias")
            return layer_norm(x, weight, 0.0 if bias is None else bias, self.config.epsilon)
        return rms_norm(x, weight, self.config.epsilon)

    def _queries_keys_values(self, x: np.ndarray, prefix: str) -> list[np.ndarray]:
        c, n = self.config, len(x)
        widths = (c.heads * c.key_length, c.kv_heads * c.key_length, c.kv_heads * c.value_length)
        if prefix + "attn_qkv.weight" in self.weights:
            fused = self.linear(x, prefix + "attn_qkv")
            parts = np.split(fused, np.cumsum(widths)[:2], axis=1)
        else:
            parts = [self.linear(x, prefix + name) for name in ("attn_q", "attn_k", "attn_v")]
        if self.norms_whole_rows and prefix + "attn_q_norm.weight" in self.weights:
            parts[0] = self.norm(parts[0], prefix + "attn_q_norm")
            parts[1] = self.norm(parts[1], prefix + "attn_k_norm")
        lengths = (c.key_length, c.key_length, c.value_length)
        if c.hybrid:
            halves = parts[0].reshape(n, c.heads, 2, c.key_length)
            parts[0], self.gates = halves[:, :, 0], halves[:, :, 1]
        return [part.reshape(n, -1, length) for part, length in zip(parts, lengths)]

    @property
    def norms_whole_rows(self) -> bool:
        """Whether a norm of queries or keys covers all heads of a row together."""
        return self.config.encoder or self.config.arch == "minimax-m2"

    def _divisors(self) -> np.ndarray | None:
        """The divisors of RoPE's frequencies. LongRoPE has two sets, one for contexts beyond the
        original."""
        if self.config.arch == "phi3":
            long = RUN_CONTEXT > self.config.span
            return self.vector(f"rope_factors_{'long' if long else 'short'}.weight")
        return self.vector("rope_freqs.weight") if self.config.arch == "llama" else None

    def _mask(self, n: int, window: int) -> np.ndarray:
        if self.config.causal:
            return visible(n, window, self.alternatives)
        return np.full((n, n), True)

    def _attend(self, x: np.ndarray, layer: int) -> np.ndarray:
        c, n, prefix = self.config, len(x), f"blk.{layer}."
        if c.hybrid and not c.hybrid.full[layer]:
            return hybrid.attend(self, x, prefix)
        if c.attending and not c.attending[layer]:
            return lfm.attend(self, x, prefix)
        positions = positions_of(n, self.alternatives)
        window, turn, scale = c.window, c.rope, None
        if c.gemma:
            window, turn = (c.window, c.gemma.local) if c.gemma.windowed[layer] else (0, c.rope)
            scale = c.gemma.scale
        if c.arch == gptoss.ARCHITECTURE:
            window = c.window if gptoss.windowed(layer) else 0
        mask = self._mask(n, window)
        if c.mla:
            out = mla.attend(self, x, prefix, positions, mask)
            return self.linear(out, prefix + "attn_output")
        q, k, v = self._queries_keys_values(x, prefix)
        if not self.norms_whole_rows and prefix + "attn_q_norm.weight" in self.weights:
            q = self.norm(q, prefix + "attn_q_norm")
            k = self.norm(k, prefix + "attn_k_norm")
        divisors = self._divisors()
        q = rope.rotate(q, positions, turn, divisors)
        k = rope.rotate(k, positions, turn, divisors)
        if c.temperature:
            growth = 1 + c.temperature * np.log(positions // c.span + 1)
            q = q * growth[:, None, None]
        k, v = self.rounded_cache(k), self.rounded_cache(v)
        sinks = self.vector(prefix + "attn_sinks.weight")
        out = attention(q, k, v, mask, c.alibi, scale, sinks)
        if c.hybrid:
            out = out * hybrid.sigmoid(self.gates)
        out = out.reshape(n, -1)
        return self.linear(out, prefix + "attn_output")

    def _gated(self, x: np.ndarray, prefix: str, end: str = "") -> np.ndarray:
        gate, up = (self.linear(x, f"{prefix}ffn_{name}{end}") for name in ("gate", "up"))
        return self.linear(silu(gate) * up, f"{prefix}ffn_down{end}")

    def _experts(self, x: np.ndarray, prefix: str) -> np.ndarray:
        out, choice = experts.feed_forward(self, x, prefix)
        self.choices.append(choice)
        if prefix + "ffn_up_shexp.weight" in self.weights:
            shared = self._gated(x, prefix, "_shexp")
            gate = self.vector(prefix + "ffn_gate_inp_shexp.weight")
            weight = 1 if gate is None else hybrid.sigmoid(x @ gate)[:, None]
            out = out + weight * shared
        return out

    def _feed_forward(self, x: np.ndarray, prefix: str) -> np.ndarray:
        act = gelu if self.config.arch in ("bert", "jina-bert-v2") else silu
        act = gelu_tanh if self.config.gemma else act
        up = self.linear(x, prefix + "ffn_up")
        if prefix + "ffn_gate.weight" in self.weights:
            hidden = act(self.linear(x, prefix + "ffn_gate")) * up
        elif up.shape[1] == 2 * self.config.ffn:
            gate, up = np.split(up, 2, axis=1)
            hidden = act(gate) * up
        else:
            hidden = act(up)
        return self.linear(hidden, prefix + "ffn_down")

    def _decode(self, x: np.ndarray, tokens: list[int]) -> np.ndarray:
        c, self.choices = self.config, []
        if c.gemma4:
            positions = positions_of(len(x), self.alternatives)
            mask = lambda window: self._mask(len(x), window)  # noqa: E731
            return gemma4.decode(self, attention, x, tokens, positions, mask)
        later = c.hybrid or c.arch in SECOND_NORM
        ffn_norm = "post_attention_norm" if later else "ffn_norm"

        def behind(y: np.ndarray, name: str) -> np.ndarray:
            return self.norm(y, name) if c.gemma else y

        for i in range(c.layers):
            prefix = f"blk.{i}."
            y = self._attend(self.norm(x, prefix + "attn_norm"), i)
            x = x + behind(y, prefix + "post_attention_norm")
            n = self.norm(x, prefix + ffn_norm)
            with_experts = c.experts is not None and i >= c.experts.dense
            y = (self._experts if with_experts else self._feed_forward)(n, prefix)
            x = x + behind(y, prefix + "post_ffw_norm")
        return self.norm(x, lfm.LAST_NORM if c.arch in lfm.ARCHITECTURES else "output_norm")

    def _encode(self, x: np.ndarray) -> np.ndarray:
        x = self.norm(x, "token_embd_norm")
        for i in range(self.config.layers):
            prefix = f"blk.{i}."
            attended = self.norm(x + self._attend(x, i), prefix + "attn_output_norm")
            if prefix + "attn_norm_2.weight" in self.weights:
                attended = self.norm(x + attended, prefix + "attn_norm_2")
            x = attended
            x = self.norm(x + self._feed_forward(x, prefix), prefix + "layer_output_norm")
        return x

    def hidden(self, tokens: list[int], second: int = 0) -> np.ndarray:
        """Row i: the head's input at position i of the text; [len(tokens), embedding]. Tokens from
        `second` on have the second type; 0: none has."""
        x = self.weights["token_embd.weight"][tokens]
        if self.config.gemma or self.config.gemma4:
            x = x * math.sqrt(x.shape[1])
        if "position_embd.weight" in self.weights:
            x = x + self.weights["position_embd.weight"][: len(tokens)]
        if "token_types.weight" in self.weights:
            types = self.weights["token_types.weight"].reshape(-1, x.shape[1])
            of_second = np.arange(len(x)) >= (second if second and len(types) > 1 else len(x))
            x = x + types[of_second.astype(int)]
        return self._encode(x) if self.config.encoder else self._decode(x, tokens)

    def logits(self, tokens: list[int]) -> np.ndarray:
        """Row i: the logits after tokens[0] .. tokens[i]; [len(tokens), vocab]."""
        head = "output" if "output.weight" in self.weights else "token_embd"
        return gemma4.capped(self.config.gemma4, self.linear(self.hidden(tokens), head))


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
