"""Tests with standard streams that are closed, full or broken. Messages may be lost without other
effect. Results that cannot be written are a failure."""

import os
import subprocess

from program import TIMEOUT, ProgramTest

RUN = ("run", "{chain}", "-p", "a", "-n", "3", "--temp", "0", "-v")


class TellingTest(ProgramTest):
    def unheard(self, words, stderr):
        """(status, standard output) of a call with this descriptor as standard error."""
        words = [str(word).format(chain=self.chain) for word in words]
        how = {"stderr": stderr} if stderr is not None else {"preexec_fn": lambda: os.close(2)}
        process = self.start(*words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **how)
        out, _ = process.communicate(timeout=TIMEOUT)
        return process.returncode, out

    def deaf(self):
        """Every kind of standard error that cannot be written, by name."""
        full = os.open("/dev/full", os.O_WRONLY)
        reader, broken = os.pipe()
        os.close(reader)
        reader, unread = os.pipe()
        os.set_blocking(unread, False)
        try:
            while os.write(unread, b"\n"):
                pass
        except BlockingIOError:
            os.set_blocking(unread, True)
        for fd in (full, broken, reader, unread):
            self.addCleanup(os.close, fd)
        return {"closed": None, "full": full, "broken": broken, "unread": unread}

    def test_every_verb_works_unheard(self):
        calls = (
            (RUN, b"bcd"),
            (("tokenize", "{chain}", "-p", "abc"), None),
            (("inspect", "{chain}"), None),
            (("bench", "{chain}", "--load", "-r", "1", "-t", "1", "-v"), None),
            (("topo",), None),
            (("version",), None),
        )
        for name, fd in self.deaf().items():
            for words, wanted in calls:
                with self.subTest(stderr=name, verb=words[0]):
                    status, out = self.unheard(words, fd)
                    self.assertEqual(status, 0)
                    self.assertEqual(out, wanted if wanted else out)
                    self.assertTrue(out)

    def test_a_failure_is_told_by_the_status_alone(self):
        for name, fd in self.deaf().items():
            with self.subTest(stderr=name):
                self.assertEqual(self.unheard(("run", "none.gguf"), fd), (1, b""))
                self.assertEqual(self.unheard(("rnu",), fd), (2, b""))
                self.assertEqual(self.unheard((), fd), (2, b""))

    def test_results_that_cannot_be_written(self):
        for words in (RUN, ("version",), ("--help",), ("topo", "--json")):
            words = [str(word).format(chain=self.chain) for word in words]
            with self.subTest(verb=words[0]):
                process = self.start(*words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                     preexec_fn=lambda: os.close(1))
                _, err = process.communicate(timeout=TIMEOUT)
                self.assertEqual(process.returncode, 1)
                self.assertIn(b"hearth: cannot write to standard output: ", err)

    def test_without_any_standard_stream(self):
        process = self.start("run", self.chain, "-p", "a", "-n", "3",
                             preexec_fn=lambda: [os.close(fd) for fd in (0, 1, 2)])
        self.assertEqual(process.wait(TIMEOUT), 1)
