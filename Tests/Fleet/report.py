# SPDX-License-Identifier: MIT
"""Says what came of a run: a line for each goal, `figure` where it is met and `missed` where it is not."""

import pathlib
import sys

from ground import Problem, until
from judge import Judge, Loss
from stage import Stage
from timeline import keep

# How many of one kind of wrong are told.
TOLD = 6


class Report:
    """Lines and the sums over all scenarios."""

    def __init__(self, keeping: pathlib.Path | None = None) -> None:
        self.is_missed = False
        # Where the timelines are left, if anywhere.
        self.keeping = keeping
        self.scenario = ""
        self.sums: dict[str, int] = {}
        # How many of each kind the last stage had.
        self.last: dict[str, int] = {}

    def tell(self, name: str, text: str, *conditions: bool) -> None:
        self.is_missed = self.is_missed or not all(conditions)
        print(f"{'figure' if all(conditions) else 'missed'}: fleet {name}: {text}", flush=True)

    def skip(self, name: str, why: str) -> None:
        """A goal that cannot be tried on this machine."""
        print(f"skipped: fleet {name}: {why}", flush=True)

    def wrong(self, kind: str, found: list[str]) -> None:
        """Counts what may never happen, and tells the first of it."""
        self.sums[kind] = self.sums.get(kind, 0) + len(found)
        self.last[kind] = len(found)
        for one in found[:TOLD]:
            print(f"  {kind}: {one}", flush=True)

    def losses(self, losses: list[Loss]) -> str:
        """A text for a row; those that something could have prevented are told."""
        for loss in [one for one in losses if not one.excuse][:TOLD]:
            print(f"  lost: {loss.session}: {loss.reason}", flush=True)
        excuses = [one for one in losses if one.excuse]
        for loss in excuses[:TOLD]:
            print(f"  lost, and nothing had saved it: {loss.session}: {loss.excuse} ({loss.reason})", flush=True)
        return f"{len(losses)} lost" + (f", of {len(excuses)} no copy was saved" if excuses else "")

    def always(self, stage: Stage, restores: list[float] = ()) -> str:
        """What holds in every run; returns how many requests there were for how many expiries."""
        judge = Judge(stage)
        if self.keeping:
            keep(stage, self.keeping / self.scenario)
        self.wrong("overlap", judge.overlaps())
        self.wrong("undeclared", judge.undeclared())
        self.wrong("backwards", judge.backwards(list(restores)))
        self.wrong("late", judge.late())
        # At last: the search holds up the threads that take down times.
        self.wrong("plaintext", judge.plaintext())
        self.wrong("ended", [
            f"host {host.number} ended by itself with {host.process.returncode}" for host in stage.hosts
            if host.process is not None and host.process.poll() is not None])
        requests, expiries = judge.requests_per_expiry()
        return f"{requests} requests for {expiries} expiries ({requests / max(expiries, 1):.3f})"

    def sum_up(self) -> None:
        """The row for every run."""
        words = {"overlap": "overlapping requests", "undeclared": "undeclared second sends",
                 "backwards": "generations going backwards", "late": "requests without or after the lease",
                 "plaintext": "tokens or names in etcd's files", "ended": "agents that ended by themselves"}
        counts = {kind: self.sums.get(kind, 0) for kind in words}
        self.tell("every run", ", ".join(f"{counts[kind]} {text}" for kind, text in words.items()),
                  not any(counts.values()))


def converge(stage: Stage, seconds: float = 60) -> bool:
    """Waits until all hosts have all logins; says which do not."""
    try:
        until(seconds, lambda: all(stage.is_ready(host) for host in stage.hosts), "all hosts")
    except Problem:
        for session in stage.sessions:
            odd = {number: state for number, state in stage.states(session).items() if state not in ("ready", "refreshing")}
            if odd:
                print(f"  not at rest: {session}: {odd}", file=sys.stderr, flush=True)
        return False
    return True
