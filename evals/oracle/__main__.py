"""`make oracle`: record the behaviour of the product and compare it with the stored records."""

import argparse
import json
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

from evals.oracle import records, standin, transcripts
from evals.oracle.compare import report
from evals.oracle.normal import Normal
from evals.oracle.product import REPOSITORY, Product

FOLDER = REPOSITORY / ".oracle"
MODEL = {"pad-01", "pad-21", "pad-29", "selection", "hello", "chapters"}
"""Cases that are also run with a language model."""
Records = Iterator[tuple[str, Any]]


def answers(home: Path) -> Records:
    """Yield the records of answers about the sample book, which depend on their order."""
    product, figures = Product(home), {}
    dev, odd = (transcripts.cases_of(path) for path in (transcripts.GOLDEN, transcripts.ODD))
    yield "revisions-sample", records.sample_record(product)
    with product.serving(cache__answers="0") as client:
        cases = [*dev, *odd]
        for name, contract in transcripts.CONTRACTS.items():
            yield f"http-{name}", transcripts.contract_record(client, contract, cases)
        yield "http-completions", transcripts.completions_record(client, cases)
        yield "http-reads", transcripts.reads_record(client)
        yield "mcp-http", transcripts.mcp_record(transcripts.over_http(client), dev)
        yield from records.openapi_records(client.get("/openapi.json").json()).items()
        figures["answers"] = records.metrics_of(client.get("/metrics").text)
    yield "mcp-stdio", transcripts.stdio_record(product, dev[:2])
    for tools in ("no", "yes"):
        some = [one for one in cases if one.id in MODEL]
        yield f"http-model-tools-{tools}", _with_model(product, some, tools)
    yield "verdicts", records.verdicts_record(product)
    yield "rewriter", records.rewriter_record(product)
    yield "cli-output", records.commands_record(product)
    yield "http-keys", _with_keys(product, figures)
    yield "metrics", figures
    yield "schema-sqlite", records.sqlite_record(product)


def _with_model(product: Product, cases: list[transcripts.Case], tools: str) -> dict[str, Any]:
    """Return the answers of a language model, and the requests that it received."""
    chat, found = transcripts.CONTRACTS["chat"], {}
    settings = {"model": "openai/oracle", "llm__api_key": "none", "llm__tools": tools}
    with (
        standin.running() as (url, asked),
        product.serving(llm__base_url=url, **settings) as client,
    ):
        for case in cases:
            asked.clear()
            reply = transcripts.ask(client, chat, case, chat.streamed)
            found[case.id] = Normal().record({"reply": reply, "asked": list(asked)})
    return found


def _with_keys(product: Product, figures: dict[str, Any]) -> dict[str, Any]:
    """Return records of a service with keys and a cache."""
    secret = product.run("keys", "create", "oracle", "--scope", "admin", "--scope", "ask").out
    chat, found = transcripts.CONTRACTS["chat"], {}
    keys = {"none": "", "wrong": "wrong", "right": secret.strip(), "again": secret.strip()}
    with product.serving(access__mode="keys") as client:
        for name, key in keys.items():
            headers = {"authorization": f"Bearer {key}"} if key else {}
            for path in (chat.whole, chat.streamed):
                reply = client.post(path, json={"message": "What is SLAM?"}, headers=headers)
                found[f"{name} {path}"] = Normal().record(transcripts.said(reply))
        figures["keys"] = records.metrics_of(client.get("/metrics", headers=headers).text)
    return found


def others(home: Path) -> Records:
    """Yield the other records: books, help texts, settings and PostgreSQL's schema."""
    product = Product(home)
    yield "settings", records.settings_record(product)
    yield from records.help_records(product).items()
    yield "schema-postgresql", records.postgres_record(product)
    with standin.running() as (url, _):
        yield "revisions-shared", records.shared_record(product, url)


def write(found: Records, folder: Path) -> None:
    """Write each record when it is complete."""
    for name, record in found:
        text = json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False)
        (folder / f"{name}.json").write_text(f"{text}\n", "utf-8")
        print(f"  {name}", flush=True)


def main() -> int:
    """Record and compare; store the records with `--keep`."""
    parser = argparse.ArgumentParser(prog="python -m evals.oracle", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="take what is recorded as kept")
    keep = parser.parse_args().keep
    begun, new, kept = monotonic(), FOLDER / "new", FOLDER / "kept"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    with TemporaryDirectory(prefix="oracle-") as folder, ThreadPoolExecutor(2) as pool:
        homes = [(answers, Path(folder, "a")), (others, Path(folder, "b"))]
        for done in [pool.submit(write, found(home), new) for found, home in homes]:
            done.result()
    print(f"Recorded in {monotonic() - begun:.0f} s: {new}")
    differ = report(kept, new) if kept.exists() else []
    print(
        "\n".join(differ) if differ else "Nothing differs." if kept.exists() else "None kept yet."
    )
    if keep:
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(new, kept)
        print(f"Kept: {kept}")
    return int(bool(differ) and not keep)


if __name__ == "__main__":
    sys.exit(main())
