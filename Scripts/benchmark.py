# SPDX-License-Identifier: MIT
"""What the benchmarks share: a private stage with our programs on it, and the table of figures and aims."""

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


def say(text: str) -> None:
    print(text, flush=True)


class Row:
    """One line of the table of aims; smaller is better unless `larger`."""

    rows: list["Row"] = []

    def __init__(self, name: str, aim: float, must: float, unit: str = "", larger: bool = False) -> None:
        self.name, self.aim, self.must, self.unit, self.larger = name, aim, must, unit, larger
        self.value: float | None = None
        self.note = "not measured"
        Row.rows.append(self)

    def set(self, value: float, note: str = "") -> None:
        self.value, self.note = value, note
        say(f"  -> {self.name}: {self.figure()} {note}")

    def figure(self) -> str:
        return "-" if self.value is None else f"{self.value:.3g} {self.unit}".strip()

    def verdict(self) -> str:
        if self.value is None:
            return "-"
        met = [self.value >= bound if self.larger else self.value <= bound for bound in (self.aim, self.must)]
        return "aim met" if met[0] else "within must" if met[1] else "MISSED"

    @staticmethod
    def print_all() -> None:
        say(f"\n{'Figure':<54} {'measured':>12} {'aim':>8} {'must':>8}  verdict")
        for row in Row.rows:
            sign = "≥" if row.larger else "≤"
            say(f"{row.name:<54} {row.figure():>12} {sign + format(row.aim, 'g'):>8} {sign + format(row.must, 'g'):>8}"
                f"  {row.verdict()}{'  (' + row.note + ')' if row.note else ''}")


# Processes

class Stage:
    """A private directory with the probe, and the processes started in it."""

    def __init__(self, binaries: pathlib.Path, *programs: str) -> None:
        """`programs` are those that are needed beside the agent and its command."""
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="tokenagent-bench."))
        self.binaries = self.install(binaries, programs)
        self.children: list[subprocess.Popen] = []
        self.foreign: list[int] = []  # started by others on our behalf
        self.environment = {
            "HOME": str(self.home), "PATH": f"{self.binaries}:{os.environ['PATH']}", "LANG": "C.UTF-8",
            "XDG_RUNTIME_DIR": str(self.directory("run")), "XDG_STATE_HOME": str(self.directory("state")),
            "XDG_CONFIG_HOME": str(self.directory("config")), "TOKENAGENT_AUTOSTART": "0",
        }

    def install(self, binaries: pathlib.Path, programs: tuple[str, ...]) -> pathlib.Path:
        """Copies the binaries, as the peers are installed too: a file just linked is slower to map."""
        installed = self.directory("bin")
        for name in ("tokenagent", "tokenagent-runner", "tokenctl", "tokenctl-commands", "demo-issuer", *programs):
            shutil.copy(binaries / name, installed)
        return installed

    def directory(self, name: str) -> pathlib.Path:
        path = self.home / name
        path.mkdir(mode=0o700, exist_ok=True)
        return path

    def start(self, *command, **options) -> subprocess.Popen:
        log = open(self.home / "log", "ab")
        options = {"stdout": log, "stderr": log, "stdin": subprocess.DEVNULL, "env": self.environment} | options
        child = subprocess.Popen([str(word) for word in command], **options)
        self.children.append(child)
        return child

    def run(self, *command, **options) -> str:
        options = {"capture_output": True, "text": True, "env": self.environment, "check": True, "timeout": 120} | options
        return subprocess.run([str(word) for word in command], **options).stdout

    def stop(self, child: subprocess.Popen) -> None:
        child.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(30)
        if child.poll() is None:
            child.kill()
            child.wait()
        self.children.remove(child)

    def close(self) -> None:
        for child in list(self.children):
            self.stop(child)
        for pid in self.foreign:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        shutil.rmtree(self.home, ignore_errors=True)


@contextlib.contextmanager
def part(title: str):
    """Announces a part; one that fails is reported and the others go on."""
    say(f"\n{title}")
    try:
        yield
    except (OSError, subprocess.SubprocessError, RuntimeError, ValueError, KeyError) as problem:
        said = getattr(problem, "stderr", None)
        say(f"  not measured: {problem}{': ' + said.strip() if isinstance(said, str) and said.strip() else ''}")


