import pytest

from quire.answer.embedded import EmbeddedModel
from quire.answer.models import choose_model
from quire.errors import BadSettings
from quire.prose.terms import TermStatistics
from quire.retrieve.evidence import EvidenceReader
from quire.testing import WordReader


def test_the_embedded_model_is_made_for_each_book() -> None:
    model_for = choose_model("embedded", EvidenceReader(WordReader()))

    assert isinstance(model_for(TermStatistics()), EmbeddedModel)


def test_an_unknown_model_is_a_bad_setting_that_names_it() -> None:
    with pytest.raises(BadSettings, match="'gpt-9'"):
        choose_model("gpt-9", EvidenceReader(WordReader()))
