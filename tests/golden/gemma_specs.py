"""The tiny models of Gemma 3: layers with a window and without one, in one pattern or another."""

from __future__ import annotations

from model_specs import Spec
from quants import Type

# Positional numbers below: embedding, heads, kv_heads, ffn, vocab, tokens.


def _gemma3(name: str, features: tuple[str, ...], *sizes: int, head: int, **more) -> Spec:
    return Spec(name, "gemma3", features, *sizes, key_length=head, value_length=head, tied=True,
                **{"layers": 7, "window": 8, "rope": {"freq_base": 1e6}, **more})


def gemma_models() -> list[Spec]:
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
