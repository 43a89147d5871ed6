# SPDX-License-Identifier: MIT
"""A hostile peer of a [[socket]]: it is for one session's plain token, and wants more."""

import contextlib
import errno
import json
import os
import pathlib
import socket
import subprocess
import sys
import time

from program import head, slowest_ping
from scene import SECRET_MARK, Issuer, NotHere, Scene, answer, attack, must

WHO = "[[socket]]"


def restricted(scene: Scene, extra: str = "") -> tuple[Issuer, str]:
    """An agent whose sessions are `shared`, which a [[socket]] is for, and `mine`, which it is not."""
    issuer = scene.issuer()
    place = scene.home / "shared/agent.sock"
    scene.ready("shared", "mine", issuer=issuer, more=f'[[socket]]\npath = "{place}"\nsessions = ["shared"]\n{extra}\n')
    return issuer, str(place)


def shown(found: object) -> str:
    return found.decode("utf-8", "replace") if isinstance(found, bytes) else json.dumps(found)


@attack(WHO, "asks for every route there is")
def _(scene: Scene) -> None:
    _, place = restricted(scene)
    for method, path, body in (
        ("GET", "/v1/events", None),
        ("GET", "/v1/audit", None),
        ("GET", "/v1/metrics", None),
        ("GET", "/v1/doctor", None),
        ("POST", "/v1/examine", {"issuer": "https://127.0.0.1"}),
        ("GET", "/v1/vault", None),
        ("POST", "/v1/vault/init", {"type": "passphrase", "passphrase": "x"}),
        ("POST", "/v1/vault/slots", {"type": "passphrase", "passphrase": "x"}),
        ("DELETE", "/v1/vault/slots/0", None),
        ("POST", "/v1/vault/passwd", {"old": "a", "new": "b"}),
        ("POST", "/v1/vault/rekey", {}),
        ("POST", "/v1/lock", {}),
        ("POST", "/v1/unlock", {}),
        ("POST", "/v1/reload", {}),
        ("POST", "/v1/shutdown", {}),
        ("POST", "/v1/restrict", {"sessions": ["shared", "mine"], "host": "x"}),
        ("POST", "/v1/sessions/shared/login", {}),
        ("POST", "/v1/sessions/shared/logout", {}),
        ("POST", "/v1/sessions/shared/refresh", {}),
        ("POST", "/v1/sessions/mine/refresh", {}),
        ("POST", "/v1/sessions/shared/login/1", {"value": "x"}),
    ):
        status, found = scene.request(method, path, body, at=place)
        must(status in (403, 404), f"{method} {path} is answered {status} {shown(found)[:100]}")
    scene.alive("shared", "mine")


@attack(WHO, "looks for the names of other sessions")
def _(scene: Scene) -> None:
    _, place = restricted(scene)
    everything = ""
    for path in (
        "/v1",
        "/v1/sessions",
        "/v1/sessions/shared",
        "/v1/sessions/shared/token",
        "/v1/sessions/shared/token?scope=x",
    ):
        everything += shown(scene.request("GET", path, at=place)[1])
    must("mine" not in everything, f"the other name is told: {everything[:300]}")
    must(
        "refresh_token" not in everything.replace("refresh_token_expired", "") and SECRET_MARK not in everything,
        "a secret is told",
    )
    must(str(scene.home) not in everything, f"a path of the user is told: {everything[:400]}")
    must("state/tokenagent" not in everything, "the store's place is told")
    for path in ("/token", "", "/report", "/token?kind=id", "/token?min_valid=x"):
        method, body = ("POST", {"token": "x", "status": 401}) if path == "/report" else ("GET", None)
        one, two = (scene.request(method, f"/v1/sessions/{name}{path}", body, at=place) for name in ("mine", "absent"))
        must(
            shown(one[1]).replace("mine", "absent") == shown(two[1]) and one[0] == two[0],
            f"{path} tells them apart: {one} {two}",
        )


@attack(WHO, "spells another session's path in every way")
def _(scene: Scene) -> None:
    _, place = restricted(scene)
    for path in (
        "/v1/sessions/shared/../mine/token",
        "/v1/sessions/shared%2f..%2fmine/token",
        "/v1/sessions/%6dine/token",
        "/v1/sessions/mine/token#shared",
        "/v1/sessions/mine%3f/token",
        "/v1/sessions//mine/token",
        "/v1/sessions/mine\x00/token",
        "/v1/sessions/mine/./token",
        "/v1/sessions/MINE/token",
        "/v1/sessions/shared/token/../../mine/token",
        "/v1/sessions/mine/token?session=shared",
        "/v1/sessions/shared,mine/token",
        "/v1/sessions/*/token",
    ):
        back = scene.raw(head("GET", path), at=place)
        must(b"access_token" not in back and b"at-" not in back, f"{path} is answered {back[:60]!r}")


