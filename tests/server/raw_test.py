#!/usr/bin/env python3
"""Tests of the HTTP layer by raw bytes, against http_stub.

    raw_test.py --stub build/release/bin/http_stub [TestCase.test...]

All tests wait for events: an answer, an end, or the stub's report about other clients.
"""

import argparse
import json
import sys
import unittest

from fault_test import (  # noqa: F401
    DescriptorTest,
    DrainTest,
    DrippingReaderTest,
    GoneTest,
    HalfClosedTest,
    ReaderTest,
    SlowReaderTest,
)
from limit_test import (  # noqa: F401
    AddressLimitTest,
    BodyLimitTest,
    BurstTest,
    ConnectionLimitTest,
    TimeTest,
)
from malformed import ALLOWED, CUT_OFF, MALFORMED
from raw_client import StubTest


class MalformedTest(StubTest):
    """An invalid request is answered and its connection ends. Bytes after it are not read."""

    def check_refusal(self, client, statuses):
        reply = client.reply()
        self.assertIn(reply.status, statuses)
        self.assertEqual(reply.field("connection"), "close")
        self.assertEqual(reply.field("content-type"), "application/json")
        self.assertLess(len(reply.body), 1024)
        error = json.loads(reply.body)["error"]
        self.assertEqual(set(error), {"message", "type", "param", "code"})
        self.assertIsInstance(error["code"], str)
        self.assertEqual(client.rest(), b"")

    def test_there_are_enough(self):
        self.assertGreaterEqual(len(MALFORMED), 80)
        self.assertEqual(len({name for name, _, _ in MALFORMED}), len(MALFORMED))

    def each(self, send, cases=MALFORMED):
        for name, data, status in cases:
            with self.subTest(name):
                client = self.client()
                try:
                    send(client, data)
                except (BrokenPipeError, ConnectionResetError):
                    pass
                self.check_refusal(client, status if isinstance(status, tuple) else (status,))
                client.socket.close()
        self.assert_alive()

    def test_at_once(self):
        self.each(lambda client, data: client.send(data))

    def test_behind_another_request(self):
        def send(client, data):
            client.get("/hello/first")
            client.send(data)
            self.assertEqual(client.reply().body, b"hello first")

        self.each(send)

    def test_byte_by_byte(self):
        def send(client, data):
            for i in range(len(data)):
                client.send(data[i : i + 1])

        short = [case for case in MALFORMED if len(case[1]) < 400]
        self.assertGreaterEqual(len(short), 80)
        self.each(send, short)

    def test_cut_off(self):
        for name, data, status in CUT_OFF:
            with self.subTest(name):
                client = self.client()
                client.send(data)
                client.end()
                self.check_refusal(client, (status,))

    def test_bytes_behind_a_refused_request_are_ignored(self):
        """A body that two servers would read differently must not hide a second request."""
        hidden = b"GET /hello/hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for fields in (b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                       b"Transfer-Encoding: xchunked\r\n", b"Content-Length: 0, 5\r\n"):
            client = self.client()
            client.send(b"POST /echo HTTP/1.1\r\nHost: localhost\r\n" + fields + b"\r\n"
                        b"0\r\n\r\n" + hidden)
            self.assertNotIn(b"hidden", client.rest())


class AllowedTest(StubTest):
    def test_at_once(self):
        for name, data, body in ALLOWED:
            with self.subTest(name):
                client = self.client()
                client.send(data)
                reply = client.reply()
                self.assertEqual((reply.status, reply.body), (200, body))

    def test_byte_by_byte(self):
        for name, data, body in ALLOWED:
            with self.subTest(name):
                client = self.client()
                for i in range(len(data)):
                    client.send(data[i : i + 1])
                self.assertEqual(client.reply().body, body)
                if b"HTTP/1.1" in data:
                    self.assert_alive(client)

    def test_fields_arrive_and_nothing_is_injected(self):
        client = self.client()
        client.get("/fields", "X-Two:  words here \r\nX-Empty:\r\n")
        reply = client.reply()
        self.assertIn(b"x-two=words here\nx-empty=\n", reply.body)
        self.assertEqual(reply.field("x-split"), "one  X-Injected: two")
        self.assertIsNone(reply.field("x-injected"))

    def test_every_answer_has_its_own_id(self):
        client = self.client()
        ids = set()
        for path in ("/hello", "/forbidden", "/throw", "/drop", "/nowhere"):
            client.get(path)
            reply = client.reply()
            ids.add(reply.field("x-request-id"))
            self.assertRegex(reply.field("date"), r"^\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT$")
        self.assertEqual(len(ids), 5)


