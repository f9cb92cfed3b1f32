import asyncio
from pathlib import Path

from citewell.conversation import Message
from citewell.settings import Settings
from citewell.wiring import build_threads
from tests.cli.conftest import Citewell
from tests.verify.samples import NOON, answer_of, claim_of


async def _log(data: Path) -> None:
    threads = build_threads(Settings(data_dir=data))
    await threads.open()
    wrong = claim_of("Fog is dry.", verdict="unsupported")
    for number, withheld in enumerate(((), (wrong,))):
        answer = answer_of(
            id=f"a{number}", thread_id=f"t{number}", question=f"Fog {number}?", withheld=withheld
        )
        said = Message(
            id=answer.id,
            role="assistant",
            content=answer.text,
            created_at=NOON,
            record={"unsupported": [claim.text for claim in answer.unsupported]},
        )
        await threads.append(answer, [said])
    await threads.close()


def test_flagged_answers_are_listed_with_what_was_wrong(citewell: Citewell, tmp_path: Path) -> None:
    asyncio.run(_log(tmp_path))

    flagged = citewell("answers", "--flagged", data=tmp_path).stdout
    checked = citewell("answers", "--state", "validated", data=tmp_path).stdout

    assert "Fog 1?" in flagged
    assert "not in the book: Fog is dry." in flagged
    assert "Fog 0?" not in flagged
    assert "Fog 0?" in checked


def test_where_nothing_is_flagged_it_says_so(citewell: Citewell, tmp_path: Path) -> None:
    run = citewell("answers", "--flagged", data=tmp_path)

    assert (run.returncode, run.stdout) == (0, "")
    assert "none" in run.stderr
