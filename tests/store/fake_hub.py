"""A fake hub of models on two ports of this machine. One answers as the hub does, the other plays
the network that serves large files.

    with FakeHub({"m-Q4_K_M.gguf": data}) as hub:
        hub.endpoint                  # for HF_ENDPOINT
        hub.cdn_faults.append(cut(7)) # what happens to the next request there

A fault is a function that changes the reply about to be sent. Every request is kept.
"""

import hashlib
import json
import re
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

LARGE = 1000  # size from which on a file has a SHA-256 and is on the other port
COMMIT = "c" * 40


def git_sha1(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Reply:
    def __init__(self, status, body=b"", **fields):
        self.status, self.body = status, body
        self.fields = {name.replace("_", "-"): value for name, value in fields.items()}
        self.cut = None  # bytes after which the connection ends
        self.pause = 0  # seconds after each byte


def cut(after):
    """A fault: the connection ends after this many bytes of the body."""
    def fault(reply):
        reply.cut = after
    return fault


def status(code, body=b"", **fields):
    def fault(reply):
        reply.__init__(code, body, **fields)
    return fault


def field(name, value):
    def fault(reply):
        reply.fields[name] = value
    return fault


def drip(seconds):
    def fault(reply):
        reply.pause = seconds
    return fault


def flip(at):
    """A fault: one bit of the body is flipped."""
    def fault(reply):
        body = bytearray(reply.body)
        if body:
            body[at % len(body)] ^= 1
        reply.body = bytes(body)
    return fault


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer()

    def do_HEAD(self):
        self.answer()

    def do_POST(self):
        """Answers the question about paths that npm's client asks."""
        length = int(self.headers.get("Content-Length", 0))
        paths = json.loads(self.rfile.read(length))["paths"]
        hub = self.server.hub
        self.send(Reply(200, json.dumps([{**hub.entry(path), "lastCommit": {
            "id": hub.commit, "title": "t", "date": "2026-01-01T00:00:00Z"}}
            for path in paths if path in hub.files]).encode()))

    def answer(self):
        hub, here = self.server.hub, self.server.name
        hub.requests.append((here, self.command, self.path, dict(self.headers.items())))
        reply = getattr(hub, here)(self.path, self.headers)
        faults = getattr(hub, here + "_faults")
        with hub.lock:
            fault = faults.pop(0) if faults else None
        if fault is not None:
            fault(reply)
        self.send(reply)

    def send(self, reply):
        self.send_response(reply.status)
        for name, value in reply.fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        try:
            if reply.pause:
                for byte in reply.body:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                    time.sleep(reply.pause)
            else:
                self.wfile.write(reply.body[:reply.cut])
            if reply.cut is not None:
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
        except OSError:
            self.close_connection = True


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_):
        pass


class FakeHub:
    def __init__(self, files, repo="org/model", commit=COMMIT, page=1000):
        self.repo, self.commit, self.files, self.page = repo, commit, dict(files), page
        self.requests, self.hub_faults, self.cdn_faults = [], [], []
        self.lock = threading.Lock()
        self.token = None  # the token that the repository requires
        self.entries = None  # entries of the list of files, if not those of the files
        self.signature = 0  # signature of the valid addresses; others have expired
        self.wants_ranges = True  # for large files, as hubs do above some ten GB
        self.servers = []

    def __enter__(self):
        for name in ("hub", "cdn"):
            server = Server(("127.0.0.1", 0), Handler)
            server.hub, server.name = self, name
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
            self.servers.append(server)
        self.endpoint, self.away = [f"http://127.0.0.1:{s.server_port}" for s in self.servers]
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.shutdown()
            server.server_close()

    def asked(self, where, part=""):
        return [path for name, _, path, _ in self.requests if name == where and part in path]

    def entry(self, path):
        data = self.files[path]
        entry = {"type": "file", "path": path, "size": len(data), "oid": git_sha1(data)}
        if len(data) >= LARGE:
            entry["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data)}
        return entry

    def ranged(self, data, headers):
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", headers.get("Range", ""))
        if not match:
            return Reply(400 if self.wants_ranges and len(data) >= LARGE else 200, data)
        begin = int(match[1])
        end = min(int(match[2]) + 1 if match[2] else len(data), len(data))
        if begin >= len(data):
            return Reply(416)
        return Reply(206, data[begin:end], Content_Range=f"bytes {begin}-{end - 1}/{len(data)}",
                     ETag=f'"{hashlib.sha256(data).hexdigest()}"')

    def hub(self, target, headers):
        if self.token and headers.get("Authorization") != f"Bearer {self.token}":
            return Reply(401, b'{"error": "no"}', X_Error_Code="GatedRepo")
        path = unquote(urlsplit(target).path)
        api = f"/api/models/{self.repo}"
        if path.startswith(f"{api}/revision/"):
            if path.rsplit("/", 1)[1] not in ("main", self.commit):
                return Reply(404, X_Error_Code="RevisionNotFound")
            return Reply(200, json.dumps({"sha": self.commit}).encode())
        if path == f"{api}/tree/{self.commit}":
            return self.tree(target)
        match = re.fullmatch(f"/{self.repo}/resolve/(?:main|{self.commit})/(.*)", path)
        if not match or match[1] not in self.files:
            return Reply(404, X_Error_Code="EntryNotFound" if match else "RepoNotFound")
        data = self.files[match[1]]
        if len(data) < LARGE:
            return self.ranged(data, headers)
        digest = hashlib.sha256(data).hexdigest()
        return Reply(302, Location=f"{self.away}/blob/{digest}?s={self.signature}",
                     X_Linked_Etag=f'"{digest}"', X_Linked_Size=str(len(data)),
                     X_Repo_Commit=self.commit)

    def tree(self, target):
        entries = self.entries
        if entries is None:
            entries = [self.entry(path) for path in self.files]
        match = re.search(r"cursor=(\d+)", target)
        begin = int(match[1]) if match else 0
        reply = Reply(200, json.dumps(entries[begin:begin + self.page]).encode())
        if begin + self.page < len(entries):
            link = f"{self.endpoint}{urlsplit(target).path}?recursive=true"
            reply.fields["Link"] = f'<{link}&cursor={begin + self.page}>; rel="next"'
        return reply

    def cdn(self, target, headers):
        if "Authorization" in headers:
            return Reply(500, b"the token leaked")
        if not target.endswith(f"s={self.signature}"):
            return Reply(403, b"expired")
        digest = re.search(r"/blob/(\w+)", target)[1]
        for data in self.files.values():
            if hashlib.sha256(data).hexdigest() == digest:
                return self.ranged(data, headers)
        return Reply(404)

    def leaks(self):
        return [request for request in self.requests
                if request[0] == "cdn" and "Authorization" in request[3]]


def main():
    """fake_hub.py NAME=FILE ...: prints the hub's address, and ends with its standard input."""
    files = dict(word.split("=", 1) for word in sys.argv[1:])
    with FakeHub({name: Path(path).read_bytes() for name, path in files.items()}) as hub:
        hub.wants_ranges = False  # published clients ask without a range
        print(hub.endpoint, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
