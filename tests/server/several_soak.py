#!/usr/bin/env python3
"""Several models under load, for a minute: right texts, no lost request, memory that stays, and
what sharing the cores costs beside one model after the other.

    several_soak.py --hearth build/release/hearth [--seconds 60] [--clients 16]
                    [--models a.gguf b.gguf c.gguf] [--most-lost 0.03]

By hand: it looks at times, which mean nothing on a machine that does something else.
"""

import argparse
import concurrent.futures
import random
import statistics
import tempfile
import time
from pathlib import Path

import serve_case
from serving import Server

CALL = {"prompt": "the quick brown fox ", "temperature": 0}
ROUNDS, CALLS, TOKENS = 5, 24, 200


def serve(hearth, *words):
    return Server([hearth, "serve", *map(str, words), "--port", "0", "--no-log",
                   "--kv-cache", "8MiB"])


def ask_all(server, names, clients):
    """Seconds that CALLS texts of each take, asked at once."""
    calls = [name for _ in range(CALLS) for name in names]
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        list(pool.map(lambda name: server.text(**CALL, model=name, max_tokens=TOKENS,
                                               ignore_eos=True), calls))
    return time.monotonic() - start


def lost_by_sharing(hearth, models, clients):
    with serve(hearth, *models[:2]) as server:
        names = [model["id"] for model in server.good("/v1/models")["data"]]
        found = []
        for _ in range(ROUNDS):
            alone = sum(ask_all(server, [name], clients) for name in names)
            shared = ask_all(server, names, clients)
            found.append(shared / alone - 1)
            print(f"one after the other {alone:.2f} s, at once {shared:.2f} s")
    return statistics.median(found)


def soak(hearth, models, clients, seconds):
    """(Requests, loads, growth of the memory) with room for all but one."""
    with serve(hearth, *models) as server:
        names = [model["id"] for model in server.good("/v1/models")["data"]]
        texts = {name: server.text(**CALL, model=name, max_tokens=12) for name in names}
        room = sum(model["size"] for model in server.good("/api/ps")["models"]) - 1
    with serve(hearth, *models, "--memory", room) as server:
        sizes, end = [], time.monotonic() + seconds

        def client(number):
            chance, asked = random.Random(number), 0
            while time.monotonic() < end:
                name = chance.choice(names)
                found = server.text(**CALL, model=name, max_tokens=12)
                assert found == texts[name], (name, found)
                asked += 1
                if number == 0:
                    sizes.append(server.resident_bytes())
            return asked

        with concurrent.futures.ThreadPoolExecutor(clients) as pool:
            asked = sum(pool.map(client, range(clients)))
        loads = sum(value for name, value in server.figures().items()
                    if name.startswith("hearth_model_loads_total"))
        assert server.stop() == 0
    half = len(sizes) // 2
    return asked, loads, max(sizes[half:]) / max(sizes[:half]) - 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hearth", required=True)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--models", type=Path, nargs=3)
    parser.add_argument("--most-lost", type=float, default=0.03)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        serve_case.ServeCase.write_models(folder)
        case = serve_case.ServeCase
        models = arguments.models or [serve_case.DEMO, case.random, case.chain]
        asked, loads, growth = soak(arguments.hearth, models, arguments.clients, arguments.seconds)
        print(f"{asked} requests, none lost; {loads:.0f} loads; memory {growth:+.1%}")
        assert growth < 0.1, "memory grows"
        lost = lost_by_sharing(arguments.hearth, models, arguments.clients)
        print(f"sharing the cores takes {lost:+.1%}")
        assert lost < arguments.most_lost, "sharing takes too long"


if __name__ == "__main__":
    main()
