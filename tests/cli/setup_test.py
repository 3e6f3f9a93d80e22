"""Tests of the program's setup: help that fits the terminal, completion, configuration, and other
programs' words. All of them come from one list of options."""

import json
import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

from program import TIMEOUT, ProgramTest, little_cache

ROOT = Path(__file__).resolve().parents[2]
FIXED = ("-h", "--help")  # options of every page that cannot be configured


class SetupTest(ProgramTest):
    def verbs(self):
        return re.findall(r"^  ([a-z][a-z-]*)  +[A-Z]", self.good("--help"), re.M)

    def names_in_help(self, verb):
        lines = re.findall(r"^  (-[\w,-]+)", self.good(verb, "--help-all"), re.M)
        return {name for line in lines for name in line.split(",")} - set(FIXED)

    def test_help_fits_80_columns(self):
        for page in (self.good("--help"), *(self.good(verb, "--help-all")
                                            for verb in self.verbs())):
            for line in page.split("Examples:\n")[0].splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_limits_are_told_when_asked_for(self):
        short, full = self.good("serve", "--help"), self.good("serve", "--help-all")
        self.assertNotIn("--max-body", short)
        self.assertIn("`hearth serve --help-all`", short)
        self.assertIn("\nLimits:\n", full)
        self.assertIn("\nSampling:\n", short)

    def test_many_options_stand_under_headings(self):
        for verb in self.verbs():
            page = self.good(verb, "--help-all").split("Examples:\n")[0]
            self.assertNotRegex(page, "Excludes:|Needs:")
            plain = re.search(r"^Options:\n(.*?)(\n\n|\Z)", page, re.M | re.S).group(1)
            if len(self.names_in_help(verb)) > 12:
                self.assertEqual(re.findall(r"^  (-[\w,-]+)", plain, re.M), ["-h,--help"], verb)
        self.bad(2, "run", "--echo", "--json", says=["--echo", "--json", "leave one of them out"])
        self.bad(2, "run", "--system", "x", says=["--system works only with --chat"])

    def test_one_list_of_options(self):
        bash, fish = self.good("completion", "bash"), self.good("completion", "fish")
        zsh = self.good("completion", "zsh")
        shown = self.good("config")
        for verb in self.verbs():
            names = self.names_in_help(verb)
            for script in (bash, zsh):
                found = re.search(rf"^    {verb}\) options='([^']*)'", script, re.M)
                self.assertEqual(set(found.group(1).split()) - set(FIXED), names, verb)
            lines = re.findall(rf"^complete .* '__fish_seen_subcommand_from {verb}'(.*) -d", fish,
                               re.M)
            found = {f"-{'-' if kind == 'l' else ''}{name}" for line in lines
                     for kind, name in re.findall(r"-([ls]) (\S+)", line)}
            self.assertEqual(found - set(FIXED), names, verb)
            table = re.search(rf"^\[{verb}\]\n(.*?)(\n\n|\Z)", shown, re.M | re.S)
            keys = re.findall(r"^(?:# )?([a-z0-9-]+)  ?[=#]", table.group(1), re.M) if table else []
            self.assertEqual(len(keys), len(set(keys)))
            self.assertLessEqual({f"--{key}" for key in keys}, names, verb)
            # Each option has one key, whatever names it has.
            self.assertEqual(len(keys), len(lines) - 1, verb)

    @unittest.skipUnless(shutil.which("help2man"), "needs help2man (scripts/install-deps.sh --man)")
    def test_manual_pages_have_every_option(self):
        if len(ProgramTest.command) > 1:
            self.skipTest("help2man calls no emulator")
        subprocess.run([ROOT / "scripts/man.sh", *ProgramTest.command], cwd=self.folder, check=True,
                       capture_output=True)
        for verb in self.verbs():
            page = (self.folder / f"build/man/hearth-{verb}.1").read_text()
            page = re.sub(r"\\f[BIR]", "", page).replace("\\-", "-")
            told = set(re.findall(r"--?[\w-]+", page))
            self.assertLessEqual(self.names_in_help(verb), told, verb)

    def test_completion_in_shells(self):
        path = self.folder / "completion"
        for shell in ("bash", "zsh", "fish"):
            path.write_text(self.good("completion", shell))
            if shutil.which(shell):
                done = subprocess.run([shell, "-n", path], capture_output=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, b""), shell)
        self.bad(2, "completion", "csh", says=["csh", "bash"])
        path.write_text(self.good("completion", "bash"))
        for words, wanted in ((("ser",), "serve"), (("serve", "--por"), "--port"),
                              (("help", "quan"), "quantize"), (("run", "--chat-t"),
                                                                      "--chat-template")):
            script = (f"source {path}; COMP_WORDS=(hearth {' '.join(words)}); "
                      f"COMP_CWORD={len(words)}; _hearth; echo ${{COMPREPLY[@]}}")
            done = subprocess.run(["bash", "-c", script], capture_output=True, check=False)
            self.assertEqual(done.stdout.decode().strip(), wanted, done.stderr)

    def test_precedence_of_options(self):
        config = self.folder / "config" / "hearth" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text("[run]\nmax-tokens = 2\ntemp = 0\nquiet = true\n")
        home = {"XDG_CONFIG_HOME": str(config.parent.parent)}
        call = ("run", self.chain, "-p", "a")
        self.assertEqual(self.good(*call, env=home), "bc")
        home["HEARTH_RUN_MAX_TOKENS"] = "3"
        self.assertEqual(self.good(*call, env=home), "bcd")
        self.assertEqual(self.good(*call, "-n", "1", env=home), "b")
        self.bad(2, *call, env=home | {"HEARTH_RUN_WEIGHTS": ""},
                 says=["HEARTH_RUN_WEIGHTS: --weights: '' is not one of"])
        shown = self.good("config", "run", env=home)
        self.assertIn('max-tokens = "3"  # HEARTH_RUN_MAX_TOKENS\n', shown)
        self.assertIn(f"quiet = true  # '{config}', line 4\n", shown)
        self.assertIn('top-k = "40"  # default\n', shown)
        self.assertNotIn("[serve]", shown)
        # A verb's required options may be configured; otherwise they must be given.
        config.write_text("[quantize]\nweights = 'q8_0'\n")
        out = self.folder / "quantized.gguf"
        self.good("quantize", self.random, out, env=home)
        self.bad(2, "quantize", out, env=home, says=["OUT"])
        self.bad(2, "quantize", self.random, out, says=["--weights"])
        # A file that is named replaces all others. A key that the command line rules out is
        # ignored.
        other = self.folder / "other.toml"
        other.write_text("[run]\nmax-tokens = 1\ntemp = 0\nfile = 'none.txt'\n")
        self.assertEqual(self.good("--config", other, *call), "b")
        self.assertEqual(self.good(f"--config={other}", *call), "b")

    def test_configurations_that_cannot_be(self):
        path = self.folder / "bad.toml"
        call = ("--config", path, "version")
        for text, says in (("[serve]\nprot = 1\n", ("line 2", "'prot'", "did you mean 'port'")),
                           ("[serv]\n", ("line 1", "'serv'", "'serve'")),
                           ("port = 1\n", ("line 1", "[serve]")),
                           ("[serve]\nno-log = 1\n", ("line 2", "true or false")),
                           ("[serve]\nport = [1, 2]\n", ("line 2", "one value")),
                           ("[serve]\nport = 1\nport = 2\n", ("line 3",)),
                           ("[serve\n", ("line 1",)),
                           ("x" * (10 << 20), ("1 MiB",))):
            path.write_text(text)
            self.bad(2, *call, says=[str(path), *says])
        path.write_text("[tokenize]\npre = 'x'\n[run]\ntop-k = 'many'\n")
        self.bad(2, "--config", path, "run", self.chain, "-p", "a",
                 says=[str(path), "line 4", "--top-k", "'many'"])
        self.bad(2, "--config", self.folder, "version", says=[str(self.folder), "folder"])
        self.bad(2, "--config", self.folder / "none", "version", says=["none"])
        self.bad(2, "version", says=["HEARTH_RUN_QUIET", "true or false"],
                 env={"HEARTH_RUN_QUIET": "1"})
        self.bad(2, "config", "serv", says=["'serve'"])

    def test_the_doctor(self):
        # The exit status depends on the machine.
        home = self.folder / "doctor's home"
        model = home / "hub/models--me--secret-GGUF/snapshots" / ("0" * 40) / "secret-Q8_0.gguf"
        model.parent.mkdir(parents=True)
        model.write_bytes(self.chain.read_bytes())
        env = {**little_cache(), "HF_HUB_CACHE": str(home / "hub"), "HOME": str(home),
               "XDG_CONFIG_HOME": str(home), "OLLAMA_MODELS": str(home / "ollama")}

        def doctor(*words, **more):
            started = self.start("doctor", *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env={**os.environ, **env, **more})
            out, err = started.communicate(timeout=TIMEOUT)
            self.assertEqual(err, b"")
            return started.returncode, out.decode()

        status, out = doctor("--json")
        findings = {each["about"]: each for each in json.loads(out)["findings"]}
        self.assertEqual(list(findings), ["machine", "kernels", "cores", "memory nodes",
                                          "huge pages", "clock", "memory", "reading memory", "disk",
                                          "stores", "tuning", "port"])
        for each in findings.values():
            self.assertEqual(each["level"] == "ok", each["remedy"] == "", each)
        bad = any(each["level"] == "bad" for each in findings.values())
        self.assertEqual(status, 1 if bad else 0)
        self.assertIn("GB/s by", findings["reading memory"]["found"])
        self.assertEqual(findings["tuning"]["found"], "nothing was tuned here yet")
        self.assertRegex(findings["stores"]["found"], r"^cache: 1 model, [\d.]+ KiB$")
        # The output can stand in a public report unless everything is asked for.
        self.assertNotIn("secret", out)
        self.assertNotIn(str(home), out)
        status, text = doctor("--all")
        self.assertEqual(status, 1 if bad else 0)
        self.assertIn("(me/secret-GGUF:Q8_0)", text)
        self.assertIn(f"free for models in {home}", text)
        self.assertRegex(doctor(self.chain)[1], r"model: it runs here.*; it needs [\d.]+ .iB, .* "
                         r"weights and .* keys and values .*; some [\d.e+]+ tokens a second")
        self.assertRegex(doctor(HEARTH_ISA="reference")[1],
                         r"note kernels: reference.*\n     HEARTH_ISA forces")
        none = self.folder / "none.gguf"
        status, text = doctor(none)
        self.assertEqual(status, 1)
        self.assertIn(f"bad  model: '{none}' does not exist", text)

    def test_words_of_other_programs(self):
        for words, says in ((("ps",), "/v1/models"), (("show", "x"), "hearth inspect"),
                            (("run", self.chain, "--temperature", "1"), "it is --temp here"),
                            (("run", self.chain, "-m", "x"), "give the model without an option"),
                            (("run", self.chain, "-ngl", "99"), "--gpu-layers"),
                            (("serve", self.chain, "-c", "512"), "it is --ctx here")):
            self.bad(2, *words, says=[says])
