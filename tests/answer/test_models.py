"""Model names to those who write, and what an operator is told who mistyped one."""

import sys
from typing import Any

import pytest

from citewell.answer.extractive import EmbeddedModel
from citewell.answer.models import ModelChain, build_model_chain
from citewell.errors import BadSettings
from citewell.options import LlmOptions, ModelOptions
from citewell.retrieve.rerank import SentenceReranker
from citewell.text.terms import TermStatistics
from tests.servers import WordReranker

OWN = "http://127.0.0.1:9/v1"


def chosen(names: str, **options: Any) -> ModelChain:
    return build_model_chain(
        names, SentenceReranker(WordReranker()), LlmOptions(fallback=False, **options)
    )


def test_the_embedded_model_is_made_for_each_book() -> None:
    (writer,) = chosen("embedded").models

    assert isinstance(writer.model_factory(TermStatistics()), EmbeddedModel)
    assert writer.options is None


def test_models_are_asked_in_the_order_of_the_list() -> None:
    writers = chosen("openai/large, openai/small,embedded,openai/large", base_url=OWN)

    assert [writer.name for writer in writers.models] == [
        "openai/large",
        "openai/small",
        "embedded",
    ]
    assert writers.name == "openai/large, openai/small,embedded,openai/large"


def test_a_model_of_the_list_may_have_options_of_its_own() -> None:
    own = {"openai/small": ModelOptions(temperature=0.5, tools="yes")}
    large, small = chosen("openai/large,openai/small", base_url=OWN, retries=7, models=own).models

    assert large.options is not None
    assert small.options is not None
    assert (large.options.temperature, small.options.temperature) == (None, 0.5)
    assert (large.options.retries, small.options.retries) == (7, 7)
    assert (large.tools, small.tools) == (False, True)


@pytest.mark.parametrize("name", ["gpt-9", "embeded", "/x", "openai/"])
def test_an_unknown_model_is_a_bad_setting_that_names_it(name: str) -> None:
    with pytest.raises(
        BadSettings, match=f"CITEWELL_MODEL='{name}' is not known: write 'embedded'"
    ):
        chosen(f"embedded,{name}")


def test_a_list_without_a_name_is_a_bad_setting() -> None:
    with pytest.raises(BadSettings, match="names no model"):
        chosen(" , ")


def test_a_missing_key_for_openai_is_named() -> None:
    with pytest.raises(
        BadSettings, match="needs a key: set OPENAI_API_KEY or CITEWELL_LLM__API_KEY"
    ):
        chosen("openai/gpt-4.1")


def test_any_provider_of_litellm_is_reached_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "secret")
    bare, named = chosen("gemini/gemini-2.5-flash,litellm/gemini/gemini-2.5-flash").models

    assert (bare.tools, named.tools) == (True, True)
    cost = bare.price(1_000_000, 1_000_000)
    assert cost is not None
    assert cost == named.price(1_000_000, 1_000_000) > 0


def test_a_model_that_litellm_has_no_price_for_costs_what_the_operator_says() -> None:
    (unknown,) = chosen("hosted_vllm/mine", base_url=OWN).models
    (priced,) = chosen("hosted_vllm/mine", base_url=OWN, input_price=2.0).models

    assert unknown.price(1_000_000, 0) is None
    assert priced.price(1_000_000, 5) == 2.0


def test_a_missing_key_of_a_provider_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(BadSettings, match="needs a key: set GOOGLE_API_KEY or GEMINI_API_KEY"):
        chosen("gemini/gemini-2.5-flash")


def test_a_provider_that_litellm_does_not_know_is_named() -> None:
    with pytest.raises(BadSettings, match="LiteLLM has no provider 'gemni'"):
        chosen("gemni/gemini-2.5-flash")


def test_a_missing_package_is_named_with_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)

    with pytest.raises(
        BadSettings, match=r"needs the package litellm: pip install 'citewell\[litellm"
    ):
        chosen("gemini/gemini-2.5-flash")
