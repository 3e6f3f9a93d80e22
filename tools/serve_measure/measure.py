#!/usr/bin/env python3
"""Measures on this machine what `hearth serve` promises of its times.

    measure.py health  --hearth build/release/hearth MODEL   idle and stuck clients, a long prompt
    measure.py streams --hearth build/release/hearth MODEL   16 streams beside `hearth bench -b 16`
    measure.py gap     --hearth build/release/hearth MODEL   streams while a long prompt arrives
    measure.py passes  --hearth build/release/hearth MODEL --gpu NAME   the same through a GPU

Each prints a table of its comparison, and with --json all figures. README.md says more.
"""

import argparse
import asyncio
import contextlib
import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "server"))

from async_http import Exchange, fetch, metrics  # noqa: E402
from serving import Server, serve_command  # noqa: E402

FIRST_ID, KINDS = 300, 700


def percentile(values, part):
    values = sorted(values)
    place = part * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    return values[below] + (place - below) * (values[above] - values[below])


def prompt(length, salt):
    """Token ids of a prompt that begins like no other."""
    return [FIRST_ID + (salt * 131 + i * i * 7 + i) % KINDS for i in range(length)]


def call(length, tokens, salt):
    return {"prompt": prompt(length, salt), "max_tokens": tokens, "temperature": 0,
            "ignore_eos": True, "stream": True}


def table(rows):
    names = list(rows[0])
    lines = [names] + [[str(row[name]) for name in names] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(names))]
    lines.insert(1, ["-" * (width - 1) + ":" for width in widths])
    padded = [[cell.rjust(width) for cell, width in zip(line, widths)] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in padded)


def ms(seconds):
    return f"{seconds * 1e3:.1f} ms"


async def read_stream(url, body, stamps):
    """Appends the time of every event; returns when the stream has ended."""
    async with Exchange(url, "/v1/completions", body) as reply:
        if reply.status != 200:
            raise SystemExit(f"{reply.status}: {await reply.body()}")
        async for _ in reply.events():
            stamps.append(time.monotonic())


# health: a prompt of 4,096 tokens is read beside 5,000 idle connections and 100 half-sent bodies


async def open_idle(server, count, at_once=200):
    exchange = Exchange(server.url, "/health")
    pairs = []
    while len(pairs) < count:
        pairs += await asyncio.gather(*(asyncio.open_connection(exchange.host, exchange.port)
                                        for _ in range(min(at_once, count - len(pairs)))))
    return pairs


