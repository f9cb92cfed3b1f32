"""`python -m evals grounding`, `adversarial` and `scripted`: evaluate verification."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click
from pydantic import SecretStr
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from citewell.cli.options import book_option, data_option, settings_from, shared_option
from citewell.ports import Judge
from citewell.settings import Settings
from citewell.wiring import books_folder, build_embedder, build_judge, build_library, wire_services
from evals import adversarial as lies
from evals import scripted as scripts
from evals.answering import (
    Replied,
    ask_set,
    write_confidence_report,
)
from evals.answering import (
    figures as confidence_figures,
)
from evals.grounding import (
    DATA,
    GroundingSet,
    Judged,
    judge_examples,
    judge_name,
    judge_threshold,
    read_grounding,
)
from evals.grounding_report import (
    SHOWN,
    figures,
    write_grounding_report,
    write_plain_report,
)
from evals.retrieval import CORPUS, QuestionSet, read_set, write_book
from evals.sets import find_sets

if TYPE_CHECKING:
    from citewell.answer.models import ModelFactory


OUT = click.option("--out", type=click.Path(path_type=Path), help="Folder of the reports.")
LIMIT = click.option("--limit", type=click.IntRange(1), help="Take a random sample of this size.")


@click.command()
@click.argument("sets", nargs=-1)
@LIMIT
@shared_option
@OUT
@data_option
def grounding(
    *,
    sets: tuple[str, ...],
    limit: int | None,
    shared: Path,
    out: Path | None,
    data_dir: Path | None,
) -> None:
    """Check the claims of labelled SETS and report how well what is unsupported is found.

    A set is a folder with `data.jsonl`, or the name of one in the shared folder; without SETS all
    of those are taken.
    """
    settings = settings_from(data_dir)
    judge = build_judge(settings)
    console = Console()
    rows = []
    for folder in find_sets(sets, shared / "data" / "grounding", DATA):
        asked = read_grounding(folder, limit)
        results = _judged(asked, judge, console)
        seen = figures(results, judge_threshold(judge))
        page = write_grounding_report(
            out or settings.data_dir / "reports", asked, judge_name(judge), results, seen
        )
        console.print(str(page), markup=False, highlight=False, soft_wrap=True)
        rows.append((asked.name, _cells(seen)))
    console.print(f"judge {judge_name(judge)}", markup=False, highlight=False)
    print_figures(console, rows)


def _judged(asked: GroundingSet, judge: Judge, console: Console) -> list[Judged]:
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(f"Judging {asked.name}", total=len(asked.examples))
        return judge_examples(
            asked.examples, judge, lambda done, _: bar.update(task, completed=done)
        )


def _cells(seen: dict[str, Any]) -> dict[str, str]:
    cells = {name: seen["judge"][name] for name in SHOWN}
    cells |= {f"as shown: {name}": seen["as_shown"][name] for name in ("precision", "recall", "f1")}
    cells |= {
        "floor: auroc": seen["floor"]["auroc"],
        "span f1": seen["spans"] and seen["spans"]["f1"],
        "ms p50": seen["ms_p50"],
        "ms p95": seen["ms_p95"],
    }
    return {name: "" if value is None else str(value) for name, value in cells.items()}


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--show", is_flag=True, help="Print what was missed in the dev half.")
@book_option
@OUT
@data_option
def adversarial(
    *, path: Path, show: bool, book: str | None, out: Path | None, data_dir: Path | None
) -> None:
    """Judge the altered claims of the set at PATH, and their true twins."""
    settings = settings_from(data_dir)
    judge, library = build_judge(settings), build_library(settings)
    items = lies.read_adversarial(path)
    console = Console()
    try:
        with Progress(console=console, transient=True) as bar:
            task = bar.add_task("Judging", total=len(items))
            tried = lies.try_all(
                items, library.open(book), judge, lambda done, _: bar.update(task, completed=done)
            )
    finally:
        library.close()
    for one in tried:
        # What is missed in the test half stays unseen, or it would be tuned to.
        if show and one.item.half == "dev" and not one.caught:
            console.print(f"{one.item.id} ({one.item.kind}): {one.item.altered}", highlight=False)
    seen = lies.figures(tried)
    rows = list(_rows(seen))
    _print(console, rows, f"judge {judge_name(judge)}")
    page = write_plain_report(
        out or settings.data_dir / "reports",
        f"adversarial-{path.stem}",
        f"Altered claims: {path.stem}",
        [lies.row_of(one) for one in tried],
        seen,
        rows,
        judge=judge_name(judge),
    )
    console.print(f"{page}")


def _rows(seen: dict[str, Any]) -> list[list[str]]:
    rows = [["half", "kind", "altered caught", "twins kept", "of them reworded", "AUROC"]]
    for half, kinds in seen.items():
        for kind, one in kinds.items():
            kept = f"{one['reworded_kept']}/{one['reworded']}"
            caught = f"{one['caught']}/{one['items']}"
            rows.append([half, kind, caught, f"{one['kept']}/{one['items']}", kept, one["auroc"]])
    return [[str(cell) for cell in row] for row in rows]


def _print(console: Console, rows: list[list[str]], title: str) -> None:
    table = Table(*rows[0], title=title)
    for row in rows[1:]:
        table.add_row(*row, end_section=row[1] == "all")
    console.print(table)


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--half", type=click.Choice(lies.HALVES), default="test", show_default=True, help="Which half."
)
@LIMIT
@click.option("--at-most", type=float, help="Fail if a larger share of what is false is shown.")
@book_option
@OUT
@data_option
def scripted(  # noqa: PLR0913 - one for each option
    *,
    path: Path,
    half: lies.Half,
    limit: int | None,
    at_most: float | None,
    book: str | None,
    out: Path | None,
    data_dir: Path | None,
) -> None:
    """Run a scripted model that mixes true, altered and invented sentences; count those shown."""
    settings = settings_from(data_dir)
    items = [item for item in lies.read_adversarial(path) if item.half == half]
    console = Console()
    played = asyncio.run(_play(settings, items, book, limit, console))
    seen = scripts.figures(played)
    rows = [["what", "sentences", "shown", "with the right quote"]]
    rows += [[truth, *map(str, seen[truth].values())] for truth in scripts.TRUTHS]
    judge = judge_name(build_judge(settings))
    _print(console, rows, f"{seen['answers']} answers, judge {judge}")
    console.print(
        f"false sentences shown: {seen['false_shown']} of {seen['false_sentences']} "
        f"({seen['false_shown_share']:.1%}); shown without a verdict: {seen['without_verdict']}",
        highlight=False,
    )
    page = write_plain_report(
        out or settings.data_dir / "reports",
        f"scripted-{path.stem}-{half}",
        f"A scripted model: {path.stem}, {half}",
        [scripts.row_of(one) for one in played],
        seen,
        rows,
        judge=judge,
    )
    console.print(f"{page}")
    sys.exit(int(at_most is not None and seen["false_shown_share"] > at_most))


async def _play(
    settings: Settings,
    items: list[lies.Alteration],
    book: str | None,
    limit: int | None,
    console: Console,
) -> list[scripts.Played]:
    from tests.servers.scripted import reads_then_writes

    on_stage: list[scripts.Script] = []
    model: ModelFactory = lambda _: reads_then_writes(on_stage[-1].sections, on_stage[-1].write)  # noqa: E731
    played = []
    with TemporaryDirectory() as folder, Progress(console=console, transient=True) as bar:
        # What a lying model was asked is no conversation of the reader's.
        store = {"database_url": SecretStr(f"sqlite+aiosqlite:///{folder}/threads.db")}
        wired = wire_services(settings.model_copy(update=store), model=("scripted", model))
        async with wired as services:
            written = scripts.write_scripts(items, services.library.open(book))[:limit]
            for script in bar.track(written, description="Answering"):
                on_stage.append(script)
                played.append(await scripts.play(script, services.answerer, book))
    return played


@click.command()
@click.argument("sets", nargs=-1)
@click.option("--queries", default="queries.jsonl", show_default=True, help="File of questions.")
@LIMIT
@shared_option
@OUT
@data_option
def confidence(
    *,
    sets: tuple[str, ...],
    queries: str,
    limit: int | None,
    shared: Path,
    out: Path | None,
    data_dir: Path | None,
) -> None:
    """Ask every question of labelled SETS and compare what is said of each answer with the truth.

    A set is a folder with `corpus.jsonl` and `queries.jsonl`, or the name of one in the shared
    folder; without SETS all of those are taken.
    """
    settings = settings_from(data_dir)
    console = Console()
    rows = []
    for folder in find_sets(sets, shared / "data" / "retrieval", CORPUS):
        asked = read_set(folder, queries, limit)
        replies = ask_all(settings, folder, asked, console)
        seen = confidence_figures(replies)
        page = write_confidence_report(out or settings.data_dir / "reports", asked, replies, seen)
        console.print(str(page), markup=False, highlight=False, soft_wrap=True)
        shown = {name: str(value) for name, value in seen.items() if name != "reliability"}
        rows.append((asked.name, shown))
    print_figures(console, rows)


def ask_all(
    settings: Settings, folder: Path, asked: QuestionSet, console: Console
) -> list[Replied]:
    """Ingest the set's book if necessary, and ask every question."""
    # Imported here: the readers of every format take a while to load.
    from citewell.ingest.pipeline import ingest

    book = f"bench-{asked.name}"
    source = write_book(folder, settings.data_dir / "bench" / asked.name)
    ingest(
        source, books_folder(settings), build_embedder(settings), book=book, options=settings.ingest
    )

    async def run() -> list[Replied]:
        with Progress(console=console, transient=True) as bar:
            task = bar.add_task(f"Asking {asked.name}", total=len(asked.queries))
            async with wire_services(settings) as services:
                return await ask_set(
                    asked,
                    services.answerer,
                    book,
                    lambda done, _: bar.update(task, completed=done),
                )

    return asyncio.run(run())


WIDE = 160
"""The minimum terminal width for a table."""


def print_figures(console: Console, rows: Sequence[tuple[str, Mapping[str, str]]]) -> None:
    """Print a table in a wide terminal, or else `name: value` lines."""
    if rows and console.is_terminal and console.width >= WIDE:
        table = Table("set", *rows[0][1])
        for name, figures in rows:
            table.add_row(name, *figures.values())
        console.print(table)
        return
    for name, figures in rows:
        console.print(f"\n{name}", markup=False, highlight=False, soft_wrap=True)
        for figure, value in figures.items():
            if value:
                line = f"  {figure}: {value}"
                console.print(line, markup=False, highlight=False, soft_wrap=True)
