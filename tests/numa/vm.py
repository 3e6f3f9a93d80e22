#!/usr/bin/env python3
"""A virtual machine with NUMA nodes, made of Debian's kernel under QEMU and programs of this
machine.

    vm.py [--nodes 2x512,2x512,2x512,2x512] [--file HOST[:GUEST]]... -- COMMAND...

A node is CPUSxMIB. Either may be 0 (a node of memory only, a node without memory), and MIB is a
multiple of 4. The kernel reads the nodes from ACPI tables as on a server, so mbind(2),
move_pages(2) and affinity work as there. Programs run as root, with the shared libraries that they
need, in a file system in memory that begins with only busybox.

Memory lies node after node from physical address 0 (which a plugin may use), so there is at most
MAX_MIB of it. The emulated processor is QEMU's `max`: AVX2, not AVX-512.

Needs qemu-system-x86_64, a static busybox and a kernel image (scripts/install-deps.sh --numa).
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "hearth"
KERNEL = CACHE / "vmlinuz"
QEMU = "qemu-system-x86_64"
BUSYBOX = "/bin/busybox"
MAX_MIB = 3072  # the machine's PCI hole comes after it
# A kernel that makes no progress in two minutes gives up and is started again. Under the emulator
# one sometimes hangs while it boots, with all processors waiting for another.
KERNEL_OPTIONS = "console=ttyS0 quiet panic=-1 softlockup_panic=1 watchdog_thresh=60"
LOCKED_UP = "soft lockup"
BOOTS = 3
RECORD = "\x1e"  # ends the output of a command; its number and status follow


class VmError(Exception):
    """The machine failed to run its commands."""


@dataclasses.dataclass(frozen=True)
class Node:
    cpus: int
    mib: int


@dataclasses.dataclass(frozen=True)
class Result:
    status: int
    output: str  # standard output and error


FOUR_NODES = (Node(2, 512),) * 4


def parse_nodes(text: str) -> tuple[Node, ...]:
    if not re.fullmatch(r"\d+x\d+(,\d+x\d+)*", text):
        raise VmError(f"'{text}' is no list of nodes such as 2x512,2x512")
    return tuple(Node(*map(int, node.split("x"))) for node in text.split(","))


def missing() -> str | None:
    """The reason why no machine can run here; None where one can."""
    if os.uname().machine != "x86_64":
        return f"this machine is {os.uname().machine}, the emulated one is x86-64"
    if not shutil.which(QEMU):
        return f"there is no {QEMU}"
    if not os.access(BUSYBOX, os.X_OK):
        return f"there is no {BUSYBOX}"
    if not KERNEL.is_file():
        return f"there is no kernel image at {KERNEL}"
    return None


class Archive:
    """A file system in memory, as the kernel unpacks it: a cpio archive in the "newc" format."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._names: set[str] = set()

    def _entry(self, name: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0)):
        # Inode, mode, uid, gid, links, time, size, device of the file, device it is, name, check.
        fields = (len(self._names), mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        for part in (head, data):
            self._parts.append(part + bytes(-len(part) % 4))
        self._names.add(name)

    def folder(self, path: str) -> None:
        parts = path.strip("/").split("/")
        for end in range(1, len(parts) + 1):
            name = "/".join(parts[:end])
            if name and name not in self._names:
                self._entry(name, stat.S_IFDIR | 0o755)

    def file(self, path: str, data: bytes, mode: int = 0o755) -> None:
        name = path.strip("/")
        if name in self._names:
            return
        self.folder(os.path.dirname(name))
        self._entry(name, stat.S_IFREG | mode, data)

    def character_device(self, path: str, major: int, minor: int) -> None:
        self.folder(os.path.dirname(path))
        self._entry(path.strip("/"), stat.S_IFCHR | 0o600, device=(major, minor))

    def finish(self) -> bytes:
        self._entry("TRAILER!!!", 0)
        return b"".join(self._parts)


def libraries(program: pathlib.Path) -> list[str]:
    """The shared libraries of an ELF program with their loader; none for other files."""
    with open(program, "rb") as file:
        if file.read(4) != b"\x7fELF":
            return []
    told = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    if lost := re.findall(r"(\S+) => not found", told):
        raise VmError(f"{program} needs {', '.join(lost)}, which this machine does not have")
    return re.findall(r"(/\S+) \(0x", told)


INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs devtmpfs /dev
ip link set lo up
export PATH=/bin HOME=/tmp
set -o pipefail
stty -opost < /dev/ttyS1
exec < /dev/null > /dev/ttyS1 2>&1
"""


def initramfs(files: dict[str, pathlib.Path], commands: list[str]) -> bytes:
    archive = Archive()
    for folder in ("proc", "sys", "dev", "tmp"):
        archive.folder(folder)
    archive.character_device("dev/console", 5, 1)
    archive.file("bin/busybox", pathlib.Path(BUSYBOX).read_bytes())
    for guest, host in files.items():
        archive.file(guest, host.read_bytes())
        for library in libraries(host):
            archive.file(library, pathlib.Path(library).read_bytes())
    script = INIT
    for number, command in enumerate(commands):
        archive.file(f"commands/{number}", command.encode())
        # The output goes through a pipe, so that programs do not take the port for a terminal.
        script += f"sh /commands/{number} 2>&1 | cat\nprintf '\\036%d %d\\n' {number} $?\n"
    archive.file("init", (script + "poweroff -f\n").encode())
    return archive.finish()


def distances(nodes: tuple[Node, ...], far: dict[tuple[int, int], int]) -> list[str]:
    """The options for distances: 20 between nodes, unless `far` has the pair."""
    pairs = ((a, b) for a in range(len(nodes)) for b in range(a + 1, len(nodes)))
    return [f"dist,src={a},dst={b},val={far.get((a, b), 20)}" for a, b in pairs]


def machine_options(nodes: tuple[Node, ...], far: dict[tuple[int, int], int]) -> list[str]:
    mib = sum(node.mib for node in nodes)
    if mib > MAX_MIB:
        raise VmError(f"{mib} MiB of memory are more than the {MAX_MIB} that lie in one piece")
    cpus = sum(node.cpus for node in nodes)
    options = ["-m", f"{mib}M", "-smp", str(cpus)]
    first = 0
    for number, node in enumerate(nodes):
        numa = f"node,nodeid={number}"
        if node.cpus:
            numa += f",cpus={first}-{first + node.cpus - 1}"
            first += node.cpus
        if node.mib:
            options += ["-object", f"memory-backend-ram,size={node.mib}M,id=memory{number}"]
            numa += f",memdev=memory{number}"
        options += ["-numa", numa]
    for distance in distances(nodes, far):
        options += ["-numa", distance]
    return options


def parse_results(text: str, count: int) -> list[Result]:
    """The results of the commands that ended, in order."""
    found = re.findall(rf"(.*?){RECORD}(\d+) (\d+)\n", text, re.S)
    results = [Result(int(status), output) for output, _, status in found]
    if [int(number) for _, number, _ in found] != list(range(len(results))):
        raise VmError(f"records are missing from the machine's output:\n{text}")
    return results[:count]


def run(
    commands: list[str],
    files: dict[str, pathlib.Path],
    nodes: tuple[Node, ...] = FOUR_NODES,
    far: dict[tuple[int, int], int] | None = None,
    plugin: str | None = None,
    timeout: float = 600,
) -> list[Result]:
    """Boots, runs shell commands one after another and returns their results.

    `files`: paths in the machine with their contents. `far`: distances by (a, b), a < b. `plugin`:
    a TCG plugin with its arguments. Raises VmError where the machine stops before the last command
    has ended.
    """
    if reason := missing():
        raise VmError(reason)
    with tempfile.TemporaryDirectory(prefix="hearth-vm-") as folder:
        place = pathlib.Path(folder)
        (place / "initrd").write_bytes(initramfs(files, commands))
        words = [QEMU, "-accel", "tcg,thread=multi", "-cpu", "max"]
        words += machine_options(nodes, far or {})
        words += ["-nodefaults", "-display", "none", "-no-reboot", "-kernel", str(KERNEL)]
        words += ["-initrd", str(place / "initrd"), "-append", KERNEL_OPTIONS]
        words += ["-serial", f"file:{place / 'console'}", "-serial", f"file:{place / 'output'}"]
        if plugin:
            words += ["-plugin", plugin]
        for _ in range(BOOTS):
            ended = boot(words, timeout)
            texts = [read(place / name) for name in ("output", "console")]
            if LOCKED_UP not in texts[1]:
                break
    results = parse_results(texts[0], len(commands))
    if len(results) < len(commands) or ended:
        tail = "\n".join((texts[0] + texts[1]).splitlines()[-40:])
        raise VmError(f"the machine stopped at command {len(results)}. {ended}\n{tail}")
    return results


def boot(words: list[str], timeout: float) -> str:
    """Runs the machine until it is off; returns the error, or an empty text."""
    try:
        qemu = subprocess.run(words, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return f"not done after {timeout:.0f} s"
    return f"{QEMU}: status {qemu.returncode}: {qemu.stderr}" if qemu.returncode else ""


def read(path: pathlib.Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def main() -> int:
    parser = argparse.ArgumentParser(description="Run a command on a machine with NUMA nodes.")
    parser.add_argument("--nodes", type=parse_nodes, default=FOUR_NODES, metavar="CPUSxMIB,...")
    parser.add_argument("--file", action="append", default=[], metavar="HOST[:GUEST]")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    files = {}
    for pair in options.file:
        host, _, guest = pair.partition(":")
        files[guest or f"/bin/{os.path.basename(host)}"] = pathlib.Path(host)
    result = run([shlex.join(options.command)], files, options.nodes)[0]
    print(result.output, end="")
    return result.status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except VmError as error:
        sys.exit(f"vm.py: {error}")
