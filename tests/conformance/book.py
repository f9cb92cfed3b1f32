"""A small book with what the sample lacks: a page of one word, long listings, a paragraph twice."""

from pathlib import Path

_CONFIG = """\
export default {
  title: 'The Keeper of the Light',
  url: 'https://keeper.example',
  baseUrl: '/',
  presets: [['classic', {docs: {routeBasePath: '/'}}]],
};
"""

TWICE = (
    "A diaphone is a fog horn that drives a slotted piston with compressed air, and its low note "
    "ends in a grunt that carries for eight kilometres over calm water."
)
LISTINGS = 6
"""How many programs of more than 1,000 tokens the book has: more than a prompt holds."""


def _listing(number: int) -> str:
    lines = [
        f"turn lantern {number} slowly from panel {line} toward the harbour mouth and rest there"
        for line in range(75)
    ]
    return "\n".join(["```text", *lines, "```"])


def _pages() -> dict[str, str]:
    pages = {
        "intro.md": "---\nslug: /\ntitle: Welcome\n---\nThis book is about keeping a lighthouse.\n",
        "01-lens.md": _LENS,
        "02-flag.md": "---\ntitle: Signals by flag\n---\n## Is the flag enough at night\n\nNo.\n",
        "03-fog.md": f"---\ntitle: Fog\n---\n## The diaphone\n\n{TWICE}\n",
        "04-horns.md": f"---\ntitle: Horns\n---\n## The diaphone again\n\n{TWICE}\n",
        "05-clockwork.md": _CLOCKWORK,
    }
    for number in range(1, LISTINGS + 1):
        pages[f"1{number}-program-{number}.md"] = (
            f"---\ntitle: Lantern program {number}\n---\n## Listing of lantern program {number}\n\n"
            f"Lantern program {number} sets the rotation speed of every panel of the lantern:\n\n"
            f"{_listing(number)}\n"
        )
    return pages


_LENS = """\
---
title: The lens
---
## What a Fresnel lens is

A Fresnel lens is a lens made of concentric rings of glass. Its thin rings save nine tenths of the
glass of a plain lens.

## How a Fresnel lens is cleaned

A Fresnel lens is cleaned every morning with spirit of wine and a linen cloth.

## Who made Fresnel lenses

The first Fresnel lens of a lighthouse was lit at Cordouan in 1823.
"""

_CLOCKWORK = """\
---
title: The clockwork
---
## Winding

The keeper winds the clockwork every four hours because a falling weight turns the lens.

```python title="wind.py"
def wind(hours):
    return hours % 4 == 0
```
"""


def write_book(folder: Path) -> Path:
    """Write the book as a Docusaurus site, and return its folder."""
    files = {"docusaurus.config.js": _CONFIG}
    files |= {f"docs/{name}": text for name, text in _pages().items()}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder
