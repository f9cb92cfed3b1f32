"""The dialects the service speaks, one file each."""

from typing import Any

from quire.api.contract import Contract
from quire.api.contracts.chat import Chat

CONTRACTS: tuple[Contract[Any, Any], ...] = (Chat(),)
