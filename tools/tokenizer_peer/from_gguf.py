#!/usr/bin/env python3
"""Makes a tokenizer.json of a GGUF file's vocabulary, to compare with Hugging Face's tokenizers.

    tools/tokenizer_peer/from_gguf.py VOCABULARY.gguf TOKENIZER.json
    scripts/tokenizer_peers.sh --json TOKENIZER.json

Takes byte-level BPE with the rules gpt-2, qwen2 or llama-bpe, and SentencePiece. The merges of
SentencePiece are all cuts of every token in two, in the order of scores.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "golden"), str(ROOT / "tests" / "tokenizers")]

import gguf_io  # noqa: E402
import made_tokenizers as made  # noqa: E402

CONTROL, USER_DEFINED = 3, 4
CUTS = {"gpt-2": made.byte_level(),
        "qwen2": made.sequence(made.split(made.QWEN2), made.byte_level(use_regex=False)),
        "llama-bpe": made.sequence(made.split(made.LLAMA3), made.byte_level(use_regex=False))}


def scored_merges(tokens, scores):
    """The merges (left, right) of all tokens, those of the highest score first."""
    ids = {token: i for i, token in enumerate(tokens)}
    merges = []
    for i, token in enumerate(tokens):
        cuts = [(ids[token[:at]], ids[token[at:]]) for at in range(1, len(token))
                if token[:at] in ids and token[at:] in ids]
        merges += [(-scores[i], i, left, right) for left, right in sorted(cuts)]
    return [(tokens[left], tokens[right]) for _, _, left, right in sorted(merges)]


def convert(keys):
    tokens = keys["tokenizer.ggml.tokens"].data
    types = keys["tokenizer.ggml.token_type"].data
    added = [{"id": i, "content": tokens[i], "special": kind == CONTROL, "single_word": False,
              "lstrip": False, "rstrip": False, "normalized": False}
             for i, kind in enumerate(types) if kind in (CONTROL, USER_DEFINED)]
    base = made.model(tokens, [])
    if keys["tokenizer.ggml.model"].data == "gpt2":
        base["merges"] = keys["tokenizer.ggml.merges"].data
        return made.tokenizer(base, CUTS[keys["tokenizer.ggml.pre"].data], made.byte_level(),
                              added)
    scores = keys["tokenizer.ggml.scores"].data
    base |= {"merges": [list(rule) for rule in scored_merges(tokens, scores)],
             "byte_fallback": True, "unk_token": tokens[0], "fuse_unk": True}
    normal = made.sequence({"type": "Prepend", "prepend": made.MARK},
                           made.replace(" ", made.MARK), kind="normalizers")
    return made.tokenizer(base, None, made.SPM_DECODER, added, normal)


def main():
    source, target = sys.argv[1:]
    keys = gguf_io.read(source).metadata
    Path(target).write_text(json.dumps(convert(keys), ensure_ascii=False))


if __name__ == "__main__":
    main()
