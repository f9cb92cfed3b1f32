"""The real nginx on loopback, with gzip on, before an application."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.api.live_server import listening

PACKAGES = ("nginx",)
"""What Debian calls it."""

_CONFIGURATION = """\
daemon off;
master_process off;
{user}
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  gzip on;
  gzip_min_length 0;
  gzip_proxied any;
  gzip_types text/event-stream application/json;
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass {upstream}; proxy_http_version 1.1; }}
  }}
}}
"""


@contextmanager
def nginx_before(upstream: str, folder: Path) -> Iterator[str]:
    """Start nginx in `folder`, and give its address; skip where it is not installed."""
    program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        pytest.skip(f"nginx is not installed; Debian packages: {', '.join(PACKAGES)}")
    with listening() as free:
        port = free.getsockname()[1]
    user = "user root;" if os.geteuid() == 0 else ""
    written = _CONFIGURATION.format(folder=folder, port=port, upstream=upstream, user=user)
    (folder / "nginx.conf").write_text(written, "utf-8")
    command = [program, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", "stderr"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            _wait_for(port, process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.communicate()


def _wait_for(port: int, process: "subprocess.Popen[str]") -> None:
    while True:
        if process.poll() is not None:
            assert process.stderr
            pytest.fail(f"nginx did not start: {process.stderr.read()}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except ConnectionRefusedError:
            continue
        return
