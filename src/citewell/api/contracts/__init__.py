"""The dialects the service speaks, one file each."""

from typing import Any

from citewell.api.contract import Contract, SessionContract
from citewell.api.contracts.agent import Agent
from citewell.api.contracts.assistant import Assistant
from citewell.api.contracts.chat import Chat
from citewell.api.contracts.query import Query
from citewell.api.contracts.workflow import Workflow, WorkflowChat

CONTRACTS: tuple[Contract[Any, Any], ...] = (Chat(), Agent(), Assistant(), Query())
"""All but the workflows, of which there are as many as the settings declare."""
SESSION_CONTRACTS: tuple[SessionContract, ...] = (
    Agent(),
    Assistant(),
    Query(),
    WorkflowChat(Workflow(id="")),
)
"""Those that show their conversations beside the native `/threads`."""
