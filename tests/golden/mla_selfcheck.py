#!/usr/bin/env python3
"""Tests of the reference's multi-head latent attention: the expanded form against the absorbed one,
head by head and key by key, and YaRN's scale by hand."""

from __future__ import annotations

import math
import unittest

import make_models  # first: it fixes the number of BLAS threads

import numpy as np

import gguf_io
import mla
import mla_specs
import reference
import rope


def model_named(name: str) -> reference.Model:
    spec = next(s for s in mla_specs.mla_models() if s.name == name)
    tensors = {t.name: t for t in make_models.tensors(spec)}
    return reference.Model(gguf_io.Gguf(make_models.metadata(spec), tensors))


def halves(x: np.ndarray) -> np.ndarray:
    """Reorders neighbouring pairs: the even values, then the odd ones."""
    return np.concatenate([x[..., ::2], x[..., 1::2]], axis=-1)


def expanded(model: reference.Model, x: np.ndarray, prefix: str) -> np.ndarray:
    """Attention as config.json's models define it. Keys and values of every head come from one
    matrix, kv_b_proj, with K's rows and then V's of each head. RoPE turns halves."""
    c, s = model.config, model.config.mla
    k_b = model.weights[prefix + "attn_k_b.weight"].reshape(c.heads, s.latent, -1)
    v_b = model.weights[prefix + "attn_v_b.weight"].reshape(c.heads, -1, s.latent)
    kv_b = np.concatenate([np.swapaxes(k_b, 1, 2), v_b], axis=1)
    n, turn = len(x), rope.RopeConfig(**{**vars(c.rope), "layout": rope.NEOX})
    qn, qr = mla.queries(model, x, prefix)
    latent, kr = mla.cached(model, x, prefix)
    qr = rope.rotate(halves(qr), np.arange(n), turn)
    kr = rope.rotate(halves(kr)[:, None, :], np.arange(n), turn)[:, 0]
    out = np.zeros((n, c.heads, s.value))
    for h in range(c.heads):
        both = latent @ kv_b[h].T
        for p in range(n):
            q = np.concatenate([qn[p, h], qr[p, h]])
            keys = [np.concatenate([both[j, : s.nope], kr[j]]) for j in range(p + 1)]
            e = [math.exp(q @ k * s.scale) for k in keys]
            for j in range(p + 1):
                out[p, h] += e[j] / sum(e) * both[j, s.nope :]
    return out.reshape(n, -1)


class LatentAttentionTest(unittest.TestCase):
    def test_absorbed_is_expanded(self):
        r = np.random.Generator(np.random.PCG64(21))
        for name in ("deepseek2-f32-lite", "deepseek2-f32-v3", "deepseek2-f32-top1"):
            model, n = model_named(name), 12
            x = r.standard_normal((n, model.weights["token_embd.weight"].shape[1]))
            for layer in range(model.config.layers):
                prefix = f"blk.{layer}."
                mask = reference.visible(n, 0)
                absorbed = mla.attend(model, x, prefix, np.arange(n), mask)
                np.testing.assert_allclose(
                    absorbed, expanded(model, x, prefix), rtol=0, atol=1e-12, err_msg=name
                )

    def test_scale_of_the_released_models(self):
        """V3: 192 values, factor 40, mscale_all_dim 1. V2: the same with 0.707."""
        for multiplier, expected in ((0.1, 0.13523378), (0.0707, 0.11472139)):
            keys = {
                "general.architecture": gguf_io.string("deepseek2"),
                "deepseek2.attention.kv_lora_rank": gguf_io.u32(512),
                "deepseek2.attention.key_length_mla": gguf_io.u32(192),
                "deepseek2.attention.value_length_mla": gguf_io.u32(128),
                "deepseek2.rope.dimension_count": gguf_io.u32(64),
                "deepseek2.rope.scaling.type": gguf_io.string("yarn"),
                "deepseek2.rope.scaling.factor": gguf_io.f32(40.0),
                "deepseek2.rope.scaling.yarn_log_multiplier": gguf_io.f32(multiplier),
            }
            shape = mla.read_shape(gguf_io.Gguf(keys, {}))
            self.assertEqual((shape.nope, shape.rope, shape.value), (128, 64, 128))
            self.assertAlmostEqual(shape.scale, expected, places=7)
            del keys["deepseek2.rope.scaling.yarn_log_multiplier"]
            plain = mla.read_shape(gguf_io.Gguf(keys, {}))
            self.assertAlmostEqual(plain.scale, 192**-0.5, places=14)

    def test_cosines_do_not_grow(self):
        for name in ("deepseek2-f32-lite", "deepseek2-f32-v3", "deepseek2-f32-ties"):
            self.assertAlmostEqual(rope.magnitude(model_named(name).config.rope), 1, places=14)
        slow = rope.frequencies(model_named("deepseek2-f32-v3").config.rope)[-1]
        self.assertAlmostEqual(slow, 10000.0 ** (-18 / 20) / 4, places=14)

    def test_no_token_sees_the_future(self):
        for name in ("deepseek2-f32-v2", "deepseek2-q4_k"):
            model = model_named(name)
            tokens = list(range(5, 25))
            whole = model.logits(tokens)
            np.testing.assert_allclose(model.logits(tokens[:9]), whole[:9], rtol=0, atol=1e-11)
            tokens[0] = 77
            self.assertGreater(np.abs(model.logits(tokens)[-1] - whole[-1]).max(), 1e-3)


class AlternativesTest(unittest.TestCase):
    def test_alternatives_do_not_see_each_other(self):
        """Tokens that are alternatives for one position give the same results as each alone."""
        for name in ("deepseek2-f32-v3", "deepseek2-f32-lite"):
            model, text, others = model_named(name), [9, 8, 7, 6], [20, 30, 40]
            alone = [model.logits([*text, other])[-1] for other in others]
            model.alternatives = len(others)
            together = model.logits(text + others)[-len(others) :]
            np.testing.assert_allclose(together, alone, rtol=0, atol=1e-11)


if __name__ == "__main__":
    unittest.main()
