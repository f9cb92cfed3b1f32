"""The files that put Citewell on servers: each is read by the checker of its own kind."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import generate_latest

from citewell.settings import Settings
from citewell.telemetry import REGISTRY
from citewell.version import __version__
from tests.test_architecture import _settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
DOCKERFILE = DEPLOY / "Dockerfile"
COMPOSE = DEPLOY / "compose.yaml"
KUBERNETES = DEPLOY / "kubernetes"
UNIT = DEPLOY / "citewell.service"
OPERATIONS = ROOT / "docs" / "operations.md"
EXPOSURE = 20
"""The most that systemd may find exposed, in tenths: 0 is nothing, 100 is all."""


def tool(name: str) -> str:
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.is_file() else shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not installed")
    return found


def checked(*command: str | Path) -> str:
    """Run a checker, and give what it says; it must find nothing wrong."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def documents() -> Iterator[dict[str, Any]]:
    for path in KUBERNETES.glob("*.yaml"):
        yield from yaml.safe_load_all(path.read_text("utf-8"))


def pods() -> list[dict[str, Any]]:
    return [
        one["spec"]["template"]["spec"] for one in documents() if "template" in one.get("spec", {})
    ]


def test_every_setting_that_a_file_names_exists() -> None:
    known = set(_settings(Settings))
    for path in (OPERATIONS, *(p for p in sorted(DEPLOY.rglob("*")) if p.is_file())):
        named = set(re.findall(r"CITEWELL_[A-Z_]+", path.read_text("utf-8")))
        assert named <= known, f"{path.name} names {sorted(named - known)}"


def test_every_figure_to_watch_is_one_that_the_service_gives() -> None:
    given = generate_latest(REGISTRY).decode()
    named = re.findall(r"`(citewell_[a-z_]+)", OPERATIONS.read_text("utf-8"))

    assert len(named) > 10
    for name in named:
        assert f"# TYPE {name} " in given, name


def test_values_in_the_files_are_accepted_by_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    (told,) = [one["data"] for one in documents() if one["kind"] == "ConfigMap"]
    compose = yaml.safe_load(COMPOSE.read_text("utf-8"))["services"]["citewell"]["environment"]
    plain = re.sub(r"\$\{\w+(?::-(\w+)|:\?)\}", r"\1", json.dumps(compose))
    image = dict(re.findall(r"(CITEWELL_\w+)=(\S+)", DOCKERFILE.read_text("utf-8")))
    unit = dict(re.findall(r"(CITEWELL_\w+)=(\S+)", UNIT.read_text("utf-8")))
    for values in (told, json.loads(plain), image, unit):
        with monkeypatch.context() as one:
            for name, value in values.items():
                one.setenv(name, value)
            Settings()


def test_the_dockerfile_passes_hadolint() -> None:
    checked(tool("hadolint"), DOCKERFILE)


def test_the_image_runs_as_nobody_and_takes_only_what_it_needs() -> None:
    text = DOCKERFILE.read_text("utf-8")
    stages = re.split(r"^FROM ", text, flags=re.M)[1:]
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", stages[0], re.M)
    allowed = (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8")

    assert re.search(r"^USER 10001:10001$", stages[-1], re.M)
    assert "COPY src" not in stages[-1]
    for name in " ".join(copied).split():
        assert (ROOT / name).exists()
        assert f"!{name}" in allowed.splitlines()


def test_the_locked_dependencies_of_the_image_are_those_of_the_service_and_more() -> None:
    def pinned(path: Path) -> set[str]:
        return set(re.findall(r"^([a-z0-9-]+==[^ ;\\]+)", path.read_text("utf-8"), re.M))

    image = pinned(DEPLOY / "requirements.lock")

    assert pinned(ROOT / "requirements.lock") <= image
    assert {name.partition("==")[0] for name in image} >= {"asyncpg", "qdrant-client", "redis"}


def test_what_is_installed_on_servers_has_hashes_and_versions() -> None:
    build = (DEPLOY / "build.lock").read_text("utf-8")
    tags = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text("utf-8"))["images"]

    assert build.count("--hash=sha256:") >= 2
    for file in (DOCKERFILE, UNIT):
        for line in re.findall(r".*\bpip install\b.*", file.read_text("utf-8")):
            assert re.search(r"--require-hashes|--no-deps|--no-cache --compile", line), line
    assert [one["newTag"] for one in tags] == [__version__]


def test_the_compose_file_follows_the_specification() -> None:
    checked(tool("check-jsonschema"), "--builtin-schema", "vendor.compose-spec", COMPOSE)


