"""Tests of clients that leave, stall or come in too large numbers."""

import os

from raw_client import PATIENCE, RawClient, StubTest


class GoneTest(StubTest):
    """The handler learns at once that its client left, whatever it was doing."""

    def check_gone(self, name, leave):
        client = self.client()
        leave(client, name)
        self.heard(f"gone-{name}")
        self.assertEqual(self.ask("/waiting/1").status, 200)

    def test_while_waiting(self):
        def leave(client, name):
            client.get(f"/wait/{name}")
            self.heard(f"begun-{name}")
            client.socket.close()

        self.check_gone("closed", leave)
        self.assertEqual(self.ask("/release/closed").body, b"yes")  # nobody receives this answer

    def test_while_waiting_by_reset(self):
        def leave(client, name):
            client.get(f"/wait/{name}")
            self.heard(f"begun-{name}")
            client.reset()

        self.check_gone("reset", leave)

    def test_behind_a_wish_to_close(self):
        def leave(client, name):
            client.get(f"/wait/{name}", "Connection: close\r\n")
            self.heard(f"begun-{name}")
            client.socket.close()

        self.check_gone("last", leave)

    def test_while_streaming(self):
        def leave(client, name):
            client.get(f"/events/{name}")
            self.assertEqual(client.head().status, 200)
            self.assertEqual(client.chunk(), b"data: first\n\n")
            client.socket.close()

        self.check_gone("streaming", leave)

    def test_while_flooded(self):
        def leave(client, name):
            client.get(f"/flood/{name}")
            client.take(1 << 20)
            client.reset()

        self.check_gone("flooded", leave)

    def test_with_requests_behind(self):
        def leave(client, name):
            client.get(f"/wait/{name}")
            client.post("/echo", b"x" * 1000)
            self.heard(f"begun-{name}")
            client.socket.close()

        self.check_gone("behind", leave)

    def test_with_more_behind_than_is_read(self):
        def leave(client, name):
            client.get(f"/wait/{name}")
            self.heard(f"begun-{name}")
            client.post("/echo", b"x" * 60_000)
            client.socket.close()

        self.check_gone("crowded", leave)

    def test_in_the_middle_of_a_body(self):
        client = self.client()
        client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nbegin")
        client.reset()
        self.assertEqual(self.ask("/waiting/1").status, 200)

    def test_stop_tells_all(self):
        stub, port = self.start()
        try:
            client = self.client_of(port)
            client.get("/wait/stopped")
            other = self.client_of(port)
            other.get("/events/stopped-too")
            self.assertEqual(other.head().status, 200)
            last = self.client_of(port)
            last.get("/stop")
            self.assertEqual(client.rest(), b"")
            last.rest()
        finally:
            self.finish(stub)

    def client_of(self, port):
        client = RawClient(port)
        self.addCleanup(client.socket.close)
        return client


class HalfClosedTest(StubTest):
    """A client that has closed its sending side still gets its answer."""

    options = ("silence_seconds=0.1",)

    def answer(self, client):
        """The answer after the bytes that only probe the connection."""
        while (reply := client.reply()).status == 100:
            pass
        return reply

    def half_closed(self, name, fields="", behind=()):
        """A client that has closed its sending side, after the server has seen that and probed the
        connection."""
        client = self.client()
        client.get(f"/wait/{name}", fields)
        self.heard(f"begun-{name}")
        for path, body in behind:
            client.post(path, body)
        client.end()
        self.assertEqual(client.reply().status, 100)
        return client

    def test_its_answer_comes(self):
        for name, fields in (("kept", ""), ("closing", "Connection: close\r\n")):
            client = self.half_closed(name, fields)
            self.assertEqual(self.ask(f"/release/{name}").body, b"yes")
            self.assertEqual(self.answer(client).body, b"released " + name.encode())
            self.assertEqual(client.rest(), b"")

    def test_of_1_0(self):
        """HTTP/1.0 has no bytes that could probe the connection."""
        client = self.client()
        client.get("/wait/old", version="1.0")
        self.heard("begun-old")
        client.end()
        for _ in range(20):
            self.ask("/hello")
        self.assertEqual(self.ask("/release/old").body, b"yes")
        self.assertEqual(client.reply().body, b"released old")

    def test_a_short_answer_comes_alone(self):
        client = self.client()
        client.get("/hello/short")
        client.end()
        self.assertEqual(client.reply().body, b"hello short")
        self.assertEqual(client.rest(), b"")

    def test_what_it_asked_behind(self):
        for name, size in (("little", 10), ("much", 20_000)):
            bodies = [b"x" * size + b"%d" % i for i in range(3)]
            client = self.half_closed(name, behind=[("/echo", body) for body in bodies])
            self.ask(f"/release/{name}")
            self.assertEqual(self.answer(client).body, b"released " + name.encode())
            for body in bodies:
                self.assertEqual(self.answer(client).body, body)
            self.assertEqual(client.rest(), b"")

    def test_half_a_request_behind(self):
        client = self.client()
        client.get("/wait/broken")
        self.heard("begun-broken")
        client.send("GET /hel")
        client.end()
        self.assertEqual(client.reply().status, 100)
        self.ask("/release/broken")
        self.assertEqual(self.answer(client).body, b"released broken")
        self.assertEqual(client.reply().status, 400)
        self.assertEqual(client.rest(), b"")

    def test_its_stream_goes_on(self):
        client = self.client()
        client.get("/events/half")
        self.assertEqual(client.head().status, 200)
        self.assertEqual(client.chunk(), b"data: first\n\n")
        client.end()
        for _ in range(3):
            self.assertEqual(client.chunk(), b": silence\n\n")
        self.ask("/send/half", b"data: second\n\n")
        self.ask("/end/half")
        rest = []
        while (chunk := client.chunk()) is not None:
            rest.append(chunk)
        self.assertIn(b"data: second\n\n", rest)
        self.assertEqual(client.rest(), b"")

    def test_that_it_leaves_later_is_heard(self):
        client = self.half_closed("later")
        client.socket.close()
        self.heard("gone-later")
        self.assertEqual(self.ask("/waiting/1").status, 200)


