"""Workflows over HTTP: which there are, and each asked by its id."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Request

from quire.answer.records import filters_of
from quire.answer.workflows import WorkflowOptions
from quire.api.callers import caller_of
from quire.api.contracts.workflow import AgentWorkflow, Workflow, WorkflowChat, described
from quire.api.door import needs
from quire.api.mount import mount
from quire.errors import UnknownWorkflow
from quire.ports import Answerer
from quire.streams.live import Streams


def workflows_router(
    options: Sequence[WorkflowOptions],
    answerers: Mapping[str, Answerer],
    placed: Callable[[Answerer], Answerer],
    streams: Streams,
) -> APIRouter:
    """Make the routes below `/workflows`; `placed` keeps a contract's rules for conversations."""
    workflows = [workflow_of(one) for one in options]
    spoken = {one.id: WorkflowChat(one) for one in workflows}
    asked = {name: placed(answerers[name]) for name in spoken}

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

    router = APIRouter(dependencies=[needs("ask")])

    @router.get("/workflows", tags=["workflow"])
    async def list_workflows(request: Request) -> list[AgentWorkflow]:
        """List the workflows that can be asked."""
        return [described(one) for one in allowed(request)]

    model = WorkflowChat(Workflow(id=""))
    router.include_router(mount(model, None, streams, chosen=chosen))
    return router


def workflow_of(options: WorkflowOptions) -> Workflow:
    """Give what the contract needs of a workflow's settings."""
    return Workflow(
        id=options.id,
        name=options.name,
        description=options.description,
        rag=options.rag_integration_enabled,
        book=options.book,
        filters=filters_of({str(name): values for name, values in options.filters.items()}),
    )
