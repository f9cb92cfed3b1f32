"""The models that run here or are called over the network: embedders and cross-encoders."""

import os

# From 1.31 on, onnxruntime keeps a number for this machine in the home folder and sends what it is
# used for to its makers, unless it is told not to before it is loaded. Citewell calls nobody.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # noqa: TID251 - set, not read
