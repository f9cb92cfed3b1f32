"""Optional calls to a language model beside the answer itself; each has a rule-based fallback."""

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
"""Seconds before the rule-based fallback is used instead."""
AskModel = Callable[[str], Awaitable[str]]
"""Sends a text to a model with fixed instructions, and returns the reply."""


class LlmHelper:
    """Sends single prompts to the first available language model of a chain."""

    def __init__(self, chain: ModelChain) -> None:
        """Use the models of `chain`, except the embedded one, which can only quote."""
        self._chain = chain

    async def ask(self, instructions: str, text: str) -> str:
        """Return the model's reply.

        Raises:
            ModelError: no language model is available, or the call failed.
        """
        for model in self._chain.models:
            if model.options and model.breaker.allow_request():
                return await self._ask_model(model, instructions, text)
        raise ModelUnavailable("No language model is available now.")

    async def _ask_model(self, model: AnswerModel, instructions: str, text: str) -> str:
        self._chain.spending.check()
        budget = Budget(min(HELPER_TIMEOUT, self._chain.limits.answer_seconds), 10_000)
        try:
            reply = await ask_once(model, budget, instructions, text)
        except ModelError:
            model.breaker.record_failure()
            raise
        model.breaker.record_success()
        self._chain.spending.add(
            budget.read + budget.written, model.price(budget.read, budget.written)
        )
        return reply


async def ask_once(model: AnswerModel, budget: Budget, instructions: str, text: str) -> str:
    """Return a model's reply to a single prompt.

    Raises:
        ModelError: the call failed.
    """
    response = await model.open(TermStatistics(), budget).get_response(
        system_instructions=instructions,
        input=text,
        model_settings=model.settings(budget),
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
"""Messages between two summaries, the same as for the rule-based ones of the store."""
_CITATION_MARK = re.compile(r"\s*\[\d+\]")


class TopicSummarizer:
    """Summarizes conversations; if it fails, the rule-based summary of the store stays."""

    def __init__(self, threads: ThreadStore, ask_model: AskModel) -> None:
        """Store in `threads` the topics that `ask_model` selects."""
        self._threads = threads
        self._ask_model = ask_model
        self._running: set[asyncio.Task[None]] = set()

    def schedule(self, thread_id: str, owner: str | None) -> None:
        """Write a summary in the background if one is due."""
        task = asyncio.create_task(self._write(thread_id, owner))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def wait_until_idle(self) -> None:
        """Wait for all scheduled summaries."""
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
            transcript = "\n".join(
                f"{message.role}: {_CITATION_MARK.sub('', message.content)}"
                for message in thread.messages
            )
            try:
                summary = (
                    find_mentioned(await self._ask_model(transcript), _exchanges(thread)) or ""
                )
                await self._threads.describe(thread_id, summary, owner=owner, by_hand=False)
            except (ModelError, BadRequest) as error:
                LOG.info("cannot summarize thread %s: %s", thread_id, error)


def _exchanges(thread: Thread) -> list[AnsweredQuestion]:
    records = (message.record for message in thread.messages)
    return [
        AnsweredQuestion(record["standalone_question"], tuple(record.get("headings") or ()))
        for record in records
        if record.get("standalone_question") and record.get("status") != "small_talk"
    ]
