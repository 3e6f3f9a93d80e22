"""A scripted server of OpenAI's interface, for tests of its clients.

It counts words (or ids) as tokens and answers "w0 w1 ..." of as many tokens as were asked for. The
`model` of a request changes that: "busy" is refused with 429, "cut" ends a stream in the middle,
"failing" sends an error in the stream, "silent" never answers, "page" answers without a stream,
"short" stops after one token, "uncounted" gives no usage. The server keeps all requests.
"""

import asyncio
import json
import threading


class StubServer:
    """Serves from a thread of its own inside a `with` block."""

    def __init__(self, key=""):
        self.key = key
        self.requests = []  # (path, body)
        self.max_at_once = 0
        self.gate = None  # answers wait until this many requests have arrived
        self._open = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self):
        self._thread.start()
        start = asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
        self._server = asyncio.run_coroutine_threadsafe(start, self._loop).result()
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        return self

    def __exit__(self, *_):
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _stop(self):
        self._server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader, writer):
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, path, _ = head[0].split(" ")
        fields = dict(line.split(": ", 1) for line in head[1:] if line)
        if self.key and fields.get("Authorization") != f"Bearer {self.key}":
            return await send(writer, 401, error("no such key", "invalid_api_key"))
        if method == "GET" and path == "/v1/models":
            return await send(writer, 200, {"object": "list", "data": [{"id": "stub"}]})
        body = json.loads(await reader.readexactly(int(fields["Content-Length"])))
        if path not in ("/v1/completions", "/v1/chat/completions"):
            return await send(writer, 404, error("no such route", "not_found"))
        self.requests.append((path, body))
        self._open += 1
        self.max_at_once = max(self.max_at_once, self._open)
        try:
            while self.gate and len(self.requests) < self.gate:
                await asyncio.sleep(0.001)
            await self._complete(writer, path, body)
        finally:
            self._open -= 1
        return None

    async def _complete(self, writer, path, body):
        model = body["model"]
        if model == "busy":
            return await send(writer, 429, error("too many requests wait", "busy"))
        if model == "page":
            return await send(writer, 200, {"choices": [{"text": "whole"}]})
        if model == "silent":
            return await asyncio.sleep(3600)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                     b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
        count = 1 if model == "short" else body["max_tokens"]
        chat = path == "/v1/chat/completions"
        if chat:
            event(writer, {"choices": [{"delta": {"role": "assistant", "content": ""}}]})
        chunk(writer, ": silence\n\n")
        for i in range(count):
            text = f"w{i} "
            event(writer, {"choices": [{"delta": {"content": text}} if chat else {"text": text}]})
            await writer.drain()
            if model == "cut":
                return None
            if model == "failing":
                return event(writer, error("the engine has failed", "engine"))
        if model != "uncounted":
            usage = {"prompt_tokens": prompt_tokens(body), "completion_tokens": count}
            event(writer, {"choices": [], "usage": usage})
        chunk(writer, "data: [DONE]\n\n")
        writer.write(b"0\r\n\r\n")
        return await writer.drain()


def prompt_tokens(body):
    prompt = body.get("prompt")
    if isinstance(prompt, list):
        return len(prompt)
    return len((prompt or body["messages"][0]["content"]).split())


def error(message, code):
    return {"error": {"message": message, "type": "stub", "param": None, "code": code}}


def chunk(writer, text):
    data = text.encode()
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))


def event(writer, value):
    chunk(writer, f"data: {json.dumps(value)}\n\n")


async def send(writer, status, value):
    body = json.dumps(value).encode()
    writer.write(b"HTTP/1.1 %d Said\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
                 b"Connection: close\r\n\r\n%s" % (status, len(body), body))
    await writer.drain()
