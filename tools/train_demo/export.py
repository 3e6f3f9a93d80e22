"""Writes a checkpoint as a GGUF file: python3 export.py CHECKPOINT OUT.gguf [--type q8_0]

Matrices become --type (any type of tests/golden/quants.py whose blocks fit the rows), norms stay
F32. The vocabulary, the merges, the control tokens and the chat template go into the file.
"""

from __future__ import annotations

import argparse
import pathlib
import sys

import torch

import bpe
import data
import model

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "golden"))

import gguf_io  # noqa: E402
import quants  # noqa: E402
from gguf_io import ValueType, array, boolean, f32, string, u32  # noqa: E402

NORMAL, CONTROL = 1, 3
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def vocabulary(tokenizer: bpe.Tokenizer) -> dict[str, gguf_io.Value]:
    letters = bpe.byte_letters()

    def spelt(token: bytes) -> str:
        return "".join(letters[byte] for byte in token)

    tokens = [spelt(token) for token in tokenizer.tokens] + tokenizer.specials
    types = [NORMAL] * len(tokenizer.tokens) + [CONTROL] * len(tokenizer.specials)
    merges = [f"{spelt(a)} {spelt(b)}" for a, b in tokenizer.merges]
    text_end, _, turn_end = (tokenizer.id_of(special) for special in data.SPECIALS)
    return {
        "tokenizer.ggml.model": string("gpt2"),
        "tokenizer.ggml.pre": string("qwen2"),
        "tokenizer.ggml.tokens": array(ValueType.STRING, tokens),
        "tokenizer.ggml.token_type": array(ValueType.INT32, types),
        "tokenizer.ggml.merges": array(ValueType.STRING, merges),
        "tokenizer.ggml.eos_token_id": u32(text_end),
        "tokenizer.ggml.eot_token_id": u32(turn_end),
        "tokenizer.ggml.padding_token_id": u32(text_end),
        "tokenizer.ggml.add_bos_token": boolean(False),
        "tokenizer.chat_template": string(CHAT_TEMPLATE),
    }


def metadata(config: model.Config, tokenizer: bpe.Tokenizer) -> dict[str, gguf_io.Value]:
    own = {
        "block_count": u32(config.layers),
        "context_length": u32(config.context),
        "embedding_length": u32(config.width),
        "feed_forward_length": u32(config.inner),
        "vocab_size": u32(config.vocabulary),
        "attention.head_count": u32(config.heads),
        "attention.head_count_kv": u32(config.kv_heads),
        "attention.key_length": u32(config.head_width),
        "attention.value_length": u32(config.head_width),
        "attention.layer_norm_rms_epsilon": f32(config.epsilon),
        "rope.freq_base": f32(config.rope_base),
    }
    general = {
        "general.architecture": string("qwen3"),
        "general.name": string("Hearth demo"),
        "general.description": string("Tells short stories about animals, and answers questions."),
        "general.quantization_version": u32(2),
    }
    return {
        **general,
        **{f"qwen3.{key}": value for key, value in own.items()},
        **vocabulary(tokenizer),
    }


def tensor(name: str, weight: torch.Tensor, kind: quants.Type) -> gguf_io.Tensor:
    values = weight.double().numpy()
    if values.ndim == 1:
        kind = quants.Type.F32
    rows = values.reshape(-1, values.shape[-1])
    return gguf_io.Tensor(
        f"{name}.weight", kind, tuple(reversed(values.shape)), quants.quantize(kind, rows)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes a checkpoint as a GGUF file.")
    parser.add_argument("checkpoint", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--type", default="q8_0", help="type of the matrices (default: q8_0)")
    args = parser.parse_args()
    state = torch.load(args.checkpoint, map_location="cpu")
    config = model.Config(**state["config"])
    tokenizer = bpe.Tokenizer(state["merges"], data.SPECIALS)
    kind = quants.Type[args.type.upper()]
    tensors = [tensor(name, weight, kind) for name, weight in state["weights"].items()]
    gguf_io.write(str(args.out), metadata(config, tokenizer), tensors)
    print(f"{args.out}: step {state['step']}, {args.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
