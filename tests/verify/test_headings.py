from citewell.domain import Heading
from citewell.verify.grounding import check_titles, find_title
from tests.verify.samples import chunk_of, hit_of

ORDERS = Heading(
    id="a.md#orders", kind="section", title="Orders", url="u#orders", source_file="a.md", position=1
)


def test_a_title_is_found_whole_among_the_headings_of_a_passage() -> None:
    chunk = chunk_of("Text.")

    assert chunk.heading == "Lamps › The lens › Orders"
    assert find_title(chunk, "Orders") == (19, 25)
    assert find_title(chunk, "Lamps") == (0, 5)
    assert find_title(chunk, "lens") is None
    assert find_title(chunk, "Order") is None


def test_a_chapter_with_another_title_than_its_heading_is_found_by_both() -> None:
    chunk = chunk_of("Text.", chapter="Lens, the")

    assert chunk.heading == "Lamps › Lens, the › The lens › Orders"
    assert find_title(chunk, "Lens, the") == (8, 17)


def test_a_sentence_that_quotes_a_stored_heading_is_supported() -> None:
    claim = check_titles("Next comes “Orders”.", [(ORDERS, hit_of())])

    assert (claim.verdict, claim.citations[0].quote) == ("supported", "Orders")


def test_a_sentence_about_a_heading_that_is_not_stored_is_not() -> None:
    elsewhere = hit_of(path=("The lens", "Rings"))

    assert check_titles("Next comes “Orders”.", [(ORDERS, elsewhere)]).verdict == "unsupported"
    assert check_titles("Next comes “Rings”.", [(ORDERS, hit_of())]).verdict == "unsupported"
