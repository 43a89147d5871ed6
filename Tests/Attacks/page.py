# SPDX-License-Identifier: MIT
"""A hostile web page: it reaches the redirect listener of a login, and what the issuer says is shown at its end."""

import contextlib
import json
import socket
import subprocess
import urllib.parse

from scene import SECRET_MARK, Issuer, Scene, answer, attack, must, until

WHO = "web page"


def place_of(back: bytes) -> str:
    """The path that a browser is taken to, without the empty part after the #."""
    return back.decode().split("Location: ")[1].split("\r\n")[0].removesuffix("#")


class Login:
    """A login that waits for a browser to come back."""

    def __init__(self, scene: Scene, name: str = "s") -> None:
        self.process = subprocess.Popen(
            [scene.programs / "tokenctl", "login", name, "--no-browser"],
            env=scene.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        scene.children.append(self.process)
        self.said = b""
        address = None
        while address is None:
            line = self.process.stdout.readline()
            must(line, f"no login begins: {self.said!r}")
            self.said += line
            address = next((word for word in line.decode().split() if "redirect_uri=" in word), None)
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(address).query))
        self.state = query["state"]
        place = urllib.parse.urlsplit(query["redirect_uri"])
        self.port, self.path = place.port, place.path

    def send(self, data: bytes, timeout: float = 20) -> bytes:
        """What comes back for these bytes; nothing if nobody listens."""
        found = b""
        with contextlib.suppress(OSError):
            with socket.create_connection(("127.0.0.1", self.port), timeout) as connection:
                connection.sendall(data)
                while piece := connection.recv(65536):
                    found += piece
        return found

    def ask(self, path: str, *lines: str, host: str | None = None, method: str = "GET") -> bytes:
        host = host or f"127.0.0.1:{self.port}"
        return self.send("\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {host}", *lines, "", ""]).encode())

    def come_back(self, *lines: str, **members: str) -> str:
        """Brings the issuer's answer, as its redirect does; the path that the browser is taken to."""
        query = urllib.parse.urlencode({"state": self.state} | members)
        back = self.ask(f"{self.path}?{query}", *lines)
        must(back.startswith(b"HTTP/1.1 303 "), f"the answer is refused: {back[:80]!r}")
        return place_of(back)

    def finish(self) -> tuple[int, str]:
        rest, _ = self.process.communicate(timeout=60)
        return self.process.returncode, (self.said + rest).decode("utf-8", "surrogateescape")


def waiting(scene: Scene) -> tuple[Issuer, Login]:
    issuer = scene.issuer()
    scene.configure(scene.session("s", issuer, flow="browser"))
    scene.start()
    return issuer, Login(scene)


@attack(WHO, "sends the redirect listener other states, hosts, methods and headers without end")
def _(scene: Scene) -> None:
    issuer, login = waiting(scene)
    before = scene.resident()
    right = f"{login.path}?code=evil&state={login.state}"
    mark = "evil-mark"
    for back in (
        login.ask(f"{login.path}?code=evil&state={mark}"),
        login.ask(f"{login.path}?code=evil"),
        login.ask(f"{login.path}?code=evil&state="),
        login.ask(right, host="evil.example"),
        login.ask(right, host=f"localhost.evil.example:{login.port}"),
        login.ask(right, host=f"127.0.0.1:{login.port}@evil.example"),
        login.ask(right, method="PUT"),
        login.ask(right, method="OPTIONS"),
        login.ask(f"/{mark}?<script>alert(1)</script>&code=evil&state={login.state}"),
        login.ask(f"//evil.example{login.path}?code=evil&state={login.state}"),
        login.ask(right + "&state=" + login.state),
        login.ask(right, *(f"Cookie: c{number}={'x' * 4000}" for number in range(60))),
        login.send(b"GET " + b"/" * 300_000),
        login.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
    ):
        if back.startswith(b"HTTP/1.1 303 "):
            place = place_of(back)
            must(place.startswith("/rejected/"), f"the browser is taken to {place}")
            back = login.ask(place)
        status = back.split(b" ")[1:2]
        must(status in ([b"400"], [b"404"], [b"405"], [b"413"], [b"415"], [b"431"], []), f"{back[:80]!r}")
        must(mark.encode() not in back and b"<script" not in back, f"the page shows the request: {back[-300:]!r}")
    silent = [socket.create_connection(("127.0.0.1", login.port), 20) for _ in range(100)]
    for connection in silent:
        with contextlib.suppress(OSError):
            connection.sendall(b"GET /")
    must(not issuer.seen("/token"), "a code of somebody else was exchanged")
    scene.little_grown(before)
    scene.alive()
    for connection in silent:
        connection.close()
    # The person's browser has the cookies of every server on this machine.
    page = login.ask(login.come_back(*(f"Cookie: c{number}={'x' * 3000}" for number in range(20)), code="good"))
    must(b"You are logged in" in page, f"the browser is shown {page[-400:]!r}")
    status, said = login.finish()
    must(status == 0, f"the login ends with {status}: {said}")
    must([request.form.get("code") for request in issuer.seen("/token")] == ["good"], "another code was exchanged")
    must("evil" not in said and "\x1b" not in said, f"the terminal shows {said!r}")


