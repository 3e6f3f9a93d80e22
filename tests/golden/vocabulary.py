"""The vocabulary of the made-up models."""

from __future__ import annotations

import gguf_io
from gguf_io import ValueType, array, boolean, string, u32

BYTE_TOKENS_START = 3
FILLER_START = BYTE_TOKENS_START + 256


def filler_piece(index: int) -> str:
    """Distinct pieces: the space mark, then letters, then pairs and triples of letters."""
    if index == 0:
        return "\u2581"
    letters, index = "", index - 1
    while index >= 0:
        letters = chr(ord("a") + index % 26) + letters
        index = index // 26 - 1
    return letters


def metadata(size: int) -> dict[str, gguf_io.Value]:
    """A SentencePiece vocabulary with every byte, so that any text can be encoded."""
    fillers = [filler_piece(i) for i in range(size - FILLER_START)]
    pieces = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)] + fillers
    scores = [0.0] * FILLER_START + [-1.0 - i for i in range(len(fillers))]
    unknown, control, byte, normal = 2, 3, 6, 1
    types = [unknown, control, control] + [byte] * 256 + [normal] * len(fillers)
    return {
        "tokenizer.ggml.model": string("llama"),
        "tokenizer.ggml.tokens": array(ValueType.STRING, pieces),
        "tokenizer.ggml.scores": array(ValueType.FLOAT32, scores),
        "tokenizer.ggml.token_type": array(ValueType.INT32, types),
        "tokenizer.ggml.bos_token_id": u32(1),
        "tokenizer.ggml.eos_token_id": u32(2),
        "tokenizer.ggml.unknown_token_id": u32(0),
        "tokenizer.ggml.add_bos_token": boolean(True),
        "tokenizer.ggml.add_eos_token": boolean(False),
    }
