"""The optimiser: Muon for the layers' matrices, AdamW for the embedding and the norms' gains.

Muon (Jordan et al. 2024) replaces a matrix's momentum by the nearest orthogonal matrix, found by
five Newton-Schulz iterations. It needs fewer tokens than AdamW, and the iterations cost little
beside the gradients.
"""

from __future__ import annotations

import math

import torch

MUON_RATE, MUON_MOMENTUM = 0.02, 0.95
# Gains of queries and keys learn faster, since they decide how sharp attention can be (model.py).
SHARP_RATE = 4.0
ADAM_RATE, ADAM_BETAS, ADAM_EPSILON = 3e-3, (0.9, 0.95), 1e-8
WEIGHT_DECAY = 0.02
SHARP = ("attn_q_norm", "attn_k_norm")
# Keller Jordan's coefficients: singular values come near 1 fast rather than exactly.
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)


def orthogonal(matrices: torch.Tensor) -> torch.Tensor:
    """The nearest orthogonal matrix of each of [count, rows, columns], rows <= columns."""
    a, b, c = NEWTON_SCHULZ
    x = (matrices / (matrices.norm(dim=(1, 2), keepdim=True) + 1e-7)).bfloat16()
    for _ in range(5):
        square = torch.bmm(x, x.transpose(1, 2))
        x = a * x + torch.bmm(b * square + c * torch.bmm(square, square), x)
    return x.float()


class Optimiser:
    def __init__(self, weights: dict[str, torch.Tensor]):
        self._weights = weights
        self.step_count = 0
        self.first = {name: torch.zeros_like(w.detach()) for name, w in weights.items()}
        adams = [name for name in weights if not self._muon(name)]
        self.second = {name: torch.zeros_like(weights[name].detach()) for name in adams}

    def _muon(self, name: str) -> bool:
        return name.startswith("blk.") and self._weights[name].dim() == 2

    def state(self) -> dict:
        return {"step_count": self.step_count, "first": self.first, "second": self.second}

    def load(self, state: dict) -> None:
        self.step_count = state["step_count"]
        self.first, self.second = state["first"], state["second"]

    @torch.no_grad()
    def step(self, gradients: dict[str, torch.Tensor], share: float) -> None:
        """Moves the weights by `share` of the full rates."""
        self.step_count += 1
        groups: dict[tuple, list[str]] = {}
        for name, weight in self._weights.items():
            if self._muon(name):
                groups.setdefault(tuple(sorted(weight.shape)), []).append(name)
            else:
                rate = share * ADAM_RATE * (SHARP_RATE if name.endswith(SHARP) else 1.0)
                self._step_adam(name, gradients[name], rate)
        for names in groups.values():
            self._step_muon(names, gradients, share * MUON_RATE)

    def _step_muon(self, names: list[str], gradients: dict[str, torch.Tensor], rate: float) -> None:
        """Steps matrices of one shape or of its transpose."""
        ahead = []
        for name in names:
            self.first[name].lerp_(gradients[name], 1 - MUON_MOMENTUM)
            update = gradients[name].lerp(self.first[name], MUON_MOMENTUM)
            ahead.append(update if update.shape[0] <= update.shape[1] else update.t())
        for name, update in zip(names, orthogonal(torch.stack(ahead))):
            weight = self._weights[name]
            rows, columns = weight.shape
            weight.mul_(1 - rate * WEIGHT_DECAY)
            update = update if rows <= columns else update.t()
            weight.add_(update, alpha=-rate * math.sqrt(max(1.0, rows / columns)))

    def _step_adam(self, name: str, gradient: torch.Tensor, rate: float) -> None:
        beta1, beta2 = ADAM_BETAS
        first, second = self.first[name], self.second[name]
        first.lerp_(gradient, 1 - beta1)
        second.lerp_(gradient.square(), 1 - beta2)
        unbiased = math.sqrt(1 - beta2**self.step_count) / (1 - beta1**self.step_count)
        self._weights[name].addcdiv_(first, second.sqrt() + ADAM_EPSILON, value=-rate * unbiased)
