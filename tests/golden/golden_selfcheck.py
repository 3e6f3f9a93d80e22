#!/usr/bin/env python3
"""Tests of the golden set's own parts, since the truth has to be checked too.

Expected values are worked out by hand from the block layouts and the papers, or follow from a
symmetry of the mathematics; none comes from another implementation.
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
import tempfile
import unittest

import make_models  # first: it fixes the number of BLAS threads

import numpy as np

import gguf_io
import grids
import model_specs
import quants
import reference
import scaled
import vocabulary
import rope
from block_type import edited
from gguf_io import Value, ValueType
from quants import Type

FLOAT_ERROR = {"F16": 3e-4, "BF16": 2e-3}  # as BlockType.error


class QuantsTest(unittest.TestCase):
    def test_known_blocks(self):
        for kind in quants.BLOCK_TYPES:
            raw, expected = quants.row_of(kind).known
            with self.subTest(kind.name):
                actual = quants.dequantize(kind, raw, 1, quants.block_length(kind))[0]
                np.testing.assert_array_equal(actual, expected)

    def test_docs_list_the_types(self):
        page = pathlib.Path(__file__).parents[2] / "docs" / "format-gguf.md"
        section = page.read_text().split("## Types of tensors\n")[1].split("\n## ")[0]
        found = [line.strip("| ").split(" | ") for line in section.splitlines() if "|" in line][2:]
        expected = []
        for kind in Type:
            length, size = quants.block_length(kind), quants.block_bytes(kind)
            bits = f"{8 * size / length:.2f}".rstrip("0").rstrip(".")
            expected.append([kind.name, str(int(kind)), str(length), str(size), bits])
        self.assertEqual(found, expected)

    def test_known_floats(self):
        def one(kind, raw):
            return quants.dequantize(kind, raw, 1, 1)[0, 0]

        self.assertEqual(one(Type.F32, b"\x00\x00\x20\xc0"), -2.5)
        self.assertEqual(one(Type.F16, b"\x00\xc5"), -5.0)
        self.assertEqual(one(Type.BF16, b"\xc0\x3f"), 1.5)

    def test_bf16_rounds_to_nearest_even(self):
        ulp = 2**-7
        cases = ((1 + ulp / 2, 1.0), (1 + 1.5 * ulp, 1 + 2 * ulp), (1 + 0.51 * ulp, 1 + ulp))
        for x, expected in cases:
            self.assertEqual(quants.round_to(Type.BF16, np.array([x]))[0], expected)

    def test_mxfp4_smallest_scale(self):
        raw = b"\x00" + edited(16, 0, {0: 0x01})
        self.assertEqual(quants.dequantize(Type.MXFP4, raw, 1, 32)[0, 0], 2.0**-128)

    def test_nvfp4_scales_are_numbers_up_to_448(self):
        raw = np.zeros((256, 36), np.uint8)
        raw[:, 3], raw[:, 35] = np.arange(256), 0x10
        last = quants.dequantize(Type.NVFP4, raw.tobytes(), 256, 64)[:, 63]
        self.assertEqual((last[0x7E], last[1]), (224.0, 2.0**-10))
        self.assertEqual(np.flatnonzero(np.isnan(last)).tolist(), list(range(0x7F, 256)))

    def test_grids_have_a_row_for_every_index(self):
        kept = (grids.IQ2_XXS, grids.IQ2_XS, grids.IQ2_S, grids.IQ3_XXS, grids.IQ3_S, grids.IQ1)
        sizes = [(256, 8), (512, 8), (1024, 8), (256, 4), (512, 4), (2048, 8)]
        self.assertEqual([grid.shape for grid in kept], sizes)

    def test_every_bit_of_a_block_belongs_to_a_field(self):
        r = np.random.Generator(np.random.PCG64(1))
        for row in quants.ROWS.values():
            with self.subTest(row.name):
                raw = r.integers(0, 256, (200, row.bytes), dtype=np.uint8)
                np.testing.assert_array_equal(row.pack(row.unpack(raw)), raw)

    def test_error_is_as_expected(self):
        x = np.random.Generator(np.random.PCG64(2)).standard_normal((16, 512)).astype(np.float32)
        bounds = {**FLOAT_ERROR, **{row.name: row.error for row in quants.ROWS.values()}}
        for name, bound in bounds.items():
            kind = Type[name]
            with self.subTest(name):
                back = quants.dequantize(kind, quants.quantize(kind, x), 16, 512)
                error = np.sqrt(np.mean((back - x) ** 2))
                self.assertLess(error, bound)
                self.assertGreater(error, bound / 2)

    def test_quantising_twice_changes_nothing(self):
        x = np.random.Generator(np.random.PCG64(3)).standard_normal((16, 512))
        for kind in Type:
            with self.subTest(kind.name):
                once = quants.dequantize(kind, quants.quantize(kind, x), 16, 512)
                twice = quants.dequantize(kind, quants.quantize(kind, once), 16, 512)
                np.testing.assert_allclose(twice, once, rtol=0, atol=1e-6)

    def test_zeros_stay_zeros(self):
        for kind in Type:
            with self.subTest(kind.name):
                back = quants.dequantize(kind, quants.quantize(kind, np.zeros((2, 256))), 2, 256)
                self.assertFalse(back.any())

    def test_rows_must_hold_whole_blocks(self):
        with self.assertRaises(ValueError):
            quants.quantize(Type.Q4_K, np.zeros((1, 128)))
        with self.assertRaises(ValueError):
            quants.dequantize(Type.Q8_0, bytes(33), 1, 32)


class GgufTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = str(pathlib.Path(folder.name) / "x.gguf")

    def test_every_value_type_survives(self):
        metadata = {
            "a": Value(ValueType.UINT8, 255), "b": Value(ValueType.INT8, -128),
            "c": Value(ValueType.UINT16, 65535), "d": Value(ValueType.INT16, -2),
            "e": Value(ValueType.UINT32, 2**32 - 1), "f": Value(ValueType.INT32, -3),
            "g": Value(ValueType.FLOAT32, 0.5), "h": Value(ValueType.BOOL, True),
            "i": Value(ValueType.STRING, "\u2581x"), "j": Value(ValueType.UINT64, 2**64 - 1),
            "k": Value(ValueType.INT64, -(2**63)), "l": Value(ValueType.FLOAT64, 0.1),
            "m": gguf_io.array(ValueType.STRING, ["", "y"]),
            "n": gguf_io.array(ValueType.ARRAY, [gguf_io.array(ValueType.INT8, [-1, 1])]),
            "general.alignment": gguf_io.u32(64),
        }  # fmt: skip
        data = quants.quantize(Type.F16, np.arange(6.0).reshape(2, 3))
        tensors = [gguf_io.Tensor(n, Type.F16, (3, 2), data) for n in ("t", "u")]
        gguf_io.write(self.path, metadata, tensors)
        file = gguf_io.read(self.path)
        self.assertEqual(file.metadata, metadata)
        self.assertEqual(list(file.tensors.values()), tensors)
        np.testing.assert_array_equal(file.tensors["u"].values(), [[0, 1, 2], [3, 4, 5]])

    def test_bytes_of_a_file(self):
        tensor = gguf_io.Tensor("w", Type.F32, (1,), b"\x00\x00\x80\x3f")
        gguf_io.write(self.path, {"k": gguf_io.boolean(True)}, [tensor])
        raw = pathlib.Path(self.path).read_bytes()
        head = b"GGUF\x03\0\0\0" + b"\x01" + bytes(7) + b"\x01" + bytes(7)
        head += b"\x01" + bytes(7) + b"k\x07\0\0\0\x01"
        head += b"\x01" + bytes(7) + b"w\x01\0\0\0\x01" + bytes(7) + bytes(4) + bytes(8)
        padded = head + bytes(-len(head) % 32)
        self.assertEqual(raw, padded + b"\x00\x00\x80\x3f" + bytes(28))

    def test_a_scale_beside_weights_multiplies_them(self):
        """Two experts of two rows, and a matrix. A scale without weights is an ordinary tensor."""
        experts = quants.quantize(Type.F32, np.arange(12.0).reshape(4, 3))
        factors, one = (quants.quantize(Type.F32, np.array([x])) for x in ([10.0, -2.0], [0.5]))
        tensors = [
            gguf_io.Tensor("e.weight", Type.F32, (3, 2, 2), experts),
            gguf_io.Tensor("e.scale", Type.F32, (2,), factors),
            gguf_io.Tensor("m.scale", Type.F32, (1,), one),
            gguf_io.Tensor("m.weight", Type.F32, (3, 4), experts),
            gguf_io.Tensor("n.scale", Type.F32, (1,), one),
        ]
        values = gguf_io.Gguf({}, {t.name: t for t in tensors}).values()
        scaled = [[0, 10, 20], [30, 40, 50], [-12, -14, -16], [-18, -20, -22]]
        np.testing.assert_array_equal(values["e.weight"], scaled)
        np.testing.assert_array_equal(values["m.weight"], np.arange(12.0).reshape(4, 3) / 2)
        np.testing.assert_array_equal(values["n.scale"], [[0.5]])

    def test_a_short_file_is_refused(self):
        tensor = gguf_io.Tensor("w", Type.F32, (16,), bytes(64))
        gguf_io.write(self.path, {}, [tensor])
        raw = pathlib.Path(self.path).read_bytes()
        for size in (2, 20, len(raw) - 1):
            pathlib.Path(self.path).write_bytes(raw[:size])
            with self.assertRaises(ValueError):
                gguf_io.read(self.path)


YARN = rope.RopeConfig(rope.NEOX, 64, 10000.0, "yarn", 8.0, original_context=2048)
ROPES = [
    rope.RopeConfig(rope.NORM, 20),
    rope.RopeConfig(rope.NEOX, 12, 500000.0),
    rope.RopeConfig(rope.NORM, 20, scaling="linear", factor=4.0),
    rope.RopeConfig(rope.NEOX, 16, scaling="yarn", factor=4.0, original_context=64),
]


class RopeTest(unittest.TestCase):
    def setUp(self):
        r = np.random.Generator(np.random.PCG64(4))
        self.q, self.k = r.standard_normal((2, 1, 3, 20))

    def turned(self, x, position, config, divisors=None):
        return rope.rotate(x, np.array([position]), config, divisors)

    def test_known_angles(self):
        x = np.array([[[1.0, 0.0, 0.0, 1.0]]])
        c, s = math.cos(1), math.sin(1)
        slow_c, slow_s = math.cos(0.01), math.sin(0.01)
        norm = self.turned(x, 1, rope.RopeConfig(rope.NORM, 4))
        np.testing.assert_allclose(norm[0, 0], [c, s, -slow_s, slow_c], rtol=1e-15)
        neox = self.turned(x, 1, rope.RopeConfig(rope.NEOX, 4))
        np.testing.assert_allclose(neox[0, 0], [c, -slow_s, s, slow_c], rtol=1e-15)

    def test_products_depend_on_the_distance_alone(self):
        for config in ROPES:
            with self.subTest(config):
                near = self.turned(self.q, 9, config) * self.turned(self.k, 2, config)
                far = self.turned(self.q, 1009, config) * self.turned(self.k, 1002, config)
                np.testing.assert_allclose(near.sum(-1), far.sum(-1), rtol=1e-11)

    def test_the_rest_of_the_head_stays(self):
        for config in ROPES:
            rest = slice(config.dimensions, None)
            out = self.turned(self.q, 7, config)
            np.testing.assert_array_equal(out[..., rest], self.q[..., rest])

    def test_lengths_grow_by_the_magnitude(self):
        for config in ROPES:
            d, grow = config.dimensions, rope.magnitude(config)
            before = np.linalg.norm(self.q[..., :d], axis=-1)
            after = np.linalg.norm(self.turned(self.q, 5, config)[..., :d], axis=-1)
            np.testing.assert_allclose(after, before * grow, rtol=1e-13)

    def test_linear_scaling_is_a_shorter_way(self):
        plain, scaled = ROPES[0], ROPES[2]
        np.testing.assert_allclose(
            self.turned(self.q, 12, scaled), self.turned(self.q, 3, plain), rtol=1e-12
        )

    def test_yarn_keeps_fast_pairs_and_stretches_slow_ones(self):
        """32 turns in 2048 positions: pair 64 ln(2048 / 64 pi) / 2 ln 10^4 = 8.06; one: 20.1."""
        plain = rope.frequencies(dataclasses.replace(YARN, scaling="none"))
        share = rope.frequencies(YARN) / plain
        np.testing.assert_allclose(share[:9], 1.0, rtol=1e-14)
        np.testing.assert_allclose(share[21:], 1 / 8, rtol=1e-14)
        np.testing.assert_allclose(share[14], 7 / 13 + 6 / 13 / 8, rtol=1e-14)
        self.assertAlmostEqual(rope.magnitude(YARN), 1 + 0.1 * math.log(8), places=14)

    def test_llama3_divisors(self):
        """Wavelengths 2 pi base^(i / 4): 6.28, 62.8, 628, 6283; a context of 256 with limits 1 and
        4 keeps those under 64 and stretches those over 256."""
        divisors = rope.llama3_divisors(8, 10000.0, 8.0, 1.0, 4.0, 256)
        np.testing.assert_allclose(divisors, [1, 1, 8, 8], rtol=1e-14)
        turns = 1024 / (2 * math.pi * 100)  # of the third pair, if the context is 1024: 1.63
        smooth = (turns - 1) / 3
        between = rope.llama3_divisors(8, 10000.0, 8.0, 1.0, 4.0, 1024)[2]
        self.assertAlmostEqual(between, 1 / ((1 - smooth) / 8 + smooth), places=13)


def spec_named(name: str) -> model_specs.Spec:
    return next(s for s in model_specs.specs() if s.name == name)


def file_of(spec: model_specs.Spec) -> gguf_io.Gguf:
    tensors = {t.name: t for t in make_models.tensors(spec)}
    return gguf_io.Gguf(make_models.metadata(spec), tensors)


class ReferenceTest(unittest.TestCase):
    def test_attention_against_loops(self):
        r = np.random.Generator(np.random.PCG64(5))
        q, k, v = (r.standard_normal(shape) for shape in ((9, 6, 5), (9, 2, 5), (9, 2, 7)))
        for window in (0, 4):
            actual = reference.attention(q, k, v, reference.visible(9, window))
            for p in range(9):
                keys = range(max(0, p - window + 1) if window else 0, p + 1)
                for h in range(6):
                    e = [math.exp(q[p, h] @ k[s, h // 3] / math.sqrt(5)) for s in keys]
                    expected = sum(x * v[s, h // 3] for x, s in zip(e, keys)) / sum(e)
                    np.testing.assert_allclose(actual[p, h], expected, rtol=1e-12)

    def test_norm_and_activation(self):
        np.testing.assert_allclose(
            reference.rms_norm(np.array([[3.0, 4.0]]), np.array([1.0, 2.0]), 12.5), [[0.6, 1.6]]
        )
        weight, bias = np.array([2.0, 1.0]), np.array([0.0, 1.0])
        np.testing.assert_allclose(
            reference.layer_norm(np.array([[1.0, 3.0]]), weight, bias, 3.0), [[-1.0, 1.5]]
        )
        one = reference.silu(np.array([1.0]))[0]
        self.assertAlmostEqual(one, 1 / (1 + math.exp(-1)), places=15)
        self.assertEqual(reference.silu(np.array([-1e4]))[0], 0.0)

    def test_no_logit_sees_the_future(self):
        for name in ("llama-f32-head20", "qwen3-f32-yarn", "qwen2-q5_k"):
            spec = spec_named(name)
            model, tokens = reference.Model(file_of(spec)), make_models.prompt(spec)[:24]
            whole, part = model.logits(tokens), model.logits(tokens[:15])
            np.testing.assert_allclose(whole[:15], part, rtol=0, atol=1e-11)
            tokens[0] = 5
            self.assertGreater(np.abs(model.logits(tokens)[-1] - whole[-1]).max(), 1e-3)

    def test_an_encoder_sees_all(self):
        spec = spec_named("test-encoder-q8_0")
        model, tokens = reference.Model(file_of(spec)), make_models.prompt(spec)[:24]
        before = model.hidden(tokens)
        tokens[23] = 5
        self.assertGreater(np.abs(model.hidden(tokens) - before).max(axis=1).min(), 1e-3)

    def test_without_rope_order_means_nothing(self):
        spec = spec_named("test-encoder-f32")
        model, tokens = reference.Model(file_of(spec)), make_models.prompt(spec)[:20]
        order = np.random.Generator(np.random.PCG64(7)).permutation(20)
        shuffled = model.hidden([tokens[i] for i in order])
        np.testing.assert_allclose(shuffled, model.hidden(tokens)[order], rtol=0, atol=1e-11)

    def test_a_window_is_a_shorter_prompt(self):
        """With one layer, relative positions and no scaling of them, the logits at the end of a
        prompt longer than the window are those of the prompt's last `window` tokens."""
        spec = dataclasses.replace(spec_named("mistral-f32-window"), layers=1)
        model, tokens = reference.Model(file_of(spec)), make_models.prompt(spec)
        whole, tail = model.logits(tokens)[-1], model.logits(tokens[-spec.window :])[-1]
        np.testing.assert_allclose(whole, tail, rtol=0, atol=1e-9)
        shorter = model.logits(tokens[-spec.window + 1 :])[-1]
        self.assertGreater(np.abs(whole - shorter).max(), 1e-4)

    def test_renaming_tokens_permutes_logits(self):
        spec = spec_named("llama-f32-mha")
        model, tokens = reference.Model(file_of(spec)), make_models.prompt(spec)[:20]
        before = model.logits(tokens)
        order = np.random.Generator(np.random.PCG64(6)).permutation(spec.vocab)
        for name in ("token_embd.weight", "output.weight"):
            model.weights[name] = model.weights[name][order]
        renamed = np.argsort(order)[tokens].tolist()
        np.testing.assert_allclose(model.logits(renamed), before[:, order], rtol=0, atol=1e-11)

    def test_heads_move_with_their_kv_head(self):
        spec = spec_named("qwen2-f32")
        model, tokens = reference.Model(file_of(spec)), make_models.prompt(spec)[:20]
        before = model.logits(tokens)
        kv_order = np.array([2, 0, 1])
        heads = np.concatenate([[2 * g, 2 * g + 1] for g in kv_order])
        for name, w in model.weights.items():
            if ".attn_q." in name:
                model.weights[name] = w.reshape(6, -1)[heads].reshape(w.shape)
            elif ".attn_k." in name or ".attn_v." in name:
                model.weights[name] = w.reshape(3, -1)[kv_order].reshape(w.shape)
            elif ".attn_output." in name:
                model.weights[name] = w.reshape(len(w), 6, -1)[:, heads].reshape(w.shape)
        np.testing.assert_allclose(model.logits(tokens), before, rtol=0, atol=1e-11)

    def test_left_out_keys_take_their_defaults(self):
        lean = spec_named("llama-f32-mha")
        full = dataclasses.replace(lean, lean=False)
        self.assertEqual(reference.read_config(file_of(lean)), reference.read_config(file_of(full)))

    def test_another_architecture_is_refused(self):
        with self.assertRaises(ValueError):
            reference.read_config(gguf_io.Gguf({"general.architecture": gguf_io.string("x")}, {}))


