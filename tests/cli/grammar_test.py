"""Tests of `hearth grammar`: documents against a schema, and many schemas."""

import json

from demo_test import DEMO
from program import ProgramTest

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"minimum": 0}},
          "required": ["name"], "additionalProperties": False}
LOOSE = {"type": "string", "pattern": "^(?=a)", "maxLength": 2}


class GrammarVerbTest(ProgramTest):
    def write(self, name, content):
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def test_check_tells_where_a_document_leaves_the_language(self):
        schema = self.write("person.json", SCHEMA)
        good = self.write("good.json", '{"name": "Ann",\n  "age": 7}\n')
        bad = self.write("bad.json", '{"name": "Ann", "size": 7}')
        self.assertEqual(self.good("grammar", "check", "--schema", schema, good),
                         f"{good}: accepted\n")
        status, out, _ = self.call("grammar", "check", "--schema", schema, good, bad, "--json")
        self.assertEqual(status, 1)
        first, second = map(json.loads, out.splitlines())
        self.assertEqual(first, {"file": str(good), "accepted": True})
        self.assertEqual((second["accepted"], second["byte"]), (False, 17))
        self.assertIn("'size\": 7}', but only these may follow: a", second["why"])
        out = self.good("grammar", "check", "--schema", schema, "--tokenizer", DEMO, "-",
                        text='{"name": "Ann"}')
        self.assertEqual(out, "-: accepted\n")
        self.good("grammar", "check", "--schema", schema, good, "--json")

    def test_check_refuses_or_leaves_out(self):
        schema = self.write("loose.json", LOOSE)
        text = self.write("text.json", '"xy"')
        self.bad(1, "grammar", "check", "--schema", schema, text,
                 says=['schema: keyword "pattern" is not supported'])
        status, out, err = self.call("grammar", "check", "--relaxed", "--schema", schema, text)
        self.assertEqual((status, out.decode()), (0, f"{text}: accepted\n"))
        self.assertIn('note: keywords ignored: schema: keyword "pattern"', err)

    def test_bench_counts(self):
        cases = [{"id": "person", "schema": SCHEMA, "tests": [
                     {"data": {"name": "Ann"}, "valid": True},
                     {"data": {"age": 7}, "valid": False},
                     {"data": {"age": 7, "name": "Ann"}, "valid": True}]},
                 {"id": "loose", "schema": LOOSE}]
        path = self.write("cases.jsonl", "".join(json.dumps(case) + "\n" for case in cases))
        text = self.good("grammar", "bench", "--schemas", path)
        self.assertIn("person: lost: test 2\n", text)
        self.assertRegex(text, r"loose: refused: schema: keyword \"pattern\"")
        self.assertRegex(text, r"schemas +2, compiled 1, refused 1\n")
        report = json.loads(self.good("grammar", "bench", "--schemas", path, "--json",
                                      "--walks", "3", "--seed", "5", "--tokenizer", DEMO))
        self.assertEqual((report["right"], report["lost"], report["let_through"]), (2, 1, 0))
        for walk in report["cases"][0]["walks"]:
            self.assertIn("name", json.loads(walk))

    def test_says_what_is_missing(self):
        self.bad(2, "grammar", "check", says=["--schema FILE"])
        self.bad(2, "grammar", "bench", says=["--schemas FILE"])
        path = self.write("odd.jsonl", '{"schema": true}\n{}\n')
        self.bad(1, "grammar", "bench", "--schemas", path, says=["line 2", '"schema"'])
        self.bad(2, "grammar", "bench", path, "--schemas", path, says=["unexpected word"])