@attack(WHO, "calls POST by another name")
def _(scene: Scene) -> None:
    _, place = restricted(scene)
    for lines in (
        ["X-HTTP-Method-Override: POST"],
        ["X-Original-URL: /v1/sessions/mine/token"],
        ["X-Rewrite-URL: /v1/sessions/mine/token"],
        ["X-Forwarded-For: 127.0.0.1"],
        ["Authorization: Bearer x"],
        ["Upgrade: h2c", "Connection: Upgrade"],
    ):
        back = scene.raw(head("GET", "/v1/sessions/shared/logout", *lines), at=place)
        must(b" 200 " not in back.split(b"\r\n")[0] and b"at-" not in back, f"{lines}: {back[:60]!r}")
    for method in ("HEAD", "OPTIONS", "TRACE", "PUT", "PATCH", "PROPFIND", "POST\t", "GET\x0b"):
        back = scene.raw(head(method, "/v1/sessions/shared/token"), at=place)
        must(b"at-" not in back, f"{method} is answered {back[:60]!r}")
    scene.alive("shared", "mine")


@attack(WHO, "wears out the refresh token by asking for more life than tokens have")
def _(scene: Scene) -> None:
    issuer, place = restricted(scene)
    before = len(issuer.requests)
    end = time.monotonic() + 5
    asked = 0
    while time.monotonic() < end:
        scene.request("GET", "/v1/sessions/shared/token?min_valid=86400&timeout=1", at=place)
        asked += 1
    must(len(issuer.requests) - before <= 3, f"{asked} requests made {len(issuer.requests) - before} refreshes in 5 s")
    scene.alive("shared")


@attack(WHO, "reports good tokens as refused, with bodies that end logins")
def _(scene: Scene) -> None:
    issuer, place = restricted(scene)
    before = len(issuer.requests)
    _, found = scene.request("GET", "/v1/sessions/shared/token", at=place)
    token = found["access_token"]
    for number in range(30):
        body = {
            "token": token,
            "status": 401,
            "www_authenticate": 'Bearer error="invalid_token"',
            "body": '{"error":"invalid_grant","code":"refresh_token_expired","requiresReauth":true}',
        }
        status, told = scene.request("POST", "/v1/sessions/shared/report", body, at=place)
        if status == 200 and "access_token" in told:
            token = told["access_token"]
    must(len(issuer.requests) - before <= 1, f"30 reports made {len(issuer.requests) - before} refreshes")
    must(scene.get("shared")[0] == 200, "the owner's session is over")
    must(scene.state("shared")["state"] != "logged_out", "the owner's session is over")


@attack(WHO, "reports the owner's tokens of other scopes")
def _(scene: Scene) -> None:
    issuer, place = restricted(scene)
    _, other = scene.get("mine")
    before = len(issuer.requests)
    for name in ("shared", "mine"):
        scene.request("POST", f"/v1/sessions/{name}/report", {"token": other["access_token"], "status": 401}, at=place)
    must(len(issuer.requests) == before, "a report about another session's token made a refresh")
    must(scene.get("mine")[1]["access_token"] == other["access_token"], "another session's token was replaced")


@attack(WHO, "asks for scopes and audiences nobody lent it")
def _(scene: Scene) -> None:
    issuer, place = restricted(scene)
    before = len(issuer.requests)
    for query in (
        "scope=admin",
        "audience=https%3A%2F%2Fbank.example",
        "scope=all",
        "scope=",
        "scope=%20",
        "scope=all%20admin",
        "audience=",
        "scope=all&scope=admin",
        "scope=ALL",
    ):
        status, found = scene.request("GET", f"/v1/sessions/shared/token?{query}", at=place)
        if status == 200:
            scopes = found["scope"].split()
            must("admin" not in scopes, f"{query} gets {found['scope']}")
    sent = [request.form for request in issuer.requests[before:]]
    must(
        not any("admin" in form.get("scope", "") or form.get("audience") for form in sent),
        f"the issuer was asked for {sent}",
    )


@attack(WHO, "opens 900 connections and says nothing")
def _(scene: Scene) -> None:
    _, place = restricted(scene)
    connections = []
    with contextlib.suppress(OSError):
        for _ in range(900):
            connections.append(scene.connect(place))
    must(slowest_ping(scene, 1) < 0.5, "the owner waits")
    scene.alive("shared", "mine", within=1)
    for connection in connections:
        connection.close()


@attack(WHO, "floods its socket with requests from 50 connections")
def _(scene: Scene) -> None:
    _, place = restricted(scene)
    connections = [scene.connect(place) for _ in range(50)]
    request = head("GET", "/v1/sessions/shared/token", "Accept: " + "a/b;q=0.1," * 700)
    for connection in connections:
        connection.setblocking(False)
        with contextlib.suppress(OSError):
            for _ in range(50):
                connection.send(request)
    slowest = slowest_ping(scene, 2)
    must(slowest < 0.5, f"the owner waits {slowest:.1f} s")
    for connection in connections:
        connection.close()
    scene.alive("shared")


@attack(WHO, "replaces the socket's file to speak to the owner's programs")
def _(scene: Scene) -> None:
    _, place = restricted(scene)
    directory = pathlib.Path(place).parent
    must(directory.stat().st_mode & 0o077 == 0, "others may enter the directory of a socket")
    scene.stop()
    must(not pathlib.Path(place).exists(), "the socket stays behind")
    pathlib.Path(place).symlink_to(scene.home / "victim")
    (scene.home / "victim").write_text("precious")
    scene.start(ready=False)
    time.sleep(1)
    must((scene.home / "victim").read_text() == "precious", "the file behind a link was touched")


