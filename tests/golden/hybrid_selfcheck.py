#!/usr/bin/env python3
"""Checks hybrid.py against other ways to the same numbers: the chunk form of the delta rule,
NumPy's convolution, heads in the other order, tokens one after another."""

import dataclasses
import pathlib
import tempfile
import unittest

import numpy as np

import gguf_io
import hybrid
import hybrid_specs
import make_models
import reference


def random_head(seed: int, n: int, length: int) -> list[np.ndarray]:
    r = np.random.default_rng(seed)
    q, k, v = (r.standard_normal((n, length)) for _ in range(3))
    k /= np.linalg.norm(k, axis=1, keepdims=True)
    return [q, k, v, -np.exp(r.uniform(-4, 1, n)), r.uniform(0, 1, n)]


def in_one_chunk(q, k, v, g, b) -> np.ndarray:
    """The rule over all rows at once, starting without a state (section 3.3 of the paper)."""
    total = np.cumsum(g)
    decay = np.tril(np.exp(np.minimum(total[:, None] - total[None, :], 0)))
    strict = np.tril(b[:, None] * (k @ k.T) * decay, -1)
    u = np.linalg.solve(np.eye(len(k)) + strict, b[:, None] * v)
    return ((q @ k.T) * decay) @ u / np.sqrt(k.shape[1])


class HybridTest(unittest.TestCase):
    def test_the_rule_is_that_of_a_chunk(self):
        for n, length in ((1, 3), (9, 4), (40, 16)):
            head = random_head(n, n, length)
            np.testing.assert_allclose(
                hybrid.delta_rule(*head, shared=n), in_one_chunk(*head), atol=1e-9
            )

    def test_the_convolution_is_numpys(self):
        r = np.random.default_rng(1)
        for taps in (1, 4, 7):
            x, w = r.standard_normal((12, 3)), r.standard_normal((3, taps))
            expected = [np.convolve(x[:, c], w[c, ::-1])[:12] for c in range(3)]
            y = hybrid.convolve(x, w, shared=12)
            np.testing.assert_allclose(y, hybrid.silu(np.stack(expected, axis=1)), atol=1e-12)

    def test_alternatives_see_what_all_share(self):
        head = random_head(2, 12, 8)
        together = hybrid.delta_rule(*head, shared=9)
        for last in (9, 10, 11):
            rows = [*range(9), last]
            alone = hybrid.delta_rule(*(part[rows] for part in head), shared=10)
            np.testing.assert_allclose(together[last], alone[-1], atol=1e-12)
        x, w = np.random.default_rng(3).standard_normal((12, 2)), np.ones((2, 4))
        together = hybrid.convolve(x, w, shared=9)
        alone = hybrid.convolve(x[[*range(9), 11]], w, shared=10)
        np.testing.assert_allclose(together[11], alone[-1], atol=1e-12)

    def test_value_heads_find_their_key_heads(self):
        shape = hybrid.Shape(3, 6, 8, 4, True, (False,))
        self.assertEqual([shape.key_head(j) for j in range(6)], [0, 1, 2, 0, 1, 2])
        shape = dataclasses.replace(shape, dealt=False)
        self.assertEqual([shape.key_head(j) for j in range(6)], [0, 0, 1, 1, 2, 2])

    def test_models_see_no_later_token_and_every_layer_counts(self):
        for spec in hybrid_specs.hybrid_models():
            if not spec.name.endswith("-f32"):
                continue
            with tempfile.TemporaryDirectory() as folder:
                path = str(pathlib.Path(folder) / "model.gguf")
                gguf_io.write(path, make_models.metadata(spec), make_models.tensors(spec))
                model = reference.Model(gguf_io.read(path))
            tokens = make_models.prompt(spec)[:20]
            logits = model.logits(tokens)
            np.testing.assert_allclose(model.logits(tokens[:11]), logits[:11], atol=1e-9)
            for name, values in list(model.weights.items()):
                if not any(part in name for part in (".ssm_", "attn_gate", "shexp", "shortconv")):
                    continue
                model.weights[name] = values * 1.5
                moved = np.abs(model.logits(tokens) - logits).max() / logits.std()
                self.assertGreater(moved, 1e-3, name)
                model.weights[name] = values


if __name__ == "__main__":
    unittest.main()
