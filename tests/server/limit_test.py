"""Tests of limits of size, number and time, and of the answers beyond them."""

import json
import signal

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
        """Two bodies wait for their answers. A third one has no room until they have them."""
        waiting = [self.client(), self.client(source="127.0.0.2")]
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

    def test_a_client_has_its_share_of_them(self):
        """Incomplete bodies of one client leave room for others' bodies."""
        flood = [self.client() for _ in range(5)]
        for client in flood:
            client.send(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n" +
                        b"x" * 999)
            self.ask("/hello")
        for client in flood[1:]:
            self.check_status(client, 503)
        reply = self.ask("/echo", b"y" * 1000, source="127.0.0.2")
        self.assertEqual((reply.status, reply.body), (200, b"y" * 1000))
        flood[0].send("x")
        self.assertEqual(flood[0].reply().status, 200)

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
    options = ("connections=4", "address_connections=4")

    def test_new_connections_wait_while_all_are_busy(self):
        clients = [self.client() for _ in range(4)]
        for i, client in enumerate(clients):
            client.get(f"/events/busy-{i}")
            self.assertEqual(client.head().status, 200)
            client.chunk()
        late = self.client(source="127.0.0.2")
        late.get("/hello/queue")
        # A request for the figures would wait behind this client, so the test cannot ask whether
        # the client waits.
        clients[0].socket.close()
        self.assertEqual(late.reply().body, b"hello queue")
        late.get("/status")
        self.assertEqual(late.reply().body.split()[0], b"4")
        for i in range(1, 4):
            late.get(f"/end/busy-{i}")
            self.assertEqual(late.reply().status, 200)

    def test_the_longest_idle_makes_room(self):
        clients = []
        for _ in range(4):
            clients.append(self.client())
            self.assert_alive(clients[-1])
        self.assert_alive(clients[0])
        clients[2].get("/events/lasting")
        clients[2].head()
        clients[2].chunk()
        for idle in (1, 3, 0):
            new = self.client(source="127.0.0.2")
            self.assert_alive(new)
            self.assertEqual(clients[idle].rest(), b"")
        new.get("/end/lasting")
        self.assertEqual(new.reply().body, b"ended")
        self.assertIsNone(clients[2].chunk())
        self.assert_alive(clients[2])

    def test_half_a_header_is_no_request(self):
        for _ in range(4):
            self.client().send("GET /hel")
        self.assert_alive(self.client(source="127.0.0.2"))


class BurstTest(StubTest):
    """New connections arrive before the server has read the others' requests."""

    options = ("connections=1", "address_connections=1")

    def test_a_request_that_came_is_answered(self):
        for _ in range(20):
            # All of them are waiting when the stub continues.
            self.stub.send_signal(signal.SIGSTOP)
            clients = [self.client(source=f"127.0.0.{i}") for i in range(2, 8)]
            for client in clients[:5]:
                client.get("/hello/burst")
            self.stub.send_signal(signal.SIGCONT)
            for client in clients[:5]:
                self.assertEqual(client.reply().body, b"hello burst")
            clients[5].socket.close()

    def test_incomplete_requests_make_room(self):
        self.stub.send_signal(signal.SIGSTOP)
        clients = [self.client(source=f"127.0.0.{i}") for i in range(2, 8)]
        for client in clients[:5]:
            client.send("GET /hel")
        clients[5].get("/hello/last")
        self.stub.send_signal(signal.SIGCONT)
        self.assertEqual(clients[5].reply().body, b"hello last")
        for client in clients[:5]:
            self.assertEqual(client.rest(), b"")


class AddressLimitTest(StubTest):
    options = ("connections=16", "header_seconds=3600", "idle_seconds=3600")

    def test_a_flood_of_idle_connections_keeps_nobody_out(self):
        """The flood gets a quarter of the places; its further connections displace its own."""
        polite = [self.client(source=f"127.0.0.{i}") for i in range(2, 6)]
        for client in polite:
            self.assert_alive(client)
        flood = [self.client() for _ in range(100)]
        for client in flood[:96]:
            self.assertEqual(client.rest(), b"")
        for client in polite:
            self.assert_alive(client)
        for i in range(6, 10):
            self.assert_alive(self.client(source=f"127.0.0.{i}"))
        connections = int(self.ask("/status", source="127.0.0.99").body.split()[0])
        self.assertEqual(connections, 4 + 4 + 4 + 1)
        for client in flood:
            client.socket.close()
        self.ask("/waiting/9", source="127.0.0.99")

    def test_a_flood_of_requests_is_closed_beyond_its_bound(self):
        flood = [self.client() for _ in range(4)]
        for i, client in enumerate(flood):
            client.get(f"/events/flood-{i}")
            client.head()
            client.chunk()
        self.assertEqual(self.client().rest(), b"")
        other = self.client(source="127.0.0.2")
        self.assert_alive(other)
        for i in range(4):
            other.get(f"/end/flood-{i}")
            self.assertEqual(other.reply().body, b"ended")
        self.assert_alive()


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
        """Other clients time out while one waits for its answer."""
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

    def test_silence_between_lines(self):
        """The server sends spaces, which JSON allows before an object."""
        client = self.client()
        client.get("/lines/quiet")
        self.assertEqual(client.head().field("content-type"), "application/x-ndjson")
        self.assertEqual(client.chunk(), b"{}\n")
        for _ in range(3):
            self.assertEqual(client.chunk(), b" ")
        self.ask("/end/quiet")
        while (data := client.chunk()) is not None:
            self.assertEqual(data, b" ")
        self.assert_alive(client)

    def test_refusals_below_lines_are_sentences(self):
        for fields in ("Content-Length: 99999999999\r\n", "Transfer-Encoding: gzip\r\n",
                       "Content-Encoding: br\r\nContent-Length: 1\r\n"):  # fmt: skip
            client = self.client()
            client.send(f"POST /lines/bad HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n")
            reply = client.reply()
            self.assertGreaterEqual(reply.status, 400)
            self.assertEqual(list(json.loads(reply.body)), ["error"])
            self.assertIsInstance(json.loads(reply.body)["error"], str)

    def test_lingering_ends(self):
        client = self.client()
        client.get("/hello/last", "Connection: close\r\n")
        self.assertEqual(client.reply().body, b"hello last")
        self.assertEqual(client.rest(), b"")
        self.assertEqual(self.ask("/waiting/1").status, 200)
