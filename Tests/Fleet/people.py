# SPDX-License-Identifier: MIT
"""The rows with people in them: clocks that are wrong, logins, logouts and new keys while tokens are refreshed; readers."""

import concurrent.futures
import math
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from ground import Authority
from hosts import settle
from judge import Judge
from report import converge
from scenarios import ALL, Run, scenario
from stage import Plan, Stage
from steward import Steward

SHIM = pathlib.Path(__file__).resolve().parent.parent / "WallClock/shim.c"


def family_of(stage: Stage, access: str) -> tuple[int, float] | None:
    """The login that an access token belongs to, and when it was given out."""
    for login in stage.truth.logins:
        if login.access == access:
            return login.family, login.time
    for exchange in stage.truth.all():
        if exchange.access == access:
            return exchange.family, exchange.acted
    return None


@scenario("clocks", 1)
def clocks(run: Run) -> None:
    """Hosts whose clocks are ten minutes off say rightly how long a token lives, and refresh in time."""
    compiler = next(filter(None, map(shutil.which, ("cc", "clang", "gcc"))), None)
    if not compiler:
        run.report.skip("clocks", "there is no C compiler")
        return
    place = pathlib.Path(tempfile.mkdtemp(prefix="tokenagent-clock."))
    library = place / "clock.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, SHIM, "-ldl"], check=True, timeout=60)

    def clock(name: str, offset: int) -> dict[str, str]:
        """The variables of a program whose clock is so many seconds off."""
        (place / name).write_bytes(str(offset).encode().ljust(32, b"\0"))
        return {"LD_PRELOAD": str(library), "WALL_CLOCK_FILE": str(place / name)}
    # Certificates that are good at all clocks.
    Authority.variables = clock("openssl", -86_400)
    stage = Stage(run.programs, Plan(hosts=6, sessions={"strict": 4, "gsame": 2}, lifetime=24))
    try:
        for host in stage.hosts:
            host.extra = clock(f"h{host.number}", (0, 600, -600)[host.number % 3])
        stage.start()
        steward = Steward(stage)
        longest, shortest, count, moved = 0, 0, 0, 0.0
        end = time.monotonic() + run.seconds
        while time.monotonic() < end:
            host, session = stage.chance.choice(stage.hosts), stage.chance.choice(stage.sessions)
            answer, now = host.get(session), time.monotonic()
            given = answer and answer[0] == 200 and family_of(stage, answer[1]["access_token"])
            if given:
                left = given[1] + stage.truth.lifetime - now
                # Whole seconds are rounded down.
                wrong, count = answer[1]["expires_in"] - math.floor(left), count + 1
                longest, shortest = max(longest, wrong), min(shortest, wrong)
                moved = max(moved, abs(answer[1]["expires_at"] - time.time() - left))
            time.sleep(0.02)
        steward.stop()
        stage.poller.stop()
        text = run.report.always(stage)
        run.report.tell(
            "clocks", f"clocks up to {moved:.0f} s off: {text}, {run.report.losses(steward.losses)}, expiry wrong by "
            f"{shortest:+d} to {longest:+d} s in {count} answers, {len(stage.poller.refusals)} of "
            f"{stage.poller.asked} callers without a token",
            moved > 500, longest <= 2, shortest >= -2, not steward.losses, not stage.poller.refusals)
    finally:
        Authority.variables = {}
        stage.close()
        shutil.rmtree(place)


