"""Makes tokenizer.json files of many kinds of models. The patterns are those that such models
publish; the vocabularies are learnt from lines of text."""

import base64
import collections
import itertools
import json
import re

import bpe_trainer

MARK = "\u2581"
BYTES = range(256)
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
TAIL = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|" + TAIL
QWEN2 = CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|" + TAIL
UPPER, LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
O200K = (rf"[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]*[{LOWER}]+{CONTRACTION}?"
         rf"|[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]+[{LOWER}]*{CONTRACTION}?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
NO_HAN = r"&&[^\p{Han}]"
KIMI = (rf"[\p{{Han}}]+|[^\r\n\p{{L}}\p{{N}}]?[{UPPER}{NO_HAN}]*[{LOWER}{NO_HAN}]+{CONTRACTION}?"
        rf"|[^\r\n\p{{L}}\p{{N}}]?[{UPPER}{NO_HAN}]+[{LOWER}{NO_HAN}]*{CONTRACTION}?"
        r"|\p{N}{1,3}|" + TAIL)
DEEPSEEK3 = [r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
             r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"""
             r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
             r"|\s*[\r\n]+|\s+(?!\S)|\s+"]
DEEPSEEK_CODER = ["[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+",
                  "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"]
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
# Patterns that Oniguruma spells differently from PCRE2, or that mean something else there.
ODD_PATTERNS = [
    r"\w+", r"\W+", r"\b", r"\B", r"\s+$", r"^\s*", r"\d*", r"(?=\p{Lu})", r"[\w&&[^\d_]]+",
    r"[a-z[0-9]]+", r"[^\S\n]+", r"\h{2}", r"\p{Han}+", r"\p{^L}+", r"\P{L}", r"[[:punct:]]+",
    r"\p{Alnum}", r"\p{N}{1,3}+", r"a{,2}b", r"(?m:e.)", r"(?i)st|k", r"[^\w\s]", r"[\W_]", r"x*+.",
    r"(?<=\p{L})\p{N}", r"[\p{L}&&\p{Lu}[0-9]]", r"\u00e9|\x{e8}", r"", r"[]a]", r"a{1}?"]
FULL_PATTERNS = [r"\s+$", r"\w\b", r"[\w&&[^\d_]]{3}", r"\h{2}", r"\p{Han}", r"[[:punct:]]",
                 r"\b\p{Lu}"]


def byte_letters():
    """The printable character that stands for each byte, by GPT-2's table."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = itertools.count(0x100)
    return [chr(byte) if byte in plain else chr(next(others)) for byte in BYTES]


LETTERS = byte_letters()


def spell(text):
    return "".join(LETTERS[byte] for byte in text.encode())


def words_of(lines):
    """Words with the space before them, and their counts in the lines."""
    return collections.Counter(word for line in lines
                               for word in re.findall(r" ?\w+| ?[^\w\s]+|\s+", line))


class Learnt:
    """The parts of the vocabularies, learnt once."""

    CHARACTERS = 120

    def __init__(self, lines, merges):
        spelled, marked = collections.Counter(), collections.Counter()
        letters = collections.Counter()
        for word, count in words_of(lines).items():
            spelled[spell(word)] += count
            marked[word.replace(" ", MARK)] += count
            letters.update({letter: count for letter in word.replace(" ", MARK)})
        self.bytes = bpe_trainer.learn(spelled, merges)
        self.known = [letter for letter, _ in letters.most_common(self.CHARACTERS)]
        self.marked = bpe_trainer.learn({word: count for word, count in marked.items()
                                         if set(word) <= set(self.known)}, merges)

    def byte_level_model(self, **settings):
        return model(LETTERS, self.bytes, **settings)

    def marked_model(self, byte_fallback=True, **settings):
        """Spaces are marks; the rarer characters are unknown."""
        fallback = [f"<0x{byte:02X}>" for byte in BYTES] if byte_fallback else []
        return model(["<unk>", *fallback, *self.known], self.marked, unk_token="<unk>",
                     byte_fallback=byte_fallback, **settings)


def model(letters, merges, pairs=False, **settings):
    tokens = dict.fromkeys([*letters, *(left + right for left, right in merges)])
    rules = [list(merge) if pairs else " ".join(merge) for merge in merges]
    return {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
            "ignore_merges": False, **settings,
            "vocab": {token: i for i, token in enumerate(tokens)}, "merges": rules}


def sequence(*steps, kind="pretokenizers"):
    return {"type": "Sequence", kind: list(steps)}


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def byte_level(use_regex=True, add_prefix_space=False):
    return {"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": True,
            "use_regex": use_regex}


def digits(individual):
    return {"type": "Digits", "individual_digits": individual}


def replace(pattern, content, kind="String"):
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def metaspace(**settings):
    return {"type": "Metaspace", "replacement": MARK, **settings}


def added(base, tokens):
    """Adds `tokens`: (text, names of the flags that are set)."""
    known = base["vocab"]
    ids = itertools.count(len(known))
    return [{"id": known[text] if text in known else next(ids), "content": text,
             **{flag: flag in flags for flag in
                ("single_word", "lstrip", "rstrip", "normalized", "special")}}
            for text, flags in tokens]


def template(tokens, before=(), behind=()):
    ids = {token["content"]: token["id"] for token in tokens}
    names = [*before, *behind]

    def piece(name):
        return {"SpecialToken": {"id": name, "type_id": 0}}

    return {"type": "TemplateProcessing",
            "single": [*map(piece, before), {"Sequence": {"id": "A", "type_id": 0}},
                       *map(piece, behind)],
            "pair": [{"Sequence": {"id": name, "type_id": 0}} for name in "AB"],
            "special_tokens": {name: {"id": name, "ids": [ids[name]], "tokens": [name]}
                               for name in names}}


def tokenizer(base, pre, decoder, tokens=(), normalizer=None, post=None):
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": list(tokens),
            "normalizer": normalizer, "pre_tokenizer": pre, "post_processor": post,
            "decoder": decoder, "model": base}


SPECIAL = [("<s>", ["special"]), ("</s>", ["special"]), ("<|im_end|>", ["special"]),
           ("<mask>", ["special", "lstrip"]), ("::", []), ("->", ["rstrip"]),
           ("int", ["single_word"]), ("é", ["normalized"]), ("a b", ["lstrip", "rstrip"]),
           ("Å", ["normalized", "single_word"]), ("<|im", ["normalized", "rstrip"])]
SPM_DECODER = sequence(replace(MARK, " "), {"type": "ByteFallback"}, {"type": "Fuse"},
                       {"type": "Strip", "content": " ", "start": 1, "stop": 0}, kind="decoders")


def of_models(learnt):
    """Tokenizers like those of models, by name."""
    plain = learnt.byte_level_model()
    whole = learnt.byte_level_model(pairs=True, ignore_merges=True)
    marked = learnt.marked_model(fuse_unk=True)
    unknown = learnt.marked_model(byte_fallback=False, pairs=True)
    fused = {**unknown, "fuse_unk": True}
    tokens, marked_tokens, unknown_tokens = (
        added(base, SPECIAL) for base in (plain, marked, unknown))
    prefixed = sequence({"type": "Prepend", "prepend": MARK}, replace(" ", MARK),
                        kind="normalizers")
    bytes_alone = byte_level(use_regex=False)
    return {
        "gpt2": tokenizer(plain, byte_level(), byte_level()),
        "roberta": tokenizer(plain, byte_level(add_prefix_space=True), byte_level(), tokens,
                             post=template(tokens, ["<s>"], ["</s>"])),
        "llama3": tokenizer(whole, sequence(split(LLAMA3), bytes_alone), byte_level(), tokens,
                            post=sequence(byte_level(), template(tokens, ["<s>"]),
                                          kind="processors")),
        "qwen2": tokenizer(plain, sequence(split(QWEN2), bytes_alone), byte_level(), tokens,
                           {"type": "NFC"}, byte_level()),
        "glm4": tokenizer(whole, sequence(split(LLAMA3), bytes_alone), byte_level(), tokens,
                          post=template(tokens, ["<mask>", "<s>"])),
        "o200k": tokenizer(whole, sequence(split(O200K), bytes_alone), byte_level()),
        "kimi": tokenizer(whole, sequence(split(KIMI), bytes_alone), byte_level()),
        "deepseek3": tokenizer(plain, sequence(*map(split, DEEPSEEK3), bytes_alone), byte_level(),
                               tokens),
        "deepseek_coder": tokenizer(
            plain, sequence(*map(split, DEEPSEEK_CODER),
                            digits(True), bytes_alone),
            byte_level(), tokens),
        "falcon": tokenizer(plain, sequence(byte_level(), digits(False),
                                            split("[0-9][0-9][0-9]")), byte_level()),
        "llama2": tokenizer(marked, None, SPM_DECODER, marked_tokens, prefixed,
                            template(marked_tokens, ["<s>"])),
        "gemma": tokenizer(marked, split(" ", "MergedWithPrevious", kind="String"), SPM_DECODER,
                           marked_tokens, replace(" ", MARK)),
        "mistral": tokenizer(marked, metaspace(prepend_scheme="first", split=False),
                             sequence(replace(MARK, " "), {"type": "ByteFallback"},
                                      {"type": "Fuse"}, kind="decoders"), marked_tokens),
        "metaspace": tokenizer(unknown, metaspace(prepend_scheme="always", split=True),
                               metaspace(prepend_scheme="always"), unknown_tokens, {"type": "NFC"}),
        "fused": tokenizer(fused, metaspace(prepend_scheme="never"),
                           metaspace(prepend_scheme="never"), unknown_tokens),
    }


def random_step(rng):
    kind = rng.randrange(8)
    if kind == 0:
        return digits(rng.random() < 0.5)
    if kind == 1:
        return metaspace(prepend_scheme=rng.choice(["always", "never", "first"]),
                         split=rng.random() < 0.5)
    if kind == 2:
        return split(rng.choice([" ", "e", "th", "..", MARK]), rng.choice(BEHAVIORS),
                     rng.random() < 0.3, "String")
    return split(rng.choice(ODD_PATTERNS), rng.choice(BEHAVIORS), rng.random() < 0.3)


def random_normalizer(rng):
    """A random normalizer. No pattern matches the empty text, since the original crashes if it
    inserts something there."""
    steps = [rng.choice([{"type": "NFC"}, {"type": "Prepend", "prepend": rng.choice([MARK, "ab"])},
                         replace(" ", MARK),
                         replace(rng.choice(FULL_PATTERNS), rng.choice(["e", "__"]), "Regex")])
             for _ in range(rng.randint(0, 2))]
    return sequence(*steps, kind="normalizers") if steps else None


def at_random(learnt, rng, count):
    """Tokenizers of steps that no model combines, to test their meaning together."""
    plain, marked = learnt.byte_level_model(), learnt.marked_model()
    made = {}
    for i in range(count):
        steps = [random_step(rng) for _ in range(rng.randint(1, 3))]
        base, decoder = marked, SPM_DECODER
        if rng.random() < 0.5:
            base, decoder = plain, byte_level()
            # Marks inserted between letters for bytes are not tokens.
            last = max((i + 1 for i, step in enumerate(steps) if step["type"] == "Metaspace"),
                       default=0)
            steps.insert(rng.randint(last, len(steps)),
                         byte_level(rng.random() < 0.5, rng.random() < 0.3))
        normalizer = random_normalizer(rng)
        tokens = added(base, rng.sample(SPECIAL, rng.randint(0, 4)))
        # The original loses the beginning of a text at a step that removes it, so "first" is not
        # tested.
        for step in steps if "Regex" in json.dumps(normalizer) else []:
            if step.get("prepend_scheme") == "first":
                step["prepend_scheme"] = "always"
        made[f"random {i}"] = tokenizer(base, sequence(*steps), decoder, tokens,
                                        normalizer)
    return made


def ranks(base):
    """The lines of tiktoken.model for a byte-level model."""
    value = {letter: byte for byte, letter in enumerate(LETTERS)}
    lines = [base64.b64encode(bytes(value[c] for c in token)).decode() + f" {rank}"
             for rank, token in enumerate(base["vocab"])]
    return "\n".join(lines) + "\n"
