"""Clients that leave, stall or come in too large numbers."""

import os

from raw_client import PATIENCE, RawClient, StubTest


class GoneTest(StubTest):
    """The handler hears at once that its client left, whatever it was doing."""

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
        self.assertEqual(self.ask("/release/closed").body, b"yes")  # an answer that nobody gets

    def test_while_waiting_by_reset(self):
        def leave(client, name):
            client.get(f"/wait/{name}")
            self.heard(f"begun-{name}")
            client.reset()

        self.check_gone("reset", leave)

    def test_closing_its_side_is_leaving(self):
        def leave(client, name):
            client.get(f"/wait/{name}")
            self.heard(f"begun-{name}")
            client.end()

        self.check_gone("half", leave)

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


class SlowReaderTest(StubTest):
    options = ("write_seconds=0.3",)

    def test_is_cut(self):
        slow = self.client(receive_buffer=4096)
        slow.get("/flood/slow")
        other = self.client()
        other.get("/events/other")
        self.assertEqual(other.head().status, 200)
        self.heard("gone-slow")
        # Whoever reads has lost nothing.
        self.assertEqual(other.chunk(), b"data: first\n\n")
        self.ask("/send/other", b"data: second\n\n")
        self.assertEqual(other.chunk(), b"data: second\n\n")

    def test_is_cut_with_all_its_events_behind_it(self):
        slow = self.client(receive_buffer=4096)
        slow.get("/heap/heap")
        self.heard("gone-heap")
        self.assertEqual(self.ask("/waiting/1").status, 200)

    def test_reading_all_of_it(self):
        client = self.client()
        client.get("/heap/read")
        self.assertEqual(len(client.reply().body), (16 << 10) * (1032))


class DescriptorTest(StubTest):
    """A process with few descriptors serves as many as it can, and the others later."""

    options = ("descriptors=64",)

    def test_exhausted_and_freed(self):
        limit = int(self.ask("/status").body.split()[2])
        self.assertLess(limit, 60)
        self.assertGreater(limit, 8)
        clients = [self.client() for _ in range(3 * limit)]
        for client in clients[:limit]:
            self.assert_alive(client)
        for client in clients[limit:]:
            client.get("/hello/late")
        # The kernel holds the others, until some have left.
        for served in range(0, 3 * limit, limit // 2):
            for client in clients[served : served + limit // 2]:
                if served >= limit:
                    self.assertEqual(client.reply().body, b"hello late")
                client.socket.close()
        self.assert_alive()

    def test_none_left_at_all(self):
        """Others hold every descriptor; one more client waits until they are free."""
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
        for _ in range(5):
            limit = int(self.ask("/status").body.split()[2])
            clients = [self.client() for _ in range(limit + 20)]
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
