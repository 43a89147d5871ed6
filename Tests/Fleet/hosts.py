# SPDX-License-Identifier: MIT
"""The hosts of a fleet: a real agent each, with directories and a network of its own."""

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

from ground import Ground, Problem, descendants, signal_quietly, until
from network import Network

# Seconds after which everything has happened that a wake-up of an agent brings about.
AFTERMATH = 8


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("tokenagent", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Host:
    """One machine: what it holds outlives its agent, unless it is destroyed."""

    def __init__(self, ground: Ground, network: Network, number: int, configuration: str) -> None:
        self.ground, self.number = ground, number
        self.home = (ground.memory or ground.home) / f"h{number}"
        self.configuration = configuration
        self.prefix = network.join(number)
        self.process: subprocess.Popen | None = None
        self.is_paused = False
        # What the scenario is doing with it; nothing else may meanwhile.
        self.is_busy = False
        self.is_cut = False
        self.extra: dict[str, str] = {}
        # What runs the agent in its place, and looks at it.
        self.tool: list = []
        self._prepare()

    def _prepare(self) -> None:
        for name in ("", "run", "state", "config"):
            (self.home / name).mkdir(mode=0o700, exist_ok=True)
        file = self.home / "config/config.toml"
        file.touch(mode=0o600)
        file.write_text(self.configuration)

    @property
    def environment(self) -> dict[str, str]:
        home = str(self.home)
        return {
            "HOME": home, "PATH": f"{self.ground.programs}:/usr/sbin:/usr/bin:/sbin:/bin", "XDG_RUNTIME_DIR": f"{home}/run",
            "XDG_STATE_HOME": f"{home}/state", "XDG_CONFIG_HOME": f"{home}/config",
            "TOKENAGENT_CONFIG": f"{home}/config/config.toml", "TOKENAGENT_AUTOSTART": "0", **self.extra,
        }

    @property
    def socket(self) -> str:
        return str(self.home / "run/tokenagent/agent.sock")

    @property
    def log(self) -> pathlib.Path:
        return self.home / "log"

    @property
    def is_alive(self) -> bool:
        return self.process is not None and self.process.poll() is None and not self.is_paused

    @property
    def is_served(self) -> bool:
        """Callers here have a right to a token."""
        return self.is_alive and (self.is_cut or not self.is_busy)

    def launch(self) -> None:
        with open(self.log, "ab") as log:
            self.process = self.ground.spawn(
                [*self.prefix, *self.tool, self.ground.programs / "tokenagent", "-D", "--log-level", "debug"],
                env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def wait(self) -> None:
        until(60, lambda: self.process.poll() is not None or self.ask("GET", "/v1"), f"host {self.number}")
        if self.process.poll() is not None:
            raise Problem(f"the agent of host {self.number} ended with {self.process.returncode} at its start:\n"
                          + self.log.read_text(errors="replace")[-2000:])

    def start(self) -> None:
        self.launch()
        self.wait()

    # MARK: Trouble

    def kill(self) -> None:
        """The agent's process alone, as the kernel does when memory is short."""
        self.process.kill()
        self.process.wait()
        self.is_paused = False

    def everything(self) -> list[int]:
        """All processes of this machine, the agent first: those in its network, or else those that came from it."""
        mine = [self.process.pid] if self.process and self.process.poll() is None else []
        if not self.prefix:
            return descendants(self.process.pid) if mine else []
        network = os.stat(self.prefix[1].removeprefix("--net=")).st_ino
        for entry in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if entry.isdigit() and os.stat(f"/proc/{entry}/ns/net").st_ino == network and int(entry) not in mine:
                    mine.append(int(entry))
        return mine

    def kill_all(self) -> None:
        """Everything that runs on this machine, the agent first."""
        signal_quietly(self.process.pid, signal.SIGSTOP)
        for pid in self.everything():
            signal_quietly(pid, signal.SIGKILL)
        self.process.wait()
        self.is_paused = False

    def destroy(self) -> None:
        """The machine is gone, with its disk; another one takes its name."""
        self.kill_all()
        for name in ("run", "state"):
            shutil.rmtree(self.home / name)
        self._prepare()

    def pause(self) -> None:
        """As a virtual machine that is halted: every process of it."""
        self.is_paused = True
        signal_quietly(self.process.pid, signal.SIGSTOP)
        for pid in self.everything():
            signal_quietly(pid, signal.SIGSTOP)

    def resume(self) -> None:
        for pid in reversed(self.everything()):
            signal_quietly(pid, signal.SIGCONT)
        self.is_paused = False

    # MARK: Questions

    def ask(self, method: str, target: str, timeout: float = 20, body: dict | None = None) -> tuple[int, dict] | None:
        """Status and answer, or nothing when the agent is not there or dies meanwhile."""
        connection = UnixConnection(self.socket, timeout)
        try:
            connection.request(method, target, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"{}")
        except (OSError, http.client.HTTPException, ValueError):
            return None
        finally:
            connection.close()

    def get(self, session: str, wait: float = 0) -> tuple[int, dict] | None:
        return self.ask("GET", f"/v1/sessions/{session}/token?timeout={wait:g}", timeout=wait + 5)

    def sessions(self) -> dict[str, dict]:
        answer = self.ask("GET", "/v1/sessions", timeout=5)
        return {one["session"]: one for one in answer[1].get("sessions", [])} if answer else {}

    def control(self, *words: str, text: str = "", timeout: float = 60) -> subprocess.CompletedProcess:
        return subprocess.run([self.ground.programs / "tokenctl", *words], env=self.environment, input=text, text=True,
                              capture_output=True, timeout=timeout, check=False)

    def log_in(self, session: str) -> bool:
        """As the user who has the session's name."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.control("login", session, "--username", session, "--password-stdin", text="any\n").returncode == 0
        return False

    def memory(self) -> int:
        """Resident kilobytes of the agent alone."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        return 0

    def switches(self) -> dict[int, int]:
        """How often each thread of the agent has gone to sleep by its own wish."""
        found = {}
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            with contextlib.suppress(OSError):
                text = pathlib.Path(f"/proc/{self.process.pid}/task/{task}/status").read_text()
                found[int(task)] = int(text.split("\nvoluntary_ctxt_switches:")[1].split()[0])
        return found

    def wake_ups(self, seconds: float) -> float:
        """How often in a minute the agent wakes up, with all that follows: a thread that is idle ends five seconds later."""
        end = time.monotonic() + seconds
        times, last, before = 0, -AFTERMATH, self.switches()
        while (now := time.monotonic()) < end:
            time.sleep(0.1)
            after = self.switches()
            if after != before and now - last > AFTERMATH:
                times, last = times + 1, now
            before = after
        return times / seconds * 60


def settle(seconds: float, end: float) -> None:
    """Waits, but not beyond the end of the scenario."""
    time.sleep(max(0, min(seconds, end - time.monotonic())))
