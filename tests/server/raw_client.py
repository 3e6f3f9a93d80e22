"""A client that sends exactly the given bytes, and reads answers as RFC 9112 defines them."""

import socket
import subprocess
import unittest

# The seconds after which a test that hangs is ended. No wait takes this long.
PATIENCE = 60


class Reply:
    def __init__(self, status, version, fields, body):
        self.status = status
        self.version = version
        self.fields = fields  # [(lower-case name, value)]
        self.body = body

    def field(self, name):
        values = [value for key, value in self.fields if key == name]
        return values[0] if values else None


class RawClient:
    """One connection."""

    def __init__(self, port, host="127.0.0.1", receive_buffer=None, source=None):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.settimeout(PATIENCE)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        try:
            if source:  # the client's own address
                self.socket.bind((source, 0))
            self.socket.connect((host, port))
        except OSError:
            self.socket.close()
            raise
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode("latin-1"))

    def get(self, path, fields="", method="GET", version="1.1"):
        self.send(f"{method} {path} HTTP/{version}\r\nHost: localhost\r\n{fields}\r\n")

    def post(self, path, body=b"", fields=""):
        length = f"Content-Length: {len(body)}\r\n"
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{length}{fields}\r\n"
        self.send(head.encode() + body)

    def end(self):
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self):
        """Resets the connection."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()

    def more(self):
        """Reads more bytes; returns False at the connection's end."""
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            data = b""
        self.buffer += data
        return bool(data)

    def take(self, count):
        while len(self.buffer) < count:
            if not self.more():
                raise EOFError(self.buffer)
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def line(self):
        while b"\r\n" not in self.buffer:
            if not self.more():
                raise EOFError(self.buffer)
        line, _, self.buffer = self.buffer.partition(b"\r\n")
        return line.decode("latin-1")

    def head(self):
        version, status, _ = self.line().split(" ", 2)
        fields = []
        while line := self.line():
            name, value = line.split(": ", 1)
            fields.append((name.lower(), value))
        return Reply(int(status), version, fields, None)

    def chunk(self):
        """The next chunk of a body; None for the last one."""
        size = int(self.line(), 16)
        data = self.take(size)
        if self.line():
            raise ValueError("a chunk is longer than its size")
        return data if size else None

    def reply(self, method="GET"):
        reply = self.head()
        if method == "HEAD" or reply.status in (100, 204, 304):
            reply.body = b""
        elif reply.field("transfer-encoding") == "chunked":
            reply.body = b""
            while (data := self.chunk()) is not None:
                reply.body += data
        elif reply.field("content-length") is not None:
            reply.body = self.take(int(reply.field("content-length")))
        else:
            reply.body = self.rest()
        return reply

    def rest(self):
        while self.more():
            pass
        taken, self.buffer = self.buffer, b""
        return taken


class StubTest(unittest.TestCase):
    """Tests with a stub of its own for every class."""

    command = []
    options = ()

    @classmethod
    def start(cls, *options):
        stub = subprocess.Popen([*StubTest.command, *options], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE)
        return stub, int(stub.stdout.readline())

    @classmethod
    def setUpClass(cls):
        cls.stub, cls.port = cls.start(*cls.options)

    @classmethod
    def tearDownClass(cls):
        cls.finish(cls.stub)

    @classmethod
    def finish(cls, stub):
        """The stub must end by itself with status 0 (sanitizers report here)."""
        out, _ = stub.communicate(timeout=PATIENCE)
        if stub.returncode != 0 or out != b"end\n":
            raise AssertionError(f"the stub ended with {stub.returncode}: {out}")

    def client(self, **how):
        client = RawClient(self.port, **how)
        self.addCleanup(client.socket.close)
        return client

    def ask(self, path, body=None, **how):
        """Sends a request on a connection of its own; returns the answer."""
        with RawClient(self.port, **how) as client:
            if body is None:
                client.get(path, "Connection: close\r\n")
            else:
                client.post(path, body, "Connection: close\r\n")
            return client.reply()

    def heard(self, what):
        """Returns once the event has happened."""
        self.assertEqual(self.ask(f"/heard/{what}").body, what.encode())

    def assert_alive(self, client=None):
        client = client or self.client()
        client.get("/hello/alive")
        reply = client.reply()
        self.assertEqual((reply.status, reply.body), (200, b"hello alive"))
