import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.domain import Block, BlockKind, Chunk, Page, Section
from citewell.ingest.chunking import chunk_page, embedding_text
from citewell.ingest.formats.markdown import parse_page
from citewell.options import IngestOptions

NOW = datetime(2024, 5, 1, tzinfo=UTC)
SMALL = IngestOptions(target_tokens=20, max_tokens=40, max_block_tokens=100)


def count(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def page_of(*sections: Section) -> Page:
    return Page(
        source="docs/a.md", title="Lamps", part="Part 1", url="https://x.y/a", sections=sections
    )


def section_of(*blocks: tuple[BlockKind, str]) -> Section:
    return Section(
        path=("Lamps", "Lens"),
        anchor="lens",
        blocks=tuple(Block(kind=kind, text=text) for kind, text in blocks),
    )


def cut(*sections: Section, options: IngestOptions = SMALL) -> tuple[Chunk, ...]:
    return chunk_page(page_of(*sections), book="lamps", count=count, options=options, now=NOW)


def texts(*blocks: tuple[BlockKind, str]) -> list[str]:
    return [chunk.text for chunk in cut(section_of(*blocks))]


def prose(number: int, name: str = "w") -> str:
    return " ".join(f"{name}{i}" for i in range(number))


def test_a_chunk_says_what_it_is_and_where_it_stands() -> None:
    (chunk,) = cut(section_of(("prose", "A lens bends light.")))

    assert chunk == Chunk(
        id=chunk.id,
        book="lamps",
        source_file="docs/a.md",
        part="Part 1",
        chapter="Lamps",
        section="Lens",
        path=("Lamps", "Lens"),
        url="https://x.y/a#lens",
        text="A lens bends light.",
        content_hash=hashlib.sha256(b"A lens bends light.").hexdigest(),
        sequence=1,
        total=1,
        token_count=4,
        processed_at=NOW,
    )


def test_text_before_any_heading_stands_under_the_page_itself() -> None:
    (chunk,) = cut(Section(path=(), anchor="", blocks=(Block(kind="prose", text="Hello."),)))

    assert (chunk.section, chunk.path, chunk.url) == ("Lamps", ("Lamps",), "https://x.y/a")


def test_ids_are_named_by_book_page_and_place_alone() -> None:
    before = cut(section_of(("prose", prose(30)), ("prose", "Old words.")))
    after = cut(section_of(("prose", prose(30)), ("prose", "New words.")))

    assert [chunk.id for chunk in before] == [chunk.id for chunk in after]
    assert len({chunk.id for chunk in before}) == len(before) == 2
    assert {UUID(chunk.id).version for chunk in before} == {5}


def test_ids_do_not_change_between_releases() -> None:
    (chunk,) = cut(section_of(("prose", "Text.")))

    assert chunk.id == "62e75f82-07bf-567c-a95e-24d194274ee6"


def test_chunks_of_a_page_are_numbered_across_its_sections() -> None:
    chunks = cut(section_of(("prose", prose(30)), ("prose", "B.")), section_of(("prose", "C.")))

    assert [(chunk.sequence, chunk.total) for chunk in chunks] == [(1, 3), (2, 3), (3, 3)]


def test_a_chunk_never_crosses_a_heading() -> None:
    page = parse_page("# A\n\nOne.\n\n## B\n\nTwo.\n\n## C\n\nThree.\n", mdx=False)

    assert [chunk.text for chunk in cut(*page.sections)] == ["One.", "Two.", "Three."]


def test_small_neighbours_are_gathered_until_the_target_is_reached() -> None:
    assert texts(("prose", prose(10)), ("prose", prose(10)), ("prose", "Next.")) == [
        f"{prose(10)}\n\n{prose(10)}",
        "Next.",
    ]


def test_a_block_that_would_make_the_chunk_too_long_begins_a_new_one() -> None:
    assert texts(("prose", prose(15)), ("prose", prose(30))) == [prose(15), prose(30)]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("table", "| a | b |\n| - | - |\n" + "| 1 | 2 |\n" * 15 + "| 1 | 2 |"),
        ("code", "```\n" + "run it. Now.\n\n" * 30 + "```"),
        ("math", "$$\n" + "x = 1. Y\n" * 20 + "$$"),
        ("admonition", ":::note\n" + "Mind. The. Gap.\n\n" * 20),
        ("list", "- one. Two.\n" * 20),
    ],
)
def test_what_belongs_together_is_never_split_between_chunks(kind: BlockKind, text: str) -> None:
    assert count([text])[0] > SMALL.max_tokens

    before = f"One thing. Then {prose(12)}"

    chunks = texts(("prose", before), (kind, text), ("prose", "After."))

    assert chunks == [before, text, "After."]


