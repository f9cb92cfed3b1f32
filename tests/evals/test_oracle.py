"""The oracle: two runs of the same product make equal records, and what differs is shown."""

import json
from pathlib import Path
from uuid import UUID, uuid4, uuid5

from evals.oracle.compare import differences, report
from evals.oracle.normal import Normal, events, unwrapped
from evals.oracle.records import kinds_of, metrics_of, openapi_records


def test_what_each_run_makes_anew_is_replaced_and_what_is_worked_out_stays() -> None:
    def record(port: int) -> object:
        mine, other = str(uuid4()), str(uuid4())
        return Normal({f"/tmp/{port}": "<home>"}).value(
            {
                "thread": mine,
                "call": f"call_{uuid4().hex}",
                "also": [other, mine],
                "chunk": str(uuid5(UUID(int=0), "a passage")),
                "at": f"2026-01-02T03:04:{port % 60:02}.123Z",
                "total_ms": port / 7,
                "cache_age_seconds": None,
                "url": f"http://127.0.0.1:{port}/x?id={mine}",
                "file": f"/tmp/{port}/data",
                "score": 0.5 + port / 1e12,
            }
        )

    first = record(8001)

    assert first == record(8002)
    assert first["also"] == ["<id-1>", "<id-2>"]
    assert first["thread"] == "<id-2>"
    assert first["chunk"] == str(uuid5(UUID(int=0), "a passage"))
    assert first["cache_age_seconds"] is None
    assert first["file"] == "<home>/data"


def test_a_setting_of_seconds_is_no_measurement() -> None:
    assert Normal(measured=False).value({"timeout_seconds": 30.0}) == {"timeout_seconds": 30.0}


def test_help_reads_the_same_wherever_it_wraps() -> None:
    wide = (
        "Usage: x\n\n  Ask the book a follow-up.\n\n"
        "Options:\n  --top-k N  How many to find.\n  --all\n"
    )
    narrow = (
        "Usage: x\n\n  Ask the book a follow-\n  up.\n\n"
        "Options:\n  --top-k N  How many\n             to find.\n  --all\n"
    )

    assert unwrapped(narrow) == unwrapped(wide)
    assert unwrapped(wide)[-2:] == ["--top-k N How many to find.", "--all"]


def test_events_are_read_in_order_and_comments_are_not() -> None:
    text = ': still working\n\nevent: start\ndata: {"a": 1}\nid: 1\n\ndata: [DONE]\n\n'

    assert events(text) == [{"event": "start", "data": {"a": 1}, "id": "1"}, {"data": "[DONE]"}]


def test_figures_are_recorded_without_their_counts() -> None:
    def text(count: int) -> str:
        said = "# HELP citewell_x_total Things\n# TYPE citewell_x_total counter\n"
        return f'{said}citewell_x_total{{a="b"}} {count}\n'

    found = metrics_of(text(1))

    assert found == metrics_of(text(2))
    assert found == {
        "citewell_x_total": {"help": "Things", "type": "counter", "labels": {"a": ["b"]}}
    }


def test_prose_of_the_api_is_apart_from_its_shape() -> None:
    def document(words: str, kind: str) -> dict[str, object]:
        # A field that is called `title` is shape, and its description is prose.
        return {"properties": {"title": {"type": kind, "description": words}}}

    old, reworded, changed = (
        openapi_records(document(*args))
        for args in (("Its name.", "string"), ("The name.", "string"), ("Its name.", "integer"))
    )

    assert old["openapi"] == reworded["openapi"] != changed["openapi"]
    assert old["openapi-words"] != reworded["openapi-words"]


def test_kinds_of_blocks_are_seen_in_a_passage() -> None:
    assert kinds_of("A sentence.") == ["prose"]
    assert kinds_of("Then:\n\n- one\n- two\n\n| a | b |\n| - | - |") == ["table", "list"]


def test_a_line_more_is_one_difference() -> None:
    assert list(differences({"a": ["x", "z"]}, {"a": ["x", "y", "z"]})) == [
        ("a[1]", "(absent)", "y")
    ]


def test_the_report_names_the_record_the_place_and_both_values(tmp_path: Path) -> None:
    kept, new = tmp_path / "kept", tmp_path / "new"
    for folder, answer in ((kept, "yes"), (new, "no")):
        folder.mkdir()
        (folder / "same.json").write_text("{}", "utf-8")
        (folder / "http.json").write_text(json.dumps({"hello": {"status": answer}}), "utf-8")
    (kept / "gone.json").write_text("{}", "utf-8")

    lines = report(kept, new)

    assert lines[0] == "gone.json: 1 differences"
    assert lines[-4:] == ["http.json: 1 differences", "  hello › status", "    - yes", "    + no"]
    assert report(kept, kept) == []
