"""Tests of the limits of `hearth serve`, and of the answers beyond them. Waits end by an answer, by
the end of a connection or by the server's figures."""

import json

from raw_client import RawClient
from serve_case import DEMO, ServeCase, SharedCase
from serving import wait_for

CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"
# A timeout that is short enough to be reached; no test needs anything to be quicker.
SOON = "0.05"


def message(count):
    return {"messages": [{"role": "user", "content": "a"}] * count}


class BodyLimitTest(ServeCase):
    """The limits on a body, by default and by the options."""

    # Each has the option, its default, a path, a function that makes a body with so many items, and
    # the field that the error names.
    LIMITS = (
        ("--max-messages", 2048, "/apply-template", message, "messages"),
        ("--max-prompts", 64, TEXT, lambda n: {"prompt": ["a"] * n}, "prompt"),
        ("--max-stops", 16, TEXT, lambda n: {"prompt": "a", "stop": ["x"] * n}, "stop"),
        ("--max-choices", 16, TEXT, lambda n: {"prompt": "a", "n": n}, "n"),
        ("--max-choices", 16, CHAT, lambda n: message(1) | {"n": n}, "n"),
        ("--max-top-logprobs", 20, TEXT, lambda n: {"prompt": "a", "logprobs": n}, "logprobs"),
        ("--max-top-logprobs", 20, CHAT,
         lambda n: message(1) | {"logprobs": True, "top_logprobs": n}, "top_logprobs"),
        ("--max-biases", 1024, TEXT,
         lambda n: {"prompt": "a", "logit_bias": {str(i): 1 for i in range(n)}}, "logit_bias"),
    )

    def check(self, server, most, path, body, param):
        more = {} if path == "/apply-template" else {"max_tokens": 1}
        status, told = server.ask("POST", path, body(most) | more)
        self.assertEqual(status, 200, told)
        self.assert_error(server.ask("POST", path, body(most + 1) | more), 400, "invalid_value",
                          param, [str(most)])

    def test_defaults(self):
        # The demo has more tokens than the limit on biases.
        server = self.start("serve", DEMO)
        for option, most, path, body, param in self.LIMITS:
            with self.subTest(option=option, path=path):
                self.check(server, most, path, body, param)

    def test_options(self):
        for most in (2, 33):
            options = dict.fromkeys(limit[0] for limit in self.LIMITS)
            server = self.start("serve", self.talker, *(word for option in options
                                                        for word in (option, most)))
            for option, _, path, body, param in self.LIMITS:
                with self.subTest(option=option, path=path, most=most):
                    self.check(server, most, path, body, param)
        for option in options:
            self.bad(2, "serve", self.talker, option, "0", says=[option])

    def test_depth(self):
        def nested(depth):
            value = 1
            for _ in range(depth - 1):
                value = [value]
            return {"content": "a", "ignored": value}

        for words, most in (((), 80), (("--max-depth", "5"), 5), (("--max-depth", "100"), 100)):
            server = self.start("serve", self.talker, *words)
            self.assertEqual(server.ask("POST", "/tokenize", nested(most))[0], 200)
            self.assert_error(server.ask("POST", "/tokenize", nested(most + 1)), 400,
                              "invalid_json", says=[str(most)])


