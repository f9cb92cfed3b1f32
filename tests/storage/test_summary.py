"""What a conversation was about, in a line."""

import pytest

from citewell.errors import BadRequest
from citewell.storage.summary import AnsweredQuestion, find_mentioned, summarise
from citewell.storage.threads import SqlThreadStore
from tests.storage.turns import turn_of

LAMPS = [
    AnsweredQuestion("What is a Fresnel lens?", ["What a Fresnel lens is"]),
    AnsweredQuestion("Why are the rings of a Fresnel lens thin?", ["What a Fresnel lens is"]),
    AnsweredQuestion("What is the focal length of a first-order lens?", ["Orders of lenses"]),
    AnsweredQuestion("Who winds the clockwork?", ["The keeper"]),
    AnsweredQuestion("How often does the keeper wind the clockwork?", ["The keeper"]),
]


def test_it_names_what_was_asked_most_and_where_it_stands() -> None:
    assert summarise(LAMPS) == (
        "Fresnel lens and clockwork, "
        "in “What a Fresnel lens is”, “The keeper” and “Orders of lenses”"
    )


def test_headings_are_enough_where_nothing_was_asked_twice() -> None:
    once = [
        AnsweredQuestion("What is AMCL?", ["Summary", "Localisation"]),
        AnsweredQuestion("Why?", ["Nodes"]),
    ]

    assert summarise(once) == "“Localisation” and “Nodes”"


def test_identifiers_keep_their_case() -> None:
    assert summarise([AnsweredQuestion("What does cmd_vel do?")]) == "cmd_vel"
    assert summarise([AnsweredQuestion("What is odometry drift?")]) == "Odometry drift"


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("The clockwork, and the Fresnel lens.", "Clockwork and Fresnel lens"),
        ("Bob explains the keeper's clockwork", "Keeper and clockwork, in “The keeper”"),
        ("Orders of lenses", "“Orders of lenses”"),
        ("Submarines", None),
        ("", None),
    ],
)
def test_another_may_choose_among_what_was_asked_and_nothing_else(
    said: str, named: str | None
) -> None:
    assert find_mentioned(said, LAMPS) == named


def test_questions_without_a_topic_have_no_summary() -> None:
    assert summarise([AnsweredQuestion("What is it?"), AnsweredQuestion("Why?")]) is None
    assert summarise([]) is None


def test_it_never_has_more_than_200_characters() -> None:
    long = [
        AnsweredQuestion(f"What is a {'very' * 20}{n} thing?", ["H" * 90 + str(n)])
        for n in range(9)
    ]

    summary = summarise(long)

    assert summary is not None
    assert 0 < len(summary) <= 200


async def ask(store: SqlThreadStore, exchange: AnsweredQuestion, number: int) -> None:
    answer, (asked, said) = turn_of("t1", str(number))
    said.record.update(  # type: ignore[attr-defined]
        standalone_question=exchange.question, headings=list(exchange.headings)
    )
    await store.append(answer, (asked, said))


async def summary_of(store: SqlThreadStore) -> str | None:
    thread = await store.load("t1")
    assert thread is not None
    return thread.topic_summary


async def test_a_thread_has_a_summary_from_the_fifth_exchange_on(store: SqlThreadStore) -> None:
    for number, exchange in enumerate(LAMPS[:4]):
        await ask(store, exchange, number)
    assert await summary_of(store) is None

    await ask(store, LAMPS[4], 4)

    assert await summary_of(store) == summarise(LAMPS)


async def test_the_summary_follows_the_conversation(store: SqlThreadStore) -> None:
    fog = [AnsweredQuestion(f"How far is the fog horn {word}?") for word in ("heard", "seen") * 6]
    for number, exchange in enumerate([*LAMPS, *fog[:5]]):
        await ask(store, exchange, number)

    assert (await summary_of(store) or "").startswith("Fog horn")


async def test_a_summary_that_someone_wrote_stays(store: SqlThreadStore) -> None:
    await ask(store, LAMPS[0], 0)
    assert await store.describe("t1", "  My notes\non lamps ") is True

    for number, exchange in enumerate(LAMPS[1:], start=1):
        await ask(store, exchange, number)

    assert await summary_of(store) == "My notes on lamps"
    assert await store.describe("t2", "Nothing") is False


@pytest.mark.parametrize("summary", ["", " \n", "x" * 201])
async def test_a_summary_has_1_to_200_characters(store: SqlThreadStore, summary: str) -> None:
    with pytest.raises(BadRequest, match="1 to 200 characters"):
        await store.describe("t1", summary)
