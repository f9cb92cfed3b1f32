"""`citewell receipt ID`."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from citewell.answer.record import PassageRecord, Receipt
from citewell.cli.options import data_option, settings_from
from citewell.conversation import ANY_OWNER
from citewell.domain import Claim, Prefix
from citewell.settings import Settings
from citewell.wiring import wire_services


@click.command()
@click.argument("answer_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print it for machines, as the service does.")
@data_option
def command(answer_id: str, as_json: bool, data_dir: Path | None) -> None:
    """Show the full record of the answer ID: what was asked, found, claimed and proven."""
    receipt = asyncio.run(_read(settings_from(data_dir), answer_id))
    if as_json:
        from citewell.api.routes.answers import receipt_to_wire

        click.echo(receipt_to_wire(receipt).model_dump_json(indent=1))
    else:
        print_receipt(receipt, Console())


async def _read(settings: Settings, answer_id: str) -> Receipt:
    async with wire_services(settings) as services:
        return await services.receipts.read(answer_id, owner=ANY_OWNER)


def print_receipt(receipt: Receipt, console: Console) -> None:
    """Print a record for a reader."""
    say = _Say(console)
    say(receipt.question, "bold")
    if receipt.standalone_question != receipt.question:
        say(f"searched for as “{receipt.standalone_question}”", "dim")
    say("\n" + receipt.text)
    if receipt.claims or receipt.withheld:
        say("\nClaims", "bold")
    for claim in receipt.claims:
        _print_claim(claim, say)
    for claim in receipt.withheld:
        _print_claim(claim, say, note="withheld, ")
    say("\nPassages", "bold")
    _print_passages(receipt.passages, say)
    _print_facts(receipt, say)


class _Say:
    """Prints one line of plain text, whatever brackets it has."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def __call__(self, line: str, style: str = "") -> None:
        self._console.print(Text(line, style=style), soft_wrap=True)


def _print_claim(claim: Claim, say: _Say, note: str = "") -> None:
    say(f"  {note}{claim.verdict} ({claim.probability:.2f}): {' '.join(claim.text.split())}")
    for citation in claim.citations:
        say(f"      [{citation.number}] “{' '.join(citation.quote.split())}”", "italic")
        say(f"      {citation.url or 'the reader’s own text'}", "dim")


def _print_passages(passages: Sequence[PassageRecord], say: _Say) -> None:
    for passage in passages:
        found = "" if passage.searched else ", opened by the model or by name"
        unused = "" if passage.used else ", below the threshold"
        say(
            f"  {passage.rank}. {passage.chapter} › {passage.section}  similarity "
            f"{passage.similarity:.3f}, cosine {passage.cosine:.3f}{found}{unused}"
        )
        say(f"     {passage.chunk_id}", "dim")


def _print_facts(receipt: Receipt, say: _Say) -> None:
    confidence, timings = receipt.confidence, receipt.timings
    filters = [
        f"{name}^={one.text}" if isinstance(one, Prefix) else f"{name}={one}"
        for name, values in receipt.filters.by_field.items()
        for one in values
    ]
    say(
        f"\n{receipt.status} ({receipt.state}), confidence {confidence.level}: "
        f"average {confidence.average_similarity:.3f}, min {confidence.min_similarity:.3f}, "
        f"max {confidence.max_similarity:.3f}, "
        f"{confidence.num_chunks} passages, diversity {confidence.chunk_diversity:.3f}, "
        f"answerability {confidence.answerability:.3f}"
    )
    say(
        f"{receipt.book}, revision {receipt.revision}; {receipt.mode}, top_k {receipt.top_k}, "
        f"threshold {receipt.threshold}" + (f", only in {'; '.join(filters)}" if filters else "")
    )
    say(
        f"model {receipt.model}, instructions {receipt.instructions}; "
        f"{receipt.created_at:%Y-%m-%d %H:%M:%S} UTC, {timings.total_ms:.0f} ms "
        f"(retrieve {timings.retrieve_ms:.0f}, answer {timings.answer_ms:.0f}, "
        f"verify {timings.verify_ms:.0f})"
    )
    say(f"answer {receipt.id} of conversation {receipt.thread_id}", "dim")
