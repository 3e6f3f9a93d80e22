"""`hearth serve` as a process: started on a free port, looked at from outside, stopped."""

import os
import re
import signal
import subprocess
import tempfile
from pathlib import Path


class Served:
    """with Served(program, "--max-running", 4) as server: server.url, server.pid."""

    def __init__(self, program, *words):
        self.command = [str(program), "serve", *map(str, words), "--port", "0"]

    def __enter__(self):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=subprocess.PIPE)
        self.pid = self.process.pid
        self.said = b""
        # From the line on that says so it generates text.
        for line in self.process.stderr:
            self.said += line
            if match := re.search(rb"serving .* at (http://\S+?)/?\s", line):
                self.url = match[1].decode()
                break
        else:
            raise SystemExit(f"{' '.join(self.command)} ended:\n{self.said.decode()}")
        # Nobody reads on, so the rest of it goes where there is room.
        self.drain = subprocess.Popen(["cat"], stdin=self.process.stderr, stdout=self.log)
        self.process.stderr.close()
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.drain.wait()
        self.log.close()

    def stop(self):
        """The exit status after SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait()

    def last_words(self):
        self.log.seek(0)
        return self.log.read()[-8000:].decode(errors="replace")

    def resident_bytes(self):
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))
