"""Trains the demo model: python3 train.py OUT [--steps N] [--resume]

OUT gets checkpoint.pt (any checkpoint can be exported) and loss.csv. Two processes of one thread
each work on halves of a batch and meet once a step. That suffers less from other work on the
machine than threads that meet in every operation. The result depends only on the seed, on the
number of processes and on how PyTorch computes on this processor.

The learning rate rises, stays, and falls linearly to zero over the last quarter. So a run that is
resumed with another --steps ends as well as one that was planned with it.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import pathlib
import signal
import sys
import time

import numpy as np
import torch
import torch.multiprocessing as mp
import torch.nn.functional as F

import bpe
import data
import model
from optimiser import Optimiser

WORKERS = 2
TOKENS = 2048  # tokens of a step, over all processes
MOST_VOCABULARY = 2048
WARM_UP, DECAY = 60, 0.25  # steps; share of the steps
SAVE_EVERY = 50


def rate_share(step: int, steps: int) -> float:
    """The share of the full learning rate."""
    rise = (step + 1) / WARM_UP
    fall = (steps - step) / (steps * DECAY)
    return min(1.0, rise, fall)


def loss_of(net: model.Model, ids: np.ndarray, weights: np.ndarray) -> tuple:
    """The weighted loss, and the plain mean over stories and over short answers."""
    tokens, weight = torch.from_numpy(ids), torch.from_numpy(weights)[:, 1:]
    used = weight > 0
    logits = net.logits(tokens[:, :-1], used).float()
    losses = F.cross_entropy(logits, tokens[:, 1:][used], reduction="none")
    weight = weight[used]

    def mean(kind: float) -> float:
        chosen = losses.detach()[weight == kind]
        return chosen.mean().item() if len(chosen) else float("nan")

    return (losses * weight).sum() / weight.sum(), mean(1.0), mean(3.0)


def work(rank: int, net: model.Model, tokenizer: bpe.Tokenizer, shared: dict, args) -> None:
    """Computes gradients of this process's half of every batch, until the steps are done."""
    torch.set_num_threads(1)
    seed = f"{args.seed} {rank}"
    stream = data.batches(tokenizer, seed, TOKENS // WORKERS, net.config.context)
    # A resumed run skips the batches that it has seen, so that it continues as if uninterrupted.
    stream = itertools.islice(stream, args.first, None)
    for _ in range(args.first, args.steps):
        shared["start"].wait()
        loss, story, answer = loss_of(net, *next(stream))
        gradients = torch.autograd.grad(loss, list(net.weights.values()))
        shared["gradients"][rank] = torch.cat([g.flatten() for g in gradients])
        shared["losses"][rank] = torch.tensor([story, answer])
        shared["done"].wait()


def mean_gradients(net: model.Model, shared: dict) -> dict[str, torch.Tensor]:
    flat = shared["gradients"].mean(0)
    parts = flat.split([weight.numel() for weight in net.weights.values()])
    return {n: part.view_as(w) for part, (n, w) in zip(parts, net.weights.items())}


def save(args, net: model.Model, tokenizer: bpe.Tokenizer, optimiser: Optimiser, step: int) -> None:
    state = {
        "config": dataclasses.asdict(net.config),
        "merges": tokenizer.merges,
        "weights": {name: weight.detach() for name, weight in net.weights.items()},
        "optimiser": optimiser.state(),
        "step": step,
        "seed": args.seed,
    }
    torch.save(state, args.out / "checkpoint.new")
    (args.out / "checkpoint.new").rename(args.out / "checkpoint.pt")


def train(args, net: model.Model, tokenizer: bpe.Tokenizer, optimiser: Optimiser) -> None:
    size = sum(weight.numel() for weight in net.weights.values())
    shared = {
        "gradients": torch.zeros(WORKERS, size).share_memory_(),
        "losses": torch.zeros(WORKERS, 2).share_memory_(),
        "start": mp.Barrier(WORKERS + 1),
        "done": mp.Barrier(WORKERS + 1),
    }
    for weight in net.weights.values():
        weight.detach().share_memory_()
    workers = [
        mp.Process(target=work, args=(rank, net, tokenizer, shared, args), daemon=True)
        for rank in range(WORKERS)
    ]
    for worker in workers:
        worker.start()
    began = time.time()
    with open(args.out / "loss.csv", "a", encoding="utf-8") as log:
        for step in range(args.first, args.steps):
            shared["start"].wait()
            shared["done"].wait()
            optimiser.step(mean_gradients(net, shared), rate_share(step, args.steps))
            story, answer = shared["losses"].nanmean(0).tolist()
            print(f"{step + 1},{story:.4f},{answer:.4f}", file=log, flush=True)
            if (step + 1) % SAVE_EVERY == 0 or step + 1 == args.steps:
                save(args, net, tokenizer, optimiser, step + 1)
                seconds = time.time() - began
                print(f"step {step + 1}: {story:.3f} {answer:.3f}, {seconds:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains the demo model.")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--resume", action="store_true", help="go on from OUT/checkpoint.pt")
    args = parser.parse_args()
    # The workers end with this process even when it is terminated.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    args.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    if args.resume:
        state = torch.load(args.out / "checkpoint.pt")
        args.first, args.seed = state["step"], state["seed"]
        tokenizer = bpe.Tokenizer(state["merges"], data.SPECIALS)
        weights = {name: weight.requires_grad_() for name, weight in state["weights"].items()}
        net = model.Model(model.Config(**state["config"]), weights)
        optimiser = Optimiser(weights)
        optimiser.load(state["optimiser"])
    else:
        args.first = 0
        (args.out / "loss.csv").write_text("step,story,answer\n", encoding="utf-8")
        tokenizer = data.learn_tokenizer(args.seed, MOST_VOCABULARY)
        config = model.Config(len(tokenizer))
        net = model.Model(config, model.initial_weights(config, args.seed))
        optimiser = Optimiser(net.weights)
    size = sum(weight.numel() for weight in net.weights.values())
    print(f"{len(tokenizer)} tokens, {size} weights, steps {args.first} to {args.steps}")
    train(args, net, tokenizer, optimiser)


if __name__ == "__main__":
    main()
