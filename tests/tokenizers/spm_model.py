"""Reads files of SentencePiece's trainer, and writes them as GGUF vocabularies.

A .model file is a protocol buffer (https://protobuf.dev/programming-guides/encoding) of the message
ModelProto, whose fields SentencePiece's sentencepiece_model.proto numbers. Only the fields that a
tokenizer needs are read.
"""

import base64
import dataclasses
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "golden"))

import gguf_io  # noqa: E402
from gguf_io import ValueType, array, boolean, string, u32  # noqa: E402

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, value) of every field of a message. Values that are not varints stay bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        wire = tag & 7
        if wire == VARINT:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if wire == BYTES else ({FIXED64: 8, FIXED32: 4}[wire], at)
            value, at = data[at:at + size], at + size
        yield tag >> 3, value


@dataclasses.dataclass
class Model:
    pieces: list  # (text, score, type), by id
    charsmap: bytes
    add_dummy_prefix: bool
    remove_extra_whitespaces: bool


def read(path):
    pieces, normalizer = [], {}
    for number, value in fields(Path(path).read_bytes()):
        if number == 1:
            piece = dict(fields(value))
            score = struct.unpack("<f", piece.get(2, bytes(4)))[0]
            pieces.append((piece[1].decode(), score, piece.get(3, NORMAL)))
        elif number == 3:
            normalizer = dict(fields(value))
    return Model(pieces, normalizer.get(2, b""), bool(normalizer.get(3, 1)),
                 bool(normalizer.get(4, 1)))


def xlm_order(model):
    """The ids of the model in the order of XLM-RoBERTa's vocabulary, which files of such models
    use: <s>, a padding token that the model lacks (None), </s>, <unk>, then the others."""
    unk, bos, eos = 0, 1, 2
    return [bos, None, eos, unk, *range(3, len(model.pieces))]


def write_gguf(path, model, order, as_base64):
    """Writes the file. `order`: the model's id of every token of the file."""
    pieces = [("<pad>", 0.0, CONTROL) if i is None else model.pieces[i] for i in order]
    charsmap = array(ValueType.UINT8, list(model.charsmap))
    if as_base64:
        charsmap = string(base64.b64encode(model.charsmap).decode())
    metadata = {
        "general.architecture": string("bert"),
        "tokenizer.ggml.model": string("t5"),
        "tokenizer.ggml.pre": string("default"),
        "tokenizer.ggml.tokens": array(ValueType.STRING, [text for text, _, _ in pieces]),
        "tokenizer.ggml.scores": array(ValueType.FLOAT32, [score for _, score, _ in pieces]),
        "tokenizer.ggml.token_type": array(ValueType.INT32, [kind for _, _, kind in pieces]),
        "tokenizer.ggml.add_space_prefix": boolean(model.add_dummy_prefix),
        "tokenizer.ggml.remove_extra_whitespaces": boolean(model.remove_extra_whitespaces),
        "tokenizer.ggml.precompiled_charsmap": charsmap,
        "tokenizer.ggml.bos_token_id": u32(order.index(1)),
        "tokenizer.ggml.eos_token_id": u32(order.index(2)),
        "tokenizer.ggml.unknown_token_id": u32(order.index(0)),
        "tokenizer.ggml.add_bos_token": boolean(True),
        "tokenizer.ggml.add_eos_token": boolean(True),
    }
    gguf_io.write(path, metadata, [])
