"""Packages that are loaded only when something of them is used."""

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
