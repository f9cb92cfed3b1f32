from pathlib import Path

import pytest

import citewell
from citewell.client import Citewell
from citewell.domain import Filters, Prefix
from citewell.errors import BadSettings, UnknownBook, UnsupportedSource
from citewell.events import Done, Sentence, Started
from citewell.settings import Settings
from citewell.wiring import Services
from tests.servers import build_services, write_tiny_book


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open books with the stand-in for the embedder."""

    def build(settings: Settings) -> Services:
        return build_services(settings.data_dir)

    monkeypatch.setattr("citewell.client.wire_services", build)


async def test_a_folder_is_opened_and_answers(tiny_book: Path) -> None:
    async with await Citewell.open(tiny_book) as book:
        answer = await book.ask("What is a Fresnel lens?")

    assert answer.status == "answered"
    assert answer.citations[0].quote.startswith("A Fresnel lens is a lens")


async def test_a_follow_up_goes_to_the_same_thread(tiny_book: Path) -> None:
    async with await Citewell.open(tiny_book) as book:
        first = await book.ask("What is a Fresnel lens?")
        second = await book.ask("What is it made of?", thread_id=first.thread_id)

    assert second.standalone_question == "What is a Fresnel lens made of?"


async def test_an_answer_can_be_streamed(tiny_book: Path) -> None:
    async with await Citewell.open(tiny_book) as book:
        events = [event async for event in book.stream("What is a Fresnel lens?")]

    assert isinstance(events[0], Started)
    assert any(isinstance(event, Sentence) for event in events)
    assert isinstance(events[-1], Done)


async def test_a_book_can_be_searched_within_a_chapter(tiny_book: Path) -> None:
    async with await Citewell.open(tiny_book) as book:
        everywhere = await book.search("lens", top_k=2)
        keeper = await book.search("lens", filters=Filters(chapter=("The keeper",)))

    assert [hit.rank for hit in everywhere] == [1, 2]
    assert {hit.chunk.chapter for hit in keeper} == {"The keeper"}


async def test_a_question_can_be_kept_to_pages_by_the_beginning_of_their_address(
    tiny_book: Path,
) -> None:
    keeper = Filters(url=(Prefix("https://tiny.example/lamps/keeper"),))
    async with await Citewell.open(tiny_book) as book:
        answer = await book.ask("What does the keeper sound in fog?", filters=keeper)
        elsewhere = await book.ask("What is the focal length?", filters=keeper)

    assert {hit.chunk.chapter for hit in (*answer.hits, *elsewhere.hits)} == {"The keeper"}
    assert answer.status == "answered"
    assert elsewhere.status in ("not_in_book", "no_direct_answer")


async def test_the_first_opening_says_how_far_it_is(tiny_book: Path) -> None:
    said: list[tuple[object, ...]] = []

    async with await Citewell.open(tiny_book, progress=lambda *step: said.append(step)):
        pass

    assert said


async def test_a_book_ingested_before_is_opened_by_name(tiny_book: Path, tmp_path: Path) -> None:
    async with await Citewell.open(tiny_book, book="lamps", data_dir=tmp_path / "mine"):
        pass

    async with await Citewell.open(book="lamps", data_dir=str(tmp_path / "mine")) as book:
        answer = await book.ask("What is a Fresnel lens?")

    assert answer.book == "lamps"


async def test_the_only_book_stays_open_when_a_second_one_is_ingested(
    tiny_book: Path, tmp_path: Path
) -> None:
    async with await Citewell.open(tiny_book, book="one"):
        pass

    async with await Citewell.open() as book:
        async with await Citewell.open(write_tiny_book(tmp_path / "second"), book="two"):
            pass
        answer = await book.ask("What is a Fresnel lens?")

    assert answer.book == "one"


async def test_an_unknown_book_cannot_be_opened() -> None:
    with pytest.raises(UnknownBook):
        await Citewell.open(book="nowhere")


async def test_a_folder_without_a_book_cannot_be_opened(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()

    with pytest.raises(UnsupportedSource):
        await Citewell.open(empty)


async def test_a_bad_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_SERVE__PORT", "-1")

    with pytest.raises(BadSettings, match="CITEWELL_SERVE__PORT"):
        await Citewell.open()


def test_the_package_offers_the_client() -> None:
    assert citewell.Citewell is Citewell
    with pytest.raises(AttributeError, match="Folio"):
        _ = citewell.Folio


async def test_a_book_shows_its_contents_and_opens_its_sections(tiny_book: Path) -> None:
    async with await Citewell.open(tiny_book) as book:
        contents = await book.table_of_contents()
        opened = await book.read_section("The lens", limit=1)
        around = await book.neighbours(opened.passages[0].id)

    assert [heading.title for heading in contents.headings] == ["Welcome", "lamps"]
    assert (opened.entry.heading.number, opened.total, len(opened.passages)) == (1, 2, 1)
    assert [chunk.section for chunk in around] == [
        "Welcome",
        "What a Fresnel lens is",
        "Orders of lenses",
    ]


async def test_a_selection_is_asked_about_and_an_answer_is_replayed(tiny_book: Path) -> None:
    fog = "In fog the keeper sounds a horn."
    async with await Citewell.open(tiny_book) as book:
        answer = await book.ask("What does the keeper do in fog?", selected_text=fog)
        receipt = await book.receipt(answer.id)
        replay = await book.replay(answer.id)

    assert [citation.quote for citation in answer.citations] == [fog]
    assert (receipt.mode, receipt.claims) == ("user_provided", answer.claims)
    assert not replay.differs
