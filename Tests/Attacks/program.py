# SPDX-License-Identifier: MIT
"""A hostile program of the same user: it reaches the socket, the files, and the signals."""

import array
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

from scene import SECRET_MARK, CameThrough, NotHere, Scene, answer, attack, must, until

WHO = "program"
# A program that sends one request to the socket named first and prints what comes back.
SPEAK = (
    "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
    "s.sendall((sys.argv[2] + ' HTTP/1.1\\r\\nHost: tokenagent\\r\\nConnection: close\\r\\n\\r\\n').encode()); "
    "print(s.recv(65536).decode())"
)


def head(method: str, path: str, *lines: str) -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: tokenagent", *lines, "", ""]).encode(
        "utf-8", "surrogateescape"
    )


def slowest_ping(scene: Scene, seconds: float) -> float:
    """The longest of the answers to GET /v1 over this time, one after the other, on one connection each."""
    slowest, end = 0.0, time.monotonic() + seconds
    while time.monotonic() < end:
        begun = time.monotonic()
        must(scene.request("GET", "/v1")[0] == 200, "the agent does not answer")
        slowest = max(slowest, time.monotonic() - begun)
        time.sleep(0.005)
    return slowest


@attack(WHO, "keeps 500 requests open by a byte each second")
def _(scene: Scene) -> None:
    scene.ready("s")
    connections = [scene.connect() for _ in range(500)]
    whole = head("GET", "/v1/sessions/s/token", "X: " + "y" * 2000)
    for place in range(3):
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.send(whole[place : place + 1])
        must(slowest_ping(scene, 1) < 0.5, "others wait")
    scene.alive("s", within=1)
    time.sleep(4)
    ended = sum(is_closed(connection) for connection in connections)
    must(ended == 500, f"{500 - ended} of them are still open")


def is_closed(connection: socket.socket) -> bool:
    connection.settimeout(3)
    try:
        while connection.recv(65536):
            pass
        return True
    except TimeoutError:
        return False
    except OSError:
        return True


FLOOD = """
import resource, socket, sys, time
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
connections = []
end = time.monotonic() + 2
while len(connections) < 6000 and time.monotonic() < end:
    try:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(1)
        connection.connect(sys.argv[1])
        connections.append(connection)
    except OSError:
        time.sleep(0.001)
print(len(connections), flush=True)
sys.stdin.read()
"""


