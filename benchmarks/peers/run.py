"""Citewell and its peers with the same book, embedder and questions, in one run.

    make bench-peers
    make bench-peers PEERS='--pages 40 --only citewell --only txtai'

Every peer is a script beside this file that follows the peer's own guide, and runs in an
environment of its own, which is made from pinned packages and kept in `.peers` for the next run;
`--prepare` only makes them. All embed by the same weights. The book is OpenStax Anatomy and
Physiology with its authors' questions, one Markdown file a page, from the sets that CITEWELL_SHARED
names.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from figures import Measured, code_lines, installed_mb, markdown, shown
from rich.console import Console

from citewell.cli.options import shared_option
from citewell.models.embedder import prepare_granite
from evals.retrieval import CORPUS, Query, read_set, rows_of

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SET = "openstax-anatomy"
EMBEDDER = ("onnxruntime==1.31.1", "tokenizers==0.23.3", "numpy==2.4.6")
"""The shared embedder's requirements, in Citewell's locked versions."""
LONGEST = 3600
MADE = ".made"
"""A file that marks a complete environment."""
QUIET = {
    "ANONYMIZED_TELEMETRY": "False",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "HF_HUB_OFFLINE": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "ORT_DISABLE_TELEMETRY": "1",
}
"""Settings that disable telemetry and downloads."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A system, its script and its requirements."""

    name: str
    script: str
    packages: tuple[str, ...]
    first: tuple[str, ...] = ()
    """Installed first, because pip may have a smaller build of them."""


CITEWELL = Peer("Citewell", "citewell_search.py", ())
PEERS = (
    CITEWELL,
    Peer("LlamaIndex", "llamaindex.py", ("llama-index-core==0.14.25", *EMBEDDER)),
    Peer(
        "Haystack",
        "haystack_search.py",
        ("haystack-ai==3.4.0", "markdown-it-py==4.3.0", "mdit-plain==1.0.1", *EMBEDDER),
    ),
    Peer("txtai", "txtai_search.py", ("txtai==9.14.0", *EMBEDDER), first=("torch==2.13.0",)),
    Peer(
        "LangChain + Chroma",
        "langchain_chroma_search.py",
        (
            "langchain-chroma==1.1.0",
            "langchain-text-splitters==1.1.3",
            *EMBEDDER,
        ),
    ),
    Peer("PaperQA", "paperqa_search.py", ("paper-qa==2026.8.12", *EMBEDDER)),
)


def write_pages(source: Path, out: Path, limit: int | None) -> set[str]:
    """Write the book's pages, or the first ones, as Markdown files; return their names."""
    pages: dict[str, list[dict[str, Any]]] = {}
    for row in rows_of(source / CORPUS):
        pages.setdefault(row["page"], []).append(row)
    chosen = dict(list(pages.items())[:limit])
    out.mkdir()
    for name, sections in chosen.items():
        parts = [f"# {sections[0]['title']}"]
        for section in sections:
            heading = section["section"].rpartition(" > ")[2]
            text = section["text"].removeprefix(heading).strip()
            parts.append(f"## {heading}\n\n{text}")
        # Two blank lines are nothing to Markdown; txtai tells sections by them.
        (out / f"{name}.md").write_text("\n\n\n".join(parts) + "\n", "utf-8")
    return set(chosen)


def environment(peer: Peer, kept: Path) -> Path:
    """Return a peer's environment, created on first use."""
    lock = ROOT / "requirements.lock"
    parts = (lock.read_text("utf-8"),) if peer is CITEWELL else (*peer.first, *peer.packages)
    version = hashlib.sha256("\n".join((sys.version, *parts)).encode()).hexdigest()[:12]
    folder = kept.resolve() / f"{Path(peer.script).stem}-{version}"
    python = str(folder / "bin" / "python")
    # Copied, not linked: NLTK, which LlamaIndex loads, refuses files with a second name.
    uv = [sys.executable, "-m", "uv", "pip", "install", "-q", "--link-mode", "copy"]
    install = [*uv, "--python", python]
    if not (folder / MADE).exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        if peer.first:
            pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
            subprocess.run([*pip, *peer.first], check=True, stderr=subprocess.DEVNULL)
        wanted = ["--require-hashes", "-r", str(lock)] if peer is CITEWELL else parts
        subprocess.run([*install, *wanted], check=True)
        (folder / MADE).touch()
    if peer is CITEWELL:  # the code of today
        subprocess.run([*install, "--no-deps", "--reinstall", str(ROOT)], check=True)
    return folder


def measure(peer: Peer, made: Path, work: Path, asked: Sequence[Query]) -> Measured:
    """Run a peer's script in its environment."""
    store = work / Path(peer.script).stem
    store.mkdir()
    model = work / "models"
    # The weights are unpacked once for all; Citewell finds them where it would have put them.
    (store / "models").symlink_to(model)
    python, script = str(made / "bin" / "python"), str(HERE / peer.script)
    done = subprocess.run(
        [python, script, "book", str(store), "questions.json"],
        cwd=work,
        env=os.environ | QUIET | {"PEERS_MODEL": str(next(model.iterdir())), "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    if done.returncode:
        raise click.ClickException(f"{peer.name} failed:\n{done.stderr[-2000:]}")
    measured = Measured(
        name=peer.name,
        gold=[query.pages for query in asked],
        install_mb=installed_mb(made),
        lines=code_lines(HERE / peer.script),
        **json.loads(done.stdout.splitlines()[-1]),
    )
    shutil.rmtree(store)
    return measured


@click.command()
@shared_option
@click.option("--pages", type=click.IntRange(1), help="Take only the first pages of the book.")
@click.option("--only", multiple=True, help="Measure only this system; may be repeated.")
@click.option("--out", type=click.Path(path_type=Path), help="File for the figures, as Markdown.")
@click.option("--prepare", is_flag=True, help="Make the environments, and measure nothing.")
@click.option(
    "--environments",
    type=click.Path(path_type=Path),
    default=ROOT / ".peers",
    help="Folder that environments are kept in; 3 GB.",
)
def main(
    shared: Path,
    pages: int | None,
    only: tuple[str, ...],
    out: Path | None,
    prepare: bool,
    environments: Path,
) -> None:
    """Measure Citewell and its peers, and print the results."""
    console = Console(width=140)
    source = shared / "data" / "retrieval" / SET
    if not (source / CORPUS).is_file():
        console.print(f"Skipped: {source} holds no {CORPUS}; set CITEWELL_SHARED.", soft_wrap=True)
        return
    chosen = [one for one in PEERS if not only or one.name.lower() in map(str.lower, only)]
    made = {peer: environment(peer, environments) for peer in chosen}
    if prepare:
        return
    work = Path(tempfile.mkdtemp(prefix="citewell-peers-"))
    measured = []
    try:
        names = write_pages(source, work / "book", pages)
        asked = [q for q in read_set(source).queries if q.answerable and q.pages <= names]
        texts = [query.text for query in asked]
        (work / "questions.json").write_text(json.dumps(texts), "utf-8")
        prepare_granite(work / "models")
        for peer in chosen:
            console.print(f"{peer.name} …")
            measured.append(measure(peer, made[peer], work, asked))
            if out:  # after each: a run takes long, and what was measured should not be lost
                out.write_text(markdown(measured), "utf-8")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    console.print(shown(measured, f"{len(names)} pages, {len(asked)} questions"))


if __name__ == "__main__":
    main()