class ContextTest(ServeCase):
    def test_a_prompt_longer_than_the_context(self):
        server = self.start("serve", self.talker, "--ctx", "100")
        self.assertEqual(server.good("/v1/models")["data"][0]["max_model_len"], 100)
        # The tokens, with the one at the start, fill the context.
        body = {"prompt": "a" * 99, "max_tokens": 1}
        self.assertEqual(server.good(TEXT, body)["usage"]["prompt_tokens"], 100)
        for path, more, param in ((TEXT, {"prompt": "a" * 100}, "prompt"),
                                  (TEXT, {"prompt": [5] * 101}, "prompt"),
                                  (TEXT, {"prompt": ["a", "a" * 100]}, "prompt")):
            self.assert_error(server.ask("POST", path, more), 400, "context_length_exceeded",
                              param, ["101", "100"])
        body = {"messages": [{"role": "user", "content": "a" * 98}]}
        self.assert_error(server.ask("POST", CHAT, body), 400, "context_length_exceeded",
                          "messages", ["101", "100"])

    def test_a_text_ends_where_the_context_does(self):
        server = self.start("serve", self.talker, "--ctx", "40")
        choice = server.good(TEXT, {"prompt": "a", "temperature": 0, "max_tokens": 1000})
        self.assertEqual(choice["choices"][0]["finish_reason"], "length")
        usage = choice["usage"]
        self.assertIn(usage["total_tokens"], (40, 41))  # the last token needs no position


class QueueTest(ServeCase):
    """A text whose client does not read stays under way, however much time passes."""

    LONG = 16384

    LONG_BODY = {"prompt": "a", "max_tokens": LONG - 10, "ignore_eos": True, "stream": True,
                 "logprobs": 20}

    def open_unread(self, server):
        """A stream longer than the kernel's buffers, after its status line has come."""
        client = self.ask_from("127.0.0.1", server, self.LONG_BODY)
        self.assertEqual(client.socket.recv(12), b"HTTP/1.1 200")
        return client.socket

    def ask_from(self, address, server, body, key=None):
        """A client that has sent a request and waits for its answer."""
        client = self.enterContext(RawClient(server.port, receive_buffer=4096, source=address))
        field = f"Authorization: Bearer {key}\r\n" if key else ""
        client.post(TEXT, json.dumps(body).encode(), field)
        return client

    def serve(self, *words):
        return self.start("serve", DEMO, "--ctx", self.LONG, "--kv-cache", "128MiB",
                          "--write-timeout", "600", *words)

    def test_clients_that_do_not_read_give_way(self):
        """Streams that are not read hold all places of a client until another text wants one."""
        server = self.serve("--max-running", "1", "--max-queue", "3", "--stall-timeout", SOON)
        unread = [self.open_unread(server) for _ in range(3)]

        def answered():
            status, body = server.ask("POST", TEXT, {"prompt": "a", "max_tokens": 2})
            return body if status == 200 else self.assertEqual(status, 429, body)

        for _ in range(3):
            wait_for(answered, "a text has the place of a stream that nobody reads")
        figures = server.figures()
        self.assertGreaterEqual(figures['hearth_requests_total{outcome="cancelled"}'], 1)
        wait_for(lambda: "client_too_slow" in server.said(), "the log has it")
        for client in unread:
            client.close()

    def test_slow_clients_get_an_error(self):
        server = self.serve("--max-running", "1", "--max-queue", "0", "--stall-timeout", SOON)
        unread = self.open_unread(server)
        wait_for(lambda: server.ask("POST", TEXT, {"prompt": "a", "max_tokens": 1})[0] == 200,
                 "its place is free")
        told = b""
        while not told.endswith(b"\r\n0\r\n\r\n"):
            told = told[-2000:] + unread.recv(1 << 16)
        self.assertIn(b'"code":"client_too_slow"', told)

    def test_full(self):
        server = self.serve("--max-running", "1", "--max-queue", "1", "--stall-timeout", "600")
        running = self.open_unread(server)
        waiting = self.open_unread(server)
        figures = server.wait_until(lambda f: f["hearth_requests_waiting"] == 1, "one waits")
        self.assertEqual(figures["hearth_requests_running"], 1)
        for stream in (False, True):
            status, fields, body = server.exchange("POST", TEXT, {"prompt": "a", "stream": stream})
            self.assert_error((status, json.loads(body)), 429, "queue_full")
            self.assertEqual(json.loads(body)["error"]["type"], "rate_limit_error")
            self.assertTrue(1 <= int(fields["Retry-After"]) <= 60)
        waiting.close()
        running.close()
        server.wait_idle()
        server.text(prompt="a")
        self.assertEqual(server.figures()['hearth_requests_total{outcome="busy"}'], 2)

    def test_a_flood_leaves_others_their_places(self):
        server = self.serve("--max-running", "1", "--max-queue", "4", "--stall-timeout", "600")
        flood = [self.ask_from("127.0.0.1", server, self.LONG_BODY) for _ in range(6)]
        statuses = sorted(client.socket.recv(12) for client in flood)
        self.assertEqual(statuses, [b"HTTP/1.1 200"] * 3 + [b"HTTP/1.1 429"] * 3)
        polite = self.ask_from("127.0.0.2", server, {"prompt": "a", "max_tokens": 5})
        self.assertEqual(polite.reply().status, 200)

    def test_keys_are_clients(self):
        keys = self.folder / "two.keys"
        keys.write_text("flood\npolite\n")
        server = self.serve("--max-running", "1", "--max-queue", "4", "--stall-timeout", "600",
                            "--api-key-file", keys)
        flood = [self.ask_from(f"127.0.0.{i}", server, self.LONG_BODY, key="flood")
                 for i in range(1, 7)]
        statuses = sorted(client.socket.recv(12) for client in flood)
        self.assertEqual(statuses, [b"HTTP/1.1 200"] * 3 + [b"HTTP/1.1 429"] * 3)
        polite = self.ask_from("127.0.0.1", server, {"prompt": "a"}, key="polite")
        self.assertEqual(polite.reply().status, 200)

    def test_one_request_has_no_more_than_a_share(self):
        server = self.serve("--max-running", "1", "--max-queue", "4")
        self.assert_error(server.ask("POST", TEXT, {"prompt": "a", "n": 4}), 400,
                          "too_many_texts", says=["4 texts", "allows 3 per client"])
        self.assertEqual(server.ask("POST", TEXT, {"prompt": "a", "n": 3})[0], 200)

    def test_none_may_wait(self):
        server = self.serve("--max-running", "2", "--max-queue", "0", "--stall-timeout", "600")
        self.open_unread(server)
        self.assertEqual(server.ask("POST", TEXT, {"prompt": "a"})[0], 200)
        self.assert_error(server.ask("POST", TEXT, {"prompt": "a", "n": 2}), 429, "queue_full")
        self.assert_error(server.ask("POST", TEXT, {"prompt": ["a", "b", "c"]}), 400,
                          "too_many_texts", says=["3 texts", "allows 2 per client"])


