"""What the training of every pair encoder shares: batches, the loop, the figure."""

import argparse
import random
import time
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import nn

BATCH = 32

Row = dict
Loss = Callable[[list[Row]], torch.Tensor]


def batches(rows: list[Row], rng: random.Random, length: Callable[[Row], int]) -> Iterator[list]:
    """Give batches of pairs of similar length, in random order."""
    rows = rng.sample(rows, len(rows))
    pool = BATCH * 64
    found = []
    for start in range(0, len(rows), pool):
        part = sorted(rows[start : start + pool], key=length)
        found += [part[i : i + BATCH] for i in range(0, len(part), BATCH)]
    rng.shuffle(found)
    yield from found


def learn(
    encoder: nn.Module,
    rows: list[Row],
    loss_of: Loss,
    length: Callable[[Row], int],
    options: argparse.Namespace,
) -> Iterator[int]:
    """Train, giving the number of steps done after each."""
    rng = random.Random(options.seed)
    optimiser = torch.optim.AdamW(
        [p for p in encoder.parameters() if p.requires_grad], lr=options.rate, weight_decay=0.01
    )
    total = int(len(rows) / BATCH * options.epochs)
    warm = max(1, total // options.warm)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda s: min((s + 1) / warm, max(0.02, (total - s) / (total - warm)))
    )
    step, begun, mean = 0, time.time(), 0.0
    while step < total:
        for batch in batches(rows, rng, length):
            loss = loss_of(batch)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            mean = 0.98 * mean + 0.02 * loss.item() if step else loss.item()
            step += 1
            if step % 50 == 0:
                print(f"{step}/{total} loss {mean:.4f} {time.time() - begun:.0f} s", flush=True)
            yield step
            if step >= total:
                return


def auroc(labels: np.ndarray, scores: np.ndarray) -> float:
    """Return the share of pairs of a right and a wrong one that are in order."""
    ranks = scores.argsort().argsort() + 1.0
    positive = labels.sum()
    negative = len(labels) - positive
    if not positive or not negative:
        return float("nan")
    return float((ranks[labels == 1].sum() - positive * (positive + 1) / 2) / positive / negative)
