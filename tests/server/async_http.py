"""A client of HTTP/1.1 for many requests at once (asyncio), which can also leave in mid-reply.

Every request has a connection of its own. A server's error raises ProtocolError.
"""

import asyncio
import json
import urllib.parse

MOST_HEAD = 64 << 10


class ProtocolError(Exception):
    """The server's reply is not HTTP, or ended early."""


class Reply:
    """The head of a reply, and its body, read as it arrives."""

    def __init__(self, reader, writer, status, fields):
        self.reader, self.writer = reader, writer
        self.status, self.fields = status, fields

    async def pieces(self):
        """The body, piece by piece."""
        if self.fields.get("transfer-encoding") == "chunked":
            while size := int(await self._line(), 16):
                yield await self._exactly(size)
                await self._line()
            while await self._line():
                pass
        elif "content-length" in self.fields:
            yield await self._exactly(int(self.fields["content-length"]))
        else:
            yield await self.reader.read()

    async def body(self):
        return b"".join([piece async for piece in self.pieces()])

    async def json(self):
        return json.loads(await self.body())

    async def events(self):
        """The data of each event of a stream."""
        left = b""
        async for piece in self.pieces():
            *events, left = (left + piece).split(b"\n\n")
            for event in events:
                if event.startswith(b"data: "):
                    yield event[6:].decode()
        if left:
            raise ProtocolError(f"a stream ended within an event: {left[:100]}")

    async def _exactly(self, size):
        try:
            return await self.reader.readexactly(size)
        except asyncio.IncompleteReadError as error:
            raise ProtocolError("the body ended early") from error

    async def _line(self):
        line = await self.reader.readline()
        if not line.endswith(b"\r\n"):
            raise ProtocolError("the body ended within a line")
        return line[:-2].split(b";")[0]


class Exchange:
    """async with Exchange(url, "/path", body) as reply: leaves the connection at the end."""

    def __init__(self, url, path, body=None, fields=()):
        where = urllib.parse.urlsplit(url)
        self.host, self.port = where.hostname, where.port
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = [f"{'GET' if body is None else 'POST'} {path} HTTP/1.1",
                 f"Host: {where.netloc}", "Connection: close", *fields]
        if body is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(data)}"]
        self.request = "\r\n".join([*lines, "", ""]).encode()
        if body is not None:
            self.request += data

    async def send(self):
        """Sends the request and nothing more; returns the writer."""
        self.reader, self.writer = await asyncio.open_connection(self.host, self.port,
                                                                 limit=1 << 20)
        self.writer.write(self.request)
        await self.writer.drain()
        return self.writer

    async def __aenter__(self):
        try:
            await self.send()
            head = await self.reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            self.writer.transport.abort()
            raise ProtocolError(f"no reply: {error.partial[:100]}") from error
        except BaseException:
            if hasattr(self, "writer"):
                self.writer.transport.abort()
            raise
        first, *lines = head.decode("latin-1").split("\r\n")[:-2]
        fields = dict((name.lower(), value.strip())
                      for name, _, value in (line.partition(":") for line in lines))
        return Reply(self.reader, self.writer, int(first.split(" ")[1]), fields)

    async def __aexit__(self, *_):
        self.writer.transport.abort()


async def fetch(url, path, body=None, fields=()):
    """(status, body) of a request."""
    async with Exchange(url, path, body, fields) as reply:
        return reply.status, await reply.body()


async def metrics(url):
    """{'name{labels}': value} of /metrics."""
    status, body = await fetch(url, "/metrics")
    if status != 200:
        raise ProtocolError(f"/metrics answers {status}")
    lines = [line for line in body.decode().splitlines() if line and line[0] != "#"]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}
