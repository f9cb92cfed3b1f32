"""The contracts of the API, one module each: pure conversions without I/O."""

from typing import Any

from citewell.api.contract import Contract, SessionContract
from citewell.api.contracts.agent import Agent
from citewell.api.contracts.assistant import Assistant
from citewell.api.contracts.chat import Chat
from citewell.api.contracts.query import Query
from citewell.api.contracts.workflow import Workflow, WorkflowChat

CONTRACTS: tuple[Contract[Any, Any], ...] = (Chat(), Agent(), Assistant(), Query())
"""All contracts except workflows, which are configured in the settings."""
SESSION_CONTRACTS: tuple[SessionContract, ...] = (
    Agent(),
    Assistant(),
    Query(),
    WorkflowChat(Workflow(id="")),
)
"""The contracts with conversation routes of their own besides the native `/threads`."""
