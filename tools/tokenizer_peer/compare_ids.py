#!/usr/bin/env python3
"""Compares Hearth's token ids with llama.cpp's, over made-up texts of many kinds.

    tools/tokenizer_peer/compare_ids.py VOCABULARY.gguf ... [--texts 20] [--size 4000] [--seed 1]

A vocabulary is a GGUF file with tokenizer.ggml.* keys, with weights or without. llama.cpp is the
npm package that package.json names. The first call fetches it into build/tokenizer_peer (npm needs
a network for that). Prints a table in Markdown, a row for each kind of text, and below it the first
places where ids differ. Texts are tokenized without control tokens and without added tokens before
or after. Where ids differ, the text is compared again without the characters that the two are known
to treat differently (docs/tokenizers.md lists them). The status is 1 where ids still differ.
"""

import argparse
import ctypes
import json
import os
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path

import texts

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PACKAGE = Path("node_modules", "@node-llama-cpp", "linux-x64", "bins", "linux-x64")


# Pre-tokenizers whose text Hearth normalizes to NFC, as the models' own tokenizers do.
COMPOSING = {"command-r", "deepseek-r1-qwen", "mpt", "olmo", "qwen2", "qwen35", "stablelm2"}


def treated_alike(model, pre, text):
    """The text without the differences in treatment that are known."""
    if pre in COMPOSING:
        return unicodedata.normalize("NFC", text)
    return "".join(c for c in text if not (model == "bert" and known_to_differ(c)))


def known_to_differ(character):
    """Whether the two WordPiece tokenizers are known to treat the character differently."""
    return (unicodedata.category(character) in ("Mc", "Me") or character in "\x0b\x0c\x85"
            or any("HANGUL" in unicodedata.name(c, "") for c in character))


class Blob(ctypes.Structure):
    """A structure passed by value whose layout is the library's. It is long enough for any of them.
    """

    _fields_ = [("bytes", ctypes.c_uint8 * 1024)]


class Peer:
    """llama.cpp's library. Only the vocabulary of a file is loaded."""

    def __init__(self, folder):
        for name in ("libggml-base*.so*", "libggml.*so*"):
            ctypes.CDLL(str(self._one(folder, name)), mode=ctypes.RTLD_GLOBAL)
        self.lib = ctypes.CDLL(str(self._one(folder, "libllama.*so*")))
        self.quiet = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(
            lambda level, text, data: None)
        self.lib.llama_log_set(self.quiet, None)
        self.lib.llama_model_default_params.restype = Blob
        for name, result, *arguments in (
                ("llama_model_load_from_file", ctypes.c_void_p, ctypes.c_char_p, Blob),
                ("llama_model_get_vocab", ctypes.c_void_p, ctypes.c_void_p),
                ("llama_tokenize", ctypes.c_int32, ctypes.c_void_p, ctypes.c_char_p,
                 ctypes.c_int32, ctypes.POINTER(ctypes.c_int32), ctypes.c_int32, ctypes.c_bool,
                 ctypes.c_bool)):
            function = getattr(self.lib, name)
            function.restype, function.argtypes = result, arguments
        self.lib.llama_backend_init()

    @staticmethod
    def _one(folder, pattern):
        return min(folder.glob(pattern), key=lambda path: len(path.name))

    def vocabulary(self, path):
        # The flags stand together after the pointers: vocab_only, then those that are set by
        # default.
        raw = bytearray(bytes(self.lib.llama_model_default_params()))
        if raw[74] == 1 and not any(raw[64:74]):
            raw[72] = 1
        elif raw[65] == 1 and raw[64] == 0:
            raw[64] = 1
        else:
            raise SystemExit("this llama.cpp has other parameters than compare_ids.py knows")
        model = self.lib.llama_model_load_from_file(str(path).encode(), Blob.from_buffer_copy(raw))
        if not model:
            raise SystemExit(f"llama.cpp cannot read {path}")
        return self.lib.llama_model_get_vocab(model)

    def ids(self, vocabulary, text):
        raw = text.encode()
        room = len(raw) + 16
        found = (ctypes.c_int32 * room)()
        count = self.lib.llama_tokenize(vocabulary, raw, len(raw), found, room, False, False)
        return list(found[:count])


