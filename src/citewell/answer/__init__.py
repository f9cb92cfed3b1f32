"""Question to events: the pipeline, and the agent inside it."""

import sys
from importlib.util import find_spec, module_from_spec
from typing import Any


def load_lazily(name: str) -> None:
    """Let a package's own module run when something of it is asked for, not when it is imported.

    Its submodules can be imported without that.
    """
    spec = None if name in sys.modules else find_spec(name)
    if spec is None or spec.loader is None:
        return
    loader, module = spec.loader, module_from_spec(spec)

    def load(attribute: str) -> Any:
        vars(module).pop("__getattr__", None)
        loader.exec_module(module)
        return getattr(module, attribute)

    vars(module)["__getattr__"] = load
    sys.modules[name] = module


# The Agents SDK takes one exception from it, and would load its servers and clients: a second.
load_lazily("mcp")
