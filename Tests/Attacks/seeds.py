# SPDX-License-Identifier: MIT
"""The attacks that once stopped an agent, with figures: what others notice of them while they last."""

import collections.abc
import contextlib
import http.client
import json
import threading
import time
import urllib.parse

from filesystem import records
from scene import SECRET_MARK, Issuer, Scene, UnixConnection, answer, attack, must, until

WHO = "seed"
# Marks above and below by turns: who compares such texts as Unicode does puts them into order first.
MARKS = "\u0301\u0323"


def marks(size: int) -> str:
    return MARKS * (size // 4)


class Others:
    """A program that pings on a connection of its own, and one that refreshes a session of another issuer."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.pings: list[float] = []
        self.refreshes: list[float] = []
        self.ended = threading.Event()
        self.trouble: list[str] = []
        self.before = scene.resident()
        self.most = self.before

    def __enter__(self) -> "Others":
        self.threads = [threading.Thread(target=self._repeat, args=work) for work in (
            ("GET", "/v1", None, self.pings),
            ("POST", "/v1/sessions/other/refresh", b"{}", self.refreshes),
        )]
        for thread in self.threads:
            thread.start()
        until(10, lambda: self.trouble or self.pings and self.refreshes, "others to be served")
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        self.ended.set()
        for thread in self.threads:
            thread.join()
        if kind is not None:
            return
        must(not self.trouble, f"others are not served: {self.trouble[:1]}")
        self.scene.figures += [
            f"longest ping {max(self.pings) * 1000:.1f} ms of {len(self.pings)}",
            f"longest refresh at another issuer {max(self.refreshes) * 1000:.1f} ms of {len(self.refreshes)}",
            f"memory + {self.most - self.before:.1f} MiB at most",
        ]

    def held(self, ping: float = 0.5, refresh: float = 1.0, memory: float = 64) -> None:
        must(max(self.pings) < ping, f"a ping took {max(self.pings):.2f} s")
        must(max(self.refreshes) < refresh, f"another issuer's refresh took {max(self.refreshes):.2f} s")
        must(self.most - self.before < memory, f"memory grew by {self.most - self.before:.0f} MiB")

    def _repeat(self, method: str, path: str, body: bytes | None, times: list[float]) -> None:
        connection = UnixConnection(self.scene.socket, 120)
        with contextlib.closing(connection):
            while not self.ended.is_set():
                begun = time.monotonic()
                try:
                    connection.request(method, path, body, {"Connection": "keep-alive"})
                    reply = connection.getresponse()
                    text = reply.read()
                except (OSError, http.client.HTTPException) as trouble:
                    self.trouble.append(str(trouble))
                    return
                if reply.status != 200:
                    self.trouble.append(f"{path}: {reply.status} {text[:200]}")
                    return
                times.append(time.monotonic() - begun)
                self.most = max(self.most, self.scene.resident())
                time.sleep(0.005)


def two_issuers(scene: Scene, more: str = "") -> Issuer:
    """Sessions `s` and `other` of two issuers, logged in; the issuer of `s`."""
    hostile, honest = scene.issuer(), scene.issuer()
    scene.configure(scene.session("s", hostile) + scene.session("other", honest) + more)
    scene.start()
    scene.log_in("s")
    scene.log_in("other")
    return hostile


def answers(scene: Scene, bodies: collections.abc.Iterable[bytes]) -> None:
    """Each body answers a refresh of `s` while others work; nobody is held up, and a restart is as quick."""
    hostile = two_issuers(scene)
    with Others(scene) as others:
        for body in bodies:
            hostile.says("/token", answer(200, body))
            scene.request("POST", "/v1/sessions/s/refresh", {}, timeout=120)
    others.held()
    begun = time.monotonic()
    scene.stop()
    took = time.monotonic() - begun
    must(took < 3, f"the agent needed {took:.1f} s to end")
    scene.figures.append(f"ended within {took * 1000:.0f} ms")
    scene.start()
    scene.alive("other", within=2)


@attack(WHO, "answers with a megabyte of marks in every place a text can stand")
def _(scene: Scene) -> None:
    long = marks(1_000_000)
    bodies = [{name: long, "x": 1} for name in ("access_token", "scope", "token_type", "error", "error_description")]
    bodies += [{long: 1}, {long[:500_000]: 1, long[:400_000] + "a": 2}, {"access_token": "at", "scope": long}]
    bodies += [{"access_token": "at", "scope": f"a {marks(400_000)} {marks(500_000)}", "token_type": "Bearer"}]
    answers(scene, (json.dumps(body, ensure_ascii=False).encode() for body in bodies))


@attack(WHO, "answers with a megabyte of members, of arrays and of numbers")
def _(scene: Scene) -> None:
    members = ",".join(f'"{number}":0' for number in range(90_000)).encode()
    answers(scene, (
        b"{" + members + b"}",
        b'{"access_token":"at","a":[' + b"[]," * 330_000 + b"0]}",
        b'{"access_token":"at","expires_in":' + b"9" * 1_000_000 + b"}",
    ))


@attack(WHO, "grants a scope of 70,000 words")
def _(scene: Scene) -> None:
    words = " ".join(str(number) for number in range(70_000))
    good = {"access_token": "at", "refresh_token": "rt", "token_type": "Bearer", "expires_in": 3600}
    answers(scene, [json.dumps(good | {"scope": words}).encode()] * 20)


@attack(WHO, "sends marks to the socket and to a [[socket]] in place of what is expected")
def _(scene: Scene) -> None:
    place = str(scene.home / "shared/agent.sock")
    two_issuers(scene, f'[[socket]]\npath = "{place}"\nsessions = ["s"]\n')
    body = marks(62_000)
    quoted = urllib.parse.quote(marks(1_300))
    with Others(scene) as others:
        for _ in range(5):
            for path in ("/v1/unlock", "/v1/vault/slots", "/v1/sessions/s/login", "/v1/sessions/s/report"):
                for text in ({body: 1}, {"passphrase": body}, {"type": body}, {"flow": body}, {"token": body}):
                    for at in (None, place):
                        scene.request("POST", path, json.dumps(text, ensure_ascii=False).encode(), at=at)
            for at in (None, place):
                for field in ("Accept", "Connection", "Expect"):
                    head = f"GET /v1/sessions/s/token HTTP/1.1\r\nHost: tokenagent\r\n{field}: {marks(7_900)}\r\n\r\n"
                    with scene.connect(at) as peer:
                        peer.sendall(head.encode())
                        peer.recv(4096)
                scene.request("GET", f"/v1/sessions/s/token?scope={quoted}", at=at)
    others.held(refresh=1.0)


@attack(WHO, "asks for 1,406 audiences at the main socket, then the agent starts again")
def _(scene: Scene) -> None:
    two_issuers(scene)
    with Others(scene) as others:
        for number in range(1_406):
            status, found = scene.get("s", audience=f"https://audience-{number:04}.example.com/")
            must(status == 200, f"an audience is refused: {status} {found}")
    others.held()
    record = max(path.stat().st_size for path in records(scene))
    must(record < 256 * 1024, f"a record has {record} bytes")
    scene.figures.append(f"largest record {record // 1024} KiB")
    scene.stop()
    scene.start()
    scene.alive("s", "other", within=2)


@attack(WHO, "asks for 150 audiences at once at a [[socket]], allowed and not, while the owner refreshes")
def _(scene: Scene) -> None:
    audiences = [f"https://a{number}.example.com/" for number in range(150)]
    for allowed in (audiences, []):
        place = scene.home / f"shared{len(allowed)}/agent.sock"
        hostile = two_issuers(
            scene, f'[[socket]]\npath = "{place}"\nsessions = ["s"]\naudiences = {json.dumps(allowed)}\n'
        )
        hostile.says("/token", lambda request, connection: (time.sleep(0.2), hostile.token(request, connection))[1])
        with Others(scene) as others:
            peers = [scene.connect(str(place)) for _ in audiences]
            for peer, audience in zip(peers, audiences):
                query = urllib.parse.urlencode({"audience": audience})
                peer.sendall(f"GET /v1/sessions/s/token?{query} HTTP/1.1\r\nHost: tokenagent\r\n\r\n".encode())
            begun = time.monotonic()
            status, found = scene.request("POST", "/v1/sessions/s/refresh", {}, timeout=120)
            took = time.monotonic() - begun
            must(status == 200, f"the owner's refresh is answered {status} {found}")
            must(took < 2, f"the owner waited {took:.1f} s")
            for peer in peers:
                peer.close()
        others.held()
        scene.figures.append(f"owner's refresh {took * 1000:.0f} ms with {len(allowed)} allowed (server takes 200)")
        must(SECRET_MARK not in str(found), "a secret is shown")
        scene.stop()
