"""Inference with onnxruntime on the CPU."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

Input = TypeVar("Input")
Output = TypeVar("Output")


class OnnxModel:
    """A model that runs one input per core, several in parallel.

    This is faster than batches, which are padded to the longest input, and than several cores per
    input, which wait for each other at every step.
    """

    def __init__(self, path: Path, threads: int) -> None:
        """Load the model; `threads` 0 means one per core."""
        # Not needed for `--help`, and slow to import.
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self._threads = threads or _count_cores()
        self._session = onnxruntime.InferenceSession(
            str(path),
            options,
            providers=["CPUExecutionProvider"],
            # On CPUs, the fused operator is several times slower than the original ones.
            disabled_optimizers=["SkipLayerNormFusion"],
        )

    def run(self, inputs: dict[str, Any]) -> Any:
        """Return the first output."""
        return self._session.run(None, inputs)[0]

    def map(self, run: Callable[[Input], Output], inputs: Sequence[Input]) -> list[Output]:
        """Apply `run` to all inputs in parallel and return the results in order."""
        if len(inputs) == 1 or self._threads == 1:
            return [run(one) for one in inputs]
        return list(self._pool.map(run, inputs))

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._threads, thread_name_prefix="citewell-model")


def _count_cores() -> int:
    """Return the number of cores available to this process, which a container may limit."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
