"""Tests of `hearth bench -o svg
html` and `--compare`. Pictures are well-formed XML, their lengths and labels are the numbers of the
JSON report, and no name in the report becomes markup."""

import copy
import json
import re
from xml.etree import ElementTree

from program import ProgramTest, little_cache
from stub_server import StubServer

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert('1')</script>&\"]]>"
# The elements that a file which loads no other file may contain.
HTML = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "section", "details",
        "summary", "div", "table", "thead", "tbody", "tr", "th", "td", "ul", "li"}
DRAWN = {SVG + name for name in ("svg", "title", "desc", "style", "defs", "pattern", "rect", "path",
                                 "line", "text", "g")}


class BenchChartsTest(ProgramTest):
    env = little_cache()
    STEPS = ("-p", "15", "-n", "3", "-b", "1,2", "-r", "2", "-t", "1")

    def parsed(self, text):
        """The tree of a picture or page. Checks that it refers to no other file."""
        root = ElementTree.fromstring(text)
        for each in root.iter():
            self.assertIn(each.tag, HTML | DRAWN)
            for name, value in each.attrib.items():
                self.assertFalse(name.startswith("on") or name in ("href", "src", "style"), name)
                self.assertNotRegex(value, r"//|url\((?!#)|javascript:")
        style = root.find(f".//{SVG}style") if root.tag == SVG + "svg" else root.find(".//style")
        self.assertIn("prefers-color-scheme:dark", style.text)
        self.assertNotRegex(style.text, r"@import|url\(")
        ids = [each.get("id") for each in root.iter() if each.get("id")]
        self.assertEqual(len(ids), len(set(ids)))
        fills = re.findall(r"url\(#([\w-]+)\)", text)
        labels = " ".join(each.get("aria-labelledby", "") for each in root.iter()).split()
        self.assertLessEqual(set(fills) | set(labels), set(ids))
        return root

    def same(self, values, expected):
        """Asserts equality, except for the last bit, which the reader of JSON may get wrong."""
        self.assertEqual(len(values), len(expected))
        for value, other in zip(values, expected):
            self.assertAlmostEqual(value / other, 1, places=14)

    def charts(self, root):
        """The charts by title. Each is an image with a name and a description."""
        charts = {each.find(SVG + "title").text: each for each in root.iter(SVG + "svg")
                  if each.get("role") == "img"}
        for chart in charts.values():
            self.assertTrue(chart.find(SVG + "desc").text)
        return charts

    def bars(self, chart):
        """The values of all bars. Checks that the bars' lengths are in proportion."""
        bars = [each for each in chart.iter(SVG + "rect") if each.get("data-value")]
        values = [float(each.get("data-value")) for each in bars]
        scale = max(float(each.get("width")) for each in bars) / max(values)
        for each, value in zip(bars, values):
            self.assertAlmostEqual(float(each.get("width")), scale * value, delta=0.02)
        return values

    def steps_report(self, name):
        path = self.folder / name
        path.write_text(self.good("bench", self.random, *self.STEPS, "--json"))
        return path, json.loads(path.read_text())

    def test_a_run_as_a_picture_and_as_a_page(self):
        for form in ("svg", "html"):
            root = self.parsed(self.good("bench", self.random, *self.STEPS, "-o", form))
            charts = self.charts(root)
            self.assertEqual(list(charts), ["Share of the limit", "Reading prompts",
                                            "Writing answers", "Reading memory at best",
                                            "Arithmetic at best"])
            self.assertEqual(len(self.bars(charts["Writing answers"])), 2)
            texts = [each.text for each in charts["Share of the limit"].iter(SVG + "text")]
            self.assertIn("limit", texts)

    def test_reports_beside_one_another(self):
        first, one = self.steps_report("one.json")
        other = copy.deepcopy(one)
        decode = [t for t in other["runs"][0]["tests"] if t["phase"] == "decode"]
        for test in decode:
            for key in ("median", "min", "max"):
                test["tokens_per_second"][key] *= 4
        second = self.folder / "other.json"
        second.write_text(json.dumps(other))
        rates = [[t["tokens_per_second"]["median"] for t in told["runs"][0]["tests"]
                  if t["phase"] == "decode"] for told in (one, other)]
        table = self.good("bench", "--compare", first, second)
        self.assertRegex(table, r"Writing answers \| +decode 3, 2 sequences \|.*\+300.0 % \(bett")
        told = json.loads(self.good("bench", "--compare", first, second, "--json"))
        self.assertEqual([r["name"] for r in told["reports"]], ["one.json", "other.json"])
        values = [[v["value"] for v in row["values"]] for row in told["figures"]
                  if row["figure"] == "Writing answers"]
        self.same(sum(values, []), sum(zip(*rates), ()))
        self.assertEqual(self.good("bench", "--compare", first, second, "-o", "csv").count("\n"),
                         1 + len(told["figures"]))
        for form in ("svg", "html"):
            root = self.parsed(self.good("bench", "--compare", first, second, "-o", form))
            bars = self.bars(self.charts(root)["Writing answers"])
            self.same(bars, sum(zip(*rates), ()))

    def test_loads_of_a_server_are_lines(self):
        words = ("-p", "7", "-n", "3", "--requests", "9", "--warmup", "0", "--concurrency", "1,3",
                 "--slo-ttft-ms", "60000")
        with StubServer() as server:
            root = self.parsed(self.good("bench", "--serve", server.url, *words, "-o", "html"))
            path = self.folder / "served.json"
            path.write_text(self.good("bench", "--serve", server.url, *words, "--json"))
        self.assertIn("objective 60.00 s", "".join(root.itertext()))
        charts = self.charts(root)
        for title in ("Inside the objectives", "Time to the first token", "Tokens a second",
                      "First tokens within a time"):
            self.assertIn(title, charts)
        told = json.loads(path.read_text())
        for load in told["loads"]:
            quantiles = load["ttft_quantiles_seconds"]
            self.assertEqual((len(quantiles), quantiles), (101, sorted(quantiles)))
            self.assertAlmostEqual(quantiles[90], load["ttft_seconds"]["p90"])
        again = self.charts(self.parsed(self.good("bench", "--compare", path, path, "-o", "svg")))
        points = [each for each in again["Time to the first token"].iter(SVG + "g")
                  if each.get("data-value")]
        # The medians of both loads come first for each report, then their 99th percentiles.
        expected = [load["ttft_seconds"][part] for part in ("p50", "p99") for load in told["loads"]]
        self.same([float(each.get("data-value")) for each in points], 2 * expected)

    def test_names_are_text(self):
        with StubServer() as server:
            words = ("bench", "--serve", server.url, "-p", "7", "-n", "3", "--requests", "3",
                     "--warmup", "0", "--model", HOSTILE, "-o")
            for form in ("svg", "html"):
                self.assertIn(HOSTILE, "".join(self.parsed(self.good(*words, form)).itertext()))
        path, told = self.steps_report("names.json")
        told["model"].update(file=HOSTILE, architecture=HOSTILE)
        told.update(cpu=HOSTILE, notes=[HOSTILE])
        told["runs"][0]["limits"][0]["isa"] = HOSTILE
        path.write_text(json.dumps(told))
        for form in ("svg", "html"):
            page = self.good("bench", "--compare", path, path, "-o", form)
            self.assertIn(HOSTILE, "".join(self.parsed(page).itertext()))

    def test_refuses_invalid_reports(self):
        path, told = self.steps_report("report.json")
        other = self.folder / "wrong.json"
        for text, says in (("{", "not a report"), ("{}", "'schema'"),
                           (json.dumps({**told, "schema": "hearth-bench-9"}), "hearth-bench-9"),
                           (json.dumps({**told, "runs": 7}), "'runs'")):
            other.write_text(text)
            self.bad(1, "bench", "--compare", path, other, says=["wrong.json", says])
        self.bad(1, "bench", "--compare", path, self.folder / "none.json", says=["none.json"])
        self.bad(2, "bench", "--compare", path, says=["--compare"])
        self.bad(2, "bench", self.random, "--compare", path, path, says=["--compare"])
        self.bad(2, "bench", "-n", "3", "--compare", path, path, says=["--compare"])
        self.bad(2, "bench", "--gpu", "auto", "-o", "svg", says=["--gpu", "svg"])
