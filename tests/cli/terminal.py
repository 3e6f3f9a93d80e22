"""A program that runs in a pseudo-terminal."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

WAIT = 120  # seconds; output comes at once, except in an emulator


class Terminal:
    def __init__(self, words, columns=80, env=None):
        self.master, self.slave = pty.openpty()
        self.resize(columns, tell=False)
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""
        self.at = 0  # where the last wait ended

        def take_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            words, stdin=self.slave, stdout=self.slave, stderr=self.slave,
            preexec_fn=take_terminal, env={**os.environ, "TERM": "xterm", **(env or {})})

    def resize(self, columns, tell=True):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        if tell:
            self.process.send_signal(signal.SIGWINCH)

    def take(self, seconds):
        """Reads the output that is there or comes within that time; returns whether there was any.
        """
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        self.seen += os.read(self.master, 1 << 16)
        return True

    def wait(self, text, seconds=WAIT):
        """Waits for `text`; returns the output from the end of the last wait up to and with it."""
        text = text if isinstance(text, bytes) else text.encode()
        end = time.monotonic() + seconds
        while (found := self.seen.find(text, self.at)) < 0:
            if not self.take(min(1, max(0, end - time.monotonic()))) and time.monotonic() > end:
                raise AssertionError(f"waited for {text!r}, saw {self.seen[self.at:]!r}")
        begin, self.at = self.at, found + len(text)
        return self.seen[begin:self.at]

    def send(self, text):
        """Writes all of the text. Reads at the same time, since a terminal buffers little."""
        data = text if isinstance(text, bytes) else text.encode()
        while data:
            readable, writable, _ = select.select([self.master], [self.master], [], WAIT)
            if readable:
                self.seen += os.read(self.master, 1 << 16)
            if writable:
                data = data[os.write(self.master, data[:512]):]

    def end(self):
        """Waits for the exit status. The terminal's settings must be restored by then."""
        end = time.monotonic() + WAIT
        while self.process.poll() is None:
            self.take(0.05)
            if time.monotonic() > end:
                raise AssertionError(f"waited for the end, saw {self.seen[self.at:]!r}")
        while self.take(0):
            pass
        status = self.process.returncode
        after = termios.tcgetattr(self.slave)
        os.close(self.slave)
        os.close(self.master)
        if after != self.before:
            raise AssertionError(f"the terminal was {self.before} and is {after}")
        marks = self.seen.count(b"\x1b[?2004h"), self.seen.count(b"\x1b[?2004l")
        if marks[0] != marks[1]:
            raise AssertionError(f"pastes were marked {marks[0]} times and unmarked {marks[1]}")
        return status
