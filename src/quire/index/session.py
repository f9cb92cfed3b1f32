"""How models are run: onnxruntime on the processor."""

from pathlib import Path
from typing import Any


def open_session(path: Path, threads: int) -> Any:
    """Load an ONNX model; `threads` 0 leaves their number to onnxruntime."""
    # Imported here: the command line answers `--help` without it.
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        str(path),
        options,
        providers=["CPUExecutionProvider"],
        # On processors the fused operator takes several times as long as what it replaces.
        disabled_optimizers=["SkipLayerNormFusion"],
    )
