"""What the API's own documentation says of the contracts."""

from typing import Any

import httpx
import pytest

ROUTES = {
    "/chat/run": "post",
    "/chat/stream": "post",
    "/threads": "get",
    "/threads/{thread_id}": "get delete",
    "/agent/ask": "post",
    "/agent/ask/stream": "post",
    "/agent/sessions/{session_id}": "get delete",
    "/assistant/chat": "post",
    "/assistant/chat/stream": "post",
    "/assistant/sessions/{session_id}": "get delete",
    "/search": "post",
    "/workflows": "get",
    "/workflows/{workflowId}/chat": "post",
    "/workflows/{workflowId}/chat/stream": "post",
    "/conversations/{conversationId}": "get delete",
    "/search_book": "post",
    "/query": "post",
    "/query/stream": "post",
    "/sessions/{session_id}": "get delete",
}
CONTRACTS = ("chat", "agent", "assistant", "workflow", "query")


@pytest.fixture
async def openapi(client: httpx.AsyncClient) -> dict[str, Any]:
    document: dict[str, Any] = (await client.get("/openapi.json")).json()
    return document


async def test_every_route_of_every_contract_is_there(openapi: dict[str, Any]) -> None:
    for path, methods in ROUTES.items():
        assert set(methods.split()) <= set(openapi["paths"][path]), path


async def test_ids_in_paths_are_documented(openapi: dict[str, Any]) -> None:
    for path in ROUTES:
        for operation in openapi["paths"][path].values():
            named = {p["name"] for p in operation.get("parameters", ()) if p["in"] == "path"}
            assert all(f"{{{name}}}" in path for name in named)
            assert len(named) == path.count("{")


async def test_every_field_of_the_contracts_is_explained(openapi: dict[str, Any]) -> None:
    schemas = openapi["components"]["schemas"]
    explained = set()

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            name = str(node.get("$ref", "")).rpartition("/")[2]
            if name and name not in explained:
                explained.add(name)
                walk(schemas[name])
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    tagged = [
        operation
        for path in openapi["paths"].values()
        for operation in path.values()
        if set(operation.get("tags", ())) & set(CONTRACTS)
    ]
    walk(tagged)
    explained -= {"HTTPValidationError", "ValidationError", "Problem", "FieldProblem"}
    assert len(explained) > 20
    for name in explained:
        assert schemas[name].get("description"), name
        for field, schema in schemas[name].get("properties", {}).items():
            assert schema.get("description") or "$ref" in schema, f"{name}.{field}"
