# SPDX-License-Identifier: MIT
"""A hostile file system: whoever can write files of the user, and a disk that fails or lies."""

import contextlib
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from scene import SECRET_MARK, CameThrough, Issuer, NotHere, Scene, answer, attack, must, until

WHO = "file system"


def records(scene: Scene) -> list[pathlib.Path]:
    """The files of the store that hold something about sessions."""
    return sorted(
        path
        for path in scene.store.rglob("*")
        if path.is_file()
        and not path.is_symlink()
        and path.name not in ("keyfile", "vault", "lock", "audit.log")
        and "run" not in path.parts
    )


def ends_or_answers(scene: Scene, seconds: float = 8) -> bool:
    """Starts the agent; true if it answers, false if it ended, each within this time."""
    scene.start(ready=False)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if scene.process.poll() is not None:
            scene.process = None
            return False
        if scene.answers():
            return True
        time.sleep(0.02)
    raise CameThrough(f"the start hangs: {scene.text_of_log()[-200:]}")


def replace(path: pathlib.Path, make) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    make(path)


@attack(WHO, "puts a pipe, a directory, a link or a device into the place of each file of the store")
def _(scene: Scene) -> None:
    scene.ready("s", "t")
    scene.stop()
    kept = scene.home / "kept"
    shutil.copytree(scene.store, kept, symlinks=True)
    victim = scene.home / "victim"
    for path in [file for file in kept.rglob("*") if file.is_file()]:
        for make in (
            lambda place: os.mkfifo(place, 0o600),
            lambda place: place.mkdir(),
            lambda place: place.symlink_to(victim),
            lambda place: place.symlink_to("/dev/zero"),
            lambda place: place.write_bytes(b""),
        ):
            victim.write_text("precious")
            victim.chmod(0o600)
            replace(scene.store / path.relative_to(kept), make)
            if ends_or_answers(scene):
                scene.request("POST", "/v1/sessions/t/refresh", {})
                scene.stop()
            must(victim.read_text() == "precious", f"{path.name} led to another file")
            shutil.rmtree(scene.store)
            shutil.copytree(kept, scene.store, symlinks=True)
    scene.start()
    scene.alive("s", "t")


@attack(WHO, "gives one session's record to another")
def _(scene: Scene) -> None:
    scene.ready("s", "t")
    scene.stop()
    files = records(scene)
    texts = {path: path.read_bytes() for path in files}
    for one in files:
        for two in files:
            if one != two:
                one.write_bytes(texts[two])
        if ends_or_answers(scene):
            tokens = [scene.get(name)[1].get("access_token") for name in ("s", "t")]
            must(tokens[0] is None or tokens[0] != tokens[1], "two sessions have one token")
            scene.stop()
        for bad in scene.store.rglob("*.bad*"):
            bad.unlink()
        for path in files:
            path.write_bytes(texts[path])
            path.chmod(0o600)
    scene.start()
    scene.alive("s", "t")


