"""Checks that every option of every verb is tested: it must stand in a test's call that succeeded.
The tests of this folder record their calls by running. Where some did not run, nothing is checked.

Options of verbs that other tests call (tests/ELSEWHERE) count as tested where a Python test there
has both the verb and the option in quotes.
"""

import re
from pathlib import Path

from program import ProgramTest

TESTS = Path(__file__).resolve().parent.parent
# "  -t,--threads N Excludes: --plan ...": the names of an option, then its description.
OPTION = re.compile(r"^  (-[\w,-]+)", re.M)


def options_of(page):
    """A verb's options, read from its help: every name with all names of the same option."""
    names = [line.split(",") for line in OPTION.findall(page)]
    return {name: tuple(group) for group in names for name in group if group[-1] != "--help"}


def used_in_calls(calls, verb, options):
    """The options (all names of each) in successful calls of the verb."""
    used = set()
    for status, words in calls:
        if words[:1] != [verb] or status not in (0, None):
            continue
        for word in words[1:]:
            if word.partition("=")[0] in options:
                used.add(options[word.partition("=")[0]])
    return used


def used_elsewhere(verb, options):
    """The options quoted in a Python test outside this folder that also names the verb."""
    used = set()
    for path in TESTS.rglob("*.py"):
        text = path.read_text()
        if path.parent == TESTS / "cli" or f'"{verb}"' not in text:
            continue
        used |= {group for name, group in options.items() if f'"{name}"' in text}
    return used


class OptionsTest(ProgramTest):
    def test_every_option_is_in_a_call_that_went_well(self):
        overview = self.good("--help")
        verbs = re.findall(r"^  ([a-z]+)  +[A-Z]", overview, re.M)
        self.assertIn("run", verbs)
        missing = []
        for verb in verbs:
            options = options_of(self.good(verb, "--help-all"))
            used = used_in_calls(ProgramTest.calls, verb, options) | used_elsewhere(verb, options)
            missing += [f"hearth {verb} {', '.join(names)}"
                        for names in dict.fromkeys(options.values()) if names not in used]
        self.assertEqual(missing, [], "no test calls the program with these options and sees it "
                         "succeed: add one that shows what each does to tests/cli (self.good, "
                         "self.call), or quote verb and option in a Python test elsewhere:\n  "
                         + "\n  ".join(missing))

    def test_reads_help_and_calls(self):
        page = "Usage\n  -h,--help    Help\n  -t,--threads N Excludes: --plan\n  --json\n"
        options = options_of(page)
        threads = ("-t", "--threads")
        self.assertEqual(options, {"-t": threads, "--threads": threads, "--json": ("--json",)})
        calls = [(0, ["run", "-t", "1"]), (2, ["run", "--json"]), (0, ["bench", "--json"])]
        self.assertEqual(used_in_calls(calls, "run", options), {threads})
        self.assertEqual(used_in_calls([(None, ["run", "--json=1"])], "run", options),
                         {("--json",)})
