"""Mixtures of experts in float64: the experts that a token chooses, and their output.

    probabilities = softmax(router x)  or  sigmoid(router x); gpt-oss: exp(router x + bias)
    scores = probabilities + bias                        the bias affects only the choice
    groups: the experts of the best groups stay; a group's score is its best expert with softmax
            (DeepSeek-V2, arXiv 2405.04434, section 2.2) and the sum of its two best with sigmoid
            (DeepSeek-V3, arXiv 2412.19437, section 2.1)
    chosen = the best `used` scores, ties to the lower expert (and group)
    weights = probabilities of the chosen, divided by their sum if normed, times `scale`; those of
              gpt-oss are always normed, and thus the softmax of the chosen logits
    y = sum of weight * Wdown (silu(Wgate x) * Wup x) over the chosen; gpt-oss: gptoss.py

A router reads x unrounded: an engine computes it in float32, however it rounds for other products.

The gap of a row tells how near its choice was to another. It is the least difference between the
last expert or group that was chosen and the first that was not. It is in log probabilities with
softmax and in scores with sigmoid. A difference of zero is not a near miss but a tie, which has one
answer. There the gap is the difference to the nearest other score.
"""

from __future__ import annotations

import dataclasses

import numpy as np

import gguf_io
import gptoss
from elementary import gelu_tanh, silu

SIGMOID, OF_CHOSEN = 2, 3
# Architectures whose weights are normed unless the file says otherwise.
NORMED = (
    "llama", "qwen3moe", "minimax-m2", "qwen35moe", "qwen3next", "gemma4", "lfm2moe",
)  # fmt: skip
TIE = 1e-9


@dataclasses.dataclass(frozen=True)
class Routing:
    count: int
    used: int
    dense: int
    sigmoid: bool
    groups: int
    groups_used: int
    normed: bool
    scale: float
    of_chosen: bool = False


@dataclasses.dataclass(frozen=True)
class Choice:
    experts: np.ndarray  # [rows, used], the best first
    weights: np.ndarray  # [rows, used]
    scores: np.ndarray  # [rows, count]: log probabilities; with sigmoid, scores with bias
    gaps: np.ndarray  # [rows]


def read_routing(file: gguf_io.Gguf) -> Routing | None:
    arch = file.get("general.architecture")

    def get(key, default):
        return file.get(f"{arch}.{key}", default)

    if not (count := get("expert_count", 0)):
        return None
    gpt_oss = arch == gptoss.ARCHITECTURE
    return Routing(
        count=count,
        used=get("expert_used_count", 0),
        dense=get("leading_dense_block_count", 0),
        sigmoid=get("expert_gating_func", SIGMOID if arch == "glm4moe" else 0) == SIGMOID,
        groups=get("expert_group_count", 1),
        groups_used=get("expert_group_used_count", 1),
        normed=get("expert_weights_norm", arch in NORMED),
        scale=get("expert_weights_scale", 0.0) or 1.0,
        of_chosen=get("expert_gating_func", OF_CHOSEN if gpt_oss else 0) == OF_CHOSEN,
    )


def best(scores: np.ndarray, count: int) -> np.ndarray:
    return np.argsort(-scores, axis=1, kind="stable")[:, :count]


def gap_behind(scores: np.ndarray, count: int) -> np.ndarray:
    """By row, the difference between the last of the `count` best scores and the next one. Where
    the two tie, the difference to the nearest other score."""
    if count >= scores.shape[1]:
        return np.full(len(scores), np.inf)
    ordered = -np.sort(-scores, axis=1)
    last = ordered[:, count - 1 : count]
    away = np.abs(scores - last)
    others = np.where(away < TIE, np.inf, away).min(axis=1)
    gap = (last - ordered[:, count : count + 1])[:, 0]
    return np.where(gap < TIE, others, gap)


def group_scores(scores: np.ndarray, routing: Routing) -> np.ndarray:
    parts = -np.sort(-scores.reshape(len(scores), routing.groups, -1), axis=2)
    return parts[:, :, :2].sum(axis=2) if routing.sigmoid else parts[:, :, 0]


