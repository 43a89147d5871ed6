# SPDX-License-Identifier: MIT
"""What the issuer says has happened, as it happens."""

import collections.abc
import dataclasses
import json
import subprocess
import sys
import threading

from ground import Ground, Problem
from network import Network


@dataclasses.dataclass
class Exchange:
    """One request with a refresh token."""

    number: int
    session: str
    token: str
    family: int
    generation: int
    host: int | None
    received: float
    acted: float | None = None
    result: str = ""
    successor: str | None = None
    access: str | None = None
    answered: float | None = None
    status: int = 0
    fault: str = "none"
    delivered: bool = False

    @property
    def end(self) -> float:
        return self.answered if self.answered is not None else float("inf")


@dataclasses.dataclass
class Login:
    time: float
    session: str
    family: int
    token: str
    access: str


class Truth:
    """The issuer's process and its record."""

    def __init__(self, ground: Ground, network: Network, lifetime: int) -> None:
        self.network = network
        self.lifetime = lifetime
        self.exchanges: dict[int, Exchange] = {}
        self.logins: list[Login] = []
        self.revocations: list[tuple[float, int]] = []
        # Called with "received", "acted" or "answered", and the exchange.
        self.listeners: list[collections.abc.Callable[[str, Exchange], None]] = []
        # What finds out which host is at the other end of a connection where addresses do not tell.
        self.host_of: collections.abc.Callable[[int], int | None] = lambda _port: None
        words = [sys.executable, "-B", __file__.replace("truth.py", "issuer.py"), network.issuer_address, lifetime]
        if ground.authority:
            words += ground.authority.issue("issuer", [network.issuer_address])
        with open(ground.home / "issuer.log", "ab") as log:
            self.process = ground.spawn(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        ready = self.process.stdout.readline()
        if not ready:
            raise Problem("the issuer does not start")
        scheme = "https" if ground.authority else "http"
        self.address = f"{scheme}://{network.issuer_address}:{json.loads(ready)['port']}"
        threading.Thread(target=self._listen, daemon=True).start()

    def order(self, **order) -> None:
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def _listen(self) -> None:
        for line in self.process.stdout:
            event = json.loads(line)
            self._note(event["event"], event)

    def _note(self, kind: str, event: dict) -> None:
        if kind == "login":
            self.logins.append(Login(event["time"], event["session"], event["family"], event["token"], event["access"]))
            return
        if kind == "revocation":
            self.revocations.append((event["time"], event["family"]))
            return
        if kind == "received":
            address, port = event["host"]
            host = self.network.number(address)
            exchange = Exchange(event["number"], event["session"], event["token"], event["family"], event["generation"],
                                self.host_of(port) if host is None else host, event["time"])
            self.exchanges[exchange.number] = exchange
        else:
            exchange = self.exchanges[event["number"]]
            if kind == "acted":
                exchange.acted, exchange.result = event["time"], event["result"]
                exchange.successor, exchange.access = event["token"], event["access"]
            else:
                exchange.status, exchange.fault = event["status"], event["fault"]
                exchange.delivered, exchange.answered = event["delivered"], event["time"]
        for listener in self.listeners:
            listener(kind, exchange)

    def all(self) -> list[Exchange]:
        return list(self.exchanges.values())

    def secrets(self) -> set[str]:
        """Every token that was ever given out."""
        found = {token for login in list(self.logins) for token in (login.token, login.access)}
        for exchange in self.all():
            found |= {token for token in (exchange.successor, exchange.access) if token}
        return found
