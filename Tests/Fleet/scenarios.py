# SPDX-License-Identifier: MIT
"""The rows of the table of goals: hosts that live in peace, and hosts that die, stop or lose sight of etcd."""

import collections.abc
import dataclasses
import pathlib
import time

from authorization import GRACE
from ground import say
from judge import Judge, percentile
from report import Report, converge
from stage import Plan, Stage
from steward import Steward
from storms import AGAIN, STEPS, Storm

ALL = ("strict", "norevoke", "gsame", "gsib", "glast", "keeps")


@dataclasses.dataclass
class Run:
    """What a scenario is given: where the programs are, how long it may take, and whom to tell."""

    programs: pathlib.Path
    seconds: float
    # What all scenarios are given together.
    minutes: float
    is_short: bool
    report: Report

    def size(self, whole: int, short: int) -> int:
        return short if self.is_short else whole

    def often(self, whole: int, short: int = 0) -> int:
        """How often a trouble has to come: `whole` times in 75 minutes, and as often in a shorter run."""
        return short if self.is_short else int(whole * min(1, self.minutes / 75))


SCENARIOS: dict[str, tuple[float, bool, collections.abc.Callable[[Run], None]]] = {}


def scenario(name: str, share: float, is_short: bool = False):
    """Registers a scenario with its share of the time, and whether it is part of a short run."""
    def register(run: collections.abc.Callable[[Run], None]):
        SCENARIOS[name] = (share, is_short, run)
        return run
    return register


def steps_of(stage: Stage) -> str:
    counts: dict[str, int] = {}
    for death in stage.deaths:
        counts[death.step] = counts.get(death.step, 0) + 1
    return ", ".join(f"{count} {step}" for step, count in sorted(counts.items()))


@scenario("calm", 5.5, is_short=True)
def calm(run: Run) -> None:
    """Nobody is disturbed: one request an expiry, and everybody knows at once."""
    stage = Stage(run.programs, Plan(
        hosts=run.size(50, 8), sessions={"strict": run.size(12, 4)}, lifetime=run.size(8, 9), members=run.size(3, 1),
        in_memory=True))
    try:
        stage.start()
        steward = Steward(stage)
        time.sleep(run.seconds * 0.75)
        # On a machine that all hosts share, so many of them at work would show how long they wait for it.
        stage.truth.order(life=run.size(60, 20))
        time.sleep(run.size(10, 9))
        quiet = time.monotonic()
        time.sleep(run.seconds * 0.25 + run.size(20, 4))
        losses = steward.stop()
        stage.poller.stop()
        text = run.report.always(stage)
        judge = Judge(stage)
        requests, expiries = judge.requests_per_expiry()
        commits, answers = judge.publishing(quiet)
        refusals = stage.poller.refusals
        for refusal in refusals[:3]:
            say(f"  {refusal}")
        run.report.tell(
            "calm", f"{len(stage.hosts)} hosts, {len(stage.sessions)} sessions, {stage.plan.members} members: {text}, "
            f"{run.report.losses(losses)}, {len(refusals)} of {stage.poller.asked} callers without a token",
            requests == expiries, not losses, not refusals, expiries >= run.size(500, 10))
        p50, p99 = percentile(commits, 0.5), percentile(commits, 0.99)
        run.report.tell(
            "publish", f"another host has the token {p50:.1f} ms (p50) and {p99:.1f} ms (p99) after etcd, "
            f"{percentile(answers, 0.5):.1f} and {percentile(answers, 0.99):.1f} ms after the issuer's answer; "
            f"{len(commits)} of them, hosts' files {'in memory' if stage.ground.memory else 'on one disk'}", p50 <= 10, p99 <= 100)
    finally:
        stage.close()