@attack(WHO, "opens connections until the agent has no descriptors left")
def _(scene: Scene) -> None:
    scene.ready("s")
    kept = scene.connect()

    def is_served() -> bool:
        kept.sendall(head("GET", "/v1/sessions/s/token"))
        return kept.recv(65536).startswith(b"HTTP/1.1 200")

    must(is_served(), "nobody is served")
    with subprocess.Popen([sys.executable, "-c", FLOOD, scene.socket],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as flood:
        must(int(flood.stdout.readline()) > 500, "the flood did not come")
        must(is_served(), "a connection that was there is not served")
        flood.stdin.close()
    until(10, scene.answers, "the agent to recover")
    scene.alive("s")


@attack(WHO, "sends 20,000 requests and reads no answer")
def _(scene: Scene) -> None:
    scene.ready("s")
    before = scene.resident()
    connections = [scene.connect() for _ in range(20)]
    for connection in connections:
        connection.setblocking(False)
        with contextlib.suppress(OSError):
            for _ in range(1000):
                connection.send(head("GET", "/v1/sessions/s") * 20)
    slowest = slowest_ping(scene, 1)
    must(slowest < 0.5, f"others wait {slowest:.1f} s")
    scene.little_grown(before)
    for connection in connections:
        connection.close()
    scene.alive("s")


@attack(WHO, "hides a second request in the first")
def _(scene: Scene) -> None:
    scene.ready("s")
    hidden = head("POST", "/v1/lock", "Content-Length: 0")
    for lines in (
        [f"Content-Length: {len(hidden)}", "Content-Length: 0"],
        ["Transfer-Encoding: chunked"],
        [f"Content-Length: {len(hidden)}, 0"],
        ["Content-Length : 0"],
        ["X: y\r\n z"],
        ["Content-Length: +0"],
        ["Content-Length: 0x0"],
        ["Content-Length: \t0\x0b"],
        [" X: y"],
        ["X"],
        [":"],
        ["X\x00: y"],
        ["Content-Length: 18446744073709551616"],
        ["Content-Length: -1"],
        ["content-length: 0", "Content-Length: 0"],
    ):
        back = scene.raw(head("GET", "/v1", *lines) + hidden)
        _, about = scene.request("GET", "/v1")
        must(not about["locked"] or b"HTTP/1.1 4" not in back.split(b"\r\n")[0], f"{lines} is refused and goes on")
        if about["locked"]:
            scene.request("POST", "/v1/unlock", {})
            must(lines[0].startswith("X"), f"{lines} let a second request through")
    scene.alive("s")


@attack(WHO, "speaks no HTTP, or another one")
def _(scene: Scene) -> None:
    scene.ready("s")
    for data in (
        b"GET /v1/sessions/s/token\r\n\r\n",
        b"GET http://evil.example/v1 HTTP/1.1\r\nHost: tokenagent\r\n\r\n",
        b"CONNECT tokenagent:80 HTTP/1.1\r\nHost: tokenagent\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"\x00" * 5000,
        b"GET  /v1 HTTP/1.1\r\nHost: tokenagent\r\n\r\n",
        b"GET /v1 HTTP/1.1\nHost: tokenagent\n\n",
        b"get /v1 HTTP/1.1\r\nHost: tokenagent\r\n\r\n",
        b"GET /v1 HTTP/1.1 \r\nHost: tokenagent\r\n\r\n",
        b"GET /v1 HTTP/9.9\r\nHost: tokenagent\r\n\r\n",
        b"GET /v1 HTTP/1.1\r\nHost: tokenagent:80@evil.example\r\n\r\n",
        b"GET /v1 HTTP/1.1\r\nHost: tokenagent.evil.example\r\n\r\n",
        b"GET /v1 HTTP/1.1\r\nHost: \r\n\r\n",
        b"GET /v1 HTTP/1.1\r\n\r\n",
        b"GET /v1 HTTP/1.1\r\nHost: tokenagent\r\nHost: evil\r\n\r\n",
    ):
        back = scene.raw(data)
        must(b" 200 " not in back.split(b"\r\n")[0], f"{data[:60]!r} is answered {back[:60]!r}")
    scene.alive("s")


@attack(WHO, "spells a path so that it leads elsewhere")
def _(scene: Scene) -> None:
    scene.ready("s")
    for path in (
        "/v1/sessions/%2e%2e/vault",
        "/v1/sessions/s%2ftoken",
        "/v1/sessions/../lock",
        "/v1/./sessions",
        "//v1/sessions",
        "/v1/sessions/s%00/token",
        "/v1/sessions/%c0%ae%c0%ae/token",
        "/v1/sessions/s;x/token",
        "/v1/sessions/s%0d%0aX:y/token",
        "/V1/sessions/s/token",
        "/v1/sessions/S/token",
        "/v1/sessions/%/token",
        "/v1/sessions/%zz/token",
        "/v1/sessions/" + "a" * 3000 + "/token",
        "/v1/sessions/s\u0301/token",
        "*",
        "",
    ):
        back = scene.raw(head("GET", path))
        must(back.split(b"\r\n")[0].split(b" ")[1:2] != [b"200"], f"{path[:60]!r} is answered {back[:40]!r}")
    _, found = scene.request("GET", "/v1")
    must(not found["locked"], "it is locked")
    scene.alive("s")


@attack(WHO, "asks with parameters that are no numbers, or too many, or twice")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    asked = len(issuer.requests)
    for query in (
        "min_valid=-1",
        "min_valid=1e3",
        "min_valid=99999999999999999999",
        "min_valid=1&min_valid=2",
        "min_valid=",
        "min_valid=%31%00",
        "timeout=0x5",
        "timeout=-0",
        "kind=refresh",
        "kind=id%00",
        "scope=%ff",
        "scope=%00",
        "min_valid=\u0661",
        "audience=" + "a" * 3500,
        "&".join(f"x{number}=1" for number in range(500)),
        "=",
        "&&&&",
        "%",
    ):
        back = scene.raw(head("GET", f"/v1/sessions/s/token?{query}"), timeout=20)
        must(back.startswith(b"HTTP/1.1 "), f"{query[:40]} has no answer")
        must(not back.startswith(b"HTTP/1.1 500"), f"{query[:40]} is answered {back[:200]!r}")
    must(len(issuer.requests) - asked <= 4, f"the issuer was asked {len(issuer.requests) - asked} times")
    scene.alive("s")


@attack(WHO, "wants more life than any token has, again and again, to wear out the refresh token")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    asked = len(issuer.requests)
    end = time.monotonic() + 5
    while time.monotonic() < end:
        scene.get("s", min_valid=86_400, timeout=1)
    must(len(issuer.requests) - asked <= 10, f"the refresh token was used {len(issuer.requests) - asked} times in 5 s")
    scene.alive("s")


@attack(WHO, "reports lies about a token, a thousand times")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    asked = len(issuer.requests)
    _, found = scene.get("s")
    for token in (found["access_token"], "never-given", "", "\u0000", "a" * 60_000):
        for status in (401, 403, 200, 500, 0, -1, 99999999999, 1e300, "401", None, [401]):
            back, told = scene.request(
                "POST", "/v1/sessions/s/report", {"token": token, "status": status, "body": "{" * 2000}
            )
            must(back in (200, 400, 413, 401, 503), f"a report is answered {back} {told}")
    must(len(issuer.requests) - asked <= 5, f"the issuer was asked {len(issuer.requests) - asked} times")
    back, _ = scene.get("s")
    must(back == 200, "the session is over by lies of a program")


@attack(WHO, "sends JSON that is deep, long, doubled, or none")
def _(scene: Scene) -> None:
    scene.ready("s")
    for body in (
        b"[" * 60_000,
        b'{"a":' * 12_000,
        b'{"token":"a","token":"b","status":401}',
        b"\xff" * 1000,
        b"{",
        b"null",
        b"[]",
        b"1e999999",
        b'{"token":"\\ud800","status":401}',
        b'{"status":' + b"1" * 60_000 + b"}",
        b'{"' + b"k" * 60_000 + b'":1}',
        b"{" + b",".join(b'"%d":1' % number for number in range(7000)) + b"}",
    ):
        for path in (
            "/v1/sessions/s/report",
            "/v1/sessions/s/refresh",
            "/v1/unlock",
            "/v1/vault/slots",
            "/v1/sessions/s/login",
            "/v1/sessions/s/logout",
        ):
            begun = time.monotonic()
            back, told = scene.request("POST", path, body)
            must(back in (400, 401, 403, 413, 200), f"{path} answers {back} {told} to {body[:20]!r}")
            must(time.monotonic() - begun < 1, f"{path} takes {time.monotonic() - begun:.1f} s for {body[:20]!r}")
            must(back != 200 or path.endswith(("refresh", "unlock")), f"{path} takes {body[:30]!r}")
    scene.alive("s")


def listening() -> int:
    """How many TCP sockets of this machine wait for connections."""
    return sum(line.split()[3] == "0A" for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:])


