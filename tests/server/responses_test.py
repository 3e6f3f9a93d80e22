"""Tests of OpenAI's Responses: whole and streamed replies, a loop of tools, and errors. The engine
is a stub whose replies are in the conversation.

    python3 tests/server/responses_test.py --stub build/release/stub_serve
"""

import json

from scripted import READ_A, ScriptedTest, main, script_text

PATH = "/v1/responses"
COUNT = "/v1/responses/input_tokens"
READ = {"type": "function", "name": "read", "description": "Reads a file.", "strict": False,
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}},
                       "required": ["path"], "additionalProperties": False}}  # fmt: skip
CREW = {"type": "namespace", "name": "crew", "description": "Others.",
        "tools": [{"type": "function", "name": "ping", "parameters": None}]}  # fmt: skip
SEARCH = {"type": "web_search", "external_web_access": False}
PING = '<tool_call>\n{"name": "crew__ping", "arguments": {}}\n</tool_call>'
TURN = f"<think>\nWhat is in it?\n</think>\n\nI look.\n{READ_A}\n{PING}"


def say(*scripts):
    """An item with the stub's reply for each of its turns."""
    content = [{"type": "input_text", "text": script_text(scripts)}]
    return {"type": "message", "role": "user", "content": content}


def without_ids(item):
    return {key: value for key, value in item.items() if key not in ("id", "call_id")}


class ResponsesTest(ScriptedTest):
    route = PATH

    def stream(self, body):
        texts, fields = self.events(body)
        events = []
        for event in texts:
            name, data = event.split("\n")
            events.append(json.loads(data.removeprefix("data: ")))
            self.assertEqual(name, "event: " + events[-1]["type"])
            self.assertEqual(events[-1]["sequence_number"], len(events) - 1)
        return events, fields

    def both(self, **body):
        """A whole reply. Asserts that the streamed one equals it."""
        reply, _ = self.whole(body)
        events, _ = self.stream(body)
        last = events[-1]["response"]
        self.assertEqual([without_ids(item) for item in reply["output"]],
                         [without_ids(item) for item in last["output"]])  # fmt: skip
        self.assertEqual(reply["usage"]["output_tokens"], last["usage"]["output_tokens"])
        self.assertEqual(events[-1]["type"], "response." + reply["status"])
        ids = {}
        for event in events:
            if "output_index" in event:
                one = event["item"]["id"] if "item" in event else event["item_id"]
                ids.setdefault(event["output_index"], set()).add(one)
        self.assertEqual(ids, {i: {item["id"]} for i, item in enumerate(last["output"])})
        return reply

    def test_reasoning_a_message_and_calls(self):
        reply = self.both(input=[say(TURN)], tools=[READ, CREW, SEARCH], instructions="Be brief.")
        self.assertEqual((reply["status"], reply["store"]), ("completed", False))
        self.assertEqual(reply["instructions"], "Be brief.")
        self.assertEqual(reply["tools"], [READ, CREW])
        kinds = [item["type"] for item in reply["output"]]
        self.assertEqual(kinds, ["reasoning", "message", "function_call", "function_call"])
        thought, message, read, ping = reply["output"]
        self.assertEqual(thought["content"][0]["text"], "What is in it?")
        self.assertEqual(message["content"][0]["text"], "I look.")
        self.assertEqual((read["name"], read["arguments"]), ("read", '{"path": "a.txt"}'))
        self.assertEqual((ping["namespace"], ping["name"]), ("crew", "ping"))
        self.assertGreater(reply["usage"]["output_tokens_details"]["reasoning_tokens"], 0)

    def test_names_ignored_tools(self):
        body = {"input": [say("Hi.")], "tools": [READ, SEARCH]}
        for fields in (self.whole(body)[1], self.stream(body)[1]):
            self.assertEqual(fields["X-Hearth-Ignored"], "tools[1]: web_search")
        self.assertNotIn("X-Hearth-Ignored", self.whole({"input": [say("Hi.")]})[1])

    def test_cut_responses_are_incomplete(self):
        reply = self.both(input=[say("One two three four.")], max_output_tokens=3)
        self.assertEqual(reply["status"], "incomplete")
        self.assertEqual(reply["incomplete_details"], {"reason": "max_output_tokens"})
        self.assertEqual(reply["output"][-1]["status"], "incomplete")

    def test_a_shape(self):
        form = {"type": "json_schema", "name": "n", "schema": {"type": "integer"}, "strict": True}
        reply = self.both(input=[say("<think>\nhm\n</think>\n\n12")], text={"format": form})
        self.assertEqual(reply["output"][-1]["content"][0]["text"], "12")

    def test_a_loop_of_tools(self):
        fields = {"tools": [READ, CREW, SEARCH], "instructions": "You are an agent.",
                  "store": False, "include": ["reasoning.encrypted_content"],
                  "reasoning": {"summary": "auto"}, "prompt_cache_key": "k",
                  "client_metadata": {"a": "b"}, "parallel_tool_calls": True}  # fmt: skip
        rules = {"type": "message", "role": "developer",
                 "content": [{"type": "input_text", "text": "Obey."}]}  # fmt: skip
        first = [rules, say(TURN, "It is |empty.")]
        events, _ = self.stream({"input": first, **fields})
        output = events[-1]["response"]["output"]
        results = [{"type": "function_call_output", "call_id": item["call_id"], "output": "nothing"}
                   for item in output if item["type"] == "function_call"]  # fmt: skip
        second = [*first, *output, *results]
        reply, _ = self.whole({"input": second, **fields})
        self.assertEqual(reply["output"][-1]["content"][0]["text"], "It is empty.")
        counts = [self.server.good(COUNT, {"input": items, **fields}) for items in (first, second)]
        self.assertEqual(counts[1], {"object": "response.input_tokens",
                                     "input_tokens": reply["usage"]["input_tokens"]})  # fmt: skip
        self.assertLess(counts[0]["input_tokens"], counts[1]["input_tokens"])

    def test_errors_have_the_names_of_the_body(self):
        image = [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]
        call = [{"role": "user", "content": "x"},
                {"type": "function_call", "call_id": "1", "name": "f",
                 "arguments": "[]"}]  # fmt: skip
        odd = {**READ, "strict": True, "parameters": {"$ref": "http://x/"}}
        for more, param in (({"input": image}, "input[0].content[0].type"),
                            ({"input": call}, "input[1].arguments"),
                            ({"tools": [SEARCH, odd]}, "tools[1].parameters"),
                            ({"previous_response_id": "resp_1"}, "previous_response_id"),
                            ({"max_output_tokens": 0}, "max_output_tokens")):  # fmt: skip
            status, reply = self.server.ask("POST", PATH, {"input": "x", **more})
            self.assertEqual((status, reply["error"]["param"]), (400, param), reply)
        status, reply = self.server.ask("POST", COUNT, {"input": call})
        self.assertEqual((status, reply["error"]["param"]), (400, "input[1].arguments"), reply)
        for path in (PATH, COUNT):
            status, reply = self.server.ask("POST", path, {"input": "x", "model": "other"})
            self.assertEqual((status, reply["error"]["code"]), (404, "model_not_found"))

    def test_a_stream_that_fails_says_so(self):
        body = {"input": [say("Hello.")], "tools": [READ], "tool_choice": "required"}
        events, _ = self.stream(body)
        self.assertEqual([event["type"] for event in events[-2:]], ["error", "response.failed"])
        self.assertEqual(events[-1]["response"]["status"], "failed")
        self.assertIn("may not come", events[-1]["response"]["error"]["message"])


if __name__ == "__main__":
    main(ResponsesTest, __doc__)
