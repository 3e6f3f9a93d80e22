"""Tests of hearth chat-format: forms found in templates, and recorded turns."""
import json
import pathlib

from demo_test import DEMO
from program import ProgramTest

TURNS = pathlib.Path(__file__).parent.parent / "templates" / "turns"
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"]}}}


class ChatFormatVerbTest(ProgramTest):
    def turns(self, *turns):
        path = self.folder / "turns.jsonl"
        path.write_text("".join(json.dumps(turn) + "\n" for turn in turns))
        return path

    def test_tells_the_form_of_a_template(self):
        out = self.good("chat-format", "--template", TURNS / "hermes.jinja")
        self.assertTrue(out.startswith("form       hermes\n"), out)
        self.assertIn(r"""'<tool_call>\n{"name": "NAME", "arguments": {...}}\n</tool_call>'""", out)
        found = json.loads(self.good("chat-format", "--template", TURNS / "qwen3-coder.jinja",
                                     "--json"))
        self.assertEqual((found["form"], found["tools"]), ("qwen3-coder", True))
        self.assertEqual(found["calls"]["parameter"], "<parameter=")
        found = json.loads(self.good("chat-format", DEMO, "--template", TURNS / "hermes.jinja",
                                     "--json"))
        self.assertEqual(found["form"], "hermes")

    def test_says_why_there_are_no_tools(self):
        status, out, _ = self.call("chat-format", DEMO)
        self.assertEqual(status, 1)
        self.assertIn("calls      none: the chat template does not show calls", out.decode())
        status, out, _ = self.call("chat-format", DEMO, "--json")
        self.assertEqual((status, json.loads(out)["tools"]), (1, False))

    def test_reads_turns(self):
        call = [{"control": "<think>"}, {"text": "Hm."}, {"control": "</think>"},
                {"control": "<tool_call>"},
                {"text": '\n{"name": "weather", "arguments": {"city": "Oslo"}}\n'},
                {"control": "</tool_call>"}]
        path = self.turns({"id": "a", "pieces": call, "tools": [WEATHER], "end": "eog"},
                          {"pieces": [{"text": "Say <tool_call>."}], "tools": ["weather"]},
                          {"pieces": call[3:5], "tools": [WEATHER], "end": "length"})
        out = self.good("chat-format", "--form", "hermes", "--read", path)
        first, second, third = map(json.loads, out.splitlines())
        self.assertEqual(first, {"id": "a", "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": None, "reasoning_content": "Hm.", "tool_calls": [
                {"type": "function", "function": {"name": "weather",
                                                  "arguments": '{"city": "Oslo"}'}}]}})
        self.assertEqual(second["message"]["content"], "Say <tool_call>.")
        self.assertEqual(third["finish_reason"], "length")

    def test_a_turn_may_name_its_form(self):
        turn = {"form": "glm-4.5", "tools": [WEATHER], "pieces": [
            {"control": "<tool_call>"}, {"text": "weather\n"}, {"control": "<arg_key>"},
            {"text": "city"}, {"control": "</arg_key>"}, {"text": "\n"},
            {"control": "<arg_value>"}, {"text": "007"}, {"control": "</arg_value>"},
            {"text": "\n"}, {"control": "</tool_call>"}]}
        out = self.good("chat-format", "--read", "-", text=json.dumps(turn))
        call = json.loads(out)["message"]["tool_calls"][0]["function"]
        self.assertEqual(json.loads(call["arguments"]), {"city": "007"})

    def test_errors_name_what_is_wrong(self):
        self.bad(2, "chat-format", says=["give a model, --template FILE or --form NAME"])
        self.bad(2, "chat-format", "--form", "herms", says=["no form 'herms'", "hermes"])
        self.bad(2, "chat-format", DEMO, "--form", "hermes", 
                 says=["--form cannot be combined with a model"])
        path = self.turns({"pieces": 1})
        self.bad(1, "chat-format", "--form", "hermes", "--read", path,
                 says=["'pieces' must be a list"])
