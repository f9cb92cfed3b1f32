"""The exceptions of Citewell.

* CitewellError
  x BadRequest
    + UnknownBook
    + UnknownPage
    + UnknownThread
    + UnknownAnswer
    + UnknownWorkflow
    + UnknownKey
    + UnknownStream
    + BadSettings
      - ModelIncomplete
  x IngestError
    + UnsupportedSource
    + UnreadableFile
    + EmptyBook
    + BookBusy
    + DiskFull
    + UnreadableExport
  x SearchIndexError
    + IndexUnavailable
      - IndexUnreachable
      - RevisionGone
    + IndexMismatch
  x EmbedderUnavailable
    + EmbedderUnreachable
  x StoreUnavailable
  x DataFolderBusy
  x AnswerInterrupted
    + AnswerTimedOut
  x StoreMismatch
  x ModelError
    + ModelUnavailable
    + ModelTimedOut
    + ModelRefused
    + ModelMisbehaved
    + BudgetSpent
  x AccessDenied
    + KeyNeeded
      . WrongKey
    + NotAllowed
    + WrongHost
  x TooBusy
    + RateLimited
    + LimitsUnavailable

A question that the book does not answer is not an error: its refusal is an answer.
"""

from typing import ClassVar


class CitewellError(Exception):
    """The base class of all exceptions of Citewell."""

    retryable: ClassVar[bool] = False
    """Whether the same call may succeed later."""
    retry_after: int = 5
    """The number of seconds after which to retry."""
    advice: ClassVar[str] = ""
    """What the caller can do about it, in one sentence."""


class BadRequest(CitewellError):
    """The request is invalid."""

    advice = "Correct the request and send it again."


class UnknownBook(BadRequest):
    """No book of that name has been ingested."""

    advice = "Run `citewell ingest PATH` first, or name one of the books listed."


class UnknownPage(BadRequest):
    """The book has no such page."""

    advice = "Search the book, or open a page from its list."


class UnknownThread(BadRequest):
    """There is no conversation with that id."""

    advice = "Start a new conversation by leaving the id out."


class UnknownAnswer(BadRequest):
    """There is no answer with that id."""

    advice = "Give the id that came with an answer; deleting a conversation deletes its answers."


class UnknownWorkflow(BadRequest):
    """No workflow of that id is declared in the settings."""

    advice = "Name one of those that `/workflows` lists."


class UnknownKey(BadRequest):
    """There is no key of that id or name."""

    advice = "List the keys with `citewell keys list`."


class UnknownStream(BadRequest):
    """There is no stream with that id, or it has been deleted."""

    advice = "Ask the question again."


class BadSettings(BadRequest):
    """A setting has a value that cannot be used."""

    advice = "Correct the setting and start again."


class ModelIncomplete(BadSettings):
    """A configured model lacks its package or its API key."""


class IngestError(CitewellError):
    """A book could not be ingested; its previous revision is unchanged."""

    advice = "Correct the source and run `citewell ingest` again."


class UnsupportedSource(IngestError):
    """The path is not a book in a supported format."""


class UnreadableFile(IngestError):
    """One file of a book cannot be read."""


class EmptyBook(IngestError):
    """The book contains no text."""


class BookBusy(IngestError):
    """Another process is ingesting this book."""

    retryable = True
    advice = "Wait for the other ingest to finish, then run it again."


class DiskFull(IngestError):
    """The disk is full or not writable."""

    advice = "Free some space or point CITEWELL_DATA_DIR elsewhere, then run it again."


class UnreadableExport(IngestError):
    """The file is not a book that Citewell exported, or is damaged."""

    advice = "Export the book again with `citewell export`, or ingest it from its source."


class SearchIndexError(CitewellError):
    """The index cannot be searched."""


class IndexUnavailable(SearchIndexError):
    """The index cannot be opened, perhaps temporarily."""

    retryable = True
    advice = "Try again shortly; `citewell doctor` shows what is wrong."


class IndexUnreachable(IndexUnavailable):
    """The index server does not answer, or refuses the request."""


class RevisionGone(IndexUnavailable):
    """The revision was deleted from the server because there is a newer one."""


class IndexMismatch(SearchIndexError):
    """The index was built with another embedder than the configured one."""

    advice = "Ingest the book again, or configure the embedder that built it."


class EmbedderUnavailable(CitewellError):
    """The embedding model is missing, damaged or returns invalid vectors."""

    advice = "Run `citewell doctor`; it names what is missing."


class EmbedderUnreachable(EmbedderUnavailable):
    """The embedding server cannot be reached, perhaps temporarily."""

    retryable = True
    advice = "Try again shortly; `citewell doctor` shows whether the embedder answers."


class StoreUnavailable(CitewellError):
    """The conversation store is unavailable, perhaps temporarily."""

    retryable = True
    advice = "Try again shortly."


class DataFolderBusy(CitewellError):
    """Another process serves the same data folder."""

    advice = "Stop it, use one service with several workers, or choose another data folder."


class AnswerInterrupted(CitewellError):
    """The answer was interrupted."""

    retryable = True
    advice = "Ask the question again."


class AnswerTimedOut(AnswerInterrupted):
    """The answer exceeded the time limit."""


class StoreMismatch(CitewellError):
    """The conversation store was written by a newer version of Citewell or another program."""

    advice = (
        "Install the version that made it, or ingest the book again into a new data folder "
        "(and database, if CITEWELL_DATABASE_URL is set)."
    )


class ModelError(CitewellError):
    """The answering model failed."""

    advice = "Try again, or configure another model."


class ModelUnavailable(ModelError):
    """The model cannot be reached, perhaps temporarily."""

    retryable = True


class ModelTimedOut(ModelError):
    """The model exceeded a time limit."""

    retryable = True


class ModelRefused(ModelError):
    """The model's server refuses the API key, the model name or the request."""

    advice = "Ask the operator of the service: `citewell doctor` shows what is wrong."


class ModelMisbehaved(ModelError):
    """The model's output cannot be used."""


class BudgetSpent(ModelError):
    """The daily budget for models has been spent."""

    retryable = True
    advice = "Ask again tomorrow, or have the operator raise the budget."

    def __init__(self, message: str, *, retry_after: int) -> None:
        """Create the error with the number of seconds until the next budget."""
        super().__init__(message)
        self.retry_after = retry_after


class AccessDenied(CitewellError):
    """The caller may not do this."""


class KeyNeeded(AccessDenied):
    """The request needs a valid key."""

    advice = "Send a key as `Authorization: Bearer cw_…`; the service's operator issues keys."


class WrongKey(KeyNeeded):
    """The key is unknown, expired or revoked."""


class NotAllowed(AccessDenied):
    """The key is valid but lacks permission."""

    advice = "Use a key with this permission; the service's operator issues keys."


class WrongHost(AccessDenied):
    """The `Host` header names a host that is not allowed."""

    advice = "Use `localhost`; the operator can allow other names."


class TooBusy(CitewellError):
    """The service is answering as many questions as it accepts at once."""

    retryable = True
    retry_after = 1
    advice = "Ask again in a moment."


class RateLimited(TooBusy):
    """The caller exceeded a rate limit."""

    advice = "Wait as long as `Retry-After` says, then try again."

    def __init__(self, message: str, *, limit: int, retry_after: int) -> None:
        """Create the error with the limit and the number of seconds until the next request."""
        super().__init__(message)
        self.limit = limit
        self.retry_after = retry_after


class LimitsUnavailable(TooBusy):
    """Rate limits cannot be checked, and the operator refuses requests without that check."""

    retry_after = 5
    advice = "Try again shortly."
