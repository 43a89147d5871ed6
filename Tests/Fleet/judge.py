# SPDX-License-Identifier: MIT
"""Judges a run by what the issuer, etcd's witness and the callers have seen; the agents are asked for nothing."""

import collections
import dataclasses
import mmap
import pathlib
import re

from authorization import FORGIVING
from stage import Death, Stage
from truth import Exchange

# Seconds by which the witness may hear later of a write than the issuer of the request that follows it.
SLACK = 0.1
# A lease of 30 s is what the agents ask for where the server's grace is not known; etcd may grant more.
LEASE = 30.0
# An answer is not saved yet when its host dies so shortly after it without having said that it has refreshed.
UNSAVED = 5.0
TOKEN = re.compile(rb"(?:rt|at)-[A-Za-z0-9_-]{32}")


@dataclasses.dataclass
class Loss:
    """A login that nobody holds any more."""

    time: float
    session: str
    reason: str
    family: int
    # Why nothing could have kept it; empty if something could.
    excuse: str = ""
    again: float = float("inf")

    @property
    def habit(self) -> str:
        return self.session.split("-")[0]


def habit_of(exchange: Exchange) -> str:
    return exchange.session.split("-")[0]


class Judge:
    """What is true of one stage so far."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def by_token(self) -> dict[tuple, list[Exchange]]:
        """The requests that belong to one expiry, in their order."""
        found: dict[tuple, list[Exchange]] = collections.defaultdict(list)
        for exchange in self.stage.truth.all():
            if habit_of(exchange) != "keeps":
                found[exchange.family, exchange.token].append(exchange)
        return found

    def in_gap(self, moment: float) -> bool:
        """The witness was not there: etcd was away, or its watch was."""
        return any(begin - 1 <= moment <= end + 1 for begin, end in self.stage.witness.gaps)

    # MARK: Requests

    def refreshes(self) -> int:
        return sum(1 for one in self.stage.truth.all() if one.result in ("rotated", "repeated", "kept"))

    def requests_per_expiry(self) -> tuple[int, int]:
        """Requests, and expiries that they were for."""
        exchanges = self.stage.truth.all()
        kept = sum(
            max((record.generation for record in records), default=0)
            for session, records in self.stage.witness.records.items() if session.startswith("keeps"))
        is_kept = [one for one in exchanges if habit_of(one) == "keeps"]
        return len(exchanges), len(self.by_token()) + min(kept, len(is_kept)) if is_kept else len(self.by_token())

    def overlaps(self) -> list[str]:
        """Two requests with one refresh token at one time."""
        wrong = []
        tokens: dict[str, list[Exchange]] = collections.defaultdict(list)
        for exchange in self.stage.truth.all():
            tokens[exchange.token].append(exchange)
        for sent in tokens.values():
            for former, later in zip(sent, sent[1:]):
                if later.received < former.end:
                    wrong.append(f"{later.session}: requests {former.number} (host {former.host}) and {later.number} "
                                 f"(host {later.host}) overlap")
        return wrong

    def undeclared(self) -> list[str]:
        """Second sends of a refresh token whose intent names no attempt before."""
        wrong = []
        for sent in self.by_token().values():
            for former, later in zip(sent, sent[1:]):
                intent = self.stage.witness.intent_before(later.session, later.received + SLACK)
                if not self.in_gap(later.received) and not (intent and intent.before):
                    wrong.append(f"{later.session}: host {later.host} sent again what host {former.host} had sent "
                                 f"{later.received - former.received:.2f} s before (requests {former.number}, {later.number})")
        return wrong

    def replays(self) -> int:
        return sum(len(sent) - 1 for sent in self.by_token().values())

    def late(self) -> list[str]:
        """Requests that began without the lock, or after its lease."""
        # The watch tells of a lock a little late, and by then another host may have the next one.
        reasons = []
        for exchange in self.stage.truth.all():
            if self.in_gap(exchange.received):
                continue
            found = [self.lateness(exchange, seen) for seen in (exchange.received, exchange.received + SLACK)]
            if all(found):
                reasons.append(f"{exchange.session}: request {exchange.number} of host {exchange.host} {found[-1]}")
        return reasons

    def lateness(self, exchange, seen: float) -> str | None:
        """What is wrong with the latest lock before `seen`, or nothing."""
        lock = self.stage.witness.lock_before(exchange.session, seen)
        if lock is None:
            return "without a lock"
        if exchange.received - lock[0] > LEASE:
            return f"{exchange.received - lock[0]:.1f} s after it had the lock"
        holder = self.stage.host_of(lock[1])
        if holder is not None and exchange.host is not None and holder != exchange.host:
            return f"while host {holder} had the lock"
        return None

    # MARK: Records

    def backwards(self, restores: list[float] = ()) -> list[str]:
        """Records that came after a newer one, but for the first after etcd was put back."""
        wrong = []
        for session, records in self.stage.witness.records.items():
            for former, later in zip(records, records[1:]):
                if later.order < former.order and not any(former.time <= put <= later.time for put in restores):
                    wrong.append(f"{session}: generation {later.generation} after {former.generation}")
        return wrong

    def excuse(self, session: str, family: int) -> str:
        """Why nothing could have kept a login: its last answer was saved nowhere, and the server forgives nothing, or forgave
        one death and there was a second."""
        if session.split("-")[0] in FORGIVING:
            return self._second_death(session)
        sent = {one.token for one in self.stage.truth.all()}
        for exchange in reversed(self.stage.truth.all()):
            if exchange.family != family or exchange.result not in ("rotated", "repeated") or exchange.successor in sent:
                continue
            if exchange.fault != "none":
                return f"its answer was {exchange.fault}"
            if death := self._death_with(exchange):
                return f"host {death.host} died ({death.step}) with the answer"
        return ""

    def _second_death(self, session: str) -> str:
        """At a server with a grace: more than one host died after it had declared the same refresh token, and before anybody
        had its answer in etcd."""
        declared = [one for one in self.stage.witness.intents[session] if one]
        if not declared or session.startswith("keeps"):
            return ""
        dead = set()
        for intent in reversed(declared):
            if intent.generation != declared[-1].generation:
                break
            host = self.stage.host_of(intent.attempt)
            for death in self.stage.deaths:
                is_of_it = death.host == host and death.kind in ("kill", "destroy")
                if is_of_it and intent.time - SLACK <= death.time <= intent.time + UNSAVED:
                    dead.add((death.time, host))
        return f"{len(dead)} hosts died with the same token" if len(dead) > 1 else ""

    def _death_with(self, exchange: Exchange) -> Death | None:
        """That of the host which alone had the answer."""
        for death in self.stage.deaths:
            if death.host != exchange.host or death.kind not in ("kill", "destroy"):
                continue
            is_near = exchange.received - SLACK <= death.time <= exchange.end + UNSAVED
            if is_near and not self._is_saved(exchange, death):
                return death
        return None

    def _is_saved(self, exchange: Exchange, death: Death) -> bool:
        """A copy is left: on the disk of its host, which has said so before it died, or, if the disk is gone too, in etcd."""
        if death.kind == "destroy":
            return self._is_published(exchange)
        return any(
            told.event == "refreshed" and told.host == exchange.host and told.session == exchange.session
            and exchange.acted <= told.time <= death.time + SLACK for told in list(self.stage.listener.told))

    def _is_published(self, exchange: Exchange) -> bool:
        """etcd has been given the answer by its host, as the fleet's record or as one that came late."""
        witness, end = self.stage.witness, exchange.acted + UNSAVED
        given = [(record.time, record.attempt) for record in list(witness.records[exchange.session])]
        given += [(time, bytes.fromhex(attempt)[7::-1])
                  for time, session, attempt in list(witness.lates) if session == exchange.session]
        return any(
            exchange.acted <= time <= end and self.stage.host_of(attempt) == exchange.host for time, attempt in given)

    # MARK: Publishing

    def publishing(self, since: float) -> tuple[list[float], list[float]]:
        """Milliseconds until another host had a new token, since etcd had it and since the issuer's answer.

        Of refreshes after `since`; hosts that anything was done to are left out."""
        disturbed = {death.host for death in self.stage.deaths}
        heard: dict[tuple[str, int], list[float]] = collections.defaultdict(list)
        for told in list(self.stage.listener.told):
            if told.event == "refreshed":
                heard[told.session, told.host].append(told.time)
        commits, answers = [], []
        for exchange in self.stage.truth.all():
            if not exchange.delivered or exchange.received < since:
                continue
            records = self.stage.witness.records[exchange.session]
            commit = next((one.time for one in records if one.time >= exchange.acted), None)
            if commit is None:
                continue
            for host in self.stage.hosts:
                if host.number in disturbed or host.number == exchange.host:
                    continue
                told = next((time for time in heard[exchange.session, host.number] if time >= exchange.answered), None)
                # Later: of the next refresh.
                if told is not None and told - exchange.answered < 5:
                    commits.append(max(0.0, told - commit) * 1e3)
                    answers.append((told - exchange.answered) * 1e3)
        return sorted(commits), sorted(answers)

    # MARK: Secrets

    def plaintext(self) -> list[str]:
        """Tokens and names of sessions in etcd's files."""
        secrets = {secret.encode() for secret in self.stage.truth.secrets()}
        name, wrong = self.stage.mark.encode(), []
        for file in self.stage.etcd.home.rglob("*"):
            if not file.is_file() or not file.stat().st_size:
                continue
            with open(file, "rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as content:
                if any(match in secrets for match in TOKEN.findall(content)):
                    wrong.append(f"a token in {file.name}")
                if re.search(rb"-" + name, content):
                    wrong.append(f"a session's name in {file.name}")
        return wrong

    def found_in_memory(self, pid: int) -> tuple[set[str], set[str]]:
        """Refresh and access tokens in the memory of a process, all of it that can be read."""
        found: set[bytes] = set()
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
                place, rights = line.split()[:2]
                begin, end = (int(number, 16) for number in place.split("-"))
                if "r" not in rights or line.endswith(("[vvar]", "[vsyscall]")):
                    continue
                for start in range(begin, end, 1 << 24):
                    try:
                        memory.seek(start)
                        found |= set(TOKEN.findall(memory.read(min(end - start, (1 << 24) + 64))))
                    except (OSError, ValueError, OverflowError):
                        continue
        secrets = {token for token in self.stage.truth.secrets() if token.encode() in found}
        return {one for one in secrets if one.startswith("rt-")}, {one for one in secrets if one.startswith("at-")}


def percentile(values: list[float], part: float) -> float:
    return values[min(len(values) - 1, int(len(values) * part))] if values else float("nan")
