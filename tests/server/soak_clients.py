"""Clients of the soak. Each repeats random requests and checks the answers."""

import asyncio
import collections
import json
import random

from async_http import Exchange, ProtocolError, fetch

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
SUBJECTS = ["a fox and a kite", "the sea", "two brothers", "an old clock", "rain", "a red door"]
GREEDY = {"temperature": 0, "max_tokens": 40}
# Statuses with which a busy server may refuse a valid request.
BUSY = (429, 503)


def greedy_calls():
    """[(path, body)] of requests whose texts are known."""
    calls = [(CHAT, {"messages": [{"role": "user", "content": f"Tell me about {subject}."}]})
             for subject in SUBJECTS]
    calls += [(TEXT, {"prompt": f"Once upon a time there was {subject}"}) for subject in SUBJECTS]
    return [(path, {**body, **GREEDY}) for path, body in calls]


def text_of(choice):
    return choice["message"]["content"] if "message" in choice else choice["text"]


def piece_of(choice):
    return choice["delta"].get("content") or "" if "delta" in choice else choice["text"]


async def greedy_text(url, path, body):
    status, reply = await fetch(url, path, body)
    if status != 200:
        raise ProtocolError(f"{path} answers {status}: {reply[:300]}")
    return text_of(json.loads(reply)["choices"][0])


async def alone(url):
    """{call: text} of greedy calls, asked one by one."""
    return {(path, json.dumps(body)): await greedy_text(url, path, body)
            for path, body in greedy_calls()}


async def paths_alone(url):
    """{call: text} for prompts of several pages: beginnings of one text, each with its own end, and
    the turns of a conversation."""
    text, known, messages = " ".join(f"{subject}, and then" for subject in SUBJECTS * 4), {}, []
    calls = [(TEXT, {"prompt": text[:length] + end, **GREEDY})
             for length in range(50, 420, 60) for end in ("", " no more", " she said, again")]
    for path, body in calls:
        known[path, json.dumps(body)] = await greedy_text(url, path, body)
    for subject in SUBJECTS[:4]:
        messages.append({"role": "user", "content": f"Tell me about {subject}."})
        body = {"messages": list(messages), **GREEDY}
        reply = await greedy_text(url, CHAT, body)
        known[CHAT, json.dumps(body)] = reply
        messages.append({"role": "assistant", "content": reply})
    return known


