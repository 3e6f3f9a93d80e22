#!/usr/bin/env python3
"""Tests the engine on emulated machines with NUMA nodes: the places of memory and threads.

    numa_test.py --build build/release [--all]

Boots machines (vm.py) and runs numa_probe.cc in them over models of the golden set. One of them
also runs the program itself. --all: more models and types, and machines of other shapes. If nothing
can be emulated, it says so and succeeds.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import re
import subprocess
import sys

import vm
from vm import Node

ROOT = pathlib.Path(__file__).resolve().parents[2]

# The first is tied and has 3 KV heads. The second is untied and has a type of its own for every
# tensor. The third has 2 KV heads for 12 heads, and q/k norms. The fourth has states and 5 experts.
# The fifth has windows, layers that share keys, and a table that is read a row a token.
FEW_MODELS = ["llama-f32", "llama-mixed", "qwen3-q8_0-gqa6", "qwen35moe-q8_0", "gemma4-f32-e"]
ALL_MODELS = [
    *FEW_MODELS, "llama-f32-mha", "llama-f32-head20", "llama-f16-bias", "llama-f16-gqa4",
    "llama-bf16-llama3", "qwen2-f32", "qwen3-bf16", "qwen3-f32-yarn", "llama-q4_0", "qwen3-q4_0",
    "qwen2-q4_1", "qwen3-q8_0", "llama-q8_0", "qwen3-mxfp4", "llama-q2_k", "llama-q6_k",
    "qwen3-q4_k_m", "glm4moe-f32", "qwen3moe-q8_0", "qwen3moe-bf16", "mixtral-q4_0",
    "deepseek2-f32-v3", "qwen35-f32-three-each", "qwen3next-f32", "lfm2-f32-taps",
    "gpt-oss-mxfp4-q8_0", "gemma4-f32-moe",
]

# The most seconds for a machine: many times as long as it takes on two free cores.
TIMEOUT = 3600


@dataclasses.dataclass(frozen=True)
class Boot:
    name: str
    nodes: tuple[Node, ...]
    models: list[str]
    far: dict[tuple[int, int], int] = dataclasses.field(default_factory=dict)
    before: str = "true"  # a command that prepares the machine
    few: bool = False  # only some of the probe's rows
    program: bool = False  # also run the program itself, which expects FOUR_NODES


# The distances in a machine of two packages of two nodes.
TWO_PACKAGES = {(0, 1): 12, (2, 3): 12, (0, 2): 32, (0, 3): 32, (1, 2): 32, (1, 3): 32}
MANY_HUGE = "for n in /sys/devices/system/node/node*; do " \
            "echo 32 > $n/hugepages/hugepages-2048kB/nr_hugepages; done"

FEW_BOOTS = [Boot("four nodes", vm.FOUR_NODES, FEW_MODELS, few=True, program=True)]
ALL_BOOTS = [
    Boot("four nodes, two packages", vm.FOUR_NODES, ALL_MODELS, far=TWO_PACKAGES),
    Boot("explicit huge pages", vm.FOUR_NODES, FEW_MODELS, before=MANY_HUGE),
    Boot("unequal nodes", (Node(3, 768), Node(2, 256), Node(2, 384), Node(1, 256)), FEW_MODELS),
    Boot("a node without memory", (Node(2, 512), Node(2, 512), Node(2, 0), Node(2, 512)),
         FEW_MODELS),
    Boot("a node of memory only", (Node(4, 512), Node(4, 512), Node(0, 512)), FEW_MODELS),
    Boot("eight nodes", (Node(1, 320),) * 8, FEW_MODELS),
]


def golden_set(folder: pathlib.Path, models: list[str]) -> dict[str, pathlib.Path]:
    """Writes the models and returns the files that the machine needs for them."""
    maker = ROOT / "tests/golden/make_models.py"
    subprocess.run([sys.executable, maker, folder, *models], check=True)
    return {f"/golden/{path.name}": path for path in folder.iterdir()
            if path.name == "manifest.json" or path.name.split(".")[0] in models}


RUN = "hearth run /golden/qwen3-q8_0-gqa6.gguf -p abc -n 5 --temp 0 --ignore-eos -q"
LOGITS = "hearth logits /golden/llama-f32.gguf --tokens 5,6,7 --json"
PROGRAM = ["hearth topo", f"{RUN} -t 8", f"{RUN} -t 4 --groups 2", f"{LOGITS} -t 8",
           f"{LOGITS} -t 4 --groups 1"]


def check_program(results: list[vm.Result]) -> list[str]:
    """Complaints about the machine as `hearth topo` shows it, and about text and logits, which all
    plans over four nodes share."""
    bad = [f"'{command}' ended with {result.status}: {result.output}"
           for command, result in zip(PROGRAM, results) if result.status]
    topo, *texts = (result.output for result in results)
    lines = [rf"  node {n}: \d+\.\d+ MiB, .* available" for n in range(4)]
    lines += [" " + "".join(f"{10 if a == b else 20:5}" for b in range(4)) for a in range(4)]
    lines += [r"plan: --threads \d --shards 4", "prefill and decode: 4 groups"]
    lines += [rf"  shard {n} on node {n}" for n in range(4)]
    lines += [rf"    node {n}: PUs {2 * n}(-{2 * n + 1})?" for n in range(4)]
    bad += [f"'hearth topo' has no line '{line.strip()}':\n{topo}" for line in lines
            if not re.search(f"^{line}.*$", topo, re.M)]
    for first, second in ((0, 1), (2, 3)):
        if not texts[first] or texts[first] != texts[second]:
            bad.append(f"'{PROGRAM[1 + first]}' and '{PROGRAM[1 + second]}' differ: "
                       f"{texts[first]!r}, {texts[second]!r}")
    return bad


def probe(boot: Boot, build: pathlib.Path) -> bool:
    print(f"{boot.name}:", flush=True)
    folder = build / "numa" / ("few" if boot.models == FEW_MODELS else "all")
    files = golden_set(folder, boot.models)
    files["/bin/numa_probe"] = build / "bin/numa_probe"
    words = "numa_probe --few" if boot.few else "numa_probe"
    commands = [boot.before, f"HEARTH_GOLDEN_DIR=/golden {words}"]
    if boot.program:
        files["/bin/hearth"] = build / "hearth"
        commands += PROGRAM
    prepared, probed, *others = vm.run(commands, files, boot.nodes, boot.far, timeout=TIMEOUT)
    print(prepared.output + probed.output, end="")
    bad = check_program(others) if boot.program else []
    print("\n".join(bad) if bad else "the program: ok" if boot.program else "", flush=True)
    return prepared.status == 0 and probed.status == 0 and not bad


def main() -> int:
    parser = argparse.ArgumentParser(description="Test the engine on emulated NUMA machines.")
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--all", action="store_true", help="other models and machines as well")
    options = parser.parse_args()
    if reason := vm.missing():
        return subprocess.run([ROOT / "scripts/skip.sh", reason], check=True).returncode
    failed = [boot.name for boot in (ALL_BOOTS if options.all else FEW_BOOTS)
              if not probe(boot, options.build)]
    if failed:
        print(f"numa_test.py: failed on: {'; '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except vm.VmError as error:
        sys.exit(f"numa_test.py: {error}")
