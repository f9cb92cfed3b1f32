"""The routes of workflows."""

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
    """Return the router of `/workflows`."""
    workflows = [to_workflow(option) for option in options]
    contracts = {workflow.id: WorkflowChat(workflow) for workflow in workflows}
    wrapped_answerers = {
        workflow_id: wrap_answerer(answerers[workflow_id]) for workflow_id in contracts
    }

    def allowed(request: Request) -> list[Workflow]:
        books = caller_of(request).books
        return [
            workflow
            for workflow in workflows
            if not (books and workflow.book) or workflow.book in books
        ]

    def select_workflow(
        request: Request,
        workflow_id: Annotated[
            str, Path(alias="workflowId", max_length=64, description="One of `/workflows`.")
        ],
    ) -> tuple[WorkflowChat, Answerer]:
        ids = [workflow.id for workflow in allowed(request)]
        if workflow_id not in ids:
            known = ", ".join(ids) or "none"
            raise UnknownWorkflow(f"There is no workflow {workflow_id!r}; known: {known}.")
        return contracts[workflow_id], wrapped_answerers[workflow_id]

    router = APIRouter(dependencies=[require_scope("ask")])

    @router.get("/workflows", tags=["workflow"])
    async def list_workflows(request: Request) -> list[AgentWorkflow]:
        """List the available workflows."""
        return [workflow_to_wire(workflow) for workflow in allowed(request)]

    contract = WorkflowChat(Workflow(id=""))  # for its paths and models
    router.include_router(mount_contract(contract, None, streams, select_binding=select_workflow))
    return router


def to_workflow(options: WorkflowOptions) -> Workflow:
    """Convert the settings of a workflow to the contract's model."""
    return Workflow(
        id=options.id,
        name=options.name,
        description=options.description,
        rag=options.rag_integration_enabled,
        book=options.book,
        filters=parse_filters({str(name): values for name, values in options.filters.items()}),
    )