@attack(WHO, "cuts and flips each record in 60 places")
def _(scene: Scene) -> None:
    scene.ready("s", "t")
    scene.stop()
    kept = scene.home / "kept"
    shutil.copytree(scene.store, kept, symlinks=True)
    for path in records(scene):
        data = path.read_bytes()
        places = sorted({len(data) * step // 10 for step in range(10)} | {0, 1, max(len(data) - 1, 0)})
        for place in places:
            for damaged in (
                data[:place],
                data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :] if place < len(data) else data,
                data + b"\x00" * 9,
            ):
                path.write_bytes(damaged)
                if ends_or_answers(scene):
                    for name in ("s", "t"):
                        status, found = scene.get(name)
                        must(
                            status == 200 or found["error"]["code"] in ("login_required", "locked", "internal"),
                            f"{name}: {found}",
                        )
                    scene.stop()
                shutil.rmtree(scene.store)
                shutil.copytree(kept, scene.store, symlinks=True)


@attack(WHO, "fills the store's directory with 20,000 files and names that are none")
def _(scene: Scene) -> None:
    scene.ready("s")
    scene.stop()
    directory = records(scene)[0].parent
    for number in range(20_000):
        (directory / f"junk-{number}").touch()
    for name in ("a\nb", "\x1b[2J", "..rec", "x" * 250, "s.bad", "%s%n", "-rf"):
        (directory / name).write_bytes(os.urandom(300))
    begun = time.monotonic()
    scene.start()
    must(time.monotonic() - begun < 5, f"the start took {time.monotonic() - begun:.1f} s")
    scene.alive("s")
    must("\x1b" not in scene.text_of_log(), "a file's name moves the terminal")


@attack(WHO, "makes a record as large as a disk")
def _(scene: Scene) -> None:
    scene.ready("s", "t")
    scene.stop()
    for path in records(scene):
        data = path.read_bytes()
        os.truncate(path, 1 << 38)
        if ends_or_answers(scene):
            must(scene.resident() < 100, f"the agent has {scene.resident():.0f} MiB")
            scene.stop()
        for left in (*scene.store.rglob("*.bad*"), path):
            left.unlink(missing_ok=True)
        path.write_bytes(data)
        path.chmod(0o600)
    scene.start()
    scene.alive("s", "t")


@attack(WHO, "takes the store's directory away under a running agent")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    asked = len(issuer.requests)
    shutil.rmtree(scene.store)
    status, found = scene.request("POST", "/v1/sessions/s/refresh", {})
    must(status == 200 or len(issuer.requests) == asked, f"a refresh token was sent that could not be kept: {found}")
    scene.alive("s")


@attack(WHO, "puts another store into the place of the running agent's")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    other = scene.home / "other"
    shutil.copytree(scene.store, other, symlinks=True)
    scene.request("POST", "/v1/sessions/s/refresh", {})
    asked = len(issuer.requests)
    scene.store.rename(scene.home / "moved")
    other.rename(scene.store)
    status, _ = scene.request("POST", "/v1/sessions/s/refresh", {})
    last = [request.form["refresh_token"] for request in issuer.seen("/token")[asked:]]
    must(not any(token.endswith("-1") for token in last), "it sent the old copy's refresh token")
    scene.alive("s")
    scene.stop()
    scene.start()
    scene.answers()
    must(status in (200, 503), f"the refresh is answered {status}")


@attack(WHO, "makes the store read-only, without rights and full while it is used")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    if os.geteuid() == 0:
        changed = [scene.store, *[path for path in scene.store.rglob("*") if path.is_dir()]]
        done = subprocess.run(["chattr", "+i", *changed], capture_output=True, check=False)
        if done.returncode:
            raise NotHere("this file system has no immutable files")
        try:
            asked = len(issuer.requests)
            status, found = scene.request("POST", "/v1/sessions/s/refresh", {})
            must(
                status == 200 or len(issuer.requests) == asked,
                f"a refresh token was sent that could not be kept: {found}",
            )
            scene.alive("s")
        finally:
            subprocess.run(["chattr", "-i", *changed], capture_output=True, check=False)
    else:
        scene.store.chmod(0o500)
    scene.alive("s")
    status, found = until(30, lambda: good(scene.request("POST", "/v1/sessions/s/refresh", {})), "a refresh afterwards")
    must(status == 200, f"{found}")


def good(result):
    return result if result[0] == 200 else None


@attack(WHO, "allows files of no more than a kilobyte, none open, or little memory")
def _(scene: Scene) -> None:
    scene.ready("s")
    scene.stop()
    for kind, amount in (
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_FSIZE, 1024),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_CORE, -1),
        (resource.RLIMIT_NOFILE, 24),
        (resource.RLIMIT_STACK, 1 << 20),
    ):
        with open(scene.log, "ab") as log:
            scene.process = subprocess.Popen(
                [scene.programs / "tokenagent", "-D"],
                env=scene.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=lambda: resource.setrlimit(kind, (amount, amount)),
                start_new_session=True,
            )
        end = time.monotonic() + 8
        while time.monotonic() < end and scene.process.poll() is None and not scene.answers():
            time.sleep(0.02)
        ended = scene.process.poll()
        must(ended is None or ended > 0, f"limit {kind}={amount}: a signal ended it: {ended}")
        if ended is None:
            scene.request("POST", "/v1/sessions/s/refresh", {})
            ended = scene.process.poll()
            must(ended is None, f"limit {kind}={amount}: the refresh ended it: {ended}")
            status, found = scene.get("s")
            must(status == 200, f"limit {kind}={amount}: {found}")
        scene.stop()
    scene.start()
    scene.alive("s")


