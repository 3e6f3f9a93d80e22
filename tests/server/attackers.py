#!/usr/bin/env python3
"""Malicious clients, for soak.py --attacked. They are a process of their own, so that they take no
time from the well-behaved clients.

    attackers.py --port N   begins at once, ends with its standard input, and prints its counts

Every kind uses addresses of its own (127.0.0.2 and up). So the server counts each as another client
than the well-behaved ones, which use 127.0.0.1.
"""

import argparse
import collections
import json
import os
import random
import resource
import select
import socket
import sys
import threading
import time

from raw_client import RawClient

CHAT, TEXT, DETOKENIZE = "/v1/chat/completions", "/v1/completions", "/detokenize"
BUSY = (429, 503)
BODY = 8 << 20  # the largest body that the server accepts
# The search functions that chats may call. Which of them work depends on the template: see
# soak_attacked.py.
SEARCHES = ("in", "find", "count", "replace", "split")
NEEDLE, HAY = 2_000_000, 4_000_000
# The kernel's buffer for a client that does not read is kept small.
SMALL_BUFFER = 4096


def body_of(**fields):
    return json.dumps(fields).encode()


class Attacker:
    """One kind of attack: `count` threads that call once() again and again from one address."""

    count = 8
    address = 2

    def __init__(self, port, seed):
        self.port = port
        self.random = random.Random(f"{seed} {type(self).__name__}")
        # Counts: opened, requests, answered, refused, and cut (the server ended it in its answer).
        self.did = collections.Counter()

    def start(self):
        for _ in range(self.count):
            threading.Thread(target=self.go_on, daemon=True).start()

    def go_on(self):
        while True:
            try:
                self.once()
            except (OSError, EOFError, ValueError):
                self.did["cut"] += 1
                time.sleep(0.01)

    def connect(self, receive_buffer=None):
        client = RawClient(self.port, receive_buffer=receive_buffer,
                           source=f"127.0.0.{self.address}")
        self.did["opened"] += 1
        return client

    def ask(self, client, path, body):
        self.did["requests"] += 1
        client.post(path, body)

    def take(self, client):
        """Reads a whole reply."""
        reply = client.reply("POST")
        self.note(reply.status)
        return reply

    def note(self, status):
        self.did["refused" if status in BUSY else "answered"] += 1


class Idle(Attacker):
    """More idle connections than the server has places, from several addresses."""

    count = 1
    ADDRESSES, EACH = 6, 1100

    def start(self):
        self.open = {}  # by descriptor
        self.poll = select.epoll()
        super().start()

    def once(self):
        while len(self.open) < self.ADDRESSES * self.EACH:
            self.address = 100 + self.did["opened"] % self.ADDRESSES
            client = self.connect()
            self.open[client.socket.fileno()] = client
            self.poll.register(client.socket.fileno(), select.EPOLLIN | select.EPOLLRDHUP)
            if self.did["opened"] % 100 == 0:
                self.forget()
                time.sleep(0.02)
        self.forget()
        time.sleep(0.1)

    def forget(self):
        """Forgets the connections that the server has closed."""
        for descriptor, _ in self.poll.poll(0):
            self.did["cut"] += 1
            self.poll.unregister(descriptor)
            self.open.pop(descriptor).socket.close()


class Unread(Attacker):
    """Large replies that are not read."""

    count, address = 24, 3
    TOKENS = b'{"tokens":[' + b",".join([b"300"] * 1_000_000) + b"]}"
    LONG = {"prompt": "Once", "max_tokens": 4000, "n": 16, "ignore_eos": True}

    def once(self):
        kind = self.random.randrange(3)
        with self.connect(SMALL_BUFFER) as client:
            if kind == 0:
                self.ask(client, DETOKENIZE, self.TOKENS)
            elif kind == 1:
                self.ask(client, TEXT, body_of(**self.LONG, logprobs=20))
            else:
                self.ask(client, TEXT, body_of(**self.LONG, stream=True))
            status = int(client.socket.recv(12)[9:])
            self.note(status)
            if status not in BUSY:
                self.wait_until_cut(client)
        time.sleep(0.05)

    def wait_until_cut(self, client):
        poll = select.poll()
        poll.register(client.socket, select.POLLRDHUP)
        if poll.poll(self.random.choice([1000, 60_000])):
            self.did["cut"] += 1


