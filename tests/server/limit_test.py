"""Limits of size, number and time, each with what is due beyond it."""

import json

from raw_client import StubTest


class BodyLimitTest(StubTest):
    options = ("body_bytes=1000", "all_body_bytes=2500", "header_bytes=400", "header_fields=3")

    def check_status(self, client, status):
        reply = client.reply()
        self.assertEqual(reply.status, status)
        self.assertEqual(client.rest(), b"")

    def test_length_within_and_beyond(self):
        client = self.client()
        client.post("/echo", b"x" * 1000)
        self.assertEqual(client.reply().body, b"x" * 1000)
        client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n")
        self.check_status(client, 413)

    def test_the_answer_is_not_lost_by_a_client_that_sends_on(self):
        client = self.client()
        try:
            client.post("/echo", b"x" * 5_000_000)
        except (BrokenPipeError, ConnectionResetError):
            self.fail("the connection ended while the client sent")
        self.check_status(client, 413)

    def test_chunks_within_and_beyond(self):
        client = self.client()
        head = b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        chunk = b"64\r\n" + b"y" * 100 + b"\r\n"
        client.send(head + chunk * 10 + b"0\r\n\r\n")
        self.assertEqual(client.reply().body, b"y" * 1000)
        client.send(head + chunk * 11)
        self.check_status(client, 413)

    def test_header_within_and_beyond(self):
        client = self.client()
        start = "GET /hello HTTP/1.1\r\nHost: a\r\nX: "
        client.send(start + "x" * (400 - len(start) - 4) + "\r\n\r\n")
        self.assertEqual(client.reply().status, 200)
        client.send(start + "x" * (401 - len(start) - 4) + "\r\n\r\n")
        self.check_status(client, 431)
        client = self.client()
        client.get("/hello", "A: b\r\nC: d\r\n")
        self.assertEqual(client.reply().status, 200)
        client.get("/hello", "A: b\r\nC: d\r\nE: f\r\n")
        self.check_status(client, 431)

    def test_all_bodies_together(self):
        """Two bodies wait for their answers; a third one has no room until they have them."""
        waiting = [self.client(), self.client()]
        for i, client in enumerate(waiting):
            client.post(f"/wait/room-{i}", b"x" * 1000)
            self.heard(f"begun-room-{i}")
        client = self.client()
        client.post("/echo", b"x" * 1000)
        reply = client.reply()
        self.assertEqual(reply.status, 503)
        self.assertEqual(json.loads(reply.body)["error"]["type"], "server_error")
        self.assertEqual(client.rest(), b"")
        self.ask("/release/room-0")
        self.assertEqual(waiting[0].reply().status, 200)
        client = self.client()
        client.post("/echo", b"x" * 1000)
        self.assertEqual(client.reply().body, b"x" * 1000)
        self.ask("/release/room-1")

    def test_half_sent_bodies_hold_what_they_sent(self):
        halves = []
        for _ in range(20):
            half = self.client()
            half.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nx")
            halves.append(half)
        self.assertEqual(self.ask("/echo", b"y" * 1000).body, b"y" * 1000)
        for half in halves[:1]:
            half.send("x" * 999)
            self.assertEqual(half.reply().body, b"x" * 1000)


class ConnectionLimitTest(StubTest):
    options = ("connections=4",)

    def test_accepting_pauses(self):
        clients = [self.client() for _ in range(12)]
        for client in clients:
            client.get("/hello/queue")
        for client in clients[:4]:
            self.assertEqual(client.reply().body, b"hello queue")
        clients[0].get("/status")
        self.assertEqual(clients[0].reply().body.split()[0], b"4")
        for i in range(8):
            clients[i].socket.close()
            self.assertEqual(clients[i + 4].reply().body, b"hello queue")


class TimeTest(StubTest):
    options = ("header_seconds=0.3", "body_seconds=0.3", "idle_seconds=0.6",
               "silence_seconds=0.1", "linger_seconds=0.3")

    def check_timeout(self, client):
        reply = client.reply()
        self.assertEqual((reply.status, reply.field("connection")), (408, "close"))
        self.assertEqual(client.rest(), b"")

    def test_header(self):
        client = self.client()
        client.send("GET /hel")
        self.check_timeout(client)

    def test_header_of_a_second_request(self):
        client = self.client()
        self.assert_alive(client)
        client.send("G")
        self.check_timeout(client)

    def test_body(self):
        for fields in ("Content-Length: 10\r\n\r\nhello",
                       "Transfer-Encoding: chunked\r\n\r\n5\r\nhe"):
            client = self.client()
            client.send("POST /echo HTTP/1.1\r\nHost: a\r\n" + fields)
            self.check_timeout(client)

    def test_dripping_does_not_help(self):
        client = self.client()
        client.send("GET /hello HTTP/1.1\r\n")
        client.socket.settimeout(0.02)
        for _ in range(3000):
            try:
                client.send("X")
                if not client.more() or client.buffer:
                    break
            except TimeoutError:
                pass
        client.socket.settimeout(60)
        self.check_timeout(client)

    def test_idle(self):
        client = self.client()
        self.assertEqual(client.rest(), b"")
        client = self.client()
        self.assert_alive(client)
        self.assertEqual(client.rest(), b"")

    def test_waiting_has_no_limit(self):
        """Others come and go by the clock while one waits for its answer."""
        client = self.client()
        client.get("/wait/long")
        for _ in range(2):
            self.assertEqual(self.client().rest(), b"")
        self.ask("/release/long")
        self.assertEqual(client.reply().body, b"released long")

    def test_silence(self):
        client = self.client()
        client.get("/events/quiet")
        client.head()
        self.assertEqual(client.chunk(), b"data: first\n\n")
        for _ in range(3):
            self.assertEqual(client.chunk(), b": silence\n\n")
        self.ask("/end/quiet")
        while (data := client.chunk()) is not None:
            self.assertEqual(data, b": silence\n\n")
        self.assert_alive(client)

    def test_lingering_ends(self):
        client = self.client()
        client.get("/hello/last", "Connection: close\r\n")
        self.assertEqual(client.reply().body, b"hello last")
        self.assertEqual(client.rest(), b"")
        self.assertEqual(self.ask("/waiting/1").status, 200)
