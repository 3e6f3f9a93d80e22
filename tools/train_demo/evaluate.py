"""Measures the demo model: python3 evaluate.py HEARTH MODEL.gguf [--count 200] [--show N]

The requests are for held-out combinations of animal, thing and place, as chat, at hearth run's
default sampling (temperature 0.8). Prints the shares of

    requests whose story holds everything that was asked for, as words
    sentences that come from a template of the grammar
    stories in which every slot means the same all through: one name one animal one pronoun
    questions about held-out stories (written by the generator) with exactly the right answer
    questions about the model's own stories with exactly the right answer, where the story's
    reading says what is right

The program runs the model, so the figures are those that a user gets. Needs no PyTorch.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess

import chats
import grammar
import plots
import stories


def generate(args, prompts: list[str]) -> list[str]:
    """A text for each prompt, each with a seed of its own."""
    texts = []
    for seed, prompt in enumerate(prompts, 1000 * args.seed):
        words = ["run", args.model, "--special", "--json", "-q", "--seed", str(seed), "-p", prompt]
        run = subprocess.run([args.hearth, *words], capture_output=True, text=True, check=True)
        texts.append(json.loads(run.stdout.splitlines()[-1])["summary"]["text"])
    return texts


def holds(text: str, wanted: dict[str, str]) -> bool:
    """Whether every word that was asked for stands in the text."""
    return all(re.search(rf"\b{re.escape(word)}\b", text) for word in wanted.values())


def own_questions(
    text: str, plot_parsers: dict[str, grammar.Parser], rng: random.Random
) -> list[tuple[str, str]]:
    """Questions that stories.questions would ask about a text that some plot can tell."""
    for plot, parser in plot_parsers.items():
        bound = parser.read(text)
        if bound is not None and {"H", "h", "t", "P"} <= bound.keys():
            return stories.questions(stories.Story(text, plot, bound, set(bound) | {"p"}), rng)
    return []


class Share:
    def __init__(self, what: str):
        self.what, self.good, self.all = what, 0, 0

    def add(self, good: bool) -> None:
        self.good += good
        self.all += 1

    def __str__(self) -> str:
        return f"{self.what}: {self.good} of {self.all}, {100 * self.good / max(1, self.all):.1f} %"


def measure_stories(args, parser: grammar.Parser, rng: random.Random) -> list[str]:
    requests = [chats.request(rng, held_out=True) for _ in range(args.count)]
    prompts = [chats.render([("user", asked)], answer_next=True) for asked, _ in requests]
    texts = generate(args, prompts)
    held, parsed = Share("stories that hold what was asked"), Share("sentences that parse")
    consistent = Share("stories consistent all through")
    for (asked, wanted), text in zip(requests, texts):
        held.add(holds(text, wanted))
        for sentence in grammar.split_sentences(text):
            parsed.add(bool(parser.readings(sentence)))
            if args.show and not parser.readings(sentence):
                print("  does not parse:", sentence)
        consistent.add(parser.read(text) is not None)
        if args.show and not holds(text, wanted):
            print(f"  does not hold: {asked} -> {text!r}")
    for (asked, _), text in list(zip(requests, texts))[: args.show]:
        print(f"{asked}\n{text}\n")
    print(held, parsed, consistent, sep="\n")
    return [prompt + text + chats.END + "\n" for prompt, text in zip(prompts, texts)]


def measure_answers(args, what: str, asked: list[tuple[str, str, str]]) -> None:
    """Measures questions. `asked` has (the conversation so far, a question, its answer)."""
    prompts = [
        before + chats.render([("user", question)], answer_next=True)
        for before, question, _ in asked
    ]
    answers = generate(args, prompts)
    right = Share(what)
    for (_, question, answer), given in zip(asked, answers):
        right.add(given == answer)
        if args.show and given != answer:
            print(f"  {question} {answer!r}, not {given!r}")
    print(right)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures the demo model.")
    parser.add_argument("hearth")
    parser.add_argument("model")
    parser.add_argument("--count", type=int, default=200, help="requests, and questions")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=0, help="print so many stories, and all faults")
    args = parser.parse_args()
    rng = random.Random(f"evaluate {args.seed}")
    grammar_parser = grammar.Parser(plots.all_templates())
    told = measure_stories(args, grammar_parser, rng)

    given = []
    for _ in range(args.count):
        story = stories.tell(rng, held_out=True)
        turns = [("user", "Tell me a story."), ("assistant", story.text)]
        given.append((chats.render(turns), *stories.questions(story, rng)[0]))
    measure_answers(args, "answers about held-out stories", given)

    own = []
    plot_parsers = {
        name: grammar.Parser(plots.templates_of(plot)) for name, plot in plots.PLOTS.items()
    }
    for before in told:
        text = before.split(f"{chats.START}assistant\n")[1].removesuffix(chats.END + "\n")
        own += [(before, *pair) for pair in own_questions(text, plot_parsers, rng)[:1]]
    measure_answers(args, "answers about its own stories", own)


if __name__ == "__main__":
    main()
