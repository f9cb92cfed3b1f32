"""Golden questions with the embedded model and a local language model.

    make bench-models                 # Qwen2.5-Coder-1.5B; downloads 1.1 GB once
    make bench-models MODEL=smollm2   # SmolLM2-135M, from the development dependencies

The local model runs in llama.cpp's server on loopback and is reached through LiteLLM. Its words are
kept on disk, so that every judge sees the same ones, and that a run can be made in several sittings
(`MINUTES=9`). Times are of the machine it runs on. All that was said is put into a file beside the
weights, to be read by someone.
"""

import argparse
import asyncio
import os
import random
import statistics
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from remembering import Remembering
from rich.console import Console
from rich.table import Table
from weights import qwen, smollm2

from citewell.answer.models import AnswerModel, ModelChain
from citewell.answer.pipeline import Pipeline
from citewell.errors import ModelError
from citewell.ingest.pipeline import ingest
from citewell.options import AnswerOptions, LlmOptions
from citewell.settings import Settings
from citewell.wiring import Services, books_folder, build_judge, wire_services
from evals.golden import GoldenQuestion, GoldenResult, read_golden, run_golden
from tests.servers.llama import LlamaServer

ROOT = Path(__file__).parent.parent
BOOK = ROOT / "examples" / "physical-ai"
GOLDEN = ROOT / "evals/data/golden"
THREADS = int(os.environ.get("THREADS", "2"))
"""The model's threads; more than the free cores make it slower."""
CONTEXT = 500
"""Tokens of passages, because a model on two cores reads 30 per second."""
SEED = 7
LIMITS = LlmOptions(
    temperature=0.0,
    max_tokens=120,
    first_token_seconds=600,
    idle_seconds=120,
    answer_seconds=1_200,
    break_after=1_000,
)


@dataclass(frozen=True)
class Variant:
    """A combination of models and a judge."""

    name: str
    judge: str
    writers: ModelChain


def sample() -> list[GoldenQuestion]:
    """Return covered questions of the plain set, some others, and uncovered ones of the hard set.

    In an order of chance, always the same, so that those asked first are a sample too.
    """
    plain = read_golden(GOLDEN / "physical-ai.jsonl")
    covered = [one for one in plain if one.kind == "covered"][::3]
    followups = [one for one in plain if one.kind == "followup"][::2]
    uncovered = [one for one in plain if one.kind == "uncovered"]
    hard = read_golden(GOLDEN / "physical-ai-hard.jsonl")
    near = [replace(one, id=f"hard-{one.id}") for one in hard if one.kind == "uncovered"]
    chosen = covered + followups + uncovered + near
    return random.Random(SEED).sample(chosen, len(chosen))


async def asked(questions: Sequence[GoldenQuestion], pipeline: Pipeline) -> list[GoldenResult]:
    """Return the answers; a question has none if its model failed."""
    results = []
    for question in questions:
        with suppress(ModelError):
            results += await run_golden([question], pipeline, None)
    return results


async def ask_on(
    questions: Sequence[GoldenQuestion], pipeline: Pipeline, model: Remembering
) -> list[GoldenQuestion]:
    """Run the model within the time limit; return the answered questions."""
    reached: list[GoldenQuestion] = []
    for question in questions:
        model.was_late = False
        await asked([question], pipeline)
        if not model.was_late:
            reached.append(question)
        print(f"{len(reached)} of {len(questions)}, {model.asked_seconds:.0f} s", file=sys.stderr)
    return reached


def row(
    variant: Variant, questions: Sequence[GoldenQuestion], results: Sequence[GoldenResult]
) -> list[str]:
    """Summarize the answers."""
    covered = [one for one in results if one.question.kind != "uncovered"]
    wanted = sum(one.kind != "uncovered" for one in questions)
    uncovered = [one for one in results if one.question.kind == "uncovered"]
    answers = [one.answer for one in results]
    shown = sum(c.verdict in ("supported", "partly") for a in answers for c in a.claims)
    withheld = sum(len(answer.withheld) for answer in answers)
    return [
        variant.name,
        variant.judge,
        f"{sum(one.right for one in covered)} of {wanted}",
        f"{sum(one.answer.status != 'answered' for one in covered)}",
        str(len(questions) - len(results)),
        f"{sum(one.right for one in uncovered)} of {len(uncovered)}",
        str(shown + withheld),
        f"{shown} ({shown / max(1, shown + withheld):.0%})",
        str(withheld),
    ]


