# SPDX-License-Identifier: MIT
"""A hostile clock: the wall clock stands, leaps and lies while the agent lives and between its lives."""

import base64
import contextlib
import json
import pathlib
import shutil
import subprocess
import time

from scene import Issuer, NotHere, Scene, answer, attack, must

WHO = "clock"
YEAR = 365 * 86_400
SHIM = pathlib.Path(__file__).resolve().parent.parent / "WallClock/shim.c"


class Clock:
    """The wall clock of the agents of one scene, so many seconds beside the machine's."""

    def __init__(self, scene: Scene) -> None:
        if not shutil.which("cc"):
            raise NotHere("there is no C compiler")
        self.place = scene.home / "offset"
        library = scene.home / "clock.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, SHIM, "-ldl"], check=True, timeout=60)
        self.beside(0)
        scene.environment |= {"WALL_CLOCK_FILE": str(self.place)}
        self.variables = {"LD_PRELOAD": str(library)}

    def beside(self, seconds: int) -> None:
        with open(self.place, "r+b" if self.place.exists() else "w+b") as file:
            file.write(str(seconds).encode().ljust(32, b"\0"))


def scene_with_clock(scene: Scene, life: int = 3600, extra: str = "") -> tuple[Clock, Issuer]:
    """An agent with session s whose wall clock is moved by the first of what this returns."""
    clock, issuer = Clock(scene), scene.issuer()
    issuer.life = life
    scene.configure(scene.session("s", issuer, extra))
    scene.start(environment=clock.variables)
    scene.log_in("s")
    shown = scene.state("s")["expires_at"]
    clock.beside(1000)
    if scene.state("s")["expires_at"] - shown < 900:
        raise NotHere("the agent takes no other clock")
    clock.beside(0)
    return clock, issuer


LEAPS = [
    10 * YEAR,
    -10 * YEAR,
    60 * YEAR,
    -int(time.time()),
    -int(time.time()) - 1000,
    3 * YEAR,
    7000 * YEAR,
    -YEAR,
    2**33,
    0,
]


@attack(WHO, "leaps by years in both directions while tokens are served")
def _(scene: Scene) -> None:
    clock, issuer = scene_with_clock(scene)
    asked = len(issuer.requests)
    for leap in LEAPS:
        clock.beside(leap)
        scene.alive("s")
        _, found = scene.get("s")
        must(3000 < found["expires_in"] <= 3600, f"a leap of {leap} s leaves the token {found['expires_in']} s")
        scene.ctl("status", "s")
    time.sleep(1)
    made, forward = len(issuer.requests) - asked, sum(b > a for a, b in zip([0, *LEAPS], LEAPS))
    must(made <= forward + 1, f"{forward} leaps forward made {made} refreshes")


@attack(WHO, "leaps while a refresh is under way")
def _(scene: Scene) -> None:
    clock, issuer = scene_with_clock(scene)

    def slow(request, connection) -> bytes:
        clock.beside(-20 * YEAR)
        time.sleep(0.3)
        clock.beside(20 * YEAR)
        return answer(200, issuer.good())

    issuer.says("/token", slow)
    status, found = scene.request("POST", "/v1/sessions/s/refresh", {})
    must(status == 200 and 3000 < found["expires_in"] <= 3600, f"{found}")
    clock.beside(0)
    scene.alive("s")
    scene.stop()
    scene.start(environment=clock.variables)
    scene.alive("s")


@attack(WHO, "is another at each start of the agent")
def _(scene: Scene) -> None:
    clock, issuer = scene_with_clock(scene)
    for leap in LEAPS:
        scene.stop()
        clock.beside(leap)
        scene.start(environment=clock.variables)
        status, found = scene.get("s")
        must(status == 200, f"after a start {leap} s beside: {found}")
        must(found["expires_in"] <= 3601, f"a start {leap} s beside prolongs the token to {found['expires_in']} s")
    must(len(issuer.requests) <= 2 * len(LEAPS) + 2, f"{len(issuer.requests)} requests")


@attack(WHO, "goes back so that a dead token looks alive")
def _(scene: Scene) -> None:
    clock, issuer = scene_with_clock(scene, life=3)
    _, first = scene.get("s")
    issuer.says("/token", answer(503, b""))
    scene.stop()
    time.sleep(3)
    clock.beside(-3600)
    scene.start(environment=clock.variables)
    status, found = scene.get("s", timeout=1)
    must(status != 200 or found["access_token"] != first["access_token"], "a token past its end is served")


@attack(WHO, "stands at the end of what 32 and 64 bits can say")
def _(scene: Scene) -> None:
    clock, _ = scene_with_clock(scene)
    now = int(time.time())
    for moment in (2**31 - 2, 2**31, 2**32 - 1, 253402300799, 2**40, -1, -(2**31), -62135596801, 2**62, -(2**62)):
        clock.beside(moment - now)
        scene.alive("s")
        for command in (("status", "s"), ("status", "s", "--json"), ("get", "s", "--format", "json"), ("list",)):
            done = scene.ctl(*command)
            must(
                done.returncode in (0, 1, 4, 5),
                f"{command} ends with {done.returncode} at {moment}: {done.stderr[:200]}",
            )
        with contextlib.suppress(OSError):
            scene.request("POST", "/v1/sessions/s/refresh", {})
        scene.alive("s")


@attack(WHO, "leaps past the age of a session and comes back")
def _(scene: Scene) -> None:
    clock, _ = scene_with_clock(scene, extra='max_session_age = "30d"')
    clock.beside(31 * 86_400)
    scene.alive("s")
    time.sleep(0.3)
    clock.beside(0)
    scene.alive("s")
    must(scene.state("s")["state"] == "ready", "a leap of the clock ended the login")


@attack(WHO, "tells a date that the audit log and the log cannot write")
def _(scene: Scene) -> None:
    clock, _ = scene_with_clock(scene)
    for leap in (10_000 * YEAR, -60 * YEAR, 2**60):
        clock.beside(leap)
        for _ in range(3):
            scene.get("s")
        scene.request("POST", "/v1/sessions/s/refresh", {})
    clock.beside(0)
    time.sleep(1.2)
    done = scene.ctl("audit")
    must(done.returncode == 0 and done.stdout.count("\n") >= 3, f"the audit log cannot be read: {done.stderr}")
    scene.alive("s")


@attack(WHO, "goes on while the machine was paused, so that dead tokens look alive")
def _(scene: Scene) -> None:
    clock, issuer = scene_with_clock(scene)
    clock.beside(0)
    _, first = scene.get("s")
    leap = 8 * 3600
    clock.beside(leap)
    status, found = scene.get("s")
    must(status == 200 and found["access_token"] != first["access_token"], f"a token of before is served: {found}")

    def part(value: dict) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    # A token that says itself when it ends is not served beyond that, not even while the issuer is away.
    end = int(time.time()) + leap + 3600
    dated = f"{part({'alg': 'none', 'typ': 'JWT'})}.{part({'exp': end})}.AAAA"
    issuer.says("/token", answer(200, issuer.good(access_token=dated)))
    must(scene.request("POST", "/v1/sessions/s/refresh", {})[0] == 200, "no refresh after a step")
    must(scene.get("s")[1].get("access_token") == dated, "another token is served")
    issuer.says("/token", answer(503, b""))
    clock.beside(2 * leap)
    status, found = scene.get("s", timeout=2)
    must(status != 200, f"a token is served that ended {leap - 3600} s ago: {found}")
    must(scene.state("s")["state"] != "logged_out", "a step ended the login")