@attack(WHO, "begins 300 logins and answers none")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    scene.stop()
    scene.configure(scene.session("s", issuer) + scene.session("b", issuer, flow="browser"))
    scene.start()
    before, ports = scene.resident(), listening()
    connections = []
    for _ in range(300):
        connection = scene.connect()
        connection.sendall(head("POST", "/v1/sessions/b/login", "Content-Length: 2") + b"{}")
        connections.append(connection)
    must(slowest_ping(scene, 1) < 0.5, "others wait")
    scene.alive("s", within=2)
    scene.little_grown(before, 64)
    must(listening() - ports <= 20, f"{listening() - ports} ports are open")
    for connection in connections:
        connection.close()
    scene.alive("s")


@attack(WHO, "answers the question of somebody else's login")
def _(scene: Scene) -> None:
    issuer = scene.issuer()
    scene.configure(scene.session("s", issuer))
    scene.start()
    victim = scene.connect()
    victim.sendall(head("POST", "/v1/sessions/s/login", "Content-Length: 2") + b"{}")
    need(victim)
    for guess in [str(number) for number in range(50)] + ["0" * 32, "..", "%00", "a" * 2000]:
        status, found = scene.request("POST", f"/v1/sessions/s/login/{guess}", {"value": "evil"})
        must(status >= 400, f"login {guess[:20]} took an answer: {found}")
    victim.close()
    scene.alive()


