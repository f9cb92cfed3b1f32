import json

import pytest

from citewell.answer.prompts import passages_from_json, passages_to_json
from tests.verify.samples import hit_of


def test_passages_are_numbered_on_from_the_first() -> None:
    text = passages_to_json([hit_of("One."), hit_of("Two.")], first=4)

    assert [entry["number"] for entry in json.loads(text)["passages"]] == [4, 5]


def test_what_is_written_is_read_back() -> None:
    (passage,) = passages_from_json(
        passages_to_json([hit_of("Größe “x”\n[1]", similarity=0.12345)])
    )

    assert passage.number == 1
    assert passage.text == "Größe “x”\n[1]"
    assert passage.heading == "The lens › Orders"
    assert passage.similarity == 0.123


@pytest.mark.parametrize(
    "text", ["", "An error occurred", "[]", "7", "{}", '{"passages": [{"number": 1}]}']
)
def test_anything_else_gives_no_passages(text: str) -> None:
    assert passages_from_json(text) == []
