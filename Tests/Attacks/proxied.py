# SPDX-License-Identifier: MIT
"""A hostile client of a [[proxy]]: a program, or a web page that guesses its port."""

import contextlib
import socket
import subprocess

from scene import Issuer, Scene, answer, attack, must

WHO = "[[proxy]]"


class Proxied:
    """A running proxy for the session `s`, in front of `upstream`."""

    def __init__(self, scene: Scene, keys: str = "") -> None:
        self.scene = scene
        self.issuer, self.upstream = scene.issuer(), scene.issuer()
        self.issuer.says("/revoke", answer(200, b""))
        self.upstream.says("/v1/x", answer(200, {"ok": True}))
        self.plain = scene.session("other", self.issuer)
        table = (
            f'[[proxy]]\nname = "api"\nlisten = "127.0.0.1:0"\nupstream = "{self.upstream.url}"\nsession = "s"\n{keys}\n'
        )
        scene.configure(scene.session("s", self.issuer) + self.plain + table)
        scene.start()
        scene.log_in("s")
        scene.log_in("other")
        process = subprocess.Popen(
            [scene.programs / "tokenctl", "proxy"],
            env=scene.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        scene.children.append(process)
        line = process.stdout.readline()
        must(line.startswith("api http://127.0.0.1:"), f"the proxy says {line!r}")
        self.port = int(line.rsplit(":", 1)[1])

    def send(self, text: str) -> str:
        """What comes back, with HOST in place of the listener's address in `text`."""
        found = b""
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 20) as connection:
            connection.sendall(text.replace("HOST", f"127.0.0.1:{self.port}").encode("utf-8", "surrogateescape"))
            while piece := connection.recv(65536):
                found += piece
        return found.decode("utf-8", "replace")

    def served(self) -> bool:
        return self.send("GET /v1/x HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n").startswith("HTTP/1.1 200 ")


def authorized(server: Issuer) -> list[str]:
    return [request.path for request in server.requests if "at-" in request.headers.get("authorization", "")]


@attack(WHO, "asks by methods in lower case, as another page, and by paths that read in two ways")
def _(scene: Scene) -> None:
    proxied = Proxied(scene, 'paths = ["/v1/*"]')
    must(proxied.served() and authorized(proxied.upstream), "a good request gets no token")
    proxied.upstream.requests.clear()
    for method in ("TRACE", "trace", "Track", "CONNECT", "connect", "cOnNeCt"):
        for target in ("/v1/x", "evil.example:443", "*"):
            proxied.send(f"{method} {target} HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n")
    for line in (
        "Origin: https://evil.example",
        "Origin: null",
        "Referer: https://evil.example/page",
        "Referer: http://HOST.evil.example/",
        "Referer: http://HOST@evil.example/",
        "Referer: //evil.example/",
        "Referer: http://localhost:1/",
        "Sec-Fetch-Site: cross-site",
        "Upgrade: websocket\r\nOrigin: https://evil.example\r\nConnection: Upgrade",
    ):
        proxied.send(f"GET /v1/x HTTP/1.1\r\nHost: HOST\r\n{line}\r\nConnection: close\r\n\r\n")
    for path in (
        "/v1/%EF%BC%8E%EF%BC%8E/admin",
        "/v1/\uff0e\uff0e/admin",
        "/v1/%E2%80%A5/admin",
        "/v1/x%EF%BC%8F..%EF%BC%8Fadmin",
        "/v1/%2e%2e/admin",
        "/v1/..%2fadmin",
        "/v1/..;/admin",
        "/v1/..%5cadmin",
        "/v1/%252e%252e/admin",
        "/v1/%c0%ae%c0%ae/admin",
        "//v1/x",
        "/admin",
        "/V1/x",
        "/v1",
        "http://evil.example/v1/x",
    ):
        proxied.send(f"GET {path} HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n")
    for host in ("evil.example", "localhost", "127.0.0.1", "HOST.evil.example", "evil.example:HOST", ""):
        proxied.send(f"GET /v1/x HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
    reached = authorized(proxied.upstream)
    must(not reached, f"the upstream got the token for {reached[:3]}")
    must(proxied.served(), "a good request is refused afterwards")


@attack(WHO, "goes on asking when a reload has taken its session away, or nobody is logged in")
def _(scene: Scene) -> None:
    proxied = Proxied(scene)
    must(proxied.served(), "a good request gets no token")
    scene.configure(proxied.plain)
    must(scene.ctl("reload").returncode == 0, "the reload fails")
    proxied.upstream.requests.clear()
    must(not proxied.served(), "it is served")
    reached = authorized(proxied.upstream)
    must(not reached, f"the upstream got the token of a session that is gone for {reached}")
    scene.alive("other")


@attack(WHO, "wants a person's password by a refusal that asks for one")
def _(scene: Scene) -> None:
    proxied = Proxied(scene)
    must(scene.ctl("logout", "s").returncode == 0, "the logout fails")
    for line in ("Accept: */*", "User-Agent: git/2.39", "Authorization: Basic dTpw", "Proxy-Authorization: Basic dTpw"):
        back = proxied.send(f"GET /v1/x HTTP/1.1\r\nHost: HOST\r\n{line}\r\nConnection: close\r\n\r\n")
        head = back.split("\r\n\r\n")[0].lower()
        must(head.startswith("http/1.1 403 ") and "tokenctl login s" in back, f"with {line!r} it answers {back[:200]}")
        must("www-authenticate" not in head and "proxy-authenticate" not in head, f"it asks for a password: {head}")
    must(not authorized(proxied.upstream), "the upstream got a token")
    passwords = [request for request in proxied.upstream.requests if "dTpw" in str(request.headers)]
    must(not passwords, "the upstream got the person's password")
