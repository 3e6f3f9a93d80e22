"""Tests of faults caused by clients, limits and signals. Each test waits for events. To
show that something did not happen, it reads figures that can no longer change after an event.

    python3 tests/server/engine_faults_test.py --hearth build/release/hearth
"""

import argparse
import json
import re
import resource
import signal
import socket
import subprocess
import sys
import unittest

from serving import Server, ServerTest, events, wait_for

STORY = "Once upon a time there was a fox"
LONG = 16384  # positions, for texts that are under way as long as a test needs them
# A time longer than any text takes, even if a sanitizer makes every token many times as slow.
PATIENT = ["--drain-timeout", "3600"]


def greedy(tokens, **more):
    return {"prompt": STORY, "max_tokens": tokens, "temperature": 0, "ignore_eos": True, **more}


def wait_for_texts(server, count):
    """Waits until so many texts are under way. A stream whose client reads nothing soon counts as
    waiting."""
    server.wait_until(
        lambda f: f["hearth_requests_running"] + f["hearth_requests_waiting"] == count,
        f"{count} texts are under way",
    )


class LeavingTest(ServerTest):
    """Tests of clients that leave."""

    options = ["--ctx", str(LONG), "--max-running", "1", "--kv-cache", "256MiB"]

    def assert_no_token_more(self):
        """Asserts that all places are free and that only requested tokens are generated from here
        on."""
        before = self.server.wait_idle()["hearth_generation_tokens_total"]
        self.server.text(**greedy(5))
        after = self.server.wait_idle()["hearth_generation_tokens_total"]
        self.assertEqual(after - before, 5)

    def wait_for_tokens(self):
        self.server.wait_until(
            lambda f: f["hearth_requests_running"] == 1, "a text is being generated"
        )

    def test_while_tokens_stream(self):
        connection, reply = self.server.open_stream(**greedy(LONG - 100))
        self.assertIn(b"data: ", reply.readline())
        connection.close()
        self.assert_no_token_more()

    def test_while_it_waits_for_the_whole_text(self):
        connection = self.server.connect()
        connection.request("POST", "/v1/completions", json.dumps(greedy(LONG - 100)))
        self.wait_for_tokens()
        connection.close()
        self.assert_no_token_more()

    def test_while_its_prompt_is_read(self):
        prompt = [300 + i % 700 for i in range(LONG - 10)]
        before = self.server.wait_idle()
        connection = self.server.connect()
        connection.request("POST", "/v1/completions", json.dumps({"prompt": prompt}))
        self.server.wait_until(
            lambda f: f["hearth_computed_tokens_total"] > before["hearth_computed_tokens_total"],
            "some of the prompt has been read",
        )
        connection.close()
        after = self.server.wait_idle()
        read = after["hearth_computed_tokens_total"] - before["hearth_computed_tokens_total"]
        self.assertLess(read, len(prompt))
        self.assertEqual(
            after["hearth_generation_tokens_total"], before["hearth_generation_tokens_total"]
        )
        self.assert_no_token_more()

    def test_while_it_waits_in_the_queue(self):
        alone = self.server.text(**greedy(400))
        self.server.wait_idle()
        # The reply is not streamed: a stream that nobody reads would wait for its reader.
        first = self.server.connect()
        first.request("POST", "/v1/completions", json.dumps(greedy(LONG - 100)))
        self.wait_for_tokens()
        second, _ = self.server.open_stream(**greedy(LONG - 100))
        self.server.wait_until(lambda f: f["hearth_requests_waiting"] == 1, "one waits")
        second.close()
        self.server.wait_until(lambda f: f["hearth_requests_waiting"] == 0, "nobody waits")
        self.assertEqual(self.server.figures()["hearth_requests_running"], 1)
        self.assertTrue(json.load(first.getresponse())["choices"][0]["text"].startswith(alone))
        first.close()
        self.assert_no_token_more()

    def test_at_once_after_asking(self):
        for _ in range(50):
            connection = self.server.connect()
            connection.request("POST", "/v1/completions", json.dumps(greedy(LONG - 100)))
            connection.close()
        # A client that sends no more may still read. The server learns that it has left when a sent
        # byte is answered by a reset.
        self.server.wait_until(lambda f: f["hearth_connections"] == 1, "nobody else is there")
        self.assert_no_token_more()