class ConnectionTest(StubTest):
    """Tests of keep-alive, pipelining, HEAD, 100-continue and failures of the handler."""

    def test_pipelined(self):
        client = self.client()
        requests = b"".join(b"GET /hello/%d HTTP/1.1\r\nHost: a\r\n\r\n" % i for i in range(2000))
        client.send(requests)
        for i in range(2000):
            self.assertEqual(client.reply().body, b"hello %d" % i)

    def test_pipelined_refusals(self):
        client = self.client()
        client.send(b"GET /forbidden HTTP/1.1\r\nHost: a\r\n\r\n" * 2000)
        for _ in range(2000):
            self.assertEqual(client.reply().status, 403)

    def test_pipelined_behind_one_that_waits(self):
        """More requests than are read ahead, while the first answer waits for another connection.
        """
        client = self.client()
        client.get("/wait/pipeline")
        self.heard("begun-pipeline")
        body = b"x" * 100_000
        for i in range(5):
            client.post("/echo", body + b"%d" % i)
        self.assertEqual(self.ask("/release/pipeline").body, b"yes")
        self.assertEqual(client.reply().body, b"released pipeline")
        for i in range(5):
            self.assertEqual(client.reply().body, body + b"%d" % i)

    def test_answers_keep_their_order(self):
        client = self.client()
        client.get("/wait/order")
        client.get("/hello/second")
        self.heard("begun-order")
        self.ask("/release/order")
        self.assertEqual(client.reply().body, b"released order")
        self.assertEqual(client.reply().body, b"hello second")

    def test_head(self):
        client = self.client()
        client.get("/hello/head", method="HEAD")
        reply = client.reply("HEAD")
        self.assertEqual((reply.status, reply.field("content-length")), (200, "10"))
        client.get("/events/head", method="HEAD")
        reply = client.reply("HEAD")
        self.assertEqual(reply.field("content-type"), "text/event-stream")
        self.assert_alive(client)

    def test_no_content(self):
        client = self.client()
        client.get("/empty")
        reply = client.reply()
        self.assertEqual((reply.status, reply.field("content-length")), (204, None))
        self.assert_alive(client)

    def test_close_is_kept(self):
        for fields, version in (("Connection: close\r\n", "1.1"),
                                ("Connection: Foo, CLOSE\r\n", "1.1"), ("", "1.0"),
                                ("Connection: close, keep-alive\r\n", "1.0")):
            client = self.client()
            client.get("/hello/end", fields, version=version)
            client.get("/hello/never", version=version)
            reply = client.reply()
            self.assertEqual((reply.body, reply.field("connection")), (b"hello end", "close"))
            self.assertEqual(client.rest(), b"")

    def test_keep_alive_of_1_0(self):
        client = self.client()
        for _ in range(3):
            client.get("/hello/old", "Connection: Keep-Alive\r\n", version="1.0")
            reply = client.reply()
            self.assertEqual((reply.version, reply.field("connection")), ("HTTP/1.1", "keep-alive"))

    def test_continue(self):
        client = self.client()
        client.send("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\n"
                    "Content-Length: 5\r\n\r\n")
        self.assertEqual(client.reply().status, 100)
        client.send("hello")
        self.assertEqual(client.reply().body, b"hello")
        # No 100 is sent to a client that sends without waiting, or sends no body.
        client.post("/echo", b"at once", "Expect: 100-continue\r\n")
        self.assertEqual(client.reply().body, b"at once")
        client.post("/echo", b"", "Expect: 100-continue\r\n")
        self.assertEqual(client.reply().status, 200)
        client.send("POST /forbidden HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                    "Content-Length: 5\r\n\r\n")
        self.assertEqual(client.reply().status, 403)
        self.assertEqual(client.rest(), b"")

    def test_continue_in_whatever_order(self):
        for fields in ("Expect: 100-continue\r\nConnection: close\r\n",
                       "Connection: close\r\nExpect: 100-continue\r\n"):
            client = self.client()
            client.send(f"POST /echo HTTP/1.1\r\nHost: a\r\n{fields}Content-Length: 5\r\n\r\n")
            self.assertEqual(client.reply().status, 100)
            client.send("hello")
            reply = client.reply()
            self.assertEqual((reply.body, reply.field("connection")), (b"hello", "close"))

    def test_the_targets_host_beats_the_fields(self):
        client = self.client()
        client.send("GET http://there:81/fields HTTP/1.1\r\nHost: here\r\n\r\n")
        self.assertIn(b"host=there:81\n", client.reply().body)

    def test_compressed_bodies(self):
        client = self.client()
        client.post("/echo", b"\x1f\x8b", "Content-Encoding: GZIP\r\n")
        reply = client.reply()
        self.assertEqual((reply.status, reply.field("accept-encoding")), (415, "identity"))
        self.assertIn(b"Content-Encoding", reply.body)

    def test_refused_before_the_body(self):
        client = self.client()
        client.send("POST /forbidden HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nbegin")
        reply = client.reply()
        self.assertEqual((reply.status, reply.field("connection")), (403, "close"))
        self.assertEqual(client.rest(), b"")
        client = self.client()
        client.get("/forbidden")
        self.assertEqual(client.reply().status, 403)
        self.assert_alive(client)

    def test_a_handler_that_fails(self):
        client = self.client()
        for path in ("/throw", "/drop", "/check-throws"):
            client.get(path)
            reply = client.reply()
            self.assertEqual(reply.status, 500)
            self.assertEqual(json.loads(reply.body)["error"]["type"], "server_error")
        client.get("/drop-events")
        reply = client.reply()
        self.assertEqual(reply.status, 200)
        self.assertTrue(reply.body.startswith(b'data: {"error":'))
        self.assert_alive(client)

    def test_large_answers(self):
        client = self.client()
        client.get("/large/20000000")
        self.assertEqual(len(client.reply().body), 20_000_000)
        self.assert_alive(client)


class EventTest(StubTest):
    def test_fed_by_another(self):
        client = self.client()
        client.get("/events/fed")
        head = client.head()
        self.assertEqual(head.field("content-type"), "text/event-stream")
        self.assertEqual(head.field("x-stream"), "fed")
        self.assertEqual(client.chunk(), b"data: first\n\n")
        for i in range(20):
            self.ask("/send/fed", b"data: %d\n\n" % i)
            self.assertEqual(client.chunk(), b"data: %d\n\n" % i)
        self.ask("/end/fed")
        self.assertIsNone(client.chunk())
        self.assert_alive(client)

    def test_of_1_0(self):
        client = self.client()
        client.get("/events/old", "Connection: keep-alive\r\n", version="1.0")
        self.heard("begun-old")
        self.ask("/end/old")
        reply = client.reply()
        self.assertIsNone(reply.field("transfer-encoding"))
        self.assertEqual((reply.field("connection"), reply.body), ("close", b"data: first\n\n"))

    def test_from_another_thread(self):
        client = self.client()
        for count in (0, 1, 20000):
            client.get(f"/thread/{count}")
            expected = b"".join(b"data: %d\n\n" % i for i in range(count))
            self.assertEqual(client.reply().body, expected)

    def test_many_at_once(self):
        clients = [self.client() for _ in range(32)]
        for client in clients:
            client.get("/thread/500")
        expected = b"".join(b"data: %d\n\n" % i for i in range(500))
        for client in clients:
            self.assertEqual(client.reply().body, expected)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stub", required=True)
    arguments, rest = parser.parse_known_args()
    StubTest.command = [arguments.stub]
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
