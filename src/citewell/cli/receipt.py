"""`citewell receipt ID`."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import click
from rich.console import Console

from citewell.answer.record import PassageRecord, Receipt
from citewell.cli.options import data_option, settings_from
from citewell.cli.terminal import print_line
from citewell.conversation import ANY_OWNER
from citewell.domain import Claim, Prefix
from citewell.settings import Settings
from citewell.wiring import wire_services

PrintLine = Callable[..., None]


@click.command()
@click.argument("answer_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, as the HTTP API returns it.")
@data_option
def command(answer_id: str, as_json: bool, data_dir: Path | None) -> None:
    """Show the full record of the answer ID: question, passages, claims and citations."""
    receipt = asyncio.run(_read(settings_from(data_dir), answer_id))
    if as_json:
        from citewell.api.routes.answers import receipt_to_wire

        click.echo(receipt_to_wire(receipt).model_dump_json(indent=1))
    else:
        _print_receipt(receipt, Console())


async def _read(settings: Settings, answer_id: str) -> Receipt:
    async with wire_services(settings) as services:
        return await services.receipts.read(answer_id, owner=ANY_OWNER)


def _print_receipt(receipt: Receipt, console: Console) -> None:
    show = partial(print_line, console)
    show(receipt.question, "bold")
    if receipt.standalone_question != receipt.question:
        show(f"searched for as “{receipt.standalone_question}”", "dim")
    show("\n" + receipt.text)
    if receipt.claims or receipt.withheld:
        show("\nClaims", "bold")
    for claim in receipt.claims:
        _print_claim(claim, show)
    for claim in receipt.withheld:
        _print_claim(claim, show, note="withheld, ")
    show("\nPassages", "bold")
    _print_passages(receipt.passages, show)
    _print_facts(receipt, show)


def _print_claim(claim: Claim, show: PrintLine, note: str = "") -> None:
    decided = ", ".join(part for part in (claim.decided_by, claim.reason) if part)
    by = f" by {decided}" if decided else ""
    show(f"  {note}{claim.verdict}{by} ({claim.probability:.2f}): {' '.join(claim.text.split())}")
    for citation in claim.citations:
        show(f"      [{citation.number}] “{' '.join(citation.quote.split())}”", "italic")
        show(f"      {citation.url or 'the reader’s own text'}", "dim")


def _print_passages(passages: Sequence[PassageRecord], show: PrintLine) -> None:
    for passage in passages:
        origin = "" if passage.searched else ", opened by the model or by name"
        unused = "" if passage.used else ", below the threshold"
        show(
            f"  {passage.rank}. {passage.chapter} › {passage.section}  similarity "
            f"{passage.similarity:.3f}, cosine {passage.cosine:.3f}{origin}{unused}"
        )
        show(f"     {passage.chunk_id}", "dim")


def _print_facts(receipt: Receipt, show: PrintLine) -> None:
    confidence, timings = receipt.confidence, receipt.timings
    filters = [
        f"{name}^={value.text}" if isinstance(value, Prefix) else f"{name}={value}"
        for name, values in receipt.filters.by_field.items()
        for value in values
    ]
    show(
        f"\n{receipt.status} ({receipt.state}), confidence {confidence.level}: "
        f"average {confidence.average_similarity:.3f}, min {confidence.min_similarity:.3f}, "
        f"max {confidence.max_similarity:.3f}, "
        f"{confidence.num_chunks} passages, diversity {confidence.chunk_diversity:.3f}, "
        f"answerability {confidence.answerability:.3f}"
    )
    show(
        f"{receipt.book}, revision {receipt.revision}; {receipt.mode}, top_k {receipt.top_k}, "
        f"threshold {receipt.threshold}" + (f", only in {'; '.join(filters)}" if filters else "")
    )
    show(
        f"model {receipt.model}, instructions {receipt.instructions}; "
        f"{receipt.created_at:%Y-%m-%d %H:%M:%S} UTC, {timings.total_ms:.0f} ms "
        f"(retrieve {timings.retrieve_ms:.0f}, answer {timings.answer_ms:.0f}, "
        f"verify {timings.verify_ms:.0f})"
    )
    show(f"answer {receipt.id} of conversation {receipt.thread_id}", "dim")
