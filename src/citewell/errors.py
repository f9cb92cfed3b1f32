"""Every error Citewell raises on purpose.

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

"Not in the book" is not among them: it is an answer.
"""

from typing import ClassVar


class CitewellError(Exception):
    """Base class: catch this to catch anything Citewell raises on purpose."""

    retryable: ClassVar[bool] = False
    """Whether the same call may succeed later without any change."""
    retry_after: int = 5
    """For one that may: in how many seconds."""
    advice: ClassVar[str] = ""
    """What the caller can do about it, in one sentence."""


class BadRequest(CitewellError):
    """The caller asked for something that cannot be done."""

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

    advice = "`citewell keys list` shows those there are."


class UnknownStream(BadRequest):
    """There is no stream with that id, or it is no longer kept."""

    advice = "Ask the question again."


class BadSettings(BadRequest):
    """A setting has a value that cannot be used."""

    advice = "Correct the setting and start again."


class ModelIncomplete(BadSettings):
    """A model that is named lacks its package or its key."""


class IngestError(CitewellError):
    """A book could not be ingested; what was there before is untouched."""

    advice = "Correct the source and run `citewell ingest` again."


class UnsupportedSource(IngestError):
    """The path holds no kind of book that Citewell can read."""


class UnreadableFile(IngestError):
    """One file cannot be read; the rest of the book can."""


class EmptyBook(IngestError):
    """The book was read but holds no text."""


class BookBusy(IngestError):
    """Another process is ingesting this book."""

    retryable = True
    advice = "Wait for the other ingest to finish, then run it again."


class DiskFull(IngestError):
    """There is no room left to write the index."""

    advice = "Free some space or point CITEWELL_DATA_DIR elsewhere, then run it again."


class UnreadableExport(IngestError):
    """The file is not a book that Citewell exported, or is damaged."""

    advice = "Export the book again with `citewell export`, or ingest it from its source."


class SearchIndexError(CitewellError):
    """The index cannot be searched."""


class IndexUnavailable(SearchIndexError):
    """The index cannot be reached or opened; trying again may work."""

    retryable = True
    advice = "Try again shortly; `citewell doctor` shows what is wrong."


class IndexUnreachable(IndexUnavailable):
    """The server that holds the index does not answer, or not with what was asked for."""


class RevisionGone(IndexUnavailable):
    """The server holds what was asked for no longer; a newer revision took its place."""


class IndexMismatch(SearchIndexError):
    """The index was built with another embedder than the one configured."""

    advice = "Ingest the book again, or configure the embedder that built it."


class EmbedderUnavailable(CitewellError):
    """The embedding model is missing, damaged, or gives something else than vectors."""

    advice = "Run `citewell doctor`; it names what is missing."


class EmbedderUnreachable(EmbedderUnavailable):
    """The server that runs the embedding model cannot be reached; trying again may work."""

    retryable = True
    advice = "Try again shortly; `citewell doctor` shows whether the embedder answers."


class StoreUnavailable(CitewellError):
    """The conversation store cannot be reached; trying again may work."""

    retryable = True
    advice = "Try again shortly; your question was not lost on your side."


class DataFolderBusy(CitewellError):
    """Another process serves the same data folder."""

    advice = "Stop it first, let one service use several workers, or choose another data folder."


class AnswerInterrupted(CitewellError):
    """The work on an answer was stopped before its end; trying again may work."""

    retryable = True
    advice = "Ask the question again."


class AnswerTimedOut(AnswerInterrupted):
    """The answer took longer than is allowed."""


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
    """The model cannot be reached; trying again may work."""

    retryable = True


class ModelTimedOut(ModelError):
    """The model took too long; trying again may work."""

    retryable = True


class ModelRefused(ModelError):
    """The model's server refuses the key, the name of the model, or the request."""

    advice = "Ask the operator of the service: `citewell doctor` shows what is wrong."


class ModelMisbehaved(ModelError):
    """The model's output cannot be used."""


class BudgetSpent(ModelError):
    """What the models may cost in a day has been spent."""

    retryable = True
    advice = "Ask again tomorrow, or have the operator raise the budget."

    def __init__(self, message: str, *, retry_after: int) -> None:
        """Say in how many seconds there is a new budget."""
        super().__init__(message)
        self.retry_after = retry_after


class AccessDenied(CitewellError):
    """The caller may not do this."""


class KeyNeeded(AccessDenied):
    """The service wants a key, and none that holds was given."""

    advice = "Send a key as `Authorization: Bearer cw_…`; the operator of the service gives them."


class WrongKey(KeyNeeded):
    """A key was given, and it is not known, has expired, or was revoked."""


class NotAllowed(AccessDenied):
    """The key holds, but not for this."""

    advice = "Use a key that was made for this; the operator of the service gives them."


class WrongHost(AccessDenied):
    """The service was called by a name that is not its own."""

    advice = "Call it as `localhost`; the operator may allow other names."


class TooBusy(CitewellError):
    """As many questions are being answered as the service takes at once."""

    retryable = True
    retry_after = 1
    advice = "Ask again in a moment."


class RateLimited(TooBusy):
    """The caller asked more often than the service allows."""

    advice = "Wait as long as `Retry-After` says, then go on."

    def __init__(self, message: str, *, limit: int, retry_after: int) -> None:
        """Say how much was too much, and in how many seconds there is room again."""
        super().__init__(message)
        self.limit = limit
        self.retry_after = retry_after


class LimitsUnavailable(TooBusy):
    """Requests cannot be counted, and the operator wants none that are not."""

    retry_after = 5
    advice = "Try again shortly."
