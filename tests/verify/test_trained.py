"""The judge that reads beside the strict checks."""

import pytest

from citewell.models.cross_encoder import EntailmentModel
from citewell.verify.judge import (
    MAX_EVIDENCE_CHARS,
    LexicalJudge,
    TrainedJudge,
    join_evidence,
    select_evidence,
)

PASSAGES = [
    "A lighthouse keeper climbs the tower every evening. The lamp is lit at dusk and burns for "
    "twelve hours. Each lens weighs 300 kg.",
    "Ships use the pattern of flashes to tell one lighthouse from another.",
]


@pytest.fixture(scope="module")
def judge() -> TrainedJudge:
    return TrainedJudge(EntailmentModel())


def test_what_the_strict_checks_support_needs_no_reading(judge: TrainedJudge) -> None:
    claim = "Each lens weighs 300 kg."

    assert judge.judge(claim, PASSAGES, [0]) == LexicalJudge().judge(claim, PASSAGES, [0])


def test_a_claim_in_other_words_is_supported_with_the_sentence_that_says_so(
    judge: TrainedJudge,
) -> None:
    verdict = judge.judge(
        "Every evening the keeper climbs up the tower of the lighthouse.", PASSAGES, []
    )

    assert verdict.kind == "supported"
    number, start, end = verdict.evidence[0]
    assert PASSAGES[number - 1][start:end] == "A lighthouse keeper climbs the tower every evening."


@pytest.mark.parametrize(
    "claim",
    [
        "Each lens weighs 900 kg.",
        "The lamp is not lit at dusk.",
        "The lamp is lit at dawn and burns for two hours.",
        "Lighthouse keepers are paid by the harbour master.",
        "The Romans built the first lighthouse in Spain.",
    ],
)
def test_an_altered_or_invented_claim_is_not_supported(judge: TrainedJudge, claim: str) -> None:
    assert judge.judge(claim, PASSAGES, []).kind in ("unsupported", "contradicted", "partly")


def test_a_claim_that_shares_no_word_with_the_book_is_unsupported(judge: TrainedJudge) -> None:
    verdict = judge.judge("Bananas contain potassium.", PASSAGES, [])

    assert verdict.kind == "unsupported"
    assert verdict.evidence == ()


def test_sentences_are_chosen_for_what_the_others_leave_out() -> None:
    sentences = [
        "The pump is driven by a belt.",
        "The pump and the belt were new.",
        "The valve closes at night.",
    ]

    found = select_evidence(
        "The pump is driven by a belt and the valve closes at night.", sentences
    )

    assert found.indices == (0, 2)
    assert found.coverage == 1.0


def test_the_judge_is_shown_no_more_than_it_can_read() -> None:
    sentences = [f"The pump number {n} {'is driven by a belt ' * 12}." for n in range(9)]
    chosen = select_evidence("The pump number 3 is driven by a belt.", sentences).indices

    assert len(join_evidence(sentences, chosen)) <= MAX_EVIDENCE_CHARS + 80
