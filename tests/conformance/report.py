"""How many items of each data model hold, and which do not."""

import re
from collections import Counter
from typing import Any

import pytest

from tests.conformance.serving import ROOT

SEEDS = {"000": "agent", "001": "assistant", "002": "workflow", "003": "chat", "004": "query"}
_SECTION = re.compile(r"^## Deliberate deviations\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def assert_documented(names: tuple[str, ...]) -> None:
    """Check that the documentation lists a deviation by one of its names."""
    text = (ROOT / "docs" / "contracts.md").read_text("utf-8")
    found = _SECTION.search(text)
    assert found, 'docs/contracts.md has no section "Deliberate deviations"'
    named = [
        name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", found[1], re.I)
    ]
    assert named, f'"Deliberate deviations" in docs/contracts.md names none of {names}'


class Report:
    """What became of each item; one with several tests holds if all of them do."""

    def __init__(self) -> None:
        self._demands: dict[str, str] = {}
        self._kept: set[str] = set()
        self._tests: dict[str, str] = {}
        self._outcomes: dict[str, set[str]] = {}

    def describe(self, test: pytest.Item, report: pytest.TestReport) -> None:
        """Write the item that a test proves into its report."""
        for mark in test.iter_markers("item"):
            kept = any(test.iter_markers("kept"))
            report.user_properties.append(("item", (*mark.args, kept)))

    def note(self, report: pytest.TestReport) -> None:
        """Remember how a test ended."""
        for name, value in report.user_properties:
            if name == "item" and (report.when == "call" or not report.passed):
                number, demand, kept = value
                self._demands[number] = demand
                self._tests.setdefault(number, report.nodeid)
                self._outcomes.setdefault(number, set()).add(report.outcome)
                if kept:
                    self._kept.add(number)

    def _outcome(self, number: str) -> str:
        for outcome in ("failed", "skipped"):
            if outcome in self._outcomes[number]:
                return outcome
        return "kept" if number in self._kept else "passed"

    def write(self, terminal: Any) -> None:
        """Print the table, and each item that does not hold."""
        if not self._outcomes:
            return
        terminal.section("conformance")
        columns = ("passed", "failed", "kept", "skipped")
        terminal.write_line(f"{'data model':<18}{'items':>7}" + "".join(f"{c:>9}" for c in columns))
        outcomes = {number: self._outcome(number) for number in sorted(self._outcomes)}
        for seed, name in SEEDS.items():
            counted = Counter(o for number, o in outcomes.items() if number.startswith(seed))
            terminal.write_line(
                f"{seed + ' ' + name:<18}{counted.total():>7}"
                + "".join(f"{counted[column]:>9}" for column in columns)
            )
        for number, outcome in outcomes.items():
            if outcome in ("failed", "skipped"):
                terminal.write_line(f"{outcome:<8}{number}  {self._demands[number]}")
        if terminal.config.getoption("verbose") > 0:
            for number in outcomes:
                terminal.write_line(f"{number}  {self._demands[number]}  {self._tests[number]}")
