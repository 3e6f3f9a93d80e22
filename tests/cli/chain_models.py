"""Tiny models whose every logit is known, for tests of the program around them.

In a chain model each token has one successor. Its embedding is one-hot, its layers add nothing, and
its output matrix leads from each token to one other. After token t the logit of follow[t] is GAP
and all others are 0, whatever came before. So a test knows the result of greedy decoding, and the
perplexity.
"""

import json
import math
import struct
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "golden"))

import gguf_io  # noqa: E402
import safetensors_io  # noqa: E402
from gguf_io import ValueType, array, boolean, f32, string, u32  # noqa: E402
from quants import Type  # noqa: E402

UNK, BOS, EOS, TURN = 0, 1, 2, 3
BYTES = 4  # the token of byte 0; letters follow the 256 bytes
LETTERS = "abcdefghijklmnopqrstuvwxyzABEU! "
FIRST_LETTER = BYTES + 256
VOCABULARY = FIRST_LETTER + len(LETTERS)
WIDTH, HEAD, FFN = 320, 32, 32
CONTEXT = 256
EPSILON = 1e-5
# The lead of the following token's logit over all others. At temperature 1 that token is likely but
# not certain.
GAP = 6.0


def letter(c):
    return FIRST_LETTER + LETTERS.index(c)


def ids(text):
    return [letter(c) for c in text]


def byte(value):
    return BYTES + value


def _chain(follow, *tokens):
    for a, b in zip(tokens, tokens[1:]):
        follow[a] = b


def follows():
    """The successors: the alphabet in a ring. U leads to characters of two and three bytes, B to a
    byte that is not UTF-8, E to the end, A to the token that ends a turn."""
    follow = {token: letter("!") for token in range(VOCABULARY)}
    _chain(follow, BOS, *ids("abcdefghijklmnopqrstuvwxyza"))
    two, three = "é".encode(), "€".encode()
    _chain(follow, letter("U"), *(byte(b) for b in two + three), letter("!"))
    _chain(follow, letter("!"), EOS)
    _chain(follow, letter("B"), byte(0xFF), letter("!"))
    _chain(follow, letter("E"), EOS)
    _chain(follow, letter("A"), TURN)
    return follow


def tokenizer():
    pieces = ["<unk>", "<s>", "</s>", "<|im_end|>"] + [f"<0x{b:02X}>" for b in range(256)]
    pieces += [c.replace(" ", "\u2581") for c in LETTERS]
    unknown, control, byte_type, normal = 2, 3, 6, 1
    types = [unknown, control, control, control] + [byte_type] * 256 + [normal] * len(LETTERS)
    return {
        "tokenizer.ggml.model": string("llama"),
        "tokenizer.ggml.tokens": array(ValueType.STRING, pieces),
        "tokenizer.ggml.scores": array(ValueType.FLOAT32, [0.0] * len(pieces)),
        "tokenizer.ggml.token_type": array(ValueType.INT32, types),
        "tokenizer.ggml.bos_token_id": u32(BOS),
        "tokenizer.ggml.eos_token_id": u32(EOS),
        "tokenizer.ggml.unknown_token_id": u32(UNK),
        "tokenizer.ggml.add_bos_token": boolean(True),
        "tokenizer.ggml.add_eos_token": boolean(False),
        "tokenizer.ggml.add_space_prefix": boolean(False),
    }


def metadata(arch="llama", layers=1, heads=1, head=HEAD, width=WIDTH):
    own = {
        "block_count": u32(layers),
        "context_length": u32(CONTEXT),
        "embedding_length": u32(width),
        "feed_forward_length": u32(FFN),
        "attention.head_count": u32(heads),
        "attention.head_count_kv": u32(heads),
        "attention.key_length": u32(head),
        "attention.value_length": u32(head),
        "attention.layer_norm_rms_epsilon": f32(EPSILON),
        "rope.dimension_count": u32(head),
    }
    return {
        "general.architecture": string(arch),
        "general.name": string("chain"),
        **{f"{arch}.{key}": value for key, value in own.items()},
    }


def tensor(name, values):
    return gguf_io.Tensor(name, Type.F32, values.shape[::-1], values.astype("<f4").tobytes())


def layer(index, width, inner, fill):
    """One layer. fill(rows, columns) returns the values of a matrix."""
    shapes = {
        "attn_q": (inner, width),
        "attn_k": (inner, width),
        "attn_v": (inner, width),
        "attn_output": (width, inner),
        "ffn_gate": (FFN, width),
        "ffn_up": (FFN, width),
        "ffn_down": (width, FFN),
    }
    values = {name: fill(*shape) for name, shape in shapes.items()}
    values.update({name: np.ones(width) for name in ("attn_norm", "ffn_norm")})
    return [tensor(f"blk.{index}.{name}.weight", value) for name, value in values.items()]


