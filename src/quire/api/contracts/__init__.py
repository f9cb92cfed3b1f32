"""The dialects the service speaks, one file each."""

from typing import Any

from quire.api.contract import Contract, Remembering
from quire.api.contracts.agent import Agent
from quire.api.contracts.assistant import Assistant
from quire.api.contracts.chat import Chat
from quire.api.contracts.query import Query
from quire.api.contracts.workflow import Workflow, WorkflowChat

CONTRACTS: tuple[Contract[Any, Any], ...] = (Chat(), Agent(), Assistant(), Query())
"""All but the workflows, of which there are as many as the settings declare."""
REMEMBERING: tuple[Remembering, ...] = (
    Agent(),
    Assistant(),
    Query(),
    WorkflowChat(Workflow(id="")),
)
"""Those that show their conversations beside the native `/threads`."""