def need(connection: socket.socket) -> None:
    """Waits for the agent's question to the person who logs in."""
    text = b""
    connection.settimeout(5)
    while b'"need"' not in text:
        piece = connection.recv(65536)
        must(piece, "the login ended")
        text += piece


@attack(WHO, "sends descriptors along, to fill the agent's table")
def _(scene: Scene) -> None:
    scene.ready("s")
    table = pathlib.Path(f"/proc/{scene.process.pid}/fd")
    before = len(list(table.iterdir())) if os.access(table, os.R_OK) else None
    with open("/dev/null", "rb") as null:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [null.fileno()] * 200))]
        connections = []
        for _ in range(50):
            connection = scene.connect()
            connection.sendmsg([head("GET", "/v1")], rights)
            must(connection.recv(65536).startswith(b"HTTP/1.1 200"), "a request with descriptors is not answered")
            connections.append(connection)
    if before is not None:
        found = len(list(table.iterdir()))
        must(found <= before + 60, f"the agent has {found - before} descriptors more")
    for connection in connections:
        connection.close()
    scene.alive("s")


@attack(WHO, "sends 3,000 signals that a program may send")
def _(scene: Scene) -> None:
    scene.ready("s")
    for _ in range(1000):
        for number in (signal.SIGHUP, signal.SIGPIPE, signal.SIGURG):
            os.kill(scene.process.pid, number)
    scene.alive("s", within=10)


@attack(WHO, "puts a pipe that nobody writes into the place of the configuration")
def _(scene: Scene) -> None:
    scene.ready("s")
    text = scene.configuration.read_text()
    for make in (
        lambda path: os.mkfifo(path, 0o600),
        lambda path: path.mkdir(),
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: huge(path),
        lambda path: path.write_bytes(b"\xff\x00" * 1000),
        lambda path: path.write_text("a." * 30_000 + "b=1"),
        lambda path: path.write_text("a=" + "[" * 50_000),
        lambda path: path.write_text("[" + "x" * 4_000_000),
        lambda path: path.write_text("".join(f"[session.s{n}]\n" for n in range(100_000))),
    ):
        shutil.rmtree(scene.configuration) if scene.configuration.is_dir() else scene.configuration.unlink()
        make(scene.configuration)
        begun = time.monotonic()
        status, found = scene.request("POST", "/v1/reload", {})
        must(status != 200, f"it was taken: {found}")
        must(time.monotonic() - begun < 3, f"the reload took {time.monotonic() - begun:.1f} s")
        scene.alive("s")
    shutil.rmtree(scene.configuration) if scene.configuration.is_dir() else scene.configuration.unlink()
    scene.configure(text)
    must(scene.request("POST", "/v1/reload", {})[0] == 200, "the good configuration is not taken again")


def huge(path: pathlib.Path) -> None:
    with open(path, "wb") as file:
        file.truncate(1 << 40)


@attack(WHO, "gives the agent a hook that never ends, prints without end, or leaves a child behind")
def _(scene: Scene) -> None:
    for command in (
        ["sh", "-c", "while :; do :; done"],
        ["sh", "-c", "exec yes"],
        ["sh", "-c", "sleep 600 & exec sleep 600"],
        ["/nonexistent"],
        ["sh", "-c", "kill -9 $PPID"],
        ["sh", "-c", "setsid sleep 600 & exit 0"],
    ):
        issuer = scene.ready("s", more=f"[hooks]\nevent = {json.dumps(command)}\n")
        for _ in range(3):
            scene.request("POST", "/v1/sessions/s/refresh", {})
        must(slowest_ping(scene, 0.5) < 0.5, "others wait")
        scene.alive("s")
        begun = time.monotonic()
        scene.stop()
        must(time.monotonic() - begun < 22, f"the end took {time.monotonic() - begun:.0f} s with {command}")
        shutil.rmtree(scene.store)
        issuer.close()


