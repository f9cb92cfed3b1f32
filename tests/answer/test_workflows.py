"""Workflows as the settings declare them."""

from pathlib import Path

import pytest

from citewell.errors import BadSettings
from citewell.settings import read_settings
from citewell.wiring import wire_services


@pytest.mark.parametrize(
    "workflow",
    [{}, {"id": "two words"}, {"id": "x", "model": "gpt-9"}, {"id": "x", "colour": "red"}],
)
def test_a_workflow_that_cannot_be_is_refused_at_start(
    workflow: dict[str, str], tmp_path: Path
) -> None:
    with pytest.raises(BadSettings):
        wire_services(read_settings(data_dir=tmp_path, workflows=[workflow]))


def test_two_workflows_cannot_share_an_id() -> None:
    with pytest.raises(BadSettings, match="same id"):
        read_settings(workflows=[{"id": "x"}, {"id": "x"}])


def test_workflows_are_read_from_the_settings_file(tmp_path: Path) -> None:
    Path("citewell.toml").write_text(
        '[[workflows]]\nid = "x"\nragIntegrationEnabled = false\n'
        'filters = { url = { prefix = "https://a" }, chapter = "A" }\n'
    )

    (workflow,) = read_settings().workflows

    assert workflow.rag_integration_enabled is False
    assert workflow.filters == {"url": [{"prefix": "https://a"}], "chapter": ["A"]}