class ReplyTest(ServeCase):
    """Replies, read and unread, and the memory that they may take together."""

    DETOKENIZE = "/detokenize"

    def long_token(self, server):
        """An id of three digits with the longest text of any such token, and that text."""
        texts = {token: server.good(self.DETOKENIZE, {"tokens": [300, token]})["content"]
                 for token in range(300, 500)}
        begin = len(server.good(self.DETOKENIZE, {"tokens": [300]})["content"])
        token = max(texts, key=lambda token: len(texts[token]))
        return token, texts[token][begin:]

    @staticmethod
    def body(token, count):
        return b'{"tokens":[' + b",".join([b"%d" % token] * count) + b"]}"

    def ask_unread(self, server, path, body):
        """The status and the client, which reads no more."""
        client = self.enterContext(RawClient(server.port, receive_buffer=4096))
        client.post(path, body)
        return client.head().status, client

    @staticmethod
    def peak_bytes(server):
        """The highest resident memory of the server; None under a sanitizer, which has memory of
        its own."""
        if server.has_sanitizer():
            return None
        with open(f"/proc/{server.pid}/status", encoding="utf-8") as status:
            sizes = dict(line.split(":", 1) for line in status)
        return int(sizes["VmHWM"].split()[0]) << 10

    def test_a_large_one_is_whole(self):
        server = self.start("serve", DEMO)
        token, text = self.long_token(server)
        status, fields, data = server.exchange("POST", self.DETOKENIZE,
                                               {"tokens": [token] * 200_000})
        self.assertEqual((status, fields["Transfer-Encoding"]), (200, "chunked"))
        self.assertEqual(json.loads(data)["content"].strip(), (text * 200_000).strip())
        with RawClient(server.port) as client:
            ids = self.body(token, 200_000)
            client.send(f"POST {self.DETOKENIZE} HTTP/1.0\r\nHost: localhost\r\n"
                        f"Content-Length: {len(ids)}\r\n\r\n".encode() + ids)
            reply = client.reply()
        self.assertEqual((reply.field("transfer-encoding"), reply.body), (None, data))
        text = "a fox and a kite " * 60_000
        tokens = server.good("/tokenize", {"content": text, "add_special": False})
        self.assertEqual(tokens["count"], len(tokens["tokens"]))
        again = server.good(self.DETOKENIZE, {"tokens": tokens["tokens"]})["content"]
        self.assertEqual(again, text)

    def test_unread_ones_keep_within_the_budget(self):
        server = self.start("serve", DEMO, "--max-replies", "14MiB", "--write-timeout", "600")
        token, _ = self.long_token(server)
        count = 1_000_000  # ids, of four bytes each
        before = self.peak_bytes(server)
        found = [self.ask_unread(server, self.DETOKENIZE, self.body(token, count))
                 for _ in range(16)]
        self.assertEqual([status for status, _ in found], [200] * 3 + [503] * 13)
        used = server.figures()["hearth_reply_bytes"]
        self.assertTrue(3 * 4 * count < used <= 14 << 20, used)
        if before is not None:
            self.assertLess(self.peak_bytes(server) - before, 128 << 20)
        # Small requests are answered while the large replies wait to be read. There is room again
        # once these have gone.
        self.assertEqual(server.good("/tokenize", {"content": "a"})["count"], 1)
        for _, client in found:
            client.socket.close()
        server.wait_until(lambda f: f["hearth_reply_bytes"] == 0, "nothing is held any more")
        self.assertEqual(self.ask_unread(server, self.DETOKENIZE, self.body(token, count))[0], 200)

    def test_a_text_beyond_the_budget(self):
        server = self.start("serve", DEMO, "--max-replies", "64KiB")
        large = {"prompt": "a", "max_tokens": 200, "ignore_eos": True, "logprobs": 20}
        status, fields, body = server.exchange("POST", TEXT, large)
        self.assert_error((status, json.loads(body)), 503, "replies_full")
        self.assertEqual(fields["Retry-After"], "1")
        server.wait_idle()
        server.text(prompt="a", max_tokens=200, ignore_eos=True)
        # A stream holds each token only until it is sent, so it stays within the budget.
        connection, reply = server.open_stream(**large)
        self.assertEqual(reply.read()[-14:], b"data: [DONE]\n\n")
        connection.close()
        server.wait_until(lambda f: f["hearth_reply_bytes"] == 0, "nothing is held any more")