def fetch(folder):
    """The folder with llama.cpp's libraries, after npm has put them there."""
    if not (folder / PACKAGE).exists():
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, folder)
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder,
                       check=True, stdout=sys.stderr)
    return folder / PACKAGE


def hearth_ids(program, path, text):
    out = subprocess.run([program, "tokenize", path, "--no-special", "--json"], check=True,
                         input=text.encode(), capture_output=True)
    return json.loads(out.stdout)


def first_difference(program, path, ours, theirs):
    """Describes the first difference, with the texts of the tokens around it."""
    at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b),
              min(len(ours), len(theirs)))

    def shown(ids):
        out = subprocess.run([program, "tokenize", path, "--decode", "--special"], check=True,
                             input=json.dumps(ids).encode(), capture_output=True)
        return repr(out.stdout.decode(errors="replace"))

    window = slice(max(0, at - 2), at + 4)
    return f"token {at}: Hearth {ours[window]} {shown(ours[window])}, " \
           f"llama.cpp {theirs[window]} {shown(theirs[window])}"


def kind_of(program, path):
    """tokenizer.ggml.model, tokenizer.ggml.pre, and the common name of such a vocabulary."""
    told = json.loads(subprocess.run([program, "inspect", path, "--json"], check=True,
                                     capture_output=True).stdout)["metadata"]
    model = told["tokenizer.ggml.model"]
    names = {"gpt2": "byte-level BPE", "llama": "SentencePiece", "bert": "WordPiece"}
    pre = told.get("tokenizer.ggml.pre")
    return model, pre, names.get(model, model) + (f", `{pre}`" if model == "gpt2" else "")


class Count:
    """The counts of the texts of one kind."""

    def __init__(self):
        self.texts = self.tokens = self.unlike = self.unknown = 0

    def cell(self):
        if self.unlike == 0:
            return f"{self.tokens:,}"
        rest = self.unknown or "none"
        return f"{self.tokens:,}; {self.unlike} of {self.texts} texts differ, {rest} without those"


def compare(options, peer, path):
    """The counts by kind of text, and lines that describe the unknown differences."""
    vocabulary = peer.vocabulary(path)
    model, pre, name = kind_of(options.hearth, path)
    counts, differences = {}, []

    def both(text):
        return hearth_ids(options.hearth, path, text), peer.ids(vocabulary, text)

    for kind, make in texts.Maker(options.seed, options.size).kinds():
        count = counts.setdefault(kind, Count())
        for text in (make() for _ in range(options.texts)):
            ours, theirs = both(text)
            count.texts += 1
            count.tokens += len(ours)
            if ours == theirs:
                continue
            count.unlike += 1
            text = treated_alike(model, pre, text)
            ours, theirs = both(text)
            if ours != theirs:
                count.unknown += 1
                where = first_difference(options.hearth, path, ours, theirs)
                differences.append(f"{name}, {kind}: {where}")
    return name, counts, differences


def markdown(columns):
    """A table of `columns`: counts by kind of vocabulary, then by kind of text."""
    lines = ["| text | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for kind in next(iter(columns.values())):
        lines.append(f"| {kind} | " + " | ".join(c[kind].cell() for c in columns.values()) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description="Compares token ids with llama.cpp's.")
    parser.add_argument("vocabularies", nargs="+", type=Path, metavar="VOCABULARY.gguf")
    parser.add_argument("--hearth", default=ROOT / "build" / "release" / "hearth", type=Path)
    parser.add_argument("--peer", default=ROOT / "build" / "tokenizer_peer", type=Path)
    parser.add_argument("--texts", type=int, default=20, help="of every kind")
    parser.add_argument("--size", type=int, default=4000, help="characters of a text")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=10, help="differences to print")
    options = parser.parse_args()
    os.environ["LC_ALL"] = "C.UTF-8"
    peer = Peer(fetch(options.peer))
    columns, differences = {}, []
    for path in options.vocabularies:
        name, counts, found = compare(options, peer, path)
        columns[name] = counts
        differences += found
    print(markdown(columns))
    for line in differences[:options.show]:
        print(line)
    if len(differences) > options.show:
        print(f"and {len(differences) - options.show} more")
    return bool(differences)


if __name__ == "__main__":
    sys.exit(main())