@pytest.mark.parametrize("kind", ["list", "code", "table"])
def test_the_sentence_that_announces_something_stays_with_it(kind: BlockKind) -> None:
    assert texts(("prose", prose(18)), ("prose", "Do this:"), (kind, prose(50, "x"))) == [
        prose(18),
        f"Do this:\n\n{prose(50, 'x')}",
    ]


def test_an_announcement_that_begins_a_section_stays_with_what_it_announces() -> None:
    assert texts(("prose", f"{prose(30)}:"), ("list", prose(50, "x"))) == [
        f"{prose(30)}:\n\n{prose(50, 'x')}"
    ]


def test_long_prose_is_split_between_sentences() -> None:
    sentences = [f"Sentence {i} has {prose(8)}." for i in range(10)]

    chunks = texts(("prose", " ".join(sentences)))

    assert len(chunks) > 1
    assert " ".join(chunks) == " ".join(sentences)
    assert all(chunk.startswith("Sentence") and chunk.endswith(".") for chunk in chunks)
    assert all(tokens <= SMALL.max_tokens for tokens in count(chunks))


def test_one_sentence_longer_than_the_limit_stays_whole() -> None:
    assert texts(("quote", f"{prose(60)}.")) == [f"{prose(60)}."]


def test_a_page_of_names_without_full_stops_is_cut_between_words() -> None:
    names = prose(SMALL.max_block_tokens + 50, "name")

    chunks = texts(("prose", names))

    assert " ".join(chunks) == names
    assert all(tokens <= SMALL.max_tokens for tokens in count(chunks))


def test_prose_without_any_sentence_stays_whole() -> None:
    assert texts(("prose", "--- " * 60)) == [("--- " * 60).rstrip()]


def test_the_one_sentence_before_a_list_stays_with_it() -> None:
    assert texts(("prose", prose(25)), ("prose", "Three are known."), ("list", prose(50, "x"))) == [
        prose(25),
        f"Three are known.\n\n{prose(50, 'x')}",
    ]


def pieces(kind: BlockKind, text: str) -> list[str]:
    """Cut one long block, and see that each chunk says which piece it is."""
    chunks = cut(section_of((kind, text)))
    assert [chunk.piece for chunk in chunks] == [
        f"{n}/{len(chunks)}" for n in range(1, len(chunks) + 1)
    ]
    assert all(chunk.token_count <= SMALL.max_block_tokens for chunk in chunks)
    assert len(chunks) > 1
    return [chunk.text for chunk in chunks]


def test_a_very_long_table_is_split_between_its_rows_and_repeats_its_head() -> None:
    head = "| Row | Words |\n| --- | --- |"
    rows = [f"| row {i} | {prose(5)} |" for i in range(40)]

    found = pieces("table", "\n".join([head, *rows]))

    assert all(piece.startswith(f"{head}\n") for piece in found)
    assert [row for piece in found for row in piece.split("\n")[2:]] == rows


def test_a_table_without_a_head_is_split_between_its_lines() -> None:
    lines = [f"| row {i} | {prose(5)} |" for i in range(40)]

    assert "\n".join(pieces("table", "\n".join(lines))).split("\n") == lines


