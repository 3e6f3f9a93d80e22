#!/usr/bin/env python3
"""Tests of the reference's mixtures of experts: against a second, naive way of routing, numbers
worked out by hand, and symmetries."""

from __future__ import annotations

import dataclasses
import math
import unittest

import make_models  # first: it fixes the number of BLAS threads

import numpy as np

import experts
import gguf_io
import mla_specs
import moe_specs
import reference
from model_specs import Spec


def spec_named(name: str) -> Spec:
    specs = moe_specs.moe_models() + mla_specs.mla_models()
    return next(s for s in specs if s.name == name)


def model_of(spec: Spec) -> tuple[reference.Model, list[int]]:
    """The model and a prompt that may have near misses."""
    tensors = {t.name: t for t in make_models.tensors(spec)}
    model = reference.Model(gguf_io.Gguf(make_models.metadata(spec), tensors))
    return model, make_models.prompt(spec)


def model_and_own_prompt(name: str) -> tuple[reference.Model, list[int]]:
    spec = spec_named(name)
    model, _ = model_of(spec)
    return model, make_models.clear_prompt(spec, model)


def routing(count: int, used: int, **more) -> experts.Routing:
    return experts.Routing(count, used, **{"dense": 0, "sigmoid": False, "groups": 1,
                                           "groups_used": 1, "normed": False, "scale": 1.0, **more})


def naive(logits: list[float], bias: list[float] | None, r: experts.Routing) -> dict[int, float]:
    """{expert: weight} of one token, in plain Python."""
    if r.sigmoid:
        probabilities = [1 / (1 + math.exp(-x)) for x in logits]
    else:
        total = sum(math.exp(x) for x in logits)
        probabilities = [math.exp(x) / total for x in logits]
    scores = [p + b for p, b in zip(probabilities, bias or [0.0] * r.count)]
    each, ranked = r.count // r.groups, []
    for g in range(r.groups):
        ordered = sorted(scores[g * each : (g + 1) * each], reverse=True)
        ranked.append((-(sum(ordered[:2]) if r.sigmoid else ordered[0]), g))
    kept = {g for _, g in sorted(ranked)[: r.groups_used]}
    candidates = sorted((-scores[e], e) for e in range(r.count) if e // each in kept)
    chosen = [e for _, e in candidates[: r.used]]
    total = sum(probabilities[e] for e in chosen) if r.normed else 1.0
    return {e: probabilities[e] / total * r.scale for e in chosen}


class RoutingTest(unittest.TestCase):
    def test_against_the_naive_way(self):
        r = np.random.Generator(np.random.PCG64(11))
        ways = [
            routing(7, 3), routing(5, 1, normed=True, scale=2.5), routing(5, 5, normed=True),
            routing(12, 4, groups=4, groups_used=2), routing(7, 2, sigmoid=True, normed=True),
            routing(12, 3, sigmoid=True, groups=3, groups_used=2, scale=16.0),
        ]  # fmt: skip
        for way in ways:
            bias = 0.4 * r.standard_normal(way.count) if way.sigmoid else None
            logits = 1.5 * r.standard_normal((40, way.count))
            logits[::4, 1] = logits[::4, -1]  # ties; the naive way takes the lower number
            choice = experts.choose(logits, bias, way)
            for row, chosen, weights in zip(logits, choice.experts, choice.weights):
                expected = naive(row.tolist(), None if bias is None else bias.tolist(), way)
                self.assertEqual(set(chosen.tolist()), set(expected))
                for e, w in zip(chosen.tolist(), weights.tolist()):
                    self.assertAlmostEqual(w, expected[e], places=12)

    def test_worked_out_by_hand(self):
        half = math.log(2)
        logits = np.array([[0.0, half, 0.0, -half, half, 0.0]])  # 1, 2, 1, 1/2, 2, 1: sum 7.5
        choice = experts.choose(logits, None, routing(6, 3))
        self.assertEqual(choice.experts.tolist(), [[1, 4, 0]])
        np.testing.assert_allclose(choice.weights, [[2 / 7.5, 2 / 7.5, 1 / 7.5]], rtol=1e-14)
        # The third is a tie of three. The nearest other scores are twice and half of it.
        self.assertAlmostEqual(choice.gaps[0], half)
        self.assertAlmostEqual(experts.choose(logits, None, routing(6, 2)).gaps[0], half)
        # The groups have 2 and 2 by their best, so the first wins; both have
        # 2/3 + 1/2 by their two best.
        best = experts.choose(logits, None, routing(6, 1, groups=2))
        self.assertEqual(best.experts.tolist(), [[1]])
        bias = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.1])
        two = experts.choose(logits, bias, routing(6, 2, groups=2, sigmoid=True, scale=3.0))
        self.assertEqual(two.experts.tolist(), [[4, 5]])
        np.testing.assert_allclose(two.weights, [[2.0, 1.5]], rtol=1e-14)  # without the bias

    def test_two_best_and_best_of_a_group_differ(self):
        logits = np.array([[2.0, -3.0, 1.0, 1.0]])
        for sigmoid, expected in ((False, 0), (True, 2)):
            choice = experts.choose(logits, None, routing(4, 1, groups=2, sigmoid=sigmoid))
            self.assertEqual(choice.experts.tolist(), [[expected]])


