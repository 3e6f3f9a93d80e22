"""Stories, questions about them and conversations, all from a seeded random generator.

    story = tell(rng, wanted)        a Story: text, and what its slots hold
    questions(story, rng)            (question, answer) pairs that have one right answer
    conversation(rng, ...)           messages of a chat: requests, stories, questions, small talk

Some combinations of (animal, thing, place) are held out. `tell` makes them only where asked to, so
that a measurement can ask for combinations that training never saw.
"""

from __future__ import annotations

import dataclasses
import hashlib
import random

import grammar
import lexicon
import plots

# One in this many combinations is held out.
HELD_OUT = 20


@dataclasses.dataclass
class Story:
    text: str
    plot: str
    bindings: dict[str, str]
    told: set[str]  # the slots that the text speaks of


def is_held_out(bindings: dict[str, str]) -> bool:
    key = "|".join((bindings["h"], bindings["t"], bindings["P"]))
    return hashlib.sha256(key.encode()).digest()[0] * HELD_OUT < 256


def bind(rng: random.Random, wanted: dict[str, str], held_out: bool | None) -> dict[str, str]:
    """Words for all slots; those in `wanted` are kept. held_out None: either kind of combination.
    """
    while True:
        bound = dict(wanted)
        animals = [a for a in lexicon.ANIMALS if a not in wanted.values()]
        names = [n for n in lexicon.NAMES if n not in wanted.values()]
        for slot, word in zip("hfm", rng.sample(animals, 3)):
            bound.setdefault(slot, word)
        for slot, word in zip("HF", rng.sample(names, 2)):
            bound.setdefault(slot, word)
        if "t" not in bound:
            things = [t for t, row in lexicon.THINGS.items() if bound.get("c", row[2][0]) in row[2]]
            bound["t"] = rng.choice(things)
        bound.setdefault("c", rng.choice(lexicon.THINGS[bound["t"]][2]))
        bound.setdefault("P", rng.choice(list(lexicon.PLACES)))
        for slot, words in lexicon.TABLES.items():
            bound.setdefault(slot, rng.choice(words))
        bound["turn2"] = lexicon.TURNS[bound["turn"]]
        if held_out is None or is_held_out(bound) == held_out:
            return bound


def _plot_for(rng: random.Random, bound: dict[str, str], wanted: dict[str, str]) -> str:
    fate = lexicon.THINGS[bound["t"]][0]
    fitting = list(plots.PLOTS)
    weathers = lexicon.WEATHER_OF.get(fate, lexicon.TABLES["weather"])
    dry = fate == "float" and bound["P"] not in lexicon.WATERS
    if dry or wanted.get("weather", weathers[0]) not in weathers:
        fitting.remove("lost")
    plot = rng.choice(fitting + ["lost"] * ("lost" in fitting))
    if plot == "lost" and "weather" not in wanted:
        bound["weather"] = rng.choice(weathers)
    return plot


def tell(
    rng: random.Random, wanted: dict[str, str] | None = None, held_out: bool | None = False
) -> Story:
    wanted = wanted or {}
    bound = bind(rng, wanted, held_out)
    plot = _plot_for(rng, bound, wanted)
    parts: list[str] = []
    told: set[str] = set()
    for beat in plots.PLOTS[plot]:
        ways = beat[lexicon.THINGS[bound["t"]][0]] if isinstance(beat, dict) else beat
        for template in rng.choice(ways) or []:
            sentence = grammar.choose(template, rng)
            told |= grammar.slots_of(sentence)
            space = "" if not parts or "\n\n" in (parts[-1], sentence) else " "
            parts.append(space + grammar.fill(sentence, bound))
    told |= {"P"} if "p" in told else set()
    told |= {"p"} if "P" in told else set()
    return Story("".join(parts), plot, bound, told)



def questions(story: Story, rng: random.Random) -> list[tuple[str, str]]:
    """Every question that the story answers, each asked in one way, in random order."""
    found = []
    for asked, answer in plots.COMMON_QUESTIONS + plots.QUESTIONS[story.plot]:
        question = rng.choice(asked)
        if grammar.slots_of(question) | grammar.slots_of(answer) <= story.told:
            found.append((question, answer))
    pairs = [tuple(grammar.fill(text, story.bindings) for text in pair) for pair in found]
    pairs += _yes_or_no(story, rng)
    animal, thing = (story.bindings[slot] for slot in "ht")
    picture = lexicon.ANIMALS[animal] + lexicon.THINGS[thing][1]
    pairs.append((rng.choice(["Which picture fits the story?", "Draw a picture of it."]), picture))
    rng.shuffle(pairs)
    return pairs


def _yes_or_no(story: Story, rng: random.Random) -> list[tuple[str, str]]:
    role, animal = rng.choice([("H", "h"), ("F", "f")])
    if not {role, animal} <= story.told:
        return []
    name, right = story.bindings[role], story.bindings[animal]
    asked = rng.choice([right, rng.choice([a for a in lexicon.ANIMALS if a != right])])
    word = "Yes" if asked == right else "No"
    asked, right = (f"{lexicon.article(a)} {a}" for a in (asked, right))
    return [(f"Was {name} {asked}?", f"{word}, {name} was {right}.")]
