#!/usr/bin/env python3
"""Writes the golden set: tiny random models and the logits that a correct engine computes for them.

    make_models.py OUTDIR [NAME ...]        all models, or those named

Per model NAME.gguf, NAME.tokens.txt (one prompt, ids separated by spaces) and NAME.logits.npy
(float32, C order, [tokens, vocab]: row i after tokens 0 .. i), and one manifest.json for the set.
The logits come from reference.py: float64 on the weights as the file holds them, so a quantised
file's golden is that file dequantised. Fixed seeds make the set the same on every run.

Models with mixtures of experts have their own lists: `moe_models`, and `mla_models` with latent
attention. Models whose layers keep states are `hybrid_models`. No rounding that an engine may do
changes the experts that their prompts choose. `least_gap` is the distance of the nearest choice to
another (experts.py); `scores` beside a noise is the most that it moves the scores.

types.gguf has random blocks of every tensor type and their values (type_blocks.py).

Directories in the form of Hugging Face's hub are `hf_models`. `path` is the directory's name.
`twin` names the GGUF model with the same weights, whose prompt and noises it shares. Their logits
come from hf_reference.py, with FP8 decoded exactly. `hf_code_models` have Linears in codes of other
quantisers.

An encoder has NAME.hidden.npy ([tokens, embedding]) instead of logits. Its tokens are several
texts, whose lengths the manifest has (`texts`). The encoders have their own list (`encoders`), and
models of architectures that only tests know another (`test_models`). Rerankers (`rerankers`) have
NAME.scores.npy, a score for each of their pairs, whose second texts begin at `seconds`.

The distance allowed to an engine depends on its rounding. For each model the manifest gives the
change of the logits when reference.py rounds in the same way (`noise`). It is the root mean square
of the difference over all logits and its maximum, both divided by the logits' standard deviation.
`activation` rounds the input of every matrix product, `kv` the keys and values. Rounding errors of
two correct engines are independent draws of that size, so a small multiple of it is a sound
tolerance.
"""

from __future__ import annotations

import os

# One BLAS thread is used, since the order of a sum must not depend on the number of free cores.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import collections
import dataclasses
import json
import math
import pathlib
from collections.abc import Iterable

import numpy as np

import delta_tensors
import draws
import experts
import expert_tensors
import gemma
import gemma4_tensors
import gemma_specs
import gguf_io
import hf_hybrid
import hf_reference
import hf_specs
import hf_write
import hybrid_specs
import mla_specs
import model_specs
import moe_specs
import quants
import rank
import reference
import rope
import safetensors_io
import scaled
import type_blocks
import vocabulary
from gguf_io import ValueType, array, boolean, f32, string, u32
from model_specs import Spec
from quants import Type

POOLINGS = ("none", "mean", "cls", "last", "rank")
EPSILON = 1e-5
LOGIT_STD = 2.0
ALTERNATIVES = 12

NOISES = {
    "f32": reference.Noise(activation=Type.F32, kv=Type.F32),
    "activation bf16": reference.Noise(activation=Type.BF16),
    "activation q8_0": reference.Noise(activation=Type.Q8_0),
    "kv f16": reference.Noise(kv=Type.F16),
    "kv bf16": reference.Noise(kv=Type.BF16),
    "kv q8_0": reference.Noise(kv=Type.Q8_0),
}


def _plain_value(x: float | int | str) -> gguf_io.Value:
    if isinstance(x, (str, bool)):
        return boolean(x) if isinstance(x, bool) else string(x)
    return f32(x) if isinstance(x, float) else u32(x)


