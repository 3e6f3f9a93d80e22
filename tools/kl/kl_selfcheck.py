#!/usr/bin/env python3
"""Tests of the tools in this folder; run it without arguments."""

from __future__ import annotations

import dataclasses
import math
import pathlib
import tempfile
import unittest

import dequantize_gguf  # first, since it makes tests/golden importable
import gguf_io
import kl_table
import numpy as np
import quants
from quants import Type


class DequantizeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.source, self.target = (f"{folder.name}/{name}.gguf" for name in ("in", "out"))

    def round_trip(self, tensors, **metadata):
        gguf_io.write(self.source, metadata, tensors)
        dequantize_gguf.dequantize_file(self.source, self.target)
        return gguf_io.read(self.target)

    def test_every_type_becomes_its_values_as_f32(self):
        rng = np.random.default_rng(3)
        tensors = []
        for kind in Type:
            raw = quants.quantize(kind, rng.standard_normal((6, 512)))
            tensors.append(gguf_io.Tensor(f"{kind.name}.weight", kind, (512, 3, 2), raw))
        self.addCleanup(setattr, dequantize_gguf, "CHUNK_WEIGHTS", dequantize_gguf.CHUNK_WEIGHTS)
        dequantize_gguf.CHUNK_WEIGHTS = 4 * 512  # a chunk of four rows and one of two
        out = self.round_trip(tensors)
        self.assertEqual(list(out.tensors), [t.name for t in tensors])
        for t in tensors:
            made = out.tensors[t.name]
            self.assertEqual((made.type, made.shape), (Type.F32, t.shape))
            np.testing.assert_array_equal(made.values(), t.values().astype(np.float32))

    def test_metadata_is_kept_but_for_the_file_type(self):
        words = gguf_io.array(gguf_io.ValueType.STRING, ["a", "\u00e9", ""])
        tensor = gguf_io.Tensor("x", Type.F16, (3,), quants.quantize(Type.F16, np.ones((1, 3))))
        head = {
            "general.alignment": gguf_io.u32(64),
            "general.file_type": gguf_io.u32(7),
            "words": words,
            "eps": gguf_io.f32(0.5),
        }
        out = self.round_trip([tensor, dataclasses.replace(tensor, name="y")], **head)
        np.testing.assert_array_equal(out.tensors["y"].values(), [[1, 1, 1]])
        self.assertEqual(out.metadata, head | {"general.file_type": gguf_io.u32(0)})

    def test_nothing_is_left_of_a_truncated_file(self):
        tensor = gguf_io.Tensor("x", Type.F32, (64,), bytes(256))
        gguf_io.write(self.source, {}, [tensor])
        whole = pathlib.Path(self.source).read_bytes()
        pathlib.Path(self.source).write_bytes(whole[:-32])
        with self.assertRaisesRegex(ValueError, "ends early"):
            dequantize_gguf.dequantize_file(self.source, self.target)
        self.assertFalse(pathlib.Path(self.target).exists())

    def test_existing_target_stays(self):
        pathlib.Path(self.target).write_bytes(b"mine")
        with self.assertRaises(FileExistsError):
            self.round_trip([])
        self.assertEqual(pathlib.Path(self.target).read_bytes(), b"mine")


class KlTest(unittest.TestCase):
    def test_known_divergence(self):
        # p = (1/4, 3/4), q = (1/2, 1/2); adding a constant to all logits changes nothing.
        truth = np.array([[0.0, math.log(3)], [5.0, 5.0]])
        engine = np.array([[7.0, 7.0], [1.0, 1.0]])
        d = kl_table.distance(truth, engine)
        expected = 0.25 * math.log(0.5) + 0.75 * math.log(1.5)
        np.testing.assert_allclose(d.kl, [expected, 0.0], atol=1e-15)
        self.assertEqual(d.same_top.tolist(), [False, True])

    def test_large_logits_do_not_overflow(self):
        d = kl_table.distance(np.array([[1e4, 0.0]]), np.array([[1e4, 1.0]]))
        self.assertEqual(d.kl.tolist(), [0.0])

    def test_ratio_is_paired(self):
        hard = np.random.default_rng(5).lognormal(sigma=2, size=256)
        r = kl_table.ratio_of_means(0.5 * hard, hard)
        np.testing.assert_allclose([r.value, r.low, r.high], 0.5)

    def test_interval_covers_the_ratio_of_noisy_engines(self):
        rng = np.random.default_rng(6)
        r = kl_table.ratio_of_means(rng.exponential(size=256), rng.exponential(size=256))
        self.assertTrue(r.low < r.value < r.high)
        self.assertTrue(0.1 < r.high - r.low < 0.6)  # ratio of means: about 4 sqrt(2 / 256)

    def test_bad_logits_are_refused(self):
        good = np.zeros((2, 3))
        with self.assertRaisesRegex(ValueError, "shapes differ"):
            kl_table.distance(good, np.zeros((2, 4)))
        with self.assertRaisesRegex(ValueError, "not a finite number"):
            kl_table.distance(good, np.full((2, 3), np.nan))

    def test_raw_rows_after_a_header(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/rows.bin"
            rows = np.arange(6, dtype="<f4").reshape(2, 3)
            pathlib.Path(path).write_bytes(b"headers!" + rows.tobytes())
            np.testing.assert_array_equal(kl_table.load_logits(path, 8, 3), rows)
            with self.assertRaisesRegex(ValueError, "not whole rows"):
                kl_table.load_logits(path, 8, 4)

    def test_row(self):
        truth = np.array([[0.0, 1.0], [2.0, 0.0]])
        row = kl_table.compare("m", [truth], {"a": [truth], "b": [truth[:, ::-1]]})
        self.assertEqual(row["engines"]["a"], {"kl": 0.0, "top1": 1.0})
        self.assertEqual(row["engines"]["b"]["top1"], 0.0)
        self.assertEqual(row["ratios"]["b"]["value"], 0.0)
        self.assertIn("| m | 0.000e+00 |", kl_table.table(row))

    def test_sequences_are_joined(self):
        one, two = np.array([[0.0, 1.0]]), np.array([[3.0, 0.0], [0.0, 2.0]])
        row = kl_table.compare("m", [one, two], {"a": [one, two[:, ::-1]]})
        self.assertEqual(row["positions"], 3)
        self.assertAlmostEqual(row["engines"]["a"]["top1"], 1 / 3)
        with self.assertRaisesRegex(ValueError, "1 sequences, the truth 2"):
            kl_table.compare("m", [one, two], {"a": [one]})


if __name__ == "__main__":
    unittest.main()
