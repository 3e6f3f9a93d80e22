"""Tests of the reports and errors of `hearth bench --embed`. No test depends on speed."""

import csv
import io
import json

import chain_models
from program import ProgramTest


class BenchEmbedTest(ProgramTest):
    # Batches on these devices take milliseconds, so results depend on this machine's speed. No test
    # depends on it.
    FAST = "sim:alpha=0.0001,beta=0.001,name=fast"
    SLOW = "sim:alpha=0.001,beta=0.002,kind=cpu,name=slow"

    def report(self, *words):
        return json.loads(self.good("bench", *words, "--embed", "-o", "json"))

    def test_devices_alone_and_together(self):
        told = self.report("--device", self.FAST, "--device", self.SLOW, "--slo", "20ms,0.05", "-p",
                           "10,75", "-r", "1", "--parts", "0")
        self.assertEqual(told["schema"], "hearth-bench-embed-1")
        self.assertEqual(told["devices"], [self.FAST, self.SLOW])
        self.assertEqual([(case["length"], case["slo_seconds"]) for case in told["cases"]],
                         [(10, 0.02), (10, 0.05), (75, 0.02), (75, 0.05)])
        for case in told["cases"]:
            self.assertEqual([(device["name"], device["kind"]) for device in case["devices"]],
                             [("fast", "accelerator"), ("slow", "cpu")])
            for total in ("alone", "together"):
                self.assertEqual(case[total], sum(device[total] for device in case["devices"]))
        self.assertEqual(told["arrivals"], [])
        self.assertGreater(told["dispatch"]["round_trip_seconds"]["p50"], 0)

    def test_random_arrivals(self):
        told = self.report("--device", self.FAST, "--slo", "50ms", "-r", "1", "--parts", "0.2,0.4",
                           "--admission", "deadline,depth", "--arrival-seconds", "0.3")
        self.assertEqual([load["admission"] for load in told["arrivals"]],
                         ["deadline", "depth"] * 2)
        for load in told["arrivals"]:
            self.assertLessEqual(load["in_time"], load["answered"])
            self.assertEqual(load["answered"], load["accepted"])
            self.assertLessEqual(load["accepted"], load["offered"])
            self.assertEqual(sum(device["done"] for device in load["devices"]), load["answered"])

    def test_other_forms(self):
        words = ("bench", "--embed", "--device", self.FAST, "--slo", "20ms", "-r", "1", "--parts",
                 "0")
        rows = list(csv.DictReader(io.StringIO(self.good(*words, "-o", "csv"))))
        self.assertEqual([(row["device"], row["slo_seconds"]) for row in rows], [("fast", "0.02")])
        page = self.good(*words)
        for column in ("estimated", "alone", "together", "kept", "of sum"):
            self.assertIn(f" {column} |", page)
        self.assertIn("dispatch: ", page)

    def test_a_device_that_misses_the_objective(self):
        told = self.report("--device", "sim:alpha=0.05,beta=0.1", "--slo", "10ms", "-r", "1")
        self.assertEqual(told["cases"][0]["devices"][0]["estimated"], 0)
        self.assertEqual(told["arrivals"], [])
        self.assertEqual(told["notes"],
                         ["no device answers a single text of 75 tokens within 0.01 s"])

    def test_a_pool_beside_a_simulation(self):
        model = self.folder / "bench_mean.gguf"
        chain_models.write_random(model, {"llama.pooling_type": chain_models.u32(1)})
        told = self.report(model, "--device", "cpu", "--device", self.FAST, "--slo", "2s", "-r",
                           "1", "-p", "5", "--parts", "0", "-t", "1")
        self.assertEqual([device["name"] for device in told["cases"][0]["devices"]],
                         ["cpu", "fast"])
        self.assertIn("bench_mean.gguf", told["model"])

    def test_refuses_invalid_options(self):
        for words, said in (
                (("--embed",), "--device"),
                (("--device", "sim"), "--embed"),
                (("--embed", "--device", "npu"), "'npu' is not a device"),
                (("--embed", "--device", "sim:alpha=x"), "alpha=x"),
                (("--embed", "--device", "sim", "--slo", "soon"), "--slo"),
                (("--embed", "--device", "sim", "--admission", "luck"), "--admission"),
                (("--embed", "--device", "sim", "-n", "5"), "--embed"),
                (("--embed", "--device", "sim", "-p", "75,0"), "-p 0: a text to embed"),
                (("--embed", "--device", "sim", "--serve", "http://h:1"), "--embed")):
            self.bad(2, "bench", *words, says=(said,))