def metadata(spec: Spec) -> dict[str, gguf_io.Value]:
    out = {
        "general.architecture": string(spec.arch),
        "general.name": string(spec.name),
        "general.quantization_version": u32(2),
    }
    own = {
        "block_count": u32(spec.layers + spec.next_layers),
        "context_length": u32(spec.context),
        "embedding_length": u32(spec.embedding),
        "feed_forward_length": u32(spec.ffn),
        "vocab_size": u32(spec.vocab),
        "attention.head_count": u32(spec.heads),
        "attention.head_count_kv": u32(spec.kv_heads),
    }
    epsilon = "layer_norm_epsilon" if spec.layer_norms else "layer_norm_rms_epsilon"
    own[f"attention.{epsilon}"] = f32(EPSILON)
    if spec.encoder and not spec.of_tests and not spec.lean:
        own["attention.causal"] = boolean(False)
    if spec.temperature:
        own["attention.temperature_scale"] = f32(spec.temperature)
    if spec.pooling:
        own["pooling_type"] = u32(POOLINGS.index(spec.pooling))
    if spec.labels:
        own["classifier.output_labels"] = array(ValueType.STRING, list(spec.labels))
    if spec.alibi:
        own["attention.max_alibi_bias"] = f32(spec.alibi)
    attention = {"key_length": spec.key_length, "value_length": spec.value_length,
                 "sliding_window": spec.window,
                 "sliding_window_pattern": spec.period}  # fmt: skip
    own.update({f"attention.{k}": u32(x) for k, x in attention.items() if x})
    whole = {} if spec.layer_norms or spec.gemma else {"dimension_count": spec.key}
    rope_values = {**whole, **spec.rope}
    own.update({f"rope.{k}": _plain_value(x) for k, x in rope_values.items()})
    if spec.experts:
        own.update(expert_tensors.keys(spec))
    if spec.mla:
        own.update(expert_tensors.latent_keys(spec))
    if spec.delta or spec.conv:
        own.update(delta_tensors.keys(spec))
    if spec.gemma4:
        own.update(gemma4_tensors.keys(spec))
    if spec.lean:
        for key in ("vocab_size", "attention.head_count_kv", "rope.dimension_count"):
            own.pop(key, None)
    out.update({f"{spec.arch}.{k}": v for k, v in own.items()})
    if spec.types:
        out["tokenizer.ggml.token_type_count"] = u32(spec.types)
    return {**out, **vocabulary.metadata(spec.vocab)}


def residual_gain(spec: Spec) -> float:
    """The gain of a layer's output."""
    return 2.0 / math.sqrt(2 * spec.layers)


def linears(spec: Spec, layer: int) -> list[tuple[str, int, int, float]]:
    """(name, columns, rows, gain) of a layer's matrices. Gains keep attention sharp and the
    residual stream near unit size."""
    qk = 1.0 if spec.normed_heads or spec.norms_rows else 1.4
    out = residual_gain(spec)
    q, k = spec.heads * spec.key * (2 if spec.delta else 1), spec.kv_heads * spec.key
    v, d = spec.kv_heads * spec.value, spec.embedding
    attention = [("attn_q", d, q, qk), ("attn_k", d, k, qk), ("attn_v", d, v, 1.0)]
    if "attn_qkv" in spec.fused:
        attention = [("attn_qkv", d, q + k + v, qk)]
    if spec.mla:
        attention = expert_tensors.latent_linears(spec)
    gate = [("ffn_gate", d, spec.ffn, 1.5)]
    up = [("ffn_up", d, spec.ffn, 1.5)]
    if spec.arch == "bert" or (spec.arch == "jina-bert-v2" and not spec.gated):
        gate = []
    if "ffn_up" in spec.fused:
        gate, up = [], [("ffn_up", d, 2 * spec.ffn, 1.5)]
    value = spec.mla.value if spec.mla else spec.value
    output = [("attn_output", spec.heads * value, d, out)]
    if not spec.has_attention(layer):
        attention, output = delta_tensors.linears(spec, out), []
    feed_forward = gate + up + [("ffn_down", spec.ffn, d, out)]
    return attention + output + ([] if spec.has_experts(layer) else feed_forward)


def layer_weights(spec: Spec, r: np.random.Generator, layer: int):
    """Yields (name, values) of a layer's tensors."""
    d, prefix = spec.embedding, f"blk.{layer}."
    if spec.gemma4:
        yield from gemma4_tensors.layer(spec, r, layer, residual_gain(spec))
        return
    if spec.layer_norms:
        yield from draws.layer_norm(r, prefix + "attn_output_norm", d)
        yield from draws.layer_norm(r, prefix + "layer_output_norm", d)
    else:
        yield prefix + "attn_norm.weight", draws.norm(r, d, 1.0)
        yield f"{prefix}{spec.second_norm}.weight", draws.norm(r, d, 1.0)
    if spec.gemma:
        for name in ("post_attention_norm", "post_ffw_norm"):
            yield f"{prefix}{name}.weight", draws.norm(r, d, residual_gain(spec))
    if spec.code:
        yield from draws.layer_norm(r, prefix + "attn_q_norm", d)
        yield from draws.layer_norm(r, prefix + "attn_k_norm", d)
        yield from draws.layer_norm(r, prefix + "attn_norm_2", d)
    if spec.norms_rows and not spec.code:
        yield prefix + "attn_q_norm.weight", draws.norm(r, spec.heads * spec.key, 1.5)
        yield prefix + "attn_k_norm.weight", draws.norm(r, spec.kv_heads * spec.key, 1.5)
    if not spec.has_attention(layer):
        yield from delta_tensors.tensors(spec, r, prefix)
    elif spec.normed_heads:
        yield prefix + "attn_q_norm.weight", draws.norm(r, spec.key, 1.5)
        yield prefix + "attn_k_norm.weight", draws.norm(r, spec.key, 1.5)
    for name, n, rows, gain in linears(spec, layer):
        yield f"{prefix}{name}.weight", draws.matrix(r, n, rows, gain)
        if name in spec.biases:
            yield f"{prefix}{name}.bias", 0.5 * r.standard_normal(rows)
    if spec.sinks:
        yield prefix + "attn_sinks.weight", r.uniform(*spec.sinks, spec.heads)
    if spec.mla:
        yield from expert_tensors.latent_tensors(spec, r, prefix)
    if spec.has_experts(layer):
        yield from expert_tensors.feed_forward(spec, r, prefix, residual_gain(spec))
    if layer >= spec.layers:
        yield from expert_tensors.next_token_layer(spec, r, prefix)


