"""Models in folders of Hugging Face's layout, with the tokenizer that lies in them."""

import json

import chain_models
from chain_models import BOS, EOS, TURN, letter
from program import ProgramTest


class FolderTest(ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.folder / "chain-hf"
        chain_models.write_chain_folder(cls.model)

    def test_run_goes_on_with_text(self):
        words = ("--temp", "0", "-n", "5")
        self.assertEqual(self.good("run", self.model, *words, "-p", "xa"), "bcdef")
        self.assertEqual(self.good("run", self.model, *words, "-p", "U"), "\u00e9\u20ac")
        self.assertEqual(self.good("run", self.model, *words, "-p", "E"), "")
        self.assertEqual(self.good("run", self.model, *words, "-p", "A"), "")
        self.assertEqual(self.good("run", self.model, *words, "--chat", "-p", "hi", "--echo"),
                         "<s>hi<|im_end|>abcdef")

    def test_ids_are_those_of_the_file(self):
        for text in ("ab c", "\u00e9 a", "<s>a</s>", ""):
            for words in ((), ("--special",), ("--no-bos",)):
                call = ("tokenize", "--json", *words, "-p", text)
                told = self.good(call[0], self.model, *call[1:])
                self.assertEqual(told, self.good(call[0], self.chain, *call[1:]))
        told = self.good("tokenize", self.model, "--json", "--special", "-p", "a<|im_end|></s>")
        self.assertEqual(json.loads(told), [BOS, letter("a"), TURN, EOS])
        self.assertEqual(self.good("tokenize", self.model, "--decode", "--json", text=told),
                         '"a"\n')

    def test_a_quantised_file_gives_what_the_folder_gives(self):
        out = self.folder / "chain-q8_0.gguf"
        self.good("quantize", self.model, out, "--weights", "q8_0")
        logits = ("logits", "-p", "a b", "--json")
        self.assertEqual(self.good(logits[0], out, *logits[1:]),
                         self.good(logits[0], self.model, *logits[1:], "--weights", "q8_0"))
        for text in ("ab c", "\u00e9 a", "<s>a</s>", ""):
            for words in ((), ("--special",), ("--no-bos",)):
                call = ("--json", *words, "-p", text)
                self.assertEqual(self.good("tokenize", out, *call),
                                 self.good("tokenize", self.model, *call))
        words = ("--temp", "0", "-n", "5", "--chat", "-p", "hi", "--echo")
        self.assertEqual(self.good("run", out, *words), "<s>hi<|im_end|>abcdef")

    def test_a_tokenizer_that_no_file_can_say_is_refused(self):
        path, out = self.model / "tokenizer.json", self.folder / "no.gguf"
        kept = path.read_text()
        made = json.loads(kept)
        made["pre_tokenizer"] = {"type": "Digits", "individual_digits": True}
        path.write_text(json.dumps(made))
        try:
            self.bad(1, "quantize", self.model, out, "--weights", "q8_0",
                     says=["tokenizer.json", "pre_tokenizer splits", "--weights instead"])
        finally:
            path.write_text(kept)
        self.assertFalse(out.exists())
        path.rename(self.folder / "kept.json")
        try:
            _, _, err = self.call("quantize", self.model, out, "--weights", "q8_0")
            self.assertIn("has no tokenizer", err)
        finally:
            (self.folder / "kept.json").rename(path)
        self.good("logits", out, "--tokens", "1,5")

    def test_names_unsupported_tokenizer_parts(self):
        path = self.model / "tokenizer.json"
        kept = path.read_text()
        made = json.loads(kept)
        made["pre_tokenizer"] = {"type": "Whitespace"}
        path.write_text(json.dumps(made))
        try:
            self.bad(1, "tokenize", self.model, "-p", "a",
                     says=["tokenizer.json", "pre_tokenizer.type", "Whitespace"])
        finally:
            path.write_text(kept)
        self.bad(2, "tokenize", self.model, "-p", "a", "--pre", "qwen2", says=["--pre"])
