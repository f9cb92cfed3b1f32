"""Question to events: the pipeline, and the agent inside it."""

from quire.answer.lazily import load_lazily

# The Agents SDK takes one exception from it, and would load its servers and clients: a second.
load_lazily("mcp")
