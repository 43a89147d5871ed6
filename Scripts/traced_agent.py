# SPDX-License-Identifier: MIT
"""An agent with issuers of its own, started again and again, and strace on it: what the kill sweeps share."""

import collections
import collections.abc
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import time

from role_service import ROLE, RoleService

# Calls that only wait or schedule: their ordinals differ from run to run and killing there proves nothing new.
IDLE = {"futex", "epoll_wait", "epoll_pwait", "epoll_pwait2", "sched_yield", "restart_syscall", "clock_nanosleep",
        "nanosleep", "rt_sigprocmask", "rt_sigreturn", "madvise", "brk", "exit", "exit_group", "getpid", "gettid"}
# The session that is made from another one.
MADE = "made"
# The exit status that says that nothing could be tried.
CAN_NOT_RUN = 77
# How many ordinals beyond those seen are tried, since threads do not share the work alike in every run.
SLACK = 1


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("tokenagent", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Problem(Exception):
    """The sweep itself cannot go on."""


def until(seconds: float, condition, what: str):
    """Polls until the condition is true and returns what it gave."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Problem(f"waited {seconds:g} s for {what}")
        time.sleep(0.005)


class Agent:
    """The agent of one mode, its home, and the issuers its sessions belong to, which speak TLS.

    With `made`, "exchange" or "role", there is also the session `made`, which is made from the first of `sessions`."""

    def __init__(
        self, programs: pathlib.Path, home: pathlib.Path, mode: str, sessions: list[str], life: int, issuers: int = 1,
        made: str | None = None,
    ) -> None:
        self.programs, self.home, self.sessions = programs, home, sessions
        for name in ("run", "state", "config", "config/tokenagent"):
            (home / name).mkdir(mode=0o700)
        self.environment = {
            "HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}", "XDG_RUNTIME_DIR": str(home / "run"),
            "XDG_STATE_HOME": str(home / "state"), "XDG_CONFIG_HOME": str(home / "config"),
            "TOKENAGENT_AUTOSTART": "0",
        }
        self.log = open(home / "log", "ab")
        authorities = [home / f"authority{number}" for number in range(issuers)]
        for authority in authorities:
            authority.mkdir(mode=0o700)
        self.issuers = [subprocess.Popen(
            [programs / "demo-issuer", "--rotation", mode, "--access-ttl", str(life), "--tls", authority],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log) for authority in authorities]
        self.abouts = [json.loads(issuer.stdout.readline()) for issuer in self.issuers]
        self.socket = str(home / "run/tokenagent/agent.sock")
        self.process: subprocess.Popen | None = None
        self.roles = RoleService() if made == "role" else None
        configuration = home / "config/tokenagent/config.toml"
        # One that holds a secret is nobody else's to read.
        configuration.touch(mode=0o600)
        configuration.write_text("".join(
            f'[session.{name}]\nkind = "oidc"\nissuer = "{self.abouts[number % issuers]["issuer"]}"\n'
            f'ca_file = "{self.abouts[number % issuers]["ca_file"]}"\n'
            'client_id = "demo-public"\nscopes = ["openid", "offline_access"]\nflow = "password"\n'
            for number, name in enumerate(sessions)) + (self._table(made) if made else ""))

    def _table(self, made: str) -> str:
        if self.roles:
            return (f'[session.{MADE}]\nkind = "aws_role"\nfrom = "{self.sessions[0]}"\nrole_arn = "{ROLE}"\n'
                    f'sts_endpoint = "{self.roles.address}"\n')
        client = next(client for client in self.abouts[0]["clients"] if client.get("client_secret"))
        return (f'[session.{MADE}]\nissuer = "{self.abouts[0]["issuer"]}"\nclient_id = "{client["client_id"]}"\n'
                f'ca_file = "{self.abouts[0]["ca_file"]}"\n'
                f'client_secret = "{client["client_secret"]}"\nflow = "token_{made}"\nfrom = "{self.sessions[0]}"\n')

    def start(self) -> None:
        self.process = subprocess.Popen(
            [self.programs / "tokenagent", "--foreground"], env=self.environment, stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log)
        until(20, lambda: self.process.poll() is not None or self.ask("GET", "/v1"), "the agent's start")
        if self.process.poll() is not None:
            raise Problem(f"the agent ended with {self.process.returncode} at its start")

    def ask(
        self, method: str, target: str, timeout: float = 20, body: dict | None = None
    ) -> tuple[int, dict] | None:
        """Status and answer, or None when the agent is not there or dies meanwhile."""
        connection = UnixConnection(self.socket, timeout)
        try:
            connection.request(method, target, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            body = answer.read()
            return answer.status, json.loads(body or b"{}")
        except (OSError, http.client.HTTPException, ValueError):
            return None
        finally:
            connection.close()

    def log_in(self, session: str = "s") -> None:
        user = self.abouts[0]["users"][0]
        subprocess.run(
            [self.programs / "tokenctl", "login", session, "--username", user["username"], "--password-stdin"],
            env=self.environment, input=user["password"] + "\n", text=True, check=True, timeout=30,
            stdout=self.log, stderr=self.log)

    def refreshes(self, grant: str = "refresh_token") -> int:
        """How often the issuers were asked for this grant."""
        total = 0
        for about in self.abouts:
            connection = http.client.HTTPSConnection(
                about["issuer"].split("//")[1], timeout=10, context=ssl.create_default_context(cafile=about["ca_file"]))
            connection.request("GET", "/_control/counts")
            total += json.loads(connection.getresponse().read())["grant_types"].get(grant, 0)
            connection.close()
        return total

    def exchanges(self) -> int:
        """How often something was asked for that makes the session `made`."""
        if self.roles:
            return self.roles.given
        return self.refreshes("urn:ietf:params:oauth:grant-type:token-exchange")

    def token(self, session: str = "s") -> str | None:
        """What a program is given of the session, without waiting."""
        address = "aws" if self.roles and session == MADE else "token"
        answer = self.ask("GET", f"/v1/sessions/{session}/{address}?timeout=0")
        return (answer[1].get("access_token") or answer[1].get("SecretAccessKey")) if answer else None

    def settled(self, session: str = "s") -> dict:
        """The session's status once nothing is under way."""
        last = None

        def state():
            nonlocal last
            last = self.ask("GET", f"/v1/sessions/{session}")
            return last and last[1].get("state") in ("ready", "logged_out", "suspended") and last[1]
        try:
            return until(30, state, f"session {session} to settle")
        except Problem as problem:
            raise Problem(f"{problem}; the agent answered {last}") from problem

    def kill(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait()

    def close(self) -> None:
        self.kill()
        if self.roles:
            self.roles.close()
        for issuer in self.issuers:
            issuer.stdin.close()
        for issuer in self.issuers:
            with contextlib.suppress(subprocess.TimeoutExpired):
                issuer.wait(10)
            if issuer.poll() is None:
                issuer.kill()
                issuer.wait()


@contextlib.contextmanager
def traced(agent: Agent, output: pathlib.Path, *options: str):
    """strace on all threads of the running agent."""
    messages = agent.home / "strace.err"
    with open(messages, "wb") as file:
        strace = subprocess.Popen(
            ["strace", "-f", "-qq", "-o", output, *options, "-p", str(agent.process.pid)], stderr=file,
            stdin=subprocess.DEVNULL)
    try:
        # Attached means that the kernel names strace as the tracer of every thread.
        def attached():
            if strace.poll() is not None:
                return True
            tasks = pathlib.Path(f"/proc/{agent.process.pid}/task")
            with contextlib.suppress(OSError):
                return all(f"TracerPid:\t{strace.pid}\n" in (task / "status").read_text() for task in tasks.iterdir())
            return False
        until(10, attached, "strace to attach")
        if strace.poll() is not None and agent.process.poll() is None:
            raise PermissionError(messages.read_text().strip())
        yield
    finally:
        if strace.poll() is None:
            strace.send_signal(signal.SIGINT)
        # strace can miss the death of a thread group and wait for ever; once strace is gone, we reap the agent.
        try:
            strace.wait(1)
        except subprocess.TimeoutExpired:
            strace.kill()
            strace.wait()
        status = pathlib.Path(f"/proc/{agent.process.pid}/status")
        with contextlib.suppress(OSError):
            if "State:\tZ" in status.read_text():
                agent.process.wait(5)


def points(agent: Agent, action: collections.abc.Callable[[], None]) -> list[tuple[str, int]]:
    """Every (system call, ordinal) that some thread makes while `action` runs."""
    output = agent.home / "baseline"
    with traced(agent, output):
        action()
    counts: collections.Counter = collections.Counter()
    for line in output.read_text(errors="replace").splitlines():
        match = re.match(r"(\d+)\s+(\w+)\(", line)
        if match and match[2] not in IDLE:
            counts[match[1], match[2]] += 1
    highest: dict[str, int] = {}
    for (_, name), count in counts.items():
        highest[name] = max(highest.get(name, 0), count)
    return [(name, ordinal) for name in sorted(highest) for ordinal in range(1, highest[name] + SLACK + 1)]


@contextlib.contextmanager
def killed_at(agent: Agent, name: str, ordinal: int):
    """Lets strace kill the agent when a thread enters the system call `name` for the `ordinal`th time."""
    options = ("-e", f"trace={name}", "-e", f"inject={name}:signal=KILL:when={ordinal}")
    with traced(agent, agent.home / "trace", *options):
        yield
