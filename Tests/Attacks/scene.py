# SPDX-License-Identifier: MIT
"""What every attack stands on: an agent of its own in a private directory, and an issuer that says whatever it is told."""

import collections.abc
import contextlib
import dataclasses
import http.client
import json
import pathlib
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import tempfile
import threading
import time
import urllib.parse

ATTACKS: list["Attack"] = []
# What no answer, message or log may ever show.
SECRET_MARK = "never-to-be-seen"


class CameThrough(Exception):
    """The attack reached what it was after."""


class NotHere(Exception):
    """This machine lacks what the attack needs."""


@dataclasses.dataclass
class Attack:
    """One attack: who makes it, what it tries in one sentence, and the code that makes it."""

    attacker: str
    sentence: str
    run: collections.abc.Callable[["Scene"], None]


def attack(attacker: str, sentence: str):
    def register(function):
        ATTACKS.append(Attack(attacker, sentence, function))
        return function

    return register


def must(condition: object, what: str) -> None:
    if not condition:
        raise CameThrough(what)


def until(seconds: float, condition, what: str):
    """Polls until the condition is true and returns what it gave; taking too long is the attack's success."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise CameThrough(f"waited {seconds:g} s for {what}")
        time.sleep(0.01)


# The issuer


@dataclasses.dataclass
class Request:
    """What the issuer was sent."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float = dataclasses.field(default_factory=time.monotonic)

    @property
    def form(self) -> dict[str, str]:
        return dict(urllib.parse.parse_qsl(self.body.decode("utf-8", "replace"), keep_blank_values=True))


def answer(status: int, body: bytes | dict, headers: dict[str, str] | None = None) -> bytes:
    """A whole answer as bytes; a dictionary is sent as JSON."""
    fields = {"Content-Type": "application/json", "Connection": "close"} | (headers or {})
    if isinstance(body, dict):
        body = json.dumps(body).encode()
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return (
        f"HTTP/1.1 {status} Odd\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode("utf-8", "surrogateescape") + body
    )


Script = collections.abc.Callable[[Request, socket.socket], "bytes | None"]


class Issuer:
    """A server on loopback. A script per path gets the request and the socket and returns the answer's bytes, or None
    when it has written what it wanted itself. Without a script the token endpoint gives good tokens and rotates."""

    def __init__(self, tls: ssl.SSLContext | None = None, name: str = "127.0.0.1") -> None:
        self.tls = tls
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://{name}:{self.port}"
        self.requests: list[Request] = []
        self.scripts: dict[str, Script] = {"/token": self.token}
        self.life = 3600
        self.count = 0
        self.members: dict = {}
        self.closing = False
        self.lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def good(self, **members) -> dict:
        """A token answer nobody could object to, with these members in place of its own; None leaves one out."""
        with self.lock:
            self.count += 1
            number = self.count
        tokens = (
            {
                "access_token": f"at-{self.port}-{number}",
                "refresh_token": f"{SECRET_MARK}-rt-{self.port}-{number}",
                "token_type": "Bearer",
                "expires_in": self.life,
                "scope": "all",
            }
            | self.members
            | members
        )
        return {name: value for name, value in tokens.items() if value is not None}

    def token(self, request: Request, connection: socket.socket) -> bytes:
        return answer(200, self.good())

    def says(self, path: str, reply: "bytes | Script") -> None:
        self.scripts[path] = reply if callable(reply) else (lambda request, connection: reply)

    def seen(self, path: str) -> list[Request]:
        return [request for request in list(self.requests) if request.path.split("?")[0] == path]

    def close(self) -> None:
        self.closing = True
        self.listener.close()

    def _accept(self) -> None:
        while not self.closing:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), connection:
            connection.settimeout(60)
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
            request = read_request(connection)
            if request is None:
                return
            self.requests.append(request)
            script = self.scripts.get(request.path.split("?")[0])
            reply = script(request, connection) if script else answer(404, {"error": "not_here"})
            if reply is not None:
                connection.sendall(reply)
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_WR)
                connection.settimeout(2)
                while connection.recv(65536):
                    pass