@attack(WHO, "has a path that would be a line of its own in the audit log")
def _(scene: Scene) -> None:
    issuer = scene.issuer()
    scene.configure(scene.session("s", issuer, f'allow = [{{ exe = "{scene.programs}/tokenctl" }}]'))
    scene.start()
    forged = json.dumps({"time": 1, "session": "s", "decision": "served", "exe": "forged"})
    odd = scene.home / ("x\n" + forged.replace("/", "_") + "\n\x1b]0;y\x07")
    shutil.copy(os.path.realpath(sys.executable), odd)
    subprocess.run(
        [odd, "-c", SPEAK, scene.socket, "GET /v1/sessions/s/token"],
        capture_output=True,
        check=True,
        timeout=30,
        env=os.environ | {"PYTHONHOME": sys.prefix},
    )
    log = scene.store / "audit.log"
    lines = until(5, lambda: log.exists() and log.read_bytes().split(b"\n")[:-1], "a line in the audit log")
    found = [json.loads(line) for line in lines]
    must(all(entry.get("exe") != "forged" for entry in found), f"a forged line stands there: {found}")
    must(any(entry.get("decision") == "hidden" for entry in found), f"the real one is missing: {found}")
    shown = scene.ctl("audit").stdout
    must("\x1b" not in shown and len(shown.splitlines()) == len(found), f"tokenctl audit shows {shown!r}")


@attack(WHO, "runs another file at an allowed program's path, in a mount namespace of its own")
def _(scene: Scene) -> None:
    issuer = scene.issuer()
    allowed = scene.home / "allowed"
    shutil.copy("/bin/cat", allowed)
    scene.configure(scene.session("s", issuer, f'allow = [{{ exe = "{allowed}" }}]'))
    scene.start()
    script = (
        f'mount --bind "$(readlink -f {sys.executable})" {allowed} && exec {allowed} -c "$0" "$1" "GET /v1/sessions/s"'
    )
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, SPEAK, scene.socket],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
        env=os.environ | {"PYTHONHOME": sys.prefix},
    )
    if "HTTP/1.1" not in done.stdout:
        raise NotHere(f"no mount namespace of one's own: {done.stderr.strip()[:100]}")
    must("HTTP/1.1 404" in done.stdout.splitlines()[0], f"the session is shown: {done.stdout[:80]}")


@attack(WHO, "looks for the difference between a hidden session and one that is not there")
def _(scene: Scene) -> None:
    issuer = scene.issuer()
    scene.configure(scene.session("hidden", issuer, 'allow = [{ exe = "/bin/cat" }]'))
    scene.start()
    for method, path, body in (
        ("GET", "", None),
        ("GET", "/token", None),
        ("POST", "/refresh", {}),
        ("POST", "/logout", {}),
        ("POST", "/report", {"token": "x", "status": 401}),
        ("POST", "/login", {}),
        ("POST", "/login/abc", {"value": "x"}),
        ("GET", "/token?scope=a", None),
        ("DELETE", "", None),
    ):
        one, two = (scene.request(method, f"/v1/sessions/{name}{path}", body) for name in ("hidden", "absent"))
        text = json.dumps(one).replace("hidden", "absent") if not isinstance(one[1], bytes) else str(one)
        must(
            text == (json.dumps(two) if not isinstance(two[1], bytes) else str(two)),
            f"{method} {path}: {one} and {two}",
        )
    for path in ("/v1/events?session=", "/v1/audit?session="):
        connections = [scene.raw(head("GET", path + name)).split(b"\r\n")[0] for name in ("hidden", "absent")]
        must(connections[0] == connections[1], f"{path}: {connections}")
    _, metrics = scene.request("GET", "/v1/metrics")
    must(b"hidden" not in metrics, "the metrics name it")
    must("hidden" not in json.dumps(scene.request("GET", "/v1/doctor")[1]), "doctor names it")


