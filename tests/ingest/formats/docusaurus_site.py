"""Small Docusaurus sites, and what Citewell reads of them."""

from pathlib import Path

from citewell.domain import Book
from citewell.ingest.formats.docusaurus.site import DocusaurusFormat
from citewell.options import IngestOptions

OPTIONS = IngestOptions()
CONFIG = "docusaurus.config.js"
EMPTY = "module.exports = {};"
SITE = """\
// url: 'https://old.example',
export default {
  title: 'Lamp\\'s book',
  /* baseUrl: '/old/', */
  url: 'https://lamps.example/', // where it is
  baseUrl: '/en/',
  trailingSlash: true,
  themeConfig: {docs: {sidebar: {hideable: true}}, image: 'img/**/*.png'},
  presets: [['classic', {
    docs: {
      versions: {current: {path: 'next'}},
      routeBasePath: 'book',
      path: 'pages',
      include: ['**/*.{md,mdx}'],
    },
    blog: {routeBasePath: 'news', path: './blog'},
  }]],
};
"""


def read(site: Path, options: IngestOptions = OPTIONS) -> Book:
    return DocusaurusFormat().read(site, options)


def urls(site: Path, options: IngestOptions = OPTIONS) -> list[str]:
    return [page.url for page in read(site, options).pages]


def sources(site: Path, options: IngestOptions = OPTIONS) -> list[str]:
    return [page.source for page in read(site, options).pages]


def text_of(book: Book) -> str:
    return "\n\n".join(b.text for p in book.pages for s in p.sections for b in s.blocks)


def config(**settings: str) -> str:
    return "module.exports = {" + ", ".join(f"{k}: {v}" for k, v in settings.items()) + "};"


def docs(options: str) -> str:
    return f"[['classic', {{docs: {{{options}}}}}]]"
