"""The base of tests of the store: a cache of their own, and the program with a fake hub."""

import hashlib
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from fake_hub import COMMIT

DEMO = Path(__file__).resolve().parent.parent.parent / "assets" / "demo.gguf"
TIMEOUT = 120


class StoreCase(unittest.TestCase):
    program = ""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.home = Path(temporary.name)
        self.cache = self.home / ".cache/huggingface/hub"

    def environment(self, hub=None, **more):
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("HF_", "HUGGINGFACE", "OLLAMA", "XDG_"))
                and not name.lower().endswith("_proxy")}
        kept |= {"HOME": str(self.home), "OLLAMA_MODELS": str(self.home / ".ollama/models")}
        return kept | ({"HF_ENDPOINT": hub.endpoint} if hub else {}) | more

    def call(self, *words, hub=None, **more):
        done = subprocess.run([self.program, *map(str, words)], capture_output=True,
                              timeout=TIMEOUT, env=self.environment(hub, **more), check=False,
                              stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def good(self, *words, **how):
        code, out, err = self.call(*words, **how)
        self.assertEqual(code, 0, err)
        return out

    def bad(self, *words, says=(), code=1, **how):
        found, _, err = self.call(*words, **how)
        self.assertEqual(found, code, err)
        last = [line for line in err.splitlines() if line.startswith("hearth: ")][-1]
        for part in says:
            self.assertIn(part, last)
        return last

    def repo(self):
        return self.cache / "models--org--model"

    def snapshot(self):
        return self.repo() / "snapshots" / COMMIT

    def check_bytes(self, files):
        """Checks that the snapshot has the hub's bytes, and that every blob has its own digest."""
        for path, data in files.items():
            self.assertEqual((self.snapshot() / path).read_bytes(), data, path)
        for blob in (self.repo() / "blobs").iterdir():
            if len(blob.name) == 64:
                self.assertEqual(hashlib.sha256(blob.read_bytes()).hexdigest(), blob.name)

    def check_nothing_outside(self):
        """Checks that only the cache was written."""
        found = {path.name for path in self.home.iterdir()}
        self.assertLessEqual(found, {".cache"})
