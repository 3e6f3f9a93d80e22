#!/usr/bin/env python3
"""Checks texts that the demo model samples under random JSON Schemas with Debian's
python3-jsonschema. They are sampled greedily and at random, one alone and many together, as answers
and as arguments of calls.

    sampling_test.py --hearth build/release/hearth [TEST...]
"""

import argparse
import decimal
import json
import random
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "server"))

import random_schemas  # noqa: E402
from grammar_test import jsonschema, once  # noqa: E402
from serving import Server, serve_command  # noqa: E402

CHAT = "/v1/chat/completions"
DEMO = ROOT / "assets" / "demo.gguf"
TOOLS = ROOT / "tests" / "templates" / "hermes_tools.jinja"
SCHEMAS = 200
CALLED = 10
TOGETHER = 32
MAX_TOKENS = 200
FEWEST_ENDED = 0.6
ASKED = ["Tell me a story about a fox.", "Where did the bear live?", "{", "Who found the kite?"]
# Keywords that the schemas together must use.
KEYWORDS = {"additionalProperties", "allOf", "anyOf", "const", "contains", "enum", "maximum",
            "exclusiveMaximum", "exclusiveMinimum", "format", "if", "items", "maxItems",
            "maxLength", "maxProperties", "minItems", "minLength", "minimum", "multipleOf", "not",
            "oneOf", "pattern", "patternProperties", "prefixItems", "properties", "propertyNames",
            "required", "uniqueItems", "$ref"}  # fmt: skip


def number(text):
    """The exact value of a JSON number, as an int if it is whole."""
    made = decimal.Decimal(text)
    return int(made) if made.adjusted() < 400 and made == made.to_integral_value() else made


def parse(text):
    """Parses JSON. Fails on a name twice in an object and on half of a surrogate pair."""
    found = json.loads(text, object_pairs_hook=once, parse_float=number)
    json.dumps(found, ensure_ascii=False, default=str).encode()
    return found


def keywords(schema):
    if isinstance(schema, dict):
        return set(schema).union(*map(keywords, schema.values()))
    return set().union(*map(keywords, schema)) if isinstance(schema, list) else set()


@unittest.skipIf(jsonschema is None, "python3-jsonschema is not installed")
class SamplingTest(unittest.TestCase):
    hearth = ""

    def start(self, *words):
        """A server that must end well with the test. It has one thread, since more gain nothing in
        steps this small."""
        server = Server(serve_command(SamplingTest.hearth, DEMO, "--no-log", "--threads", 1, *words,
                                      "--max-running", TOGETHER, "--kv-cache", "256MiB"))
        self.addCleanup(server.__exit__)
        self.addCleanup(lambda: self.assertEqual(server.stop(), 0, server.last_words()))
        return server

    def check(self, schema, text):
        """Asserts that the text is a document which the schema accepts."""
        exact = json.loads(json.dumps(schema), parse_float=number)
        formats = jsonschema.FormatChecker(random_schemas.LEAVES)
        validator = jsonschema.Draft202012Validator(exact, format_checker=formats)
        with decimal.localcontext() as context:
            context.prec = 1000
            problem = jsonschema.exceptions.best_match(validator.iter_errors(parse(text)))
        self.assertIsNone(problem, f"{json.dumps(schema)} makes {text}")

    def choices(self, server, bodies, together):
        """The choice of each request, sent one after another or `together` at a time."""

        def ask(body):
            status, found = server.ask("POST", CHAT, body)
            self.assertEqual(status, 200, (body, found))
            choice = found["choices"][0]
            for call in choice["message"].get("tool_calls") or []:
                del call["id"]  # differs every time
            return choice

        with ThreadPoolExecutor(together) as pool:
            return list(pool.map(ask, bodies))

    def requests(self, temperature, shapes):
        return [{"messages": [{"role": "user", "content": ASKED[i % len(ASKED)]}],
                 "max_tokens": MAX_TOKENS, "temperature": temperature, "seed": i, **shape}
                for i, shape in enumerate(shapes)]  # fmt: skip

    def answers(self, server, temperature, shapes):
        """The answers to all requests. Asserts that they are the same alone and together."""
        bodies = self.requests(temperature, shapes)
        alone = self.choices(server, bodies, 1)
        self.assertEqual(self.choices(server, bodies, TOGETHER), alone)
        return alone

    def make_schemas(self, server):
        """Makes schemas. Half of them have keywords of all kinds. Of these, it keeps those that
        compile in time and that some text meets."""
        source = random.Random(38)
        made = [random_schemas.make_form(source) for _ in range(SCHEMAS // 2)]
        while len(made) < SCHEMAS:
            schema = random_schemas.make_schema(source)
            body = {"prompt": "a", "max_tokens": 1, "guided_json": schema}
            status, found = server.ask("POST", "/v1/completions", body)
            if status == 200:
                made.append(schema)
            else:
                self.assertEqual(status, 400, found)
                self.assertIn(found["error"]["code"], ("invalid_schema", "schema_too_complex"))
        return made

    def test_answers_satisfy_their_schemas(self):
        server = self.start()
        schemas = self.make_schemas(server)
        self.assertLessEqual(KEYWORDS, keywords(schemas))
        shapes = [{"response_format": {"type": "json_schema", "json_schema": {"schema": schema}}}
                  for schema in schemas]  # fmt: skip
        for temperature in (0, 1):
            ended = 0
            for schema, choice in zip(schemas, self.answers(server, temperature, shapes)):
                if choice["finish_reason"] == "stop":
                    ended += 1
                    self.check(schema, choice["message"]["content"])
                else:
                    self.assertEqual(choice["finish_reason"], "length")
            self.assertGreaterEqual(ended, FEWEST_ENDED * SCHEMAS)

    def test_arguments_satisfy_their_schemas(self):
        server = self.start("--chat-template", TOOLS, "--ctx", 4096)
        source = random.Random(39)
        schemas = [random_schemas.make_form(source, "object") for _ in range(CALLED)]
        shapes = [{"tool_choice": "required", "tools": [{"type": "function", "function": {
            "name": "f", "parameters": schema, "strict": True}}]} for schema in schemas]
        for temperature in (0, 1):
            called = 0
            for schema, choice in zip(schemas, self.answers(server, temperature, shapes)):
                if choice["finish_reason"] == "length":
                    continue
                self.assertEqual(choice["finish_reason"], "tool_calls")
                called += 1
                for call in choice["message"]["tool_calls"]:
                    self.assertEqual(call["function"]["name"], "f")
                    self.check(schema, call["function"]["arguments"])
            self.assertGreaterEqual(called, FEWEST_ENDED * CALLED)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hearth", required=True)
    parser.add_argument("tests", nargs="*")
    args = parser.parse_args()
    SamplingTest.hearth = args.hearth
    unittest.main(argv=[sys.argv[0], *args.tests])


if __name__ == "__main__":
    main()
