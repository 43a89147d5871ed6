# SPDX-License-Identifier: MIT
"""The processes that this one has started, and those that they have."""

import contextlib
import dataclasses
import os
import pathlib
import signal


@dataclasses.dataclass(frozen=True)
class Descendant:
    """A process that no other can be mistaken for: its number is given away again, the time of its start is not."""

    pid: int
    started: str

    def kill(self) -> None:
        """Ends it at once, if it is still there."""
        with contextlib.suppress(OSError):
            handle = os.pidfd_open(self.pid)
            try:
                if parent_and_start(self.pid)[1] == self.started:
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
            finally:
                os.close(handle)


def parent_and_start(pid: int) -> tuple[int, str]:
    """The parent and the start time of a process (proc(5)), whatever its name holds."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    return int(fields[1]), fields[19]


def descendants() -> set[Descendant]:
    children: dict[int, list[Descendant]] = {}
    for place in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            pid = int(place.name)
            parent, started = parent_and_start(pid)
            children.setdefault(parent, []).append(Descendant(pid, started))
    found, parents = set(), [os.getpid()]
    while parents:
        for child in children.get(parents.pop(), []):
            found.add(child)
            parents.append(child.pid)
    return found
