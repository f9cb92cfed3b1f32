"""Workflows over HTTP: which there are, and each asked by its id."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Request

from citewell.answer.record import parse_filters
from citewell.api.contracts.workflow import AgentWorkflow, Workflow, WorkflowChat, workflow_to_wire
from citewell.api.middleware.auth import require_scope
from citewell.api.middleware.callers import caller_of
from citewell.api.sse import mount_contract
from citewell.errors import UnknownWorkflow
from citewell.options import WorkflowOptions
from citewell.ports import Answerer
from citewell.streaming.hub import StreamHub


def workflows_router(
    options: Sequence[WorkflowOptions],
    answerers: Mapping[str, Answerer],
    wrap_answerer: Callable[[Answerer], Answerer],
    streams: StreamHub,
) -> APIRouter:
    """Make the routes below `/workflows`.

    `wrap_answerer` keeps a contract's rules for conversations.
    """
    workflows = [workflow_of(one) for one in options]
    spoken = {one.id: WorkflowChat(one) for one in workflows}
    asked = {name: wrap_answerer(answerers[name]) for name in spoken}

    def allowed(request: Request) -> list[Workflow]:
        mine = caller_of(request).books
        return [one for one in workflows if not (mine and one.book) or one.book in mine]

    def chosen(
        request: Request,
        workflow_id: Annotated[
            str, Path(alias="workflowId", max_length=64, description="One of `/workflows`.")
        ],
    ) -> tuple[WorkflowChat, Answerer]:
        mine = [one.id for one in allowed(request)]
        if workflow_id not in mine:
            known = ", ".join(mine) or "none"
            raise UnknownWorkflow(f"There is no workflow {workflow_id!r}; known: {known}.")
        return spoken[workflow_id], asked[workflow_id]

    router = APIRouter(dependencies=[require_scope("ask")])

    @router.get("/workflows", tags=["workflow"])
    async def list_workflows(request: Request) -> list[AgentWorkflow]:
        """List the workflows that can be asked."""
        return [workflow_to_wire(one) for one in allowed(request)]

    model = WorkflowChat(Workflow(id=""))
    router.include_router(mount_contract(model, None, streams, chosen=chosen))
    return router


def workflow_of(options: WorkflowOptions) -> Workflow:
    """Return what the contract needs of a workflow's settings."""
    return Workflow(
        id=options.id,
        name=options.name,
        description=options.description,
        rag=options.rag_integration_enabled,
        book=options.book,
        filters=parse_filters({str(name): values for name, values in options.filters.items()}),
    )