def test_very_long_code_is_split_between_statements_within_its_fences() -> None:
    functions = [f"def f{i}():\n    {prose(10)}\n\n    return {prose(10)}" for i in range(12)]
    code = "\n\n\n".join(functions)

    found = pieces("code", f"```python\n{code}\n```")

    bodies = [piece.removeprefix("```python\n").removesuffix("\n```") for piece in found]
    assert all(body.startswith("def f") and body.endswith(prose(10)) for body in bodies)
    assert "\n\n\n".join(bodies) == code


def test_a_very_long_function_is_split_at_its_blank_lines() -> None:
    steps = [f"    {prose(15)}\n    {prose(15)}" for _ in range(8)]

    found = pieces("code", "```\ndef f():\n" + "\n\n".join(steps) + "\n```")

    assert all(piece.split("\n")[-3:-1] == steps[0].split("\n") for piece in found)


def test_a_very_long_admonition_is_split_between_paragraphs_but_not_within_its_code() -> None:
    code = "```\nrun one\n\nrun two\n```"
    body = "\n\n".join([prose(40), code, prose(40), code, prose(40)])

    found = pieces("admonition", f":::note[Mind]\n\n{body}\n\n:::")

    assert all(p.startswith(":::note[Mind]\n") and p.endswith("\n:::") for p in found)
    assert all(piece.count("```") % 2 == 0 for piece in found)


def test_a_very_long_list_is_split_between_items_and_keeps_its_lead_in() -> None:
    items = [f"- {prose(8)}\n  {prose(8)}" for _ in range(12)]

    chunks = cut(section_of(("prose", "Do. The steps are:"), ("list", "\n".join(items))))

    first, *rest = (chunk.text for chunk in chunks)
    assert first.startswith("Do. The steps are:\n\n- ")
    assert all(text.startswith("The steps are:\n\n- ") for text in rest)
    assert [chunk.piece for chunk in chunks] == ["1/3", "2/3", "3/3"]
    kept = "\n".join(text.partition("\n\n")[2] for text in (first, *rest))
    assert kept == "\n".join(items)


def test_what_is_whole_is_no_piece_of_anything() -> None:
    assert [chunk.piece for chunk in cut(section_of(("code", "```\nrun\n```")))] == [""]


def test_blank_lines_between_very_long_lines_make_no_empty_chunk() -> None:
    long = prose(150)

    assert texts(("code", f"{long}\n\n{long}\n\n")) == [long, long]


def test_a_section_without_blocks_has_no_chunks() -> None:
    assert cut(section_of()) == ()


def test_the_embedder_sees_where_a_passage_stands_and_its_plain_words() -> None:
    (chunk,) = cut(section_of(("prose", "A **lens** bends `light`.")))

    assert embedding_text(chunk) == "Part 1 › Lamps › Lens\nA lens bends light."


WORD = st.sampled_from(["A", "lens.", "Bends", "light:", "e.g.", "1.", "|", "`x.", "y`", "-", "$$"])
LINE = st.lists(WORD, min_size=1, max_size=30).map(" ".join)
BLOCKS = st.tuples(
    st.sampled_from(["prose", "list", "code", "table", "math", "admonition", "quote"]),
    st.lists(LINE, min_size=1, max_size=20).map("\n".join),
)


@given(st.lists(BLOCKS, max_size=6))
def test_every_word_of_a_section_is_in_its_chunks_in_order(
    blocks: list[tuple[BlockKind, str]],
) -> None:
    chunks = cut(section_of(*blocks))

    said = " ".join(chunk.text for chunk in chunks).split()
    written = " ".join(text for _, text in blocks).split()
    rest = iter(said)
    assert all(word in rest for word in written)
    # Only what was split says some of its words twice.
    assert said == written or any(chunk.piece for chunk in chunks)
    assert all(chunk.text.strip() for chunk in chunks)
