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
    # The threads of one model would spin while the other works, on the same cores.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(
        str(path),
        options,
        providers=["CPUExecutionProvider"],
        # On processors the fused operator takes several times as long as what it replaces.
        disabled_optimizers=["SkipLayerNormFusion"],
    )