def weights(spec: Spec):
    d = spec.embedding
    # An embedding's elements have this size times 1 / sqrt(d).
    size = 1.0 if spec.scales_embedding else math.sqrt(d)
    r = draws.generator(spec.name, "weights")
    yield "token_embd.weight", draws.matrix(r, d, spec.vocab, size)
    for layer in range(spec.layers + spec.next_layers):
        yield from layer_weights(spec, r, layer)
    if spec.layer_norms:
        yield from draws.layer_norm(r, "token_embd_norm", d)
        if spec.types:
            yield "token_types.weight", np.squeeze(draws.matrix(r, d, spec.types, math.sqrt(d)))
        if spec.arch == "bert":
            yield "position_embd.weight", draws.matrix(r, d, spec.context, math.sqrt(d))
    elif spec.tied:
        # Random signs keep the head from simply finding the token that came in.
        signs = np.where(r.random(d) < 0.5, -1.0, 1.0)
        yield spec.last_norm, signs * draws.norm(r, d, LOGIT_STD / size)
    else:
        yield spec.last_norm, draws.norm(r, d, 1.0)
        yield "output.weight", draws.matrix(r, d, spec.vocab, LOGIT_STD)
    if spec.gemma4:
        yield from gemma4_tensors.shared_tensors(spec, r)
    yield from rope.divisor_tensors(spec)
    yield from rank.head_tensors(spec, r)


def tensors(spec: Spec) -> list[gguf_io.Tensor]:
    out = []
    for name, values in weights(spec):
        # A directory stores norms that are smaller by `less`. Adding `less` must give these values
        # to the bit.
        less = gemma.NORM_SHIFT if spec.gemma and values.ndim == 1 else 0.0
        less = hf_hybrid.NORM_SHIFT if spec.delta and hf_hybrid.is_shifted(name) else less
        if (spec.twin or less) and not name.endswith("ssm_a"):
            values = quants.round_to(Type.BF16 if spec.twin else Type.F32, values - less) + less
        shape = values.shape[::-1]
        kind = model_specs.tensor_type(spec, name, shape)
        if spec.scaled and kind == Type.NVFP4:
            out += scaled.tensors(name, values)
            continue
        data = quants.quantize(kind, values.reshape(-1, shape[0]))
        out.append(gguf_io.Tensor(name, kind, shape, data))
    return out


def prompt(spec: Spec) -> list[int]:
    r = draws.generator(spec.name, "tokens")
    return [1] + r.integers(vocabulary.BYTE_TOKENS_START, spec.vocab, spec.tokens - 1).tolist()


def clear_prompt(spec: Spec, model: reference.Model) -> list[int]:
    """A prompt in which no rounding that an engine may do changes a choice of experts. For each
    position several tokens are tried, and the one with the largest gap (experts.py) is taken."""
    if not spec.experts or spec.experts.used == spec.experts.count:
        return prompt(spec)
    r, tokens = draws.generator(spec.name, "tokens"), []
    model.alternatives = ALTERNATIVES
    while len(tokens) < spec.tokens:
        others = r.integers(vocabulary.BYTE_TOKENS_START, spec.vocab, ALTERNATIVES).tolist()
        model.hidden(tokens + others)
        gaps = np.min([c.gaps[-ALTERNATIVES:] for c in model.choices], axis=0)
        tokens.append(others[int(gaps.argmax())])
    model.alternatives = 1
    return tokens


def texts(spec: Spec, tokens: list[int]) -> list[list[int]]:
    ends = np.cumsum(spec.texts or [spec.tokens]).tolist()
    return [tokens[begin:end] for begin, end in zip([0, *ends], ends)]


