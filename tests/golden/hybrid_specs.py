"""The tiny models whose layers keep states; short convolutions are in lfm_specs.py. The delta rules
have as many value heads as key heads, or two or three times as many, lengths that no vector
register divides, and kernels of all lengths."""

from __future__ import annotations

import lfm_specs
from model_specs import Delta, Experts, Spec
from quants import Type

# Positional numbers below are: for a Spec embedding, heads, kv_heads, ffn, vocab, tokens; for a
# Delta key heads, value heads, length; for Experts count, used, ffn.


def _hybrid(name: str, arch: str, features: tuple[str, ...], *sizes: int, **more) -> Spec:
    key = more.pop("key", 24)
    return Spec(name, arch, features, *sizes, key_length=key, value_length=key,
                **{"layers": 3, "rope": {"freq_base": 1e7, "dimension_count": key // 2}, **more})


def _dense_models() -> list[Spec]:
    return [
        _hybrid("qwen35-f32", "qwen35", ("2 key heads, 4 value heads of 20", "gates of heads"), 84,
                6, 3, 140, 301, 70, delta=Delta(2, 4, 20, interval=2)),
        _hybrid("qwen35-f32-one-each", "qwen35", ("5 key heads, 5 value heads of 12", "tied",
                                                  "layers by a list"), 72, 3, 1, 100, 263, 50,
                tied=True, delta=Delta(5, 5, 12, taps=2, full=(True, False, False))),
        _hybrid("qwen35-f32-three-each", "qwen35", ("4 key heads, 12 value heads of 16",
                                                    "7 taps", "5 layers"), 96, 4, 2, 172, 301, 60,
                layers=5, delta=Delta(4, 12, 16, taps=7)),
        _hybrid("qwen35-f16", "qwen35", ("one key head, 2 value heads of 64",), 96, 4, 4, 172, 301,
                60, type=Type.F16, delta=Delta(1, 2, 64, interval=3)),
        _hybrid("qwen35-bf16", "qwen35", ("3 key heads, 6 value heads of 40",), 96, 4, 1, 172, 301,
                60, type=Type.BF16, twin=True, delta=Delta(3, 6, 40, interval=2)),
        _hybrid("qwen35-q8_0", "qwen35", ("4 key heads, 8 value heads of 32",), 96, 6, 2, 224, 301,
                60, key=32, type=Type.Q8_0, delta=Delta(4, 8, 32, interval=2)),
        _hybrid("qwen35-q4_k_m", "qwen35", ("8 key heads, 16 value heads of 64",
                                            "Q4_K with Q6_K"), 256, 4, 2, 512, 301, 60, key=64,
                type=Type.Q4_K, delta=Delta(8, 16, 64, interval=3),
                overrides={"blk.0.attn_qkv": Type.Q5_K, "blk.1.ssm_out": Type.Q6_K,
                           "ffn_down": Type.Q6_K, "token_embd": Type.Q6_K}),
    ]


def _expert_models() -> list[Spec]:
    def mixture(*sizes: int) -> Experts:
        return Experts(*sizes, shared=1, gate=True)

    return [
        _hybrid("qwen35moe-f32", "qwen35moe", ("7 experts, 3 used", "a shared one by a gate"), 84,
                6, 3, 100, 301, 24, delta=Delta(2, 6, 20, interval=2), experts=mixture(7, 3, 44)),
        _hybrid("qwen35moe-q8_0", "qwen35moe", ("5 experts, 2 used",), 96, 4, 2, 100, 301, 24,
                key=32, type=Type.Q8_0, delta=Delta(4, 8, 32, interval=2),
                experts=mixture(5, 2, 96)),
        _hybrid("qwen3next-f32", "qwen3next", ("3 key heads, 9 value heads of 20",
                                               "7 experts, 2 used"), 84, 6, 2, 100, 301, 24,
                delta=Delta(3, 9, 20, interval=2), experts=mixture(7, 2, 36)),
        _hybrid("qwen3next-f32-one-each", "qwen3next", ("4 key heads, 4 value heads of 16",), 72, 3,
                3, 100, 263, 24, delta=Delta(4, 4, 16, interval=3), experts=mixture(5, 1, 36)),
        _hybrid("qwen3next-q4_k", "qwen3next", ("4 key heads, 8 value heads of 64",), 256, 4, 2,
                100, 301, 24, key=64, type=Type.Q4_K, delta=Delta(4, 8, 64, interval=2),
                experts=mixture(5, 2, 256)),
    ]


def hybrid_models() -> list[Spec]:
    return _dense_models() + _expert_models() + lfm_specs.lfm_models()
