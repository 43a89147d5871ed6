# SPDX-License-Identifier: MIT
"""Where the hosts are: a network namespace each, with a link to etcd and one to the issuer, which can be cut.

Without the right to make namespaces all are on the loopback interface, and no host can be cut off."""

import contextlib
import itertools
import os
import subprocess

from ground import Authority, Ground, say

ETCD, ISSUER = "e", "i"


class Network:
    """Two bridges, one to etcd and one to the issuer; each host has a pair of devices on both."""

    COUNT = itertools.count()

    def __init__(self, ground: Ground) -> None:
        # The devices of the last network may be there for a moment longer.
        count = next(Network.COUNT)
        self.tag = f"ta{os.getpid() % 100_000}{chr(ord('a') + count % 26)}"
        self.second = 64 + (os.getpid() + count) % 128
        self.namespaces: list[str] = []
        self.bridges: list[str] = []
        self.members: dict[tuple[str, str], str] = {}
        self.is_private = self._begin()
        ground.closers.append(self.close)
        if self.is_private:
            ground.authority = Authority(ground.home / "tls")
        else:
            say("no network namespaces here (not root, or not permitted): hosts cannot be cut off, and share the loopback"
                " interface")

    def _begin(self) -> bool:
        if os.geteuid() != 0:
            return False
        try:
            for which, base in ((ETCD, 0), (ISSUER, 128)):
                bridge = f"{self.tag}{which}"
                self._ip("link", "add", bridge, "type", "bridge")
                self.bridges.append(bridge)
                self._ip("addr", "add", f"10.{self.second}.{base}.1/17", "dev", bridge)
                self._ip("link", "set", bridge, "up")
            self._ip("netns", "add", f"{self.tag}t")
            self.namespaces.append(f"{self.tag}t")
        except (OSError, subprocess.CalledProcessError):
            self.close()
            return False
        return True

    @property
    def etcd_address(self) -> str:
        return f"10.{self.second}.0.1" if self.is_private else "127.0.0.1"

    @property
    def issuer_address(self) -> str:
        return f"10.{self.second}.128.1" if self.is_private else "127.0.0.1"

    def join(self, number: int) -> list[str]:
        """Makes the place of a host; returns what its programs' command lines begin with."""
        if not self.is_private:
            return []
        space = f"{self.tag}h{number}"
        lines = [f"netns add {space}", f"-n {space} link set lo up"]
        for which, base in ((ETCD, 1), (ISSUER, 129)):
            outer, inner = f"{self.tag}{which}{number}", f"{which}th"
            lines += [
                f"link add {outer} type veth peer name {inner} netns {space}",
                f"link set {outer} master {self.tag}{which} up",
                f"-n {space} addr add 10.{self.second}.{base}.{number + 1}/17 dev {inner}",
                f"-n {space} link set {inner} up",
            ]
        self.namespaces.append(space)
        for line in lines:
            self._ip(*line.split())
        return ["nsenter", f"--net=/run/netns/{space}", "--"]

    def number(self, address: str) -> int | None:
        """Which host an address belongs to."""
        return int(address.rsplit(".", 1)[1]) - 1 if self.is_private and address.startswith("10.") else None

    def cut(self, number: int, which: str) -> None:
        """Nothing comes through from now on, in either direction, and nobody is told."""
        self._ip("link", "set", f"{self.tag}{which}{number}", "nomaster")

    def heal(self, number: int, which: str) -> None:
        self._ip("link", "set", f"{self.tag}{which}{number}", "master", f"{self.tag}{which}")

    def _ip(self, *words: str) -> None:
        subprocess.run(["ip", *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def close(self) -> None:
        """With a namespace its devices go, and their ends here."""
        for space in self.namespaces:
            with contextlib.suppress(OSError, subprocess.CalledProcessError):
                self._ip("netns", "del", space)
        for bridge in self.bridges:
            with contextlib.suppress(OSError, subprocess.CalledProcessError):
                self._ip("link", "del", bridge)
        self.namespaces, self.bridges = [], []
