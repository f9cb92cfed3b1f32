import pytest

from citewell.domain import Block, ChunkRole
from citewell.ingest.chunking import role_of

PROSE = [Block(kind="prose", text="What does a lens do?")]


@pytest.mark.parametrize(
    ("path", "role"),
    [
        (("Lens", "Exercises"), "exercises"),
        (("Lens", "3.4 Review questions"), "exercises"),
        (("Lens", "Part 2 Quiz"), "exercises"),
        (("Lens", "Exercises", "A lens of your own"), "exercises"),
        (("Quiz", "Lenses"), "exercises"),
        (("Lens", "Solutions"), "solutions"),
        (("Lens", "Answers to the exercises"), "solutions"),
        (("Answer key",), "solutions"),
        (("Lens", "Exercises", "Answers"), "solutions"),
        (("Glossary",), "glossary"),
        (("Glossary of lamps", "A"), "glossary"),
        (("Lens", "Key terms"), "glossary"),
        (("Lens", "Common problems"), "text"),
        (("Problems", "Fog"), "text"),
        (("Lens", "The exercise of power"), "text"),
        (("Lens", "A solution of salt"), "text"),
        (("Questions of light", "Colour"), "text"),
    ],
)
def test_headings_tell_what_a_passage_is_used_for(path: tuple[str, ...], role: ChunkRole) -> None:
    assert role_of(path, PROSE) == role


@pytest.mark.parametrize(
    ("block", "role"),
    [
        (Block(kind="admonition", text=":::exercise[One]\nGrind.\n:::"), "exercises"),
        (Block(kind="admonition", text=":::solution\nGround.\n:::"), "solutions"),
        (Block(kind="admonition", text=":::note\nMind.\n:::"), "text"),
        (Block(kind="caption", text="A lens, cut open."), "figure"),
        (Block(kind="prose", text="**Fig. 3-2.** A lens, cut open."), "figure"),
        (Block(kind="prose", text="Figure 3 shows a lens."), "text"),
        (Block(kind="prose", text="Figure 3.5 m above."), "text"),
    ],
)
def test_the_form_of_a_passage_tells_what_it_is(block: Block, role: ChunkRole) -> None:
    assert role_of(("Lens",), [block]) == role


def test_a_caption_among_other_text_makes_no_figure_of_it() -> None:
    assert role_of(("Lens",), [*PROSE, Block(kind="caption", text="A lens.")]) == "text"
