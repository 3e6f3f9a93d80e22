"""The tiny models of Gemma 3 and 4: layers with a window and without one, in many patterns."""

from __future__ import annotations

from model_specs import Experts, Gemma4, Spec
from quants import Type

# Positional numbers below: embedding, heads, kv_heads, ffn, vocab, tokens.


def _gemma3(name: str, features: tuple[str, ...], *sizes: int, head: int, **more) -> Spec:
    return Spec(name, "gemma3", features, *sizes, key_length=head, value_length=head, tied=True,
                **{"layers": 7, "window": 8, "rope": {"freq_base": 1e6}, **more})


def _gemma4(name: str, features: tuple[str, ...], *sizes: int, head: int, of: Gemma4,
            **more) -> Spec:  # fmt: skip
    return Spec(name, "gemma4", features, *sizes, key_length=head, value_length=head, tied=True,
                gemma4=of, layers=len(of.windowed),
                **{"window": 17, "rope": {"freq_base": 1e6, "freq_base_swa": 1e4}, **more})


def _dense_models() -> list[Spec]:
    pattern = (True, True, False, True, True, False)
    return [
        _gemma4("gemma4-f32", ("keys as values in every third layer", "KV heads by layer",
                               "cap of logits", "window 17"), 96, 4, 2, 172, 301, 150, head=40,
                of=Gemma4(pattern, (2, 2, 1, 2, 2, 1), (172,) * 6, 24, keys_as_values=True,
                          turned=5, cap=5.0)),
        _gemma4("gemma4-q4_0", ("keys as values", "F16 embedding", "600 tokens, window 100"), 160,
                4, 2, 352, 301, 600, head=64, window=100, type=Type.Q4_0,
                overrides={"token_embd": Type.F16},
                of=Gemma4((True, False), (2, 1), (352, 352), 48, keys_as_values=True, turned=8,
                          cap=30.0)),
    ]


def _shared_models() -> list[Spec]:
    pattern = (True, True, False, True, True, False)
    return [
        _gemma4("gemma4-f32-shared", ("the last 3 layers read others' keys and values",
                                      "wider FFN there", "values of keys among them"), 84, 6, 3,
                140, 301, 150, head=32, window=40,
                of=Gemma4(pattern, (3, 3, 1, 3, 3, 1), (140,) * 3 + (204,) * 3, 20, shared=3,
                          keys_as_values=True, turned=4, scaled=False)),
        _gemma4("gemma4-q8_0-shared", ("shared keys with tensors of own ones", "mqa"), 128, 4, 1,
                224, 301, 90, head=64, window=100, type=Type.Q8_0,
                of=Gemma4((True, True, False, True, False), (1,) * 5, (224,) * 5, 32, shared=2,
                          unused_keys=True, cap=0.0)),
    ]


def _per_layer_models() -> list[Spec]:
    pattern = (True, True, False, True, False)
    return [
        _gemma4("gemma4-f32-e", ("per-layer embeddings of 40", "shared keys"), 96, 4, 1, 140, 301,
                90, head=40,
                of=Gemma4(pattern, (1,) * 5, (140,) * 3 + (280,) * 2, 24, shared=2, turned=5,
                          cap=30.0, per_layer=40)),
        _gemma4("gemma4-q4_0-e", ("per-layer embeddings of 64, their table of Q5_0",), 128, 4, 2,
                224, 301, 60, head=64, window=100, type=Type.Q4_0,
                overrides={"per_layer_token_embd": Type.Q5_0, "per_layer_model_proj": Type.BF16,
                           "token_embd": Type.Q8_0},
                of=Gemma4((True, False), (2, 2), (224,) * 2, 32, turned=8, per_layer=64)),
    ]


def gemma_models() -> list[Spec]:
    return _gemma3_models() + _dense_models() + _shared_models() + _per_layer_models()


def gemma_moe_models() -> list[Spec]:
    of = Gemma4((True, False), (2, 1), (172, 172), 24, keys_as_values=True, turned=5, cap=30.0)
    wide = Gemma4((True, True, False), (2, 2, 2), (224,) * 3, 32, turned=8)
    return [
        _gemma4("gemma4-f32-moe", ("experts beside the FFN", "7 experts, 3 used", "ffn of 44"), 96,
                4, 2, 172, 301, 40, head=40, of=of, experts=Experts(7, 3, 44)),
        _gemma4("gemma4-q8_0-moe", ("experts beside the FFN", "one of 5 experts",
                                    "gate and up in one tensor"), 128, 4, 2, 224, 301, 24, head=64,
                window=100, type=Type.Q8_0, of=wide, experts=Experts(5, 1, 64, fused=True)),
    ]


def _gemma3_models() -> list[Spec]:
    return [
        _gemma3("gemma3-f32", ("7 layers, the sixth without a window", "head_dim 40"), 96, 4, 2,
                172, 301, 40, head=40),
        _gemma3("gemma3-f32-linear", ("rope linear", "every third layer without a window by key",
                                      "mqa", "head_dim 24", "freq_base_swa"), 84, 5, 1, 140, 301,
                150, head=24, layers=4, window=33, period=3,
                rope={"freq_base": 1e6, "freq_base_swa": 5000.0, "scaling.type": "linear",
                      "scaling.factor": 8.0}),
        _gemma3("gemma3-f32-full", ("no window",), 72, 3, 3, 100, 263, 40, head=24, layers=2,
                window=0),
        _gemma3("gemma3-bf16", ("BF16 values throughout", "rope linear"), 96, 8, 4, 172, 301, 40,
                head=24, type=Type.BF16, twin=True,
                rope={"freq_base": 1e6, "scaling.type": "linear", "scaling.factor": 8.0}),
        _gemma3("gemma3-q4_0", ("F16 embedding",), 160, 4, 2, 352, 301, 40, head=48,
                type=Type.Q4_0, overrides={"token_embd": Type.F16}),
        _gemma3("gemma3-q4_k_m", ("Q4_K with Q6_K",), 256, 4, 2, 512, 301, 40, head=64,
                type=Type.Q4_K,
                overrides={"blk.0.attn_v": Type.Q6_K, "blk.0.ffn_down": Type.Q6_K,
                           "token_embd": Type.Q6_K}),
    ]
