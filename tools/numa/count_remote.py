#!/usr/bin/env python3
"""Counts the bytes that a decode step reads from its own node's memory and from other nodes'.

    count_remote.py --build build/release [--steps 4] [--depth 16] [--check]

Boots a machine of four nodes (tests/numa/vm.py) under the plugin count_bytes.c. In it four models
in Q8_0, cut over the nodes, decode with a group on each node. One has layers of Qwen3-0.6B's shape;
it is placed once, and once its weights, keys and values lie on all nodes in turn. One has experts
as wide as Qwen3-30B-A3B's, once cut, once spread. One has layers of Qwen3.5-0.8B's, of which three
of four keep states. One is built as Gemma 4 E4B, of width 1024, with windows, shared keys, and a
table that is read a row a token. Prints three pairs of figures a step:

    loads      every load of the program, including those that a CPU's own cache would serve
    fetched    64 bytes for every load of a line that a cache of 512 KiB a CPU does not hold
    predicted  the cost model's figure (`hearth topo --predict`)

First a program reads known bytes of known nodes. The run fails if the counts differ from these.
--check also fails it where more than MOST_REMOTE of loads or fetches is remote when placed, or
where the fetched bytes, without the program's own, are further than MOST_APART from the prediction.
Where no machine can be emulated, it says so and succeeds.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests/numa"), str(ROOT / "tests/golden")]

import vm  # noqa: E402

NODES = (vm.Node(2, 768),) * 4
GRANULES_PER_MIB = 0.25  # granules of count_bytes.c
READ_BYTES = 8 << 20  # as numa_decode --read reads
READS = ((1, 0), (3, 2), (6, 1))  # CPU, node
# The numbers of layers. They are high enough that a step's once-only work weighs little, and low
# enough that the machine has room for all files.
LAYERS = {"dense": 6, "experts": 4, "states": 4, "windows": 4}
MOST_REMOTE = 0.03
MOST_APART = 0.2
KIB = 1024
# Bytes of the program itself, which has one copy. The cost model leaves them out (docs/numa.md).
PROGRAM = 160 * KIB
TIMEOUT = 3600  # seconds, many times what it takes on two free cores


@dataclasses.dataclass
class Bytes:
    local: float = 0
    remote: float = 0

    @property
    def total(self) -> float:
        return self.local + self.remote

    def add(self, is_local: bool, count: float) -> None:
        if is_local:
            self.local += count
        else:
            self.remote += count

    def text(self) -> str:
        return f"{self.local / KIB:10.1f} {self.remote / KIB:9.1f} {self.remote / self.total:7.2%}"


@dataclasses.dataclass(frozen=True)
class Case:
    model: str
    placing: str  # numa_decode's name of it
    predicted: str  # the plan's name in hearth topo

    @property
    def name(self) -> str:
        return f"{self.model} {self.placing}"

    @property
    def is_placed(self) -> bool:
        return self.placing != "interleaved"


CASES = (Case("dense", "placed", "this plan"), Case("dense", "interleaved", "weights unplaced"),
         Case("experts", "cut", "this plan"), Case("experts", "spread", "experts spread"),
         Case("states", "placed", "this plan"), Case("windows", "placed", "this plan"))


def write_model(name: str, path: pathlib.Path) -> None:
    """Writes a model of a few layers with a small vocabulary."""
    import gguf_io
    import make_models
    from model_specs import Delta, Experts, Gemma4, Spec
    from quants import Type

    rope = {"freq_base": 1e7, "dimension_count": 64}
    e4b = Gemma4((True, False) * 2, (2,) * 4, (3072,) * 4, 128, shared=2, turned=32, cap=30.0,
                 per_layer=256)
    # The sizes are width, heads, KV heads, FFN rows and vocabulary. The next field is the length of
    # a head.
    arch, sizes, key, more = {
        "dense": ("qwen3", (1024, 16, 8, 3072, 512), 128, {}),
        "experts": ("qwen3moe", (1024, 16, 8, 3072, 512), 128, {"experts": Experts(8, 2, 768)}),
        "states": ("qwen35", (1024, 8, 2, 3584, 512), 256,
                   {"delta": Delta(16, 16, 128), "rope": rope}),
        "windows": ("gemma4", (1024, 8, 2, 3072, 512), 256,
                    {"gemma4": e4b, "window": 8, "rope": {"freq_base": 1e6}}),
    }[name]
    spec = Spec(f"{name}-few-layers", arch, (), *sizes, tokens=1, layers=LAYERS[name],
                type=Type.Q8_0, key_length=key, value_length=key, tied=True, **more)
    gguf_io.write(str(path), make_models.metadata(spec), make_models.tensors(spec))


def cpu_nodes() -> list[int]:
    return [number for number, node in enumerate(NODES) for _ in range(node.cpus)]


def granule_nodes(seen: set[int]) -> dict[int, int]:
    """The node of every granule that was counted. The nodes' memory lies in order from address 0.
    QEMU 7.2 adds the beginning of a node's memory twice (count_bytes.c); granules beyond the end
    show that.
    """
    total = sum(node.mib for node in NODES)
    twice = max(seen) >= total * GRANULES_PER_MIB
    nodes, begin = {}, 0
    for number, node in enumerate(NODES):
        first = int(begin * (2 if twice else 1) * GRANULES_PER_MIB)
        nodes.update((first + i, number) for i in range(int(node.mib * GRANULES_PER_MIB)))
        begin += node.mib
    if lost := seen - nodes.keys():
        raise vm.VmError(f"granules {sorted(lost)[:8]} are of no node: another layout than 7.2's?")
    return nodes


def read_counts(path: pathlib.Path) -> dict[int, dict[str, Bytes]]:
    """Loads and fetched bytes by stretch. Only odd stretches are between two marks of one program.
    The others belong to the firmware and other programs, and are left out.
    """
    rows = [tuple(map(int, line.split())) for line in path.read_text().splitlines()]
    rows = [row for row in rows if row[0] % 2 == 1]
    node_of, cpu_of = granule_nodes({row[2] for row in rows}), cpu_nodes()
    counts = collections.defaultdict(lambda: {"loads": Bytes(), "fetched": Bytes()})
    for stretch, cpu, granule, loaded, _, fetched in rows:
        is_local = cpu_of[cpu] == node_of[granule]
        counts[stretch]["loads"].add(is_local, loaded)
        counts[stretch]["fetched"].add(is_local, fetched)
    return counts


def check_reads(counts: dict[int, dict[str, Bytes]]) -> list[str]:
    """Complaints where a CPU's counts are not one read of its whole buffer and little else."""
    bad = []
    for i, (cpu, node) in enumerate(READS):
        is_local = cpu_nodes()[cpu] == node
        for kind in ("loads", "fetched"):
            told = counts[2 * i + 1][kind]
            there, elsewhere = (told.local, told.remote)[:: 1 if is_local else -1]
            if not (READ_BYTES <= there < 1.01 * READ_BYTES and elsewhere < 0.01 * READ_BYTES):
                bad.append(f"CPU {cpu} read {READ_BYTES} bytes of node {node}; {kind}: {told}")
    return bad


