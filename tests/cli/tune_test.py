"""Tests of `hearth tune`: its results are kept, shown and used, and damaged files do no harm."""

import itertools
import json
import os
import re
import signal
import subprocess
import time

import chain_models
from program import ProgramTest, little_cache

FOUND = "using the plan that `hearth tune` found"
KERNELS = "using the schedules that `hearth tune` found"
# A schedule for floats that kernels of all levels have.
WORKS = "tile 1 1 slice 8 unpack 0 prefetch 0 l1 parts 1 task 4 256"


class TuneTest(ProgramTest):
    gaining = None  # the name and the text of the file that claim_a_gain() writes

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.trace = cls.folder / "requests.csv"
        cls.trace.write_text("prompt,output\n8,4\n16,8\n24,8\n")

    def setUp(self):
        self.home = self.folder / self.id()
        self.tuned = self.home / "hearth" / "tuned"
        self.env = {**little_cache(), "XDG_CONFIG_HOME": str(self.home),
                    "XDG_CONFIG_DIRS": "/no/such/folder"}

    def told(self, *words):
        """Standard output and error of a call that must succeed, with a home of its own."""
        status, out, err = self.call(*words, env=self.env)
        self.assertEqual(status, 0, err)
        return out.decode(), err

    def tune(self, *words):
        # The budget is far longer than tuning takes, so that it is never cut short on a busy
        # machine.
        return self.told("tune", self.chain, "--trace", self.trace, "--budget", "4m", *words)

    def kept(self):
        files = list(self.tuned.glob("*.tuned"))
        self.assertEqual(len(files), 1)
        return files[0]

    def test_finds_keeps_tells_and_removes(self):
        self.assertEqual(self.told("tune", "--list")[0], "nothing was tuned yet\n")
        nothing = "nothing was tuned for this model on this machine\n"
        self.assertEqual(self.told("tune", self.chain, "--show")[0], nothing)
        self.bad(2, "tune", self.chain, "--export", 
                 says=["no kernel schedule saved for this model", "search for some"])
        out, _ = self.tune("--only", "plans")
        self.assertRegex(out, r"(?m)^decode: 1 group of ")
        self.assertRegex(out, r"(?m)^prefill: 1 group of ")
        self.assertIn(f"saved in {self.kept()}\n", out)
        shown, _ = self.told("tune", self.chain, "--show")
        self.assertIn("hearth-engine-plan 3\n", shown)
        self.assertTrue(shown.startswith(self.told("tune", "--list")[0]))
        [told] = json.loads(self.told("tune", "--list", "--json")[0])["results"]
        self.assertEqual(json.loads(self.told("tune", self.chain, "--show", "--json")[0]),
                         {"results": [told]})
        self.assertEqual((told["file"], told["fault"]), (str(self.kept()), None))
        self.assertEqual(told["model"]["layers"], "1")
        self.assertIn("isa", told["machine"])
        self.assertEqual([phase["phase"] for phase in told["phases"]], ["decode", "prefill"])
        self.assertEqual((told["finished"], told["products"], told["steps"]), (True, [], []))
        self.assertTrue(shown.endswith(told["engine_plan"]))
        self.assertIn("rows", told["threshold"])
        # The second call has nothing left to measure.
        again = json.loads(self.tune("--only", "plans", "--json", "-v")[0])
        self.assertEqual([phase["phase"] for phase in again["phases"]], ["decode", "prefill"])
        self.assertEqual([phase["trials"] for phase in again["phases"]], [0, 0])
        self.assertEqual((again["file"], again["left"]), (str(self.kept()), []))
        self.assertNotIn("products", again)
        self.tune("--fresh", "--only", "plans", "-t", "1")
        # Measurements of plans are of the lengths that they were made for.
        other = self.folder / "other.csv"
        other.write_text("12,4\n20,8\n24,8\n")
        words = ("--budget", "4m", "--only", "plans", "--json")
        out, err = self.told("tune", self.chain, "--trace", other, *words)
        self.assertIn("plans were measured for requests of other lengths", err)
        # Files of earlier versions do not name the lengths. They count as the default ones.
        self.kept().write_text(re.sub(r"(?m)^lengths .*\n", "", self.kept().read_text()))
        out, err = self.told("tune", self.chain, "--trace", other, *words)
        self.assertIn("plans were measured for requests of other lengths", err)
        self.assertGreater(sum(phase["trials"] for phase in json.loads(out)["phases"]), 0)
        out, err = self.told("tune", self.chain, "--trace", other, *words)
        self.assertNotIn("other lengths", err)
        self.assertEqual(sum(phase["trials"] for phase in json.loads(out)["phases"]), 0)
        self.tune("--fresh", "--candidates", "2")
        # A decision between plans with kernels of their own stays, whatever their trials with the
        # default kernels say.
        text = self.kept().read_text()
        decided = re.findall(r"(?m)^joint (\w+) ", text)
        self.kept().write_text(re.sub(r"(?m)^(joint \w+ \w+ \w+) .*$", r"\1 0.9 0.85 0.95", text))
        told = json.loads(self.tune("--only", "plans", "--candidates", "2", "--json")[0])
        for phase in told["phases"]:
            if phase["phase"] in decided:
                self.assertEqual(phase["cost"], 0.9)
        self.assertEqual(self.told("tune", self.chain, "--remove")[0], "removed\n")
        self.assertEqual(self.told("tune", self.chain, "--remove")[0], nothing)

    def test_whoever_interrupts_it_keeps_what_was_measured(self):
        tuning = self.start("tune", self.random, "--budget", "5m", "--fresh",
                            env={**os.environ, **self.env}, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
        while tuning.poll() is None and not list(self.tuned.glob("*.tuned")):
            pass
        tuning.send_signal(signal.SIGINT)
        _, err = tuning.communicate()
        # Tuning may have finished before the signal.
        self.assertIn(tuning.returncode, (0, 130))
        if tuning.returncode == 130 and "interrupted before the end of " not in err:
            self.assertNotIn("not finished", self.told("tune", self.random, "--show")[0])
        self.assertIn("trial decode ", self.kept().read_text())
        self.assertIn("  decode: saves ", self.told("tune", self.random, "--show")[0])

    def test_an_earlier_plan_stays_until_all_plans_are_measured_again(self):
        text = self.claim_a_gain()
        again = ("tune", self.chain, "--trace", self.trace, "--only", "plans", "--fresh")
        tuning = self.start(*again, "--budget", "5m", env={**os.environ, **self.env},
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while tuning.poll() is None and "\nanew\n" not in self.kept().read_text():
            pass
        tuning.kill()
        tuning.communicate()
        # Tuning may have finished before the signal.
        if tuning.returncode == 0:
            self.kept().write_text(text.replace("\nphase ", "\nanew\nphase ", 1))
        _, err = self.told("run", self.chain, "-p", "a", "-n", "3", "--seed", "1")
        self.assertEqual(err.count(FOUND), 1)
        self.assertIn("  not finished: ", self.told("tune", self.chain, "--show")[0])
        [told] = json.loads(self.told("tune", "--list", "--json")[0])["results"]
        self.assertFalse(told["finished"])
        self.assertEqual([phase["cost"] for phase in told["phases"]], [0.9, 0.9])
        self.assertTrue(text.endswith(told["engine_plan"] + "end\n"))
        self.tune("--only", "plans")
        self.assertNotIn("not finished", self.told("tune", self.chain, "--show")[0])
        self.assertNotRegex(self.kept().read_text(), r"(?m)^phase \w+ measured 0.9 0.8 0.95")

    def trials(self):
        """The file's lines of plans and thresholds that were measured."""
        return re.findall(r"(?m)^(?:threshold_)?trial .*$", self.kept().read_text())

    def test_killing_it_loses_one_plan(self):
        words = ("tune", self.random, "--only", "plans", "--budget", "5m")
        # Each run is killed as soon as one more trial is kept, or it has none left.
        before = []
        for _ in range(3):
            tuning = self.start(*words, env={**os.environ, **self.env}, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
            while tuning.poll() is None:
                if list(self.tuned.glob("*.tuned")) and len(self.trials()) > len(before):
                    tuning.kill()
                    break
                time.sleep(0.001)
            tuning.communicate()
            # Tuning may have finished before the signal.
            self.assertIn(tuning.returncode, (0, -signal.SIGKILL))
            after = self.trials()
            self.assertEqual(after[:len(before)], before)
            if tuning.returncode == 0:
                break
            self.assertGreater(len(after), len(before))
            before = after
        # The file is whole, and no lock is left.
        shown, err = self.told("tune", self.random, "--show")
        self.assertEqual(err, "")
        self.assertIn("hearth", shown)
        last = json.loads(self.told(*words, "--json")[0])
        self.assertEqual(last["file"], str(self.kept()))
        self.assertTrue(set(before) <= set(self.trials()))

    def test_the_threshold_between_phases_is_found_and_used(self):
        self.tune("--only", "plans")
        decode = json.loads(self.tune("--only", "plans", "--json")[0])["phases"][0]
        self.assertEqual((decode["threshold"]["default"], decode["threshold"]["trials"]), (16, 0))
        self.assertIn(f"\nmax_rows {decode['threshold']['chosen']}\n", decode["chosen"])
        self.assertEqual(decode["sync"], "async")
        self.assertIn("are decode's: saves ", self.told("tune", self.chain, "--show")[0])
        # The claimed plan has a gain, whatever the machine measured.
        run = ("run", self.chain, "-p", "a", "-n", "3", "--seed", "1")
        plain, _ = self.told(*run, "--plan", "none")
        text = self.kept().read_text()
        claimed, count = re.subn(r"(?m)^threshold .*$", "threshold 4 0.9 0.8 0.95 trials 40", text)
        self.assertEqual(count, 1)
        before, sep, decode_plan = claimed.rpartition("phase decode\n")
        claimed = before + sep + re.sub(r"max_rows \d+", "max_rows 4", decode_plan)
        self.kept().write_text(claimed)
        found, err = self.told(*run, "-v")
        self.assertEqual((found, err.count(FOUND)), (plain, 1))
        self.assertIn("decode plan: steps of up to 4 rows", err)
        # A file without a threshold is not finished.
        self.kept().write_text(re.sub(r"(?m)^threshold.*\n", "", text))
        self.assertIn("not finished", self.told("tune", self.chain, "--show")[0])

    def test_bandwidths_are_measured_once_for_all_models(self):
        self.tune("--only", "plans")
        tables = list(self.tuned.glob("*.bandwidth.json"))
        self.assertEqual(len(tables), 1)
        table = json.loads(tables[0].read_text())
        self.assertGreater(table["gb_per_second"][0][0], 0)
        # Another model uses the table as it is, even after its rate was edited.
        table["gb_per_second"][0][0] = 1234.5
        tables[0].write_text(json.dumps(table))
        self.told("tune", self.random, "--only", "plans", "--budget", "1s")
        self.assertEqual(json.loads(tables[0].read_text())["gb_per_second"][0][0], 1234.5)
        self.told("tune", self.random, "--only", "plans", "--budget", "1s", "--fresh")
        self.assertNotEqual(json.loads(tables[0].read_text())["gb_per_second"][0][0], 1234.5)
        # A table that cannot be read is reported, and measured anew.
        tables[0].write_text("{")
        err = self.told("tune", self.random, "--only", "plans", "--budget", "1s")[1]
        self.assertIn("is not used: ", err)
        self.assertGreater(json.loads(tables[0].read_text())["gb_per_second"][0][0], 0)
        # A table may be given by a path, even of another machine.
        given = self.folder / "table.json"
        given.write_bytes(tables[0].read_bytes())
        _, err = self.told("tune", self.chain, "--machine", "synthetic numa:1 core:2 pu:1",
                           "--bandwidth-table", given)
        self.assertNotIn("assumed", err)
        self.bad(2, "tune", self.chain, "--machine", "synthetic numa:2 core:2 pu:1",
                 "--bandwidth-table", given, says=["measure it there"])

    def test_kernels_are_found_kept_and_used(self):
        out, _ = self.tune("--only", "kernels")
        self.assertRegex(out, r"(?m)^kernels, measured: \d+ of \d+ schedules changed; \d+ trials$")
        self.assertRegex(out, r"(?m)^  decode of 1 (saves|stays) ")
        self.assertNotIn("section plans", self.kept().read_text())
        shown, _ = self.told("tune", self.chain, "--show")
        self.assertIn("  kernels, measured: ", shown)
        again = json.loads(self.tune("--only", "kernels", "--json")[0])
        self.assertEqual(again["phases"], [])
        self.assertIn([1, "decode"], [[step["size"], step["phase"]] for step in again["steps"]])
        # Every kernel has this schedule, whatever the machine measured.
        run = ("run", self.chain, "-p", "a", "-n", "3", "--seed", "1")
        plain, _ = self.told(*run, "--plan", "none")
        text = self.kept().read_text()
        claimed = re.sub(r"(?m)^product .* (schedule .* rows 1) .*$",
                         r"product 0.9 0.8 0.95 trials 9 \1 " + WORKS, text, count=1)
        self.assertNotEqual(claimed, text)
        self.kept().write_text(claimed)
        exported, _ = self.told("tune", self.chain, "--export")
        self.assertRegex(exported, r"\Ahearth-schedules 1\nprocessor \S+ family \d+ model \d+\n"
                         r"isa \w+\n(schedule .*\n)+\Z")
        self.assertRegex(exported, r"(?m)^schedule .* rows 1 " + WORKS + "$")
        found, err = self.told(*run)
        self.assertEqual((found, err.count(KERNELS)), (plain, 1))
        self.assertNotIn(KERNELS, self.told(*run, "--plan", "none")[1])
        self.assertNotIn(KERNELS, self.told(*run, "-t", "1")[1])
        # A schedule that no kernel has is reported and not used; the next tuning drops it.
        self.kept().write_text(claimed.replace("tile 1 1 ", "tile 77 77 "))
        found, err = self.told(*run)
        self.assertEqual(found, plain)
        self.assertNotIn(KERNELS, err)
        self.assertIn("tile is 77 x 77", err)
        _, err = self.tune("--only", "kernels")
        self.assertIn("earlier results on kernels are discarded", err)
        self.assertNotIn("tile 77", self.kept().read_text())

    def claim_a_gain(self):
        """Writes the result of a tuning with a gain in both phases, whatever the machine measured.
        """
        if TuneTest.gaining is None:
            self.tune("--only", "plans")
            text, count = re.subn(r"(?m)^(phase \w+) measured \S+ \S+ \S+",
                                  r"\1 measured 0.9 0.8 0.95", self.kept().read_text())
            self.assertEqual(count, 2)
            self.assertIn("\nengine\n", text)
            TuneTest.gaining = self.kept().name, text
        name, text = TuneTest.gaining
        self.tuned.mkdir(parents=True, exist_ok=True)
        (self.tuned / name).write_text(text)
        return text

    def test_run_works_by_what_was_found_and_says_so(self):
        run = ("run", self.chain, "-p", "a", "-n", "3", "--seed", "1")
        plain, err = self.told(*run)
        self.assertNotIn(FOUND, err)
        self.claim_a_gain()
        found, err = self.told(*run)
        self.assertEqual(found, plain)
        self.assertEqual(err.count(FOUND), 1)
        bench = ("bench", self.chain, "-p", "8", "-n", "2", "-r", "1")
        self.assertIn(FOUND, self.told(*bench)[1])
        server = self.start("serve", self.chain, "--port", "0", env={**os.environ, **self.env},
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            said = list(itertools.takewhile(lambda line: "serving" not in line, server.stderr))
            self.assertTrue(any(FOUND in line for line in said), said)
        finally:
            server.terminate()
            server.communicate()
        # Explicit options take precedence.
        self.assertNotIn(FOUND, self.told(*run, "--plan", "none")[1])
        self.assertNotIn(FOUND, self.told(*run, "-t", "1")[1])
        self.assertNotIn(FOUND, self.told(*run, "--groups", "1")[1])

    def test_library_and_pools_use_tuning(self):
        self.claim_a_gain()
        done = subprocess.run([*self.library, self.chain, "xa", "5"], capture_output=True,
                              env={**os.environ, **self.env}, text=True, timeout=300, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "bcdef\n"), done.stderr)
        self.assertEqual(done.stderr.count(FOUND), 1)
        embed = ("embed", self.chain, "--pooling", "mean", "-p", "abc")
        vectors, err = self.told(*embed)
        self.assertEqual(err.count(FOUND), 1)
        for words in (("--plan", "none"), ("-t", "1"), ("--device", "cpu:threads=1")):
            same, err = self.told(*embed, *words)
            self.assertEqual(same, vectors)
            self.assertNotIn(FOUND, err)

    def test_encoders_are_tuned_for_texts_and_pools_work_by_it(self):
        encoder = self.folder / "encoder.gguf"
        chain_models.write_encoder(encoder)
        found = json.loads(self.told("tune", encoder, "--budget", "4m", "--json")[0])
        self.assertEqual([phase["phase"] for phase in found["phases"]], ["decode", "prefill"])
        self.assertEqual(found["left"], [])
        # The texts have 4 and 16 tokens, and the encoder's longest length.
        self.assertEqual([step["size"] for step in found["steps"]], [4, 16, 24])
        embed = ("embed", encoder, "-p", "abc", "-p", "defgh")
        plain, _ = self.told(*embed, "--plan", "none")
        text, count = re.subn(r"(?m)^(phase \w+) measured \S+ \S+ \S+",
                              r"\1 measured 0.9 0.8 0.95", self.kept().read_text())
        self.assertEqual(count, 2)
        self.kept().write_text(text)
        vectors, err = self.told(*embed)
        self.assertEqual(vectors, plain)
        self.assertRegex(err, r"using the plan (and the schedules )?that `hearth tune` found")

    def test_another_machine_is_named_by_what_differs(self):
        self.claim_a_gain()
        self.env["HEARTH_ISA"] = "reference"
        _, err = self.told("run", self.chain, "-p", "a", "-n", "1")
        self.assertNotIn(FOUND, err)
        self.assertIn("tuned only on another machine (isa is ", err)

    def test_reports_and_ignores_damaged_files(self):
        text = self.claim_a_gain()
        for damaged, says in [
            ("hearth-tuned 9\n", "its first line is 'hearth-tuned 9'"),
            (text.replace("section plans", "section colours"), "which is unknown"),
            (text.replace("thread_pus ", "thread_pus 4095 "), "CPU 4095"),
            ("x" * (2 << 20), "longer than 1 MiB"),
        ]:
            self.kept().write_text(damaged)
            _, err = self.told("run", self.chain, "-p", "a", "-n", "1")
            self.assertNotIn(FOUND, err)
            self.assertIn(says, err)
        self.assertIn("longer than 1 MiB", self.told("tune", "--list")[0])
        # Tuning ignores a plan that is impossible here.
        self.kept().write_text(text.replace("thread_pus ", "thread_pus 4095 "))
        _, err = self.tune("--only", "kernels")
        self.assertIn("earlier results on plans are discarded: ", err)
        self.assertNotIn("4095", self.kept().read_text())

    def test_another_machine_is_predicted(self):
        machine = "synthetic pack:2 numa:2 l3:2 core:3 pu:2"
        out, err = self.told("tune", self.chain, "--machine", machine)
        self.assertIn("predicted", out)
        self.assertNotIn("saved in", out)
        self.assertIn("assumed", err)
        told = json.loads(self.told("tune", self.chain, "--machine", machine, "--json")[0])
        self.assertIsNone(told["file"])
        self.assertFalse(self.home.exists())

    def test_refuses_invalid_options(self):
        self.bad(2, "tune", says=["MODEL"])
        self.bad(2, "tune", self.chain, "--budget", "soon", says=["--budget 'soon'"])
        self.bad(2, "tune", self.chain, "--list", "--show")
        for words in ("--remove", "--export"):
            self.bad(2, "tune", self.chain, words, "--json", says=[words, "--json"])
        trace = self.folder / "bad.csv"
        trace.write_text("1,2\nmany\n")
        self.bad(2, "tune", self.chain, "--trace", trace, says=["line 2 of the trace"])
        (self.folder / "file").write_text("")
        env = {"XDG_CONFIG_HOME": str(self.folder / "file")}
        self.bad(1, "tune", self.chain, env=env, says=["cannot write", "XDG_CONFIG_HOME"])
