import pytest

from citewell.domain import Verdict
from citewell.verify.judge import LexicalJudge

LENGTHS = (
    "A first-order lens has a focal length of 920 mm, and a sixth-order lens has one of 150 mm."
)
CLOCKWORK = (
    "The keeper winds the clockwork every four\nhours because a falling weight\nturns the lens."
)
TOPICS = "Publish to `cmd_vel` and subscribe to `odom`."
FOG = "In fog the keeper sounds a horn. The lamp is not lit."
SPEED = "Zenoh is faster than DDS. The loop runs at 10 Hz. Turn off the lamp before you go."


def judge(claim: str, *passages: str, cited: tuple[int, ...] = ()) -> Verdict:
    return LexicalJudge().judge(claim, passages, cited)


@pytest.mark.parametrize("claim", [LENGTHS, " ".join(CLOCKWORK.split()), "The loop runs at 10 Hz."])
def test_a_sentence_of_the_book_is_supported(claim: str) -> None:
    verdict = judge(claim, LENGTHS, CLOCKWORK, SPEED)

    assert (verdict.kind, verdict.probability) == ("supported", 1.0)


def test_a_hard_wrapped_sentence_is_proven_by_its_own_bytes() -> None:
    ((passage, start, end),) = judge(" ".join(CLOCKWORK.split()), f"Before. {CLOCKWORK}").evidence

    assert passage == 1
    assert f"Before. {CLOCKWORK}"[start:end] == CLOCKWORK


def test_a_code_block_is_supported_whatever_its_fence_says() -> None:
    verdict = judge("```bash\nwind --hours 4\n```", "```sh\n# not yet\nwind --hours 4\n```")

    assert verdict.kind == "supported"


def test_an_empty_code_block_is_not_supported() -> None:
    assert judge("```\n```", LENGTHS).kind == "unsupported"


def test_a_table_is_supported_row_by_row() -> None:
    book = (
        "| Order | Length |\n|---|---|\n| first | 920 mm |\n| third | 500 mm |\n| sixth | 150 mm |"
    )

    verdict = judge("| Order | Length |\n| --- | --- |\n| sixth | 150 mm |", book)

    assert verdict.kind == "supported"
    assert [book[start:end] for _, start, end in verdict.evidence] == [
        "| Order | Length |",
        "| sixth | 150 mm |",
    ]


def test_a_table_with_a_changed_cell_is_not_supported() -> None:
    book = "| Order | Length |\n|---|---|\n| first | 920 mm |\n| sixth | 150 mm |"

    assert judge("| Order | Length |\n| sixth | 920 mm |", book).kind != "supported"


@pytest.mark.parametrize(
    "claim",
    [
        # numbers and units
        "The loop runs at 100 Hz.",
        "The loop runs at 10 kHz.",
        "10 kHz",
        "0 Hz",
        "The keeper winds the clockwork every five hours because a falling weight turns the lens.",
        # negations
        "In fog the keeper does not sound a horn.",
        "The lamp is lit.",
        "The horn is not sounded.",
        "In fog the keeper never sounds a horn.",
        # identifiers
        "Publish to `odom` and subscribe to `cmd_vel`.",
        "Publish to `cmd_vel` and subscribe to `scan`.",
        # order and degree
        "DDS is faster than Zenoh.",
        "Zenoh is slower than DDS.",
        "Turn on the lamp before you go.",
        "Turn off the lamp after you go.",
        # what belongs to something else
        "A sixth-order lens has a focal length of 920 mm.",
        "A first-order lens has one of 150 mm.",
        "A first-order lens has a focal length of 150 mm, a sixth-order lens one of 920 mm.",
        # one word of many
        "The keeper winds the clockwork every four hours because a falling feather turns the lens.",
    ],
)
def test_a_small_change_that_says_something_else_is_not_supported(claim: str) -> None:
    assert judge(claim, LENGTHS, CLOCKWORK, TOPICS, FOG, SPEED).kind != "supported"


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("The sensor gives 10 MV.", "The sensor gives 10 mV at noon."),
        ("The lamp works at 5 °C.", "The lamp works at -5 °C."),
        ("The lamp takes 50 parts.", "The lamp takes 50 % of the parts."),
    ],
)
def test_the_case_of_a_unit_and_the_sign_of_a_number_count(claim: str, passage: str) -> None:
    assert judge(claim, passage).kind == "contradicted"


