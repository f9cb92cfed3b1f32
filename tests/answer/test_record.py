import json

from citewell.answer.record import answer_record, cited_chunk_ids, receipt_from_message
from citewell.conversation import Message
from citewell.domain import Answer, Citation, Filters, Prefix, Question
from citewell.questions.followup import ConversationContext
from tests.verify.samples import NOON, answer_of, claim_of, hit_of

CITATION = Citation(
    number=1,
    chunk_id="c1",
    chapter="The lens",
    section="Orders",
    quote="A lens turns.",
    start=0,
    end=13,
    url="https://tiny.example/lens",
)
QUESTION = Question(text="What is it?", top_k=3, filters=Filters(chapter=("The lens",)))


def stored(answer: Answer, **changes: object) -> Message:
    record = json.loads(json.dumps(answer_record(answer, QUESTION, answer.hits))) | changes
    return Message(
        id=answer.id, role="assistant", content=answer.text, created_at=NOON, record=record
    )


def test_a_record_survives_json() -> None:
    answer = answer_of(
        claims=(claim_of("A lens turns.", citations=(CITATION,)),),
        withheld=(claim_of("Fog is dry.", verdict="unsupported"),),
        hits=(hit_of("A lens turns."),),
    )

    receipt = receipt_from_message(stored(answer))

    assert receipt.claims == answer.claims
    assert receipt.withheld == answer.withheld
    assert receipt.confidence == answer.confidence
    assert receipt.timings == answer.timings
    assert (receipt.filters, receipt.top_k) == (QUESTION.filters, QUESTION.top_k)
    assert (receipt.passages[0].chunk_id, receipt.passages[0].rank) == ("c1", 1)


def test_a_follow_up_is_recorded_with_all_that_its_search_was_given() -> None:
    question = Question(text="And it?", filters=Filters(url=(Prefix("https://tiny"), "x")))

    leaning = ConversationContext(
        ("c7",), previous_answers="It turns.", original_question=answer_of().question
    )
    record = json.loads(json.dumps(answer_record(answer_of(), question, (), leaning)))
    message = Message(id="a", role="assistant", content="A.", created_at=NOON, record=record)
    receipt = receipt_from_message(message)

    assert receipt.filters == question.filters
    assert receipt.conversation_context == leaning
    assert receipt.searched


def test_what_stayed_below_the_threshold_is_recorded_behind_what_was_used() -> None:
    used, weak = hit_of("A lens turns."), hit_of("Fog.", identity="c2", similarity=0.4)

    answer = answer_of(hits=(used,))
    record = answer_record(answer, QUESTION, (used, weak))

    assert [(hit["chunk_id"], hit["used"]) for hit in record["hits"]] == [
        ("c1", True),
        ("c2", False),
    ]


def test_a_record_of_an_older_version_is_read_with_what_it_has() -> None:
    message = stored(answer_of(hits=(hit_of("A lens turns."),)))
    new = ("mode", "selection", "filters", "top_k", "threshold", "question", "thread_id", "lacks")
    old = {name: value for name, value in message.record.items() if name not in new}
    hits = [{k: v for k, v in hit.items() if k in _OLD_HIT} for hit in old["hits"]]

    receipt = receipt_from_message(
        Message(
            id="a",
            role="assistant",
            content="A lens.",
            created_at=NOON,
            record=old | {"hits": hits},
        )
    )

    assert receipt.question == "What is a lens?"
    assert receipt.mode == "retrieval_pipeline"
    assert receipt.passages[0].rank == 1


_OLD_HIT = ("chunk_id", "content_hash", "chapter", "section", "url", "similarity", "cosine")


def test_each_heading_cited_is_recorded_once() -> None:
    claim = claim_of("A lens turns.", citations=(CITATION,))

    record = answer_record(answer_of(claims=(claim, claim)), QUESTION, ())

    assert record["headings"] == ["Orders"]


def test_the_passages_a_stored_answer_cites_are_given_once_each() -> None:
    def citing(identity: str) -> dict[str, object]:
        return {"citations": [{"chunk_id": identity}]}

    record = {"claims": [citing("a"), citing("b"), citing("a"), {"citations": []}]}

    assert cited_chunk_ids(record) == ("a", "b")
    assert cited_chunk_ids({}) == ()


def test_of_a_selection_the_passage_of_the_book_is_cited_or_nothing() -> None:
    selected = {"chunk_id": "s", "of": "selection", "found_in": "a"}
    own = {"chunk_id": "s", "of": "own_text", "found_in": ""}

    assert cited_chunk_ids({"claims": [{"citations": [selected, own]}]}) == ("a",)
