"""What JSON Schema cannot say of a request, and schemathesis therefore cannot make up."""

import re
from datetime import UTC, datetime
from typing import Any

import schemathesis

RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)

LONGEST = {
    "/agent/ask": {"query_text": 1000},
    "/assistant/chat": {"message": 500},
    "/chat/run": {"message": 1000},
    "/query": {"query": 1000},
    "/search": {"query": 500},
    "/search_book": {"query": 2000},
    "/widget/run": {"message": 2000},
    "/workflows/{workflowId}/chat": {"queryText": 2000},
}
LONGEST |= {f"{path.removesuffix('/run')}/stream": fields for path, fields in LONGEST.items()}


@schemathesis.hook
def before_call(_: Any, case: Any, __: Any) -> None:
    body = case.body
    if not isinstance(body, dict):
        return
    if RFC_3339.fullmatch(str(body.get("timestamp"))):
        body["timestamp"] = datetime.now(UTC).isoformat()  # a schema does not know the time
    for name, most in LONGEST.get(case.path, {}).items():
        text = body.get(name)
        if isinstance(text, str) and len(text.strip()) <= most < len(text):
            body[name] = "x" * len(text)  # nor that spaces around a text do not count
