"""Tests with a stub of an engine whose replies are in the conversation. Each SAY(...)YAS in the
user's text is the reply of one of its turns."""

import argparse
import json
import sys
import unittest

from serving import Server

READ_A = '<tool_call>\n{"name": "read", "arguments": {"path": "a.txt"}}\n</tool_call>'
READ = {"type": "function", "function": {
    "name": "read", "description": "Reads a file.",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}},
                   "required": ["path"], "additionalProperties": False}}}  # fmt: skip


def script_text(scripts):
    return " ".join(f"SAY({script})YAS" for script in scripts)


def say(*scripts):
    """A message with the stub's reply for each of its turns."""
    return {"role": "user", "content": script_text(scripts)}


class ScriptedTest(unittest.TestCase):
    """A test whose requests go to `route`."""

    stub = ""
    route = ""

    @classmethod
    def setUpClass(cls):
        cls.server = Server([cls.stub, "0", "turns"])

    @classmethod
    def tearDownClass(cls):
        with cls.server:
            assert cls.server.stop() == 0, cls.server.last_words()

    def reply(self, body):
        """The text of a successful answer, and its header's fields."""
        status, fields, text = self.server.exchange("POST", self.route, body)
        self.assertEqual(status, 200, text)
        return text, fields

    def whole(self, body):
        text, fields = self.reply(body)
        return json.loads(text), fields

    def events(self, body, **more):
        """The events of a stream in order, and the header's fields."""
        text, fields = self.reply({**body, "stream": True, **more})
        return text.decode().split("\n\n")[:-1], fields


def main(test, description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--stub", required=True, help="the program stub_serve")
    parser.add_argument("tests", nargs="*")
    args = parser.parse_args()
    test.stub = args.stub
    unittest.main(argv=[sys.argv[0], *args.tests])
