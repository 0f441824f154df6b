"""A Ray cluster of two nodes on this machine, one core each, to be joined and broken."""

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil


@contextlib.contextmanager
def cluster(
    hidden: Path | None = None,
) -> Iterator[tuple[str, dict[str, str], list[subprocess.Popen[bytes]]]]:
    """(its address, the environment of who joins it, its nodes). Guarded by a token of its own.

    The nodes do not see what is in the folder `hidden`, as if they were other machines; only root
    can have that.
    """
    with tempfile.TemporaryDirectory(prefix="isl-ray-") as folder:
        token = Path(folder, "token")
        token.touch(mode=0o600)
        token.write_text(secrets.token_hex(32))
        environment = {
            **os.environ,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(token),
            "RAY_USAGE_STATS_ENABLED": "0",
        }
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{probe.getsockname()[1]}"
        nodes: list[subprocess.Popen[bytes]] = []
        try:
            port = address.rpartition(":")[2]
            head = ("--head", f"--port={port}", "--include-dashboard=false")
            log = Path(folder, "log")
            nodes.append(_start(Path(folder, "head"), environment, hidden, *head))
            _wait_for_port(address)
            for _ in range(TRIES):
                nodes[1:] = [_start(log, environment, hidden, f"--address={address}")]
                if _has_joined(nodes[1], log):
                    break
            else:
                raise RuntimeError(f"no second node: {log.read_text()[-2000:]}")
            yield address, environment, nodes
        finally:
            for node in nodes:
                kill_node(node)


TRIES = 3  # a node gives up where the machine is too busy to start it in Ray's time
HIDING = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs hidden "$0" && exec "$@"']


def _start(
    log: Path, environment: dict[str, str], hidden: Path | None, *arguments: str
) -> "subprocess.Popen[bytes]":
    ray = str(Path(sys.executable).with_name("ray"))
    # Ray would take the address of a network card, which need not let a machine talk to itself.
    common = ["--node-ip-address=127.0.0.1", "--num-cpus=1", "--object-store-memory=80000000"]
    first = [] if hidden is None else [*HIDING, str(hidden)]
    with log.open("wb") as told:
        return subprocess.Popen(
            [*first, ray, "start", *arguments, *common, "--block"],
            env=environment,
            stdout=told,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _has_joined(node: "subprocess.Popen[bytes]", log: Path, seconds: float = 120.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end and node.poll() is None:
        if "Ray runtime started" in log.read_text(errors="replace"):
            return True
        time.sleep(0.2)
    kill_node(node)
    return False


def _wait_for_port(address: str, seconds: float = 120.0) -> None:
    host, _, port = address.rpartition(":")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 1):
            return
        time.sleep(0.2)
    raise TimeoutError(f"no Ray at {address}")


def kill_node(node: "subprocess.Popen[bytes]") -> int:
    """As when a machine is lost: everything that belongs to the node, at once."""
    members: list[psutil.Process] = []
    with contextlib.suppress(psutil.NoSuchProcess):
        parent = psutil.Process(node.pid)
        members = [parent, *parent.children(recursive=True)]
    for member in members:
        with contextlib.suppress(psutil.NoSuchProcess):
            member.send_signal(signal.SIGKILL)
    node.wait()
    psutil.wait_procs(members, timeout=10)
    return len(members)
