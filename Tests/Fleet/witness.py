# SPDX-License-Identifier: MIT
"""Watches etcd beside the hosts: which host has declared what, when, and which record came after which.

What is read here stands in clear in etcd's values by design: numbers of hosts, attempts and generations."""

import base64
import dataclasses
import hashlib
import http.client
import json
import struct
import threading
import time

from etcd import Etcd

# "TKAFLT\0", version, suite, kind, epoch.
HEAD = 15
# What stands for attempts that a restored snapshot may have lost.
LIVE, RESCUED, DEAD, OUT = 1, 2, 3, 4


@dataclasses.dataclass(frozen=True)
class Intent:
    time: float
    generation: int
    attempt: bytes
    before: tuple[bytes, ...]


@dataclasses.dataclass(frozen=True)
class Record:
    time: float
    number: int
    lineage: bytes
    generation: int
    attempt: bytes
    status: int
    reason: str

    @property
    def order(self) -> tuple[int, bool, int]:
        """Later ones are greater: the later login, of one login the logout, else the generation."""
        return self.number, self.status == OUT, self.generation


def intent_of(value: bytes, now: float) -> Intent:
    generation, = struct.unpack_from("<Q", value, HEAD + 24)
    count = value[HEAD + 64]
    start = HEAD + 65
    before = tuple(value[start + 16 * index:start + 16 * index + 16] for index in range(count))
    return Intent(now, generation, value[HEAD + 32:HEAD + 48], before)


def record_of(value: bytes, now: float) -> Record:
    number, = struct.unpack_from("<Q", value, HEAD)
    generation, = struct.unpack_from("<Q", value, HEAD + 24)
    status, reason = value[HEAD + 48], ""
    if status == DEAD:
        reason = value[HEAD + 50:HEAD + 50 + value[HEAD + 49]].decode(errors="replace")
    return Record(now, number, value[HEAD:HEAD + 24], generation, value[HEAD + 32:HEAD + 48], status, reason)


class Witness:
    """What etcd's watch has shown of each session, oldest first; `None` where a key was deleted."""

    def __init__(self, etcd: Etcd, name_key: bytes, sessions: list[str]) -> None:
        self.etcd = etcd
        self.codes = {
            hashlib.blake2b(f"ta1 fleet session\0{name}".encode(), key=name_key, digest_size=16).hexdigest(): name
            for name in sessions
        }
        self.records: dict[str, list[Record]] = {name: [] for name in sessions}
        # When a record was found there, which may have been known: a host may put it back before it is missed here.
        self.findings: dict[str, list[tuple[float, tuple[int, bool, int]]]] = {name: [] for name in sessions}
        self.intents: dict[str, list[Intent | None]] = {name: [] for name in sessions}
        self.locks: dict[str, list[tuple[float, bytes | None]]] = {name: [] for name in sessions}
        self.lates: list[tuple[float, str, str]] = []
        # Called with the kind of key, the session, and whether it was put.
        self.listeners: list = []
        self.gaps: list[tuple[float, float]] = []
        self.is_over = False
        self.compactions = 0
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self) -> None:
        turn, lost_at = 0, None
        while not self.is_over:
            name = self.etcd.names[turn % len(self.etcd.names)]
            turn += 1
            try:
                self.etcd.enter(name)
                # A restored etcd counts from an earlier number: what is there now comes first.
                revision = self._read(name)
                if revision:
                    lost_at = self._watch(name, revision, lost_at)
            except (OSError, http.client.HTTPException, ValueError, KeyError):
                pass
            lost_at = lost_at if lost_at is not None else time.monotonic()
            time.sleep(0.05)

    def _read(self, name: str) -> int:
        """Takes what is there for put now, unless it is known; returns its revision, or 0 without an answer."""
        status, answer = self.etcd.ask("/v3/kv/range", name, self._everything)
        if status != 200:
            return 0
        now = time.monotonic()
        for pair in answer.get("kvs", []):
            self._note({"kv": pair}, now, is_new=False)
        return int(answer["header"]["revision"])

    def _watch(self, name: str, revision: int, lost_at: float | None) -> float | None:
        connection = self.etcd.connection(name, 600)
        create = {**self._everything, "start_revision": str(revision + 1)}
        connection.request("POST", "/v3/watch", json.dumps({"create_request": create}), self.etcd.headers)
        for line in connection.getresponse():
            now = time.monotonic()
            result = json.loads(line).get("result", {})
            if lost_at is not None:
                self.gaps.append((lost_at, now))
                lost_at = None
            if result.get("canceled"):
                self.compactions += 1
                break
            for event in result.get("events", []):
                self._note(event, now)
        connection.close()
        return lost_at

    @property
    def _everything(self) -> dict[str, str]:
        return {"key": base64.b64encode(b"/tokenagent/").decode(), "range_end": base64.b64encode(b"/tokenagent0").decode()}

    def _note(self, event: dict, now: float, is_new: bool = True) -> None:
        parts = base64.b64decode(event["kv"]["key"]).decode().split("/")
        if len(parts) < 6 or parts[4] not in self.codes:
            return
        name, kind, is_put = self.codes[parts[4]], parts[5], event.get("type", "PUT") == "PUT"
        value = base64.b64decode(event["kv"].get("value", ""))
        if kind == "rt" and is_put:
            record = record_of(value, now)
            self.findings[name].append((now, record.order))
            known = self.records[name][-1] if self.records[name] else None
            if is_new or known is None or (known.order, known.attempt) != (record.order, record.attempt):
                self.records[name].append(record)
        elif kind == "intent":
            self.intents[name].append(intent_of(value, now) if is_put else None)
        elif kind == "lock" and (is_new or not self.locks[name] or self.locks[name][-1][1] != value):
            self.locks[name].append((now, value if is_put else None))
        elif kind == "late" and is_put:
            self.lates.append((now, name, parts[-1]))
        for listener in self.listeners:
            listener(kind, name, is_put)

    def lock_before(self, session: str, moment: float) -> tuple[float, bytes] | None:
        """The last lock that was put before this moment."""
        for put, value in reversed(self.locks[session]):
            if put <= moment and value is not None:
                return put, value
        return None

    def intent_before(self, session: str, moment: float) -> Intent | None:
        for intent in reversed(self.intents[session]):
            if intent is not None and intent.time <= moment:
                return intent
        return None