class ModelsTest(unittest.TestCase):
    def test_specs_are_sound(self):
        specs = model_specs.specs()
        self.assertEqual(len({s.name for s in specs}), len(specs))
        for spec in specs:
            with self.subTest(spec.name):
                self.assertEqual(spec.heads % spec.kv_heads, 0)
                texts = make_models.texts(spec, make_models.prompt(spec))
                self.assertLess(max(map(len, texts)), spec.context)
                self.assertEqual(sum(map(len, texts)), spec.tokens)
                pieces = vocabulary.metadata(spec.vocab)["tokenizer.ggml.tokens"].data
                self.assertEqual(len(set(pieces)), spec.vocab)

    def test_every_type_is_somewhere(self):
        used = {
            model_specs.tensor_type(s, name, values.shape[::-1])
            for s in model_specs.specs()
            for name, values in make_models.weights(s)
        }
        self.assertEqual(used, set(Type))

    def test_scales_spread_a_matrix_over_those_of_its_blocks(self):
        x = np.random.Generator(np.random.PCG64(8)).standard_normal((3, 16, 128))
        x *= np.array([1e-4, 1.0, 1e4])[:, None, None]
        weight, scale = scaled.tensors("w.weight", x)
        self.assertEqual((scale.name, weight.shape, scale.shape), ("w.scale", (128, 16, 3), (3,)))
        values = gguf_io.Gguf({}, {t.name: t for t in (weight, scale)}).values()["w.weight"]
        errors = (values.reshape(x.shape) - x).std(axis=(1, 2)) / x.std(axis=(1, 2))
        self.assertLess(errors.max(), quants.row_of(Type.NVFP4).error)
        blocks = np.frombuffer(weight.data, np.uint8).reshape(3, -1, 36)
        self.assertEqual(blocks[:, :, :4].max(axis=(1, 2)).tolist(), [0x7E] * 3)

    def test_two_runs_write_the_same_bytes(self):
        spec = spec_named("llama-q4_0")
        with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
            entries = [make_models.make(spec, pathlib.Path(d)) for d in (a, b)]
            self.assertEqual(*entries)
            for file in pathlib.Path(a).iterdir():
                self.assertEqual(file.read_bytes(), (pathlib.Path(b) / file.name).read_bytes())

    def test_logits_have_a_sane_spread(self):
        for name in ("llama-f32", "qwen3-f32", "llama-q2_k"):
            spec = spec_named(name)
            logits = reference.Model(file_of(spec)).logits(make_models.prompt(spec)[:30])
            self.assertTrue(1 < logits.std() < 3)


if __name__ == "__main__":
    unittest.main()
