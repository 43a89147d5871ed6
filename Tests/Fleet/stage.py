# SPDX-License-Identifier: MIT
"""A whole fleet: etcd, an issuer, N hosts with their agents, whoever listens to them, and what was done to them."""

import base64
import concurrent.futures
import contextlib
import dataclasses
import json
import os
import pathlib
import random
import signal
import time

from callers import Listener, Poller
from etcd import Etcd
from ground import Ground, Problem, descendants, signal_quietly, until
from hosts import Host
from network import Network
from truth import Truth
from witness import Witness

# The least that the configuration takes, in seconds.


@dataclasses.dataclass
class Plan:
    """What a scenario stands on."""

    hosts: int
    # So many sessions of each habit.
    sessions: dict[str, int]
    # Seconds that an access token lives.
    lifetime: int
    members: int = 1
    readers: int = 0
    # Calls of callers a second.
    rate: float = 10
    # Seconds after the end of a token that an answer is waited for.
    patience: int = 30
    # Hosts whose wall clocks are so many seconds off.
    clocks: dict[int, int] = dataclasses.field(default_factory=dict)
    # Whether etcd wants names and passwords.
    users: bool = False
    # Whether the hosts' files are in memory: each host of a real fleet has a disk of its own, and does not wait for those of
    # all others.
    in_memory: bool = False


@dataclasses.dataclass
class Death:
    """A host that was killed, destroyed, stopped or cut off."""

    time: float
    host: int
    kind: str
    step: str
    until: float = float("inf")


