#!/usr/bin/env python3
"""Tests of the demo model's generator, grammar and tokenizer; run it without arguments. The files
that need PyTorch (model.py, optimiser.py, train.py, export.py) are not tested."""

from __future__ import annotations

import random
import re
import unittest

import bpe
import chats
import data
import grammar
import lexicon
import plots
import stories


class LexiconTest(unittest.TestCase):
    def test_no_word_means_two_things_that_a_story_could_confuse(self):
        for tables in ((lexicon.GIRLS, lexicon.BOYS), (lexicon.ANIMALS, lexicon.THINGS),
                       (lexicon.THINGS, lexicon.PLACES)):
            self.assertFalse(set(tables[0]) & set(tables[1]))
        pictures = [*lexicon.ANIMALS.values(), *(row[1] for row in lexicon.THINGS.values())]
        self.assertEqual(len(pictures), len(set(pictures)))

    def test_every_slot_of_every_template_has_words(self):
        asked = [*plots.COMMON_QUESTIONS, *(q for rows in plots.QUESTIONS.values() for q in rows)]
        texts = [text for ways, answer in asked for text in (*ways, answer)]
        for template in plots.all_templates() + texts:
            for slot in grammar.slots_of(template):
                self.assertTrue(grammar.words_of(slot), f"{slot} in {template}")


class GrammarTest(unittest.TestCase):
    def test_articles_and_pronouns_agree(self):
        bound = {"H": "Zoë", "h": "owl", "F": "Max", "t": "kite", "c": "orange"}
        template = "{A:h} named {H} had {a:c} {t}, and {^he} gave it to {fhim}."
        self.assertEqual(grammar.fill(template, bound),
                         "An owl named Zoë had an orange kite, and She gave it to him.")

    def test_sentences_end_where_one_sees_it(self):
        text = '"Oh no!" cried Pip. He ran.\n\n"I will help you." They laughed.'
        self.assertEqual(grammar.split_sentences(text),
                         ['"Oh no!" cried Pip.', "He ran.", '"I will help you."', "They laughed."])

    def test_refuses_texts_that_disagree(self):
        parser = grammar.Parser(plots.all_templates())
        good = "Pip was a shy fox who lived under an old oak. Pip was very sad."
        self.assertEqual(parser.read(good)["h"], "fox")
        for wrong in (good.replace("a shy", "an shy"), good.replace("oak", "oat"),
                      good + " She was so sad that she cried.", good.replace("Pip", "Qip"),
                      good + " Pip was so glad that he gave Pip a warm pie."):
            self.assertIsNone(parser.read(wrong), wrong)
        self.assertIsNotNone(parser.read(good + " He was so sad that he cried."))


class StoriesTest(unittest.TestCase):
    def test_stories_can_be_read_and_mean_what_was_meant(self):
        rng = random.Random(3)
        parser = grammar.Parser(plots.all_templates())
        for _ in range(200):
            story = stories.tell(rng)
            bound = parser.read(story.text)
            self.assertIsNotNone(bound, story.text)
            for slot in {"H", "h", "F", "f", "t", "P"} & bound.keys():
                self.assertEqual(bound[slot], story.bindings[slot], story.text)

    def test_stories_hold_what_is_asked_for(self):
        rng = random.Random(4)
        for _ in range(300):
            _, wanted = chats.request(rng)
            story = stories.tell(rng, wanted)
            for word in wanted.values():
                self.assertIn(word, story.text)

    def test_held_out_combinations_come_only_where_asked_for(self):
        rng = random.Random(5)
        self.assertTrue(all(not stories.is_held_out(stories.tell(rng).bindings)
                            for _ in range(200)))
        self.assertTrue(all(stories.is_held_out(stories.tell(rng, held_out=True).bindings)
                            for _ in range(20)))

    def test_answers_say_what_the_story_says(self):
        rng = random.Random(6)
        told = set()
        words = re.compile(r"[\w']+")
        for _ in range(500):
            story = stories.tell(rng)
            known = set(words.findall(story.text.lower()))
            for question, answer in stories.questions(story, rng):
                told.add(answer.split(" ")[0])
                names = {word for word in words.findall(answer) if word in lexicon.NAMES}
                self.assertLessEqual({name.lower() for name in names}, known, story.text)
                for table in (lexicon.ANIMALS, lexicon.THINGS, lexicon.PLACES):
                    said = set(words.findall(answer)) & set(table)
                    self.assertLessEqual(said, known, f"{story.text} {question} {answer}")
        self.assertGreater(len(told), 30)

    def test_every_question_comes_up(self):
        rng = random.Random(8)
        found: dict[str, set[str]] = {plot: set() for plot in plots.PLOTS}
        for _ in range(1500):
            story = stories.tell(rng)
            found[story.plot] |= story.told
        for plot, asked in plots.QUESTIONS.items():
            for ways, answer in asked:
                slots = grammar.slots_of(answer) | grammar.slots_of(ways[0])
                self.assertLessEqual(slots, found[plot], f"{plot}: {ways[0]}")


class BpeTest(unittest.TestCase):
    def test_decoding_gives_the_text_back(self):
        rng = random.Random(7)
        texts = ["".join(text for text, _ in chats.document(rng)) for _ in range(60)]
        merges = bpe.learn([text.replace("<|im_end|>", "") for text in texts], 600)
        tokenizer = bpe.Tokenizer(merges, data.SPECIALS)
        self.assertEqual(len(tokenizer), 600 + len(data.SPECIALS))
        for text in texts:
            ids = tokenizer.encode(text)
            self.assertEqual(tokenizer.decode(ids), text)
            self.assertLess(len(ids), len(text) / 2)

    def test_pictures_stay_bytes(self):
        merges = bpe.learn(["a 🦊 is a 🦊 is a 🦊", "🦊🦊🦊🦊"], 400)
        self.assertEqual(len(bpe.Tokenizer(merges, []).encode("🦊")), 4)

    def test_the_cut_of_words(self):
        text = "It's  Zoë's \"kite,\" 12\n\nEnd. "
        self.assertEqual(bpe.PIECE.findall(text),
                         ["It", "'s", " ", " Zoë", "'s", ' "', "kite", ',"', " ", "1", "2",
                          "\n\n", "End", ".", " "])


class DataTest(unittest.TestCase):
    def test_rows_are_whole_texts_and_requests_count_nothing(self):
        tokenizer = bpe.Tokenizer([], data.SPECIALS)
        ids, weights = next(data.batches(tokenizer, "test", tokens=3000, context=2048))
        self.assertEqual(ids.shape, weights.shape)
        self.assertEqual((ids.shape[1] - 1) % data.STEP, 0)
        start, end = (tokenizer.id_of(special) for special in (chats.START, chats.END))
        for row, weight in zip(ids, weights):
            self.assertFalse(weight[row == start].any())
            text = tokenizer.decode(list(row[weight > 0]))
            self.assertNotIn("Tell me", text)
            if start in row:
                self.assertTrue(weight[row == end].any())


if __name__ == "__main__":
    unittest.main()
