# SPDX-License-Identifier: MIT
"""Looks after the logins during a run: notes each that is lost, and logs in again so that the run goes on."""

import threading
import time

from judge import Judge, Loss
from stage import Stage


class Steward:
    """A login is lost when a host says that somebody has to log in, and the fleet agrees a moment later."""

    # So long hosts may differ.
    PAUSE = 1.5
    # So long they may differ where a host stands still or is cut off.
    LONGEST = 45.0

    def __init__(self, stage: Stage) -> None:
        self.stage, self.judge = stage, Judge(stage)
        self.losses: list[Loss] = []
        # Sessions that the scenario itself logs in and out.
        self.spared: set[str] = set()
        self.is_over = False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        place = 0
        suspected: dict[str, float] = {}
        while not self.is_over:
            time.sleep(0.2)
            told = self.stage.listener.told
            for event in told[place:]:
                if event.event == "login_required" and event.session not in self.spared:
                    suspected.setdefault(event.session, event.time)
            place = len(told)
            for session, since in list(suspected.items()):
                if time.monotonic() - since > self.PAUSE and self._examine(session, since):
                    del suspected[session]

    def _examine(self, session: str, since: float) -> bool:
        """Whether it is over with this suspicion."""
        states = self.stage.states(session)
        if not any(state.startswith("logged_out") for state in states.values()):
            return True
        out = {state for state in states.values() if state.startswith("logged_out")}
        is_all = all(state.startswith("logged_out") for state in states.values())
        if not is_all and time.monotonic() - since < self.LONGEST:
            return False
        login = next(one for one in reversed(self.stage.truth.logins) if one.session == session)
        loss = Loss(since, session, ", ".join(sorted(out)), login.family)
        loss.excuse = self.judge.excuse(session, login.family) if is_all else ""
        if not is_all:
            loss.reason += f" for {self.LONGEST:.0f} s at some hosts only: {states}"
        self.losses.append(loss)
        for host in self.stage.chance.sample(self.stage.keepers, len(self.stage.keepers)):
            if host.is_alive and not host.is_busy and host.log_in(session):
                loss.again = time.monotonic()
                break
        return True

    def stop(self) -> list[Loss]:
        self.is_over = True
        self.thread.join(70)
        return self.losses

    @property
    def avoidable(self) -> list[Loss]:
        return [loss for loss in self.losses if not loss.excuse]
