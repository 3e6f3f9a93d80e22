#!/usr/bin/env python3
"""Measures `hearth pull` where the network is not the limit: over loopback, from a hub that sends
from memory, onto a disk. Measures beside it the speed of the disk and of hashing on this machine.

    pull_speed.py --hearth build/release/hearth [--bytes 2GiB] [--rounds 5] FOLDER...

FOLDER is where the cache lies, on a disk or in memory (/dev/shm). The hub's file is in memory. Each
round writes the file itself with fsync (the disk), hashes it, and pulls it. Medians are printed.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import socketserver
import statistics
import subprocess
import tempfile
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

COMMIT = "c" * 40
BLOCK = 1 << 20
UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def tell(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        hub = self.server
        if "/revision/" in self.path:
            return self.tell({"sha": COMMIT})
        if "/tree/" in self.path:
            return self.tell([{"type": "file", "path": "m-Q4_0.gguf", "size": hub.size,
                               "oid": "0" * 40, "lfs": {"oid": hub.digest, "size": hub.size}}])
        begin, end = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"]).groups())
        end = min(end + 1, hub.size)
        self.send_response(206)
        self.send_header("Content-Length", str(end - begin))
        self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{hub.size}")
        self.send_header("ETag", f'"{hub.digest}"')
        self.end_headers()
        self.wfile.flush()
        with open(hub.path, "rb") as file:
            while begin < end:
                begin += os.sendfile(self.connection.fileno(), file.fileno(), begin, end - begin)
        return None


class Hub(socketserver.ForkingMixIn, socketserver.TCPServer):
    """A server with a process for each connection, so that no connection waits for another."""

    allow_reuse_address = True
    request_queue_size = 64


def write_file(path, size):
    block = os.urandom(BLOCK)
    with open(path, "wb") as file:
        for number in range(size // BLOCK):
            # No two blocks are the same.
            file.write(number.to_bytes(8, "little") + block[8:])


def digest_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def write_through(source, target):
    with open(source, "rb") as file, open(target, "wb") as out:
        left = os.fstat(file.fileno()).st_size
        while left > 0:
            left -= out.write(file.read(BLOCK))
        out.flush()
        os.fsync(out.fileno())
    os.unlink(target)


def timed(call):
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def measure(arguments, folder, hub):
    def pull():
        environment = {**os.environ, "HF_HUB_CACHE": f"{folder}/cache", "HF_TOKEN": "",
                       "HF_ENDPOINT": f"http://127.0.0.1:{hub.server_address[1]}"}
        subprocess.run([arguments.hearth, "pull", "org/model", "--anyway"], env=environment,
                       check=True, capture_output=True)

    took = {"disk": [], "hash": [], "pull": []}
    for _ in range(arguments.rounds):
        took["disk"].append(timed(lambda: write_through(hub.path, f"{folder}/copy")))
        took["hash"].append(timed(lambda: digest_of(hub.path)))
        took["pull"].append(timed(pull))
        shutil.rmtree(f"{folder}/cache")
    return {name: hub.size / statistics.median(times) / 1e9 for name, times in took.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hearth", required=True)
    parser.add_argument("--bytes", default="2GiB")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    arguments = parser.parse_args()
    number, unit = re.fullmatch(r"(\d+)([KMG]iB)?", arguments.bytes).groups()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory, \
            Hub(("127.0.0.1", 0), Handler) as hub:
        hub.path = Path(memory) / "m-Q4_0.gguf"
        write_file(hub.path, int(number) * UNITS[unit or ""])
        hub.size, hub.digest = hub.path.stat().st_size, digest_of(hub.path)
        child = os.fork()
        if child == 0:
            hub.serve_forever()
        try:
            print("folder  disk GB/s  SHA-256 GB/s  pull GB/s")
            for name in arguments.folders:
                with tempfile.TemporaryDirectory(dir=name) as folder:
                    rates = measure(arguments, folder, hub)
                print(f"{name}  {rates['disk']:.2f}  {rates['hash']:.2f}  {rates['pull']:.2f}")
        finally:
            os.kill(child, 9)
            os.waitpid(child, 0)


if __name__ == "__main__":
    main()