def choose(logits: np.ndarray, bias: np.ndarray | None, routing: Routing) -> Choice:
    if routing.sigmoid:
        probabilities = 0.5 * (1 + np.tanh(0.5 * logits))
        scores = probabilities if bias is None else probabilities + bias
    elif routing.of_chosen:
        scores, probabilities = logits, np.exp(logits - logits.max(axis=1, keepdims=True))
    else:
        shifted = logits - logits.max(axis=1, keepdims=True)
        scores = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        probabilities = np.exp(scores)
        if bias is not None:
            raise ValueError("no published model adds a bias to softmax")
    allowed, gaps = scores, np.full(len(scores), np.inf)
    if routing.groups > 1:
        of_groups = group_scores(scores, routing)
        kept = np.zeros(of_groups.shape, bool)
        np.put_along_axis(kept, best(of_groups, routing.groups_used), True, axis=1)
        each = routing.count // routing.groups
        allowed = np.where(np.repeat(kept, each, axis=1), scores, -np.inf)
        gaps = gap_behind(of_groups, routing.groups_used)
    experts = best(allowed, routing.used)
    weights = np.take_along_axis(probabilities, experts, axis=1)
    if routing.normed or routing.of_chosen:
        weights = weights / weights.sum(axis=1, keepdims=True)
    gaps = np.minimum(gaps, gap_behind(allowed, routing.used))
    return Choice(experts, weights * routing.scale, scores, gaps)


def products(x: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """x times every row. All sums have the same order, so that equal rows give equal numbers."""
    return np.sum(x[:, None, :] * rows[None, :, :], axis=2)


def plain_swiglu(gate: np.ndarray, up: np.ndarray) -> np.ndarray:
    return silu(gate) * up


def geglu(gate: np.ndarray, up: np.ndarray) -> np.ndarray:
    return gelu_tanh(gate) * up


def biases_of(model, name: str) -> np.ndarray:
    """[experts, rows], or zeros that fit any rows."""
    count, bias = model.config.experts.count, model.vector(name + ".bias")
    return np.zeros((count, 1)) if bias is None else bias.reshape(count, -1)


def feed_forward(
    model, x: np.ndarray, prefix: str, read: np.ndarray | None = None
) -> tuple[np.ndarray, Choice]:
    """The output of a layer's experts for the rows of x, and the chosen experts. `read`: the
    router's input, if not x."""
    routing = model.config.experts
    logits = products(x if read is None else read, model.weights[prefix + "ffn_gate_inp.weight"])
    if (bias := model.vector(prefix + "ffn_gate_inp.bias")) is not None:
        logits = logits + bias
    choice = choose(logits, model.vector(prefix + "exp_probs_b.bias"), routing)
    rounded = model.rounded_activations(x)
    ups = model.experts_of(prefix + "ffn_gate_up_exps")
    if ups is None:
        gates, ups = (model.experts_of(prefix + f"ffn_{n}_exps") for n in ("gate", "up"))
    else:
        gates, ups = np.split(ups, 2, axis=1)
    downs = model.experts_of(prefix + "ffn_down_exps")
    takers = [np.nonzero(choice.experts == e) for e in range(routing.count)]
    hidden = np.empty((*choice.experts.shape, ups.shape[1]))
    act = {gptoss.ARCHITECTURE: gptoss.swiglu, "gemma4": geglu}.get(model.config.arch, plain_swiglu)
    biases = [biases_of(model, prefix + f"ffn_{n}_exps") for n in ("gate", "up", "down")]
    for (rows, slots), gate, up, b, c in zip(takers, gates, ups, *biases[:2]):
        hidden[rows, slots] = act(rounded[rows] @ gate.T + b, rounded[rows] @ up.T + c)
    hidden = model.rounded_activations(hidden)
    out = np.zeros((len(x), downs.shape[1]))
    # Other architectures have this tensor only beside NVFP4 weights, which are already multiplied
    # by it.
    own = model.config.arch == "gemma4"
    scales = model.vector(prefix + "ffn_down_exps.scale") if own else None
    weights = choice.weights if scales is None else choice.weights * scales[choice.experts]
    for (rows, slots), down, b in zip(takers, downs, biases[2]):
        out[rows] += weights[rows, slots, None] * (hidden[rows, slots] @ down.T + b)
    return out, choice