class SlowReaderTest(ServerTest):
    """Tests of a client that stops reading."""

    options = ["--ctx", str(LONG), "--write-timeout", "1"]

    def test_is_cut_off_and_changes_nobody_elses_text(self):
        alone = self.server.text(**greedy(2000))
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", self.server.port))
        body = json.dumps(greedy(LONG - 100, stream=True, logprobs=20)).encode()
        head = f"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}"
        slow.sendall(head.encode() + b"\r\n\r\n" + body)
        wait_for_texts(self.server, 1)
        self.assertEqual(self.server.text(**greedy(2000)), alone)
        self.server.wait_until(
            lambda f: f['hearth_requests_total{outcome="cancelled"}'] == 1, "it is cut off"
        )
        self.server.wait_idle()
        slow.close()


class DescriptorTest(ServerTest):
    """Tests of more connections than the process may have open."""

    def test_connections_wait_and_are_served(self):
        def few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

        server = self.start(before=few)
        taken = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(150)]
        for connection in taken:
            connection.close()
        self.assertEqual(server.ask("GET", "/health"), (200, {"status": "ok"}))
        self.assertEqual(server.stop(), 0)


class EndTest(ServerTest):
    """Tests of signals."""

    options = ["--ctx", str(LONG)]

    @classmethod
    def setUpClass(cls):
        pass

    @classmethod
    def tearDownClass(cls):
        pass

    def test_streams_end_and_newcomers_are_refused(self):
        server = self.start(*PATIENT)
        _, reply = server.open_stream(**greedy(3000))
        first = reply.readline()
        server.process.send_signal(signal.SIGTERM)
        health = wait_for(
            lambda: (answer := server.ask("GET", "/health"))[0] == 503 and answer, "health is 503"
        )
        self.assertEqual(health[1], {"status": "draining"})
        status, body = server.ask("POST", "/v1/completions", greedy(1))
        self.assertEqual((status, body["error"]["code"]), (503, "draining"))
        rest = events(reply)
        self.assertIn(b"data: ", first)
        self.assertEqual(rest[-1], "[DONE]")
        self.assertEqual(rest[-2]["choices"][0]["finish_reason"], "length")
        self.assertEqual(server.end(), 0)

    def test_a_body_under_way_is_waited_for(self):
        server = self.start(*PATIENT)
        body = json.dumps(greedy(3)).encode()
        late = socket.create_connection(("127.0.0.1", server.port))
        head = f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        late.sendall(head.replace("x", "localhost", 1).encode() + body[:5])
        server.wait_until(lambda f: f["hearth_exchanges"] == 2, "its head has come")
        server.process.send_signal(signal.SIGTERM)
        wait_for(lambda: server.ask("GET", "/health")[0] == 503, "health is 503")
        late.sendall(body[5:])
        self.assertTrue(late.makefile("rb").readline().startswith(b"HTTP/1.1 200"))
        late.close()
        self.assertEqual(server.end(), 0)

    def test_draining_ends_slow_requests_with_an_error(self):
        server = self.start("--drain-timeout", "0.01")
        _, streamed = server.open_stream(**greedy(LONG - 100))
        streamed.readline()
        whole = server.connect()
        whole.request("POST", "/v1/completions", json.dumps(greedy(LONG - 100)))
        wait_for_texts(server, 2)
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(events(streamed)[-1]["error"]["code"], "draining")
        answer = whole.getresponse()
        self.assertEqual(answer.status, 503)
        self.assertEqual(json.load(answer)["error"]["code"], "draining")
        self.assertEqual(server.end(), 0)

    def test_a_second_signal_ends_at_once(self):
        server = self.start()
        _, reply = server.open_stream(**greedy(LONG - 100))
        reply.readline()
        server.process.send_signal(signal.SIGTERM)
        wait_for(lambda: server.ask("GET", "/health")[0] == 503, "health is 503")
        self.assertEqual(server.stop(signal.SIGINT), -signal.SIGINT)

    def test_killed_it_leaves_the_port_to_the_next(self):
        server = self.start()
        connection, reply = server.open_stream(**greedy(LONG - 100))
        reply.readline()
        self.assertEqual(server.stop(signal.SIGKILL), -signal.SIGKILL)
        self.assertNotIn("[DONE]", events(reply))
        connection.close()
        again = self.start(port=server.port)
        self.assertEqual(again.ask("GET", "/health"), (200, {"status": "ok"}))
        self.assertEqual(again.stop(), 0)


