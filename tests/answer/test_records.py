import json

from quire.answer.records import answer_record, cited_in
from quire.domain import Citation
from tests.verify.samples import answer_of, claim_of, hit_of

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


def test_a_record_survives_json() -> None:
    answer = answer_of(
        claims=(claim_of("A lens turns.", citations=(CITATION,)),),
        withheld=(claim_of("Fog is dry.", verdict="unsupported"),),
        hits=(hit_of("A lens turns."),),
    )

    record = json.loads(json.dumps(answer_record(answer)))

    assert record["claims"][0]["citations"][0]["quote"] == "A lens turns."
    assert record["withheld"][0]["text"] == "Fog is dry."
    assert record["hits"][0]["chunk_id"] == "c1"
    assert record["confidence"]["level"] == "high"


def test_each_heading_cited_is_recorded_once() -> None:
    claim = claim_of("A lens turns.", citations=(CITATION,))

    record = answer_record(answer_of(claims=(claim, claim)))

    assert record["headings"] == ["Orders"]


def test_the_passages_a_stored_answer_cites_are_given_once_each() -> None:
    def citing(identity: str) -> dict[str, object]:
        return {"citations": [{"chunk_id": identity}]}

    record = {"claims": [citing("a"), citing("b"), citing("a"), {"citations": []}]}

    assert cited_in(record) == ("a", "b")
    assert cited_in({}) == ()