def predictions(text: str) -> dict[str, Bytes]:
    plans = {}
    for plan in json.loads(text)["prediction"]["plans"]:
        nodes = plan["decode"]["nodes"]
        plans[plan["name"]] = Bytes(sum(node["local_bytes"] for node in nodes),
                                    sum(node["remote_bytes"] for node in nodes))
    return plans


def count(build: pathlib.Path, steps: int, depth: int) -> tuple[dict, dict, list[str]]:
    """By case: the figures of one step and the predicted figures; then complaints."""
    with tempfile.TemporaryDirectory(prefix="hearth-count-") as folder:
        place = pathlib.Path(folder)
        source = ROOT / "tools/numa/count_bytes.c"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", source, "-o", place / "plugin.so"],
                       check=True)
        files = {"/bin/hearth": build / "hearth", "/bin/numa_decode": build / "bin/numa_decode"}
        for model in LAYERS:
            files[f"/{model}.gguf"] = place / f"{model}.gguf"
            write_model(model, files[f"/{model}.gguf"])
        commands = [f"numa_decode --read {cpu} {node}" for cpu, node in READS]
        commands += [f"numa_decode /{case.model}.gguf {case.placing} {depth} {steps}"
                     for case in CASES]
        threads = sum(node.cpus for node in NODES)
        commands += [f"hearth topo --predict /{model}.gguf -t {threads} --experts cut --depth "
                     f"{depth + steps // 2} --json 2> /dev/null" for model in LAYERS]
        plugin = f"{place / 'plugin.so'},out={place / 'out'}"
        results = vm.run(commands, files, NODES, plugin=plugin, timeout=TIMEOUT)
        bad = [f"'{command}' ended with {result.status}: {result.output}"
               for command, result in zip(commands, results) if result.status]
        if bad:
            return {}, {}, bad
        counts = read_counts(place / "out")
    figures, predicted = {}, {}
    plans = {model: predictions(result.output)
             for model, result in zip(LAYERS, results[-len(LAYERS):])}
    for i, case in enumerate(CASES):
        of_all = counts[2 * (len(READS) + i) + 1]
        figures[case] = {kind: Bytes(told.local / steps, told.remote / steps)
                         for kind, told in of_all.items()}
        predicted[case] = plans[case.model][case.predicted]
    return figures, predicted, check_reads(counts)


def beyond_bounds(figures: dict, predicted: dict) -> list[str]:
    bad = []
    for case, kinds in figures.items():
        for kind, told in kinds.items():
            if case.is_placed and told.remote > MOST_REMOTE * told.total:
                bad.append(f"{case.name}: {told.remote / told.total:.2%} of {kind} is remote")
        for what in ("total", "remote"):
            told, expected = getattr(kinds["fetched"], what), getattr(predicted[case], what)
            apart = told / expected - 1
            if not -MOST_APART * expected < told - expected < MOST_APART * expected + PROGRAM:
                bad.append(f"{case.name}: {what} fetched is {apart:+.0%} from the prediction")
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(description="Count local and remote bytes of a decode step.")
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--depth", type=int, default=16, help="tokens before the steps counted")
    parser.add_argument("--check", action="store_true", help="fail where a bound is not kept")
    options = parser.parse_args()
    if reason := vm.missing():
        return subprocess.run([ROOT / "scripts/skip.sh", reason], check=True).returncode
    figures, predicted, bad = count(options.build, options.steps, options.depth)
    if figures:
        print(f"{'KiB a decode step':<30} {'local':>10} {'remote':>9} {'remote':>7}")
    for case, kinds in figures.items():
        for kind, told in (*kinds.items(), ("predicted", predicted[case])):
            print(f"{case.name + ', ' + kind:<30} {told.text()}")
    if options.check and figures:
        bad += beyond_bounds(figures, predicted)
    for line in bad:
        print(f"count_remote.py: {line}", file=sys.stderr)
    return bool(bad)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except vm.VmError as error:
        sys.exit(f"count_remote.py: {error}")
