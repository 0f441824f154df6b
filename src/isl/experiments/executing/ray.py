"""Executor `ray`: cohorts as Ray core tasks, on this machine or on a cluster.

A task is safe to repeat: it skips finished runs, continues from checkpoints and respects locks. So
Ray may retry it when a process or a node dies, and we submit it again when Ray has given up.
"""

from __future__ import annotations

import ipaddress
import os
import secrets
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isl.errors import Locked, UsageError
from isl.experiments.executing.plan import (
    Job,
    Plan,
    Settings,
    StopRequests,
    Supervision,
    stop_requests,
)
from isl.experiments.executing.ray_task import Hub, marker, pack, run_task, unpack
from isl.experiments.executing.worker import Message
from isl.status import ExitCode, Status
from isl.storage import files, run_folder

GRACE_SECONDS = 7.0  # for tasks to write their checkpoints
RETRIES = 3  # by Ray, before we submit a task again
OBJECT_STORE_BYTES = 200 << 20  # of a Ray started here: it carries files of runs at most


@dataclass
class _Cluster:
    """A connection to Ray: how to submit, whom to listen to, and what is in flight."""

    ray: Any
    plan: Plan
    token: str
    task: Any
    hub: Any
    settings: Settings
    most: int | None
    flying: dict[Any, int] = field(default_factory=dict)  # task → the number of its job


def run_on_ray(
    jobs: list[Job],
    root: Path,
    *,
    address: str | None = None,
    authenticate: bool = True,
    workers: int | None = None,
    settings: Settings | None = None,
    supervision: Supervision | None = None,
) -> ExitCode:
    """Like `run_locally`, on Ray: on the cluster at `address`, or on one started here for it."""
    if workers is not None and workers < 1:
        raise UsageError(f"--workers must be at least 1, got {workers}")
    root = root.absolute()
    plan = Plan(jobs, root, supervision)
    if not plan.unfinished:
        return plan.close()
    ray = _connect(address, authenticate, workers)
    token = secrets.token_hex(8)
    files.write_bytes(root / marker(token), b"")
    try:
        here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
        hub = ray.remote(Hub).options(num_cpus=0, scheduling_strategy=here).remote()
        task = ray.remote(run_task).options(num_cpus=1, max_retries=RETRIES)
        cluster = _Cluster(ray, plan, token, task, hub, settings or Settings(), workers)
        with plan.display, stop_requests() as stop:
            while not stop.count and (cluster.flying or plan.unfinished):
                plan.look_again()
                _submit(cluster)
                _listen(cluster, timeout=0.5)
            _stop(cluster, stop)
    finally:
        files.remove(root / marker(token))
        ray.shutdown()
    return plan.close()


def _connect(address: str | None, authenticate: bool, workers: int | None) -> Any:
    # All of this must be settled before Ray is imported.
    os.environ["RAY_AUTH_MODE"] = "token" if authenticate else "disabled"
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address is None:
        # Made for other systems, it is the one switch that keeps Ray on the loopback interface:
        # an address of 127.0.0.1 alone is replaced by one that others can reach.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    try:
        import ray
        import ray.util.scheduling_strategies
    except ModuleNotFoundError as error:
        raise UsageError(
            f"--executor ray needs {error.name}: install it with pip install 'isl[ray]'"
        ) from None
    if address is not None:
        _check_reachable(address)
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if address is not None:
            ray.init(address=address, **quiet)
        else:
            ray.init(
                address="local",
                num_cpus=workers or len(os.sched_getaffinity(0)),
                include_dashboard=False,
                object_store_memory=OBJECT_STORE_BYTES,
                **quiet,
            )
    except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        where = f"to Ray at {address}" if address else "to a Ray of our own"
        reason = str(error).strip().splitlines()[0]
        raise UsageError(f"cannot connect {where}: {reason} (see docs/clusters.md)") from None
    here = ray.util.get_node_ip_address()
    if address is None and not ipaddress.ip_address(here).is_loopback:
        ray.shutdown()
        raise UsageError(f"Ray {ray.__version__} listens on {here}, where others reach it: stopped")
    return ray


def _check_reachable(address: str) -> None:
    """Ray itself would try for minutes before it says that nobody answers."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal():
        raise UsageError(f"--ray-address must be HOST:PORT, as `ray start` prints, got {address!r}")
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"cannot connect to Ray at {address}: {reason}; is `ray start --head` running there?"
        ) from None


def _submit(cluster: _Cluster) -> None:
    """Keep as many tasks in flight as the cluster has cores, nodes that joined later included."""
    cores = int(cluster.ray.cluster_resources().get("CPU", 1))
    plan = cluster.plan
    while len(cluster.flying) < (cluster.most or cores):
        number = plan.take()
        if number is None:
            return
        job = plan.jobs[number]
        begun = {seed: pack(path) for seed, path in job.paths(plan.root).items() if path.exists()}
        # In a list Ray hands over the reference alone: a node that sees our folder never reads it.
        carried = [cluster.ray.put(begun)] if any(begun.values()) else []
        message = plan.message(number, cluster.settings) | {"folder": os.getcwd()}
        reference = cluster.task.remote(message, cluster.token, carried, cluster.hub)
        cluster.flying[reference] = number


def _listen(cluster: _Cluster, timeout: float) -> None:
    """Take in what has ended, and how the others go."""
    ray = cluster.ray
    if cluster.flying:
        ended, _ = ray.wait(list(cluster.flying), num_returns=1, timeout=timeout)
    else:
        time.sleep(timeout)
        ended = []
    with suppress(ray.exceptions.RayError):  # without the hub tasks stop in order: see Reporter
        for event in ray.get(cluster.hub.drain.remote()):
            cluster.plan.display.progress(event["job"], event)
    for reference in ended:
        number = cluster.flying.pop(reference)
        try:
            result = ray.get(reference)
        except ray.exceptions.RayError as error:
            cluster.plan.died(number, f"with {type(error).__name__}")
        else:
            _receive(cluster.plan, number, result)


def _receive(plan: Plan, number: int, result: Message) -> None:
    folders = plan.jobs[number].paths(plan.root)
    outcome = {int(seed): Status(status) for seed, status in result.get("outcome", {}).items()}
    for seed, content in result.get("shipped", {}).items():
        try:
            with run_folder.lock(folders[seed]):
                if not run_folder.is_done(folders[seed]):
                    unpack(folders[seed], content)
        except Locked:  # another process does the same run here: its result is as good
            outcome[seed] = Status.RUNNING
    if result["event"] == "failed":
        plan.failed(number, result["message"])
    else:
        plan.ended(number, outcome)


def _stop(cluster: _Cluster, stop: StopRequests) -> None:
    """Let tasks write their checkpoints; those that take too long go with the connection."""
    with suppress(cluster.ray.exceptions.RayError):
        cluster.ray.get(cluster.hub.stop.remote())
    deadline = time.monotonic() + GRACE_SECONDS
    while cluster.flying and time.monotonic() < deadline and stop.count < 2:
        _listen(cluster, timeout=0.2)
    for reference, number in cluster.flying.items():
        cluster.ray.cancel(reference, force=True)
        cluster.plan.display.interrupted(number)