def read_request(connection: socket.socket) -> Request | None:
    head = b""
    while b"\r\n\r\n" not in head:
        piece = connection.recv(65536)
        if not piece:
            return None
        head += piece
    head, _, body = head.partition(b"\r\n\r\n")
    first, *lines = head.decode("utf-8", "replace").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length = int(headers.get("content-length", "0"))
    if headers.get("expect", "").lower() == "100-continue":
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    while len(body) < length:
        piece = connection.recv(65536)
        if not piece:
            return None
        body += piece
    method, path, *_ = first.split(" ")
    return Request(method, path, headers, body)


# The agent and its clients


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("tokenagent", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)
        self.sock.settimeout(self.timeout)


class Scene:
    """A home directory, an agent in it, and an issuer; all gone at the end."""

    def __init__(self, programs: pathlib.Path) -> None:
        self.programs = programs
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="tokenagent-attack."))
        for name in ("run", "state", "config", "config/tokenagent", "tmp"):
            (self.home / name).mkdir(mode=0o700)
        self.environment = {
            "HOME": str(self.home),
            "PATH": f"{programs}:/usr/sbin:/usr/bin:/sbin:/bin",
            "LC_ALL": "C.UTF-8",
            "XDG_RUNTIME_DIR": str(self.home / "run"),
            "XDG_STATE_HOME": str(self.home / "state"),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "TOKENAGENT_AUTOSTART": "0",
            "TMPDIR": str(self.home / "tmp"),
        }
        self.socket = str(self.home / "run/tokenagent/agent.sock")
        self.store = self.home / "state/tokenagent"
        self.configuration = self.home / "config/tokenagent/config.toml"
        self.log = self.home / "log"
        self.process: subprocess.Popen | None = None
        self.issuers: list[Issuer] = []
        self.children: list[subprocess.Popen] = []
        self.figures: list[str] = []

    # Setting up

    def issuer(self, tls: ssl.SSLContext | None = None, name: str = "127.0.0.1") -> Issuer:
        self.issuers.append(Issuer(tls, name))
        return self.issuers[-1]

    def session(self, name: str, issuer: Issuer, extra: str = "", flow: str = "password") -> str:
        return (
            f'[session.{name}]\nkind = "oauth2"\ntoken_endpoint = "{issuer.url}/token"\nclient_id = "c"\n'
            f'authorization_endpoint = "{issuer.url}/authorize"\ndevice_authorization_endpoint = "{issuer.url}/device"\n'
            f'revocation_endpoint = "{issuer.url}/revoke"\nflow = "{flow}"\nscopes = ["all"]\n{extra}\n'
        )

    def configure(self, text: str) -> None:
        self.configuration.write_text(text)
        self.configuration.chmod(0o600)

    def start(
        self, *arguments: str, environment: dict[str, str] | None = None, ready: bool = True, preexec=None
    ) -> None:
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.programs / "tokenagent", "-D", *arguments],
                env=self.environment | (environment or {}),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=preexec,
            )
        if ready:
            until(20, lambda: self.answers() or self._ended(), "the agent to answer")

    def _ended(self) -> bool:
        if self.process is not None and self.process.poll() is not None:
            raise CameThrough(f"the agent ended with {self.process.returncode}: {self.text_of_log()[-300:]}")
        return False

    def answers(self) -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.request("GET", "/v1", timeout=20)[0] == 200
        return False

    def ready(self, *names: str, issuer: Issuer | None = None, extra: str = "", more: str = "") -> Issuer:
        """An agent with these sessions of one issuer, logged in."""
        issuer = issuer or self.issuer()
        self.configure("".join(self.session(name, issuer, extra) for name in names) + more)
        self.start()
        for name in names:
            self.log_in(name)
        return issuer

    def log_in(self, name: str) -> None:
        done = self.ctl("login", name, "--username", "u", "--password-stdin", stdin=f"{SECRET_MARK}-password\n")
        if done.returncode:
            raise CameThrough(f"a plain login failed: {done.stderr}")

    def certificate(self, names: str, name: str = "certificate") -> tuple[str, ssl.SSLContext]:
        """A file with a new certificate that vouches for itself, for `names` as openssl writes them, and its server."""
        if not shutil.which("openssl"):
            raise NotHere("there is no openssl")
        file, key = self.home / f"{name}.pem", self.home / f"{name}-key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
            + ["-days", "2", "-subj", "/CN=x", "-addext", f"subjectAltName={names}", "-keyout", key, "-out", file],
            check=True,
            capture_output=True,
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file, key)
        return str(file), context

    # Asking

    def ctl(
        self, *arguments: str, stdin: str | bytes = "", timeout: float = 60, environment: dict[str, str] | None = None
    ):
        given = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [self.programs / "tokenctl", *arguments],
            input=given,
            capture_output=True,
            timeout=timeout,
            check=False,
            env=self.environment | (environment or {}),
        )
        done.stdout, done.stderr = (text.decode("utf-8", "surrogateescape") for text in (done.stdout, done.stderr))
        return done

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: dict[str, str] | None = None,
        timeout: float = 40,  # the agent answers after 30
        at: str | None = None,
    ) -> tuple[int, object]:
        connection = UnixConnection(at or self.socket, timeout)
        try:
            data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
            connection.request(method, path, data, headers or {})
            response = connection.getresponse()
            text = response.read()
            with contextlib.suppress(ValueError):
                return response.status, json.loads(text)
            return response.status, text
        finally:
            connection.close()

    def raw(self, data: bytes, timeout: float = 10, at: str | None = None) -> bytes:
        """What comes back for these bytes until the agent closes or has answered and is silent for half a second."""
        found = b""
        with self.connect(at) as connection:
            connection.settimeout(timeout)
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(data)
            with contextlib.suppress(TimeoutError, ConnectionResetError):
                while piece := connection.recv(65536):
                    found += piece
                    connection.settimeout(0.5)
        return found

    def connect(self, at: str | None = None) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(None)  # a socket with a time limit does not wait for a place in the queue
        connection.connect(at or self.socket)
        connection.settimeout(30)
        return connection

    def get(self, name: str, **parameters) -> tuple[int, object]:
        query = urllib.parse.urlencode(parameters)
        return self.request("GET", f"/v1/sessions/{name}/token" + (f"?{query}" if query else ""))

    def state(self, name: str) -> dict:
        status, found = self.request("GET", f"/v1/sessions/{name}")
        must(status == 200, f"the state of {name} is answered {status}")
        return found

    # Looking

    def alive(self, *names: str, within: float = 5) -> None:
        """The agent is there, answers soon, and serves these sessions."""
        begun = time.monotonic()
        self._ended()
        must(self.answers(), "the agent does not answer")
        for name in names:
            status, found = self.get(name)
            must(status == 200, f"{name} is not served: {found}")
        took = time.monotonic() - begun
        must(took < within, f"it took {took:.1f} s to be answered")

    def resident(self) -> float:
        """MiB of memory the agent has, without what is mapped from files."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split("RssAnon:")[1].split()[0]) / 1024

    def little_grown(self, before: float, most: float = 32) -> None:
        """The agent has no more than `most` MiB above `before`, which ``resident()`` said."""
        grown = self.resident() - before
        must(grown < most, f"memory grew by {grown:.0f} MiB")

    def text_of_log(self) -> str:
        return self.log.read_text("utf-8", "surrogateescape") if self.log.exists() else ""

    def silent_about_secrets(self, *texts: object) -> None:
        for text in (*map(str, texts), self.text_of_log()):
            must(SECRET_MARK not in text, f"a secret is shown: {text[:300]}")

    # Ending

    def stop(self, how: int = signal.SIGTERM, within: float = 30) -> None:
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(within)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                self.process = None
                raise CameThrough(f"the agent did not end within {within:g} s") from None
        self.process = None

    def close(self, within: float = 30) -> None:
        try:
            self.stop(within=within)
        finally:
            if self.process and self.process.poll() is None:
                self.process.kill()
            for child in self.children:
                if child.poll() is None:
                    child.kill()
                child.wait()
            for issuer in self.issuers:
                issuer.close()
            for path in self.home.rglob("*"):
                if not path.is_symlink() and stat.S_ISDIR(path.lstat().st_mode):
                    with contextlib.suppress(OSError):
                        path.chmod(0o700)
            shutil.rmtree(self.home, ignore_errors=True)
