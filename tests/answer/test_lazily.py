"""What is not used is not loaded."""

import subprocess
import sys

SEES = "import sys; print('mcp.server' in sys.modules, 'litellm' in sys.modules)"


def run(*lines: str) -> list[str]:
    command = [sys.executable, "-c", "\n".join(lines)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def test_whoever_asks_does_not_load_the_servers_of_other_protocols() -> None:
    assert run("import citewell.answer.pipeline", SEES) == ["False", "False"]


def test_what_is_loaded_late_is_the_whole_package() -> None:
    use = "import mcp; from mcp import Client; print(Client is mcp.Client, mcp.shared.__name__)"

    assert run("import citewell.answer.pipeline", use, SEES) == [
        "True",
        "mcp.shared",
        "True",
        "False",
    ]
