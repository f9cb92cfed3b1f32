"""The answer pipeline: a question in, a stream of events out."""

import sys
from importlib.util import find_spec, module_from_spec
from typing import Any


def load_lazily(name: str) -> None:
    """Defer execution of a package's `__init__` until one of its attributes is accessed.

    Its submodules can be imported without executing it.
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


# The Agents SDK imports one exception from `mcp`; loading all of `mcp` takes a second.
load_lazily("mcp")
