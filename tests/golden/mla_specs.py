"""The tiny models with multi-head latent attention: `deepseek2`, with each of its ways of routing.
"""

from __future__ import annotations

from model_specs import Experts, Mla, Spec
from quants import Type

# Positional numbers below are: for a Spec embedding, heads, kv_heads, ffn, vocab, tokens; for
# Experts count, used, ffn; for Mla latent, nope, rope, value.


def yarn(factor: float, original: int, multiplier: float) -> dict[str, float | int | str]:
    return {"scaling.type": "yarn", "scaling.factor": factor,
            "scaling.original_context_length": original,
            "scaling.yarn_log_multiplier": multiplier}


_V2_YARN = yarn(40.0, 64, 0.0707)
_V3_YARN = yarn(4.0, 48, 0.1)
# The file's context is the original context times the factor.
_V2_YARN_2048 = yarn(32.0, 64, 0.0707)
_V3_YARN_2048 = yarn(4.0, 512, 0.1)


def v2(*sizes: int, **more) -> Experts:
    """DeepSeek-V2's routing: softmax, weights not normed."""
    return Experts(*sizes, **{"dense": 1, "shared": 2, "scale": 1.0, "gating_key": True, **more})


def v3(*sizes: int, **more) -> Experts:
    """DeepSeek-V3's routing: sigmoid, a bias for the choice, weights normed and scaled."""
    return Experts(*sizes, **{"dense": 1, "shared": 1, "sigmoid": True, "gating_key": True,
                              "bias": 0.3, "normed": True, "scale": 2.5, **more})


def _deepseek(name: str, features: tuple[str, ...], *sizes: int, **more) -> Spec:
    embedding, heads, ffn, vocab, tokens = sizes
    return Spec(name, "deepseek2", features, embedding, heads, 1, ffn, vocab, tokens,
                **{"layers": 3, **more})


def _float_models() -> list[Spec]:
    return [
        _deepseek("deepseek2-f32-lite", ("no q-LoRA", "V2 without groups, gating by default",
                                         "yarn"), 84, 5, 140, 301, 24, rope=_V2_YARN,
                  mla=Mla(36, 20, 12, 24), experts=v2(7, 3, 44, gating_key=False)),
        _deepseek("deepseek2-f32-v2", ("q-LoRA", "groups by their best expert", "yarn"), 72, 3, 100,
                  301, 24, rope=yarn(8.0, 256, 0.0707), mla=Mla(40, 16, 8, 20, query=28),
                  experts=v2(12, 3, 44, groups=3, groups_used=2, scale=2.0)),
        _deepseek("deepseek2-f32-v3", ("q-LoRA", "groups by their two best", "yarn",
                                       "a bias that changes the choice"), 76, 7, 100, 301, 24,
                  rope=_V3_YARN, mla=Mla(48, 12, 20, 16, query=44),
                  experts=v3(12, 3, 40, groups=3, groups_used=2)),
        _deepseek("deepseek2-f32-ties", ("equal groups", "no yarn"), 64, 4, 100, 263, 24, layers=2,
                  mla=Mla(32, 16, 16, 16),
                  experts=v2(12, 2, 36, groups=4, groups_used=1,
                              twins=((0, 9), (1, 10), (2, 11), (3, 6), (4, 7), (5, 8)))),
        _deepseek("deepseek2-f32-top1", ("5 experts, 1 used", "sigmoid, not normed", "one head",
                                         "no dense layer"), 52, 1, 60, 263, 24, layers=2,
                  mla=Mla(20, 24, 8, 28),
                  experts=v3(5, 1, 28, dense=0, normed=None, scale=1.8)),
        _deepseek("deepseek2-f32-long", ("260 tokens", "all experts used", "yarn", "tied"), 48, 3,
                  60, 263, 260, layers=2, rope=_V3_YARN, tied=True, mla=Mla(32, 16, 8, 16),
                  experts=v3(3, 3, 28)),
        _deepseek("deepseek2-f32-dense", ("no experts in any layer", "q-LoRA", "yarn"), 68, 5, 92,
                  263, 24, rope=_V3_YARN, mla=Mla(44, 20, 12, 24, query=36)),
        _deepseek("deepseek2-f16", ("no groups, as Kimi K2", "gate and up in one"), 96, 6, 160, 301,
                  24, type=Type.F16, rope=yarn(8.0, 256, 0.1), mla=Mla(64, 32, 16, 32, query=48),
                  experts=v3(8, 2, 52, groups=1, groups_used=1, fused=True)),
        _deepseek("deepseek2-f16-wide", ("lengths of the released models",), 64, 3, 100, 263, 24,
                  layers=2, type=Type.F16, mla=Mla(512, 128, 64, 128), experts=v2(5, 2, 44)),
        _deepseek("deepseek2-bf16", ("q-LoRA", "groups by their two best", "yarn",
                                     "BF16 values throughout"), 96, 5, 172, 301, 24,
                  rope=_V3_YARN_2048, type=Type.BF16, twin=True, mla=Mla(64, 24, 16, 32, query=40),
                  experts=v3(12, 3, 76, groups=4, groups_used=2)),
        _deepseek("deepseek2-bf16-lite", ("no q-LoRA", "V2 without groups", "yarn",
                                          "BF16 values throughout"), 84, 6, 172, 301, 24,
                  type=Type.BF16, twin=True, rope=_V2_YARN_2048, mla=Mla(36, 20, 12, 28),
                  experts=v2(7, 2, 60)),
    ]


def _block_models() -> list[Spec]:
    return [
        _deepseek("deepseek2-q8_0", ("q-LoRA", "groups by their two best"), 96, 6, 160, 301, 24,
                  type=Type.Q8_0, rope=_V3_YARN, mla=Mla(64, 32, 16, 32, query=96),
                  experts=v3(8, 2, 96, groups=4, groups_used=2)),
        _deepseek("deepseek2-q8_0-dense", ("no experts in any layer",
                                           "heads that begin within panels"), 96, 6, 160, 301, 24,
                  type=Type.Q8_0, rope=_V2_YARN, mla=Mla(72, 32, 16, 20, query=96)),
        _deepseek("deepseek2-q8_0-wide", ("lengths of the released models",), 64, 2, 96, 263, 24,
                  layers=2, type=Type.Q8_0, mla=Mla(512, 128, 64, 128, query=64),
                  experts=v3(5, 2, 64)),
        _deepseek("deepseek2-q4_0", ("no q-LoRA", "ffn of 76 and nope of 24 stay f16"), 160, 3, 160,
                  301, 24, type=Type.Q4_0, rope=_V2_YARN, mla=Mla(96, 24, 8, 32),
                  experts=v2(5, 2, 76, shared=1)),
        _deepseek("deepseek2-q4_k", ("attn_k_b falls back to Q5_0", "groups by their best expert"),
                  256, 4, 256, 301, 24, layers=2, type=Type.Q4_K, rope=_V2_YARN,
                  mla=Mla(256, 32, 16, 64, query=256),
                  experts=v2(6, 2, 256, groups=2, groups_used=1, shared=1, scale=2.0)),
    ]


def mla_models() -> list[Spec]:
    return _float_models() + _block_models()
