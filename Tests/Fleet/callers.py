# SPDX-License-Identifier: MIT
"""Programs on all hosts: they listen to events, and ask for tokens again and again."""

import dataclasses
import json
import random
import selectors
import socket
import threading
import time

from hosts import Host


@dataclasses.dataclass
class Told:
    """An event of a host's agent."""

    time: float
    host: int
    event: str
    session: str
    reason: str


@dataclasses.dataclass
class Refusal:
    """A caller that got no token."""

    time: float
    host: int
    session: str
    code: str
    message: str


class Listener:
    """The event streams of all hosts, in one thread; a stream that ends is opened again once its agent is back."""

    def __init__(self, hosts: list[Host]) -> None:
        self.hosts, self.told = hosts, []
        self.is_over = False
        self.selector = selectors.DefaultSelector()
        self.open: dict[int, tuple[socket.socket, int]] = {}
        self.rest: dict[int, bytes] = {}
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        tried = 0.0
        while not self.is_over:
            if time.monotonic() - tried > 0.2:
                tried = time.monotonic()
                for host in self.hosts:
                    if host.number not in self.open and host.is_alive:
                        self._connect(host)
            for key, _ in self.selector.select(0.1):
                self._read(key.data, key.fileobj)

    def _connect(self, host: Host) -> None:
        stream = socket.socket(socket.AF_UNIX)
        try:
            stream.settimeout(0.5)
            stream.connect(host.socket)
            stream.sendall(b"GET /v1/events HTTP/1.1\r\nHost: tokenagent\r\n\r\n")
            stream.setblocking(False)
        except OSError:
            stream.close()
            return
        self.open[host.number] = (stream, host.process.pid)
        self.rest[host.number] = b""
        self.selector.register(stream, selectors.EVENT_READ, host.number)

    def _read(self, number: int, stream: socket.socket) -> None:
        now = time.monotonic()
        try:
            data = stream.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.selector.unregister(stream)
            stream.close()
            del self.open[number]
            return
        *lines, self.rest[number] = (self.rest[number] + data).split(b"\n")
        for line in lines:
            # Headers and the lengths of chunks come between.
            if line.startswith(b"{"):
                event = json.loads(line)
                self.told.append(Told(now, number, event["event"], event.get("session", ""), event.get("reason", "")))


class Poller:
    """Callers who ask a random host for a random session's token, so many times a second in all."""

    def __init__(self, hosts: list[Host], sessions: list[str], rate: float, wait: float = 10) -> None:
        self.hosts, self.sessions, self.rate, self.wait = hosts, sessions, rate, wait
        self.asked = self.served = 0
        self.refusals: list[Refusal] = []
        self.is_over = False
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self._run, args=(seed,), daemon=True) for seed in range(4)]
        for thread in self.threads:
            thread.start()

    def _run(self, seed: int) -> None:
        chance = random.Random(seed)
        while not self.is_over:
            time.sleep(chance.expovariate(self.rate / len(self.threads)))
            host, session = chance.choice(self.hosts), chance.choice(self.sessions)
            if host.is_served:
                self._ask(host, session)

    def _ask(self, host: Host, session: str) -> None:
        process, began = host.process, time.monotonic()
        answer = host.get(session, self.wait)
        # A caller of an agent that was killed or stopped meanwhile is nobody's fault.
        if host.process is not process or not host.is_served:
            return
        with self.lock:
            self.asked += 1
            if answer and answer[0] == 200:
                self.served += 1
                return
            error = (answer[1].get("error", {}) if answer else {})
            self.refusals.append(
                Refusal(began, host.number, session, error.get("code", "no answer"), error.get("message", "")))

    def stop(self) -> None:
        self.is_over = True
        for thread in self.threads:
            thread.join(self.wait + 10)
