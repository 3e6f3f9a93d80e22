#!/usr/bin/env python3
"""Mixed load with disconnects on `hearth serve`. It must not leak, and must give the same texts as
when asked alone.

    soak.py --hearth build/release/hearth [--seconds 1800 | --requests 200] [--seed N] [MODEL]
    soak.py --hearth build/release/hearth --hybrid [--seconds 1800 | --requests 200] [--seed N]
    soak.py --hearth build/release/hearth --gpu --seconds 1800 [--seed N]
    soak.py --hearth build/release/hearth --attacked --seconds 1800 [--seed N]

Clients ask for texts of all kinds, leave at any point, send invalid requests, or sit idle. Now and
then all pause until the server has nothing to do. Then it must have as many descriptors as at the
first pause, and every KV page free. Greedy texts must be those that the server gave when it was
asked alone. At the end SIGTERM ends it with status 0.

With --seconds, resident memory must not grow either. Its medians over the first and the last third
of the pauses may differ by MEMORY_BOUND. The KV pages have all been written before the first pause,
and the number of clients bounds the memory of requests. So a greater difference is a leak: at
20,000 requests between the two medians, one of 200 bytes a request.

With --hybrid the model is a small one whose layers keep states. Some greedy prompts then have
several pages, and their texts must be those of a server that keeps no state. Kept states must run
out, sequences be preempted, and prompts start from states that others left.

With --gpu all but the shortest prompts go through the software driver, where there is one. Greedy
texts must be those of a server without it.

With --attacked, polite clients ask while others attack in every way that soak_attacked.py has. No
polite client may wait longer than 5 s or be refused, and memory must stay within the server's
budgets.
"""

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import soak_attacked
from async_http import fetch, metrics
from serving import Server, serve_command, software_gpu
from soak_clients import TEXT, Clients, alone, paths_alone

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))

import chain_models  # noqa: E402

MEMORY_BOUND = 4 << 20
PAUSES, FEW_PAUSES = 60, 4
# The server releases everything at once; this limit only ends a wait that would never end.
PATIENCE = 60
# The limits are small. So KV pages are soon all written, run out and are taken from sequences under
# way, and the queue is full now and then.
OPTIONS = ("--kv-cache", "1536KiB", "--max-running", "8", "--max-queue", "24",
           "--idle-timeout", "20")
# A page of the hybrid takes 18 KiB, a state 24 KiB. There are pages for less than two contexts, and
# few states for so many paths.
HYBRID_OPTIONS = ("--ctx", "768", "--kv-cache", "360KiB", "--state-cache", "100KiB", *OPTIONS[2:])
TEMPLATE = ("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
            "{% if add_generation_prompt %}assistant: {% endif %}")
# Ranges of tokens of the hybrid and of the demo model that are not control tokens.
HYBRID_IDS, IDS = (3, 300), (300, 1000)
STATES, STATES_KEPT = "hearth_state_cache_states", "hearth_state_cache_states_kept"
# These limits make most prompts of the soak stream; few have more than 64 tokens.
GPU_OPTIONS = ("--gpu-threshold", "16", "--gpu-rows", "128")


def gpu_options(hearth):
    """Options that stream prompts through the software driver; None where there is none."""
    name = software_gpu([hearth])
    return ("--gpu", name, *GPU_OPTIONS) if name else None


def figures(told):
    """Figures that must return to zero when all clients pause."""
    return {
        "running": told["hearth_requests_running"],
        "waiting": told["hearth_requests_waiting"],
        "pages taken": told["hearth_kv_pages"] - told["hearth_kv_pages_available"],
        # The request for the figures has a connection too.
        "connections": told["hearth_connections"] - 1,
    }


