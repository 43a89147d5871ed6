# SPDX-License-Identifier: MIT
"""Writes down what has happened on a stage, in the order in which it has, for those who look for a fault."""

import collections.abc
import pathlib
import shutil

from stage import Stage

STATUS = {1: "live", 2: "rescued", 3: "dead", 4: "out"}


def _host(stage: Stage, attempt: bytes) -> str:
    number = stage.host_of(attempt)
    return f"h{number}" if number is not None else attempt[:3].hex()


def _entries(stage: Stage) -> collections.abc.Iterator[tuple[float, str, str]]:
    """When, of which session, what."""
    for login in list(stage.truth.logins):
        yield login.time, login.session, f"login {login.family}"
    for one in stage.truth.all():
        where = f"request {one.number} of h{one.host}, token {one.token[3:9]} of generation {one.generation}"
        yield one.received, one.session, where
        if one.acted:
            yield one.acted, one.session, f"request {one.number}: {one.result} {(one.successor or '')[3:9]}"
        if one.answered:
            fault = "" if one.fault == "none" else f", {one.fault}"
            yield one.answered, one.session, f"request {one.number}: answered {one.status}{fault}"
    for session in stage.sessions:
        for record in list(stage.witness.records[session]):
            yield (record.time, session, f"record {record.generation} {STATUS[record.status]} {record.reason} by "
                   f"{_host(stage, record.attempt)}")
        for intent in [one for one in list(stage.witness.intents[session]) if one]:
            before = " ".join(_host(stage, attempt) for attempt in intent.before)
            yield (intent.time, session, f"intent for {intent.generation} by {_host(stage, intent.attempt)}"
                   + (f" after {before}" if before else ""))
        for time, lock in list(stage.witness.locks[session]):
            yield time, session, f"lock of {_host(stage, lock)}" if lock else "lock gone"
    for time, session, attempt in list(stage.witness.lates):
        yield time, session, f"late answer of {_host(stage, bytes.fromhex(attempt)[7::-1])}"
    for death in list(stage.deaths):
        yield death.time, "", f"h{death.host}: {death.kind} at {death.step}"
        if death.until != float("inf"):
            yield death.until, "", f"h{death.host} is back"
    for begin, end in list(stage.witness.gaps):
        yield begin, "", f"etcd's watch is away for {end - begin:.2f} s"
    for told in list(stage.listener.told if stage.listener else []):
        if told.event != "refreshed":
            yield told.time, told.session, f"h{told.host} says {told.event} {told.reason}"
    for refusal in list(stage.poller.refusals if stage.poller else []):
        yield refusal.time, refusal.session, f"a caller at h{refusal.host} gets {refusal.code}: {refusal.message}"


def keep(stage: Stage, folder: pathlib.Path) -> None:
    """Leaves the timeline and the logs of all hosts in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for host in stage.hosts:
        if host.log.exists():
            shutil.copy(host.log, folder / f"h{host.number}.log")
    entries = sorted(_entries(stage))
    begin = entries[0][0] if entries else 0
    (folder / "timeline").write_text(
        "".join(f"{time - begin:9.3f} {session or '-':<18} {what}\n" for time, session, what in entries))
