"""Embedders and cross-encoders, run in process or called over the network."""

import os

# onnxruntime 1.31 and later send telemetry unless this is set before the import.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # noqa: TID251 - set, not read