@attack(WHO, "waits with 900 requests for one slow refresh, and half of them leave")
def _(scene: Scene) -> None:
    issuer = scene.ready("s", "t")
    issuer.life = 1
    scene.request("POST", "/v1/sessions/s/refresh", {})
    issuer.life = 3600
    issuer.says("/token", lambda request, connection: time.sleep(3) or answer(200, issuer.good()))
    time.sleep(1)
    before, asked = scene.resident(), len(issuer.requests)
    connections = []
    with contextlib.suppress(OSError):
        for _ in range(900):
            connection = scene.connect()
            connection.sendall(head("GET", "/v1/sessions/s/token"))
            connections.append(connection)
    must(slowest_ping(scene, 1) < 0.5, "others wait")
    for connection in connections[::2]:
        connection.close()
    served = 0
    for connection in connections[1::2]:
        connection.settimeout(15)
        served += connection.recv(65536).startswith(b"HTTP/1.1 200")
        connection.close()
    must(served == len(connections[1::2]), f"only {served} of {len(connections[1::2])} were served")
    must(len(issuer.requests) - asked <= 1, f"the issuer was asked {len(issuer.requests) - asked} times")
    scene.little_grown(before, 64)
    scene.alive("s", "t")


@attack(WHO, "plants files in the place of the socket and its directory")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    scene.stop()
    place = pathlib.Path(scene.socket)
    for make in (
        lambda: place.symlink_to("/etc/passwd"),
        lambda: place.mkdir(),
        lambda: os.mkfifo(place),
        lambda: place.write_text("x"),
        lambda: (place.parent.rmdir(), place.parent.symlink_to("/tmp")),
    ):
        place.parent.mkdir(mode=0o700, exist_ok=True)
        make()
        scene.start(ready=False)
        with contextlib.suppress(subprocess.TimeoutExpired):
            scene.process.wait(5)
        here = scene.process.poll() is None
        if here:
            scene.alive("s")
        must(here or "tokenagent" in scene.text_of_log(), "it says nothing")
        scene.stop()
        for path in (place, place.parent):
            if path.is_symlink() or path.is_file() or path.is_fifo() or path.is_socket():
                path.unlink()
            elif path.is_dir():
                shutil.rmtree(path)
    must(
        issuer is not None and pathlib.Path("/etc/passwd").read_text().startswith("root"), "a file outside was changed"
    )


@attack(WHO, "floods the agent with 2,000 requests to reload")
def _(scene: Scene) -> None:
    scene.ready("s")
    connection = scene.connect()
    connection.sendall(head("POST", "/v1/reload", "Content-Length: 0") * 2000)
    threading.Thread(target=is_closed, args=(connection,), daemon=True).start()
    must(slowest_ping(scene, 2) < 1, "others wait")
    connection.close()
    scene.alive("s")


@attack(WHO, "locks and unlocks without pause while others ask")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    end = time.monotonic() + 4
    while time.monotonic() < end:
        scene.request("POST", "/v1/lock", {})
        status, found = scene.get("s")
        must(status == 423, f"a locked agent answers {status} {found}")
        scene.request("POST", "/v1/unlock", {})
        must(scene.get("s")[0] == 200, "an unlocked agent does not serve")
    scene.stop()
    scene.start()
    scene.alive("s")
    must(scene.request("POST", "/v1/sessions/s/refresh", {})[0] == 200, "the session is lost")
    must(len(issuer.requests) < 6, f"the issuer was asked {len(issuer.requests)} times")


@attack(WHO, "kills the process that runs commands")
def _(scene: Scene) -> None:
    scene.ready("s", more='[hooks]\nevent = ["true"]\n')
    children = subprocess.run(
        ["pgrep", "-P", str(scene.process.pid)], capture_output=True, text=True, check=False
    ).stdout.split()
    runners = [int(pid) for pid in children]
    everyone = subprocess.run(
        ["pgrep", "-s", str(os.getsid(scene.process.pid))], capture_output=True, text=True, check=False
    ).stdout
    runners += [int(pid) for pid in everyone.split() if int(pid) != scene.process.pid]
    must(runners, "there is none")
    for pid in set(runners):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(OSError, CameThrough):
        scene.request("POST", "/v1/sessions/s/refresh", {})
    if scene.process.poll() is None:
        scene.alive("s")
    else:
        scene.start()
        scene.alive("s")


