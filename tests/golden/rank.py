"""Rerankers: the reading of a pair of texts, and its score.

A pair is one text of tokens. Where a model has token types, tokens from `second` on have the second
type (Devlin et al. 2019). The score is made of the first position's row in an encoder, of the last
position's in a decoder:

    score = cls.output tanh(cls x)     or with only one of the matrices, and no tanh
    score = row of yes - row of no     of cls.output, if classifier.output_labels names its rows;
                                       of the logits, if the model has no head of its own
"""

from __future__ import annotations

import numpy as np

import draws
import reference

# The tokens of yes and no for a pair without a head of its own, the same in every model.
YES, NO = 270, 281


def head_tensors(spec, r: np.random.Generator):
    """Yields (name, values) of a golden model's head (model_specs.Spec)."""
    for name in spec.head:
        rows = len(spec.labels) or 1 if name == spec.head[-1] else spec.embedding
        yield name + ".weight", draws.matrix(r, spec.embedding, rows, 1.0)
        if name in spec.biases:
            yield name + ".bias", 0.5 * r.standard_normal(rows)


def _linear(model: reference.Model, x: np.ndarray, name: str) -> np.ndarray:
    weight = model.weights[name + ".weight"].reshape(-1, len(x))
    bias = model.vector(name + ".bias")
    return weight @ x + (0.0 if bias is None else bias)


def score(model: reference.Model, tokens: list[int], second: int, labels: tuple[str, ...]) -> float:
    rows = model.hidden(tokens, second)
    x = rows[0] if model.config.encoder else rows[-1]
    if "cls.output.weight" not in model.weights and "cls.weight" not in model.weights:
        head = "output" if "output.weight" in model.weights else "token_embd"
        logits = model.linear(x[None, :], head)[0]
        return float(logits[YES] - logits[NO])
    if "cls.output.weight" in model.weights and "cls.weight" in model.weights:
        x = np.tanh(_linear(model, x, "cls"))
    out = "cls.output" if "cls.output.weight" in model.weights else "cls"
    values = _linear(model, x, out)
    if not labels:
        return float(values[0])
    return float(values[labels.index("yes")] - values[labels.index("no")])