def costs(variant: Variant, results: Sequence[GoldenResult], model: Remembering) -> list[str]:
    """Return the median input tokens, output tokens and seconds per call."""
    if len(variant.writers.models) > 1 or variant.judge != "strict":
        return ["", ""]  # the same words as in the row above
    if variant.name == "embedded":
        taken = [one.answer.timings.answer_ms for one in results if one.answer.timings.answer_ms]
        return ["–", f"{statistics.median(taken):.0f} ms" if taken else "–"]
    said = list(model.said.values())
    if not said:
        return ["–", "–"]
    read, written = (statistics.median(one.tokens[side] for one in said) for side in (0, 1))
    return [f"{read:.0f} + {written:.0f}", f"{statistics.median(s.seconds for s in said):.0f} s"]


async def measure(weights: Path, name: str, data: Path, given: argparse.Namespace) -> None:
    table = Table(
        "model", "judge", "right", "refused", "failed", "off-book refused", "sentences",
        "proven, shown", "withheld", "tokens", "time",
    )  # fmt: skip
    questions = sample()[:: given.every]
    with LlamaServer(weights, threads=THREADS, context=4_096) as server:
        settings = Settings(
            data_dir=data,
            model=f"litellm/openai/{name},embedded",
            llm=LIMITS.model_copy(update={"base_url": server.url}),
            answer=AnswerOptions(context_tokens=CONTEXT),
        )
        async with wire_services(settings) as services:
            kept = given.weights / "said" / name
            model, each = variants(services, name, kept, 60 * given.minutes)
            # What was shown before is part of a follow-up's prompt, so each may ask for more.
            for pipeline in (answering(services, variant) for variant in each[1:]):
                questions = await ask_on(questions, pipeline, model)
            read = ""
            for variant in each:
                results = await asked(questions, answering(services, variant))
                table.add_row(*row(variant, questions, results), *costs(variant, results, model))
                read += "\n".join(written(variant, one) for one in results)
    Console(width=170).print(table)
    said = sum(one.seconds for one in model.said.values())
    print(f"{len(questions)} of {len(sample()[:: given.every])} questions, the rest by running it")
    print(f"again; {name} was asked {len(model.said)} times, in {said:.0f} s.")
    (given.weights / f"{name}.md").write_text(read)


def written(variant: Variant, result: GoldenResult) -> str:
    """Format one answer: the shown sentences with their quotes, and the withheld ones."""
    answer = result.answer
    lines = [f"## {variant.name}, {variant.judge}: {result.question.id} {answer.question}"]
    lines += [f"{'right' if result.right else f'wrong: {result.reason}'}; {answer.model}", ""]
    for claim in answer.claims:
        quotes = " … ".join(citation.quote for citation in claim.citations)
        lines.append(f"- {claim.verdict}: {claim.text}\n    - “{quotes}”")
    lines += [f"- WITHHELD: {' '.join(claim.text.split())}" for claim in answer.withheld]
    return "\n".join([*lines, ""])


def variants(
    services: Services, name: str, kept: Path, seconds: float = 1e9
) -> tuple[Remembering, list[Variant]]:
    """Return the combinations."""
    (writers,) = services.model_chains
    outside, embedded = writers.models
    model = Remembering(outside.model_factory(None), kept, seconds)  # type: ignore[arg-type]
    writer: AnswerModel = replace(outside, name=name, model_factory=lambda _: model)
    return model, [
        Variant("embedded", "strict", replace(writers, each=(embedded,))),
        Variant(name, "strict", replace(writers, each=(writer,))),
        Variant(name, "trained", replace(writers, each=(writer,))),
        Variant(f"{name}, embedded", "strict", replace(writers, each=(writer, embedded))),
    ]


def answering(services: Services, variant: Variant) -> Pipeline:
    """Build the pipeline for one combination."""
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
    parser.add_argument("--minutes", type=float, default=1e9, help="ask no longer at a sitting")
    parser.add_argument("--weights", type=Path, default=Path(".models"))
    given = parser.parse_args()
    weights = smollm2() if given.model == "smollm2" else qwen(given.weights)
    with tempfile.TemporaryDirectory(prefix="citewell-bench-") as folder:
        settings = Settings(data_dir=Path(folder))
        ingest(BOOK, books_folder(settings), wire_services(settings).embedder)
        asyncio.run(measure(weights, given.model, Path(folder), given))


if __name__ == "__main__":
    main()
