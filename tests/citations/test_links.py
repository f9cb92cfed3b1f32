"""Where links lead: to the sentence that was cited, and to no other that reads like it."""

import re
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from urllib.parse import unquote

import pytest

from citewell.citations.text_fragments import DeepLinker
from citewell.domain import Chunk
from citewell.ingest.pipeline import ingest
from tests.citations.fragment_oracle import Browser
from tests.servers import HashEmbedder, build_services
from tests.verify.samples import chunk_of

URL = "https://tiny.example/lamps/lens#orders"


class Shelf:
    """One page, and how often it was read."""

    book, title, revision = "tiny", "Tiny", "r1"

    def __init__(self, *chunks: Chunk) -> None:
        self.chunks = chunks
        self.read = 0

    def page(self, source_file: str) -> Sequence[Chunk]:
        self.read += 1
        return self.chunks


def link(text: str, words: str, *, nth: int = 0, **fields: object) -> str:
    """The link to the `nth` appearance of some words in a page of one passage."""
    chunk = chunk_of(text, **fields)
    start = -1
    for _ in range(nth + 1):
        start = text.index(words, start + 1)
    return DeepLinker().link(Shelf(chunk), chunk, start, start + len(words))  # type: ignore[arg-type]


def fragment(text: str, words: str, *, nth: int = 0, **fields: object) -> str:
    return link(text, words, nth=nth, **fields).partition(":~:text=")[2]


def opens_at(shown: str, text: str, words: str, *, nth: int = 0, **fields: object) -> list[str]:
    """What a browser makes of the link on a page that shows `shown`: the text up to the match."""
    found = [
        Browser(shown, strict=strict).find(fragment(text, words, nth=nth, **fields))
        for strict in (True, False)
    ]
    return [shown[: place[0]] + "«" + shown[slice(*place)] + "»" for place in found if place]


def test_a_sentence_found_once_is_the_fragment() -> None:
    assert link("A lens turns slowly. It shines.", "A lens turns slowly.") == (
        f"{URL}:~:text=A%20lens%20turns%20slowly."
    )


def test_a_page_without_an_anchor_gets_a_fragment_only() -> None:
    text = "A lens turns slowly."

    assert link(text, text, url="https://tiny.example/") == (
        "https://tiny.example/#:~:text=A%20lens%20turns%20slowly."
    )


def test_hyphens_commas_and_ampersands_are_encoded() -> None:
    text = "First-order, thin & light glass."

    assert link(text, text).endswith(":~:text=First%2Dorder%2C%20thin%20%26%20light%20glass.")


def test_a_long_sentence_is_given_by_how_it_begins_and_ends() -> None:
    text = (
        "The keeper winds the clockwork every four hours, as a falling weight turns the lens "
        "and the lamp with it."
    )

    assert (
        fragment(text, text) == "The%20keeper%20winds%20the%20clockwork%20every,lamp%20with%20it."
    )


def test_markup_and_line_breaks_are_not_part_of_the_fragment() -> None:
    text = "The **thin**\n> [lens](x.md) `turns_on` \\*slowly\\*."

    assert unquote(fragment(text, text)) == "The thin lens turns_on *slowly*."


TWICE = "It turns. The lamp is lit. It stops. The lamp is lit. It rests."


@pytest.mark.parametrize(
    ("nth", "before"), [(0, "It turns. "), (1, "It turns. The lamp is lit. It stops. ")]
)
def test_a_repeated_sentence_opens_where_it_was_cited(nth: int, before: str) -> None:
    seen = opens_at(TWICE, TWICE, "The lamp is lit.", nth=nth)

    assert seen == [f"{before}«The lamp is lit.»"] * 2


def test_a_sentence_inside_an_earlier_one_opens_at_itself() -> None:
    text = "When night falls, the lamp is lit. The lamp is lit."

    assert opens_at(text, text, "The lamp is lit.") == [f"{text[:35]}«The lamp is lit.»"] * 2


