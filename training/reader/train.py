"""Train the reader: a few layers of the teacher, taught by all of it and by labelled sentences.

    python -m training.reader.train TAUGHT.jsonl --teacher FOLDER --out READER.pt

Two outputs: `fits`, the teacher's logit, and `answers`, the logit that the sentence holds the
answer. Runs on the CPU in about an hour; `--seed` makes it repeatable on one machine.
"""

import argparse
import json
import random
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.nn import functional

from training.encoder import PairEncoder, begin, teacher_weights
from training.learning import auroc, learn

MAX_TOKENS = 128
HELD = 2000
UNLABELLED = 36_000
ANSWERS_WEIGHT = 1.0
POSITIVE_WEIGHT = 3.0
"""One sentence in five answers; both kinds should count alike."""


def sampled(rows: list[dict]) -> list[dict]:
    """Keep what is labelled, and so much of the rest that it does not drown it."""
    labelled = [row for row in rows if row["label"] is not None]
    others = [row for row in rows if row["label"] is None]
    random.Random(3).shuffle(others)
    return labelled + others[:UNLABELLED]


def tensors(tokenizer: Tokenizer, batch: list[dict]) -> list[torch.Tensor]:
    encoded = tokenizer.encode_batch([(row["q"], row["t"]) for row in batch])
    parts = zip(*((e.ids, e.type_ids, e.attention_mask) for e in encoded), strict=True)
    return [torch.tensor(part) for part in parts]


def loss_of(outputs: torch.Tensor, batch: list[dict]) -> torch.Tensor:
    taught = torch.tensor([row["teacher"] for row in batch])
    loss = functional.smooth_l1_loss(outputs[:, 0] / 3, taught / 3)
    known = [i for i, row in enumerate(batch) if row["label"] is not None]
    if known:
        labels = torch.tensor([float(batch[i]["label"]) for i in known])
        loss = loss + ANSWERS_WEIGHT * functional.binary_cross_entropy_with_logits(
            outputs[known, 1], labels, pos_weight=torch.tensor(POSITIVE_WEIGHT)
        ) * len(known) / len(batch)
    return loss


def report(encoder: PairEncoder, tokenizer: Tokenizer, held: list[dict]) -> str:
    encoder.eval()
    rows = sorted(held, key=lambda r: len(r["q"]) + len(r["t"]))
    with torch.no_grad():
        found = [
            encoder(*tensors(tokenizer, rows[start : start + 64])).numpy()
            for start in range(0, len(rows), 64)
        ]
    encoder.train()
    outputs = np.concatenate(found)
    taught = np.array([r["teacher"] for r in rows])
    known = np.array([r["label"] is not None for r in rows])
    labels = np.array([r["label"] or 0 for r in rows])[known]
    said = {"teacher": taught, "fits": outputs[:, 0], "answers": outputs[:, 1]}
    scores = {n: round(auroc(labels, s[known]), 4) for n, s in said.items()}
    alike = np.corrcoef(outputs[:, 0], taught)[0, 1]
    return f"held out: r to teacher {alike:.4f}, AUROC of labels {scores}"


def tokenizer_of(folder: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_TOKENS, strategy="only_second")
    tokenizer.enable_padding()
    return tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("taught", type=Path)
    parser.add_argument("--teacher", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--layers", default="0,2,5,8")
    parser.add_argument("--epochs", type=float, default=1.2)
    parser.add_argument("--rate", type=float, default=1.5e-4)
    parser.add_argument("--seed", type=int, default=11)
    parser.set_defaults(warm=20)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    with options.taught.open(encoding="utf-8") as lines:
        rows = sampled([json.loads(line) for line in lines])
    train = [r for r in rows if r["part"] == "train"]
    held = [r for r in rows if r["part"] == "held"]
    held = random.Random(0).sample(held, min(HELD, len(held)))
    chosen = [int(n) for n in options.layers.split(",")]
    encoder = PairEncoder(len(chosen), 2)
    begin(encoder, teacher_weights(options.teacher / "model.onnx"), chosen)
    encoder.word_emb.weight.requires_grad = False
    tokenizer = tokenizer_of(options.teacher)

    def loss(batch: list[dict]) -> torch.Tensor:
        return loss_of(encoder(*tensors(tokenizer, batch)), batch)

    def length(row: dict) -> int:
        return len(row["q"]) + len(row["t"])

    for step in learn(encoder, train, loss, length, options):
        if step % 500 == 0:
            torch.save(encoder.state_dict(), options.out)
            print(report(encoder, tokenizer, held), flush=True)
    torch.save(encoder.state_dict(), options.out)
    print(report(encoder, tokenizer, held), flush=True)


if __name__ == "__main__":
    main()
