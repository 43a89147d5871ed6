# SPDX-License-Identifier: MIT
"""The row about what a large fleet costs: calls of etcd counted by etcd itself, memory, and wake-ups at rest.

A hundred hosts with a hundred sessions do not fit on the machine of a test. The calls are counted for two smaller fleets
with forced refreshes; they grow with the number of hosts in a line, whose two numbers give the large one."""

import time

from hosts import Host
from scenarios import Run, scenario
from stage import Plan, Stage

# The fleet of the goal: hosts, sessions, seconds of a token's life.
HOSTS, SESSIONS, LIFE = 100, 100, 3600
# A token is refreshed with a third of its life left, and up to a tenth earlier: on average, of many hosts, the first.
ROUND = LIFE * (2 / 3 - 1 / 10)
# Until an agent that is at rest has given back what only its start needed.
SETTLING = 75
# After so many seconds without news an agent asks for them anew: the only thing for which one at rest wakes up.
SILENCE = 30


class Burden:
    """One fleet at rest, whose sessions are then refreshed a number of times."""

    def __init__(self, run: Run, hosts: int, sessions: int, refreshes: int, rest: float, settling: float = 10) -> None:
        self.stage = Stage(run.programs, Plan(hosts=hosts, sessions={"gsame": sessions}, lifetime=LIFE, rate=0.01))
        stage = self.stage
        try:
            stage.start()
            time.sleep(settling)
            before = sum(stage.etcd.calls().values())
            self.wake_ups = stage.hosts[-1].wake_ups(rest)
            self.idle_calls = (sum(stage.etcd.calls().values()) - before) / rest
            self.memory = stage.hosts[-1].memory()
            before = stage.etcd.calls()
            done = 0
            for number in range(refreshes):
                host = stage.hosts[number % len(stage.hosts)]
                answer = host.ask("POST", f"/v1/sessions/{stage.sessions[number % sessions]}/refresh")
                done += bool(answer and answer[0] == 200)
                time.sleep(0.3)
            time.sleep(2)
            after = stage.etcd.calls()
            self.calls = {kind: (after[kind] - before.get(kind, 0)) / max(done, 1) for kind in after}
            self.done, self.text = done, run.report.always(stage)
        finally:
            stage.close()

    @property
    def a_refresh(self) -> float:
        return sum(self.calls.values())


def alone(run: Run, sessions: int, rest: float) -> tuple[int, float]:
    """Memory and wake-ups of an agent with as many sessions that are its own."""
    stage = Stage(run.programs, Plan(hosts=1, sessions={"gsame": sessions}, lifetime=LIFE, rate=0.01))
    try:
        host: Host = stage.hosts[0]
        text = host.configuration.replace("fleet = true\n", "").replace('reuse_grace = "30s"\n', "")
        begin, end = text.index("[fleet]"), text.index("[session.")
        host.configuration = text[:begin] + text[end:]
        host._prepare()
        stage.start()
        time.sleep(SETTLING)
        woken = host.wake_ups(rest)
        return host.memory(), woken
    finally:
        stage.close()


@scenario("burden", 2)
def burden(run: Run) -> None:
    """Calls of etcd for a hundred hosts with a hundred sessions, and what an agent pays for being in a fleet."""
    rest = min(60.0, run.seconds / 3)
    small = Burden(run, 3, 20, 20, rest)
    large = Burden(run, 9, 100, 40, rest, SETTLING)
    memory, woken = alone(run, 100, rest)
    per_host = (large.a_refresh - small.a_refresh) / 6
    fixed = small.a_refresh - 3 * per_host
    rate = SESSIONS / ROUND
    idle = large.idle_calls / 9 * HOSTS
    whole = rate * (fixed + per_host * HOSTS) + idle
    kinds = ", ".join(f"{count:.1f} {kind}" for kind, count in large.calls.items() if count >= 0.05)
    run.report.tell(
        "burden", f"{fixed:.1f} + {per_host:.2f} × hosts calls of etcd a refresh (9 hosts: {kinds}), {large.idle_calls:.2f} a"
        f" second at rest with 9 hosts: {whole:.1f} calls a second for {HOSTS} hosts with {SESSIONS} sessions of {LIFE} s",
        whole <= 5, small.done == 20, large.done == 40)
    more = (large.memory - memory) / 1024
    run.report.tell(
        "agent", f"{large.memory / 1024:.1f} MiB with 100 sessions of a fleet, {memory / 1024:.1f} MiB with 100 of its own "
        f"({more:+.1f} MiB); {large.wake_ups:.1f} wake-ups a minute at rest, {woken:.1f} alone",
        more <= 3, large.wake_ups <= woken + 60 / SILENCE + 1)