def seconds(spec: Spec) -> list[int]:
    """The positions where the second texts of a reranker's pairs begin."""
    return [length // 3 for length in spec.texts] if spec.ranks else []


def what_is_given(spec: Spec) -> str:
    return "scores" if spec.ranks else "hidden" if spec.encoder else "logits"


def given(spec: Spec, model: reference.Model, tokens: list[int]) -> np.ndarray:
    """The rows that an engine is compared with, text after text; for pairs, their scores."""
    if spec.ranks:
        pairs = zip(texts(spec, tokens), seconds(spec))
        return np.array([rank.score(model, text, at, spec.labels) for text, at in pairs])
    rows = model.hidden if spec.encoder else model.logits
    return np.concatenate([rows(text) for text in texts(spec, tokens)])


def noise_that_an_engine_makes(types: dict[str, int]) -> list[str]:
    """The roundings that an engine may do with matrices of these types."""
    if set(types) - {"F32", "F16", "BF16", safetensors_io.F8}:
        return ["activation q8_0"]
    if {"BF16", safetensors_io.F8} & set(types):
        return ["activation bf16"]
    return ["f32", "kv f16", "kv bf16", "kv q8_0"]


def check_choices(
    name: str, exact: list[experts.Choice], noisy: list[experts.Choice], own: bool
) -> float:
    """The most by which the noise moves scores. Noise of the model's own type must change no
    choice, and leave room for an engine's noise, which is another draw."""
    moved = max(float(np.abs(a.scores - b.scores).max()) for a, b in zip(exact, noisy))
    gap = min(float(c.gaps.min()) for c in exact)
    same = all(np.array_equal(np.sort(a.experts), np.sort(b.experts))
               for a, b in zip(exact, noisy))  # fmt: skip
    if own and (not same or gap < 2 * moved):
        raise ValueError(f"{name}: scores move by {moved:.2g}, choices are {gap:.2g} apart")
    return moved


def measure_noise(
    spec: Spec, model: reference.Model, tokens: list[int], types: dict[str, int]
) -> tuple[np.ndarray, dict]:
    """The model's result, and the change that every noise makes to it."""
    exact, choices, out = given(spec, model, tokens), model.choices, {}
    own = noise_that_an_engine_makes(types)
    for name, noise in NOISES.items():
        model.noise = noise
        relative = np.abs(given(spec, model, tokens) - exact) / exact.std()
        rms, peak = np.sqrt(np.mean(relative**2)), relative.max()
        out[name] = {"rms": float(f"{rms:.2e}"), "max": float(f"{peak:.2e}")}
        if choices:
            moved = check_choices(f"{spec.name}, {name}", choices, model.choices, name in own)
            out[name]["scores"] = float(f"{moved:.2e}")
    model.noise, model.choices = reference.Noise(), choices
    return exact, out


def types_of(matrices: Iterable[str]) -> dict[str, int]:
    return dict(sorted(collections.Counter(matrices).items()))


def save(folder: pathlib.Path, name: str, rows: str, values: np.ndarray, tokens: list[int]) -> None:
    np.save(folder / f"{name}.{rows}.npy", values.astype("<f4"))
    (folder / f"{name}.tokens.txt").write_text(" ".join(map(str, tokens)) + "\n")


def describe(
    spec: Spec, model: reference.Model, types: dict[str, int], folder: pathlib.Path
) -> dict:
    """Writes the model's prompt and its result; returns the model's entry in the manifest."""
    tokens = clear_prompt(spec, model)
    exact, noise = measure_noise(spec, model, tokens, types)
    save(folder, spec.name, what_is_given(spec), exact, tokens)
    entry = {
        "name": spec.name,
        "arch": spec.arch,
        "types": types,
        "n_tokens": len(tokens),
        "texts": [len(text) for text in texts(spec, tokens)],
        "n_vocab": spec.vocab,
        "n_embd": spec.embedding,
        "features": list(spec.features),
        {"hidden": "hidden_std", "logits": "logit_std", "scores": "score_std"}[what_is_given(spec)]:
            round(float(exact.std()), 4),
        "noise": noise,
    }
    if spec.ranks:
        entry["seconds"] = seconds(spec)
        entry["words"] = [] if spec.head else [rank.YES, rank.NO]
    if np.isfinite(gap := min((float(c.gaps.min()) for c in model.choices), default=np.inf)):
        entry["least_gap"] = float(f"{gap:.2e}")
    return entry


def make(spec: Spec, folder: pathlib.Path) -> dict:
    path = folder / f"{spec.name}.gguf"
    gguf_io.write(str(path), metadata(spec), tensors(spec))
    file = gguf_io.read(str(path))
    types = types_of(t.type.name for t in file.tensors.values() if len(t.shape) > 1)
    return describe(spec, reference.Model(file), types, folder)


def directory_types(
    directory: hf_specs.Directory, stored: dict[str, safetensors_io.Stored]
) -> dict[str, int]:
    """The types of matrices. A Linear in codes is counted by its scales."""
    codes = []
    if directory.layout:
        ends = (".weight_scale", ".weight_scale_inv", ".scales")
        codes = [directory.layout.type for name in stored if name.endswith(ends)]
        stored = {n: t for n, t in stored.items() if n.endswith(".weight") and t.type == "BF16"}
    kinds = ["mxfp4" if n.endswith("_blocks") else t.type for n, t in stored.items()
             if len(t.shape) > 1 and "scale" not in n and not n.endswith("bias")]  # fmt: skip
    return types_of(kinds + codes)


def make_directory(
    directory: hf_specs.Directory, folder: pathlib.Path, twin: dict | None
) -> dict:
    """Makes a directory. `twin` is the entry of the GGUF file with the same weights, whose prompt
    it shares and whose logits it must give."""
    path = folder / directory.name
    hf_write.write(directory, tensors(directory.of), path)
    model = hf_reference.Model(path)
    stored = safetensors_io.read_directory(path)
    types = directory_types(directory, stored)
    spec = dataclasses.replace(directory.of, name=directory.name)
    if twin is None:
        entry = describe(spec, model, types, folder)
    else:
        tokens = [int(t) for t in (folder / f"{twin['name']}.tokens.txt").read_text().split()]
        logits = given(spec, model, tokens)
        others = np.load(folder / f"{twin['name']}.logits.npy")
        if (far := np.abs(logits - others).max()) > 1e-5:  # the rounding of float32
            raise ValueError(f"{directory.name} differs from its twin by {far:.2g}")
        save(folder, directory.name, "logits", logits, tokens)
        entry = {**twin, "name": directory.name, "types": types, "twin": twin["name"]}
    return {**entry, "path": directory.name, "features": list(directory.features)}


TOLERANCE_NOTE = (
    "Divide |engine - golden| by logit_std (hidden_std, score_std). Compare its rms and maximum "
    "with a few times the noise entries for whatever the engine rounds; entries of several "
    "roundings add as squares."
)


def all_specs() -> dict[str, list[Spec]]:
    """The manifest's lists of GGUF files."""
    out = {"models": [], "encoders": [], "test_models": []}
    for spec in model_specs.specs() + gemma_specs.gemma_models():
        kind = "test_models" if spec.of_tests else "encoders" if spec.encoder else "models"
        out[kind].append(spec)
    out["rerankers"] = model_specs.rerankers()
    return {**out, "moe_models": moe_specs.moe_models(), "mla_models": mla_specs.mla_models(),
            "hybrid_models": hybrid_specs.hybrid_models()}  # fmt: skip


def all_directories() -> dict[str, list[hf_specs.Directory]]:
    """The manifest's lists of directories."""
    return {"hf_models": hf_specs.directories() + hf_specs.gemma_directories() +
            hf_specs.hybrid_directories(),
            "hf_code_models": hf_specs.code_directories()}  # fmt: skip


def make_all(folder: pathlib.Path, named: set[str]) -> dict[str, list[dict]]:
    """The manifest's lists, made of the named models or of all."""
    lists = {
        kind: [make(s, folder) for s in specs if not named or s.name in named]
        for kind, specs in all_specs().items()
    }
    entries = {e["name"]: e for made in lists.values() for e in made}
    directories = {
        kind: [
            make_directory(d, folder, entries.get(d.twin))
            for d in all_of_kind
            if not named or d.name in named
        ]
        for kind, all_of_kind in all_directories().items()
    }
    return {**lists, **directories}


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the golden models and their logits.")
    parser.add_argument("outdir", type=pathlib.Path)
    parser.add_argument("names", nargs="*", help="only these models")
    options = parser.parse_args()
    known = {s.name for specs in all_specs().values() for s in specs}
    known |= {d.name for directories in all_directories().values() for d in directories}
    if missing := set(options.names) - known:
        parser.error(f"no model is called {', '.join(sorted(missing))}")
    options.outdir.mkdir(parents=True, exist_ok=True)
    type_blocks.write(str(options.outdir / "types.gguf"))
    manifest = {"tolerance": TOLERANCE_NOTE, **make_all(options.outdir, set(options.names))}
    text = json.dumps(manifest, indent=1) + "\n"
    (options.outdir / "manifest.json").write_text(text)


if __name__ == "__main__":
    main()
