from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from citewell.errors import BadRequest
from citewell.ingest.pipeline import ingest
from citewell.ports import Index
from citewell.text.plain_text import strip_inline_markup
from citewell.verify.judge import LexicalJudge
from citewell.wiring import Services
from evals.adversarial import (
    HALVES,
    KINDS,
    Alteration,
    Place,
    figures,
    locate,
    read_adversarial,
    try_all,
    try_item,
)
from tests.conftest import SAMPLE
from tests.servers import HashEmbedder, build_services

PATH = SAMPLE.parent.parent / "evals/data/adversarial" / "physical-ai.jsonl"
ITEMS = read_adversarial(PATH)
LENS = "docs/lamps/01-lens.md"


def folded(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """The sample book, cut into chunks as ever but embedded by the stand-in."""
    data = tmp_path_factory.mktemp("sample-hash")
    ingest(SAMPLE, data / "books", HashEmbedder())
    library = build_services(data).library
    yield library.open(None)
    library.close()


def test_the_set_has_enough_of_every_kind_in_both_halves() -> None:
    kinds = Counter(item.kind for item in ITEMS)
    halves = Counter((item.half, item.kind) for item in ITEMS)

    assert len(ITEMS) >= 300
    assert min(kinds[kind] for kind in KINDS) >= 20
    assert min(halves[half, kind] for half in HALVES for kind in KINDS) >= 10


def test_every_id_and_every_altered_claim_occurs_once() -> None:
    assert len({item.id for item in ITEMS}) == len(ITEMS)
    assert len({(item.altered, item.cited) for item in ITEMS}) == len(ITEMS)


def test_an_altered_claim_differs_from_its_twin_in_words_or_in_what_it_cites() -> None:
    for item in ITEMS:
        assert (item.altered == item.twin) == (item.kind == "citation"), item.id
        assert (item.cited is not None) == (item.kind == "citation"), item.id


def test_most_twins_are_honest_paraphrases() -> None:
    for item in ITEMS:
        # The last character aside: a colon before a list became a period.
        verbatim = folded(strip_inline_markup(item.twin))[:-1] in folded(
            strip_inline_markup(item.sentence)
        )
        assert item.paraphrase != verbatim, item.id
    assert sum(item.paraphrase for item in ITEMS) * 2 >= len(ITEMS)


def test_every_sentence_stands_in_the_book(book: Index) -> None:
    for item in ITEMS:
        source = locate(book, item.source)
        if item.cited:
            assert locate(book, item.cited).id != source.id, item.id


def test_no_altered_claim_stands_in_the_book(book: Index) -> None:
    pages = {item.page: folded((SAMPLE / item.page).read_text("utf-8")) for item in ITEMS}
    whole = " ".join(pages.values())

    for item in ITEMS:
        assert item.kind == "citation" or folded(item.altered) not in whole, item.id


def test_what_stands_in_the_book_word_for_word_is_kept_and_most_lies_are_caught(
    book: Index,
) -> None:
    dev = [item for item in ITEMS if item.half == "dev"]

    seen = figures(try_all(dev, book, LexicalJudge()))["dev"]

    assert seen["all"]["items"] == len(dev)
    assert seen["all"]["caught"] >= 0.9 * len(dev)
    assert seen["all"]["kept"] - seen["all"]["reworded_kept"] >= 0.9 * (
        len(dev) - seen["all"]["reworded"]
    )


def lens(**fields: object) -> Alteration:
    given: dict[str, object] = {
        "id": "t1",
        "kind": "number",
        "page": LENS,
        "sentence": "Its thin rings save nine tenths of the\nglass of a plain lens.",
        "twin": "Its thin rings save nine tenths of the glass of a plain lens.",
        "altered": "Its thin rings save two tenths of the glass of a plain lens.",
        "paraphrase": False,
    }
    return Alteration(**(given | fields))  # type: ignore[arg-type]


def test_an_altered_claim_and_its_twin_are_judged_by_the_same_passages(tiny: Services) -> None:
    tried = try_item(lens(), tiny.library.open(None), LexicalJudge())

    assert (tried.caught, tried.kept) == (True, True)


def test_a_wrong_citation_is_judged_by_what_it_cites_alone(tiny: Services) -> None:
    horn = Place(page="docs/lamps/02-keeper.mdx", sentence="In fog the keeper sounds a horn.")
    item = lens(kind="citation", altered=lens().twin, cited=horn)

    tried = try_item(item, tiny.library.open(None), LexicalJudge())

    assert (tried.caught, tried.kept) == (True, True)


def test_what_claims_nothing_would_be_shown_and_so_counts_as_missed(tiny: Services) -> None:
    tried = try_item(lens(altered="Is it?"), tiny.library.open(None), LexicalJudge())

    assert not tried.caught


def test_a_sentence_that_is_not_in_the_book_is_named(tiny: Services) -> None:
    with pytest.raises(BadRequest, match=r"01-lens\.md does not say: Lamps sing\."):
        locate(tiny.library.open(None), Place(page=LENS, sentence="Lamps sing."))


@pytest.mark.parametrize("line", ["no JSON", "{}", '{"id": "1", "kind": "surprising"}'])
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(PATH.read_text("utf-8").splitlines()[0] + f"\n{line}\n", "utf-8")

    with pytest.raises(BadRequest, match="line 2 is no altered claim"):
        read_adversarial(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match=r"none\.jsonl cannot be read"):
        read_adversarial(tmp_path / "none.jsonl")
