"""A book of three pages, for tests that need one."""

from pathlib import Path

_CONFIG = """\
export default {
  title: 'The Tiny Book',
  url: 'https://tiny.example',
  baseUrl: '/',
  presets: [['classic', {docs: {routeBasePath: '/'}}]],
};
"""

_PAGES = {
    "docs/intro.md": """\
---
slug: /
title: Welcome
---
This book explains how lighthouses work. It has three pages.
""",
    "docs/lamps/01-lens.md": """\
---
title: The lens
---
## What a Fresnel lens is

A Fresnel lens is a lens made of concentric rings of glass. Its thin rings save nine tenths of the
glass of a plain lens.

## Orders of lenses {#orders}

A first-order lens has a focal length of 920 mm, and a sixth-order lens has one of 150 mm.

| Order | Focal length |
| --- | --- |
| first | 920 mm |
| sixth | 150 mm |
""",
    "docs/lamps/02-keeper.mdx": """\
---
title: The keeper
---
import Tabs from '@theme/Tabs';

# The keeper

The keeper winds the clockwork every four hours because a falling weight turns the lens.

:::warning[Fog]
In fog the keeper sounds a horn.
:::

```bash
# not a heading
wind --hours 4
```
""",
}


def write_tiny_book(folder: Path) -> Path:
    """Write the book as a Docusaurus site into `folder`, and give that folder."""
    for name, text in {"docusaurus.config.js": _CONFIG, **_PAGES}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder
