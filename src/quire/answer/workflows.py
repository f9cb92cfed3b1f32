"""Workflows: named configurations of the agent, declared in the settings file."""

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from quire.answer.options import AnswerOptions

FilterName = Literal["chapter", "section", "url", "source_file"]
Begins = dict[Literal["prefix"], str]


def _listed(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


class WorkflowOptions(BaseModel):
    """One named configuration of the agent."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")
    """What it is called by in `/workflows/{workflowId}/chat`."""
    name: str = Field("", max_length=200)
    """Its name for people."""
    description: str = Field("", max_length=2_000)
    """What it does."""
    rag_integration_enabled: bool = Field(
        True, validation_alias=AliasChoices("rag_integration_enabled", "ragIntegrationEnabled")
    )
    """Whether it answers from the book; without, it says that book context is unavailable."""
    model: str | None = None
    """Who writes its answers; by default as everywhere."""
    instructions: str = Field("", max_length=8_000)
    """What its model is told besides Quire's own instructions."""
    book: str | None = Field(None, max_length=64)
    """Which book it is about; may be left out where there is only one."""
    filters: dict[FilterName, Annotated[list[str | Begins], BeforeValidator(_listed)]] = {}
    """Where it searches, as in requests: a text, `{prefix = "…"}`, or a list of these."""

    def answering(self, general: AnswerOptions) -> AnswerOptions:
        """Give the general options with this workflow's instructions."""
        if not self.instructions:
            return general
        joined = "\n\n".join(part for part in (general.instructions, self.instructions) if part)
        return general.model_copy(update={"instructions": joined})


def unlike(workflows: tuple[WorkflowOptions, ...]) -> tuple[WorkflowOptions, ...]:
    """Give the workflows back if no two share an id.

    Raises:
        ValueError: two do.
    """
    ids = [one.id for one in workflows]
    if len(set(ids)) < len(ids):
        raise ValueError("two workflows have the same id")
    return workflows


DEFAULT_WORKFLOWS = (
    WorkflowOptions(
        id="book",
        name="Ask the book",
        description="Answers from the whole book and proves every sentence.",
    ),
)
