"""Any sentence of any page: the browser that follows the specification finds it, and it first."""

from dataclasses import dataclass

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from citewell.citations.text_fragments import PageText, text_fragment
from citewell.domain import Chunk
from tests.citations.fragment_oracle import Browser
from tests.verify.samples import chunk_of

# Few words, so that sentences repeat, contain and follow each other in every way.
WORDS = ("The", "the", "lamp", "a", "A", "lit", "ab", "a-b", "it's", "1.5", "灯台。", "нет", "אור")
MARKUP = ("{}", "{}", "**{}**", "*{}*", "`{}`", "[{}](x.md)", "***{}***", "~~{}~~")
MATH = ("$x_1$", "x1x_1\u200bx")
"""A formula, and what a page may show of it."""
LEADS = ("", "", "- ", "> ", "1. ")


@dataclass(frozen=True)
class Word:
    source: str
    shown: str


Sentence = list[Word]
Block = tuple[str, list[Sentence]]
Section = tuple[str, list[Block]]

words = st.builds(
    lambda word, markup: Word(markup.format(word), word),
    st.sampled_from(WORDS),
    st.sampled_from(MARKUP),
)
formulas = st.just(Word(*MATH))
short = st.lists(st.one_of(*[words] * 9, formulas), min_size=1, max_size=14)
# Long enough to be given by their ends, and their ends to be found in them more than once.
long = st.lists(
    st.sampled_from([Word(word, word) for word in ("lamp", "lamp.", "keeper")]),
    min_size=20,
    max_size=40,
)
sentences = st.one_of(short, short, long)
blocks = st.tuples(st.sampled_from(LEADS), st.lists(sentences, min_size=1, max_size=3))
sections = st.tuples(
    st.sampled_from(("The lamp", "lit", "A lamp it's")), st.lists(blocks, min_size=1, max_size=3)
)
pages = st.lists(sections, min_size=1, max_size=3)


def joined(sentence: Sentence, form: str) -> str:
    return " ".join(getattr(word, form) for word in sentence) + "."


@dataclass
class Built:
    """A page in its source, as a site shows it, and where its sentences are in both."""

    chunks: list[Chunk]
    shown: str
    places: list[tuple[Chunk, tuple[int, int], tuple[int, int], Sentence]]


def build(page: list[Section]) -> Built:
    menu = "\n".join(heading for heading, _ in page)
    shown = f"Home\nBook\n{menu}\nBook\n"
    chunks: list[Chunk] = []
    places = []
    for number, (heading, inside) in enumerate(page):
        source = ""
        shown += f"{heading}\u200b\n"
        found = []
        for lead, block in inside:
            source += lead
            for sentence in block:
                start, seen = len(source), len(shown)
                source += joined(sentence, "source")
                shown += joined(sentence, "shown")
                found.append(((start, len(source)), (seen, len(shown)), sentence))
                source += " "
                shown += " "
            source = source[:-1] + "\n\n"
            shown = shown[:-1] + "\n"
        chunk = chunk_of(
            source.rstrip(),
            identity=str(number),
            path=("Book", heading),
            url=f"https://x.y/#{number}",
        )
        chunks.append(chunk)
        places += [(chunk, *place) for place in found]
    return Built(chunks, f"{shown}{menu}\nImprint", places)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pages)
def test_the_first_match_is_the_sentence(page: list[Section]) -> None:
    built = build(page)
    layout = PageText(built.chunks)
    for chunk, source, place, sentence in built.places:
        fragment = text_fragment(layout, layout.span(chunk.id, *source))
        formula = any(word.source == MATH[0] for word in sentence)
        if fragment is None:
            # Only a sentence that stands earlier on the page, too, may be impossible to name.
            said = built.shown[slice(*place)].lower()
            assert formula or built.shown.lower().find(said) < place[0], said
            continue
        for strict in (True, False):
            found = Browser(built.shown, strict=strict).find(fragment)
            inside = found and place[0] <= found[0] < found[1] <= place[1]
            assert inside if formula else found == place, fragment


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=300), min_size=1, max_size=3), st.data())
def test_any_text_gives_a_fragment_or_none_and_never_an_error(
    texts: list[str], data: st.DataObject
) -> None:
    chunks = [chunk_of(text, identity=str(n)) for n, text in enumerate(texts)]
    layout = PageText(chunks)
    chunk = data.draw(st.sampled_from(chunks))
    assume(chunk.text)
    start = data.draw(st.integers(0, len(chunk.text) - 1))
    end = data.draw(st.integers(start + 1, len(chunk.text)))

    fragment = text_fragment(layout, layout.span(chunk.id, start, end))

    if fragment is not None:
        assert fragment.isascii()
        assert Browser(layout.text, strict=False).find(fragment)
