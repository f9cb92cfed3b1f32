import asyncio
import json
from dataclasses import replace
from pathlib import Path

from citewell.conversation import Feedback
from citewell.settings import Settings
from citewell.wiring import build_feedback, build_threads
from tests.cli.conftest import Citewell
from tests.storage.turns import turn_of
from tests.verify.samples import NOON


async def _judge(data: Path) -> None:
    threads = build_threads(Settings(data_dir=data))
    await threads.open()
    for name, opinion in (
        ("good", {"verdict": "up"}),
        ("bad", {"verdict": "down", "reason": "wrong", "comment": "See [1]."}),
    ):
        await threads.append(*turn_of("t1", name, question=f"Is fog {name}?"))
        given = Feedback(answer_id=f"a-t1-{name}", created_at=NOON, **opinion)  # type: ignore[arg-type]
        await build_feedback(threads).save(given)
    await threads.close()


def test_feedback_is_shown_with_the_question_and_the_reason(
    citewell: Citewell, tmp_path: Path
) -> None:
    asyncio.run(_judge(tmp_path))

    everything = citewell("feedback", data=tmp_path).stdout
    bad = citewell("feedback", "--verdict", "down", data=tmp_path).stdout

    assert "Is fog good?" in everything
    assert "wrong: See [1]." in everything
    assert "Is fog bad?" in bad
    assert "a-t1-bad" in bad
    assert "Is fog good?" not in bad


def test_feedback_for_machines_is_what_the_service_gives(
    citewell: Citewell, tmp_path: Path
) -> None:
    asyncio.run(_judge(tmp_path))

    listed = json.loads(citewell("feedback", "--json", data=tmp_path).stdout)

    assert {entry["answer_id"]: entry["comment"] for entry in listed} == {
        "a-t1-good": None,
        "a-t1-bad": "See [1].",
    }
    assert {entry["response"] for entry in listed} == {"answer good", "answer bad"}


def test_where_nobody_said_anything_it_says_so(citewell: Citewell, tmp_path: Path) -> None:
    run = citewell("feedback", data=tmp_path)

    assert (run.returncode, run.stdout) == (0, "")
    assert "none" in run.stderr


def test_the_id_of_an_answer_is_whole_in_a_narrow_terminal(
    citewell: Citewell, tmp_path: Path
) -> None:
    async def judge() -> str:
        threads = build_threads(Settings(data_dir=tmp_path))
        await threads.open()
        answer, messages = turn_of("t1", "good", question="Is fog good? " * 9)
        answer = replace(answer, id="694b292c-ce1c-42ed-bc86-02d0d7b1d6a5")
        messages = (messages[0], replace(messages[1], id=answer.id))
        await threads.append(answer, messages)
        given = Feedback(answer_id=answer.id, created_at=NOON, verdict="up", comment="So it is.")
        await build_feedback(threads).save(given)
        await threads.close()
        return answer.id

    named = asyncio.run(judge())

    assert named in citewell("feedback", data=tmp_path, COLUMNS="80").stdout
