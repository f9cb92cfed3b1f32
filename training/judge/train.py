"""Train the judge: does the evidence say what the claim says?

    python -m training.judge.train PAIRS.jsonl --teacher FOLDER --out JUDGE.pt

Three outputs: the logits of `supported`, `contradicted` and `unsupported`. Begun with layers of
ms-marco-MiniLM-L-12-v2, which has learnt to read two texts together. Runs on the CPU in about an
hour; `--seed` makes it repeatable on one machine.
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
from training.judge.alter import MADE
from training.learning import auroc, learn

MAX_TOKENS = 128
LABELS = ("supported", "contradicted", "unsupported")
MOST = {"data2txt/supported": 3000, "openstax-microbiology/supported": 3600}
"""What there is too much of."""


def balanced(rows: list[dict], seed: int) -> list[dict]:
    rows = random.Random(seed).sample(rows, len(rows))
    seen: dict[str, int] = {}
    kept = []
    for row in rows:
        kind = f"{row['source']}/{row['label']}"
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= MOST.get(kind, 10**9):
            kept.append(row)
    return kept


def tensors(tokenizer: Tokenizer, batch: list[dict]) -> list[torch.Tensor]:
    encoded = tokenizer.encode_batch([(row["claim"], row["evidence"]) for row in batch])
    parts = zip(*((e.ids, e.type_ids, e.attention_mask) for e in encoded), strict=True)
    return [torch.tensor(part) for part in parts]


def loss_of(outputs: torch.Tensor, batch: list[dict]) -> torch.Tensor:
    log = functional.log_softmax(outputs, dim=1)
    # Of some claims it is only known that they are not supported.
    rest = torch.logsumexp(log[:, 1:], dim=1)
    each = [
        rest[i] if row["label"] == "not" else log[i, LABELS.index(row["label"])]
        for i, row in enumerate(batch)
    ]
    return -torch.stack(each).mean()


def outputs_of(encoder: PairEncoder, tokenizer: Tokenizer, rows: list[dict]) -> np.ndarray:
    """Return the log-probabilities of the three labels for each row."""
    encoder.eval()
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]["claim"]) + len(rows[i]["evidence"]))
    found = np.zeros((len(rows), 3), np.float32)
    with torch.no_grad():
        for start in range(0, len(order), 64):
            places = order[start : start + 64]
            logits = encoder(*tensors(tokenizer, [rows[i] for i in places]))
            found[places] = functional.log_softmax(logits, dim=1).numpy()
    encoder.train()
    return found


def report(encoder: PairEncoder, tokenizer: Tokenizer, held: list[dict]) -> str:
    found = outputs_of(encoder, tokenizer, held)[:, 0]
    labels = np.array([row["label"] == "supported" for row in held]).astype(int)
    own = {
        name: round(auroc(labels[part], found[part]), 3)
        for name in sorted(
            {r["source"].removesuffix("-changed").removesuffix("-added") for r in held}
        )
        if (part := np.array([r["source"].startswith(name) for r in held])).sum() > 30
    }
    return f"held out: AUROC {auroc(labels, found):.4f} {own}"


def tokenizer_of(folder: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_TOKENS, strategy="longest_first")
    tokenizer.enable_padding()
    return tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--teacher", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--layers", default="0,2,4,6,8,10")
    parser.add_argument("--epochs", type=float, default=1.5)
    parser.add_argument("--rate", type=float, default=1.5e-4)
    parser.add_argument("--limit", type=int, default=10**9)
    parser.add_argument(
        "--after", type=Path, help="go on from these weights, with people's claims twice"
    )
    parser.add_argument("--seed", type=int, default=11)
    parser.set_defaults(warm=15)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    with options.pairs.open(encoding="utf-8") as lines:
        rows = balanced([json.loads(line) for line in lines], options.seed)
    train = [r for r in rows if r["part"] == "train"][: options.limit]
    if options.after:
        made = [r for r in train if MADE.search(r["source"])]
        people = [r for r in train if not MADE.search(r["source"])]
        train = people * 2 + made[: len(people)]
    held = [r for r in rows if r["part"] == "held"][:3000]
    print(len(train), "to learn from,", len(held), "held out", flush=True)
    chosen = [int(n) for n in options.layers.split(",")]
    encoder = PairEncoder(len(chosen), len(LABELS))
    begin(encoder, teacher_weights(options.teacher / "model.onnx"), chosen)
    if options.after:
        encoder.load_state_dict(torch.load(options.after, weights_only=True))
    encoder.word_emb.weight.requires_grad = False
    tokenizer = tokenizer_of(options.teacher)

    def loss(batch: list[dict]) -> torch.Tensor:
        return loss_of(encoder(*tensors(tokenizer, batch)), batch)

    def length(row: dict) -> int:
        return len(row["claim"]) + len(row["evidence"])

    for step in learn(encoder, train, loss, length, options):
        if step % 400 == 0:
            torch.save(encoder.state_dict(), options.out)
            print(report(encoder, tokenizer, held), flush=True)
    torch.save(encoder.state_dict(), options.out)
    print(report(encoder, tokenizer, held), flush=True)


if __name__ == "__main__":
    main()