class SlowReaderTest(StubTest):
    options = ("write_seconds=0.3",)

    def test_is_cut(self):
        slow = self.client(receive_buffer=4096)
        slow.get("/flood/slow")
        other = self.client()
        other.get("/events/other")
        self.assertEqual(other.head().status, 200)
        self.heard("gone-slow")
        # A client that reads loses nothing.
        self.assertEqual(other.chunk(), b"data: first\n\n")
        self.ask("/send/other", b"data: second\n\n")
        self.assertEqual(other.chunk(), b"data: second\n\n")

    def test_is_cut_with_all_its_events_behind_it(self):
        slow = self.client(receive_buffer=4096)
        slow.get("/heap/heap")
        self.heard("gone-heap")
        self.assertEqual(self.ask("/waiting/1").status, 200)


class DrippingReaderTest(StubTest):
    """A client that reads a little now and then does not gain unlimited time."""

    options = ("write_seconds=0.3", f"write_bytes={1 << 50}")

    def test_is_cut(self):
        dripping = self.client(receive_buffer=4096)
        dripping.get("/flood/dripping")
        with self.assertRaises(ConnectionResetError):
            while dripping.socket.recv(256):
                pass
        self.heard("gone-dripping")


class ReaderTest(StubTest):
    options = ("write_seconds=30",)

    def test_reading_all_of_it(self):
        client = self.client()
        client.get("/heap/read")
        self.assertEqual(len(client.reply().body), (16 << 10) * (1032))


class DescriptorTest(StubTest):
    """A process with few descriptors serves as many clients as it can, and the others later."""

    options = ("descriptors=64", "address_connections=1000")

    def test_exhausted_and_freed(self):
        limit = int(self.ask("/status").body.split()[2])
        self.assertLess(limit, 60)
        self.assertGreater(limit, 8)
        busy = [self.client() for _ in range(limit)]
        for i, client in enumerate(busy):
            client.get(f"/events/busy-{i}")
            client.head()
            client.chunk()
        # None of the connections is idle, so one more client waits until another has left.
        for client in busy[:4]:
            late = self.client()
            late.get("/hello/late", "Connection: close\r\n")
            client.socket.close()
            self.assertEqual(late.reply().body, b"hello late")
            self.assertEqual(late.rest(), b"")
            late.socket.close()
        for client in busy:
            client.socket.close()
        self.assertEqual(self.ask("/waiting/1").status, 200)

    def test_none_left_at_all(self):
        """All descriptors are taken, and one more client waits until some are free."""
        asking = self.client()
        asking.get("/hog")
        self.assertGreater(int(asking.reply().body), 0)
        late = self.client()
        late.get("/hello/late")
        for _ in range(3):
            self.assert_alive(asking)
        asking.get("/status")
        self.assertEqual(asking.reply().body.split()[0], b"1")
        asking.get("/unhog")
        self.assertEqual(asking.reply().status, 200)
        self.assertEqual(late.reply().body, b"hello late")

    def test_rounds(self):
        for _ in range(10):
            limit = int(self.ask("/status").body.split()[2])
            clients = [self.client() for _ in range(limit // 2)]
            for client in clients:
                client.get("/hello/all", "Connection: close\r\n")
            for client in clients:
                self.assertEqual(client.reply().body, b"hello all")
                client.socket.close()


class DrainTest(StubTest):
    def test_open_connections_end_with_their_answers(self):
        stub, port = self.start()
        try:
            type(self).port, before = port, self.port
            waiting, idle, asking = self.client(), self.client(), self.client()
            self.assert_alive(idle)
            waiting.get("/wait/drain")
            self.heard("begun-drain")
            asking.get("/drain")
            reply = asking.reply()
            self.assertEqual((reply.body, reply.field("connection")), (b"draining", "close"))
            idle.get("/release/drain")
            reply = idle.reply()
            self.assertEqual((reply.body, reply.field("connection")), (b"yes", "close"))
            reply = waiting.reply()
            self.assertEqual(reply.body, b"released drain")
            self.assertEqual(reply.field("connection"), "close")
        finally:
            type(self).port = before
            stub.stdin.close()
            stub.stdin = open(os.devnull, "wb")
            self.finish(stub)

    def test_its_end_ends_everything(self):
        stub, port = self.start("host=::1")
        with RawClient(port, host="::1") as client:
            client.get("/wait/for-ever")
            client.get("/hello")
            stub.stdin.close()
            self.assertEqual(client.rest(), b"")
        self.assertEqual(stub.wait(PATIENCE), 0)
        stub.stdout.close()
