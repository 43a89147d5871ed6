# SPDX-License-Identifier: MIT
"""Hostile servers, files and programs behind tokens that are made without a login of their own."""

import base64
import contextlib
import json
import os
import pathlib
import subprocess
import time

from filesystem import replace
from scene import SECRET_MARK, Issuer, NotHere, Request, Scene, answer, attack, must, until

WHO = "source"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
NOBODY = 65534


def exchanged(name: str, issuer: Issuer, subject: str, more: str = "") -> str:
    """The table of a session that exchanges `subject`, a line, at the token endpoint of `issuer`."""
    return (
        f'[session.{name}]\nkind = "oauth2"\ntoken_endpoint = "{issuer.url}/token"\nclient_id = "c"\n'
        f'client_secret = "{SECRET_MARK}-secret-{issuer.port}"\nrevocation_endpoint = "{issuer.url}/revoke"\n'
        f'flow = "token_exchange"\n{subject}\n{more}\n'
    )


def refresh(scene: Scene, name: str) -> int:
    return scene.request("POST", f"/v1/sessions/{name}/refresh", {}, timeout=60)[0]


def bodies(issuer: Issuer) -> str:
    """All that was ever sent to it."""
    return "\n".join(
        f"{request.path} {request.headers} {request.body.decode('utf-8', 'replace')}" for request in issuer.requests
    )


@attack(WHO, "sends a subject token on to somebody else by a redirect")
def _(scene: Scene) -> None:
    home, other, third = scene.issuer(), scene.issuer(), scene.issuer()
    scene.configure(scene.session("s", home) + exchanged("made", other, 'from = "s"'))
    scene.start()
    scene.log_in("s")
    until(10, lambda: scene.get("made")[0] == 200, "the exchange")
    for status in (301, 302, 303, 307, 308):
        other.says("/token", answer(status, b"", {"Location": f"{third.url}/token"}))
        must(refresh(scene, "made") != 200, f"a redirect with {status} is an answer")
    other.says("/revoke", answer(307, b"", {"Location": f"{third.url}/revoke"}))
    scene.ctl("logout", "s")
    until(10, lambda: other.seen("/revoke"), "the revocation")
    must(not third.requests, f"the third server was asked {len(third.requests)} times")


@attack(WHO, "wants to know at one server what is for the other")
def _(scene: Scene) -> None:
    home, other = scene.issuer(), scene.issuer()
    scene.configure(scene.session("s", home) + exchanged("made", other, 'from = "s"'))
    scene.start()
    scene.log_in("s")
    until(10, lambda: scene.get("made")[0] == 200, "the exchange")
    for name in ("made", "s", "made"):
        must(refresh(scene, name) == 200, f"{name} is not refreshed")
    made = scene.get("made")[1]["access_token"]
    scene.ctl("logout", "s")
    until(10, lambda: other.seen("/revoke"), "the revocation")
    at_home, at_other = bodies(home), bodies(other)
    must(f"{SECRET_MARK}-rt-{home.port}" not in at_other, "a refresh token went to the exchange")
    must(f"at-{home.port}-" in at_other, "nothing was exchanged")
    must(f"{SECRET_MARK}-secret" not in at_home, "the secret of one server went to the other")
    must(made not in at_home and f"at-{other.port}-" not in at_home, "a token of one server went to the other")
    subjects = [request for request in other.requests if request.form.get("subject_token")]
    must(all(request.path == "/token" for request in subjects), "a subject token went elsewhere")
    must(all(request.form.get("grant_type") == EXCHANGE for request in subjects), "as something else")


