"""The base of the tests of `hearth serve`: models whose every logit is known, and servers that end
with the test."""

import argparse
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from serving import GIVE_UP, Server

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))

import chain_models  # noqa: E402
import gguf_io  # noqa: E402
from gguf_io import f32, string, u32  # noqa: E402

DEMO = ROOT / "assets" / "demo.gguf"
# A small cache, so that a server starts quickly.
KV_CACHE = ("--kv-cache", "4MiB")
# A template that ends every turn with a control token of the chain model.
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}{{ m.role[0] }}{{ greeting }}{{ m.content }}"
    "<|im_end|>{% endfor %}"
)
ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def write_chain(path, **more):
    """Writes the chain model with more metadata; `__` stands for `.` in the keys."""
    keys = {**chain_models.metadata(), **chain_models.tokenizer()}
    keys.update({name.replace("__", "."): value for name, value in more.items()})
    gguf_io.write(str(path), keys, chain_models.chain_tensors())


class ServeCase(unittest.TestCase):
    hearth = []  # words that run the program
    folder = None

    @classmethod
    def write_models(cls, folder):
        cls.folder = Path(folder)
        cls.chain = cls.folder / "chain.gguf"
        cls.random = cls.folder / "random.gguf"
        # The talker has a chat template; the adviser recommends how to sample.
        cls.talker = cls.folder / "talker.gguf"
        cls.adviser = cls.folder / "adviser.gguf"
        write_chain(cls.chain)
        chain_models.write_random(cls.random)
        write_chain(cls.talker, tokenizer__chat_template=string(TEMPLATE))
        write_chain(
            cls.adviser,
            general__sampling__temp=f32(0),
            general__sampling__top_k=u32(3),
            general__sampling__min_p=f32(7),
        )

    @classmethod
    def launch(cls, *words, **how):
        """Starts a server that the caller ends; the first word is the verb."""
        words = [*map(str, words)]
        words += [] if "--port" in words else ["--port", "0"]
        words += [] if "--kv-cache" in words else KV_CACHE
        return Server([*ServeCase.hearth, *words], **how)

    def start(self, *words, **how):
        """Starts a server that must end well with the test."""
        server = self.enterContext(self.launch(*words, **how))
        self.addCleanup(lambda: self.assertEqual(server.stop(), 0, server.last_words()))
        return server

    def enterContext(self, context):  # Python 3.10 has none
        self.addCleanup(context.__exit__, None, None, None)
        return context.__enter__()

    def bad(self, status, *words, says=()):
        """Makes a call that must fail with one sentence that contains all of `says`. A line about
        its address may come first."""
        words = [*map(str, words)]
        words += [] if "--port" in words else ["--port", "0"]
        done = subprocess.run(
            [*ServeCase.hearth, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIVE_UP,
            check=False,
        )
        said = done.stderr.decode()
        self.assertEqual(done.returncode, status, said)
        lines = [line for line in said.splitlines()
                 if not line.startswith(("hearth: listening", "Try `"))]
        self.assertEqual([line[:8] for line in lines], ["hearth: "], said)
        for part in says:
            self.assertIn(part, lines[0])

    def assert_error(self, answer, status, code, param=None, says=()):
        """Checks an error. `answer` is the (status, body) of Server.ask()."""
        found, body = answer
        self.assertEqual(found, status, body)
        self.assertEqual(set(body["error"]), {"message", "type", "param", "code"})
        self.assertEqual((body["error"]["code"], body["error"]["param"]), (code, param), body)
        for part in says:
            self.assertIn(part, body["error"]["message"])


class SharedCase(ServeCase):
    """One server for all tests of a class."""

    @classmethod
    def words(cls):
        """The words of the command line; the first one is the verb."""
        return ("serve", cls.talker)

    @classmethod
    def setUpClass(cls):
        cls.server = cls.launch(*cls.words())

    @classmethod
    def tearDownClass(cls):
        with cls.server:
            assert cls.server.stop() == 0, cls.server.last_words()


def main(description, preloads=None):
    """Runs the tests of the calling program. The command line gives the path of hearth and the
    tests to run. `preloads`: the case whose servers preload the `library` of --library."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--hearth", required=True)
    if preloads is not None:
        parser.add_argument("--library")
    arguments, names = parser.parse_known_args()
    ServeCase.hearth = [arguments.hearth]
    if preloads is not None:
        preloads.library = arguments.library
    with tempfile.TemporaryDirectory() as folder:
        ServeCase.write_models(folder)
        tests = unittest.main(module="__main__", argv=[sys.argv[0], *names], exit=False)
    sys.exit(not tests.result.wasSuccessful())