def process_tree(pid: int) -> list[int]:
    tree = [pid]
    for parent in tree:
        for task in pathlib.Path(f"/proc/{parent}/task").iterdir():
            tree += [int(child) for child in (task / "children").read_text().split()]
    return tree


def cpu_seconds(pid: int) -> float:
    """CPU time of all threads, from the scheduler's nanoseconds."""
    return sum(int((task / "schedstat").read_text().split()[0]) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()) / 1e9


def memory(pid: int) -> tuple[float, float]:
    """Resident and anonymous megabytes of the process and its children."""
    total = {"VmRSS": 0.0, "RssAnon": 0.0}
    for process in process_tree(pid):
        for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name in total:
                total[name] += int(value.split()[0]) * 1024 / 1e6
    return total["VmRSS"], total["RssAnon"]


# Talking to the agent

class Agent(http.client.HTTPConnection):
    def __init__(self, path: pathlib.Path) -> None:
        super().__init__("tokenagent", timeout=60)
        self.path = str(path)

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(self.path)

    def ask(self, method: str, path: str, body: dict | None = None) -> bytes:
        self.request(method, path, None if body is None else json.dumps(body))
        answer = self.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{method} {path}: {answer.status} {text.decode(errors='replace')}")
        return text


class Ours:
    """The agent under test with its own state, socket and configuration."""

    def __init__(
        self, stage: Stage, name: str, issuer: dict, sessions: int, store: pathlib.Path | None = None
    ) -> None:
        self.stage, self.issuer, self.sessions = stage, issuer, sessions
        self.base = stage.directory(name)
        self.store = store or self.base / "store"
        self.socket = self.base / "agent.sock"
        self.config = self.base / "config.toml"
        client = next(c for c in issuer["clients"] if c.get("client_secret"))
        self.config.write_text("".join(
            f'[session.s{i}]\nkind = "oidc"\nissuer = "{issuer["issuer"]}"\nclient_id = "{client["client_id"]}"\n'
            f'client_secret = "{client["client_secret"]}"\nscopes = ["openid", "offline_access"]\nflow = "password"\n\n'
            for i in range(sessions)
        ))
        self.config.chmod(0o600)
        self.process: subprocess.Popen | None = None

    @property
    def environment(self) -> dict[str, str]:
        """With which a command asks this agent."""
        return self.stage.environment | {"TOKENAGENT_SOCK": str(self.socket), "TOKENAGENT_CONFIG": str(self.config)}

    @property
    def command(self) -> list:
        return [self.stage.binaries / "tokenagent", "--foreground", "-a", self.socket, "--config", self.config,
                "--state-dir", self.store, "--log-level", "error"]

    def start(self) -> float:
        """Starts it and returns the seconds until it answered a request."""
        begin = time.perf_counter()
        self.process = self.stage.start(*self.command)
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                agent = self.connection()
                agent.ask("GET", "/v1")
                return time.perf_counter() - begin
            if self.process.poll() is not None or time.perf_counter() - begin > 60:
                raise RuntimeError("tokenagent did not start: " + (self.stage.home / "log").read_text()[-500:])
            time.sleep(0.0003)

    def stop(self) -> None:
        if self.process is not None:
            self.stage.stop(self.process)
        self.process = None

    def connection(self) -> Agent:
        return Agent(self.socket)

    def log_in(self, session: str) -> None:
        user = self.issuer["users"][0]
        agent = self.connection()
        answer = agent.ask("POST", f"/v1/sessions/{session}/login",
                           {"flow": "password", "username": user["username"], "secret": user["password"]})
        agent.close()
        if b'"done"' not in answer:
            raise RuntimeError(f"login of {session}: {answer.decode(errors='replace').strip()}")


def start_issuer(stage: Stage) -> dict:
    child = stage.start(stage.binaries / "demo-issuer", "--access-ttl", "36000", "--ignore-standard-input",
                        stdout=subprocess.PIPE)
    return json.loads(child.stdout.readline())