class Soak:
    def __init__(self, server, options, known=None):
        self.server, self.options, self.known = server, options, known
        self.samples = []  # (requests so far, resident bytes)
        self.full_pauses = 0  # pauses at which the maximum of states was kept
        self.faults = []
        self.started = time.monotonic()

    def share_done(self, requests):
        if self.options.seconds:
            return (time.monotonic() - self.started) / self.options.seconds
        return requests / self.options.requests

    async def rest(self):
        """Waits until the server has nothing to do, and records its figures."""
        until = time.monotonic() + PATIENCE
        while any((left := figures(told := await metrics(self.server.url))).values()):
            if time.monotonic() > until:
                self.faults.append(f"with nobody asking there stay {left}")
                return
            await asyncio.sleep(0.02)
        self.full_pauses += told[STATES] == told[STATES_KEPT]
        # The connection of the last request closes a moment after the reply.
        if not self.samples:
            await asyncio.sleep(1)
            self.descriptors = self.server.descriptors()
        while (found := self.server.descriptors()) > self.descriptors:
            if time.monotonic() > until:
                self.faults.append(f"{found} descriptors, {self.descriptors} at the first pause")
                break
            await asyncio.sleep(0.02)
        self.samples.append((self.clients.requests, self.server.resident_bytes()))

    async def fill_pages(self):
        """Sends prompts until KV pages have had a second owner: then all have been written."""
        ids = random.Random(self.options.seed)
        ends = HYBRID_IDS if self.options.hybrid else IDS
        while not (await metrics(self.server.url))["hearth_evicted_kv_pages_total"]:
            prompt = [ids.randrange(*ends) for _ in range(400)]
            status, said = await fetch(self.server.url, TEXT, {"prompt": prompt, "max_tokens": 1})
            if status != 200:
                raise SystemExit(f"a prompt of {len(prompt)} ids is answered {status}: {said}")

    async def run(self):
        known = self.known or await alone(self.server.url)
        self.clients = Clients(self.server.url, known, self.options.clients, self.options.seed)
        await self.fill_pages()
        self.started = time.monotonic()
        await self.rest()
        pause, pauses = 0, PAUSES if self.options.seconds else FEW_PAUSES
        while (share := self.share_done(self.clients.requests)) < 1 and not self.faults:
            pause = max(pause + 1, int(share * pauses) + 1)
            await self.clients.run(until=lambda: self.clients.faults or self.share_done(
                self.clients.requests) >= min(1, pause / pauses))
            self.faults += self.clients.faults
            await self.rest()
            if self.server.process.poll() is not None:
                self.faults.append("the server has ended")
        self.told = await metrics(self.server.url)

    def judge(self):
        third = max(1, len(self.samples) // 3)
        early = statistics.median(sample[1] for sample in self.samples[:third])
        late = statistics.median(sample[1] for sample in self.samples[-third:])
        grown = late - early
        if self.options.seconds and grown > MEMORY_BOUND:
            self.faults.append(f"memory grew by {grown / (1 << 20):.1f} MiB")
        seconds = time.monotonic() - self.started
        print(f"soak: {self.clients.requests} requests in {seconds:.0f} s, seed "
              f"{self.options.seed}, {self.options.clients} clients")
        for kind, count in sorted(self.clients.counts.items()):
            print(f"  {kind:24} {count}")
        print(f"  greedy texts compared    {self.clients.compared}")
        print(f"  preemptions              {self.told.get('hearth_preemptions_total', 0):.0f}")
        if self.options.hybrid:
            self.judge_states()
        if self.options.gpu:
            self.judge_gpu()
        print(f"memory {early / (1 << 20):.1f} MiB early, {late / (1 << 20):.1f} MiB late; "
              f"{self.descriptors} descriptors when idle; "
              f"{len(self.samples)} pauses")

    def judge_states(self):
        kept, most = self.told[STATES_KEPT], self.told[STATES]
        print(f"  states kept              {kept:.0f} of {most:.0f}, all at "
              f"{self.full_pauses} pauses")
        for what, name in (("states that made room", "hearth_evicted_states_total"),
                           ("tokens taken up", "hearth_prefix_cache_hit_tokens_total"),
                           ("tokens computed again", "hearth_recomputed_tokens_total")):
            print(f"  {what:24} {self.told[name]:.0f}")
            if not self.told[name]:
                self.faults.append(f"no {what}")
        if not self.told["hearth_preemptions_total"]:
            self.faults.append("no preemption")
        if not self.full_pauses:
            self.faults.append("never were as many states kept as may be")

    def judge_gpu(self):
        prompts = self.told["hearth_streamed_prompts_total"]
        passes = self.told["hearth_stream_passes_total"]
        print(f"  prompts streamed         {prompts:.0f}, in {passes:.0f} passes")
        if prompts < self.clients.compared / 4:
            self.faults.append("few prompts went through the GPU")
        if self.told["hearth_failed_stream_passes_total"]:
            self.faults.append("the GPU failed at passes")


def finish_attacked(options):
    options.seconds = options.seconds or 20
    faults = soak_attacked.run(options)
    for fault in faults:
        print(f"FAILED: {fault} (--seed {options.seed})", file=sys.stderr)
    sys.exit(bool(faults))


def main():
    parser = argparse.ArgumentParser(description="A long mixed load on hearth serve.")
    parser.add_argument("model", nargs="*", help="default: the demo model")
    parser.add_argument("--hearth", required=True)
    how_long = parser.add_mutually_exclusive_group()
    how_long.add_argument("--seconds", type=float, default=0)
    how_long.add_argument("--requests", type=int, default=200)
    parser.add_argument("--clients", type=int, default=24)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--attacked", action="store_true")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--hybrid", action="store_true")
    options = parser.parse_args()
    if options.attacked:
        return finish_attacked(options)
    if options.gpu:
        gpu = gpu_options(options.hearth)
        if gpu is None:
            return print("soak: skipped, there is no driver that is software")
        return finish_mixed(options, OPTIONS + gpu, beside=OPTIONS)
    if not options.hybrid:
        return finish_mixed(options, OPTIONS)
    with tempfile.TemporaryDirectory(prefix="hearth-soak-") as folder:
        options.model = [Path(folder) / "hybrid.gguf"]
        chain_models.write_hybrid(options.model[0],
                                  {"tokenizer.chat_template": chain_models.string(TEMPLATE)})
        return finish_mixed(options, HYBRID_OPTIONS, beside=("--state-cache", "0"))


async def known_texts(url, options):
    known = await alone(url)
    return known | await paths_alone(url) if options.hybrid else known


def finish_mixed(options, words, beside=None):
    """`beside`: options of a server whose texts must be the same; None: the tested server's own."""
    known = None
    if beside is not None:
        with Server(serve_command(options.hearth, *options.model, *beside)) as server:
            known = asyncio.run(known_texts(server.url, options))
    with Server(serve_command(options.hearth, *options.model, *words)) as server:
        soak = Soak(server, options, known)
        try:
            asyncio.run(soak.run())
            soak.judge()
            status = server.stop()
            if status != 0:
                soak.faults.append(f"SIGTERM ended it with status {status}")
        except BaseException:
            print(server.last_words(), file=sys.stderr)
            raise
        for fault in soak.faults:
            print(f"FAILED: {fault} (--seed {options.seed})", file=sys.stderr)
        if soak.faults:
            print(server.last_words(), file=sys.stderr)
            sys.exit(1)
    print("soak: flat, and greedy texts as alone")


if __name__ == "__main__":
    main()
