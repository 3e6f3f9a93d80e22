#!/usr/bin/env python3
"""Tests of the reference's encoders: values worked out by hand, and symmetries."""

from __future__ import annotations

import dataclasses
import math
import unittest

import make_models  # first: it fixes the number of BLAS threads

import numpy as np

import gguf_io
import model_specs
import reference


def model_named(name: str, **changes) -> tuple[reference.Model, list[int]]:
    """The model with changes to its spec, and the beginning of its prompt."""
    spec = next(s for s in model_specs.specs() if s.name == name)
    spec = dataclasses.replace(spec, **changes)
    tensors = {t.name: t for t in make_models.tensors(spec)}
    file = gguf_io.Gguf(make_models.metadata(spec), tensors)
    return reference.Model(file), make_models.prompt(spec)[:20]


def split(weights: dict[str, np.ndarray], prefix: str, fused: str, parts: tuple[str, ...]) -> None:
    """Splits a fused tensor and its bias into parts."""
    for end in (".weight", ".bias"):
        if (whole := weights.pop(prefix + fused + end, None)) is None:
            continue
        axis = 0 if end == ".weight" else whole.ndim - 1
        for name, part in zip(parts, np.split(whole, len(parts), axis=axis)):
            weights[prefix + name + end] = part


class PartsTest(unittest.TestCase):
    def test_gelu(self):
        """gelu(x) - gelu(-x) = x, and for large
        x
        the result is x or 0."""
        x = np.array([0.0, 0.5, 1.0, 3.0, 40.0])
        np.testing.assert_allclose(reference.gelu(x) - reference.gelu(-x), x, rtol=1e-15)
        self.assertAlmostEqual(reference.gelu(np.array([1.0]))[0], 0.8413447460685429, places=15)
        self.assertEqual(reference.gelu(np.array([-40.0]))[0], 0.0)

    def test_slopes_of_alibi(self):
        """Press et al. 2022: 8 heads have 1/2, 1/4, ... 1/256. 12 heads have these, then the first,
        third, fifth and seventh of 16 heads' 2^-0.5, 2^-1, 2^-1.5, ..."""
        eight = [2.0**-i for i in range(1, 9)]
        np.testing.assert_allclose(reference.alibi_slopes(8, 8.0), eight, rtol=1e-15)
        twelve = [*eight, 2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]
        np.testing.assert_allclose(reference.alibi_slopes(12, 8.0), twelve, rtol=1e-15)
        three = [2.0**-4, 2.0**-8, 2.0**-2]
        np.testing.assert_allclose(reference.alibi_slopes(3, 8.0), three, rtol=1e-15)
        self.assertEqual(reference.alibi_slopes(1, 6.0), (2.0**-6,))

    def test_alibi_against_loops(self):
        r = np.random.Generator(np.random.PCG64(8))
        q, k, v = (r.standard_normal((7, 3, 4)) for _ in range(3))
        slopes = (0.5, 0.0, 2.0)
        actual = reference.attention(q, k, v, np.full((7, 7), True), slopes)
        for p in range(7):
            for h, slope in enumerate(slopes):
                e = [math.exp(q[p, h] @ k[s, h] / 2 - slope * abs(p - s)) for s in range(7)]
                expected = sum(x * v[s, h] for s, x in enumerate(e)) / sum(e)
                np.testing.assert_allclose(actual[p, h], expected, rtol=1e-12)


class EncoderTest(unittest.TestCase):
    def test_every_position_sees_all(self):
        for name in ("bert-f32", "nomic-f32", "jina-f32-plain", "qwen2-f32-both-ways"):
            model, tokens = model_named(name)
            before = model.hidden(tokens)
            tokens[-1] = 5
            with self.subTest(name):
                moved = np.abs(model.hidden(tokens) - before).max(axis=1)
                self.assertGreater(moved.min(), 1e-4)

    def test_positions_have_their_part(self):
        for name in ("bert-f32", "nomic-f32", "jina-f32"):
            model, tokens = model_named(name)
            before = model.hidden(tokens)
            turned = model.hidden(tokens[::-1])[::-1]
            with self.subTest(name):
                if name == "jina-f32":  # distances are the same both ways
                    np.testing.assert_allclose(turned, before, rtol=0, atol=1e-11)
                    turned = np.roll(model.hidden(np.roll(tokens, 5).tolist()), -5, axis=0)
                self.assertGreater(np.abs(turned - before).max(), 1e-2)

    def test_an_embedding_is_a_sum_of_rows(self):
        model, tokens = model_named("bert-f32")
        before = model.hidden(tokens)
        moved = np.linspace(-1, 1, before.shape[1])
        model.weights["token_embd.weight"] = model.weights["token_embd.weight"] + moved
        self.assertGreater(np.abs(model.hidden(tokens) - before).max(), 1e-2)
        types = model.weights["token_types.weight"]
        model.weights["token_types.weight"] = types - moved * [[1.0], [7.0]]  # row 0 alone counts
        np.testing.assert_allclose(model.hidden(tokens), before, rtol=0, atol=1e-11)
        positions = model.weights["position_embd.weight"]
        model.weights["position_embd.weight"] = positions + moved
        model.weights["token_types.weight"] = types - 2 * moved
        np.testing.assert_allclose(model.hidden(tokens), before, rtol=0, atol=1e-11)

    def test_one_tensor_is_several(self):
        for name in ("bert-f32-fused", "nomic-f32", "jina-f32-fused"):
            model, tokens = model_named(name)
            before = model.hidden(tokens)
            for i in range(model.config.layers):
                split(model.weights, f"blk.{i}.", "attn_qkv", ("attn_q", "attn_k", "attn_v"))
                if name == "jina-f32-fused":
                    split(model.weights, f"blk.{i}.", "ffn_up", ("ffn_gate", "ffn_up"))
            with self.subTest(name):
                self.assertFalse([n for n in model.weights if "attn_qkv" in n])
                np.testing.assert_allclose(model.hidden(tokens), before, rtol=0, atol=1e-12)

    def test_norms_of_all_heads_forget_scale_and_shift(self):
        model, tokens = model_named("jina-f32-code")
        model.config = dataclasses.replace(model.config, epsilon=0.0)
        before = model.hidden(tokens)
        for name in ("attn_q", "attn_k"):
            model.weights[f"blk.0.{name}.weight"] = 3 * model.weights[f"blk.0.{name}.weight"]
            model.weights[f"blk.0.{name}.bias"] = 3 * model.weights[f"blk.0.{name}.bias"] + 1.5
        np.testing.assert_allclose(model.hidden(tokens), before, rtol=0, atol=1e-11)
        model.weights["blk.0.attn_norm_2.bias"] = model.weights["blk.0.attn_norm_2.bias"] + 1.0
        self.assertGreater(np.abs(model.hidden(tokens) - before).max(), 1e-2)

    def test_left_out_keys_take_their_defaults(self):
        lean, _ = model_named("bert-f32-plain")
        full, _ = model_named("bert-f32-plain", lean=False)
        self.assertEqual(lean.config, full.config)
        self.assertFalse(lean.config.causal)


if __name__ == "__main__":
    unittest.main()
