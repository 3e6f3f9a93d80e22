#!/usr/bin/env python3
"""Several models under load, for a minute: correct texts, no lost request, stable memory, and the
cost of sharing the cores over running one model after the other.

    several_soak.py --hearth build/release/hearth [--seconds 60] [--clients 16]
                    [--models a.gguf b.gguf c.gguf] [--most-lost 0.03]

bin/shared_cores beside the program (tools/shared_cores) measures that cost.

Run it by hand: it measures times, which mean nothing on a busy machine.
"""

import argparse
import concurrent.futures
import random
import re
import subprocess
import tempfile
import time
from pathlib import Path

import serve_case
from serving import Server

CALL = {"prompt": "the quick brown fox ", "temperature": 0}
TEXTS, TOKENS, ROUNDS = 4, 400, 9


def serve(hearth, *words):
    return Server([hearth, "serve", *map(str, words), "--port", "0", "--no-log",
                   "--kv-cache", "8MiB"])


def lost_by_sharing(program, models):
    """The part of the time of two models, one after the other, that they lose when run at once.
    Only engines run, since clients would use the same cores."""
    words = [program, *map(str, models[:2]), str(TEXTS), str(TOKENS), str(ROUNDS)]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    print(said, end="")
    return float(re.search(r"lost: ([-+0-9.]+) %", said).group(1)) / 100


def soak(hearth, models, clients, seconds):
    """(requests, loads, growth of the memory) with room for all models but one."""
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
        program = Path(arguments.hearth).parent / "bin/shared_cores"
        lost = lost_by_sharing(program, models)
        print(f"sharing the cores takes {lost:+.1%}")
        assert lost < arguments.most_lost, "sharing takes too long"


if __name__ == "__main__":
    main()
