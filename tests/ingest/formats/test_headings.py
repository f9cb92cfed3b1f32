import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.ingest.formats.headings import (
    GithubSlugger,
    MdBookSlugger,
    TocSlugger,
    split_attributes,
    split_explicit_id,
)


@pytest.mark.parametrize(
    ("heading", "slug"),
    [
        ("What a node is", "what-a-node-is"),
        ("Nodes & topics", "nodes--topics"),
        ("What's new in v1.2?", "whats-new-in-v12"),
        ("The /cmd_vel topic", "the-cmd_vel-topic"),
        ("C++ and rclcpp::Node", "c-and-rclcppnode"),
        ("Größe & Maß", "größe--maß"),
        ("模型 预测", "模型-预测"),
        ("tf2 — frames", "tf2--frames"),
        ("½ speed", "-speed"),
        ("!?", ""),
    ],
)
def test_a_heading_gets_the_id_that_github_gives_it(heading: str, slug: str) -> None:
    assert GithubSlugger().slug(heading) == slug


def test_repeated_headings_are_numbered() -> None:
    slugger = GithubSlugger()

    assert [slugger.slug(h) for h in ("Use", "Use", "Use-1", "Use", "use")] == [
        "use",
        "use-1",
        "use-1-1",
        "use-2",
        "use-3",
    ]


@given(st.lists(st.text(st.sampled_from(list("aA-1 ")), max_size=4)))
def test_no_two_headings_of_a_page_share_an_id(headings: list[str]) -> None:
    slugger = GithubSlugger()
    slugs = [slugger.slug(heading) for heading in headings]

    assert len(set(slugs)) == len(slugs)


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("Orders {#orders}", ("Orders", "orders")),
        ("Orders {/* #orders */}", ("Orders", "orders")),
        ("Orders", ("Orders", None)),
        ("A {#b} c", ("A {#b} c", None)),
        ("A set {a, b}", ("A set {a, b}", None)),
    ],
)
def test_an_explicit_id_is_taken_off_the_heading(
    heading: str, expected: tuple[str, str | None]
) -> None:
    assert split_explicit_id(heading) == expected


def test_mdbook_numbers_on_until_an_id_is_free() -> None:
    slugger = MdBookSlugger()

    headings = ("Use It", "Use It", "use-it-1", "Use It", "Was ist Ä?", "a  b", "C++ & co_x")
    assert [slugger.slug(h) for h in headings] == [
        "use-it",
        "use-it-1",
        "use-it-1-1",
        "use-it-2",
        "was-ist-ä",
        "a--b",
        "c--co_x",
    ]


def test_python_markdown_counts_on_where_an_id_is_taken() -> None:
    slugger = TocSlugger(["b"])

    assert [slugger.slug(h) for h in ("A", "A", "a_1", "B", "!?", "?")] == [
        "a",
        "a_1",
        "a_2",
        "b_1",
        "_1",
        "_2",
    ]


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("A {#b}", ("A", "b")),
        ("A {#b .c}", ("A", "b")),
        ("A {: #b data-x='y' }", ("A", "b")),
        ("A {.c}", ("A", None)),
        ("A {b}", ("A {b}", None)),
        ("A {}", ("A {}", None)),
    ],
)
def test_attributes_are_taken_off_the_heading(
    heading: str, expected: tuple[str, str | None]
) -> None:
    assert split_attributes(heading) == expected
