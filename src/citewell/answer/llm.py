"""A language model as a help beside the answer: asked once, in one piece, and never needed."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress

from agents.models.interface import ModelTracing
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from citewell.answer.models import AnswerModel, ModelChain
from citewell.answer.remote_model import Budget
from citewell.conversation import Thread
from citewell.errors import BadRequest, ModelError, ModelUnavailable, StoreUnavailable
from citewell.ports import ThreadStore
from citewell.storage.summary import AnsweredQuestion, find_mentioned
from citewell.text.terms import TermStatistics

HELPER_TIMEOUT = 15.0
"""Seconds: what takes longer is done the local way, for a reader is waiting."""
AskModel = Callable[[str], Awaitable[str]]
"""Returns a model a text, under instructions that it has, and its reply."""


class LlmHelper:
    """Asks the first language model of the list that can be used."""

    def __init__(self, writers: ModelChain) -> None:
        """Ask one of `writers`; the embedded one can only quote, and is not asked."""
        self._writers = writers

    def on(self, instructions: str) -> AskModel:
        """Return what asks under these instructions."""

        async def ask(text: str) -> str:
            return await self.ask(instructions, text)

        return ask

    async def ask(self, instructions: str, text: str) -> str:
        """Return the model's reply.

        Raises:
            ModelError: there is no language model, or it could not be used.
        """
        for writer in self._writers.each:
            if writer.options and writer.breaker.allow_request():
                return await self._ask_model(writer, instructions, text)
        raise ModelUnavailable("There is no language model that can be asked now.")

    async def _ask_model(self, writer: AnswerModel, instructions: str, text: str) -> str:
        self._writers.spending.check()
        budget = Budget(min(HELPER_TIMEOUT, self._writers.limits.answer_seconds), 10_000)
        try:
            said = await ask_once(writer, budget, instructions, text)
        except ModelError:
            writer.breaker.record_failure()
            raise
        writer.breaker.record_success()
        taken = budget.read + budget.written
        self._writers.spending.add(taken, writer.price(budget.read, budget.written))
        return said


async def ask_once(writer: AnswerModel, budget: Budget, instructions: str, text: str) -> str:
    """Return a model's reply to one text.

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


LOG = logging.getLogger("citewell.answer")
SUMMARY_INTERVAL = 10
"""A summary is written each time so many messages were added, as the store does by its rules."""
_MARKS = re.compile(r"\s*\[\d+\]")


class TopicSummarizer:
    """Says what conversations are about; what the store's own rules say stays where it fails."""

    def __init__(self, threads: ThreadStore, ask: AskModel) -> None:
        """Keep in `threads` what `ask` chooses."""
        self._threads = threads
        self._ask = ask
        self._running: set[asyncio.Task[None]] = set()

    def schedule(self, thread_id: str, owner: str | None) -> None:
        """Write a summary if one is due; nobody waits for it."""
        task = asyncio.create_task(self._write(thread_id, owner))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def wait_until_idle(self) -> None:
        """Wait until all that is being written is written."""
        await asyncio.gather(*self._running)

    async def _write(self, thread_id: str, owner: str | None) -> None:
        with suppress(StoreUnavailable):
            thread = await self._threads.load(thread_id, last=SUMMARY_INTERVAL, owner=owner)
            if (
                thread is None
                or not thread.message_count
                or thread.message_count % SUMMARY_INTERVAL
            ):
                return
            said = "\n".join(
                f"{message.role}: {_MARKS.sub('', message.content)}" for message in thread.messages
            )
            try:
                summary = find_mentioned(await self._ask(said), _exchanges(thread)) or ""
                await self._threads.describe(thread_id, summary, owner=owner, by_hand=False)
            except (ModelError, BadRequest) as error:
                LOG.info("the summary of %s stays as it is: %s", thread_id, error)


def _exchanges(thread: Thread) -> list[AnsweredQuestion]:
    records = (message.record for message in thread.messages)
    return [
        AnsweredQuestion(record["standalone_question"], tuple(record.get("headings") or ()))
        for record in records
        if record.get("standalone_question") and record.get("status") != "small_talk"
    ]
