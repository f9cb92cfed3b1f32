"""Reading server-sent events, as a browser would."""

import json
from typing import Any


def parse_sse(text: str) -> list[tuple[str, str, Any]]:
    """Give (id, event, data) of each event; comments are left out."""
    events = []
    for block in text.strip().split("\n\n"):
        fields: dict[str, str] = {}
        for line in block.split("\n"):
            name, _, value = line.partition(": ")
            if name:
                fields[name] = fields[name] + "\n" + value if name in fields else value
        if "data" in fields:
            events.append((fields["id"], fields["event"], json.loads(fields["data"])))
    return events
