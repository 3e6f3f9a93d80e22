"""Tests of `hearth gpu`: the accelerators of this machine, at least one of which is software, and
the errors where there are none."""

import json

from program import ProgramTest

# These variables hide all drivers, on any machine.
NO_DRIVER = {"VK_DRIVER_FILES": "/no/such/driver.json", "VK_ICD_FILENAMES": "/no/such/driver.json"}


class GpuTest(ProgramTest):
    # The software driver's compiler does not free all of its memory.
    env = {"ASAN_OPTIONS": "detect_leaks=0"}

    def software(self):
        """The name of a software driver; skips the test where there is none."""
        told = json.loads(self.good("gpu", "--json"))
        for found in told["accelerators"]:
            if found["kind"] == "software" and not found["refused"]:
                return found["name"]
        return self.skipTest("no Vulkan driver that is software")

    def test_lists_what_there_is(self):
        name = self.software()
        told = json.loads(self.good("gpu", "--json"))
        found = next(one for one in told["accelerators"] if one["name"] == name)
        self.assertGreater(found["memory_bytes"], 1 << 20)
        self.assertTrue(found["queues"][0]["computes"])
        self.assertTrue(found["arithmetic"])
        self.assertEqual(told["why_none"], "")
        text = self.good("gpu")
        self.assertIn(name, text)
        self.assertIn("arithmetic", text)

    def test_says_why_there_are_none(self):
        told = json.loads(self.good("gpu", "--json", env=NO_DRIVER))
        self.assertEqual(told["accelerators"], [])
        self.assertIn("install", told["why_none"])
        self.assertEqual(self.good("gpu", env=NO_DRIVER), told["why_none"] + "\n")
        self.bad(1, "gpu", "--check", says=["install"], env=NO_DRIVER)

    def test_checks_by_name(self):
        name = self.software()
        text = self.good("gpu", name[:5].upper(), "--check", "--only", "norm", "--seed", "7")
        self.assertRegex(text, r"rms norm +same bits: \d+ values of \d+ calls\n")
        self.assertIn("3 of 3 contracts hold\n", text)
        told = json.loads(self.good("gpu", name, "--check", "--only", "gemm q8", "--json"))
        self.assertTrue(told["good"])
        self.assertEqual(sorted(one["contract"] for one in told["contracts"]),
                         ["experts' gemm q8_0", "gemm q8_0"])
        self.bad(2, "gpu", name, "--check", "--only", "banana", says=["banana"])
        self.bad(2, "gpu", "banana", "--check", says=["banana", name])
        self.bad(2, "gpu", name, says=["--check"])

    def test_measures_and_keeps_what_it_measured(self):
        name = self.software()
        path = self.folder / "gpu.json"
        text = self.good("gpu", name, "--bench", "--seconds", "1", "--save", str(path))
        self.assertIn(name, text)
        self.assertRegex(text, r"memory +[\d.]+ GB/s +[\d.]+ % ")
        self.assertRegex(text, r"q4_k, 16 rows +[\d.]+ G/s ")
        kept = path.read_text()
        told = json.loads(kept)
        self.assertEqual(told["hearth_accelerator"], 2)
        self.assertEqual(told["facts"]["name"], name)
        self.assertGreaterEqual(len(told["rates"]["products"]), 15)
        contracts = [one["contract"] for one in told["rates"]["kernels"]]
        self.assertEqual(contracts.count("attend pages q8_0"), 2)
        self.assertIn("rope half", contracts)
        self.assertRegex(text, r"command +[\d.]+ us ")
        self.assertEqual(self.good("gpu", "--describe", str(path)), text)
        self.assertEqual(self.good("gpu", "--describe", str(path), "--json"), kept)
        path.write_text(kept.replace('"rows":16', '"rows":-16', 1))
        says = ["gpu.json", "'rates.products[1].rows'"]
        self.bad(1, "gpu", "--describe", str(path), says=says)
        self.bad(1, "gpu", "--describe", str(path) + ".no", says=["gpu.json.no"])
        self.bad(2, "gpu", name, "--describe", str(path), says=["--describe"])
        self.bad(2, "gpu", name, "--check", "--bench", says=["--bench"])
        self.bad(2, "gpu", "--save", str(path), says=["--bench"])
