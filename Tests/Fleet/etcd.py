# SPDX-License-Identifier: MIT
"""A private etcd of one or three members: killed, stopped, restored, emptied; and a witness that watches its locks."""

import http.client
import json
import os
import pathlib
import secrets
import shutil
import signal
import ssl
import subprocess
import time

from ground import Ground, Problem, free_port, signal_quietly, until


class Etcd:
    """Members `n1`, `n2`, … whose gateway listens where the hosts can reach it; among each other they use loopback."""

    def __init__(self, ground: Ground, address: str, members: int) -> None:
        self.ground, self.address = ground, address
        self.program, self.control = shutil.which("etcd"), shutil.which("etcdctl")
        if not self.program or not self.control:
            raise Problem("there is no etcd (Debian's etcd-server and etcd-client)")
        self.home = pathlib.Path(ground.home / "etcd")
        self.home.mkdir(mode=0o700)
        self.names = [f"n{number}" for number in range(1, members + 1)]
        self.ports = {name: (free_port(), free_port(), free_port()) for name in self.names}
        self.scheme = "https" if ground.authority else "http"
        self.pair = ground.authority.issue("etcd", [address, "127.0.0.1"]) if ground.authority else None
        self.processes: dict[str, subprocess.Popen] = {}
        self.token = "first"
        # Nil: everybody may do everything. The hosts' user has the same password as root.
        self.password: str | None = None
        self.ticket: str | None = None
        for name in self.names:
            self.up(name, wait=False)
        self.wait()

    @property
    def endpoints(self) -> list[str]:
        return [f"{self.scheme}://{self.address}:{self.ports[name][0]}" for name in self.names]

    @property
    def _peers(self) -> str:
        return ",".join(f"{name}=http://127.0.0.1:{self.ports[name][1]}" for name in self.names)

    def up(self, name: str, wait: bool = True) -> None:
        client, peer, metrics = self.ports[name]
        words = [
            self.program, "--name", name, "--data-dir", self.home / name / "data",
            "--listen-client-urls", f"{self.scheme}://{self.address}:{client}",
            "--advertise-client-urls", f"{self.scheme}://{self.address}:{client}",
            "--listen-peer-urls", f"http://127.0.0.1:{peer}", "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
            "--listen-metrics-urls", f"http://127.0.0.1:{metrics}", "--initial-cluster", self._peers,
            "--initial-cluster-token", self.token, "--initial-cluster-state", "new", "--logger", "zap",
            "--log-outputs", "stderr",
        ]
        if self.pair:
            words += ["--cert-file", self.pair[0], "--key-file", self.pair[1]]
        (self.home / name).mkdir(exist_ok=True)
        with open(self.home / name / "log", "ab") as log:
            self.processes[name] = self.ground.spawn(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if wait:
            until(30, lambda: self.is_healthy(name), f"etcd's {name}")

    def wait(self) -> None:
        for name in self.names:
            until(30, lambda name=name: self.is_healthy(name), f"etcd's {name}")

    def is_healthy(self, name: str) -> bool:
        try:
            return json.loads(self._metrics(name, "/health")).get("health") == "true"
        except (OSError, http.client.HTTPException, ValueError):
            return False

    def _metrics(self, name: str, path: str) -> str:
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[name][2], timeout=2)
        try:
            connection.request("GET", path)
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    def calls(self) -> dict[str, int]:
        """How many calls of each kind the members have answered."""
        counts: dict[str, int] = {}
        for name in self.names:
            for line in self._metrics(name, "/metrics").splitlines():
                if line.startswith("grpc_server_handled_total{"):
                    method = line.split('grpc_method="')[1].split('"')[0]
                    counts[method] = counts.get(method, 0) + int(float(line.rsplit(" ", 1)[1]))
        return counts

    # MARK: Users

    def admit_users(self) -> None:
        """From here on root may do everything, `host` what a keeper does, and others nothing."""
        password, self.password = self.password or secrets.token_hex(16), None
        self.ctl("role", "add", "keeper")
        self.ctl("role", "grant-permission", "keeper", "readwrite", "--prefix=true", "/tokenagent/")
        for user, role in (("root", "root"), ("host", "keeper")):
            self.ctl("user", "add", f"{user}:{password}")
            self.ctl("user", "grant-role", user, role)
        self.ctl("auth", "enable")
        self.password = password

    def enter(self, name: str) -> None:
        """Gets a new token for what is asked here."""
        self.ticket = None
        if self.password:
            _, answer = self.ask("/v3/auth/authenticate", name, {"name": "root", "password": self.password})
            self.ticket = answer.get("token")

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": self.ticket} if self.ticket else {}

    # MARK: Trouble

    def kill(self, name: str) -> None:
        self.processes[name].kill()
        self.processes[name].wait()

    def pause(self) -> None:
        """All members: connections stay open, and nothing answers."""
        for process in self.processes.values():
            signal_quietly(process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        for process in self.processes.values():
            signal_quietly(process.pid, signal.SIGCONT)

    def leader(self) -> str:
        for name in self.names:
            status, me = self.ask("/v3/maintenance/status", name)
            if status == 200 and me["header"]["member_id"] == me.get("leader"):
                return name
        raise Problem("etcd has no leader")

    def snapshot(self, file: pathlib.Path) -> None:
        self.ctl("snapshot", "save", file)

    def compact(self) -> None:
        _, answer = self.ask("/v3/maintenance/status", self.names[0])
        self.ctl("compact", answer["header"]["revision"])

    def restore(self, file: pathlib.Path | None) -> float:
        """Puts an old state, or none, in the place of the present one; with another cluster, as the manual has it.

        Returns when the present one was gone, and the other was not there yet."""
        for name in self.names:
            self.kill(name)
            shutil.rmtree(self.home / name / "data")
        self.token = f"again{time.monotonic_ns()}"
        self.ticket = None
        for name in self.names if file else []:
            subprocess.run(
                [self.control, "snapshot", "restore", file, "--name", name, "--data-dir", self.home / name / "data",
                 "--initial-cluster-token", self.token, "--initial-cluster", self._peers,
                 "--initial-advertise-peer-urls", f"http://127.0.0.1:{self.ports[name][1]}"],
                check=True, env={**os.environ, "ETCDCTL_API": "3"}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        gone = time.monotonic()
        for name in self.names:
            self.up(name, wait=False)
        self.wait()
        if self.password and not file:
            self.admit_users()
        return gone

    # MARK: Questions

    @property
    def trust(self) -> ssl.SSLContext | None:
        authority = self.ground.authority
        return ssl.create_default_context(cafile=str(authority.certificate)) if authority else None

    def connection(self, name: str, timeout: float) -> http.client.HTTPConnection:
        port = self.ports[name][0]
        if self.trust:
            return http.client.HTTPSConnection(self.address, port, timeout=timeout, context=self.trust)
        return http.client.HTTPConnection(self.address, port, timeout=timeout)

    def ask(self, path: str, name: str, body: dict | None = None) -> tuple[int, dict]:
        connection = self.connection(name, 5)
        try:
            connection.request("POST", path, json.dumps(body or {}), self.headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"{}")
        except (OSError, http.client.HTTPException, ValueError):
            return 0, {}
        finally:
            connection.close()

    def ctl(self, *words) -> None:
        command = [self.control, "--endpoints", self.endpoints[0]]
        if self.password:
            command += ["--user", f"root:{self.password}"]
        if self.ground.authority:
            command += ["--cacert", self.ground.authority.certificate]
        subprocess.run([str(word) for word in [*command, *words]], check=True, timeout=30,
                       env={**os.environ, "ETCDCTL_API": "3"}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