class Stage:
    """Built by its initializer; `close` ends everything."""

    def __init__(self, programs: pathlib.Path, plan: Plan) -> None:
        self.plan = plan
        self.ground = Ground(programs, plan.in_memory)
        self.deaths: list[Death] = []
        self.chance = random.Random(time.time_ns())
        self.mark = f"{self.chance.randrange(16 ** 6):06x}"
        self.sessions = [f"{habit}-{self.mark}{number}" for habit, count in plan.sessions.items() for number in range(count)]
        self.listener: Listener | None = None
        self.poller: Poller | None = None
        self.numbers: dict[bytes, int] = {}
        try:
            self._build()
        except BaseException:
            self.close()
            raise

    def _build(self) -> None:
        plan = self.plan
        self.network = Network(self.ground)
        self.etcd = Etcd(self.ground, self.network.etcd_address, plan.members)
        if plan.users:
            self.etcd.admit_users()
        self.truth = Truth(self.ground, self.network, plan.lifetime)
        self.truth.host_of = self._host_at
        self.name_key = self._make_keys()
        self.witness = Witness(self.etcd, self.name_key, self.sessions)
        self.truth.listeners.append(self._learn)
        self.hosts = [
            Host(self.ground, self.network, number, self.configuration(number)) for number in range(plan.hosts)]

    def configuration(self, number: int) -> str:
        is_reader = number >= self.plan.hosts - self.plan.readers
        authority = self.ground.authority
        trust = f'ca_file = "{authority.certificate}"\n' if authority else ""
        text = (
            f'[agent]\nmin_validity = "1s"\n[fleet]\nname = "test"\nendpoints = {json.dumps(self.etcd.endpoints)}\n{trust}'
            f'fleet_key_file = "{self.key}{".reader" if is_reader else ""}"\nhost = "h{number}"\n'
            f'takeover_patience = "{self.plan.patience}s"\n' + ('role = "reader"\n' if is_reader else ""))
        if self.etcd.password:
            text += f'user = "host"\npassword_command = ["echo", "{self.etcd.password}"]\n'
        for session in self.sessions:
            text += (f'[session.{session}]\nkind = "oauth2"\ntoken_endpoint = "{self.truth.address}/token"\n'
                     f'revocation_endpoint = "{self.truth.address}/revoke"\nclient_id = "fleet"\nflow = "password"\n{trust}'
                     'fleet = true\n' + ('reuse_grace = "30s"\n' if session.startswith("g") else ""))
        return text

    def _make_keys(self) -> bytes:
        """Has the key files made; returns the key that sessions' names are hidden with."""
        self.key = self.ground.home / "fleet.key"
        place = self.ground.home / "keymaker"
        place.mkdir(mode=0o700)
        maker = Host(self.ground, _Nowhere(), 10_000, "")
        made = maker.control("fleet", "init", "--key-file", str(self.key), "--name", "test")
        if made.returncode or not self.key.exists():
            raise Problem(f"tokenctl fleet init: {made.stderr.strip() or made.stdout.strip()}")
        text = self.key.read_text().strip().split(":", 1)[1]
        content = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return content[17 + content[16]:49 + content[16]]

    # MARK: Who is who

    def _host_at(self, port: int) -> int | None:
        """The host of a connection from this port, where all have one address."""
        wanted = f"{port:04X}"
        node = None
        for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[1].endswith(f":{wanted}") and fields[9] != "0":
                node = f"socket:[{fields[9]}]"
        for host in self.hosts if node else []:
            if host.process is None or host.process.poll() is not None:
                continue
            for pid in descendants(host.process.pid):
                with contextlib.suppress(OSError):
                    for file in os.listdir(f"/proc/{pid}/fd"):
                        with contextlib.suppress(OSError):
                            if os.readlink(f"/proc/{pid}/fd/{file}") == node:
                                return host.number
        return None

    def _learn(self, kind: str, exchange) -> None:
        """Whoever sends a request holds the lock, which names it."""
        if kind == "acted" and exchange.host is not None:
            lock = self.witness.lock_before(exchange.session, exchange.received + 0.05)
            if lock:
                self.numbers.setdefault(lock[1][:8], exchange.host)

    def host_of(self, attempt: bytes) -> int | None:
        return self.numbers.get(attempt[:8])

    # MARK: Beginning

    def start(self) -> None:
        """All agents run, all sessions are logged in, and all hosts know it."""
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(Host.start, self.hosts))
            self.listener = Listener(self.hosts)
            keepers = self.keepers
            logins = pool.map(lambda pair: keepers[pair[0] % len(keepers)].log_in(pair[1]), enumerate(self.sessions))
            failed = [session for session, is_done in zip(self.sessions, logins) if not is_done]
        if failed:
            again = self.keepers[0].control("login", failed[0], "--username", failed[0], "--password-stdin", text="any\n")
            raise Problem(f"no login of {failed}: {again.stderr}")
        until(60, lambda: all(self.is_ready(host) for host in self.hosts), "all hosts to have all logins")
        self.poller = Poller(self.hosts, self.sessions, self.plan.rate)

    @property
    def keepers(self) -> list[Host]:
        return self.hosts[:len(self.hosts) - self.plan.readers]

    def is_ready(self, host: Host) -> bool:
        states = host.sessions()
        return all(states.get(name, {}).get("state") in ("ready", "refreshing") for name in self.sessions)

    def states(self, session: str) -> dict[int, str]:
        """What each host that runs says of the session."""
        found = {}
        for host in self.hosts:
            answer = host.ask("GET", f"/v1/sessions/{session}", timeout=5) if host.is_alive else None
            if answer:
                found[host.number] = f"{answer[1].get('state')} {answer[1].get('reason') or ''}".strip()
        return found

    def logs(self) -> dict[int, str]:
        return {host.number: host.log.read_text(errors="replace") for host in self.hosts if host.log.exists()}

    def close(self) -> None:
        if self.poller:
            self.poller.is_over = True
        if self.listener:
            self.listener.is_over = True
        if hasattr(self, "witness"):
            self.witness.is_over = True
        # What outlives an agent that was killed.
        for host in getattr(self, "hosts", []):
            if host.prefix:
                for pid in host.everything():
                    signal_quietly(pid, signal.SIGKILL)
        self.ground.close()


class _Nowhere:
    """The network of a host that only makes keys."""

    def join(self, _number: int) -> list[str]:
        return []
