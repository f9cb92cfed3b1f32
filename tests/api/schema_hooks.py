"""What JSON Schema cannot say of a request, and schemathesis therefore cannot make up."""

import re
from datetime import UTC, datetime
from typing import Any

import schemathesis

RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


@schemathesis.hook
def before_call(_: Any, case: Any, __: Any) -> None:
    body = case.body
    if not isinstance(body, dict):
        return
    if RFC_3339.fullmatch(str(body.get("timestamp"))):
        body["timestamp"] = datetime.now(UTC).isoformat()  # a schema does not know the time
    if isinstance(body.get("conversation_id"), str) and isinstance(body.get("thread_id"), str):
        body["thread_id"] = body["conversation_id"]  # nor that two fields have to be equal