@attack(WHO, "leads the audit log to another file of the user")
def _(scene: Scene) -> None:
    scene.ready("s")
    victim = scene.home / ".profile"
    for make in (
        lambda place: place.symlink_to(victim),
        lambda place: os.link(victim, place),
        lambda place: os.mkfifo(place),
        lambda place: place.mkdir(),
        lambda place: place.symlink_to("/dev/full"),
    ):
        victim.write_text("precious")
        scene.stop()
        replace(scene.store / "audit.log", make)
        if ends_or_answers(scene):
            for _ in range(3):
                scene.get("s")
            time.sleep(1.2)
            scene.alive("s")
        must(victim.read_text() == "precious", "the other file was written to")
    scene.stop()


@attack(WHO, "gives files of the store to everybody")
def _(scene: Scene) -> None:
    scene.ready("s")
    scene.stop()
    for path in (scene.store / "keyfile", scene.store, scene.store / "vault", scene.configuration):
        mode = path.stat().st_mode & 0o777
        path.chmod(mode | 0o022)
        here = ends_or_answers(scene)
        if here:
            scene.stop()
        told = scene.text_of_log()
        must(
            not here or path.name in told or path.stat().st_mode & 0o022 == 0,
            f"{path.name} is writable by others and nothing is said",
        )
        path.chmod(mode)
    scene.start()
    scene.alive("s")


@attack(WHO, "makes the key file short, empty, huge, or another one")
def _(scene: Scene) -> None:
    scene.ready("s")
    scene.stop()
    key = scene.store / "keyfile"
    data = key.read_bytes()
    for other in (b"", data[:-1], data + b"\n", os.urandom(len(data)), b"0" * len(data), os.urandom(5_000_000)):
        key.write_bytes(other)
        if ends_or_answers(scene):
            status, found = scene.get("s")
            must(status in (200, 401, 423, 500, 503), f"{found}")
            must(status != 401, f"with another key the login is said to be needed: {found}")
            scene.stop()
        key.write_bytes(data)
        scene.start()
        scene.alive("s")
        scene.stop()


@attack(WHO, "points the state and the runtime directory to places of others")
def _(scene: Scene) -> None:
    scene.ready("s")
    scene.stop()
    shared = scene.home / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    for variable, value in (
        ("XDG_RUNTIME_DIR", str(shared)),
        ("XDG_STATE_HOME", str(shared)),
        ("XDG_RUNTIME_DIR", "relative"),
        ("XDG_STATE_HOME", "/dev/null"),
        ("XDG_STATE_HOME", "/proc/self"),
        ("XDG_RUNTIME_DIR", "/" + "x" * 200),
        ("TOKENAGENT_SOCK", "/" + "y" * 108),
        ("TOKENAGENT_SOCK", "@abstract"),
        ("TOKENAGENT_STATE_DIR", "a\nb"),
        ("TOKENAGENT_CONFIG", "/etc/shadow"),
        ("HOME", ""),
        ("HOME", "relative"),
    ):
        with open(scene.log, "ab") as log:
            process = subprocess.Popen(
                [scene.programs / "tokenagent", "-D"],
                env=scene.environment | {variable: value},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=shared,
            )
        scene.children.append(process)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1.5)
        must(
            process.poll() is None or process.returncode > 0,
            f"{variable}={value[:20]!r} ended it by signal {process.returncode}",
        )
        if process.poll() is None:
            process.terminate()
            process.wait(20)
        must(
            not any(path.is_socket() and path.parent == shared for path in shared.rglob("*")),
            f"{variable}={value[:20]} makes a socket for everybody",
        )
    must(SECRET_MARK not in scene.text_of_log(), "a secret is logged")


