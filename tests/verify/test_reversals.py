"""What turns a sentence round with its own words."""

import pytest

from citewell.verify.reversals import ReversalKind, find_reversals


@pytest.mark.parametrize(
    ("claim", "sentence", "kind"),
    [
        ("The pump feeds the boiler.", "The boiler feeds the pump.", "swapped"),
        ("Heat flows from the cold plate to the hot plate.",
         "Heat flows from the hot plate to the cold plate.", "swapped"),
        ("Water passes from the tank to the mill.",
         "All water goes from the old mill wheel to the tank.", "swapped"),
        ("Oak is used for doors, and pine is used for floors.",
         "Pine is used for doors, and oak is used for floors.", "exchanged"),
        ("Doors are made by the joiner and floors by the mason.",
         "The mason makes the doors, and the joiner makes the floors.", "exchanged"),
        ("The larger the load, the larger the margin.",
         "A large load leaves a small margin.", "opposed"),
        ("Synchronous motors slip under load.", "Asynchronous motors slip under load.", "opposed"),
        ("Most keepers live in the tower.", "Some keepers live in the tower.", "scope"),
        ("The gate is locked at night.", "Nothing locks the gate at night.", "denied"),
    ],
)  # fmt: skip
def test_a_reversal_is_named(claim: str, sentence: str, kind: ReversalKind) -> None:
    assert kind in find_reversals(claim, sentence)


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("The boiler is fed by the pump.", "The pump feeds the boiler."),
        ("In fog the horn sounds every minute.", "The horn sounds every minute in fog."),
        ("Floors are made by the joiner and doors by the mason.",
         "The mason makes the doors, and the joiner makes the floors."),
        ("For a clear signal, the mast needs four stays.",
         "The mast needs at least four stays for a clear signal."),
        ("The keeper avoids lighting the lamp by day.",
         "The keeper does not light the lamp by day."),
        ("Some keepers live in the tower.", "Some keepers live in the tower, others do not."),
    ],
)  # fmt: skip
def test_saying_the_same_in_another_order_reverses_nothing(claim: str, sentence: str) -> None:
    assert find_reversals(claim, sentence) == set()


def test_each_side_is_read_alike() -> None:
    low, high = "The cheap valve leaks.", "The expensive valve leaks."

    assert find_reversals(low, high) == find_reversals(high, low) == {"opposed"}
