# SPDX-License-Identifier: MIT
"""A hostile forward proxy, and an environment that names one."""

import collections.abc
import contextlib
import select
import socket
import threading
import time

from scene import SECRET_MARK, Issuer, Scene, attack, must, until

WHO = "forward proxy"
OPENED = b"HTTP/1.1 200 Connection established\r\n\r\n"


def relay(one: socket.socket, port: int) -> bytes:
    """Carries bytes between `one` and a port of this machine until either ends; what `one` sent."""
    sent = b""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 20) as two:
        while True:
            for ready in select.select([one, two], [], [], 30)[0] or [None]:
                piece = ready.recv(65536) if ready else b""
                if not piece:
                    return sent
                sent += piece if ready is one else b""
                (two if ready is one else one).sendall(piece)
    return sent


Reply = collections.abc.Callable[[socket.socket], "bytes | None"]


class ForwardProxy:
    """Reads the head of each request and does what `reply` does, which returns what came behind it."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.heads: list[bytes] = []
        self.received = b""
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            connection.settimeout(60)
            head = b""
            while b"\r\n\r\n" not in head:
                piece = connection.recv(65536)
                if not piece:
                    break
                head += piece
            self.heads.append(head)
            self.received += self.reply(connection) or b""


def honest(port: int) -> Reply:
    def reply(connection: socket.socket) -> bytes:
        connection.sendall(OPENED)
        return relay(connection, port)

    return reply


def saying(data: bytes, then_reads: bool = True) -> Reply:
    def reply(connection: socket.socket) -> bytes:
        connection.sendall(data)
        found = b""
        connection.settimeout(1)
        with contextlib.suppress(OSError):
            while then_reads and (piece := connection.recv(65536)):
                found += piece
        return found

    return reply


def behind_proxy(scene: Scene, extra: str = "") -> tuple[Issuer, ForwardProxy]:
    """A session `s` with TLS that is reached through a proxy, and one, `other`, that is not."""
    file, tls = scene.certificate("IP:127.0.0.1")
    issuer, other = scene.issuer(tls), scene.issuer()
    proxy = ForwardProxy(honest(issuer.port))
    keys = f'ca_file = "{file}"\nproxy = "{proxy.url}"\n{extra}'
    scene.configure(scene.session("s", issuer, keys) + scene.session("other", other))
    scene.start()
    scene.log_in("s")
    scene.log_in("other")
    must(proxy.heads and proxy.heads[0].startswith(f"CONNECT 127.0.0.1:{issuer.port} ".encode()), "no proxy is used")
    return issuer, proxy


def refresh(scene: Scene, name: str = "s") -> int:
    return scene.request("POST", f"/v1/sessions/{name}/refresh", {}, timeout=60)[0]


@attack(WHO, "answers in the server's place, with a certificate of its own")
def _(scene: Scene) -> None:
    issuer, proxy = behind_proxy(scene)
    for names in ("IP:127.0.0.1", "DNS:localhost", "DNS:*"):
        evil = scene.issuer(scene.certificate(names, "evil")[1])
        proxy.reply = honest(evil.port)
        must(refresh(scene) != 200, f"a server with {names} is believed")
        must(not evil.requests, f"it was sent {len(evil.requests)} requests")
    scene.alive("s", "other")
    asked = len(issuer.requests)
    proxy.reply = honest(issuer.port)
    until(60, lambda: refresh(scene) == 200, "the session to be refreshed again")
    must(len(issuer.requests) > asked, "it was refreshed elsewhere")
    for secret in (SECRET_MARK.encode(), b"at-", b"/token", b"tokenagent/"):
        must(secret not in proxy.received, f"the proxy has seen {secret!r}")


@attack(WHO, "answers CONNECT with nonsense, with too much, and with bytes of its own behind it")
def _(scene: Scene) -> None:
    issuer, proxy = behind_proxy(scene)
    before, asked = scene.resident(), len(issuer.requests)
    elsewhere = scene.issuer()
    forged = b'HTTP/1.1 200 OK\r\nContent-Length: 54\r\n\r\n{"access_token":"forged","token_type":"Bearer","x":12}'
    for data in (
        b"",
        b"\x00" * 1000,
        b"HTTP/2 200\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 999 \x1b]0;owned\x07\r\n\r\n",
        b"HTTP/1.1 502 \xe2\x80\xae" + b"x" * 5000 + b"\r\n\r\n",
        b"HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"\x1b[2J\"\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: " + elsewhere.url.encode() + b"/token\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 2_000_000,
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200_000,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 50_000,
        OPENED + forged,
        OPENED + b"\x16\x03\x03\x00\x7a",
        OPENED + b"\x15\x03\x03\x00\x02\x02\x28",
    ):
        proxy.reply = saying(data)
        begun = time.monotonic()
        status, found = scene.request("POST", "/v1/sessions/s/refresh", {}, timeout=60)
        must(status != 200, f"{data[:40]!r} brings a token: {found}")
        must(time.monotonic() - begun < 40, f"{data[:40]!r} takes {time.monotonic() - begun:.0f} s")
        scene.alive("s", "other", within=2)
        must(scene.get("s")[1]["access_token"] != "forged", "a forged token is served")
        for text in (scene.ctl("status", "s").stdout, scene.text_of_log()):
            must("\x1b" not in text and "\u202e" not in text, f"the proxy moves the terminal: {text[-200:]!r}")
    must(len(issuer.requests) == asked and not elsewhere.requests, "a request went on to a server")
    must(SECRET_MARK.encode() not in proxy.received and b"/token" not in proxy.received, "the proxy saw a request")
    scene.little_grown(before)
    proxy.reply = honest(issuer.port)
    until(120, lambda: refresh(scene) == 200, "the session to be refreshed again")


@attack(WHO, "asks for its credentials again and again, and shows them")
def _(scene: Scene) -> None:
    place = scene.home / "config/tokenagent/credentials"
    place.write_text(f"al:{SECRET_MARK}-proxy\n")
    place.chmod(0o600)
    issuer, proxy = behind_proxy(scene, f'proxy_credentials_file = "{place}"')
    proxy.heads.clear()
    shown = SECRET_MARK.encode() + b"-proxy"
    proxy.reply = saying(b"HTTP/1.1 407 " + shown + b"\r\nProxy-Authenticate: Basic realm=\"" + shown + b"\"\r\n\r\n")
    for _ in range(4):
        must(refresh(scene) != 200, "a refused connection brings a token")
    given = sum(b"proxy-authorization:" in head.lower() for head in proxy.heads)
    must(given <= 1, f"rejected credentials were shown {given} times")
    scene.silent_about_secrets(
        scene.ctl("status", "s").stdout, scene.ctl("refresh", "s").stderr, scene.ctl("doctor").stdout
    )
    scene.alive("s", "other")
    must(issuer.seen("/token"), "nothing was ever sent")


@attack(WHO, "is named by the environment for this machine, or by a variable that is not read")
def _(scene: Scene) -> None:
    file, tls = scene.certificate("IP:127.0.0.1")
    issuer, plain = scene.issuer(tls), scene.issuer()
    thief = ForwardProxy(saying(OPENED))
    names = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "ftp_proxy")
    sessions = scene.session("s", issuer, f'ca_file = "{file}"') + scene.session("t", plain)
    scene.configure(f'[agent]\nproxy = "{thief.url}"\n{sessions}')
    scene.environment |= {name: thief.url for name in names} | {"no_proxy": "", "NO_PROXY": "x.example"}
    scene.start()
    scene.log_in("s")
    scene.log_in("t")
    for name in ("s", "t"):
        must(refresh(scene, name) == 200, f"{name} is not refreshed")
    scene.ctl("logout", "s")
    must(not thief.heads, f"the proxy was asked for {thief.heads[:1]}")
    scene.stop()
    # What is no proxy fails, and is not passed over.
    for value in ("socks5://127.0.0.1:1", "http://u:p@127.0.0.1:1/x?y", "http://", "unix:///x.sock", "127.0.0.1:1:2"):
        scene.configure(scene.session("s", issuer, f'ca_file = "{file}"\nproxy = "{value}"'))
        checked = scene.ctl("config", "check")
        must(checked.returncode == 2 and "proxy" in checked.stderr, f"{value} is taken: {checked.stderr}")