class Drip(Attacker):
    """A few bytes a second, read or written, and bodies that lack a byte."""

    count, address = 32, 4
    BODY = body_of(prompt="Once upon a time", max_tokens=200, ignore_eos=True, stream=True)
    SECONDS = 40

    def once(self):
        self.random.choice([self.header, self.body, self.reply, self.all_but_one])()

    def drip(self, client, data):
        until = time.monotonic() + self.SECONDS
        for byte in data:
            client.socket.send(bytes([byte]))
            time.sleep(self.random.uniform(0.1, 0.5))
            if time.monotonic() > until:
                break

    def header(self):
        with self.connect() as client:
            self.drip(client, b"POST / HTTP/1.1\r\nHost: localhost\r\n" + b"X: x\r\n" * 99)

    def body(self):
        with self.connect() as client:
            self.did["requests"] += 1
            client.send(f"POST {TEXT} HTTP/1.1\r\nHost: localhost\r\n"
                        f"Content-Length: {len(self.BODY)}\r\n\r\n")
            self.drip(client, self.BODY)
            self.take(client)

    def reply(self):
        with self.connect(SMALL_BUFFER) as client:
            self.ask(client, TEXT, self.BODY)
            self.note(int(client.socket.recv(12)[9:]))
            until = time.monotonic() + self.SECONDS
            while client.socket.recv(5) and time.monotonic() < until:
                time.sleep(1)

    def all_but_one(self):
        with self.connect() as client:
            self.did["requests"] += 1
            size = self.random.choice([1000, 100_000, 1 << 20, BODY])
            client.send(f"POST {TEXT} HTTP/1.1\r\nHost: localhost\r\n"
                        f"Content-Length: {size}\r\n\r\n".encode() + b" " * (size - 1))
            self.take(client)  # the answer: it took too long, or is too large


class Flood(Attacker):
    """As many requests for text as possible."""

    count, address = 30, 5
    BODY = body_of(prompt="Once upon a time", max_tokens=64, n=8)

    def once(self):
        with self.connect() as client:
            self.ask(client, TEXT, self.BODY)
            if self.take(client).status in BUSY:
                time.sleep(0.01)


class Needle(Attacker):
    """Chats whose template searches one long text for another that nearly matches everywhere."""

    count, address = 4, 6
    TEXTS = ("a" * HAY, "a" * (NEEDLE // 2) + "b" + "a" * (NEEDLE // 2))

    def start(self):
        messages = [{"role": role, "content": text}
                    for role, text in zip(("system", "user"), self.TEXTS)]
        self.bodies = [body_of(messages=messages, max_tokens=1,
                               chat_template_kwargs={"search": search}) for search in SEARCHES]
        super().start()

    def once(self):
        with self.connect() as client:
            self.ask(client, self.random.choice([CHAT, "/apply-template"]),
                     self.random.choice(self.bodies))
            self.take(client)


class Bodies(Attacker):
    """The largest possible bodies: texts beyond every context, ids, and bodies that are no request.
    """

    count, address = 8, 7

    def start(self):
        self.bodies = [(path, self.filled(*around)) for path, *around in (
            (TEXT, b'{"max_tokens":1,"prompt":"', b"Once upon a time there was ", b'"}'),
            (TEXT, b'{"max_tokens":1,"prompt":"', b"a", b'"}'),
            (TEXT, b'{"max_tokens":1,"prompt":[1', b",300", b"]}"),
            (TEXT, b'{"max_tokens":1,"prompt":"a","x":[1', b",1", b"]}"),
            (CHAT, b'{"messages":[{"role":"user","content":"', b"\\u00e4", b'"}]}'),
            ("/tokenize", b'{"content":"', b"a fox and a kite ", b'"}'),
            ("/v1/embeddings", b'{"input":["a"', b',"abc"', b"]}"))]
        super().start()

    @staticmethod
    def filled(begin, middle, end):
        return begin + middle * ((BODY - len(begin) - len(end)) // len(middle)) + end

    def once(self):
        with self.connect() as client:
            self.ask(client, *self.random.choice(self.bodies))
            self.take(client)


class Leave(Attacker):
    """Closes, half-closes or resets at any moment."""

    count, address = 12, 8
    BODY = body_of(prompt="Once upon a time", max_tokens=30, stream=True)

    def once(self):
        with self.connect() as client:
            self.did["requests"] += 1
            head = (f"POST {TEXT} HTTP/1.1\r\nHost: localhost\r\n"
                    f"Content-Length: {len(self.BODY)}\r\n\r\n").encode()
            whole = head + self.BODY
            sent = self.random.choice([len(whole), self.random.randrange(len(whole))])
            client.send(whole[:sent])
            time.sleep(self.random.choice([0, 0, 0.001, 0.01, 0.1, 0.5]))
            way = self.random.randrange(4)
            if way == 0:
                client.reset()
            elif way == 1:
                client.end()
                self.take(client)
            elif way == 2 and sent == len(whole):
                client.socket.recv(self.random.choice([1, 100, 3000]))
                client.reset()


KINDS = {kind.__name__.lower(): kind
         for kind in (Idle, Unread, Drip, Flood, Needle, Bodies, Leave)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    options = parser.parse_args()
    # The clients have a low priority, so that they do not slow the server by their own work.
    os.nice(10)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    Idle.EACH = min(Idle.EACH, (most - 500) // Idle.ADDRESSES)
    socket.setdefaulttimeout(60)
    attackers = {name: KINDS[name](options.port, options.seed) for name in options.kinds}
    for attacker in attackers.values():
        attacker.start()
    sys.stdin.buffer.read()
    print(json.dumps({name: attacker.did for name, attacker in attackers.items()}), flush=True)
    os._exit(0)  # the threads need not end first


if __name__ == "__main__":
    main()
