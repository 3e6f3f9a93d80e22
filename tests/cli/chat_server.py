"""A scripted server of OpenAI's chat API, for tests of the chat at a terminal.

The last message decides the answer. "think" thinks first; "slow" sends word by word until the
client leaves; "gone" cuts the connection in the middle; "no" is refused; "forge" answers with a
terminal's escape sequences; "bytes" with raw bytes; "long N" with N words. Any other message is
echoed. The server keeps all requests.
"""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SLOW_WORDS = 400  # more than any test waits for


def pieces_of(text):
    """The answer to a message as a list of (field, piece)."""
    if text == "think":
        return [("reasoning_content", "Let me "), ("reasoning_content", "see."),
                ("content", "\n\nIt is "), ("content", "so.")]
    if text == "bytes":
        return [("content", "a\x1b[2J\x07b")]
    if text.startswith("long "):
        return [("content", f"word{i} ") for i in range(int(text[5:]))]
    if text == "slow":
        return [("content", f"w{i} ") for i in range(SLOW_WORDS)]
    return [("content", text)]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        names = getattr(self.server, "names", ["stub", "other"])
        self.reply(200, {"object": "list", "data": [{"id": name} for name in names]})

    def event(self, value):
        data = f"data: {value if isinstance(value, str) else json.dumps(value)}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append({**body, "key": self.headers.get("Authorization")})
        text = body["messages"][-1]["content"]
        if text == "no":
            return self.reply(400, {"error": {"message": "the stub will not", "code": "no"}})
        if text == "forge":
            return self.reply(400, {"error": {"message": "no\x1b[2J\n> yes", "code": "no"}})
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            self.stream(text, body)
        except ConnectionError:
            self.server.left += 1
        return None

    def stream(self, text, body):
        for field, piece in pieces_of(text):
            self.event({"choices": [{"delta": {field: piece}}]})
            if text == "slow":
                time.sleep(0.02)
            if text == "gone":
                self.close_connection = True
                return
        self.event({"choices": [{"delta": {}, "finish_reason": "stop"}]})
        usage = {"prompt_tokens": 10, "completion_tokens": 4,
                 "prompt_tokens_details": {"cached_tokens": 10 if len(body["messages"]) > 2 else 0}}
        self.event({"choices": [], "usage": usage})
        self.event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")


class ChatServer:
    """Serves from a thread of its own inside a `with` block."""

    def __enter__(self):
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.asked, self.server.left = [], 0
        self.asked = self.server.asked
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()
        return self

    def said(self):
        """The messages of the last request, as (role, content)."""
        return [(m["role"], m["content"]) for m in self.asked[-1]["messages"]]

    def end(self):
        if self.thread.is_alive():
            self.server.shutdown()
            self.thread.join()
            self.server.server_close()

    def __exit__(self, *_):
        self.end()