async def open_half_sent(server, count):
    """Opens connections that announce a body of 64 KiB and send half of it."""
    head = (b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/json\r\nContent-Length: 65536\r\n\r\n")
    pairs = await open_idle(server, count)
    for _, writer in pairs:
        writer.write(head + b" " * 32768)
    await asyncio.gather(*(writer.drain() for _, writer in pairs))
    return pairs


async def ask_health_until(server, ended, every):
    times = []
    while not ended.done():
        begin = time.monotonic()
        status, _ = await fetch(server.url, "/health")
        times.append(time.monotonic() - begin)
        if status != 200:
            raise SystemExit(f"/health answers {status}")
        await asyncio.sleep(every)
    return times


async def first_event(server, length, salt):
    stamps = []
    begin = time.monotonic()
    await read_stream(server.url, call(length, 1, salt), stamps)
    return stamps[0] - begin


def count_open(pairs):
    return sum(not reader.at_eof() for reader, _ in pairs)


async def health_once(server, options, salt, crowd):
    before = server.resident_bytes()
    idle = await open_idle(server, options.idle if crowd else 0)
    stuck = await open_half_sent(server, options.stuck if crowd else 0)
    prompt_read = asyncio.create_task(first_event(server, options.prompt, salt))
    times = await ask_health_until(server, prompt_read, 0.005)
    result = {"crowd": crowd, "health": times, "prompt_seconds": prompt_read.result(),
              "grown": server.resident_bytes() - before,
              "idle": count_open(idle), "stuck": count_open(stuck)}
    for _, writer in idle + stuck:
        writer.transport.abort()
    await asyncio.sleep(1)
    return result


async def health(server, options):
    # Memory grows while KV pages are written for the first time, which is no cost of connections.
    # So prompts are sent until all pages have been written.
    salt = 0
    while not (await metrics(server.url))["hearth_evicted_kv_pages_total"]:
        salt += 1
        await first_event(server, options.prompt, salt)
    runs = []
    for turn in range(options.repetitions):
        for crowd in (False, True):
            salt += 1
            runs.append(await health_once(server, options, salt, crowd))
    rows = []
    for crowd in (False, True):
        mine = [run for run in runs if run["crowd"] == crowd]
        times = [seconds for run in mine for seconds in run["health"]]
        rows.append({
            "connections": f"{min(run['idle'] for run in mine)} idle, "
                           f"{min(run['stuck'] for run in mine)} half-sent",
            "/health asked": len(times),
            "50 %": ms(percentile(times, 0.5)), "99 %": ms(percentile(times, 0.99)),
            "most": ms(max(times)),
            "prompt read in": f"{statistics.median(r['prompt_seconds'] for r in mine):.2f} s",
            "memory grown": f"{max(run['grown'] for run in mine) / (1 << 20):.1f} MiB"})
    return rows, runs


# streams: 16 streams through the server and through the engine alone, in turns


def hearth_json(options, *words):
    command = [options.hearth, "bench", *map(str, words), "--json"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def served_rate(server, options):
    """Tokens a second while all streams run, made of the time of each token after the first."""
    count = options.streams
    told = hearth_json(options, "--serve", server.url, "-p", options.prompt, "-n", options.tokens,
                       "--concurrency", count, "--requests", count, "--warmup", 0)
    load = told["loads"][0]
    if load["completed"] != count:
        raise SystemExit(f"{load['failures']}")
    return count / load["tpot_seconds"]["mean"]


def engine_rate(options):
    told = hearth_json(options, options.model, "-p", 0, "-n", options.tokens, "-d", options.prompt,
                       "-b", options.streams, "-r", 1)
    return told["runs"][0]["tests"][0]["tokens_per_second"]["median"]


async def streams(server, options):
    served_rate(server, options)
    runs = []
    for _ in range(options.repetitions):
        served = served_rate(server, options)
        runs.append({"served": served, "engine": engine_rate(options)})
    ratios = [run["served"] / run["engine"] for run in runs]
    rows = [{"streams": options.streams,
             "served tokens/s": f"{statistics.median(run['served'] for run in runs):.1f}",
             "engine tokens/s": f"{statistics.median(run['engine'] for run in runs):.1f}",
             "of the engine": f"{100 * statistics.median(ratios):.1f} %",
             "min .. max": f"{100 * min(ratios):.1f} .. {100 * max(ratios):.1f} %",
             "repetitions": options.repetitions}]
    return rows, runs


# gap: the longest time between two tokens of a stream while a prompt of 2,048 tokens arrives


async def gap_once(server, options, count, salt):
    stamps = [[] for _ in range(count)]
    tasks = [asyncio.create_task(read_stream(server.url, call(16, 100_000, salt + i), stamps[i]))
             for i in range(count)]
    while min(map(len, stamps)) < 20:
        await asyncio.sleep(0.01)
    arrived = time.monotonic()
    first = await first_event(server, options.prompt, salt + count)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    usual, longest = [], 0
    for times in stamps:
        gaps = list(zip(times[4:], times[5:]))
        usual += [after - before for before, after in gaps if after < arrived]
        longest = max([longest] + [after - before for before, after in gaps if after >= arrived])
    return {"streams": count, "usual": statistics.median(usual), "longest": longest,
            "first_token": first}


async def gap(server, options):
    rows, runs = [], []
    for count in (1, options.streams):
        mine = [await gap_once(server, options, count, 1000 * count + 20 * turn)
                for turn in range(options.repetitions)]
        runs += mine
        longest = [run["longest"] for run in mine]
        rows.append({"streams": count, "prompt arriving": options.prompt,
                     "usual gap": ms(statistics.median(run["usual"] for run in mine)),
                     "longest gap": ms(statistics.median(longest)),
                     "min .. max": f"{ms(min(longest))} .. {ms(max(longest))}",
                     "prompt's first token":
                         f"{statistics.median(run['first_token'] for run in mine):.2f} s",
                     "repetitions": options.repetitions})
    return rows, runs


# passes: a stream and /health while a prompt is read, on the cores and through GPUs in turns


async def pass_once(server, options, salt):
    stamps = []
    stream = asyncio.create_task(read_stream(server.url, call(16, 100_000, salt), stamps))
    while len(stamps) < 20:
        await asyncio.sleep(0.01)
    arrived = time.monotonic()
    prompt_read = asyncio.create_task(first_event(server, options.prompt, salt + 1))
    health_times = await ask_health_until(server, prompt_read, 0.02)
    stream.cancel()
    await asyncio.gather(stream, return_exceptions=True)
    gaps = list(zip(stamps[4:], stamps[5:]))
    return {"usual": [after - before for before, after in gaps if after < arrived],
            "beside": [after - before for before, after in gaps if after >= arrived],
            "first_token": prompt_read.result(), "health": health_times}


async def passes(servers, options):
    runs = []
    for turn in range(options.repetitions):
        for name, server in servers.items():
            before = (await metrics(server.url))["hearth_streamed_prompts_total"]
            run = {"by": name, **await pass_once(server, options, 2 * turn + 1)}
            after = (await metrics(server.url))["hearth_streamed_prompts_total"]
            if (after > before) != (name != CORES):
                raise SystemExit(f"{name}: {after - before:.0f} prompts were streamed")
            runs.append(run)
    longest = {name: [max(run["beside"]) for run in runs if run["by"] == name] for name in servers}
    rows = []
    for name in servers:
        mine = [run for run in runs if run["by"] == name]
        beside = [gap for run in mine for gap in run["beside"]]
        times = [seconds for run in mine for seconds in run["health"]]
        ratios = [a / b for a, b in zip(longest[name], longest[CORES])]
        rows.append({
            "read by": name,
            "first token": f"{statistics.median(run['first_token'] for run in mine):.2f} s",
            "usual gap": ms(statistics.median(statistics.median(run["usual"]) for run in mine)),
            "beside it, 50 %": ms(percentile(beside, 0.5)), "99 %": ms(percentile(beside, 0.99)),
            "longest": ms(statistics.median(longest[name])),
            "of the cores'": f"{statistics.median(ratios):.2f}",
            "/health, 50 %": ms(percentile(times, 0.5)), "its 99 %": ms(percentile(times, 0.99)),
            "most": ms(max(times)), "asked": len(times)})
    return rows, runs


CORES = "the cores"
WHAT = {"health": health, "streams": streams, "gap": gap, "passes": passes}
# The memory of keys and values where health measures memory. It has room for the prompt and little
# more, so that all of its pages are soon written.
KV_CACHE = "512MiB"
PROMPTS = {"health": 4096, "streams": 8, "gap": 2048, "passes": 2048}


def measure_servers(options, words):
    """Starts a server; for passes, one for the cores and one for each GPU."""
    with contextlib.ExitStack() as stack:
        servers = {}
        for name in (CORES, *options.gpu):
            gpu = () if name == CORES else ("--gpu", name, "--gpu-threshold", options.prompt // 2)
            command = serve_command(options.hearth, options.model, *words, *gpu)
            servers[name] = stack.enter_context(Server(command))
        what = WHAT[options.what]
        one_or_all = servers if options.what == "passes" else servers[CORES]
        measured = asyncio.run(what(one_or_all, options))
        for server in servers.values():
            server.stop()
        return measured


def main():
    parser = argparse.ArgumentParser(description="Measures of hearth serve.")
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("model")
    parser.add_argument("--hearth", required=True)
    parser.add_argument("--prompt", type=int, help="tokens; default: 4096, 8, 2048, 2048")
    parser.add_argument("--gpu", action="append", default=[], help="of passes; several in turns")
    parser.add_argument("--tokens", type=int, default=128, help="of each stream, with streams")
    parser.add_argument("--streams", type=int, default=16)
    parser.add_argument("--idle", type=int, default=5000)
    parser.add_argument("--stuck", type=int, default=100)
    parser.add_argument("-r", "--repetitions", type=int, default=5)
    parser.add_argument("--kv-cache", help=f"of the server; with health {KV_CACHE}")
    parser.add_argument("--serve", default="", help="more options of hearth serve, in one word")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if bool(options.gpu) != (options.what == "passes"):
        parser.error("passes needs --gpu, and nothing else takes it")
    options.prompt = options.prompt or PROMPTS[options.what]
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    words = ["--max-running", max(options.streams + 1, 16), *options.serve.split()]
    kv_cache = options.kv_cache or (KV_CACHE if options.what == "health" else None)
    words += ["--kv-cache", kv_cache] if kv_cache else []
    rows, runs = measure_servers(options, words)
    print(json.dumps({"what": options.what, "runs": runs}) if options.json else table(rows))


if __name__ == "__main__":
    main()
