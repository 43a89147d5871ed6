# SPDX-License-Identifier: MIT
"""What every part of the fleet's test stands on: its directory, its processes, its certificates, its words."""

import collections.abc
import contextlib
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

# The exit status that says that nothing could be tried.
CAN_NOT_RUN = 77
# Where files are in memory.
SHARED_MEMORY = "/dev/shm"


class Problem(Exception):
    """The test itself cannot go on."""


def until(seconds: float, condition: collections.abc.Callable[[], object], what: str) -> object:
    """Polls until the condition is true and returns what it gave."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Problem(f"waited {seconds:g} s for {what}")
        time.sleep(0.02)


def say(text: str) -> None:
    """A line about the run, not a result."""
    print(text, file=sys.stderr, flush=True)


def free_port() -> int:
    """A port for a server that may stop and come back: none that the kernel gives to a client meanwhile.

    A client that tries a port which is closed on its own machine can even be given just that port, and talk to itself.
    """
    first = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", random.randrange(min(first, 20_000) // 2, first)))
            return probe.getsockname()[1]


def descendants(pid: int) -> list[int]:
    """The process and all that came from it, parents first."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError, IndexError, ValueError):
            fields = pathlib.Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()
            children.setdefault(int(fields[1]), []).append(int(entry))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def signal_quietly(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


class Ground:
    """One run: a private directory and every process that was started in it, which `close` ends one by one."""

    def __init__(self, programs: pathlib.Path, in_memory: bool = False) -> None:
        """With `in_memory` the hosts' files are kept off the disk, where that can be done."""
        self.programs = programs
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="tokenagent-fleet."))
        self.memory: pathlib.Path | None = None
        if in_memory and os.access(SHARED_MEMORY, os.W_OK):
            self.memory = pathlib.Path(tempfile.mkdtemp(prefix="tokenagent-fleet.", dir=SHARED_MEMORY))
        self.processes: list[subprocess.Popen] = []
        self.closers: list[collections.abc.Callable[[], None]] = []
        self.authority: Authority | None = None

    def spawn(self, command: list, **options) -> subprocess.Popen:
        process = subprocess.Popen([str(word) for word in command], **options)
        self.processes = [one for one in self.processes if one.poll() is None] + [process]
        return process

    def close(self) -> None:
        for closer in reversed(self.closers):
            with contextlib.suppress(OSError, subprocess.SubprocessError, Problem):
                closer()
        for process in reversed(self.processes):
            if process.poll() is None:
                for pid in descendants(process.pid):
                    signal_quietly(pid, signal.SIGKILL)
                process.wait()
        for folder in (self.home, self.memory):
            if folder:
                shutil.rmtree(folder, ignore_errors=True)


class Authority:
    """A certificate authority of this run, for servers that are not on the loopback interface."""

    # What openssl is run with, for another clock.
    variables: dict[str, str] = {}

    def __init__(self, folder: pathlib.Path) -> None:
        if not shutil.which("openssl"):
            raise Problem("there is no openssl")
        self.folder = folder
        folder.mkdir(mode=0o700)
        self.certificate = folder / "ca.pem"
        self._run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
                  "-subj", "/O=tokenagent fleet test", "-keyout", folder / "ca.key", "-out", self.certificate)

    def issue(self, name: str, addresses: list[str]) -> tuple[pathlib.Path, pathlib.Path]:
        """A certificate for these addresses, and its key; good for a client too, as etcd's gateway is one of its own."""
        certificate, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        request, extensions = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        self._run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                  "/O=tokenagent fleet test", "-keyout", key, "-out", request)
        names = ",".join(f"IP:{address}" for address in addresses)
        extensions.write_text(
            f"subjectAltName={names}\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth,clientAuth\n")
        self._run("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.folder / "ca.key",
                  "-CAcreateserial", "-days", "30", "-extfile", extensions, "-out", certificate)
        return certificate, key

    def _run(self, *words) -> None:
        subprocess.run(["openssl", *map(str, words)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env={**os.environ, **Authority.variables})