def test_only_citewell_is_reached_from_outside_and_no_password_is_written_down() -> None:
    services = yaml.safe_load(COMPOSE.read_text("utf-8"))["services"]

    assert {name for name, one in services.items() if "ports" in one} == {"citewell"}
    assert services["citewell"]["read_only"]
    for one in services.values():
        secrets = [v for name, v in one["environment"].items() if "PASS" in name or "KEY" in name]
        assert all(re.fullmatch(r"\$\{\w+:\?\}", value) for value in secrets)


def test_the_manifests_follow_the_schemas_of_kubernetes() -> None:
    files = [path for path in KUBERNETES.glob("*.yaml") if path.name != "kustomization.yaml"]
    checked(tool("kubernetes-validate"), "--strict", *files)


def test_the_manifests_come_together_in_one_namespace() -> None:
    rendered = checked(tool("kubectl"), "kustomize", KUBERNETES)
    kinds = {one["kind"]: one for one in yaml.safe_load_all(rendered)}

    assert kinds.keys() >= {"Deployment", "Service", "HorizontalPodAutoscaler", "NetworkPolicy"}
    assert all(
        one["metadata"].get("namespace") == "citewell"
        for kind, one in kinds.items()
        if kind != "Namespace"
    )


def test_pods_may_do_next_to_nothing_and_write_only_to_their_own_volumes() -> None:
    for pod in pods():
        (container,) = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["securityContext"]["runAsUser"] == 10001
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {"/data", "/tmp"} <= {one["mountPath"] for one in container["volumeMounts"]}


def test_stopping_waits_longer_than_running_answers_may_take() -> None:
    drained = Settings().stream.drain_seconds
    pod = next(pod for pod in pods() if "terminationGracePeriodSeconds" in pod)
    pause = int(pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][1])
    unit = re.search(r"^TimeoutStopSec=(\d+)$", UNIT.read_text("utf-8"), re.M)
    compose = yaml.safe_load(COMPOSE.read_text("utf-8"))["services"]["citewell"]

    assert pod["terminationGracePeriodSeconds"] > drained + pause
    assert unit
    assert int(unit[1]) > drained
    assert int(compose["stop_grace_period"].removesuffix("s")) > drained


def test_systemd_accepts_the_unit_and_finds_little_exposed(tmp_path: Path) -> None:
    analyze = tool("systemd-analyze")
    # It looks whether the program is there, which is so on the server only.
    here = UNIT.read_text("utf-8").replace("/opt/citewell/bin/citewell serve", "/bin/true serve")
    unit = tmp_path / "citewell.service"
    unit.write_text(here, "utf-8")

    assert checked(analyze, "verify", "--man=no", unit) == ""
    checked(analyze, "security", "--offline=true", f"--threshold={EXPOSURE}", unit)


def test_a_password_of_the_database_is_never_on_a_command_line(tmp_path: Path) -> None:
    stand_ins = tmp_path / "bin"
    stand_ins.mkdir()
    for name in ("pg_dump", "pg_restore", "citewell"):
        seen = tmp_path / name
        lines = ("#!/bin/sh", f'echo "$@" >>"{seen}"', f'env >>"{seen}.env"')
        (stand_ins / name).write_text("\n".join((*lines, '[ "$1" != books ] || echo "[]"', "")))
        (stand_ins / name).chmod(0o755)
    told = os.environ | {
        "PATH": f"{stand_ins}:{os.environ['PATH']}",
        "CITEWELL_DATA_DIR": str(tmp_path / "data"),
        "CITEWELL_DATABASE_URL": "postgresql://citewell:h%40sh'hush@db.example:5433/books"
        "?sslmode=require",
    }

    for script in ("backup", "restore"):
        run = subprocess.run(
            [DEPLOY / script, tmp_path / "kept"],
            env=told,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr

    for name in ("pg_dump", "pg_restore"):
        assert "hush" not in (tmp_path / name).read_text("utf-8")
        given = (tmp_path / f"{name}.env").read_text("utf-8").splitlines()
        assert {"PGPASSWORD=h@sh'hush", "PGHOST=db.example", "PGPORT=5433"} <= set(given)
        assert {"PGUSER=citewell", "PGDATABASE=books", "PGSSLMODE=require"} <= set(given)


def test_the_source_distribution_takes_files_of_the_root_only() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]

    assert all(pattern.startswith("/") for pattern in included)
    assert all((ROOT / pattern[1:]).exists() for pattern in included)


def test_every_model_that_is_shipped_stands_in_the_notice() -> None:
    notice = (ROOT / "NOTICE").read_text("utf-8")

    for model in (ROOT / "src/citewell/models/weights").glob("*.onnx"):
        assert model.name in notice