class Acts:
    """What persons do, each while a refresh of the session is under way, and whether the fleet follows."""

    # So long the others may have the old state.
    GRACE = 3.0

    def __init__(self, stage: Stage) -> None:
        self.stage, self.wrong, self.counts = stage, [], {}

    def _await_request(self, session: str) -> None:
        """Until a refresh of the session has begun; the issuer holds it for a moment."""
        begun = len(self.stage.truth.exchanges)
        self.stage.truth.order(session=session, before=0.15, after=0.15, count=1)
        end = time.monotonic() + self.stage.truth.lifetime
        while time.monotonic() < end:
            if any(one.session == session for one in self.stage.truth.all()[begun:]):
                return
            time.sleep(0.005)

    def _others(self, session: str) -> dict[int, tuple[int, float] | None]:
        """Which login each host serves tokens of."""
        found = {}
        for host in self.stage.hosts:
            answer = host.get(session)
            found[host.number] = family_of(self.stage, answer[1]["access_token"]) if answer and answer[0] == 200 else None
        return found

    def log_in(self, session: str) -> None:
        self._act("logins", session, 1)

    def log_in_twice(self, session: str) -> None:
        """Two persons at two hosts: one of the logins is the fleet's."""
        self._act("logins of two at once", session, 2)

    def _act(self, what: str, session: str, persons: int) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1
        hosts = self.stage.chance.sample(self.stage.keepers, persons)
        self._await_request(session)
        before = max(one.family for one in self.stage.truth.logins if one.session == session)
        with concurrent.futures.ThreadPoolExecutor(persons) as pool:
            list(pool.map(lambda host: host.log_in(session), hosts))
        time.sleep(self.GRACE)
        served = {found and found[0] for found in self._others(session).values()}
        if len(served) != 1 or None in served or min(served) <= before:
            self.wrong.append(f"{session}: after {what} the hosts serve logins {served}, and {before} was the one before")

    def log_out(self, session: str) -> None:
        """Nobody serves a token of it from then on, whatever was under way."""
        self.counts["logouts"] = self.counts.get("logouts", 0) + 1
        host = self.stage.chance.choice(self.stage.keepers)
        self._await_request(session)
        done = host.control("logout", session, "--all-hosts")
        if done.returncode == 2:
            done = host.control("logout", session)
        if done.returncode:
            self.wrong.append(f"{session}: logout: {done.stderr.strip()}")
        time.sleep(self.GRACE)
        end = time.monotonic() + self.stage.truth.lifetime
        while time.monotonic() < end:
            alive = [number for number, found in self._others(session).items() if found]
            if alive:
                self.wrong.append(f"{session}: hosts {alive} serve it after its logout")
                break
            time.sleep(0.5)
        if not self.stage.chance.choice(self.stage.keepers).log_in(session):
            self.wrong.append(f"{session}: no login after the logout")

    def rekey(self) -> None:
        """A new key, and a restart of each host in turn."""
        self.counts["new keys"] = self.counts.get("new keys", 0) + 1
        made = self.stage.hosts[0].control("fleet", "rekey", "--key-file", str(self.stage.key))
        if made.returncode:
            self.wrong.append(f"rekey: {made.stderr.strip() or made.stdout.strip()}")
            return
        for host in self.stage.hosts:
            host.is_busy = True
            host.process.send_signal(signal.SIGTERM)
            host.process.wait(30)
            host.start()
            host.is_busy = False
        for session in self.stage.sessions:
            self.stage.keepers[0].control("refresh", session)


@scenario("people", 1.5)
def people(run: Run) -> None:
    """Logins, logouts and new keys while refreshes are under way."""
    stage = Stage(run.programs, Plan(hosts=6, sessions={"strict": 3, "norevoke": 1, "gsame": 1, "keeps": 1}, lifetime=12))
    try:
        stage.start()
        steward = Steward(stage)
        steward.spared = set(stage.sessions)
        end, acts, turn = time.monotonic() + run.seconds, Acts(stage), 0
        while time.monotonic() < end:
            session = stage.sessions[turn % len(stage.sessions)]
            (acts.log_in, acts.log_out, acts.log_in_twice)[turn % 3](session)
            if turn % 4 == 3:
                acts.rekey()
            turn += 1
        if not acts.counts.get("new keys"):
            acts.rekey()
        is_at_rest = converge(stage, 60)
        steward.stop()
        stage.poller.stop()
        text = run.report.always(stage)
        run.report.wrong("people", acts.wrong)
        counts = ", ".join(f"{count} {what}" for what, count in acts.counts.items())
        run.report.tell("people", f"{counts}: {text}, {len(acts.wrong)} wrong{'' if is_at_rest else ', not at rest'}",
                        not acts.wrong, is_at_rest)
    finally:
        stage.close()


@scenario("readers", 0.7, is_short=True)
def readers(run: Run) -> None:
    """Readers serve tokens, ask for new ones, and hold no refresh token, not even in memory."""
    plan = Plan(hosts=4, sessions={habit: 1 for habit in ALL}, lifetime=run.size(12, 8), readers=2)
    stage = Stage(run.programs, plan)
    try:
        stage.start()
        steward = Steward(stage)
        reader, asked, answered = stage.hosts[-1], 0, 0
        end = time.monotonic() + run.seconds
        while time.monotonic() < end:
            # A server has refused the token: the reader asks the keepers for another one.
            session = stage.chance.choice(stage.sessions)
            former = reader.get(session)
            if former and former[0] == 200:
                token, asked = former[1]["access_token"], asked + 1
                reader.ask("POST", f"/v1/sessions/{session}/refresh", body={"rejected_token": token})
                after = reader.get(session, 10)
                answered += bool(after and after[0] == 200 and after[1]["access_token"] != token)
            settle(2, end)
        steward.stop()
        stage.poller.stop()
        text = run.report.always(stage)
        judge, found, seen = Judge(stage), 0, 0
        for host in stage.hosts[-plan.readers:]:
            refresh, access = judge.found_in_memory(host.process.pid)
            found, seen = found + len(refresh), seen + len(access)
        # The issuer's own memory shows that tokens are found where they are.
        control = len(judge.found_in_memory(stage.truth.process.pid)[0])
        sent = sum(one.host is not None and one.host >= plan.hosts - plan.readers for one in stage.truth.all())
        run.report.tell(
            "readers", f"{text}, {run.report.losses(steward.losses)}, {answered} of {asked} wishes for another token heard, "
            f"{sent} requests by readers, {found} refresh tokens in their memory ({seen} access tokens; "
            f"{control} in the issuer's), "
            f"{len(stage.poller.refusals)} of {stage.poller.asked} callers without a token",
            not steward.losses, found == 0, control > 0, sent == 0, answered == asked > 0, not stage.poller.refusals)
    finally:
        stage.close()