def test_a_sentence_like_a_heading_opens_below_the_menu_and_the_heading() -> None:
    menu = "The lens\nOrders of lenses"
    shown = f"{menu}\n{menu}\n#\nOrders of lenses\nThere are six."
    text = "Orders of lenses\n\nThere are six."

    seen = opens_at(shown, text, "Orders of lenses", path=("The lens", "Orders of lenses"))

    assert seen == [shown[:54] + "«Orders of lenses»"] * 2


@pytest.mark.parametrize("words", ["No.", "Yes.", "7", "Go!"])
def test_a_very_short_sentence_is_given_with_what_stands_beside_it(words: str) -> None:
    text = f"Is it lit in fog and at night? {words} Then the keeper rests."

    assert len(re.findall(r"\w+", unquote(fragment(text, words)))) >= 4
    assert opens_at(text, text, words) == [f"{text[:31]}«{words}»"] * 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("灯台は古い。灯は夜に点く。霧では角笛が鳴る。", "灯は夜に点く。"),
        ("灯は夜に点く。灯台は古い。灯は夜に点く。", "灯台は古い。"),
        ("Маяк стоит на скале. Лампа горит всю ночь.", "Лампа горит всю ночь."),
        ("המגדלור עומד על הסלע. המנורה דולקת כל הלילה.", "המנורה דולקת כל הלילה."),
        ("المنارة على الصخرة. المصباح مضاء طوال الليل.", "المصباح مضاء طوال الليل."),
        ("หอประภาคารเก่า โคมไฟส่องสว่างทั้งคืน", "โคมไฟส่องสว่างทั้งคืน"),
    ],
    ids=["Japanese", "repeated Japanese", "Russian", "Hebrew", "Arabic", "Thai"],
)
def test_other_scripts_are_found_whole(text: str, words: str) -> None:
    assert opens_at(text, text, words) == [f"{text[: text.index(words)]}«{words}»"] * 2


def test_case_accents_and_quotation_marks_tell_no_sentences_apart() -> None:
    text = 'The “café” opens at noon. Later. The "cafe" OPENS at noon. It closes.'

    assert unquote(fragment(text, "The “café” opens at noon.")) == (
        "The “café” opens at noon.,-Later."
    )


@pytest.mark.parametrize(
    ("text", "fragment_"),
    [
        (
            "The focal length is $f = 920$ mm in the first order.",
            "The focal length is,the first order.",
        ),
        (
            "The focal length of it is $f$. Then comes the next.",
            "The focal length of it is,.,-Then comes the",
        ),
        ("$f$ is the focal length here.", "is the focal length here."),
        ("The glass bends light[^1] in this way.", "The glass bends,in this way."),
        ("The glass still bends all light in tf2.[^1]", "The glass still bends all light in"),
        ("See ![a lens](lens.png) how the glass bends.", "See,the glass bends."),
        ("It glows at night -- or by day it rests.", "It glows at night,day it rests."),
    ],
    ids=[
        "math inside",
        "math at the end",
        "math at the start",
        "footnote",
        "footnote behind a number",
        "image",
        "dashes",
    ],
)
def test_what_a_page_shows_with_other_characters_is_left_out(text: str, fragment_: str) -> None:
    words = text.removesuffix(" Then comes the next.")

    assert unquote(fragment(text, words)) == fragment_


def test_a_row_is_given_from_its_first_cell_to_its_last() -> None:
    text = "| Order | Length |\n| --- | --- |\n| first order | 920 mm |\n| sixth order | 150 mm |"

    seen = opens_at(
        "Order\nLength\nfirst order\n920 mm\nsixth order\n150 mm", text, "| sixth order | 150 mm |"
    )

    assert seen == ["Order\nLength\nfirst order\n920 mm\n«sixth order\n150 mm»"] * 2


