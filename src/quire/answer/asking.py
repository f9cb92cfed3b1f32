"""A language model as a help beside the answer: asked once, in one piece, and never needed."""

from collections.abc import Awaitable, Callable

from agents.models.interface import ModelTracing
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from quire.answer.budget import Budget
from quire.answer.models import Writer, Writers
from quire.errors import ModelError, ModelUnavailable
from quire.prose.terms import TermStatistics

HELPFUL = 15.0
"""Seconds: what takes longer is done the local way, for a reader is waiting."""
Ask = Callable[[str], Awaitable[str]]
"""Gives a model a text, under instructions that it has, and its reply."""


class Asking:
    """Asks the first language model of the list that can be used."""

    def __init__(self, writers: Writers) -> None:
        """Ask one of `writers`; the embedded one can only quote, and is not asked."""
        self._writers = writers

    def on(self, instructions: str) -> Ask:
        """Give what asks under these instructions."""

        async def ask(text: str) -> str:
            return await self.ask(instructions, text)

        return ask

    async def ask(self, instructions: str, text: str) -> str:
        """Give the model's reply.

        Raises:
            ModelError: there is no language model, or it could not be used.
        """
        for writer in self._writers.each:
            if writer.options and writer.breaker.lets_through():
                return await self._asked(writer, instructions, text)
        raise ModelUnavailable("There is no language model that can be asked now.")

    async def _asked(self, writer: Writer, instructions: str, text: str) -> str:
        self._writers.spending.check()
        budget = Budget(min(HELPFUL, self._writers.limits.answer_seconds), 10_000)
        try:
            said = await ask_once(writer, budget, instructions, text)
        except ModelError:
            writer.breaker.failed()
            raise
        writer.breaker.succeeded()
        taken = budget.read + budget.written
        self._writers.spending.add(taken, writer.price(budget.read, budget.written))
        return said


async def ask_once(writer: Writer, budget: Budget, instructions: str, text: str) -> str:
    """Give a model's reply to one text.

    Raises:
        ModelError: it could not be used.
    """
    response = await writer.open(TermStatistics(), budget).get_response(
        system_instructions=instructions,
        input=text,
        model_settings=writer.settings(budget),
        tools=[],
        output_schema=None,
        handoffs=[],
        tracing=ModelTracing.DISABLED,
        previous_response_id=None,
        conversation_id=None,
        prompt=None,
    )
    return "".join(
        part.text
        for item in response.output
        if isinstance(item, ResponseOutputMessage)
        for part in item.content
        if isinstance(part, ResponseOutputText)
    ).strip()