def zeros(rows, columns):
    return np.zeros((rows, columns))


def chain_tensors():
    follow = follows()
    embedding = np.zeros((VOCABULARY, WIDTH))
    output = np.zeros((VOCABULARY, WIDTH))
    # The one element of a normed one-hot row.
    normed = 1 / math.sqrt(1 / WIDTH + EPSILON)
    for token, after in follow.items():
        embedding[token, token] = 1
        output[after, token] = GAP / normed
    return [
        tensor("token_embd.weight", embedding),
        *layer(0, WIDTH, HEAD, zeros),
        tensor("output_norm.weight", np.ones(WIDTH)),
        tensor("output.weight", output),
    ]


def write_chain(path, arch="llama", vocabulary=True, odd=False):
    """Writes a chain model. odd: its vocabulary names a padding token that does not exist."""
    keys = metadata(arch)
    if vocabulary:
        keys.update(tokenizer())
    if odd:
        keys["tokenizer.ggml.padding_token_id"] = u32(99999)
    gguf_io.write(str(path), keys, chain_tensors())


def write_hybrid(path, more=None):
    """Writes a golden model whose layers keep states, of 2048 positions, with `more` keys."""
    import hybrid_specs  # noqa: PLC0415: few tests need them, and they take a while
    import make_models  # noqa: PLC0415

    spec = hybrid_specs.hybrid_models()[0]
    keys = {**make_models.metadata(spec), **(more or {})}
    gguf_io.write(str(path), keys, make_models.tensors(spec))


HF_NAMES = {
    "token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head",
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj", "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}  # fmt: skip


def tokenizer_json():
    """tokenizer() in the form of Hugging Face's tokenizers."""
    pieces = tokenizer()["tokenizer.ggml.tokens"].data[TURN + 1:]
    vocab = {"<unk>": UNK, **{piece: BYTES + i for i, piece in enumerate(pieces)}}

    def replace(text, content):
        return {"type": "Replace", "pattern": {"String": text}, "content": content}

    return {
        "added_tokens": [{"id": i, "content": text, "special": True, "normalized": False}
                         for text, i in (("<s>", BOS), ("</s>", EOS), ("<|im_end|>", TURN))],
        "normalizer": replace(" ", "\u2581"),
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [BOS], "tokens": ["<s>"]}}},
        "decoder": {"type": "Sequence", "decoders": [replace("\u2581", " "),
                                                     {"type": "ByteFallback"}, {"type": "Fuse"}]},
        "model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": True, "vocab": vocab,
                  "merges": []},
    }


def write_chain_folder(folder):
    """Writes the chain model as a folder of Hugging Face's hub."""
    folder.mkdir()
    config = {
        "architectures": ["LlamaForCausalLM"], "hidden_size": WIDTH, "intermediate_size": FFN,
        "num_hidden_layers": 1, "num_attention_heads": 1, "num_key_value_heads": 1,
        "head_dim": HEAD, "max_position_embeddings": CONTEXT, "vocab_size": VOCABULARY,
        "rms_norm_eps": EPSILON,
    }  # fmt: skip
    texts = {
        "config.json": config, "tokenizer.json": tokenizer_json(),
        "generation_config.json": {"eos_token_id": [EOS, TURN]},
        "tokenizer_config.json": {
            "bos_token": "<s>", "eos_token": "</s>", "chat_template":
            "{{ bos_token }}{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}\na\n"},
    }  # fmt: skip
    for name, content in texts.items():
        (folder / name).write_text(json.dumps(content))
    stored = {}
    for t in chain_tensors():
        stem = t.name.removesuffix(".weight").split(".")
        prefix = f"model.layers.{stem[1]}." if stem[0] == "blk" else ""
        values = np.frombuffer(t.data, "<f4").reshape(t.shape[::-1])
        stored[f"{prefix}{HF_NAMES[stem[-1]]}.weight"] = safetensors_io.stored("F32", values)
    safetensors_io.write_directory(folder, stored, 1)


def write_random(path, more=None):
    """Writes a model with working attention and FFN, and `more` keys. Returns its output matrix."""
    r = np.random.Generator(np.random.PCG64(7))
    width, heads, layers = 64, 2, 2

    def normal(rows, columns):
        return r.standard_normal((rows, columns)) / math.sqrt(columns)

    tensors = [tensor("token_embd.weight", r.standard_normal((VOCABULARY, width)))]
    for index in range(layers):
        tensors += layer(index, width, heads * HEAD, normal)
    tensors += [tensor("output_norm.weight", np.ones(width))]
    head = 3 * normal(VOCABULARY, width)
    tensors += [tensor("output.weight", head)]
    keys = {**metadata(layers=layers, heads=heads, width=width), **tokenizer(), **(more or {})}
    gguf_io.write(str(path), keys, tensors)
    return head