class Clients:
    """Up to `count` clients at once. A fault stops them all."""

    def __init__(self, url, known, count, seed):
        self.url, self.known, self.count = url, known, count
        self.random = random.Random(seed)
        self.requests = self.compared = 0
        self.counts = collections.Counter()
        self.faults = []
        self.kinds = [self.greedy, self.greedy_stream, self.sampled, self.sampled_stream,
                      self.leave_stream, self.leave_stream, self.leave_before, self.leave_body,
                      self.malformed_body, self.malformed_head, self.idle, self.slow, self.look]

    async def run(self, until):
        """Runs clients until until() is true; returns when all have ended."""
        await asyncio.gather(*(self._client(until) for _ in range(self.count)))

    async def _client(self, until):
        while not until():
            kind = self.random.choice(self.kinds)
            self.requests += 1
            try:
                outcome = await kind()
            except (ProtocolError, OSError, ValueError, KeyError, IndexError) as error:
                self.faults.append(f"{kind.__name__}: {error!r}")
                return
            name = kind.__name__.replace("_", " ")
            self.counts[f"{name}: {outcome}" if outcome else name] += 1

    def fault(self, text):
        self.faults.append(text)

    def sampled_call(self):
        some = self.random
        most = 300 if some.random() < 0.2 else 60
        body = {"max_tokens": some.randint(1, most), "temperature": some.choice([0, 0.7, 1.5]),
                "top_p": some.choice([1, 0.9]), "seed": some.randrange(1 << 31)}
        if some.random() < 0.3:
            body["n"] = some.randint(2, 3)
        if some.random() < 0.2:
            body["stop"] = [" the", "."]
        subject = " ".join(some.choices(SUBJECTS, k=some.randint(1, 12)))
        if some.random() < 0.5:
            if some.random() < 0.3:
                body |= {"logprobs": True, "top_logprobs": 3}
            return CHAT, body | {"messages": [{"role": "user", "content": subject}]}
        if some.random() < 0.3:
            body["logprobs"] = 2
        return TEXT, body | {"prompt": subject}

    def compare(self, call, text):
        self.compared += 1
        if text != self.known[call]:
            self.fault(f"{call} gave {text!r}, and alone {self.known[call]!r}")

    async def greedy(self):
        call = self.random.choice(list(self.known))
        status, reply = await fetch(self.url, call[0], json.loads(call[1]))
        if status in BUSY:
            return "busy"
        if status != 200:
            return self.fault(f"greedy: {status} {reply[:300]}")
        return self.compare(call, text_of(json.loads(reply)["choices"][0]))

    async def greedy_stream(self):
        call = self.random.choice(list(self.known))
        status, text, _ = await self.stream(call[0], json.loads(call[1]))
        return "busy" if status in BUSY else self.compare(call, text)

    async def stream(self, path, body, pause=0):
        """(status, text of choice 0, choices that ended) of a stream that is read to its end."""
        text, ended, done = "", 0, False
        async with Exchange(self.url, path, {**body, "stream": True}) as reply:
            if reply.status in BUSY:
                return reply.status, "", 0
            if reply.status != 200:
                raise ProtocolError(f"{reply.status} {await reply.body()}")
            async for data in reply.events():
                done = data == "[DONE]"
                if done:
                    continue
                event = json.loads(data)
                if "error" in event:
                    raise ProtocolError(f"error in a stream: {data}")
                for choice in event["choices"]:
                    text += piece_of(choice) if choice["index"] == 0 else ""
                    ended += choice["finish_reason"] is not None
                await asyncio.sleep(pause)
        if not done:
            raise ProtocolError("a stream ended without [DONE]")
        return 200, text, ended

    async def sampled(self):
        path, body = self.sampled_call()
        status, reply = await fetch(self.url, path, body)
        if status in BUSY:
            return "busy"
        if status != 200 or len(json.loads(reply)["choices"]) != body.get("n", 1):
            self.fault(f"sampled: {path} {body} gave {status} {reply[:300]}")
        return None

    async def sampled_stream(self):
        path, body = self.sampled_call()
        status, _, ended = await self.stream(path, body)
        if status == 200 and ended != body.get("n", 1):
            self.fault(f"sampled: {body} ended {ended} choices")
        return "busy" if status in BUSY else None

    async def slow(self):
        """Reads a stream with pauses."""
        path, body = self.sampled_call()
        status, *_ = await self.stream(path, {**body, "max_tokens": 8}, pause=0.05)
        return "busy" if status in BUSY else None

    async def leave_stream(self):
        """Leaves after some bytes of a stream."""
        path, body = self.sampled_call()
        async with Exchange(self.url, path, {**body, "stream": True}) as reply:
            await reply.reader.read(self.random.choice([1, 300, 3000, 10000]))

    async def leave_before(self):
        """Leaves before any reply, in the queue or while the prompt is read."""
        path, body = self.sampled_call()
        writer = await Exchange(self.url, path, body).send()
        await asyncio.sleep(self.random.choice([0, 0.001, 0.01, 0.1]))
        writer.transport.abort()

    async def leave_body(self):
        """Sends a part of a body and leaves."""
        path, body = self.sampled_call()
        exchange = Exchange(self.url, path, body)
        exchange.request = exchange.request[:-self.random.randint(1, 40)]
        writer = await exchange.send()
        await asyncio.sleep(self.random.choice([0, 0.01]))
        writer.transport.abort()

    async def malformed_body(self):
        path, body = self.sampled_call()
        bad = self.random.choice([
            b"", b"{", b"[" * 100_000, b"\xff\xfe", b'{"prompt":7}', b'{"messages":7}', b"null",
            json.dumps({**body, "temperature": "hot"}).encode(),
            json.dumps({**body, "max_tokens": -1}).encode(),
            json.dumps({**body, "n": 1 << 40}).encode(),
            json.dumps({**body, "tools" if path == CHAT else "suffix": [{}]}).encode(),
            b'{"prompt":"' + b"a " * 20_000 + b'"}'])
        status, reply = await fetch(self.url, path, bad)
        # The server does not parse the body if the queue is full.
        if status not in (400, 429) or len(reply) > 1024 or "error" not in json.loads(reply):
            self.fault(f"malformed: {path} {bad[:100]} gave {status} {reply[:300]}")

    async def malformed_head(self):
        exchange = Exchange(self.url, TEXT, {})
        exchange.request = self.random.choice([
            b"\x16\x03\x01\r\n\r\n", b"GET\r\n\r\n", b"POST /v1/completions HTTP/1.1\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
            b"GET /" + b"a" * 40_000 + b" HTTP/1.1\r\n\r\n"])
        writer = await exchange.send()
        try:
            reply = await exchange.reader.read(100)
        except ConnectionResetError:
            # The server closed the connection with unread bytes, so its reply may be lost.
            reply = b""
        writer.transport.abort()
        if reply and not reply.startswith(b"HTTP/1.1 4"):
            self.fault(f"malformed: {exchange.request[:60]} gave {reply}")

    async def idle(self):
        """Connects, sends nothing or half a line, and leaves."""
        exchange = Exchange(self.url, "/health")
        exchange.request = self.random.choice([b"", b"GET /hea"])
        writer = await exchange.send()
        await asyncio.sleep(self.random.uniform(0, 0.5))
        writer.transport.abort()

    async def look(self):
        path = self.random.choice(["/health", "/live", "/metrics", "/v1/models", "/openapi.json"])
        status, reply = await fetch(self.url, path)
        if status != 200:
            self.fault(f"{path} gave {status} {reply[:300]}")
