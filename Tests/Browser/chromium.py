#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""chromium.py URL: opens URL in a headless Chromium, and prints what it shows as one JSON object.

The page runs no script. The browser itself is asked, over its debugging pipe, for the styles that it has computed.
"""

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time

# Seconds for the whole run, of which a login takes most.
LIMIT = 60

LOOK = """(() => {
  const style = element => getComputedStyle(document.querySelector(element));
  const width = document.documentElement.clientWidth;
  return {
    back: style("body").backgroundColor, card: style("main").backgroundColor, text: style("h1").color,
    wide: [...document.querySelectorAll("body *")]
      .filter(one => one.getBoundingClientRect().right > width + 1 || one.scrollWidth > one.clientWidth + 1)
      .map(one => one.tagName),
    overflows: document.documentElement.scrollWidth > width,
  };
})()"""


class Chromium:
    """A browser with one page."""

    def __init__(self, home: str) -> None:
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()
        self.deadline = time.monotonic() + LIMIT
        self.received = b""
        self.count = 0
        self.seen: set[str] = set()
        self.session: str | None = None
        # Chromium reads commands at descriptor 3 and writes to 4.
        script = f'exec "$@" 3<&{commands} 4>&{answers}'
        words = ["--headless", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--no-proxy-server"]
        words += ["--disable-dev-shm-usage", "--disable-background-networking", f"--user-data-dir={home}/profile"]
        if os.geteuid() == 0:
            words.append("--no-sandbox")
        self.process = subprocess.Popen(
            ["bash", "-c", script, "chromium", "chromium", *words, "about:blank"],
            env={"HOME": home, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
            pass_fds=(commands, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")

    def read(self) -> dict:
        while b"\0" not in self.received:
            left = self.deadline - time.monotonic()
            if left <= 0 or not select.select([self.answers], [], [], left)[0]:
                raise TimeoutError("chromium does not answer")
            piece = os.read(self.answers, 1 << 20)
            if not piece:
                raise EOFError("chromium has ended")
            self.received += piece
        message, _, self.received = self.received.partition(b"\0")
        return json.loads(message)

    def call(self, method: str, **parameters: object) -> dict:
        self.count += 1
        command = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.commands, json.dumps(command).encode() + b"\0")
        while (answer := self.read()).get("id") != self.count:
            self.seen.add(answer.get("method", ""))
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def open(self, url: str) -> None:
        self.seen.clear()
        self.call("Page.navigate", url=url)
        while "Page.loadEventFired" not in self.seen:
            self.seen.add(self.read().get("method", ""))

    def value(self, expression: str) -> object:
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def look(self, scheme: str, width: int) -> object:
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 500
        )
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        return self.value(LOOK)

    def close(self) -> None:
        self.session = None
        with contextlib.suppress(Exception):
            self.call("Browser.close")
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def main() -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        browser = Chromium(home)
        try:
            browser.open(sys.argv[1])
            entries = browser.call("Page.getNavigationHistory")["entries"]
            shown = {
                "address": browser.value("location.href"),
                "title": browser.value("document.title"),
                "text": browser.value("document.body.innerText"),
                "history": [entry["url"] for entry in entries],
                "light": browser.look("light", 800),
                "dark": browser.look("dark", 800),
                "narrow": browser.look("light", 390),
            }
        finally:
            browser.close()
    print(json.dumps(shown))


main()
