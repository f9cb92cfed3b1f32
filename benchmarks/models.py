"""The golden questions with the embedded model and with a real local one, held to the same proof.

    make bench-models                 # Qwen2.5-Coder-1.5B; downloads 1.1 GB once
    make bench-models MODEL=smollm2   # SmolLM2-135M, from the development dependencies

The local model runs in llama.cpp's server on loopback and is reached through LiteLLM. Its words are
kept, so that every judge sees the same ones. Times are of the machine it runs on.
"""

import argparse
import asyncio
import hashlib
import json
import os
import statistics
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agents.items import ModelResponse, TResponseStreamEvent
from agents.models.interface import Model
from rich.console import Console
from rich.table import Table
from weights import qwen, smollm2

from quire.answer.models import Writer, Writers
from quire.answer.options import AnswerOptions, LlmOptions
from quire.answer.pipeline import Pipeline
from quire.compose import Services, books_folder, build, build_judge
from quire.errors import ModelError
from quire.evals.golden import GoldenQuestion, GoldenResult, read_golden, run_golden
from quire.ingest.pipeline import ingest
from quire.settings import Settings
from quire.testing.llama import LlamaServer

ROOT = Path(__file__).parent.parent
BOOK = ROOT / "examples" / "physical-ai"
GOLDEN = ROOT / "evals" / "golden" / "physical-ai.jsonl"
THREADS = int(os.environ.get("THREADS", "2"))
"""Of the model; more than there are free cores make it slower."""
CONTEXT = 1_000
"""Tokens of passages: a model on two cores reads 30 a second."""


class Remembering(Model):
    """Asks the model once, and gives the same events again when it is asked the same."""

    def __init__(self, model: Model) -> None:
        """Ask `model`."""
        self._model = model
        self._said: dict[str, list[TResponseStreamEvent]] = {}
        self._failed: dict[str, Exception] = {}

    async def get_response(self, *given: Any, **more: Any) -> ModelResponse:
        """Answer in one piece."""
        return await self._model.get_response(*given, **more)

    async def stream_response(
        self, *given: Any, **more: Any
    ) -> AsyncIterator[TResponseStreamEvent]:
        """Answer piece by piece."""
        key = hashlib.sha256(json.dumps(given[:2]).encode()).hexdigest()
        if key not in self._said:
            said = self._said.setdefault(key, [])
            try:
                async for event in self._model.stream_response(*given, **more):
                    said.append(event)
                    yield event
            except ModelError as error:  # cut off at the limit of tokens, say
                self._failed[key] = error
                raise
            return
        for event in self._said[key]:
            yield event
        if key in self._failed:
            raise self._failed[key]


@dataclass(frozen=True)
class Variant:
    """One way of answering."""

    name: str
    judge: str
    writers: Writers


async def asked(questions: list[GoldenQuestion], pipeline: Pipeline) -> list[GoldenResult]:
    """Give the answers; a question whose model failed has none."""
    results = []
    for question in questions:
        with suppress(ModelError):
            results += await run_golden([question], pipeline, None)
    return results


def row(
    variant: Variant, questions: list[GoldenQuestion], results: list[GoldenResult], *, timed: bool
) -> list[str]:
    """Sum up how the questions were answered."""
    covered = [one for one in results if one.question.kind != "uncovered"]
    wanted = sum(one.kind != "uncovered" for one in questions)
    uncovered = [one for one in results if one.question.kind == "uncovered"]
    answers = [one.answer for one in results]
    shown = sum(c.verdict in ("supported", "partly") for a in answers for c in a.claims)
    withheld = sum(len(answer.withheld) for answer in answers)
    asked = [a for a in answers if a.timings.answer_ms]
    tokens = [a.tokens_used for a in answers if a.tokens_used]
    return [
        variant.name,
        variant.judge,
        f"{sum(one.right for one in covered)} of {wanted}",
        f"{sum(not one.answer.confidence.should_answer for one in covered)}",
        str(len(questions) - len(results)),
        f"{sum(one.right for one in uncovered)} of {len(uncovered)}",
        str(shown + withheld),
        f"{shown} ({shown / max(1, shown + withheld):.0%})",
        str(withheld),
        f"{statistics.median(tokens):.0f}" if tokens else "–",
        f"{statistics.median(a.timings.answer_ms for a in asked) / 1000:.2f} s" if timed else "",
    ]


async def measure(weights: Path, name: str, data: Path, every: int) -> None:
    table = Table(
        "model", "judge", "right", "refused", "failed", "off-book refused", "sentences",
        "proven, shown", "withheld", "tokens", "time",
    )  # fmt: skip
    questions = read_golden(GOLDEN)[::every]
    with LlamaServer(weights, threads=THREADS, context=8_192) as server:
        llm = LlmOptions(
            base_url=server.url,
            temperature=0.0,
            max_tokens=300,
            first_token_seconds=900,
            idle_seconds=300,
            answer_seconds=1_800,
        )
        settings = Settings(
            data_dir=data,
            model=f"litellm/openai/{name},embedded",
            llm=llm,
            answer=AnswerOptions(context_tokens=CONTEXT),
        )
        invented: list[str] = []
        async with build(settings) as services:
            for variant in variants(services, name):
                pipeline = answering(services, variant)
                results = await asked(questions, pipeline)
                timed = variant.judge == "strict" and len(variant.writers.each) == 1
                table.add_row(*row(variant, questions, results, timed=timed))
                if variant.name == name and variant.judge == "strict":
                    invented = [c.text for one in results for c in one.answer.withheld]
                console = Console(width=150)
                console.print(table)
    console.print(f"\nWhat {name} wrote and no reader saw ({len(invented)} sentences), a few:")
    for text in invented[:12]:
        console.print(f"  - {' '.join(text.split())[:200]}", highlight=False, markup=False)


def variants(services: Services, name: str) -> list[Variant]:
    """Give the ways of answering; the model is really asked in the second only."""
    (writers,) = services.writers
    outside, embedded = writers.each
    model = Remembering(outside.model_for(None))  # type: ignore[arg-type]
    writer: Writer = replace(outside, name=name, model_for=lambda _: model)
    return [
        Variant("embedded", "strict", replace(writers, each=(embedded,))),
        Variant(name, "strict", replace(writers, each=(writer,))),
        Variant(name, "trained", replace(writers, each=(writer,))),
        Variant(f"{name}, embedded", "strict", replace(writers, each=(writer, embedded))),
    ]


def answering(services: Services, variant: Variant) -> Pipeline:
    """Wire the pipeline for one way of answering."""
    settings = services.settings
    options = settings.answer.model_copy(update={"judge": variant.judge})
    judge = build_judge(settings.model_copy(update={"answer": options}))
    return Pipeline(
        services.library, services.searcher, judge, services.threads, variant.writers, options
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=("qwen", "smollm2"))
    parser.add_argument("--every", type=int, default=1, help="ask only every n-th question")
    parser.add_argument("--weights", type=Path, default=Path(".models"))
    given = parser.parse_args()
    weights = smollm2() if given.model == "smollm2" else qwen(given.weights)
    with tempfile.TemporaryDirectory(prefix="quire-bench-") as folder:
        settings = Settings(data_dir=Path(folder))
        ingest(BOOK, books_folder(settings), build(settings).embedder)
        asyncio.run(measure(weights, given.model, Path(folder), given.every))


if __name__ == "__main__":
    main()
