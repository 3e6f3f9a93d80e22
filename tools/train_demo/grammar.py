"""Sentences with slots: filled at random for training, and read back for measuring.

A template is a sentence such as

    "[One|On a] {weather} {day}, {H} took {his} {c} {t} to the {P}."

`[x|y]` is a choice, `{slot}` a word of the table of that name, `{a:slot}` the word with its
article, `{^slot}` and `{A:slot}` the same with a capital. Slots of people and things:

    H h   the hero's name and animal; he, him, his, self: the hero's pronouns
    F f   the friend's name and animal; fhe, fhim, fhis, fself: the friend's pronouns
    m     a third animal without a name
    t c   the thing and its colour
    P p   the place ("harbour") and the place with its preposition ("at the harbour")

`fill` writes a sentence from the bindings of its slots. `Parser` finds the templates that a
sentence can come from and the words that its slots then hold. It also tells whether a whole text
can be read so that every slot means the same throughout (names keep their animals, pronouns their
gender).
"""

from __future__ import annotations

import random
import re

import lexicon

CHOICE = re.compile(r"\[([^\[\]]*)\]")
SLOT = re.compile(r"\{(a:|A:|\^)?(\w+)\}")
PRONOUNS = {
    prefix + form: (role, form)
    for prefix, role in (("", "H"), ("f", "F"))
    for form in ("he", "him", "his", "self")
}


def words_of(slot: str) -> list[str]:
    """Every word that a slot can hold."""
    if slot in PRONOUNS:
        return sorted({forms[PRONOUNS[slot][1]] for forms in lexicon.PRONOUNS.values()})
    if slot in ("H", "F"):
        return list(lexicon.NAMES)
    if slot in ("h", "f", "m"):
        return list(lexicon.ANIMALS)
    if slot == "t":
        return list(lexicon.THINGS)
    if slot == "c":
        return sorted({colour for row in lexicon.THINGS.values() for colour in row[2]})
    if slot == "P":
        return list(lexicon.PLACES)
    if slot == "p":
        return [place_phrase(place) for place in lexicon.PLACES]
    return lexicon.TABLES[slot.rstrip("2")]


def place_phrase(place: str) -> str:
    return f"{lexicon.PLACES[place]} the {place}"


def slots_of(template: str) -> set[str]:
    return {slot for _, slot in SLOT.findall(template)} - PRONOUNS.keys()


def choose(template: str, rng: random.Random) -> str:
    """The template with one way taken of each choice."""
    return CHOICE.sub(lambda match: rng.choice(match[1].split("|")), template)


def fill(template: str, bindings: dict[str, str]) -> str:
    """The sentence of a template whose choices were taken before."""

    def word(match: re.Match) -> str:
        mark, slot = match.groups()
        if slot in PRONOUNS:
            role, form = PRONOUNS[slot]
            text = lexicon.PRONOUNS[lexicon.NAMES[bindings[role]]][form]
        elif slot == "p":
            text = place_phrase(bindings["P"])
        else:
            text = bindings[slot]
        if mark in ("a:", "A:"):
            text = f"{lexicon.article(text)} {text}"
        return text[0].upper() + text[1:] if mark in ("A:", "^") else text

    return SLOT.sub(word, template)


def split_sentences(text: str) -> list[str]:
    """Cuts after . ! ? (and a closing quote) where a capital or an opening quote follows."""
    return [s for s in re.split(r'(?<=[.!?])\s+(?=["A-Z])|(?<=[.!?]")\s+(?=["A-Z])', text) if s]


def _pattern(template: str) -> re.Pattern:
    """A pattern of all sentences of the template. Group SLOT_i holds the i-th slot."""
    out, count = "", 0
    for piece in re.split(r"(\[|\]|\||\{(?:a:|A:|\^)?\w+\})", template):
        slot = SLOT.fullmatch(piece)
        if slot:
            words = words_of(slot[2])
            if slot[1] in ("a:", "A:"):
                words = [f"{lexicon.article(word)} {word}" for word in words]
            if slot[1] in ("A:", "^"):
                words = [word[0].upper() + word[1:] for word in words]
            words = sorted(map(re.escape, words), key=len, reverse=True)
            out += f"(?P<{slot[2]}_{count}>{'|'.join(words)})"
            count += 1
        else:
            out += {"[": "(?:", "]": ")", "|": "|"}.get(piece) or re.escape(piece)
    return re.compile(out)


def _bindings(match: re.Match) -> dict[str, str] | None:
    """The words of the slots, pronouns as genders (H:gender); None where they contradict each
    other."""
    bound: dict[str, str] = {}
    for group, text in match.groupdict().items():
        if text is None:
            continue
        slot = group.rsplit("_", 1)[0]
        if not merge(bound, _meaning(slot, text)):
            return None
    return bound


def _meaning(slot: str, text: str) -> dict[str, str]:
    if slot in PRONOUNS:
        role, form = PRONOUNS[slot]
        fitting = [g for g, forms in lexicon.PRONOUNS.items() if forms[form] == text.lower()]
        return {f"{role}:gender": fitting[0]}
    if slot in ("H", "F"):
        return {slot: text, f"{slot}:gender": lexicon.NAMES[text]}
    if slot == "p":
        return {"P": text.rsplit(" ", 1)[1]}
    words = words_of(slot)
    for article in ("a ", "an "):
        if text not in words and text.lower().startswith(article):
            text = text[len(article) :]
    return {slot: text if text in words else text[0].lower() + text[1:]}


def merge(bound: dict[str, str], more: dict[str, str]) -> bool:
    """Adds bindings; False where they contradict what is bound already."""
    for slot, text in more.items():
        if bound.setdefault(slot, text) != text:
            return False
    return not ("H" in bound and bound["H"] == bound.get("F"))


class Parser:
    def __init__(self, templates: list[str]):
        self._patterns = [_pattern(template) for template in dict.fromkeys(templates)]
        self._seen: dict[str, list[dict[str, str]]] = {}

    def readings(self, sentence: str) -> list[dict[str, str]]:
        """The words of the slots, for every template that the sentence can come from."""
        if sentence not in self._seen:
            matches = (pattern.fullmatch(sentence) for pattern in self._patterns)
            found = [_bindings(match) for match in matches if match]
            self._seen[sentence] = [bound for bound in found if bound is not None]
        return self._seen[sentence]

    def read(self, text: str) -> dict[str, str] | None:
        """The words of the slots throughout the text; None where no reading is consistent."""
        states: list[dict[str, str]] = [{}]
        for sentence in split_sentences(text):
            following = []
            for state in states:
                for reading in self.readings(sentence):
                    bound = dict(state)
                    if merge(bound, reading) and bound not in following:
                        following.append(bound)
            states = following
        return states[0] if states else None
