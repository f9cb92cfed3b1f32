"""How models are run: onnxruntime on the processor."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

Text = TypeVar("Text")
Output = TypeVar("Output")


class OnnxModel:
    """A model that reads one text on one core, and as many texts at once as there are cores.

    A batch would be padded to its longest text, and the cores that share a text wait for each
    other at every step: both cost more than they save.
    """

    def __init__(self, path: Path, threads: int) -> None:
        """Load the model; `threads` 0 takes one per core."""
        # Imported here: the command line answers `--help` without it.
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self._threads = threads or _cores()
        self._session = onnxruntime.InferenceSession(
            str(path),
            options,
            providers=["CPUExecutionProvider"],
            # On processors the fused operator takes several times as long as what it replaces.
            disabled_optimizers=["SkipLayerNormFusion"],
        )

    def run(self, inputs: dict[str, Any]) -> Any:
        """Return the first output."""
        return self._session.run(None, inputs)[0]

    def each(self, read: Callable[[Text], Output], texts: Sequence[Text]) -> list[Output]:
        """Read every text, several at once; what comes of them is in the order of the texts."""
        if len(texts) == 1 or self._threads == 1:
            return [read(text) for text in texts]
        return list(self._pool.map(read, texts))

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._threads, thread_name_prefix="citewell-model")


def _cores() -> int:
    """Count the cores this process may use, which in a container may be fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