class HttpLimitTest(SharedCase):
    @classmethod
    def words(cls):
        return ("serve", cls.talker, "--max-header", "1024", "--max-header-fields", "9",
                "--max-body", "3KiB", "--max-bodies", "2000")

    def client(self):
        return self.enterContext(RawClient(self.server.port))

    def check(self, client, status, code):
        reply = client.reply()
        self.assertEqual(reply.status, status)
        self.assertEqual(json.loads(reply.body)["error"]["code"], code)
        self.assertEqual((reply.field("connection"), client.rest()), ("close", b""))

    def test_header(self):
        client = self.client()
        client.get("/live", "X: " + "x" * 900 + "\r\n")
        self.assertEqual(client.reply().status, 200)
        client.get("/live", "X: " + "x" * 1000 + "\r\n")
        self.check(client, 431, "header_too_large")

    def test_fields(self):
        client = self.client()
        client.get("/live", "X: x\r\n" * 8)
        self.assertEqual(client.reply().status, 200)
        client.get("/live", "X: x\r\n" * 9)
        self.check(client, 431, "header_too_large")

    def test_body(self):
        client = self.client()
        body = json.dumps({"content": "a" * 1500}).encode()
        client.post("/tokenize", body)
        self.assertEqual(json.loads(client.reply().body)["count"], 1501)
        # A body above the limit on one body is refused unread. A body above the lower limit on all
        # bodies together is refused for lack of memory.
        client.send("POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3073\r\n\r\n")
        self.check(client, 413, "body_too_large")
        client = self.client()
        client.send("POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3072\r\n\r\n")
        self.check(client, 503, "bodies_too_large")

    def test_wrong_values(self):
        for option, value in (("--max-header", "1000"), ("--max-header-fields", "0"),
                              ("--max-body", "0"), ("--max-bodies", "1 MiB"),
                              ("--max-connections", "0"), ("--max-running", "5000"),
                              ("--max-queue", "-1"), ("--idle-timeout", "x")):
            self.bad(2, "serve", self.talker, option, value, says=[option])


