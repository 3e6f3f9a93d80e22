"""Tests of `hearth pull` with hubs that fail, lie and attack, and with processes killed at any
moment."""

import fcntl
import os
import random
import signal
import subprocess
import time

from fake_hub import COMMIT, FakeHub, cut, drip, field, flip, status
from store_case import DEMO, TIMEOUT, StoreCase

DATA = DEMO.read_bytes()
NAME = "m-Q4_0.gguf"


class FaultTest(StoreCase):
    def pull(self, hub, *more):
        return self.good("pull", "org/model", "--anyway", "--tries", "2", "--piece", "256KiB",
                         *more, hub=hub)

    def test_retries_passing_faults(self):
        with FakeHub({NAME: DATA, "config.json": b"{}"}) as hub:
            hub.hub_faults = [status(503), lambda reply: None, status(429, Retry_After="0")]
            hub.cdn_faults = [cut(0), cut(1), cut(65537), status(500), status(408),
                              lambda reply: None, cut(100000)]
            self.pull(hub)
            self.check_bytes({NAME: DATA})

    def test_lasting_fault_is_an_error_and_keeps_bytes(self):
        with FakeHub({NAME: DATA}) as hub:
            hub.cdn_faults = [cut(200000)] + [status(503)] * 3
            self.bad("pull", "org/model", "--anyway", "--tries", "2", "--connections", "1",
                     hub=hub, says=["503", "kept"])
            before = len(hub.requests)
            self.pull(hub)
            self.check_bytes({NAME: DATA})
            starts = [h["Range"] for name, _, _, h in hub.requests[before:] if name == "cdn"]
            self.assertFalse(any(r.startswith("bytes=0-") for r in starts), starts)

    def test_addresses_expire(self):
        with FakeHub({NAME: DATA}) as hub:
            def expire(_):
                hub.signature += 1
            hub.cdn_faults = [expire, lambda reply: None, expire]
            self.pull(hub, "--connections", "1")
            self.check_bytes({NAME: DATA})

    def test_a_slow_drip_is_given_up(self):
        with FakeHub({NAME: DATA}) as hub:
            hub.cdn_faults = [drip(0.2)]
            self.pull(hub, "--stall", "1")
            self.check_bytes({NAME: DATA})

    def test_replies_that_are_not_what_was_asked(self):
        lies = {
            "with the whole file instead of a range": status(200, DATA),
            "it sent the range": field("Content-Range", f"bytes 5-9/{len(DATA)}"),
            "file was changed": field("Content-Range", f"bytes 0-262143/{len(DATA) + 1}"),
            "compressed a file": field("Content-Encoding", "gzip"),
            "circle": None,
        }
        for said, lie in lies.items():
            with self.subTest(said), FakeHub({NAME: DATA}) as hub:
                hub.cdn_faults = [lie] * 9 if lie else []
                if lie is None:
                    hub.cdn_faults = [status(302, Location="/a"), status(302, Location="/a"),
                                      status(302, Location="/a")]
                self.bad("pull", "org/model", "--anyway", "--tries", "0", "--connections", "1",
                         "--piece", "256KiB", hub=hub, says=[said])

    def test_wrong_bytes_are_never_kept(self):
        for size in (len(DATA), 500):
            data = DATA[:size]
            with self.subTest(size), FakeHub({NAME: data}) as hub:
                (hub.hub_faults if size < 1000 else hub.cdn_faults).extend(
                    [lambda reply: None] * 2 + [flip(77)] if size < 1000 else [flip(77)])
                self.bad("pull", "org/model", "--anyway", hub=hub,
                         says=["SHA", "the bytes were discarded; try again, and check whether a "
                                      "proxy or a mirror changes files"])
                blobs = list((self.repo() / "blobs").iterdir())
                self.assertEqual(blobs, [])
                self.pull(hub)
                self.check_bytes({NAME: data})
                self.good("remove", "org/model:Q4_0")

    def test_fetches_lost_bytes_again(self):
        with FakeHub({NAME: DATA}) as hub:
            hub.cdn_faults = [lambda reply: None] * 4 + [status(503)] * 20
            self.bad("pull", "org/model", "--anyway", "--tries", "0", "--connections", "1",
                     "--piece", "256KiB", hub=hub)
            part = next((self.repo() / "blobs").glob("*.hearth"))
            with part.open("r+b") as file:
                file.seek(300000)
                file.write(b"\0" * 64)
            hub.cdn_faults.clear()
            before = len(hub.requests)
            self.pull(hub)
            self.check_bytes({NAME: DATA})
            starts = [h["Range"] for name, _, _, h in hub.requests[before:] if name == "cdn"]
            self.assertTrue(any(r.startswith("bytes=262144-") for r in starts), starts)
            self.assertFalse(any(r.startswith("bytes=0-") for r in starts), starts)

    def test_refusals_of_a_hub(self):
        with FakeHub({NAME: DATA}) as hub:
            self.bad("pull", "org/none", hub=hub, says=["org/none", "check the name"])
            self.bad("pull", "org/model@v9", hub=hub, says=["no revision 'v9'"])
            hub.hub_faults = [status(403)]
            self.bad("pull", "org/model", hub=hub, says=["gated", "HF_TOKEN"])
            hub.hub_faults = [status(200, b"<html>login</html>")]
            self.bad("pull", "org/model", hub=hub, says=["HTML", "HF_ENDPOINT"])
            hub.hub_faults = [lambda reply: None, lambda reply: None,
                              status(404, X_Error_Code="EntryNotFound")]
            self.bad("pull", "org/model", hub=hub, says=["such a file"])
        self.bad("pull", "org/model", "--tries", "0", says=["did not send a complete reply"],
                 HF_ENDPOINT="http://127.0.0.1:1")

    def test_a_cache_that_cannot_be_written(self):
        (self.home / "file").write_text("x")
        with FakeHub({NAME: DATA}) as hub:
            self.bad("pull", "org/model", hub=hub, HF_HUB_CACHE=str(self.home / "file/hub"),
                     says=["cannot be made", "HF_HUB_CACHE"])

    def test_a_disk_without_room(self):
        with FakeHub({NAME: DATA}) as hub:
            hub.entries = [hub.entry(NAME)]
            hub.entries[0]["lfs"]["size"] = 1 << 49
            self.bad("pull", "org/model", "--anyway", hub=hub,
                     says=["512.00 TiB", "free", "hearth remove"])

    def test_waits_for_whoever_fetches(self):
        with FakeHub({NAME: DATA}) as hub:
            digest = hub.entry(NAME)["lfs"]["oid"]
            locks = self.cache / ".locks/models--org--model"
            locks.mkdir(parents=True)
            with (locks / f"{digest}.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                process = subprocess.Popen(
                    [self.program, "pull", "org/model", "--anyway"], env=self.environment(hub),
                    stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
                while b"waiting" not in process.stderr.readline():
                    self.assertIsNone(process.poll())
                fcntl.flock(lock, fcntl.LOCK_UN)
                _, err = process.communicate(timeout=TIMEOUT)
                self.assertEqual(process.returncode, 0, err)
            self.check_bytes({NAME: DATA})

    def test_remove_beside_a_pull(self):
        with FakeHub({NAME: DATA, "m-Q8_0.gguf": DATA + b"x"}) as hub:
            self.pull(hub)
            hub.cdn_faults = [drip(0.001)] * 8
            process = subprocess.Popen(
                [self.program, "pull", "org/model:Q8_0", "--anyway"], env=self.environment(hub),
                stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            while len(hub.cdn_faults) > 4:
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            self.bad("remove", "org/model:Q4_0", says=["another process is downloading"])
            self.check_bytes({NAME: DATA})
            process.kill()
            process.wait(TIMEOUT)
            # Another program holds the lock of the file.
            blob = os.path.basename(os.readlink(self.snapshot() / NAME))
            with (self.cache / f".locks/models--org--model/{blob}.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                self.bad("remove", "org/model:Q4_0", says=["another process is downloading"])
            self.check_bytes({NAME: DATA})
            self.good("remove", "org/model:Q4_0")

    def test_a_pull_waits_for_who_removes(self):
        with FakeHub({NAME: DATA}) as hub:
            locks = self.cache / ".locks/models--org--model"
            locks.mkdir(parents=True)
            with (locks / "hearth.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                process = subprocess.Popen(
                    [self.program, "pull", "org/model", "--anyway"], env=self.environment(hub),
                    stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
                while b"is removing" not in process.stderr.readline():
                    self.assertIsNone(process.poll())
                self.assertFalse(self.repo().exists())
                fcntl.flock(lock, fcntl.LOCK_UN)
                _, err = process.communicate(timeout=TIMEOUT)
                self.assertEqual(process.returncode, 0, err)
            self.check_bytes({NAME: DATA})

    def test_replies_without_end_are_refused_at_once(self):
        with FakeHub({NAME: DATA}) as hub:
            for fault, said in ((status(200, b" " * (65 << 20)), "more than 64.00 MiB"),
                                (lambda reply: reply.fields.update(
                                    {f"X-{i}": "x" * 50000 for i in range(8)}), "head")):
                before = len(hub.requests)
                hub.hub_faults = [fault]
                self.bad("pull", "org/model", "--tries", "3", hub=hub, says=[said])
                self.assertEqual(len(hub.requests) - before, 1)

    def test_ctrl_c_ends_a_list(self):
        with FakeHub({NAME: DATA}) as hub:
            hub.hub_faults = [drip(1)]
            process = subprocess.Popen(
                [self.program, "pull", "org/model", "--list"], env=self.environment(hub),
                stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
            while not hub.requests:
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=TIMEOUT)
            self.assertEqual((process.returncode, err), (-signal.SIGINT, b""))


class HostileTest(StoreCase):
    def test_lists_that_lead_out_are_refused(self):
        with FakeHub({NAME: DATA}) as hub:
            good = hub.entry(NAME)
            for path in ("../../../evil", "/tmp/evil", "a/../../b", "a//b", ""):
                hub.entries = [good, {**good, "path": path}]
                self.bad("pull", "org/model", hub=hub, says=["is not valid"])
            hub.entries = [{**good, "type": "symlink"}]
            self.bad("pull", "org/model", hub=hub, says=["neither a file nor a folder"])
            hub.entries = [good, {**good, "path": NAME.upper()}]
            self.bad("pull", "org/model", hub=hub, says=["case"])
            hub.entries = [{**good, "path": f"f{i}"} for i in range(100001)]
            hub.page = 1000000
            self.bad("pull", "org/model", hub=hub, says=["100000 files"])
        self.check_nothing_outside()

    def test_pages_in_a_circle_or_elsewhere(self):
        with FakeHub({NAME: DATA}) as hub:
            tree = f"{hub.endpoint}/api/models/org/model/tree/{COMMIT}?recursive=true"
            for link, said in ((tree, "form a loop"), (f"{hub.away}/x", "another host")):
                hub.hub_faults = [lambda reply: None, field("Link", f'<{link}>; rel="next"')]
                self.bad("pull", "org/model", hub=hub, says=[said])

    def test_the_token_goes_nowhere_else(self):
        with FakeHub({NAME: DATA}) as hub:
            hub.hub_faults = [status(302, Location=f"{hub.away}/api/x?s=1")]
            self.bad("pull", "org/model", hub=hub, HF_TOKEN="hf_secret", says=[])
            self.assertEqual(hub.leaks(), [])
            self.assertEqual(len(hub.asked("cdn")), 1)


class KillTest(StoreCase):
    kills = 24

    def test_cuts_and_kills_at_random_end_with_right_bytes(self):
        random.seed(7)
        with FakeHub({NAME: DATA, "config.json": b"{}"}) as hub:
            command = [self.program, "pull", "org/model", "--anyway", "--piece", "64KiB",
                       "--tries", "1"]
            pulls = 0
            for _ in range(self.kills):
                with hub.lock:
                    hub.cdn_faults[:] = [cut(random.randrange(70000)) if random.random() < 0.5
                                         else drip(0.0002) for _ in range(8)]
                process = subprocess.Popen(command, env=self.environment(hub),
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(random.random() * 0.12)
                process.send_signal(random.choice((signal.SIGKILL, signal.SIGINT)))
                process.wait(TIMEOUT)
                pulls += 1
                if (self.snapshot() / NAME).exists():
                    self.check_bytes({NAME: DATA})
                    self.good("remove", "org/model:Q4_0")
            hub.cdn_faults.clear()
            self.good(*command[1:], hub=hub)
            self.check_bytes({NAME: DATA})
            self.assertEqual(pulls, self.kills)
            left = [p.name for p in (self.repo() / "blobs").iterdir() if "." in p.name]
            self.assertEqual(left, [])

    def test_ctrl_c_keeps_what_came(self):
        with FakeHub({NAME: DATA}) as hub:
            hub.cdn_faults = [lambda reply: None] + [drip(0.001)] * 50
            process = subprocess.Popen(
                [self.program, "pull", "org/model", "--anyway", "--piece", "256KiB"],
                env=self.environment(hub), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            while len(hub.asked("cdn")) < 5:
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=TIMEOUT)
            self.assertEqual(process.returncode, -signal.SIGINT)
            self.assertIn(b"kept", err)
            hub.cdn_faults.clear()
            out = self.good("pull", "org/model", "--anyway", "--json", hub=hub)
            self.assertLess(int(out.split('"fetched":')[1].split(",")[0]), len(DATA) - 200000)
            self.check_bytes({NAME: DATA})
            self.assertFalse(os.path.exists(self.repo() / "blobs/x.hearth"))