# Heads, the length of a head, and layers of the model that write_wide() makes.
WIDE = (16, 512, 16)


def write_importance(path, model):
    """Writes the importance of the columns of a model's layers, except those of keys, in
    llama-imatrix's older form."""
    entries = []
    for name, tensor in gguf_io.read(model).tensors.items():
        if not name.startswith("blk.") or len(tensor.shape) < 2 or "attn_k" in name:
            continue
        sums = np.geomspace(1, 1e4, tensor.row_length, dtype="<f4")[::-1].tobytes()
        entries.append(struct.pack("<i", len(name)) + name.encode() +
                       struct.pack("<ii", 3, tensor.row_length) + sums)
    path.write_bytes(struct.pack("<i", len(entries)) + b"".join(entries))


def write_wide(path):
    """Writes a small file whose keys and values take 1 MiB a position in f32: 16 layers, 8192 wide.
    """
    heads, head, layers = WIDE
    width = 32
    tensors = [tensor("token_embd.weight", np.zeros((VOCABULARY, width)))]
    for index in range(layers):
        tensors += layer(index, width, heads * head, zeros)
    tensors += [tensor("output_norm.weight", np.ones(width))]
    keys = {**metadata(layers=layers, heads=heads, head=head, width=width), **tokenizer()}
    gguf_io.write(str(path), keys, tensors)


WORDPIECE = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "\u2581hello", "\u2581world", "s"]


def wordpiece():
    control, unknown, normal = 3, 2, 1
    types = [control, unknown, control, control, control] + [normal] * (len(WORDPIECE) - 5)
    return {
        "tokenizer.ggml.model": string("bert"),
        "tokenizer.ggml.tokens": array(ValueType.STRING, WORDPIECE),
        "tokenizer.ggml.token_type": array(ValueType.INT32, types),
    }


def write_encoder(path, pooling=2, vocabulary=None):
    """Writes a BERT of one layer. pooling: GGUF's number; 2 is the first token's state. vocabulary:
    keys to use in place of the letters' vocabulary."""
    r = np.random.Generator(np.random.PCG64(9))
    width, positions = 32, 24
    shapes = {"attn_q": (width, width), "attn_k": (width, width), "attn_v": (width, width)}
    shapes.update(attn_output=(width, width), ffn_up=(FFN, width), ffn_down=(width, FFN))
    tensors = [tensor("token_embd.weight", r.standard_normal((VOCABULARY, width)))]
    tensors += [tensor("position_embd.weight", r.standard_normal((positions, width)))]
    tensors += [tensor("token_types.weight", r.standard_normal((2, width)))]
    for name, (rows, columns) in shapes.items():
        values = r.standard_normal((rows, columns)) / math.sqrt(columns)
        tensors += [tensor(f"blk.0.{name}.weight", values)]
        tensors += [tensor(f"blk.0.{name}.bias", 0.1 * r.standard_normal(rows))]
    for name in ("token_embd_norm", "blk.0.attn_output_norm", "blk.0.layer_output_norm"):
        tensors += [tensor(f"{name}.weight", np.ones(width))]
        tensors += [tensor(f"{name}.bias", np.zeros(width))]
    keys = {**metadata("bert", heads=2, head=width // 2, width=width),
            **(vocabulary or tokenizer())}
    keys["bert.context_length"] = u32(positions)
    keys["bert.attention.layer_norm_epsilon"] = f32(1e-12)
    keys["bert.attention.causal"] = boolean(False)
    keys["bert.pooling_type"] = u32(pooling)
    gguf_io.write(str(path), keys, tensors)


def write_wordpiece(path):
    """Writes a WordPiece vocabulary without a model."""
    keys = {"general.architecture": string("bert"), **wordpiece()}
    gguf_io.write(str(path), keys, [tensor("token_embd.weight", np.zeros((len(WORDPIECE), 32)))])


def write_unknown_type(path):
    """Writes a chain model whose output matrix has the unknown tensor type 99."""
    write_chain(path)
    raw = bytearray(path.read_bytes())
    name = b"output.weight"
    at = raw.index(struct.pack("<Q", len(name)) + name) + 8 + len(name)
    dims = struct.unpack_from("<I", raw, at)[0]
    struct.pack_into("<I", raw, at + 4 + 8 * dims, 99)
    path.write_bytes(raw)
