"""The one confidence, from what search and verification know of an answer."""

from pathlib import Path

from citewell.domain import Citation, Claim, Question
from citewell.events import Done, Retrieved
from citewell.verify.confidence import correctness_features, correctness_probability
from tests.servers import build_services
from tests.verify.samples import claim_of, hit_of

HITS = [hit_of("A lens."), hit_of("A horn.", identity="c2", section="Fog")]


def proven(text: str = "A lens.", *, chunk: str = "c1", probability: float = 1.0) -> Claim:
    quote = Citation(
        number=1, chunk_id=chunk, chapter="", section="", quote=text, start=0, end=len(text), url=""
    )
    return claim_of(text, citations=(quote,), probability=probability)


def test_better_evidence_never_makes_an_answer_less_likely_to_be_right() -> None:
    doubtful = correctness_probability(0.4, HITS, [proven(probability=0.8)], [claim_of("A boat.")])
    surer = correctness_probability(0.9, HITS, [proven()], [])

    assert doubtful is not None
    assert surer is not None
    assert 0 <= doubtful < surer <= 1


def test_what_is_held_back_and_what_is_cited_are_counted() -> None:
    features = correctness_features(0.5, HITS, [proven()], [claim_of("A boat.")])

    assert features == {
        "answerable": 0.0, "first": 1.0, "agreed": 0.5, "withheld": 0.5,
    }  # fmt: skip


def test_nothing_is_said_of_an_answer_that_proves_nothing() -> None:
    assert correctness_probability(0.9, HITS, [], []) is None
    assert correctness_probability(0.9, HITS, [proven(chunk="elsewhere")], []) is None


async def test_it_is_known_once_an_answer_is_complete(tiny_data: Path) -> None:
    async with build_services(tiny_data) as services:
        events = [
            e async for e in services.answerer.answer(Question(text="What is a Fresnel lens?"))
        ]

    found = next(event for event in events if isinstance(event, Retrieved))
    done = next(event for event in events if isinstance(event, Done))
    assert found.confidence.correctness is None
    assert done.answer.status == "answered"
    assert done.answer.confidence.correctness is not None