@attack(WHO, "puts a pipe or a flood into the place of a client secret or a certificate")
def _(scene: Scene) -> None:
    issuer = scene.issuer()
    place, other = scene.home / "secrets", scene.home / "secrets/file"
    place.mkdir(mode=0o700)
    other.write_text("secret")
    other.chmod(0o600)
    for key in ("client_secret_file", "ca_file"):
        replace(other, lambda path: path.write_text("secret"))
        other.chmod(0o600)
        scene.configure(scene.session("s", issuer, f'{key} = "{other}"') + scene.session("t", issuer))
        for make in (
            lambda path: os.mkfifo(path, 0o600),
            lambda path: path.mkdir(),
            lambda path: path.symlink_to("/dev/zero"),
            lambda path: huge(path),
            lambda path: path.write_bytes(b"\x00" * 100),
        ):
            replace(other, make)
            if not ends_or_answers(scene):
                continue
            scene.log_in("t")
            begun = time.monotonic()
            scene.ctl("login", "s", "--username", "u", "--password-stdin", stdin="p\n", timeout=40)
            must(time.monotonic() - begun < 20, f"a login hangs at {key}")
            scene.alive("t", within=2)
            must(scene.resident() < 150, f"the agent has {scene.resident():.0f} MiB")
            scene.stop()


def huge(path: pathlib.Path) -> None:
    with open(path, "wb") as file:
        file.truncate(1 << 40)
    path.chmod(0o600)


@attack(WHO, "runs a secret command that prints without end, hangs, or prints other things")
def _(scene: Scene) -> None:
    issuer = scene.issuer()
    for command in (
        ["yes"],
        ["sleep", "600"],
        ["printf", "a\\0b"],
        ["printf", ""],
        ["printf", "\\377\\376"],
        ["sh", "-c", f"echo {SECRET_MARK}; exit 3"],
        ["head", "-c", "3000000", "/dev/zero"],
        ["/etc/passwd"],
        [""],
    ):
        scene.configure(
            scene.session("s", issuer, f"client_secret_command = {json.dumps(command)}") + scene.session("t", issuer)
        )
        if not ends_or_answers(scene):
            continue
        scene.log_in("t")
        begun = time.monotonic()
        with contextlib.suppress(subprocess.TimeoutExpired):
            done = scene.ctl("login", "s", "--username", "u", "--password-stdin", stdin="p\n", timeout=3)
            scene.silent_about_secrets(done.stdout, done.stderr)
        scene.alive("t", within=2)
        must(time.monotonic() - begun < 10, "others wait")
        scene.stop()


@attack(WHO, "ends exec with what it should have removed")
def _(scene: Scene) -> None:
    scene.ready("s")
    script = 'stat -c "%a %U" "$BEARER_TOKEN_FILE"; dirname "$BEARER_TOKEN_FILE"; tr "\\0" "\\n" < /proc/self/environ | grep -c at- ; kill -9 $PPID'
    done = scene.ctl("exec", "s", "--", "sh", "-c", script)
    lines = done.stdout.splitlines()
    must(lines and lines[0].startswith("600 "), f"the file is {lines[:1]}")
    must(
        pathlib.Path(lines[1]).stat().st_mode & 0o077 == 0 if pathlib.Path(lines[1]).exists() else True,
        "others may enter its directory",
    )
    must(lines[2] == "0", "the token stands in the environment")
    scene.ctl("exec", "s", "--", "true")
    left = [path for path in (scene.home / "run").rglob("*") if path.is_file() and b"at-" in path.read_bytes()]
    must(not left, f"tokens are left at {left}")


