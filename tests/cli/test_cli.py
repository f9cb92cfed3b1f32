"""The command line, as a reader sees it: output and exit code."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from citewell.cli import COMMANDS
from tests.cli.conftest import Citewell
from tests.conftest import SAMPLE
from tests.servers import write_tiny_book


def test_help_lists_every_command_and_loads_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv = ['citewell', '--help']\n"
        "from citewell.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'agents', 'openai', 'onnxruntime', 'qdrant_edge', 'tokenizers', 'sqlalchemy'}\n"
        "print(*(heavy & set(sys.modules)), file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert run.stderr.strip() == ""
    assert run.returncode == 0
    for name in COMMANDS:
        assert re.search(rf"^\s+{name}\b", run.stdout, re.M)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(citewell: Citewell, name: str, tmp_path: Path) -> None:
    run = citewell(name, "--help", data=tmp_path)

    assert run.returncode == 0
    assert "Usage:" in run.stdout


def test_a_covered_question_is_answered_with_sources_and_quotes(
    citewell: Citewell, sample_data: Path
) -> None:
    run = citewell("ask", "What is AMCL?", data=sample_data)

    assert run.returncode == 0, run.stderr
    assert "particle filter" in run.stdout
    assert "Sources" in run.stdout
    assert "https://physical-ai.example/physical-ai/book/" in run.stdout
    assert ":~:text=" in run.stdout


def test_an_uncovered_question_is_refused(citewell: Citewell, sample_data: Path) -> None:
    run = citewell("ask", "How do I bake sourdough bread?", data=sample_data)

    assert run.returncode == 0
    assert "I couldn't find that in the book." in run.stdout


def test_search_shows_passages_and_respects_filters(citewell: Citewell, sample_data: Path) -> None:
    run = citewell("search", "rate", "--chapter", "Safety", "--top-k", "2", data=sample_data)

    assert run.returncode == 0
    places = re.findall(r"^\d\. (.+)$", run.stdout, re.M)
    assert len(places) == 2
    assert all(place.startswith("Safety") for place in places)


@pytest.mark.parametrize(
    "said",
    [
        ("--filter", "chapter=Safety"),
        ("--filter", "chapter^=Saf"),
        ("--filter", "chapter=Nowhere", "--filter", "chapter=Safety"),
        ("--filter", "chapter=Safety", "--filter", "url^=https://physical-ai.example/"),
    ],
)
def test_a_filter_may_name_a_whole_value_a_beginning_or_several(
    citewell: Citewell, sample_data: Path, said: tuple[str, ...]
) -> None:
    run = citewell("search", "rate", *said, "--top-k", "2", data=sample_data)

    places = re.findall(r"^\d\. (.+)$", run.stdout, re.M)
    assert len(places) == 2
    assert all(place.startswith("Safety") for place in places)


def test_search_shows_what_a_passage_is_for_and_what_is_around_it(
    citewell: Citewell, sample_data: Path
) -> None:
    arguments = ("search", "What is AMCL?", "--chapter", "Glossary", "--top-k", "1")
    alone = citewell(*arguments, data=sample_data)
    around = citewell(*arguments, "--around", "1", data=sample_data)

    assert re.search(r"^1\. Glossary.*  glossary$", alone.stdout, re.M)
    assert len(around.stdout.splitlines()) > len(alone.stdout.splitlines())


def test_search_shows_plain_text_and_keeps_its_scores_for_who_asks(
    citewell: Citewell, sample_data: Path
) -> None:
    run = citewell("search", "Which QoS profiles are there?", "--top-k", "10", data=sample_data)
    scored = citewell("search", "Which QoS profiles are there?", "-v", data=sample_data)

    assert not re.search(r"```|\*\*|\| ?-|\]\(|\$\$|title=|:::|similarity", run.stdout)
    assert re.search(r"similarity [\d.]+, cosine [\d.]+", scored.stdout)


def test_a_search_for_what_the_book_never_speaks_of_says_so(
    citewell: Citewell, sample_data: Path
) -> None:
    run = citewell("search", "asdfghjkl qwerty", data=sample_data)

    assert run.stdout == "Nothing in the book is about that.\n"


def test_on_a_terminal_lines_are_broken_between_words(
    citewell: Citewell, sample_data: Path
) -> None:
    asked = ("ask", "What is AMCL?")
    piped = citewell(*asked, data=sample_data).stdout
    shown = citewell(*asked, data=sample_data, FORCE_COLOR="1", COLUMNS="40").stdout
    lines = re.sub(r"\x1b\[[\d;]*m", "", shown).split("\nSources")[0].splitlines()

    assert len(lines) > 3
    assert max(map(len, lines)) <= 40
    assert " ".join(lines).split() == piped.split("\nSources")[0].split()


def test_each_source_of_an_answer_is_named_once(citewell: Citewell, sample_data: Path) -> None:
    run = citewell("ask", "What does chapter 12 cover?", data=sample_data)

    numbers = re.findall(r"^  \[(\d+)\]", run.stdout, re.M)
    assert numbers
    assert len(numbers) == len(set(numbers))


def test_the_contents_are_shown_as_a_tree_of_chapters(
    citewell: Citewell, sample_data: Path
) -> None:
    short = citewell("toc", "--depth", "0", data=sample_data)
    full = citewell("toc", "--urls", data=sample_data)
    stored = citewell("toc", "--json", data=sample_data)

    assert short.returncode == full.returncode == stored.returncode == 0
    assert "Part 4: Autonomy" in short.stdout
    assert re.search(r"12\. Localisation$", short.stdout, re.M)
    assert "Odometry" not in short.stdout
    assert "Odometry and dead reckoning  https://physical-ai.example/" in full.stdout
    assert json.loads(stored.stdout)["definitions"][0]["text"] == "A\\*"


def test_a_question_about_the_book_itself_is_answered_from_its_contents(
    citewell: Citewell, sample_data: Path
) -> None:
    run = citewell("ask", "What does chapter 12 cover?", data=sample_data)

    assert run.returncode == 0, run.stderr
    assert "Chapter 12 is “Localisation” with" in run.stdout
    assert "- The Bayes filter [" in run.stdout
    assert "localisation#odometry-and-dead-reckoning" in run.stdout


def test_ingest_reports_and_does_nothing_the_second_time(
    citewell: Citewell, sample_data: Path
) -> None:
    run = citewell("ingest", str(SAMPLE), data=sample_data)

    assert run.returncode == 0
    assert "physical-ai as docusaurus (--format" in run.stderr
    assert "nothing changed" in run.stderr
    assert "07-field-notes.md: is draft" in run.stderr


def test_ingest_that_leaves_a_page_out_says_so_by_its_exit_code(
    citewell: Citewell, tmp_path: Path
) -> None:
    book = write_tiny_book(tmp_path / "book")
    (book / "docs" / "broken.md").write_text("---\ntitle: [unclosed\n---\ntext\n", "utf-8")

    run = citewell("ingest", str(book), data=tmp_path / "data")

    assert run.returncode == 3
    assert "skipped docs/broken.md: front matter is not valid YAML" in run.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("ingest", "nowhere"), "nowhere does not exist."),
        (("ingest", "."), "is an empty folder."),
        (("ingest", ".", "--format", "word"), "There is no format 'word': use one of docusaurus,"),
        (("ingest", str(SAMPLE), "--locale", "de"), "The book has no locale 'de': use en."),
        (
            ("ingest", str(SAMPLE), "--docs-version", "3"),
            "The book has no version '3': use current.",
        ),
        (("ask", "What?"), "No book has been ingested"),
        (("toc",), "No book has been ingested"),
        (("ask", "  "), "A question has 1 to 1000 characters; this has 0."),
        (("ask", "x" * 1001), "this has 1001."),
        (("ask", "What?", "--book", "none"), "There is no book 'none'."),
        (("search", "What?"), "No book has been ingested"),
        (
            ("search", "What?", "--filter", "colour=red"),
            "'colour=red' is not a filter. Use FIELD=VALUE or FIELD^=VALUE with one of "
            "the fields chapter, section, url, source_file.",
        ),
        (("ask", "What?", "--filter", "chapter"), "'chapter' is not a filter"),
        (("serve",), "There is no book in"),
    ],
)
def test_bad_input_is_one_clear_sentence_and_a_failing_exit_code(
    citewell: Citewell, arguments: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    run = citewell(*arguments, data=tmp_path / "data")

    assert run.returncode == 1
    assert sentence in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CITEWELL_SERVE__PORT", "many"),
        ("CITEWELL_MODEL", "gpt-none"),
        ("CITEWELL_LOG_LEVEL", "loud"),
        ("CITEWELL_INGEST__TARGET_TOKENS", "1"),
    ],
)
def test_a_bad_setting_is_named(
    citewell: Citewell, name: str, value: str, sample_data: Path
) -> None:
    run = citewell("ask", "What?", data=sample_data, **{name: value})

    assert run.returncode == 1
    assert name in run.stderr
    assert "Traceback" not in run.stderr


def test_a_broken_settings_file_is_named(citewell: Citewell, tmp_path: Path) -> None:
    (tmp_path / "citewell.toml").write_text("model = [", "utf-8")

    run = citewell("doctor", data=tmp_path / "data")

    assert run.returncode == 1
    assert "citewell.toml cannot be read" in run.stderr


def test_doctor_finds_everything_in_order(citewell: Citewell, sample_data: Path) -> None:
    run = citewell("doctor", data=sample_data)

    assert run.returncode == 0, run.stdout
    assert "physical-ai (24 pages" in run.stdout
    assert run.stdout.count("weights verified") == 2
    assert "no  " not in run.stdout


def test_doctor_names_what_is_wrong_and_how_to_fix_it(citewell: Citewell, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder", "utf-8")

    run = citewell("doctor", data=blocked / "data", CITEWELL_MODEL="gpt-none")

    assert run.returncode == 1
    assert "CITEWELL_MODEL" in run.stdout
    assert "Traceback" not in run.stderr


def test_show_settings_prints_what_is_in_force(citewell: Citewell, tmp_path: Path) -> None:
    run = citewell("serve", "--show-settings", "--port", "1234", data=tmp_path / "data")

    assert run.returncode == 0
    assert '"port": 1234' in run.stdout


def test_serve_answers_over_http_and_stops_when_told(sample_data: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "citewell", "serve", str(SAMPLE), "--port", "0"],
        env={**os.environ, "CITEWELL_DATA_DIR": str(sample_data), "COLUMNS": "200"},
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stderr is not None
        address = next(
            found[0] for line in server.stderr if (found := re.search(r"http://[\d.:]+", line))
        )
        try:
            reply = httpx.post(f"{address}/chat/run", json={"message": "What is AMCL?"}, timeout=60)
        finally:
            server.send_signal(signal.SIGINT)
            server.stderr.read()

    assert reply.json()["should_answer"] is True


def test_a_port_in_use_is_named(citewell: Citewell, sample_data: Path) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])

        run = citewell("serve", "--port", port, data=sample_data)

    assert run.returncode == 1
    assert f"Cannot listen on 127.0.0.1:{port}" in run.stderr
