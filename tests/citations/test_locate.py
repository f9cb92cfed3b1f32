"""Selections as browsers give them, found again in the Markdown they were made from."""

from collections.abc import Sequence

import numpy as np
import pytest

from citewell.citations.locate import LocatedSelection, locate
from citewell.domain import Chunk
from tests.servers import HashEmbedder
from tests.verify.samples import Shelf as Ranked
from tests.verify.samples import chunk_of

SOURCE = """\
A **Fresnel lens** is a lens made of
[concentric rings](https://tiny.example/rings) of glass. It's the keeper's `wind --hours 4` that
turns it. The rings save glass."""
NEXT = "A first-order lens has a focal length of 920 mm. The rings save glass."
VECTOR = np.eye(1, HashEmbedder.width, dtype=np.float32)[0]


class Shelf(Ranked):
    def page(self, source_file: str) -> Sequence[Chunk]:
        return [chunk for chunk in self._chunks.values() if chunk.source_file == source_file]


SHELF = Shelf(
    chunk_of("Fog is wet.", identity="fog", source_file="docs/fog.md"),
    chunk_of(SOURCE, identity="one"),
    chunk_of(NEXT, identity="two", sequence=2),
)


def found(text: str) -> LocatedSelection | None:
    return locate(SHELF, text, VECTOR)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "A Fresnel lens is a lens made of concentric rings of glass.",
            "A **Fresnel lens** is a lens made of\n"
            "[concentric rings](https://tiny.example/rings) of glass.",
        ),
        ("It’s the keeper’s wind --hours 4 that turns it.", None),
        ("IT'S  THE\nKEEPER'S  wind --hours 4  THAT TURNS IT", None),
        ("resnel lens is a lens made of concentric rings of gla", None),
    ],
)
def test_markup_space_case_and_quotation_marks_do_not_count(text: str, words: str | None) -> None:
    located = found(text)

    assert located is not None
    place = located.find(0, len(text))
    assert place is not None
    assert place.chunk.id == "one"
    if words:
        assert place.chunk.text[place.start : place.end].replace("**", "") == words.replace(
            "**", ""
        )


def test_a_selection_over_several_passages_is_found_sentence_by_sentence() -> None:
    text = "It’s the keeper’s wind --hours 4 that turns it.\n\nOrders\n\nA first-order lens has"
    located = found(text)

    assert located is not None
    assert [chunk.id for chunk in located.chunks] == ["one", "two"]
    place = located.find(text.index("A first"), len(text))
    assert place is not None
    assert place.chunk.text[place.start : place.end] == "A first-order lens has"


def test_a_sentence_that_repeats_is_the_one_that_was_selected() -> None:
    text = "A first-order lens has a focal length of 920 mm. The rings save glass."
    located = found(text)

    assert located is not None
    place = located.find(text.index("The rings"), len(text))
    assert place is not None
    assert place.chunk.id == "two"


@pytest.mark.parametrize(
    "text", ["The dough rests for two hours.", "It is the rings.", "…!?", "res"]
)
def test_other_text_is_not_of_the_book(text: str) -> None:
    assert found(text) is None


def test_a_sentence_of_the_readers_own_has_no_place() -> None:
    text = "The rings save glass. Bread is good."
    located = found(text)

    assert located is not None
    assert located.find(text.index("Bread"), len(text)) is None


def test_what_is_struck_out_by_combining_signs_is_not_what_the_book_says() -> None:
    said = "A first-order lens has a focal length of 920 mm."

    assert found(said) is not None
    assert found(said.replace("920", "9\u03362\u03360\u0336")) is None
    accented = found(said.replace("focal", "focál"))
    assert accented is not None, "accents do not count"
