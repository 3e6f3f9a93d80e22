"""Tests of ollama's API: whole and streamed chats and prompts, a loop of tools, lists of models,
and errors. The engine is a stub whose replies are in the conversation.

    python3 tests/server/ollama_test.py --stub build/release/stub_serve
"""

import json

from raw_client import RawClient
from scripted import READ, READ_A, ScriptedTest, main, say, script_text

CHAT, GENERATE = "/api/chat", "/api/generate"
TAKEN = {"total_duration", "load_duration", "prompt_eval_count", "prompt_eval_duration",
         "eval_count", "eval_duration"}  # fmt: skip


class OllamaTest(ScriptedTest):
    route = CHAT

    def lines(self, body, path=CHAT):
        """The lines of a stream: only the last one is done."""
        status, fields, text = self.server.exchange("POST", path, body)
        self.assertEqual((status, fields["Content-Type"]), (200, "application/x-ndjson"), text)
        self.assertTrue(text.endswith(b"\n"))
        lines = [json.loads(line) for line in text.decode().splitlines()]
        self.assertEqual([line["done"] for line in lines], [False] * (len(lines) - 1) + [True])
        for line in lines:
            self.assertRegex(line["created_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
        return lines

    def both(self, *scripts, **fields):
        """A whole reply. Asserts that the streamed one equals it."""
        body = {"model": "stub", "messages": [say(*scripts)], **fields}
        reply, _ = self.whole({**body, "stream": False})
        lines = self.lines(body)
        said = [line["message"] for line in lines]
        for key in ("content", "thinking"):
            whole = "".join(message.get(key, "") for message in said)
            self.assertEqual(whole, reply["message"].get(key, ""))
        calls = [call["function"] for message in said for call in message.get("tool_calls", [])]
        self.assertEqual(calls, [call["function"] for call in
                                 reply["message"].get("tool_calls", [])])  # fmt: skip
        for key in ("done_reason", "eval_count", "prompt_eval_count", "model"):
            self.assertEqual(reply[key], lines[-1][key])
        self.assertLessEqual(TAKEN, set(reply))
        return reply

    def refused(self, status, body, says, path=CHAT, method="POST"):
        found, fields, text = self.server.exchange(method, path, body)
        self.assertEqual(found, status, text)
        self.assertEqual(fields["Content-Type"], "application/json")
        told = json.loads(text)
        self.assertEqual(list(told), ["error"])
        self.assertIn(says, told["error"])
        return told["error"]

    def test_text_and_what_it_took(self):
        reply = self.both("One two three.")
        self.assertEqual(reply["message"], {"role": "assistant", "content": "One two three."})
        self.assertEqual((reply["done_reason"], reply["model"]), ("stop", "stub"))
        self.assertGreater(reply["eval_count"], 1)
        self.assertGreater(reply["total_duration"], 0)
        cut = self.both("One two three.", options={"num_predict": 2})
        self.assertEqual((cut["done_reason"], cut["eval_count"]), ("length", 2))
        stopped = self.both("One two three.", options={"stop": [" three"]})
        self.assertEqual(stopped["message"]["content"], "One two")

    def test_a_stream_is_what_is_meant_where_nothing_is_said(self):
        self.assertGreater(len(self.lines({"messages": [say("One|two|three")]})), 3)

    def test_thinking(self):
        reply = self.both("<think>\nLet me see.\n</think>\n\nYes.", think=True)
        self.assertEqual(reply["message"], {"role": "assistant", "content": "Yes.",
                                            "thinking": "Let me see."})  # fmt: skip
        self.assertNotIn("thinking", self.both("Yes.", think=False)["message"])

    def test_a_loop_of_tools(self):
        turn = f"<think>\nhm\n</think>\n\nI look.\n{READ_A}\n{READ_A.replace('a.txt', 'b.txt')}"
        reply = self.both(turn, tools=[READ])
        self.assertEqual(reply["done_reason"], "stop")
        calls = reply["message"]["tool_calls"]
        self.assertEqual([call["function"] for call in calls],
                         [{"index": i, "name": "read", "arguments": {"path": path}}
                          for i, path in enumerate(("a.txt", "b.txt"))])  # fmt: skip
        for call in calls:
            del call["id"]  # older clients send them back like this
        messages = [say(turn, "Both are |empty."), reply["message"],
                    {"role": "tool", "tool_name": "read", "content": "nothing"},
                    {"role": "tool", "tool_name": "read", "content": "nothing"}]  # fmt: skip
        last, _ = self.whole({"messages": messages, "tools": [READ], "stream": False})
        self.assertEqual(last["message"]["content"], "Both are empty.")

    def test_formats(self):
        self.assertEqual(self.both("12", format={"type": "integer"})["message"]["content"], "12")
        self.assertEqual(self.both('{"a": 1}', format="json")["message"]["content"], '{"a": 1}')
        self.refused(400, {"messages": [say("x")], "format": {"type": "strin"}}, "format")

    def test_prompts(self):
        body = {"prompt": script_text(["Yes."]), "system": "Be brief."}
        lines = self.lines(body, GENERATE)
        self.assertEqual("".join(line["response"] for line in lines), "Yes.")
        whole = self.server.good(GENERATE, {**body, "stream": False})
        self.assertEqual((whole["response"], whole["done_reason"]), ("Yes.", "stop"))
        raw = "<|im_start|>assistant\n" + script_text(["Raw."])
        whole = self.server.good(GENERATE, {"prompt": raw, "raw": True, "stream": False})
        self.assertEqual(whole["response"], "Raw.")

    def test_nothing_asked_tells_that_the_model_is_there(self):
        for path in (CHAT, GENERATE):
            whole = self.server.good(path, {"model": "stub", "stream": False, "keep_alive": "5m"})
            self.assertEqual((whole["done"], whole["done_reason"]), (True, "load"))
            self.assertEqual(len(self.lines({"model": "stub"}, path)), 1)

    def test_names_of_models(self):
        for name in ("stub", "stub:latest", "stub:q4_0"):
            reply, _ = self.whole({"model": name, "messages": [say("x")], "stream": False})
            self.assertEqual(reply["model"], name)
            self.assertEqual(self.server.good("/api/show", {"model": name})["capabilities"],
                             ["completion", "tools", "thinking"])  # fmt: skip
        for path in (CHAT, "/api/show"):
            body = {"model": "other:latest", "messages": [say("x")]}
            self.refused(404, body, "this server has no model 'other:latest'; it has 'stub'",
                         path)  # fmt: skip

    def test_lists(self):
        for path in ("/api/tags", "/api/ps"):
            (model,) = self.server.good(path)["models"]
            self.assertEqual((model["name"], model["model"]), ("stub:latest", "stub:latest"))
            status, _, body = self.server.exchange("HEAD", path)
            self.assertEqual((status, body), (200, b""))
        self.assertEqual(self.server.exchange("HEAD", "/")[0], 200)
        self.assertRegex(self.server.good("/api/version")["version"], r"^\d+\.\d+\.\d+$")

    def test_refuses_unsupported_fields(self):
        turn = [say("x")]
        self.refused(403, {"name": "qwen3:0.6b"}, "this server does not pull models: start it "
                                                  "with --models --allow-pull, or pull the "
                                                  "model yourself (hearth pull)", "/api/pull")
        self.refused(403, {"name": "stub"}, "this server does not delete models: start it with "
                                            "--models --allow-pull, or remove the model "
                                            "yourself (hearth remove)", "/api/delete", "DELETE")
        self.refused(404, {}, "there is no /api/create", "/api/create")
        self.refused(404, {"input": "x"}, "needs an embedding model: start the server with one, "
                                          "or add one with --embed FILE", "/api/embed")
        self.refused(400, {"prompt": "x", "suffix": "y"}, "suffix asks for something", GENERATE)
        self.refused(400, {"prompt": "x", "images": ["aGk="]}, "images asks for some", GENERATE)
        self.refused(400, {"messages": [{**turn[0], "images": ["aGk="]}]},
                     "messages[0].images asks for something")  # fmt: skip
        self.refused(400, {"messages": turn, "options": {"mirostat": 2}}, "options.mirostat")

    def test_the_context_is_what_it_is(self):
        context = self.server.good("/api/ps")["models"][0]["context_length"]
        reply = self.both("Yes.", options={"num_ctx": context})
        self.assertEqual(reply["message"]["content"], "Yes.")
        told = self.refused(400, {"messages": [say("x")], "options": {"num_ctx": context + 1}},
                            f"options.num_ctx is {context + 1}")  # fmt: skip
        self.assertIn(f"--ctx {context + 1}", told)

    def test_bad_bodies(self):
        for body, says in (([], "the body is an array"), ({"messages": 3}, "messages is a number"),
                           ({"messages": [{"content": "x"}]}, "messages[0].role is missing"),
                           ({"messages": [say("x")], "stream": 1}, "stream is a number"),
                           ({"messages": [say("x")], "think": "a lot"}, "think is 'a lot'"),
                           ({"messages": [say("x")], "options": {"top_p": 7}},
                            "options.top_p is 7")):  # fmt: skip
            self.refused(400, body, says)
        self.refused(400, {}, "model is missing", "/api/show")
        self.refused(405, None, "/api/chat accepts only POST", CHAT, "GET")

    def test_bad_bytes(self):
        """All errors of paths below /api/ have one form, whichever part of the server refuses."""
        json_text = "Content-Type: application/json\r\n"
        for fields, body, status, says in (
            ("", b"{", 400, "the body cannot be read"),
            ("", b"\xff\xfe", 400, "the body cannot be read"),
            ("", b'{"messages": [' + b"[" * 500, 400, "the body cannot be read"),
            ("Content-Encoding: gzip\r\n", b"x", 415, ""),
            ("Content-Length: 5\r\n", b"x", 400, ""),
            ("Expect: a-miracle\r\n", b"{", None, ""),
            ("", b'{"messages": [{"role": "user", "content": "\\ud800"}]}', None, ""),
        ):
            with self.subTest(fields=fields, body=body), RawClient(self.server.port) as client:
                client.post(CHAT, body, json_text + fields)
                reply = client.reply()
                self.assertGreaterEqual(reply.status, 400)
                if status is not None:
                    self.assertEqual(reply.status, status)
                self.assertEqual(list(json.loads(reply.body)), ["error"])
                self.assertIn(says, json.loads(reply.body)["error"])

    def test_a_failure_in_a_stream_is_its_last_line(self):
        """The stub fails where its script breaks the requested language."""
        body = {"messages": [say("12|x")], "format": {"type": "integer"}}
        status, _, text = self.server.exchange("POST", CHAT, body)
        last = json.loads(text.decode().splitlines()[-1])
        self.assertEqual((status, list(last)), (200, ["error"]))

    def test_logprobs(self):
        body = {"messages": [say("One|two")], "logprobs": True, "top_logprobs": 1}
        told = [entry for line in self.lines(body) for entry in line.get("logprobs", [])]
        self.assertEqual("".join(entry["token"] for entry in told), "Onetwo")


if __name__ == "__main__":
    main(OllamaTest, __doc__)
