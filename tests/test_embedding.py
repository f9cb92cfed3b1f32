"""What the documentation says about putting the chat on a site, done by the builders themselves."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from lxml import html

DOCS = Path(__file__).parents[1] / "docs" / "embedding"
MDBOOK = Path(sys.executable).with_name("mdbook")
BOUND = 120
PAGES = {"index.md": "# One\n\nA lens.\n", "two.md": "# Two\n\nA lamp.\n"}


def said(page: str, language: str) -> str:
    """Return the example of a page."""
    found = re.search(rf"```{language}\n(.+?)```", (DOCS / page).read_text("utf-8"), re.S)
    assert found
    return found[1]


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def scripts(file: Path) -> list[dict[str, str]]:
    tree = html.fromstring(file.read_text("utf-8"))
    return [dict(one.attrib) for one in tree.xpath("//script[contains(@src, 'citewell.example')]")]


def mkdocs(folder: Path) -> Path:
    pages = {f"docs/{name}": text for name, text in PAGES.items()}
    config = "site_name: Lamps\nsite_url: https://book.example/\n" + said("mkdocs.md", "yaml")
    write(folder, {"mkdocs.yml": config, "overrides/main.html": said("mkdocs.md", "html"), **pages})
    run(folder, sys.executable, "-m", "mkdocs", "build", "-q", "--no-directory-urls")
    return folder / "site"


def mdbook(folder: Path) -> Path:
    pages = {f"src/{name}": text for name, text in PAGES.items()}
    summary = "[One](index.md)\n\n- [Two](two.md)\n"
    head = said("mdbook.md", "html")
    write(folder, {"book.toml": "", "src/SUMMARY.md": summary, "theme/head.hbs": head, **pages})
    run(folder, str(MDBOOK), "build")
    return folder / "book"


def sphinx(folder: Path) -> Path:
    conf = "extensions = ['myst_parser']\n" + said("sphinx.md", "python")
    toc = "\n```{toctree}\ntwo\n```\n"
    write(folder, {"conf.py": conf, **PAGES, "index.md": PAGES["index.md"] + toc})
    run(folder, sys.executable, "-m", "sphinx", "-q", "-b", "html", ".", "built")
    return folder / "built"


def run(folder: Path, *command: str) -> None:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=BOUND, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("build", [mkdocs, mdbook, sphinx], ids=lambda one: one.__name__)
def test_the_chat_is_on_every_page_that_the_builder_makes(build, tmp_path: Path) -> None:
    if build is mdbook and not MDBOOK.exists():
        pytest.skip("mdBook is not packaged for this machine")

    built = build(tmp_path)

    for name in ("index.html", "two.html"):
        (script,) = scripts(built / name)
        assert (
            script.items()
            >= {
                "type": "module",
                "src": "https://citewell.example/widget.js",
                "data-key": "cw_…",
            }.items()
        )