@attack(WHO, "looks for the page that shows how somebody's login ended")
def _(scene: Scene) -> None:
    _, login = waiting(scene)
    place = login.come_back(code="good")
    for guess in (place[:-1], place + "a", place.upper(), "/outcome", "/outcome/", "/outcome/..", "/", login.path):
        back = login.ask(guess)
        must(b"logged in" not in back and b" 200 " not in back.split(b"\r\n")[0], f"{guess} shows {back[-300:]!r}")
    back = login.ask(place, host="evil.example")
    must(b"logged in" not in back, "the page is shown under another name")
    page = login.ask(place)
    must(b"You are logged in" in page, f"the browser is shown {page[-400:]!r}")
    must(b"code=" not in page and login.state.encode() not in page, "the page holds the answer")
    must(b"Cache-Control: no-store" in page and b"Referrer-Policy: no-referrer" in page, "the page is kept")
    must(login.finish()[0] == 0, "the login failed")
    until(20, lambda: not login.ask(place), "the listener to go")


@attack("issuer", "puts a page of its own into the one that ends a login")
def _(scene: Scene) -> None:
    issuer = scene.issuer()
    scene.configure(scene.session("s", issuer, flow="browser"))
    scene.start()
    text = "</p></main><script>alert(1)</script><img src=x onerror=alert(1)>\x1b]0;owned\x07\u202e<style>*{}</style>"
    for refuses in (True, False):
        login = Login(scene)
        if refuses:
            place = login.come_back(error="access_denied", error_description=text, error_uri="javascript:alert(1)")
        else:
            issuer.says("/token", answer(400, {"error": "invalid_grant", "error_description": text}))
            place = login.come_back(code="good")
        page = login.ask(place).decode()
        must("The login failed" in page and "tokenctl login s" in page, f"the browser is shown {page[-400:]}")
        for word in ("<script", "<img", "javascript:", "\x1b", "\u202e", "<style>*"):
            must(word not in page, f"the page holds {word!r}")
        must("Content-Security-Policy: default-src 'none'" in page, "the page may load something")
        status, said = login.finish()
        must(status != 0 and "\x1b" not in said and "\u202e" not in said, f"{status}: {said!r}")
    scene.silent_about_secrets(json.dumps(scene.state("s")))


@attack("issuer", "calls itself another issuer in its document, to be told that one's client")
def _(scene: Scene) -> None:
    honest, evil = scene.issuer(), scene.issuer()
    secret = f"{SECRET_MARK}-client"

    def document(server: Issuer) -> dict:
        return {
            "issuer": honest.url,
            "authorization_endpoint": f"{server.url}/authorize",
            "token_endpoint": f"{server.url}/token",
            "revocation_endpoint": f"{server.url}/revoke",
            "registration_endpoint": f"{server.url}/register",
            "response_types_supported": ["code"],
        }

    for server, client in ((honest, {"client_id": "honest-client", "client_secret": secret}), (evil, None)):
        server.says("/.well-known/openid-configuration", answer(200, document(server)))
        server.says("/register", answer(201, client) if client else answer(400, {"error": "invalid_client_metadata"}))
    table = f'[session.s]\nissuer = "{honest.url}"\nscopes = ["all"]\n'
    elsewhere = f'metadata_url = "{evil.url}/.well-known/openid-configuration"\n'
    scene.configure(table + table.replace(".s]", ".t]") + elsewhere)
    scene.start()
    login = Login(scene)
    login.ask(login.come_back(code="good"))
    must(login.finish()[0] == 0, f"a login at the honest server fails: {login.said!r}")
    must(honest.seen("/register"), "no client was registered")
    done = scene.ctl("login", "t", "--no-browser", timeout=60)
    must(done.returncode != 0, f"a login at a server that registers nobody: {done.stdout}")
    must(evil.seen("/register"), f"the other server was not asked to register: {done.stderr}")
    told = str([(request.path, request.headers, request.body) for request in evil.requests])
    for word in ("honest-client", secret, "at-", SECRET_MARK):
        must(word not in told and word not in done.stdout, f"the other server is told {word}")
    # A reload that turns the session to the other document tells it nothing of the login either.
    scene.configure(table + elsewhere)
    scene.ctl("reload")
    scene.ctl("refresh", "s")
    scene.ctl("logout", "s")
    told = str([(request.path, request.headers, request.body) for request in evil.requests])
    must(SECRET_MARK not in told and "at-" not in told, "the login's tokens went to the other document's server")