def test_a_negation_of_the_next_sentence_does_not_count() -> None:
    assert judge(
        "The lamp does not shine.", "The keeper does not sleep. The lamp shines."
    ).kind == ("contradicted")


@pytest.mark.parametrize(
    "passage",
    [
        "It is false that Nav2 needs a map.",
        "Do not assume that Nav2 needs a map.",
        "Ask whether Nav2 needs a map.",
        "Most versions of Nav2 needs a map.",
    ],
)
def test_the_end_of_a_sentence_that_denies_it_is_no_proof(passage: str) -> None:
    assert judge("Nav2 needs a map.", passage).kind == "unsupported"


def test_the_end_of_a_sentence_that_does_not_is_proof() -> None:
    assert judge("Nav2 needs a map.", "As a rule Nav2 needs a map.").kind == "supported"


def test_a_condition_cannot_be_left_out() -> None:
    assert (
        judge("The robot stops.", "The robot stops if the button is pressed.").kind != "supported"
    )


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("The keeper sounds a horn in fog.", FOG),
        ("A first-order lens has a focal length of 920 mm.", LENGTHS),
        ("Not lit is the lamp.", FOG),
    ],
)
def test_the_same_words_otherwise_arranged_are_supported(claim: str, passage: str) -> None:
    assert judge(claim, passage).kind == "supported"


def test_two_sentences_may_support_one_claim() -> None:
    passage = "The lens is thin. The lens is light. Fog is wet."

    verdict = judge("The lens is thin and light.", passage)

    assert verdict.kind == "supported"
    assert verdict.evidence == ((1, 0, len("The lens is thin. The lens is light.")),)


def test_most_of_the_words_support_a_claim_in_part() -> None:
    verdict = judge("The keeper sounds a loud horn in fog.", FOG)

    assert verdict.kind == "partly"
    assert 0.6 <= verdict.probability < 1
    assert verdict.evidence


@pytest.mark.parametrize("claim", ["Bananas are yellow.", "Yes.", "No."])
def test_an_invention_is_unsupported(claim: str) -> None:
    verdict = judge(claim, LENGTHS, FOG)

    assert (verdict.kind, verdict.probability, verdict.evidence) == ("unsupported", 0.0, ())


@pytest.mark.parametrize("claim", ["150 mm.", "The lens.", "10 Hz", "920 mm, and a"])
def test_a_scrap_of_a_sentence_says_nothing_that_could_be_proven(claim: str) -> None:
    assert judge(claim, LENGTHS, SPEED).kind == "unsupported"


def test_a_whole_item_is_proven_however_short() -> None:
    assert judge("150 mm", "Lengths:\n\n- 150 mm\n- 920 mm").kind == "supported"


def test_nothing_supports_a_claim_without_passages() -> None:
    assert judge("A lens turns.").kind == "unsupported"


def test_the_passage_a_claim_names_is_preferred() -> None:
    assert judge("The loop runs at 10 Hz.", SPEED, SPEED, cited=(1,)).evidence[0][0] == 2