@attack(WHO, "follows events of everybody on 200 connections and closes them in the middle")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    for _ in range(3):
        connections = []
        for _ in range(200):
            connection = scene.connect()
            connection.sendall(head("GET", "/v1/events"))
            connections.append(connection)
        scene.request("POST", "/v1/sessions/s/refresh", {})
        text = connections[0].recv(65536)
        must(SECRET_MARK.encode() not in text and b"at-" not in text, "an event shows a token")
        for connection in connections:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
            connection.close()
        scene.alive("s")
    must(issuer.count < 10, "the issuer was asked again and again")


@attack(WHO, "takes the agent's place at its socket and never answers")
def _(scene: Scene) -> None:
    issuer = scene.issuer()
    scene.configure(scene.session("s", issuer))
    place = pathlib.Path(scene.socket)
    place.parent.mkdir(mode=0o700, parents=True)
    held = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(scene.socket)
        place.chmod(0o600)
        listener.listen(64)

        def hold() -> None:
            with contextlib.suppress(OSError):
                while True:
                    held.append(listener.accept()[0])

        threading.Thread(target=hold, daemon=True).start()
        for arguments, most in (
            (("get", "s", "--timeout", "1s"), 2),
            (("status", "--check"), 2),
            (("status",), 5),
            (("list",), 5),
            (("refresh", "s"), 5),
            (("logout", "s"), 5),
            (("doctor",), 10),
        ):
            begun = time.monotonic()
            done = scene.ctl(*arguments, timeout=60)
            took = time.monotonic() - begun
            must(done.returncode != 0, f"{arguments} is content with silence")
            must(took < most + 3, f"{arguments} hangs for {took:.1f} s")  # three seconds for a busy machine
        must(held, "nobody asked")
    for connection in held:
        connection.close()


@attack(WHO, "asks for tokens of 200 scopes at once, while another asks for the plain one")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")

    def slow(request: object, connection: socket.socket) -> bytes:
        time.sleep(0.15)
        return issuer.token(request, connection)

    issuer.says("/token", slow)
    connections = []
    for number in range(200):
        connection = scene.connect()
        connection.sendall(head("GET", f"/v1/sessions/s/token?scope=x{number}"))
        connections.append(connection)
    until(10, lambda: len(issuer.seen("/token")) > 2, "the flood to begin")
    slowest, end = 0.0, time.monotonic() + 5
    while time.monotonic() < end:
        begun = time.monotonic()
        done = scene.ctl("get", "s")
        must(done.returncode == 0, f"the plain token is not served: {done.stderr}")
        slowest = max(slowest, time.monotonic() - begun)
    scene.figures.append(f"longest plain get {slowest * 1000:.0f} ms, {len(issuer.seen('/token'))} requests")
    must(slowest < 2, f"a plain get took {slowest:.1f} s")
    for connection in connections:
        connection.close()
    scene.alive("s")


@attack(WHO, "claims to the audit log that another program has called it")
def _(scene: Scene) -> None:
    scene.ready("s")
    claims = (
        "/usr/bin/git",
        "%0A{%22time%22:1,%22session%22:%22s%22,%22decision%22:%22served%22,%22exe%22:%22/usr/bin/git%22}%0A",
        "%1B]0;owned%07",
        "%E2%80%AE/usr/bin/git",
        "%22,%22exe%22:%22/usr/bin/git",
        "%FF%FE",
        "/" + "x" * 6000,
        "",
    )
    for claim in claims:
        scene.raw(head("GET", "/v1/sessions/s/token", f"Tokenagent-Caller: {claim}", "Connection: close"))
    own = os.path.realpath(sys.executable)
    log = scene.store / "audit.log"

    def served() -> list[dict]:
        lines = log.read_bytes().split(b"\n")[:-1] if log.exists() else []
        return [each for each in map(json.loads, lines) if each.get("kind") == "access"]

    found = until(10, lambda: served()[-len(claims) :] if len(served()) >= len(claims) else None, "the audit log")
    for entry in found:
        must(entry.get("exe") == own, f"another program is said to have asked: {entry}")
        must("git" not in str(entry.get("callers", "")), f"a claim is taken for what the kernel says: {entry}")
        must(len(json.dumps(entry)) < 4000, f"a claim fills the log: {len(json.dumps(entry))}")
    claimed = [entry.get("claimed_caller") for entry in found]
    must("/usr/bin/git" in claimed, f"a plain claim is not written down: {claimed}")
    shown = scene.ctl("audit").stdout
    must("\x1b" not in shown and "\u202e" not in shown, f"tokenctl audit shows {shown!r}")
    must(len(shown.splitlines()) == len(log.read_bytes().splitlines()), "a claim makes a line of its own")