def storm(run: Run, kind: str, plan: Plan, rate: float, blows: int = 0, **options) -> tuple[Stage, Steward, bool, str]:
    """Troubles the hosts, then lets them come to rest; the stage is still open."""
    stage = Stage(run.programs, plan)
    try:
        stage.start()
        steward = Steward(stage)
        Storm(stage, kind, rate, **options).run(time.monotonic() + run.seconds, blows)
        # An attempt that has no answer is waited for until the token has ended, and then the patience.
        is_at_rest = converge(stage, plan.lifetime + plan.patience + 70)
        steward.stop()
        stage.poller.stop()
        return stage, steward, is_at_rest, run.report.always(stage)
    except BaseException:
        stage.close()
        raise


@scenario("kill", 3.5, is_short=True)
def kill(run: Run) -> None:
    """`kill -9` of the agent, whose machine lives on."""
    plan = Plan(hosts=run.size(12, 5), sessions={habit: run.size(4, 1) for habit in ALL}, lifetime=run.size(20, 9))
    stage, steward, is_at_rest, text = storm(run, "kill", plan, run.size(4, 3), run.size(0, 5), steps=(*STEPS, AGAIN))
    try:
        kills, extra = len(stage.deaths), Judge(stage).replays()
        run.report.tell(
            "kill", f"{kills} kills ({steps_of(stage)}): {text}, {extra} sent again, {run.report.losses(steward.losses)}"
            f"{'' if is_at_rest else ', not at rest'}", not steward.losses, extra <= kills, is_at_rest, kills >= run.often(500, 5))
    finally:
        stage.close()


@scenario("destroy", 2)
def destroy(run: Run) -> None:
    """The machine is gone with its disk, and another one takes its place."""
    plan = Plan(hosts=12, sessions={habit: 6 for habit in ALL}, lifetime=20)
    # One death within a grace is what is promised; two have an excuse.
    stage, steward, is_at_rest, text = storm(run, "destroy", plan, 3, respite=GRACE)
    try:
        count = len(stage.deaths)
        run.report.tell(
            "destroy", f"{count} hosts ({steps_of(stage)}): {text}, {run.report.losses(steward.losses)}"
            f"{'' if is_at_rest else ', not at rest'}", not steward.avoidable, is_at_rest, count >= run.often(200))
    finally:
        stage.close()


@scenario("pause", 2.5)
def pause(run: Run) -> None:
    """The machine stands still, for a moment or beyond its lease, and goes on as if nothing had been."""
    # Longer than any pause: who stays away for longer has to live with what the others do then.
    plan = Plan(hosts=16, sessions={habit: 4 for habit in ALL}, lifetime=20, patience=60)
    stage, steward, is_at_rest, text = storm(run, "pause", plan, 5)
    try:
        late = run.report.last["late"]
        run.report.tell(
            "pause", f"{len(stage.deaths)} pauses ({steps_of(stage)}): {text}, {run.report.losses(steward.losses)}, "
            f"{late} requests began after the lease{'' if is_at_rest else ', not at rest'}",
            not steward.losses, late == 0, is_at_rest, len(stage.deaths) >= run.often(200))
    finally:
        stage.close()


@scenario("partition", 1.5, is_short=True)
def partition(run: Run) -> None:
    """Hosts are cut off from etcd, from the issuer or from both, the one that has the lock above all."""
    plan = Plan(hosts=run.size(12, 5), sessions={habit: run.size(2, 1) for habit in ALL}, lifetime=run.size(40, 12), rate=30)
    stage = Stage(run.programs, plan)
    try:
        if not stage.network.is_private:
            run.report.skip("partition", "no network namespaces")
            return
        stage.start()
        steward = Steward(stage)
        Storm(stage, "cut", 1.5).run(time.monotonic() + run.seconds)
        is_at_rest = converge(stage, plan.lifetime + 60)
        steward.stop()
        stage.poller.stop()
        text, refusals = run.report.always(stage), stage.poller.refusals
        for refusal in refusals[:5]:
            say(f"  {refusal}")
        run.report.tell(
            "partition", f"{len(stage.deaths)} cuts ({steps_of(stage)}): {text}, {run.report.losses(steward.losses)}, "
            f"{len(refusals)} of {stage.poller.asked} callers without a token{'' if is_at_rest else ', not at rest'}",
            not steward.losses, not refusals, is_at_rest)
    finally:
        stage.close()