def test_code_is_given_from_its_first_line_to_its_last() -> None:
    code = "wind --hours 4\nlight  --lamp main"
    text = f"Wind it:\n\n```\n{code}\n```"

    assert unquote(fragment(text, code)) == "wind --hours 4,--lamp main"


def test_a_long_listing_is_linked_in_little_time() -> None:
    text = "```\n" + "x = 1\n" * 3000 + "```"
    begun = perf_counter()

    assert link(text, text) == URL
    assert perf_counter() - begun < 1  # trying every line takes several seconds


def test_words_beside_code_titles_and_footnotes_are_not_relied_upon() -> None:
    text = (
        "It is lit.\n\n```\nwind\n```\n\nIt is lit.\n\n:::note\nIt is lit.\n:::\n\n[^1]: It is lit."
    )

    # Only the first of them can be told: the page itself shows other words around the others.
    links = [link(text, "It is lit.", nth=nth) for nth in range(4)]

    assert links == [f"{URL}:~:text=It%20is%20lit.", URL, URL, URL]


@pytest.mark.parametrize("source", ["$f = 920$", "![a lens](lens.png)", "$$\nf = 920\n$$", "---"])
def test_what_shows_no_words_falls_back_to_the_section(source: str) -> None:
    assert link(f"It turns.\n\n{source}", source) == URL


@pytest.mark.parametrize("url", ["lamps.pdf#page=3", "https://x.y/a#b:~:text=c"])
def test_a_page_of_a_pdf_and_a_fragment_of_the_author_are_left_alone(url: str) -> None:
    assert link("A lens turns slowly.", "A lens turns slowly.", url=url) == url


def test_a_sentence_repeated_in_another_passage_of_the_page_is_told_apart() -> None:
    first = chunk_of("It turns. The lamp is lit.", identity="a", path=("The lens", "Day"))
    second = chunk_of("It stops. The lamp is lit.", identity="b", path=("The lens", "Night"))
    shown = "The lens\nDay\nIt turns. The lamp is lit.\nNight\nIt stops. The lamp is lit."

    links = [DeepLinker().link(Shelf(first, second), c, 10, 26) for c in (first, second)]  # type: ignore[arg-type]

    places = [Browser(shown, strict=True).find(url.partition(":~:text=")[2]) for url in links]
    assert places == [(23, 39), (56, 72)]


def test_a_page_of_a_size_that_nobody_reads_is_opened_at_its_section() -> None:
    text = "A lens turns slowly. " + "It shines. " * 50_000

    assert link(text, "A lens turns slowly.") == URL


def test_a_page_is_read_once_and_the_oldest_is_forgotten() -> None:
    chunks = [chunk_of("A lens.", identity=str(n), source_file=f"{n}.md") for n in range(65)]
    shelf = Shelf(*chunks)
    links = DeepLinker()

    for chunk in [chunks[0], chunks[0], *chunks[1:], chunks[1], chunks[0]]:
        links.link(shelf, chunk, 0, 7)  # type: ignore[arg-type]

    assert shelf.read == 65 + 1


async def test_a_repeated_sentence_of_an_ingested_book_opens_where_it_stands(
    tmp_path: Path,
) -> None:
    book = tmp_path / "book"
    book.mkdir()
    (book / "lamp.md").write_text(
        "# Lamp\n\n## By day\n\nThe keeper sleeps. The lamp stays dark.\n\n"
        "## In fog\n\nThe keeper blows the horn. The lamp stays dark.\n"
    )
    ingest(book, tmp_path / "data" / "books", HashEmbedder(), book="lamp")
    async with build_services(tmp_path / "data") as services:
        index = services.library.open("lamp")
        day, fog = index.page("lamp.md")

        links = [
            DeepLinker().link(index, c, c.text.index("The lamp"), len(c.text)) for c in (day, fog)
        ]

    assert links == [
        "/lamp#by-day:~:text=sleeps.-,The%20lamp%20stays%20dark.",
        "/lamp#in-fog:~:text=horn.-,The%20lamp%20stays%20dark.",
    ]
