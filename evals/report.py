"""Report files: JSON, Markdown and plots."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from citewell.version import __version__


def begin_report(out: Path, name: str, body: dict[str, Any]) -> tuple[Path, dict[str, Any]]:
    """Write the JSON of a report; return the stem of its files, and the JSON with its date."""
    now = datetime.now(UTC).replace(microsecond=0)
    stem = out / f"{name}-{now:%Y%m%d-%H%M%S}"
    out.mkdir(parents=True, exist_ok=True)
    body = {"set": name, "citewell": __version__, "measured_at": now.isoformat(), **body}
    stem.with_name(f"{stem.name}.json").write_text(json.dumps(body, indent=1) + "\n", "utf-8")
    return stem, body


def write_rows(stem: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write the results of single items as JSON lines."""
    with stem.with_name(f"{stem.name}.runs.jsonl").open("w", encoding="utf-8") as runs:
        for row in rows:
            runs.write(json.dumps(row, ensure_ascii=False) + "\n")


def pyplot_or_none() -> Any:
    """Return pyplot; `None` without the extra `bench`."""
    try:
        import matplotlib

        matplotlib.use("svg")
        from matplotlib import pyplot
    except ImportError:
        return None
    return pyplot


def markdown_table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return a Markdown table; `None` is an empty cell."""

    def line(cells: Sequence[object]) -> str:
        return "| " + " | ".join("" if c is None else str(c) for c in cells) + " |"

    return [line(head), "|---" * len(head) + "|", *map(line, rows), ""]
