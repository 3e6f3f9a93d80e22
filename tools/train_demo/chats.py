"""Conversations: requests for stories, the stories, questions about them, and small talk.

A conversation is a list of (role, text). `render` writes it as ChatML, with the control tokens by
name. `request` asks for some of the things that a story will hold.
"""

from __future__ import annotations

import random

import grammar
import stories

START, END, TEXT_END = "<|im_start|>", "<|im_end|>", "<|endoftext|>"

# Requests of a chat, and the slots that the story must then have.
ABOUT = [
    ("{a:h} and {a:t}", "ht", 6),
    ("{a:h}", "h", 3),
    ("{a:t}", "t", 2),
    ("{a:h} {p}", "hP", 2),
    ("{a:h} and {a:t} {p}", "htP", 3),
    ("{a:h}, {a:t} and the {P}", "htP", 2),
    ("{a:h} and the {P}", "hP", 1),
    ("the {P}", "P", 1),
    ("{a:h} named {H}", "hH", 2),
    ("{H} the {h}", "hH", 2),
    ("{H} the {h} and {a:t}", "hHt", 1),
    ("{a:h} and {a:f}", "hf", 2),
    ("{a:h}, {a:f} and {a:t}", "hft", 1),
    ("{a:h} and {a:c} {t}", "hct", 2),
    ("{a:c} {t}", "ct", 1),
    ("{a:h} on a {weather} day", "hw", 1),
]

ASKS = [
    ("Tell me a story about {}.", 6),
    ("Tell me a story about {}", 2),
    ("tell me a story about {}", 2),
    ("Please tell me a story about {}.", 2),
    ("Can you tell me a story about {}?", 2),
    ("Tell a story about {}.", 2),
    ("Write a story about {}.", 2),
    ("Write a short story about {}.", 1),
    ("I would like a story about {}.", 1),
    ("A story about {}, please.", 1),
    ("Make up a story about {}.", 1),
    ("Now tell me a story about {}.", 1),
]
ANY = ["Tell me a story.", "Another story, please.", "Please tell me a story.", "Write a story."]

SYSTEMS = [
    "You are a helpful assistant.",
    "You tell stories.",
    "You are a storyteller for children.",
    "You are Hearth's demo model.",
]

WHO_I_AM = "I am a very small model that tells stories about animals. Ask me for one!"
SMALL_TALK = {
    "Hello! Which animal shall I tell you a story about?": ["Hello!", "Hello", "Hi", "Hi!", "Hey"],
    WHO_I_AM: ["Who are you?", "What are you?", "What can you do?", "Help", "What do you do?"],
    "You are welcome!": ["Thank you!", "Thanks!", "Thank you", "That was nice.", "I liked it."],
    "Goodbye!": ["Bye!", "Goodbye!", "Good night!", "Bye"],
}


def _weighted(rng: random.Random, rows: list[tuple]) -> tuple:
    return rng.choices(rows, [row[-1] for row in rows])[0]


def request(rng: random.Random, held_out: bool | None = False) -> tuple[str, dict[str, str]]:
    """A request and the slots that the story has to hold."""
    about, slots, _ = _weighted(rng, ABOUT)
    wanted = {"weather" if slot == "w" else slot for slot in slots}
    bound = stories.bind(rng, {}, held_out)
    text = grammar.fill(about, bound)
    return _weighted(rng, ASKS)[0].format(text), {slot: bound[slot] for slot in wanted}


def _small_talk(rng: random.Random) -> list[tuple[str, str]]:
    answer = rng.choice(list(SMALL_TALK))
    return [("user", rng.choice(SMALL_TALK[answer])), ("assistant", answer)]


def _asked_story(rng: random.Random) -> tuple[str, stories.Story]:
    asked, wanted = (rng.choice(ANY), {}) if rng.random() < 0.08 else request(rng)
    return asked, stories.tell(rng, wanted)


def _story_turns(rng: random.Random, max_questions: int) -> list[tuple[str, str]]:
    asked, story = _asked_story(rng)
    turns = [("user", asked), ("assistant", story.text)]
    for question, answer in stories.questions(story, rng)[: rng.randint(0, max_questions)]:
        turns += [("user", question), ("assistant", answer)]
    return turns


def conversation(rng: random.Random) -> list[tuple[str, str]]:
    turns: list[tuple[str, str]] = []
    if rng.random() < 0.2:
        turns.append(("system", rng.choice(SYSTEMS)))
    if rng.random() < 0.04:
        turns += _small_talk(rng)
    turns += _story_turns(rng, max_questions=6)
    while rng.random() < 0.15:
        turns += _story_turns(rng, max_questions=3)
    if rng.random() < 0.04:
        turns += _small_talk(rng)
    return turns


def render(turns: list[tuple[str, str]], answer_next: bool = False) -> str:
    text = "".join(f"{START}{role}\n{words}{END}\n" for role, words in turns)
    return text + (f"{START}assistant\n" if answer_next else "")


def document(rng: random.Random) -> list[tuple[str, float]]:
    """One training text, in pieces with their weight in the loss. Requests weigh nothing, since the
    model need not write any. An answer's few words weigh more, since they decide whether it is
    right."""
    kind = rng.random()
    if kind < 0.15:
        return [(stories.tell(rng).text, 1.0), (TEXT_END, 1.0)]
    if kind < 0.35:
        # A request without chat's tokens. It is tokenized apart from the story, since a prompt ends
        # in "." where running text has the token ".\n\n".
        asked, story = _asked_story(rng)
        return [(asked, 0.0), ("\n\n", 1.0), (story.text, 1.0), (TEXT_END, 1.0)]
    pieces = []
    for role, words in conversation(rng):
        answer = role == "assistant"
        short = answer and len(words) < 100
        pieces.append((f"{START}{role}\n", 0.0))
        pieces.append((words + END, 3.0 if short else 1.0 if answer else 0.0))
        pieces.append(("\n", 0.0))
    return pieces