@attack(WHO, "is run by the agent and writes escapes, secrets and megabytes to its standard error")
def _(scene: Scene) -> None:
    issuer = scene.issuer()
    tool = scene.home / "tool"
    for script in (
        f"echo {SECRET_MARK}-secret; echo {SECRET_MARK}-secret >&2; exit 1",
        f"echo {SECRET_MARK}-secret; printf 'a %s-secret b' {SECRET_MARK} >&2; exit 1",
        "printf '\\033]0;owned\\007\\033[2J\\r\\342\\200\\256x\\n' >&2; exit 1",
        "printf 'one\\ntokenagent: all is well\\n' >&2; exit 1",
        "head -c 200000000 /dev/zero >&2; exit 1",
        "yes >&2",
        "head -c 100000 /dev/urandom >&2; exit 1",
        "while :; do echo x >&2; done & exit 1",
    ):
        tool.write_text(f"#!/bin/sh\n{script}\n")
        tool.chmod(0o700)
        scene.configure(
            f"[hooks]\nevent = {json.dumps([str(tool)])}\n"
            + scene.session("s", issuer, f"client_secret_command = {json.dumps([str(tool)])}")
            + scene.session("t", issuer)
        )
        scene.start()
        scene.log_in("t")
        before = scene.resident()
        with contextlib.suppress(subprocess.TimeoutExpired):
            done = scene.ctl("login", "s", "--username", "u", "--password-stdin", stdin="p\n", timeout=5)
            scene.silent_about_secrets(done.stdout, done.stderr)
            must("\x1b" not in done.stderr and "\u202e" not in done.stderr, f"the person sees {done.stderr!r}")
        scene.alive("t", within=2)
        scene.little_grown(before)
        text = scene.log.read_bytes()
        must(len(text) < 100_000, f"the log has {len(text)} bytes after {script}")
        odd = {byte for byte in text if byte < 32 and byte != 10 or byte >= 127}
        must(not odd, f"the log holds the bytes {sorted(odd)[:8]} after {script}")
        must(not any(line.startswith(b"tokenagent: all") for line in text.splitlines()), "a program writes a log line")
        scene.silent_about_secrets(scene.ctl("status", "s").stdout)
        scene.stop()


@attack(WHO, "names a user that would be a line of its own in the answer of a helper")
def _(scene: Scene) -> None:
    issuer = scene.ready("s", extra='hosts = ["127.0.0.1"]')
    question = f"protocol=http\nhost=127.0.0.1:{issuer.port}\n\n"
    for name in ("x\npassword=evil", "x\r\npassword=evil", "x\x0bpassword=evil", "x\n\nquit=1", "\x1b]0;owned\x07"):
        git = scene.ctl("git-credential", "--session", "s", "--username", name, "get", stdin=question)
        keyring = scene.ctl("keyring", "--session", "s", "--mode", "creds", "get", issuer.url, name)
        for done in (git, keyring):
            lines = done.stdout.replace("\r", "\n").replace("\x0b", "\n").splitlines()
            must("password=evil" not in lines and "\x1b" not in done.stdout, f"{name!r} adds a line: {done.stdout!r}")
            must("at-" not in done.stdout or len(lines) <= 2, f"{name!r}: {done.stdout!r}")
    good = scene.ctl("git-credential", "--session", "s", "get", stdin=question)
    must("at-" in good.stdout, f"a good question gets nothing: {good}")
