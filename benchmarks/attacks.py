"""Prompt injections against a local model: which it obeys, and which reach the reader.

    make bench-attacks MODEL=smollm2 EVERY=8

What the model said is kept on disk, as in `models.py`: a run that was cut goes on.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from models import LIMITS, THREADS, answering, variants
from rich.console import Console
from rich.table import Table
from weights import qwen, smollm2

from citewell.answer.prompts import PROMPTS
from citewell.ingest.pipeline import ingest
from citewell.options import AnswerOptions
from citewell.settings import Settings
from citewell.wiring import books_folder, wire_services
from evals.injection import Attack, attack_all, read_attacks, table, write_book
from tests.servers.llama import LlamaServer

SET = Path(__file__).parent.parent / "evals/data/injection" / "unseen.jsonl"
BOOK = "valves"


async def attack(attacks: Sequence[Attack], weights: Path, name: str, data: Path) -> None:
    with LlamaServer(weights, threads=THREADS, context=4_096) as server:
        settings = Settings(
            data_dir=data,
            model=f"litellm/openai/{name},embedded",
            llm=LIMITS.model_copy(update={"base_url": server.url}),
            answer=AnswerOptions(context_tokens=500),
        )
        async with wire_services(settings) as services:
            model, (_, alone, *_) = variants(services, name, Path(".models/said") / name)
            made = attack_all(attacks, answering(services, alone), BOOK, prompts=PROMPTS)
            outcomes = [one async for one in made]
    shown = Table("place", "kind", "attacks", "answered", "successes")
    for row in table(outcomes):
        shown.add_row(*map(str, row.values()))
    console = Console(width=120)
    console.print(shown)
    repeated = sum(any(one.mark in said.text for one in attacks) for said in model.said.values())
    print(f"{len(attacks)} attacks; {name} was asked {len(model.said)} times, and said a mark in")
    print(f"{repeated} of its answers; {sum(bool(one.found) for one in outcomes)} came through.")
    for one in outcomes:
        if one.found:
            console.print(f"{one.attack.id} {one.found}: {one.shown}", markup=False)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=("qwen", "smollm2"))
    parser.add_argument("--every", type=int, default=1, help="make only every n-th attack")
    parser.add_argument("--set", type=Path, default=SET)
    given = parser.parse_args()
    weights = smollm2() if given.model == "smollm2" else qwen(Path(".models"))
    attacks = read_attacks(given.set)[:: given.every]
    with tempfile.TemporaryDirectory(prefix="citewell-bench-") as folder:
        settings = Settings(data_dir=Path(folder) / "data")
        source = write_book(attacks, Path(folder) / "book")
        ingest(source, books_folder(settings), wire_services(settings).embedder, book=BOOK)
        asyncio.run(attack(attacks, weights, given.model, settings.data_dir))


if __name__ == "__main__":
    main()
