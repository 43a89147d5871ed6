# SPDX-License-Identifier: MIT
"""The rows in which etcd itself is in trouble: away, without its leader, put back, emptied, compacted."""

import time

from ground import say
from hosts import settle
from judge import percentile
from network import ETCD
from report import converge
from scenarios import ALL, Run, scenario
from stage import Death, Plan, Stage
from steward import Steward

# After etcd was put back, hosts settle for as long as a lease of before may last, and a second.
SETTLE = 31.0


class Troubles:
    """Takes turns in what can befall etcd, and counts."""

    def __init__(self, stage: Stage, end: float) -> None:
        self.stage, self.end = stage, end
        self.counts: dict[str, int] = {}

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    def pause(self) -> None:
        """etcd answers nobody for a quarter of a token's life."""
        self._count("outages")
        self.stage.etcd.pause()
        time.sleep(self.stage.truth.lifetime / 4)
        self.stage.etcd.resume()
        self.stage.etcd.wait()

    def kill_leader(self) -> None:
        self._count("leaders killed")
        leader = self.stage.etcd.leader()
        self.stage.etcd.kill(leader)
        settle(3, self.end)
        self.stage.etcd.up(leader)

    def kill_all(self) -> None:
        """The same as an outage, but connections are refused."""
        self._count("restarts")
        for name in self.stage.etcd.names:
            self.stage.etcd.kill(name)
        time.sleep(self.stage.truth.lifetime / 4)
        for name in self.stage.etcd.names:
            self.stage.etcd.up(name, wait=False)
        self.stage.etcd.wait()

    def cut_holder(self) -> None:
        """Whoever gets the next lock is cut off from etcd with it."""
        stage, found = self.stage, []

        def notice(kind: str, session: str, is_put: bool) -> None:
            if kind == "lock" and is_put and not found:
                number = stage.host_of(stage.witness.locks[session][-1][1])
                if number is not None:
                    found.append(number)
                    stage.network.cut(number, ETCD)
        stage.witness.listeners.append(notice)
        deadline = time.monotonic() + 10
        while not found and time.monotonic() < deadline:
            time.sleep(0.01)
        stage.witness.listeners.remove(notice)
        if not found:
            return
        self._count("holders cut off")
        death = Death(time.monotonic(), found[0], "cut", "lock")
        stage.deaths.append(death)
        time.sleep(stage.truth.lifetime / 4)
        stage.network.heal(found[0], ETCD)
        death.until = time.monotonic()

    def compact_behind(self) -> None:
        """A host does not see for a while, and what it has missed is then no longer there."""
        host = self.stage.chance.choice(self.stage.hosts)
        self._count("compactions")
        self.stage.network.cut(host.number, ETCD)
        death = Death(time.monotonic(), host.number, "cut", "compact")
        self.stage.deaths.append(death)
        settle(self.stage.truth.lifetime / 4, self.end)
        self.stage.etcd.compact()
        self.stage.network.heal(host.number, ETCD)
        death.until = time.monotonic()


@scenario("outage", 2)
def outage(run: Run) -> None:
    """etcd is away for a quarter of the lifetime, its leaders are killed, and holders of a lock are cut off."""
    plan = Plan(hosts=10, sessions={habit: 2 for habit in ALL}, lifetime=40, members=3, rate=30)
    stage = Stage(run.programs, plan)
    try:
        stage.start()
        steward = Steward(stage)
        end = time.monotonic() + run.seconds
        troubles = Troubles(stage, end)
        blows = [troubles.pause, troubles.kill_leader, troubles.kill_all, troubles.kill_leader]
        if stage.network.is_private:
            blows[2:2] = [troubles.cut_holder]
        turn = 0
        while time.monotonic() < end:
            blows[turn % len(blows)]()
            turn += 1
            # Tokens that came due meanwhile are refreshed before the next blow, as in a world where blows are rare.
            settle(plan.lifetime / 3, end)
        is_at_rest = converge(stage, plan.lifetime + 60)
        steward.stop()
        stage.poller.stop()
        text, refusals = run.report.always(stage), stage.poller.refusals
        for refusal in refusals[:5]:
            say(f"  {refusal}")
        counts = ", ".join(f"{count} {what}" for what, count in troubles.counts.items())
        run.report.tell(
            "outage", f"{counts}: {text}, {run.report.losses(steward.losses)}, {len(refusals)} of {stage.poller.asked} "
            f"callers without a token{'' if is_at_rest else ', not at rest'}",
            not steward.losses, not refusals, is_at_rest)
    finally:
        stage.close()


def repair_times(stage: Stage, newest: dict[str, tuple], since: float) -> list[float]:
    """Seconds until etcd had each session's newest record again; infinite where it still has not."""
    times = []
    for session, order in newest.items():
        found = [seen for seen, what in stage.witness.findings[session] if seen >= since and what >= order]
        times.append(found[0] - since if found else float("inf"))
    return sorted(times)


@scenario("restore", 2.5)
def restore(run: Run) -> None:
    """An old snapshot takes etcd's place, then nothing at all does; watches find their past compacted."""
    plan = Plan(hosts=10, sessions={habit: 2 for habit in ALL}, lifetime=24, rate=10, users=True)
    stage = Stage(run.programs, plan)
    try:
        stage.start()
        steward = Steward(stage)
        end = time.monotonic() + run.seconds
        troubles, restores, times = Troubles(stage, end), [], []
        file, turn = stage.ground.home / "snapshot", 0
        while turn < 2 or time.monotonic() < end - 20:
            if stage.network.is_private:
                troubles.compact_behind()
            file.unlink(missing_ok=True)
            taken = time.monotonic()
            stage.etcd.snapshot(file)
            # Most sessions are refreshed after the snapshot.
            time.sleep(plan.lifetime * 0.8)
            # A record from before is in the snapshot, and does not have to come back.
            newest = {session: records[-1].order for session, records in stage.witness.records.items()
                      if turn % 2 or records[-1].time > taken}
            restores.append(stage.etcd.restore(file if turn % 2 == 0 else None))
            back = time.monotonic()
            while time.monotonic() < back + SETTLE + 2 and float("inf") in repair_times(stage, newest, restores[-1]):
                time.sleep(0.2)
            times += [max(0.0, one - (back - restores[-1])) for one in repair_times(stage, newest, restores[-1])]
            turn += 1
        # A lost intent is waited for as an answer is.
        is_at_rest = converge(stage, plan.lifetime + 100)
        steward.stop()
        stage.poller.stop()
        text = run.report.always(stage, restores)
        times.sort()
        run.report.tell(
            "restore", f"{(turn + 1) // 2} old snapshots, {turn // 2} times emptied, {troubles.counts.get('compactions', 0)} "
            f"compactions behind a watch: {text}, {run.report.losses(steward.losses)}, records back {percentile(times, 0.5):.2f}"
            f" s (p50) and {times[-1]:.2f} s (last) after etcd, {len(stage.poller.refusals)} of {stage.poller.asked} callers "
            f"without a token{'' if is_at_rest else ', not at rest'}",
            not steward.losses, is_at_rest, times[-1] <= SETTLE + 1)
    finally:
        stage.close()
