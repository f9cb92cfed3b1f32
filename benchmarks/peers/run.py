"""One book, one embedder, the same questions, through Quire and its peers, in one run.

    make bench-peers
    make bench-peers PEERS='--pages 40 --only quire --only txtai'

Every peer is a script beside this file that follows the peer's own guide, and runs in an
environment of its own, which is made from pinned packages and thrown away. All embed by the same
weights. The book is OpenStax Anatomy and Physiology with its authors' questions, one Markdown file
a page, from the sets that QUIRE_SHARED names.
"""

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

from quire.cli.options import shared_option
from quire.evals.retrieval import CORPUS, Query, read_set, rows_of
from quire.index.granite import prepare_granite

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SET = "openstax-anatomy"
EMBEDDER = ("onnxruntime==1.31.1", "tokenizers==0.23.3", "numpy==2.4.6")
"""What the shared embedder needs, at the versions that Quire is locked to."""
LONGEST = 3600
QUIET = {
    "ANONYMIZED_TELEMETRY": "False",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "HF_HUB_OFFLINE": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "ORT_DISABLE_TELEMETRY": "1",
}
"""No peer calls anyone while it is measured."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A system, the script that uses it, and what its environment is made of."""

    name: str
    script: str
    packages: tuple[str, ...]
    first: tuple[str, ...] = ()
    """Installed before the others by pip, which may have a smaller build of them."""


QUIRE = Peer("Quire", "quire_search.py", ())
PEERS = (
    QUIRE,
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
    """Write the book, a Markdown file a page, or its first pages; give their names."""
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


def make_environment(peer: Peer, folder: Path) -> Path:
    """Make the environment of a peer, and give its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    if peer.first:
        pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, *peer.first], check=True, stderr=subprocess.DEVNULL)
    # Copied, not linked: NLTK, which LlamaIndex loads, refuses files with a second name.
    uv = [sys.executable, "-m", "uv", "pip", "install", "-q", "--link-mode", "copy"]
    install = [*uv, "--python", str(python)]
    if peer is QUIRE:
        lock = str(ROOT / "requirements.lock")
        subprocess.run([*install, "--require-hashes", "-r", lock], check=True)
        subprocess.run([*install, "--no-deps", str(ROOT)], check=True)
    else:
        subprocess.run([*install, *peer.first, *peer.packages], check=True)
    return python


def measure(peer: Peer, work: Path, asked: Sequence[Query]) -> Measured:
    """Run a peer's script in an environment of its own."""
    folder = work / Path(peer.script).stem
    python = make_environment(peer, folder / "env")
    store = folder / "store"
    store.mkdir()
    model = work / "models"
    # The weights are unpacked once for all; Quire finds them where it would have put them.
    (store / "models").symlink_to(model)
    command = [str(python), str(HERE / peer.script), "book", str(store), "questions.json"]
    done = subprocess.run(
        command,
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
        install_mb=installed_mb(folder / "env"),
        lines=code_lines(HERE / peer.script),
        **json.loads(done.stdout.splitlines()[-1]),
    )
    shutil.rmtree(folder)
    return measured


@click.command()
@shared_option
@click.option("--pages", type=click.IntRange(1), help="Take only the first pages of the book.")
@click.option("--only", multiple=True, help="Measure only this system; may be repeated.")
@click.option("--out", type=click.Path(path_type=Path), help="File for the figures, as Markdown.")
def main(shared: Path, pages: int | None, only: tuple[str, ...], out: Path | None) -> None:
    """Measure Quire and its peers, and print what each costs and finds."""
    console = Console(width=140)
    source = shared / "data" / "retrieval" / SET
    if not (source / CORPUS).is_file():
        console.print(f"Skipped: {source} holds no {CORPUS}; set QUIRE_SHARED.", soft_wrap=True)
        return
    work = Path(tempfile.mkdtemp(prefix="quire-peers-"))
    measured = []
    try:
        names = write_pages(source, work / "book", pages)
        asked = [q for q in read_set(source).queries if q.answerable and q.pages <= names]
        texts = [query.text for query in asked]
        (work / "questions.json").write_text(json.dumps(texts), "utf-8")
        prepare_granite(work / "models")
        for peer in PEERS:
            if not only or peer.name.lower() in (name.lower() for name in only):
                console.print(f"{peer.name} …")
                measured.append(measure(peer, work, asked))
                if out:  # after each: a run takes long, and what was measured should not be lost
                    out.write_text(markdown(measured), "utf-8")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    title = f"{len(names)} pages, {len(asked)} questions"
    console.print(shown(measured, title))


if __name__ == "__main__":
    main()