def spki_key(scene: Scene) -> pathlib.Path:
    """A P-256 key in a file that nobody else reads."""
    path = scene.home / "config/tokenagent/key.pem"
    made = subprocess.run(
        ["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        raise NotHere("openssl makes no key")
    path.chmod(0o600)
    return path


def claims(assertion: str) -> dict:
    part = assertion.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


@attack(WHO, "names an honest server's endpoints beside its own, to use an assertion there")
def _(scene: Scene) -> None:
    evil, honest = scene.issuer(), scene.issuer()
    metadata = {
        "issuer": evil.url,
        "authorization_endpoint": f"{evil.url}/authorize",
        "token_endpoint": f"{evil.url}/token",
        "revocation_endpoint": f"{evil.url}/revoke",
        "response_types_supported": ["code"],
        "token_endpoint_auth_methods_supported": ["private_key_jwt"],
        "token_endpoint_auth_signing_alg_values_supported": ["ES256"],
    }
    key = spki_key(scene)
    evil.says("/.well-known/openid-configuration", lambda *_: answer(200, metadata))
    scene.configure(
        f'[session.s]\nissuer = "{evil.url}"\nclient_id = "robot"\nclient_key_file = "{key}"\n'
        'flow = "client_credentials"\n'
    )
    seen: set[str] = set()
    for honest_endpoint in ("", "revocation_endpoint", "token_endpoint"):
        scene.start()
        if honest_endpoint:
            metadata[honest_endpoint] = f"{honest.url}/{honest_endpoint[:6].strip('_')}"
        for _ in range(3):
            refresh(scene, "s")
        scene.ctl("logout", "s")
        scene.stop()
        metadata |= {"token_endpoint": f"{evil.url}/token", "revocation_endpoint": f"{evil.url}/revoke"}
    for server in (evil, honest):
        for request in server.requests:
            if assertion := request.form.get("client_assertion"):
                said = claims(assertion)
                address = f"{server.url}{request.path}"
                # At a logout also what servers want there: the issuer, and at its own origin the token endpoint.
                others = {evil.url, f"{evil.url}/token"} if request.path == "/revoke" else {evil.url}
                must(said["aud"] in {address} | others, f"an assertion for {said['aud']} went to {address}")
                must(said["exp"] - said["iat"] <= 60, "it is good for more than a minute")
                must(said["jti"] not in seen, "it was sent twice")
                seen.add(said["jti"])
    must(len(seen) >= 6, f"only {len(seen)} assertions were sent")


@attack(WHO, "leads the file of a subject token to another user's file")
def _(scene: Scene) -> None:
    if os.geteuid() != 0:
        raise NotHere("only root can make a file of another user")
    issuer = scene.issuer()
    place = scene.home / "config/tokenagent/subject"
    foreign = scene.home / "foreign"
    foreign.write_text(f"{SECRET_MARK}-foreign\n")
    os.chown(foreign, NOBODY, NOBODY)
    place.write_text("good-subject\n")
    place.chmod(0o600)
    scene.configure(exchanged("made", issuer, f'subject_token_file = "{place}"'))
    scene.start()
    until(10, lambda: scene.get("made")[0] == 200, "the exchange")
    for mode in (0o600, 0o644, 0o666):
        foreign.chmod(mode)
        replace(place, lambda path: path.symlink_to(foreign))
        must(refresh(scene, "made") != 200, f"another user's file of mode {mode:o} is exchanged")
    for make in (
        lambda path: os.mkfifo(path, 0o600),
        lambda path: path.mkdir(),
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.write_bytes(b"x" * 200_000),
        lambda path: path.write_text("two words\n"),
        lambda path: path.symlink_to(path),
    ):
        replace(place, make)
        begun = time.monotonic()
        must(refresh(scene, "made") != 200, "what is no token is exchanged")
        must(time.monotonic() - begun < 10, "a file is waited for")
    must(f"{SECRET_MARK}-foreign" not in bodies(issuer), "another user's file went to the server")
    subjects = {request.form.get("subject_token") for request in issuer.seen("/token")}
    must(subjects == {"good-subject"}, f"something else was exchanged: {len(subjects)}")
    scene.silent_about_secrets(scene.ctl("status", "made").stdout)
    replace(place, lambda path: path.write_text("good-subject\n"))
    place.chmod(0o600)
    until(20, lambda: refresh(scene, "made") == 200, "the exchange of a good file")


def write_tool(scene: Scene, script: str) -> None:
    tool = scene.home / "next-tool"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o700)
    tool.rename(scene.home / "tool")


def run_tool(scene: Scene, script: str) -> None:
    """Has the agent run the tool with this script, once what it runs now has ended."""
    mark = scene.home / "mark"
    mark.unlink(missing_ok=True)
    write_tool(scene, f"echo >{mark}\n{script}")
    request = b"POST /v1/sessions/tool/refresh HTTP/1.1\r\nHost: tokenagent\r\nContent-Length: 0\r\n\r\n"

    def ask() -> bool:
        with scene.connect() as connection:
            connection.sendall(request)
            connection.settimeout(0.5)
            with contextlib.suppress(TimeoutError):
                connection.recv(4096)
        return mark.exists()

    until(60, ask, "the program to be run")


@attack(WHO, "prints a gigabyte, never ends, forks, or prints no token")
def _(scene: Scene) -> None:
    issuer = scene.issuer()
    children = scene.home / "children"
    write_tool(scene, "echo at-first")
    scene.configure(
        f'[session.tool]\nkind = "command"\ncommand = ["{scene.home}/tool"]\nexpires_in = "1h"\n'
        + scene.session("other", issuer)
    )
    scene.start()
    scene.log_in("other")
    must(scene.get("tool")[1].get("access_token") == "at-first", "a token that is printed is not served")
    before = scene.resident()
    for script in (
        "head -c 1073741824 /dev/zero | tr '\\0' a",
        "yes",
        f"echo {SECRET_MARK}; echo {SECRET_MARK}; exit 1",
        f"printf '{{\"access_token\":\"{SECRET_MARK} two words\"}}'",
        "printf '\\033[2J\\033]0;owned\\007'",
        "kill -9 0",
        f"for i in 1 2 3 4 5 6 7 8; do sleep 600 & echo $! >>{children}; done; wait",
        "exec sleep 600",
    ):
        run_tool(scene, script)
        for _ in range(3):
            must(refresh(scene, "other") == 200, "another session waits for it")
        scene.alive("other", within=2)
        must(scene.get("tool", timeout=1)[1].get("access_token") == "at-first", "the token there is goes with it")
        status = scene.ctl("status", "tool")
        must("\x1b" not in status.stdout, "what it prints moves the terminal")
        scene.silent_about_secrets(status.stdout, status.stderr)
    scene.little_grown(before)
    write_tool(scene, "echo at-last")
    until(90, lambda: refresh(scene, "tool") == 200, "a good program to be run again")
    must(scene.get("tool")[1]["access_token"] == "at-last", "its token is not served")
    numbers = children.read_text().split()
    until(5, lambda: not any(pathlib.Path(f"/proc/{number}").exists() for number in numbers), "its children to end")


@attack(WHO, "gives credentials that are no words, and XML without end")
def _(scene: Scene) -> None:
    home, service = scene.issuer(), scene.issuer()
    scene.configure(
        scene.session("s", home)
        + f'[session.role]\nkind = "aws_role"\nfrom = "s"\nsubject_token_type = "access_token"\n'
        f'role_arn = "arn:aws:iam::123456789012:role/deploy"\nsts_endpoint = "{service.url}/"\n'
    )

    def credentials(**parts: str) -> str:
        end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
        said = {"AccessKeyId": "ASIA1", "SecretAccessKey": "sk", "SessionToken": "st", "Expiration": end} | parts
        inner = "".join(f"<{name}>{value}</{name}>" for name, value in said.items())
        return f"<Credentials>{inner}</Credentials>"

    def say(text: str, status: int = 200) -> None:
        service.says("/", answer(status, text.encode("utf-8", "surrogateescape"), {"Content-Type": "text/xml"}))

    say(credentials())
    scene.start()
    scene.log_in("s")
    until(10, lambda: scene.ctl("aws", "role").returncode == 0, "the credentials")
    before, served = scene.resident(), scene.ctl("aws", "role").stdout
    for text, status in (
        (credentials(SecretAccessKey='a","Version":2,"x":"'), 200),
        (credentials(SessionToken="a\nb"), 200),
        (credentials(AccessKeyId="\x1b[2J"), 200),
        (credentials(Expiration="9999-99-99T99:99:99Z"), 200),
        (credentials(SecretAccessKey=""), 200),
        ("<Credentials>" + "<AccessKeyId" * 80_000, 200),
        ("<" * 1_000_000, 200),
        ('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + credentials(SecretAccessKey="&a;"), 200),
        (f"<Error><Code>\x1b[2J{'c' * 5000}</Code><Message>\u202e{SECRET_MARK * 2}\nx</Message></Error>", 403),
        ("<Error><Code>" + "x" * 1_000_000, 400),
    ):
        say(text, status)
        begun = time.monotonic()
        told = scene.ctl("refresh", "role")
        must(time.monotonic() - begun < 20, f"an answer takes {time.monotonic() - begun:.1f} s: {text[:40]!r}")
        shown = scene.ctl("aws", "role")
        for printed in (told.stdout, told.stderr, shown.stdout, shown.stderr, scene.ctl("status", "role").stdout):
            must("\x1b" not in printed and "\u202e" not in printed, "an answer moves the terminal")
            must(len(printed) < 5_000, f"an answer fills the screen: {len(printed)}")
            must("root:" not in printed, "a file is in the answer")
        if shown.returncode == 0:
            said = json.loads(shown.stdout)
            must(set(said) == set(json.loads(served)) and said["Version"] == 1, f"odd credentials: {shown.stdout[:200]}")
        scene.alive()
    scene.little_grown(before)
    say(credentials())
    with contextlib.suppress(subprocess.TimeoutExpired):
        until(30, lambda: refresh(scene, "role") == 200, "credentials of a good answer")


@attack(WHO, "is an issuer that wants the token of another one for a session of its own")
def _(scene: Scene) -> None:
    home, evil = scene.issuer(), scene.issuer()
    resource = {"resource": f"{evil.url}/mcp", "authorization_servers": [evil.url], "scopes_supported": ["all"]}
    evil.says("/mcp", answer(401, b"", {"WWW-Authenticate": f'Bearer resource_metadata="{evil.url}/meta"'}))
    evil.says("/meta", answer(200, resource))
    # A session at a resource has to name its issuer before it is given anything.
    scene.configure(
        scene.session("s", home)
        + f'[session.made]\nresource = "{evil.url}/mcp"\nclient_id = "c"\nflow = "token_exchange"\nfrom = "s"\n'
    )
    checked = scene.ctl("config", "check")
    must(checked.returncode == 2 and "issuer" in checked.stderr, f"it is taken: {checked.stderr}")
    # Nor does an issuer that is named get it where the resource names another one.
    resource["authorization_servers"] = [f"{evil.url}/as"]
    scene.configure(
        scene.session("s", home)
        + f'[session.made]\nresource = "{evil.url}/mcp"\nissuer = "{home.url}"\nclient_id = "c"\n'
        'flow = "token_exchange"\nfrom = "s"\n'
    )
    scene.start()
    scene.log_in("s")
    told = scene.ctl("get", "made")
    must(told.returncode in (2, 5), f"it is exchanged: {told}")
    must("subject_token" not in bodies(evil) and f"at-{home.port}" not in bodies(evil), "the token went to it")
    scene.alive("s")
