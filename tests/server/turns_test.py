"""Tests of turns of chats: reasoning, content and calls of tools, whole and streamed. The engine is
a stub whose replies are in the conversation.

    python3 tests/server/turns_test.py --stub build/release/stub_serve
"""

import json

from scripted import READ, READ_A, ScriptedTest, main, say

CHAT = "/v1/chat/completions"
PING = {"type": "function", "function": {"name": "ping"}}
PING_CALL = '<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>'


def joined(chunks):
    """The choices of a stream by index, in the form of a whole reply."""
    choices = {}
    for chunk in chunks:
        for one in chunk["choices"]:
            choice = choices.setdefault(one["index"], {"message": {"content": ""}, "logprobs": []})
            message, delta = choice["message"], one["delta"]
            message.setdefault("role", delta.get("role"))
            for key in ("content", "reasoning_content"):
                if key in delta:
                    message[key] = message.get(key, "") + delta[key]
            for piece in delta.get("tool_calls", []):
                join_call(message.setdefault("tool_calls", []), piece)
            choice["logprobs"] += (one["logprobs"] or {}).get("content", [])
            choice["finish_reason"] = one["finish_reason"]
    return choices


def join_call(calls, piece):
    function = piece["function"]
    if piece["index"] == len(calls):
        assert set(piece) == {"index", "id", "type", "function"}, piece
        assert function["arguments"] == "", piece
        calls.append({"id": piece["id"], "type": piece["type"], "function": dict(function)})
    else:
        assert set(piece) == {"index", "function"} and set(function) == {"arguments"}, piece
        calls[piece["index"]]["function"]["arguments"] += function["arguments"]


