"""Calls the program under test: a base class with models to call it on."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import chain_models

TIMEOUT = 300


def little_cache():
    """The environment for a machine of one node with this one's CPUs and 1 MiB of cache. Rates of
    memory are measured over 4 times the last-level cache, which may be a GiB."""
    pus = sorted(os.sched_getaffinity(0))
    indexes = ",".join(map(str, pus))
    return {"HWLOC_THISSYSTEM": "1",
            "HWLOC_SYNTHETIC": f"numa:1 l3:1(size=1048576) core:{len(pus)} pu:1(indexes={indexes})"}


class ProgramTest(unittest.TestCase):
    """A test with models in a folder of its own, and calls of the program."""

    command = []  # words that run the program: an emulator where needed, and the path
    library = []  # the same for tests/cli/library_program.cc
    calls = []  # the words of every call, with its status; None if it was only started
    env = {}  # variables that calls get besides the caller's

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)
        cls.chain = cls.folder / "chain.gguf"
        cls.random = cls.folder / "random.gguf"
        chain_models.write_chain(cls.chain)
        chain_models.write_random(cls.random)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def has_address_sanitizer(self):
        """Whether the program was built with AddressSanitizer, which lists its own options."""
        return "AddressSanitizer" in self.call("--version", env={"ASAN_OPTIONS": "help=1"})[2]

    def start(self, *words, **how):
        ProgramTest.calls.append((None, [str(word) for word in words]))
        how.setdefault("env", {**os.environ, **self.env})
        return subprocess.Popen([*ProgramTest.command, *map(str, words)], **how)

    def call(self, *words, text="", env=None):
        """(status, standard output as bytes, standard error)."""
        done = subprocess.run(
            [*ProgramTest.command, *map(str, words)],
            input=text if isinstance(text, bytes) else text.encode(),
            capture_output=True,
            timeout=TIMEOUT,
            env={**os.environ, **self.env, **(env or {})},
            check=False,
        )
        ProgramTest.calls.append((done.returncode, [str(word) for word in words]))
        return done.returncode, done.stdout, done.stderr.decode()

    def good(self, *words, text="", env=None):
        """Standard output of a call that must succeed. A text must not depend on a random seed: it
        may end before its first word. Options in `env` or in its configuration are not seen."""
        samples = words[0] in ("run", "chat") and env is None
        if samples and not any(str(word).startswith(("http://", "--help")) for word in words):
            fixed = "--seed" in words or ("--temp", "0") in zip(words, words[1:])
            self.assertTrue(fixed, "give --temp 0 or --seed")
        status, out, err = self.call(*words, text=text, env=env)
        self.assertEqual(status, 0, err)
        return out.decode()

    def bad(self, status, *words, text="", says=(), env=None):
        """The error of a call that must fail with one sentence that says all of `says`."""
        found, out, err = self.call(*words, text=text, env=env)
        self.assertEqual(found, status, err)
        sentence = err.splitlines()[0] if err else ""
        self.assertTrue(sentence.startswith("hearth: "), err)
        self.assertLessEqual(len(err.splitlines()), 2, err)
        for part in says:
            self.assertIn(part, sentence)
        self.assertEqual(out, b"")
        return sentence
