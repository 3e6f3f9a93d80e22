"""A faulty server of OpenAI's embeddings, for tests of its client.

The `model` of a request chooses the fault: it is the word before the first '-'. It applies from
that model's second request on. The first one, which asks for the width, is answered correctly
unless the model begins with "at-once-". A text's vector is [bytes, 1, 0, 0]; for a list of ids the
first element is their number.
"""

import base64
import json
import socket
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WIDTH = 4
DRIP_SECONDS = 0.05


def vector(item):
    return [float(len(item)), 1.0, 0.0, 0.0]


def reply(inputs, encoding="float"):
    data = []
    for index, item in enumerate(inputs):
        numbers = vector(item)
        if encoding == "base64":
            numbers = base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()
        data.append({"object": "embedding", "index": index, "embedding": numbers})
    return {"object": "list", "data": data, "model": "m", "usage": {"total_tokens": 1}}


def twisted(kind, whole):
    """The text of a reply with one fault."""
    data = whole["data"]
    if kind == "count":
        data.pop()
    elif kind == "more":
        data.append(dict(data[0], index=len(data)))
    elif kind == "width":
        data[-1]["embedding"].append(1.0)
    elif kind == "twice":
        data[-1]["index"] = 0
    elif kind == "nan":
        return json.dumps(whole).replace("1.0", "NaN")
    elif kind == "large":
        return json.dumps(whole).replace("1.0", "1e60")
    elif kind == "zero":
        data[0]["embedding"] = [0.0] * WIDTH
    elif kind == "words":
        data[0]["embedding"] = ["x"] * WIDTH
    elif kind == "backwards":
        data.reverse()
    elif kind == "deep":
        return "[" * 100000
    elif kind == "garbage":
        return '{"data": [}'
    elif kind == "html":
        return "<html>an error of a proxy</html>"
    elif kind == "empty":
        return ""
    return json.dumps(whole)


STATUS = {"refuses": 400, "long": 413, "busy": 429, "away": 503, "fails": 500, "moved": 302,
          "secret": 401}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # an answer in one packet

    def log_message(self, *_):
        pass

    def answer(self, text, status=200):
        body = text.encode()
        self.send_response(status)
        if status == 302:
            self.send_header("Location", self.server.url + "/elsewhere")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.server.note(self.path, None, self.headers)
        self.answer(json.dumps({"data": [{"id": "good"}]}))

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        request = json.loads(self.rfile.read(length))
        model = request["model"]
        count = self.server.note(self.path, request, self.headers)
        first = count == 1 and not model.startswith("at-once-")
        kind = model.removeprefix("at-once-").split("-")[0]
        whole = reply(request["input"], request["encoding_format"])
        if first or kind == "good":
            self.answer(json.dumps(whole))
        elif kind == "flaky" and count % 3 != 0:
            self.answer(json.dumps(whole))
        elif kind in STATUS:
            self.answer(json.dumps({"error": {"message": f"this is {kind}"}}), STATUS[kind])
        else:
            self.fault(kind, whole)

    def fault(self, kind, whole):
        text = twisted(kind, whole)
        if kind in ("closes", "flaky"):
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif kind == "early":
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text[:20].encode())
            self.wfile.flush()
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif kind == "silent":
            self.server.ended.wait(60)
        elif kind == "drips":
            self.drip(text)
        elif kind == "huge":
            self.huge()
        else:
            self.answer(text)

    def drip(self, text):
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        for byte in text.encode():
            if self.server.ended.is_set():
                return
            try:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
            except OSError:
                return
            time.sleep(DRIP_SECONDS)

    def huge(self):
        """Sends endless white space, which JSON allows."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        piece = b" " * 65536
        try:
            while not self.server.ended.is_set():
                self.wfile.write(b"10000\r\n" + piece + b"\r\n")
        except OSError:
            self.close_connection = True


class FaultyEndpoint(ThreadingHTTPServer):
    """Serves inside a `with` block. `requests` are (path, body, key)."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        self.requests = []
        self.counts = {}
        self.lock = threading.Lock()
        self.ended = threading.Event()

    def note(self, path, body, headers):
        with self.lock:
            self.requests.append((path, body, headers.get("Authorization")))
            model = body["model"] if body else None
            self.counts[model] = self.counts.get(model, 0) + 1
            return self.counts[model]

    def handle_error(self, *_):
        """Ignores the error, since tests include clients that leave."""

    def __enter__(self):
        self.thread = threading.Thread(target=self.serve_forever)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.shutdown()
        self.thread.join()
        self.server_close()