@pytest.mark.parametrize("cited", [(0,), (7,), (-1,)])
def test_a_wrong_mark_is_corrected_to_the_passage_that_says_it(cited: tuple[int, ...]) -> None:
    verdict = judge("The loop runs at 10 Hz.", FOG, SPEED, cited=cited)

    assert verdict.evidence[0][0] == 2


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        ("The loop runs at 100 Hz.", "The loop runs at 10 Hz."),
        ("The loop runs at 10 kHz.", "The loop runs at 10 Hz."),
        ("The lamp is lit.", "The lamp is not lit."),
        ("In fog the keeper does not sound a horn.", "In fog the keeper sounds a horn."),
        ("Zenoh is slower than DDS.", "Zenoh is faster than DDS."),
        ("DDS is faster than Zenoh.", "Zenoh is faster than DDS."),
        ("Turn on the lamp before you go.", "Turn off the lamp before you go."),
        ("Turn off the lamp after you go.", "Turn off the lamp before you go."),
        (
            "The keeper winds the clockwork every five hours because a falling weight turns the "
            "lens.",
            CLOCKWORK,
        ),
    ],
)
def test_what_the_book_says_otherwise_is_contradicted_by_that_sentence(
    claim: str, found: str
) -> None:
    passages = (LENGTHS, CLOCKWORK, TOPICS, FOG, SPEED)

    verdict = judge(claim, *passages)

    assert (verdict.kind, verdict.probability) == ("contradicted", 0.0)
    ((number, start, end),) = verdict.evidence
    assert passages[number - 1][start:end] == found


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("The loop runs at 100 Hz.", "In 2019 the loop runs on a robot."),
        ("The loop runs at 100 Hz.", "The loop runs at night if 10 Hz are too slow."),
        ("The robot has 4 legs.", "Since 2019 the robot has legs."),
        ("The horn is loud.", "The tower is not loud."),
    ],
)
def test_a_sentence_about_something_else_contradicts_nothing(claim: str, passage: str) -> None:
    assert judge(claim, passage).kind in ("unsupported", "partly")


def test_a_claim_that_one_sentence_denies_and_another_states_is_supported() -> None:
    verdict = judge("The lamp takes 100 ms.", "The lamp takes 5 s. The lamp takes 0.1 s.")

    assert verdict.kind == "supported"


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("```\nx = a - b\n```", "```\nx = a + b\n```"),
        ("```\nwind --hours 4\nlaunch --rockets", "```\nwind --hours 4\n```"),
        ("```\nwind --hours 4\nlaunch --rockets\n```", "```\nwind --hours 4\n```"),
        ("```\nwind --hours 4 # safe\n```", "```\nwind --hours 4\n```"),
        ("$$\nx = a - b\n$$", "$$\nx = a + b\n$$"),
        ("The gain is $a - b$.", "The gain is $a + b$."),
        ("Call `stop(now)`.", "Call `stop(later)`."),
        ("brass | red", "| metal | colour |\n|---|---|\n| brass | dark |\n| iron | red |"),
    ],
)
def test_no_sign_of_code_formulas_and_cells_may_differ(claim: str, passage: str) -> None:
    assert judge(claim, passage).kind != "supported"


def test_code_that_the_end_of_the_answer_cut_off_is_checked_to_its_end() -> None:
    assert judge("```\nwind --hours 4", "```\nwind --hours 4\nstop\n```").kind == "supported"


METALS = (
    "| metal | colour | weight |\n|---|---|---|\n| brass | dark | low |\n| iron | red | high |\n\n"
    "Then:\n\n| metal | price |\n|---|---|\n| brass | high |\n| iron | low |"
)


@pytest.mark.parametrize(
    ("table", "kind"),
    [
        ("| metal | weight |\n|---|---|\n| iron | high |", "supported"),
        ("| weight | metal |\n|---|---|\n| low | brass |", "supported"),
        ("| metal | price |\n|---|---|\n| iron | low |", "supported"),
        ("| metal | price |\n|---|---|\n| iron | high |", "unsupported"),
        ("| metal | colour |\n|---|---|\n| brass | red |", "unsupported"),
        ("| metal | size |\n|---|---|\n| brass | dark |", "unsupported"),
        ("| metal | weight |\n|---|---|\n| iron | high |\n| gold | high |", "unsupported"),
    ],
)
def test_a_cell_must_stand_in_its_row_under_its_heading(table: str, kind: str) -> None:
    assert judge(table, METALS).kind == kind


def test_two_tables_in_a_row_must_both_be_the_books() -> None:
    good = "| metal | price |\n|---|---|\n| iron | low |"

    assert judge(f"{good}\n\n| metal | price |\n|---|---|\n| iron | high |", METALS).kind == (
        "unsupported"
    )