@attack(WHO, "starts twenty agents at once on one store, and kills half")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    scene.stop()
    processes = []
    with open(scene.log, "ab") as log:
        for _ in range(20):
            processes.append(
                subprocess.Popen(
                    [scene.programs / "tokenagent", "-D"],
                    env=scene.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )
        scene.children += processes
        for process in processes[::2]:
            process.kill()
    until(20, lambda: sum(process.poll() is None for process in processes) <= 1, "all but one to end")
    alive = [process for process in processes if process.poll() is None]
    scene.process = alive[0] if alive else None
    if not alive:
        scene.start()
    until(10, scene.answers, "the agent to answer")
    scene.alive("s")
    must(len(issuer.requests) <= 2, "the issuer was asked again and again")


@attack(WHO, "names another server in the configuration, to be told the tokens at a logout")
def _(scene: Scene) -> None:
    def changed(issuer: Issuer, thief: Issuer) -> str:
        return scene.session("s", issuer).replace(f"{issuer.url}/revoke", f"{thief.url}/revoke")

    for repeats in (False, True):
        issuer, thief = scene.ready("s"), scene.issuer()
        issuer.says("/revoke", answer(503, b""))
        if repeats:
            # The first try has failed when the address changes.
            scene.ctl("logout", "s")
            must(issuer.seen("/revoke"), "no revocation was tried")
        scene.configure(changed(issuer, thief))
        must(scene.ctl("reload").returncode == 0, "the reload fails")
        if repeats:
            scene.stop(signal.SIGKILL)
            scene.start()
            until(60, lambda: "another server" in str(scene.state("s")), "the repetition to be given up")
        else:
            done = scene.ctl("logout", "s", "--json")
            must("another server" in done.stdout, f"the person is told {done.stdout} {done.stderr}")
        must(not thief.requests, f"the other server was sent {[request.form for request in thief.requests][:1]}")
        scene.stop()
        shutil.rmtree(scene.store)


@attack(WHO, "names private files in the list of token files, to have them removed")
def _(scene: Scene) -> None:
    place = scene.home / "tokens"
    place.mkdir(mode=0o700)
    table = f'[[file]]\npath = "{place}/token"\nsession = "s"\n'
    scene.ready("s", more=table)
    token = until(10, lambda: place.joinpath("token").exists() and place.joinpath("token").read_text(), "the file")
    scene.stop(signal.SIGKILL)
    listed = scene.store / "token-files"
    line = listed.read_text()
    mark = line.split(" ")[0]
    victim = place / "id"
    victim.write_text("precious")
    victim.chmod(0o600)
    node = victim.stat().st_ino
    for text in (
        f"{victim}\n",
        f"{mark} {victim}\n",
        f"{node}:8:{'0' * 64} {victim}\n",
        f"{node}:9:{mark.rsplit(':', 1)[1]} {victim}\n",
        f"{node}:{len(token)}:{mark.rsplit(':', 1)[1]} {victim}\n",
        f"{mark} {place}/../tokens/id\n",
        f"{mark}\0 {victim}\n",
        line + f"{mark},{node}:8: {victim}\n",
        "x" * 3_000_000,
    ):
        listed.write_text(text)
        listed.chmod(0o600)
        must(ends_or_answers(scene), f"it does not start with {text[:60]!r}")
        scene.stop(signal.SIGKILL)
        must(victim.exists() and victim.read_text() == "precious", f"a file is gone after {text[:80]!r}")
    for make in (
        lambda path: os.mkfifo(path, 0o600),
        lambda path: path.mkdir(),
        lambda path: path.symlink_to("/dev/zero"),
    ):
        replace(listed, make)
        if ends_or_answers(scene):
            scene.stop(signal.SIGKILL)
        must(victim.read_text() == "precious", "a file is gone")
    # What the agent wrote itself is removed by the next one. The agents above have written the file again, as another inode.
    replace(listed, lambda path: path.write_text(""))
    listed.chmod(0o600)
    must(ends_or_answers(scene), "it does not start")
    until(10, lambda: str(place) in listed.read_text(), "the list")
    scene.stop(signal.SIGKILL)
    scene.configure(scene.configuration.read_text().replace(table, ""))
    token_file = place / "token"
    must(ends_or_answers(scene), "it does not start")
    until(10, lambda: not token_file.exists(), "the token that a killed agent left to be removed")


THIEF = """
import os, socket, sys
os.setgid(65534); os.setuid(65534)
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o666)
listener.listen(16)
print("ready", flush=True)
while True:
    connection, _ = listener.accept()
    connection.settimeout(2)
    try:
        data = connection.recv(65536)
        print("got", data[:200], flush=True) if data else None
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\n{}")
    except OSError:
        pass
    connection.close()
"""


@attack(WHO, "leads a client without a runtime directory to another user's socket, by the lock file of the store")
def _(scene: Scene) -> None:
    if os.geteuid() != 0:
        raise NotHere("only root can be another user")
    scene.ready("s")
    scene.stop()
    shared = pathlib.Path(tempfile.mkdtemp(prefix="tokenagent-attack."))
    told = scene.home / "told"
    try:
        shared.chmod(0o777)
        place = shared / "agent.sock"
        with open(told, "wb") as output:
            thief = subprocess.Popen([sys.executable, "-c", THIEF, place], stdout=output, stderr=subprocess.DEVNULL)
        scene.children.append(thief)
        until(10, lambda: told.read_text().startswith("ready"), "the other user's socket")
        lock = scene.store / "lock"
        for owner, mode in ((0, 0o600), (0, 0o666), (65534, 0o600)):
            lock.write_text(f"{thief.pid}\n{place}\n")
            os.chown(lock, owner, owner)
            lock.chmod(mode)
            for runtime in ("", "relative", str(shared), str(scene.home / "gone")):
                for arguments, stdin in (
                    (("get", "s"), ""),
                    (("login", "s", "--username", "u", "--password-stdin"), f"{SECRET_MARK}-password\n"),
                    (("unlock", "--passphrase-stdin"), f"{SECRET_MARK}-passphrase\n"),
                ):
                    done = scene.ctl(*arguments, stdin=stdin, environment={"XDG_RUNTIME_DIR": runtime})
                    must(done.returncode != 0, f"{arguments} with {runtime!r} is content with {done.stdout!r}")
        lines = told.read_text().splitlines()
        must(lines == ["ready"], f"another user was sent {lines[1:2]}")
    finally:
        shutil.rmtree(shared)


@attack(WHO, "takes the runtime directory away under a running agent")
def _(scene: Scene) -> None:
    issuer = scene.ready("s")
    run = scene.home / "run"
    token = scene.ctl("get", "s").stdout
    for makes_another in (False, True):
        if makes_another:
            scene.stop()
            run.mkdir(mode=0o700)
            scene.start()
        shutil.rmtree(run)
        if makes_another:
            run.mkdir(mode=0o700)
        must(until(60, lambda: served(scene), "a client to find the agent") == token, "another token is served")
        place = pathlib.Path(scene.ctl("agent-socket").stdout.strip())
        for path in (place, place.parent):
            must(path.stat().st_mode & 0o077 == 0, f"{path} is open to others")
        must(scene.process.poll() is None, "the agent has ended")
    must(len(issuer.requests) <= 3, "the issuer was asked again and again")


def served(scene: Scene) -> str:
    done = scene.ctl("get", "s")
    return done.stdout if done.returncode == 0 else ""
