# SPDX-License-Identifier: MIT
"""Trouble for hosts: killed, destroyed, stopped or cut off, at every step of a refresh.

Steps are hit by what they cause: a lock in etcd, a request at the issuer, its act, its answer. The issuer waits a little
before and after its act, so that a host dies with the request under way."""

import signal
import threading
import time

from ground import signal_quietly
from hosts import Host
from network import ETCD, ISSUER
from stage import Death, Stage
from truth import Exchange

STEPS = ("random", "lock", "received", "acted", "answered")
# Of a request whose answer comes late, the host is struck again at each of its next starts.
AGAIN = "again"


class Storm:
    """Strikes again and again until the end; each blow waits for the step that it is for."""

    # How long a blow waits for its step before another one is chosen.
    PATIENCE = 3.0

    def __init__(self, stage: Stage, kind: str, rate: float, steps: tuple[str, ...] = STEPS, least: int = 2,
                 respite: float = 0) -> None:
        self.stage, self.kind, self.rate, self.steps, self.least = stage, kind, rate, steps, least
        # So long nobody is struck again over the same session, and when somebody was last.
        self.respite = respite
        self.struck: dict[str, float] = {}
        self.chance = stage.chance
        self.wanted: str | None = None
        self.lock = threading.Lock()
        self.workers: list[threading.Thread] = []
        stage.truth.listeners.append(self._exchanged)
        stage.witness.listeners.append(self._wrote)

    def run(self, end: float, blows: int = 0) -> None:
        """Until that moment, or a minute more where a busy machine has taken fewer blows; then everything is put right."""
        self.stage.truth.order(session="", before=0.06, after=0.06, count=1_000_000)
        while time.monotonic() < end or len(self.stage.deaths) < blows and time.monotonic() < end + 60:
            step = self.chance.choice(self.steps)
            if step == "random":
                self._strike(self.chance.choice(self.stage.keepers), step)
            else:
                self._await(step, time.monotonic() + self.PATIENCE)
            time.sleep(self.chance.expovariate(self.rate))
        self.stage.truth.order(clear=True)
        for worker in self.workers:
            worker.join(120)

    def _await(self, step: str, end: float) -> None:
        if step == AGAIN:
            self.stage.truth.order(session="strict", before=0.06, after=1.5, count=1)
        self.wanted = step
        while self.wanted and time.monotonic() < end:
            time.sleep(0.002)
        self.wanted = None

    def _exchanged(self, event: str, exchange: Exchange) -> None:
        step = self.wanted
        is_step = event == "received" and exchange.session.startswith("strict") if step == AGAIN else event == step
        if is_step and exchange.host is not None and self._may_strike(exchange.session):
            self.wanted = None
            wait = self.chance.uniform(0, 0.02) if event == "answered" else self.chance.uniform(0, 0.05)
            threading.Thread(target=self._later, args=(exchange.host, step, wait), daemon=True).start()

    def _wrote(self, kind: str, session: str, is_put: bool) -> None:
        if kind == "lock" and is_put and self.wanted == "lock":
            number = self.stage.host_of(self.stage.witness.locks[session][-1][1])
            if number is not None and self._may_strike(session):
                self.wanted = None
                self._strike(self.stage.hosts[number], "lock")

    def _may_strike(self, session: str) -> bool:
        now = time.monotonic()
        if now - self.struck.get(session, float("-inf")) < self.respite:
            return False
        self.struck[session] = now
        return True

    def _later(self, number: int, step: str, wait: float) -> None:
        time.sleep(wait)
        self._strike(self.stage.hosts[number], step)

    def _strike(self, host: Host, step: str) -> None:
        with self.lock:
            alive = sum(one.is_alive and not one.is_busy for one in self.stage.keepers)
            if not host.is_alive or host.is_busy or alive <= self.least:
                return
            host.is_busy = True
        death = Death(time.monotonic(), host.number, self.kind, step)
        getattr(self, f"_{self.kind}")(host, death)

    # MARK: Blows

    def _kill(self, host: Host, death: Death) -> None:
        host.process.kill()
        if death.step == AGAIN:
            self._finish(host, death, lambda: self._kill_again(host), 0)
        else:
            self._finish(host, death, host.kill, self.chance.choice((0.0, 0.3, 2.0)))

    def _kill_again(self, host: Host) -> None:
        host.kill()
        for _ in range(3):
            host.launch()
            time.sleep(self.chance.uniform(0.1, 0.4))
            host.kill()

    def _destroy(self, host: Host, death: Death) -> None:
        signal_quietly(host.process.pid, signal.SIGSTOP)
        self._finish(host, death, host.destroy, self.chance.uniform(0.2, 2.0))

    def _finish(self, host: Host, death: Death, ending, wait: float) -> None:
        self.stage.deaths.append(death)

        def work() -> None:
            ending()
            time.sleep(wait)
            host.start()
            death.until = time.monotonic()
            host.is_busy = False
        self._work(work)

    def _pause(self, host: Host, death: Death) -> None:
        host.pause()
        self.stage.deaths.append(death)
        # Past a lease of 30 s, or some of it.
        seconds = self.chance.choice((0.05, 0.5, 1.5, 4.0, 12.0, 35.0))

        def work() -> None:
            time.sleep(seconds)
            host.resume()
            death.until = time.monotonic()
            host.is_busy = False
        self._work(work)

    def _cut(self, host: Host, death: Death) -> None:
        which = self.chance.choice(((ETCD,), (ETCD,), (ISSUER,), (ETCD, ISSUER)))
        host.is_cut = True
        for one in which:
            self.stage.network.cut(host.number, one)
        self.stage.deaths.append(death)
        seconds = self.chance.uniform(1, self.stage.truth.lifetime / 4)

        def work() -> None:
            time.sleep(seconds)
            for one in which:
                self.stage.network.heal(host.number, one)
            death.until = time.monotonic()
            host.is_busy = host.is_cut = False
        self._work(work)

    def _work(self, work) -> None:
        worker = threading.Thread(target=work, daemon=True)
        self.workers = [one for one in self.workers if one.is_alive()] + [worker]
        worker.start()