@attack(WHO, "asks for proofs of possession for addresses of its choice")
def _(scene: Scene) -> None:
    _, place = restricted(scene)
    for url in (
        "https://evil.example",
        "javascript:x",
        "https://a@b",
        "x" * 3000,
        "https://evil.example/%0d%0aX:y",
        "",
    ):
        status, found = scene.request("GET", f"/v1/sessions/shared/token?dpop_url={url}", at=place)
        must(status >= 400, f"{url[:30]} is answered {shown(found)[:100]}")


@attack(WHO, "waits for tokens while the session ends, is logged out and locked")
def _(scene: Scene) -> None:
    _, place = restricted(scene)
    scene.request("POST", "/v1/lock", {})
    status, _ = scene.request("GET", "/v1/sessions/shared/token", at=place)
    must(status == 423, f"a locked agent answers {status} there")
    scene.request("POST", "/v1/unlock", {})
    scene.ctl("logout", "shared")
    status, found = scene.request("GET", "/v1/sessions/shared/token", at=place)
    must(status == 401, f"a session that is logged out is answered {status} there")
    must("/work" not in shown(found) and str(scene.home) not in shown(found), "the remedy tells paths")


@attack(WHO, "lives on after its table is gone")
def _(scene: Scene) -> None:
    _, place = restricted(scene)
    kept = scene.connect(place)
    text = scene.configuration.read_text().split("[[socket]]")[0]
    scene.configure(text)
    must(scene.request("POST", "/v1/reload", {})[0] == 200, "the reload fails")
    with contextlib.suppress(OSError):
        kept.settimeout(5)
        kept.sendall(head("GET", "/v1/sessions/shared/token"))
        must(b"at-" not in kept.recv(65536), "a connection of a socket that is gone gets tokens")
    with contextlib.suppress(OSError):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(place)
        connection.settimeout(5)
        connection.sendall(head("GET", "/v1/sessions/shared/token"))
        must(b"at-" not in connection.recv(65536), "a socket that is gone gives tokens")
    scene.alive("shared")


@attack(WHO, "says that it wants text, and is told secrets in errors")
def _(scene: Scene) -> None:
    issuer, place = restricted(scene)
    issuer.says(
        "/token",
        lambda request, connection: answer(400, {"error": "invalid_scope", "error_description": request.body.decode()}),
    )
    scene.request("POST", "/v1/sessions/shared/refresh", {})
    for accept in ("text/plain", "application/json", "*/*", "text/html"):
        _, found = scene.request(
            "GET", "/v1/sessions/shared/token?min_valid=3500", headers={"Accept": accept}, at=place
        )
        must(SECRET_MARK not in shown(found), f"a secret comes with {accept}: {shown(found)[:200]}")


STRANGER = """
import json, os, socket, sys
own, main = sys.argv[1:]
os.setgroups([]); os.setgid(65534); os.setuid(65534)
directory = os.path.dirname(own)
found = {}

def attempt(name, act):
    try:
        found[name] = str(act())
    except OSError as error:
        found[name] = error.errno

def connect(path):
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(20)
        peer.connect(path)
        peer.sendall(b"GET /v1/sessions/shared/token HTTP/1.1\\r\\nHost: tokenagent\\r\\nConnection: close\\r\\n\\r\\n")
        return peer.recv(65536).decode()

def bind(path):
    with socket.socket(socket.AF_UNIX) as peer:
        peer.bind(path)

attempt("use", lambda: connect(own))
attempt("connect", lambda: connect(main))
attempt("list", lambda: os.listdir(directory))
attempt("lock", lambda: open(own + ".lock"))
attempt("remove", lambda: os.unlink(own))
attempt("move", lambda: os.rename(own, own + "2"))
attempt("bind", lambda: bind(directory + "/other.sock"))
attempt("make", lambda: open(directory + "/x", "w"))
print(json.dumps(found))
"""


@attack(WHO, "is for another user, who looks around in its directory and for the main socket")
def _(scene: Scene) -> None:
    if os.geteuid() != 0:
        raise NotHere("only root can be another user")
    # The way to the socket is the person's matter, its own directory the agent's.
    scene.home.chmod(0o711)
    _, place = restricted(scene, 'mode = "0666"\nusers = ["65534"]')
    done = subprocess.run(
        [sys.executable, "-c", STRANGER, place, scene.socket], capture_output=True, text=True, check=False, timeout=60
    )
    must(done.returncode == 0, f"the other user's program failed: {done.stderr}")
    found = json.loads(done.stdout)
    must("access_token" in str(found.pop("use")), f"the socket is not for the other user: {done.stdout}")
    reached = {name: result for name, result in found.items() if result not in (errno.EACCES, errno.EPERM)}
    must(not reached, f"the other user reaches {reached}")
    scene.alive("shared", "mine")