class TimeTest(ServeCase):
    """Tests of clients that keep the server waiting."""

    def serve(self, *words):
        server = self.start("serve", self.talker, *words)
        return server, self.enterContext(RawClient(server.port))

    def check(self, client):
        reply = client.reply()
        self.assertEqual((reply.status, reply.field("connection")), (408, "close"))
        self.assertEqual(client.rest(), b"")

    def test_header(self):
        _, client = self.serve("--header-timeout", SOON)
        client.send("GET /live HTTP/1.1\r\nHost")
        self.check(client)

    def test_body(self):
        _, client = self.serve("--body-timeout", SOON)
        client.send("POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
        self.check(client)

    def test_idle(self):
        _, client = self.serve("--idle-timeout", SOON)
        self.assertEqual(client.rest(), b"")

    def test_a_client_that_reads_nothing(self):
        server, _ = self.serve("--write-timeout", SOON)
        client = self.enterContext(RawClient(server.port, receive_buffer=4096))
        # The answers are longer than the kernel's buffers.
        client.send("GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1000)
        # The first client of this test stays; the request for the figures is another.
        server.wait_until(lambda f: f["hearth_connections"] == 2, "it is cut off")
        with self.assertRaises(ConnectionResetError):
            while client.socket.recv(65536):
                pass


class ConnectionsTest(ServeCase):
    def ask(self, server, source):
        client = self.enterContext(RawClient(server.port, source=source))
        client.get("/metrics")
        return client, client.reply().body

    def test_idle_ones_keep_nobody_out(self):
        server = self.start("serve", self.talker, "--max-connections", "8",
                            "--max-address-connections", "7")
        flood = [self.enterContext(RawClient(server.port)) for _ in range(50)]
        for client in flood[:43]:
            self.assertEqual(client.rest(), b"")
        # One client takes the last place. Then each displaces another; the last eight stay.
        self.ask(server, "127.0.0.2")
        others = [self.ask(server, f"127.0.0.{i}")[0] for i in range(3, 10)]
        _, figures = self.ask(server, "127.0.0.10")
        self.assertIn(b"hearth_connections 8\n", figures)
        self.assertIn(b"hearth_displaced_connections_total 51\n", figures)
        self.assertIn(b"hearth_refused_connections_total 0\n", figures)
        for client in flood[43:]:
            self.assertEqual(client.rest(), b"")
        for client in others:
            client.get("/live")
            self.assertEqual(client.reply().status, 200)

    def test_a_quarter_is_one_addresss(self):
        server = self.start("serve", self.talker, "--max-connections", "8",
                            "--max-address-connections", "0")
        flood = [self.enterContext(RawClient(server.port)) for _ in range(20)]
        for client in flood[:18]:
            self.assertEqual(client.rest(), b"")
        _, figures = self.ask(server, "127.0.0.2")
        self.assertIn(b"hearth_connections 3\n", figures)