class TurnsTest(ScriptedTest):
    route = CHAT

    def stream(self, body):
        texts, fields = self.events(body, stream_options={"include_usage": True})
        events = [event.removeprefix("data: ") for event in texts]
        self.assertEqual(events.pop(), "[DONE]")
        return [json.loads(event) for event in events], fields

    def both(self, script, **body):
        """The choice of a whole reply. Asserts that the streamed one equals it."""
        body = {"messages": [say(script)], "tools": [READ, PING], **body}
        reply, _ = self.whole(body)
        chunks, _ = self.stream(body)
        self.assertEqual(chunks[-1]["usage"]["completion_tokens_details"],
                         reply["usage"]["completion_tokens_details"])  # fmt: skip
        streamed = joined(chunks)
        for choice in reply["choices"]:
            self.assert_same(choice, streamed[choice["index"]])
        return reply["choices"][0], reply["usage"]["completion_tokens_details"]

    def assert_same(self, choice, streamed):
        message, other = choice["message"], streamed["message"]
        self.assertEqual(choice["finish_reason"], streamed["finish_reason"])
        self.assertEqual(message["content"] or "", other["content"])
        self.assertEqual(message.get("reasoning_content"), other.get("reasoning_content"))
        self.assertEqual((choice["logprobs"] or {}).get("content", []), streamed["logprobs"])
        functions = [[call["function"] for call in of.get("tool_calls", [])]
                     for of in (message, other)]  # fmt: skip
        self.assertEqual(functions[0], functions[1])

    def test_a_call(self):
        choice, _ = self.both(READ_A)
        self.assertEqual(choice["finish_reason"], "tool_calls")
        self.assertIsNone(choice["message"]["content"])
        (call,) = choice["message"]["tool_calls"]
        self.assertRegex(call["id"], "^call_[A-Za-z0-9]{24}$")
        self.assertEqual(call["type"], "function")
        self.assertEqual(call["function"], {"name": "read", "arguments": '{"path": "a.txt"}'})

    def test_reasoning_content_and_two_calls(self):
        script = f"<think>\nWhat is in it?\n</think>\n\nI look.\n{READ_A}\n{PING_CALL}"
        choice, details = self.both(script, n=2)
        message = choice["message"]
        self.assertEqual(message["reasoning_content"], "What is in it?")
        self.assertEqual(message["content"], "I look.")
        self.assertEqual([c["function"]["name"] for c in message["tool_calls"]], ["read", "ping"])
        self.assertEqual(len({call["id"] for call in message["tool_calls"]}), 2)
        self.assertGreater(details["reasoning_tokens"], 0)
        choice, hidden = self.both(script, n=2, include_reasoning=False)
        self.assertNotIn("reasoning_content", choice["message"])
        self.assertEqual(hidden, details)

    def test_a_turn_that_was_cut(self):
        for script, calls in (('<tool_call>\n{"name": "re', 0), (READ_A[:52], 1)):
            reply, _ = self.whole({"messages": [say(READ_A)], "tools": [READ],
                                   "max_tokens": 4096})  # fmt: skip
            tokens = self.server.good("/tokenize", {"content": script, "add_special": False})
            choice, _ = self.both(script, max_tokens=tokens["count"])
            self.assertEqual(choice["finish_reason"], "length")
            found = choice["message"].get("tool_calls", [])
            self.assertEqual(len(found), calls, choice)
            whole = reply["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
            for call in found:
                self.assertTrue(whole.startswith(call["function"]["arguments"]), call)

    def test_without_tools_reasoning_is_split_and_stops_end_the_text(self):
        script = "<think>\nhm\n</think>\n\nOne two three."
        choice, _ = self.both(script, tools=None, logprobs=True)
        self.assertEqual(choice["message"]["content"], "One two three.")
        self.assertEqual(choice["message"]["reasoning_content"], "hm")
        shown = "".join(entry["token"] for entry in choice["logprobs"]["content"])
        self.assertEqual(shown.strip(), "One two three.")
        for include in (False, True):
            choice, _ = self.both(script, tools=None, stop=["o th"],
                                  include_stop_str_in_output=include)  # fmt: skip
            wanted = "One two th" if include else "One tw"
            self.assertEqual(choice["message"]["content"], wanted)
            self.assertEqual(choice["finish_reason"], "stop")
        choice, _ = self.both(script, tools=None, skip_special_tokens=False)
        self.assertEqual(choice["message"]["content"], script)

    def test_choices_of_tools(self):
        choice, _ = self.both(f"{READ_A}", tool_choice="none")
        self.assertEqual(choice["message"]["content"], READ_A)
        self.assertEqual(choice["finish_reason"], "stop")
        named = {"type": "function", "function": {"name": "ping"}}
        choice, _ = self.both(PING_CALL, tool_choice=named)
        self.assertEqual(choice["message"]["tool_calls"][0]["function"]["name"], "ping")
        for script, fields in ((READ_A, {"tool_choice": named}),
                               ("Hello.", {"tool_choice": "required"}),
                               (f"{PING_CALL}\n{PING_CALL}", {"parallel_tool_calls": False})):
            body = {"messages": [say(script)], "tools": [READ, PING], **fields}
            status, reply = self.server.ask("POST", CHAT, body)
            self.assertEqual(status, 500, reply)
            self.assertIn("may not come", reply["error"]["message"])

    def test_an_answer_of_a_shape_beside_tools(self):
        shape = {"type": "json_schema", "json_schema": {"schema": {"type": "integer"}}}
        choice, _ = self.both("<think>\nhm\n</think>\n\n12", response_format=shape)
        self.assertEqual(choice["message"]["content"], "12")
        choice, _ = self.both(READ_A, response_format=shape)
        self.assertEqual(choice["finish_reason"], "tool_calls")

    def test_a_loop_finds_its_first_turn(self):
        first = [say(f"<think>\nhm\n</think>\n\n{READ_A}", "It is |empty.")]
        reply, _ = self.whole({"messages": first, "tools": [READ]})
        message = reply["choices"][0]["message"]
        (call,) = message["tool_calls"]
        result = {"role": "tool", "tool_call_id": call["id"], "content": "nothing"}
        reply, _ = self.whole({"messages": [*first, message, result], "tools": [READ]})
        self.assertEqual(reply["choices"][0]["message"]["content"], "It is empty.")
        prompts = [
            self.server.good("/apply-template", {"messages": messages, "tools": [READ]})["prompt"]
            for messages in (first, [*first, message, result])
        ]
        self.assertTrue(prompts[1].startswith(prompts[0]), prompts)
        self.assertIn('{"path": "a.txt"}', prompts[1])

    def test_reports_relaxed_schemas(self):
        odd = {"type": "object", "properties": {"a": {"$ref": "http://x/\u00e9"}}}
        tool = {"type": "function", "function": {"name": "odd", "parameters": odd}}
        script = '<tool_call>\n{"name": "odd", "arguments": {"a": 1}}\n</tool_call>'
        body = {"messages": [say(script)], "tools": [READ, tool]}
        for fields in (self.whole(body)[1], self.stream(body)[1]):
            self.assertIn("tools[1].function.parameters", fields["X-Hearth-Relaxed"])
            self.assertTrue(fields["X-Hearth-Relaxed"].isascii())
        self.assertNotIn("X-Hearth-Relaxed", self.whole({**body, "tools": [READ],
                         "messages": [say(READ_A)]})[1])  # fmt: skip
        tool["function"]["strict"] = True
        status, reply = self.server.ask("POST", CHAT, body)
        self.assertEqual((status, reply["error"]["code"], reply["error"]["param"]),
                         (400, "invalid_schema", "tools[1].function.parameters"))  # fmt: skip

    def test_effort_turns_reasoning_off(self):
        for effort, tail in (("none", "<think>\n\n</think>\n\n"), ("low", "assistant\n")):
            body = {"messages": [say("x")], "reasoning_effort": effort}
            self.assertTrue(self.server.good("/apply-template", body)["prompt"].endswith(tail))
        choice, _ = self.both("Hi.", reasoning_effort="none")
        self.assertEqual(choice["message"]["content"], "Hi.")


if __name__ == "__main__":
    main(TurnsTest, __doc__)
