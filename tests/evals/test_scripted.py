from collections.abc import Sequence
from pathlib import Path

from citewell.domain import Verdict
from citewell.ports import Judge
from citewell.verify.judge import LexicalJudge
from evals.adversarial import Alteration, Place
from evals.scripted import Played, Script, figures, play, row_of, write_scripts
from tests.servers import build_services
from tests.servers.scripted import reads_then_writes

LENS, KEEPER = "docs/lamps/01-lens.md", "docs/lamps/02-keeper.mdx"
RINGS = "A Fresnel lens is a lens made of concentric rings of glass."
HORN = "In fog the keeper sounds a horn."


def alteration(identity: str, kind: str, altered: str, **fields: object) -> Alteration:
    given: dict[str, object] = {"page": LENS, "sentence": RINGS, "twin": RINGS, "paraphrase": False}
    return Alteration(id=identity, kind=kind, altered=altered, **(given | fields))  # type: ignore[arg-type]


ITEMS = [
    alteration("t1", "entity", "A Fresnel lens is a lens made of concentric rings of steel."),
    alteration("t2", "outside", "Augustin Fresnel was born in Normandy."),
    alteration("t3", "citation", RINGS, cited=Place(page=KEEPER, sentence=HORN)),
]


class Credulous:
    """Believes everything, and takes the first sentence it sees for the proof."""

    def judge(self, claim: str, passages: Sequence[str], cited: Sequence[int]) -> Verdict:
        del claim, cited
        first = (1, 0, passages[0].index(".") + 1)
        return Verdict(kind="supported", probability=1.0, evidence=(first,))


async def played(data: Path, judge: Judge) -> list[Played]:
    on_stage: list[Script] = []
    services = build_services(
        data,
        judge=judge,
        model=lambda _: reads_then_writes(on_stage[-1].sections, on_stage[-1].write),
    )
    results = []
    async with services:
        for script in write_scripts(ITEMS, services.library.open(None)):
            on_stage.append(script)
            results.append(await play(script, services.answerer, None))
    return results


async def test_each_item_is_told_once_as_a_lie_and_once_as_the_truth(tiny_data: Path) -> None:
    async with build_services(tiny_data) as services:
        scripts = write_scripts(ITEMS, services.library.open(None))

    told = [(line.item.id, line.truth) for script in scripts for line in script.lines]
    assert sorted(told) == [
        ("t1", "altered"),
        ("t1", "true"),
        ("t2", "invented"),
        ("t2", "true"),
        ("t3", "miscited"),
        ("t3", "true"),
    ]
    for script in scripts:
        ids = [line.item.id for line in script.lines]
        assert len(set(ids)) == len(ids)


async def test_readers_see_what_is_true_and_none_of_what_is_made_up(tiny_data: Path) -> None:
    seen = figures(await played(tiny_data, LexicalJudge()))

    assert (seen["refused"], seen["without_verdict"], seen["unaccounted"]) == (0, 0, 0)
    assert (seen["false_sentences"], seen["false_shown"]) == (2, 0)
    assert seen["true"] == {"sentences": 3, "shown": 3, "shown_with_right_quote": 3}


async def test_a_wrong_citation_is_put_right(tiny_data: Path) -> None:
    seen = figures(await played(tiny_data, LexicalJudge()))

    assert seen["miscited"] == {"sentences": 1, "shown": 1, "shown_with_right_quote": 1}


async def test_what_a_credulous_judge_lets_through_is_counted(tiny_data: Path) -> None:
    results = await played(tiny_data, Credulous())
    seen = figures(results)

    assert (seen["false_shown"], seen["false_shown_share"]) == (2, 1.0)
    assert seen["false_shown_by_kind"] == {"entity": 1, "outside": 1}
    told = [told[:4] for one in results for told in row_of(one)["lines"]]
    assert ["t2", "invented", True, "supported"] in told