class MoeModelTest(unittest.TestCase):
    def test_a_layer_against_loops(self):
        for name in ("qwen3moe-f16", "mixtral-q4_0", "glm4moe-f32", "deepseek2-f32-lite",
                     "deepseek2-f32-v2", "deepseek2-f32-v3"):  # fmt: skip
            model, _ = model_of(spec_named(name))
            c, prefix = model.config.experts, f"blk.{model.config.layers - 1}."
            x = np.random.Generator(np.random.PCG64(12)).standard_normal((5, 300))
            x = x[:, : model.weights[prefix + "ffn_gate_inp.weight"].shape[1]]
            actual = model._experts(x, prefix)
            w = {n.removeprefix(prefix).removesuffix(".weight"): v
                 for n, v in model.weights.items() if n.startswith(prefix)}  # fmt: skip
            for row, out in zip(x, actual):
                bias = w["exp_probs_b.bias"][0].tolist() if "exp_probs_b.bias" in w else None
                expected = np.zeros(len(row))
                for e, weight in naive((w["ffn_gate_inp"] @ row).tolist(), bias, c).items():
                    expected += weight * self.expert(w, c.count, e, row)
                if "ffn_up_shexp" in w:
                    expected += self.swiglu(*(w[f"ffn_{n}_shexp"] for n in ("gate", "up", "down")),
                                            row)  # fmt: skip
                np.testing.assert_allclose(out, expected, rtol=0, atol=1e-12)

    def swiglu(self, gate, up, down, x):
        g = gate @ x
        return down @ (g / (1 + np.exp(-g)) * (up @ x))

    def expert(self, w, count, e, x):
        if "ffn_gate_up_exps" in w:
            both = np.split(w["ffn_gate_up_exps"], count)[e]
            gate, up = both[: len(both) // 2], both[len(both) // 2 :]
        else:
            gate, up = (np.split(w[f"ffn_{n}_exps"], count)[e] for n in ("gate", "up"))
        return self.swiglu(gate, up, np.split(w["ffn_down_exps"], count)[e], x)

    def test_equal_experts_are_an_ffn(self):
        spec = spec_named("qwen3moe-f32")
        model, tokens = model_of(spec)
        for name, w in model.weights.items():
            if "_exps." in name:
                one = np.split(w, spec.experts.count)[2]
                model.weights[name] = np.tile(one, (spec.experts.count, 1))
        sparse = model.logits(tokens)
        for i in range(spec.layers):
            for n in ("gate", "up", "down"):
                whole = model.weights[f"blk.{i}.ffn_{n}_exps.weight"]
                model.weights[f"blk.{i}.ffn_{n}.weight"] = np.split(whole, spec.experts.count)[0]
        model.config = dataclasses.replace(model.config, experts=None)
        np.testing.assert_allclose(model.logits(tokens), sparse, rtol=0, atol=1e-11)

    def test_ties_decide(self):
        """In the model made for ties, many choices fall between equal scores, and the lower expert
        is taken. The higher one would have given other logits."""
        model, tokens = model_and_own_prompt("qwen3moe-f32-ties")
        twins = dict(spec_named("qwen3moe-f32-ties").experts.twins)
        before, decided = model.logits(tokens), 0
        for choice in model.choices:
            for low, high in twins.items():
                np.testing.assert_array_equal(choice.scores[:, low], choice.scores[:, high])
                has_low, has_high = (np.any(choice.experts == e, axis=1) for e in (low, high))
                self.assertFalse(np.any(has_high & ~has_low))
                decided += int(np.sum(has_low & ~has_high))
        self.assertGreater(decided, 10)
        for i in range(model.config.layers):
            w = model.weights[f"blk.{i}.ffn_down_exps.weight"]
            parts = np.split(w, 7)
            order = [5, 4, 6, 3, 1, 0, 2]
            model.weights[f"blk.{i}.ffn_down_exps.weight"] = np.concatenate(
                [parts[e] for e in order]
            )
        self.assertGreater(np.abs(model.logits(tokens) - before).max(), 0.1)

    def test_equal_groups_decide(self):
        model, tokens = model_and_own_prompt("deepseek2-f32-ties")
        model.hidden(tokens)
        routing, decided = model.config.experts, 0
        for choice in model.choices:
            scores = experts.group_scores(choice.scores, routing)
            for low, high in ((0, 3), (1, 2)):
                np.testing.assert_array_equal(scores[:, low], scores[:, high])
                has_low, has_high = (np.any(choice.experts // 3 == g, axis=1) for g in (low, high))
                decided += int(np.sum(has_low & ~has_high))
                self.assertFalse(np.any(has_high & ~has_low))
        self.assertGreater(decided, 10)

    def test_groups_change_the_choice(self):
        for name in ("deepseek2-f32-v2", "deepseek2-f32-v3", "deepseek2-q4_k"):
            model, tokens = model_and_own_prompt(name)
            model.hidden(tokens)
            last = model.choices[-1]
            free = experts.best(last.scores, model.config.experts.used)
            changed = np.any(np.sort(free) != np.sort(last.experts), axis=1)
            with self.subTest(name):
                self.assertGreater(changed.mean(), 0.1)

    def test_a_bias_changes_the_choice(self):
        for name in ("glm4moe-f32", "glm4moe-bf16", "deepseek2-f16", "deepseek2-f32-top1"):
            model, tokens = model_and_own_prompt(name)
            model.logits(tokens)
            prefix = f"blk.{model.config.layers - 1}."
            bias = model.vector(prefix + "exp_probs_b.bias")
            last = model.choices[-1]
            plain = experts.best(last.scores - bias, model.config.experts.used)
            changed = np.any(np.sort(plain) != np.sort(last.experts), axis=1)
            self.assertGreater(changed.mean(), 0.15)
            # No expert is chosen with a score of zero, which some programs give to masked groups.
            self.assertGreater(np.take_along_axis(last.scores, last.experts, axis=1).min(), 0)

    def test_every_expert_is_taken_and_left(self):
        for name in ("qwen3moe-f32", "qwen3moe-f32-ties", "mixtral-q4_0", "glm4moe-bf16",
                     "deepseek2-f32-v3"):  # fmt: skip
            spec = spec_named(name)
            model, tokens = model_and_own_prompt(name)
            model.hidden(tokens)
            self.assertEqual(len(model.choices), spec.layers - spec.experts.dense)
            taken = np.concatenate([c.experts.ravel() for c in model.choices])
            with self.subTest(spec.name):
                self.assertEqual(set(taken.tolist()), set(range(spec.experts.count)))

    def test_layers_for_further_tokens_are_not_run(self):
        spec = spec_named("glm4moe-f32")
        model, tokens = model_of(spec)
        before = model.logits(tokens)
        last = f"blk.{spec.layers}."
        extra = [n for n in model.weights if n.startswith(last)]
        self.assertIn(last + "nextn.eh_proj.weight", extra)
        for name in extra:
            del model.weights[name]
        np.testing.assert_array_equal(model.logits(tokens), before)


if __name__ == "__main__":
    unittest.main()