class BrokenEngineTest(unittest.TestCase):
    """Tests of an engine, in place of the real one, that fails in every way."""

    stub = []

    @classmethod
    def setUpClass(cls):
        cls.server = Server(BrokenEngineTest.stub)

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0

    def test_exceptions_become_error_replies(self):
        for prompt, status, code in [
            ("throw", 500, "internal_error"),
            ("no memory", 503, "no_memory"),
            ("busy", 429, "queue_full"),
            ("refuse", 400, "invalid_value"),
            ("fail", 500, "generation_failed"),
        ]:
            for stream in [False, True]:
                with self.subTest(prompt=prompt, stream=stream):
                    if stream and prompt == "fail":
                        continue
                    found, body = self.server.ask(
                        "POST", "/v1/completions", {"prompt": prompt, "stream": stream}
                    )
                    self.assertEqual((found, body["error"]["code"]), (status, code))

    def test_unsendable_reply_is_an_error(self):
        body = {"prompt": "absurd", "max_tokens": 4, "logprobs": 1}
        status, found = self.server.ask("POST", "/v1/completions", body)
        self.assertGreaterEqual(status, 400)
        self.assertIn("code", found["error"])
        _, reply = self.server.open_stream(**body)
        self.assertIn("error", events(reply)[-1])

    def test_a_worker_that_throws(self):
        server = Server([*BrokenEngineTest.stub, "0", "worker"])
        for stream in [False, True]:
            status, body = server.ask("POST", "/v1/completions", {"prompt": "x", "stream": stream})
            self.assertEqual((status, body["error"]["code"]), (500, "internal_error"))
        self.assertEqual(server.ask("GET", "/health"), (200, {"status": "ok"}))
        self.assertEqual(server.stop(), 0)

    def test_a_failure_within_a_stream_is_its_last_event(self):
        _, reply = self.server.open_stream(prompt="fail", max_tokens=8)
        self.assertEqual(reply.status, 200)
        self.assertEqual(events(reply)[-1]["error"]["code"], "generation_failed")

    def test_it_goes_on(self):
        self.assertEqual(self.server.ask("GET", "/health"), (200, {"status": "ok"}))
        status, _ = self.server.ask("POST", "/v1/completions", {"prompt": "x", "max_tokens": 8})
        self.assertEqual(status, 200)


class LoadingTest(unittest.TestCase):
    """Tests of a server whose model is loading until the test lets it go on."""

    LISTENING = re.compile(r"^hearth: (listening) at http://(.*):(\d+)/$", re.M)

    def test_it_answers_and_refuses(self):
        command = [*BrokenEngineTest.stub, "0", "hold"]
        with Server(command, until=self.LISTENING, stdin=subprocess.PIPE) as server:
            for _ in range(2):
                self.assertEqual(server.ask("GET", "/live"), (200, {"status": "ok"}))
                self.assertEqual(server.ask("GET", "/health"), (503, {"status": "loading"}))
            for path in ["/v1/completions", "/v1/chat/completions", "/tokenize"]:
                status, fields, body = server.exchange("POST", path, {"prompt": "a"})
                self.assertEqual((status, fields["Retry-After"]), (503, "2"))
                self.assertEqual(json.loads(body)["error"]["code"], "loading")
            self.assertEqual(server.ask("GET", "/v1/models")[0], 503)
            figures = server.figures()
            self.assertEqual(figures['hearth_requests_total{outcome="busy"}'], 2)
            self.assertNotIn("hearth_steps_total", figures)
            self.assertEqual(server.ask("GET", "/")[0], 200)
            server.process.stdin.close()
            wait_for(lambda: server.ask("GET", "/health")[0] == 200, "the model is loaded")
            self.assertEqual(server.ask("POST", "/v1/completions", {"prompt": "a"})[0], 200)
            self.assertEqual(server.stop(), 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hearth", required=True)
    parser.add_argument("--stub", required=True, help="the program stub_serve")
    parser.add_argument("tests", nargs="*")
    args = parser.parse_args()
    ServerTest.hearth = [args.hearth]
    BrokenEngineTest.stub = [args.stub]
    unittest.main(argv=[sys.argv[0], *args.tests])


if __name__ == "__main__":
    main()
