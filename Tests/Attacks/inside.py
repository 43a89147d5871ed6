# SPDX-License-Identifier: MIT
"""Somebody who runs code in the agent: what the kernel still lets it do (root plays them, by taking a thread over)."""

import ctypes
import os
import platform

from scene import NotHere, Scene, attack, must

WHO = "inside"

ATTACH, DETACH, SINGLE_STEP, GET_REGISTERS, SET_REGISTERS = 16, 17, 9, 12, 13
# The registers of struct user_regs_struct, in its order.
REGISTERS = (
    "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs gs"
).split()
ARGUMENTS = ("rdi", "rsi", "rdx", "r10", "r8")
SYSTEM_CALL = b"\x0f\x05"
HERE = (1 << 64) - 100  # AT_FDCWD
# Every call of x86-64 that changes something of a file whose path is the text, with the rest of its arguments.
PATH = object()
CHANGES = {
    "chmod": (90, PATH, 0o666),
    "fchmodat": (268, HERE, PATH, 0o666),
    "fchmodat2": (452, HERE, PATH, 0o666, 0),
    "chown": (92, PATH, 65534, 65534),
    "lchown": (94, PATH, 65534, 65534),
    "fchownat": (260, HERE, PATH, 65534, 65534),
    "utime": (132, PATH, 0),
    "utimes": (235, PATH, 0),
    "utimensat": (280, HERE, PATH, 0, 0),
    "removexattr": (197, PATH, PATH),
}


class Thread:
    """A thread of another process, stopped in a system call."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        if self.libc.ptrace(ATTACH, number, None, None) != 0:
            raise NotHere("processes cannot be traced here")
        os.waitpid(number, 0x40000000)
        self.memory = os.open(f"/proc/{number}/mem", os.O_RDWR)
        self.before = self.registers()

    def registers(self) -> dict[str, int]:
        block = (ctypes.c_uint64 * len(REGISTERS))()
        self.libc.ptrace(GET_REGISTERS, self.number, None, ctypes.addressof(block))
        return dict(zip(REGISTERS, block))

    def set(self, registers: dict[str, int]) -> None:
        block = (ctypes.c_uint64 * len(REGISTERS))(*(registers[name] for name in REGISTERS))
        self.libc.ptrace(SET_REGISTERS, self.number, None, ctypes.addressof(block))

    def call(self, number: int, *arguments: object, text: bytes) -> int:
        """Makes a system call in the thread; its result, negative for an error."""
        place = (self.before["rsp"] - 8192) & ~15
        os.pwrite(self.memory, text + b"\0", place)
        instruction = self.before["rip"] - len(SYSTEM_CALL)
        if os.pread(self.memory, len(SYSTEM_CALL), instruction) != SYSTEM_CALL:
            raise NotHere("the thread waits in no system call")
        values = [place if value is PATH else value for value in arguments]
        changed = dict(zip(ARGUMENTS, values)) | {"rax": number, "orig_rax": (1 << 64) - 1, "rip": instruction}
        self.set(self.before | changed)
        self.libc.ptrace(SINGLE_STEP, self.number, None, None)
        os.waitpid(self.number, 0x40000000)
        result = self.registers()["rax"]
        return result - (1 << 64) if result >> 63 else result

    def let_go(self) -> None:
        self.set(self.before)
        os.close(self.memory)
        self.libc.ptrace(DETACH, self.number, None, None)


@attack(WHO, "takes the agent over and changes modes, owners, times and attributes in the home")
def _(scene: Scene) -> None:
    if os.geteuid() != 0 or platform.machine() != "x86_64":
        raise NotHere("only root takes another process over, and this one speaks x86-64")
    scene.ready("s")
    victim = scene.home / "id_victim"
    victim.write_text("private\n")
    victim.chmod(0o600)
    before = victim.stat()
    thread = Thread(scene.process.pid)
    try:
        results = {
            name: thread.call(*change, text=bytes(victim)) for name, change in CHANGES.items()
        }
        opened = thread.call(257, HERE, PATH, os.O_RDONLY, 0, text=bytes(victim))
    finally:
        thread.let_go()
    must(all(result == -1 for result in results.values()), f"it is let do it, or no rule is about it: {results}")
    must(opened == -13, f"the file can be opened: {opened}")
    after = victim.stat()
    kept = (before.st_mode, before.st_uid, before.st_mtime_ns)
    must((after.st_mode, after.st_uid, after.st_mtime_ns) == kept, "changed")
    scene.alive("s")


# What would lead out of the agent, with the numbers of x86-64, and the errors that mean "refused": EPERM, EACCES, and
# EAFNOSUPPORT for sockets.
DOORS = {
    "execve": (59, PATH, 0, 0),
    "execveat": (322, HERE, PATH, 0, 0, 0),
    "fork": (57,),
    "vfork": (58,),
    "clone": (56, 17, 0, 0, 0, 0),
    "ptrace": (101, 16, 1, 0, 0),
    "process_vm_readv": (310, 1, 0, 0, 0, 0),
    "pidfd_getfd": (438, 0, 0, 0),
    "unshare": (272, 0x10000000),
    "mount": (165, PATH, PATH, 0, 0, 0),
    "bpf": (321, 0, 0, 0),
    "io_uring_setup": (425, 1, 0),
    "keyctl": (250, 0, 0, 0, 0, 0),
    "prctl, traceable": (157, 4, 1, 0, 0, 0),
    "socket, packets": (41, 17, 3, 0),
    "socket, ciphers": (41, 38, 5, 0),
    "socket, vsock": (41, 40, 1, 0),
    "open for reading": (257, HERE, PATH, os.O_RDONLY, 0),
    "open for writing": (257, HERE, PATH, os.O_WRONLY, 0),
    "unlink": (87, PATH),
    "rename": (82, PATH, PATH),
    "truncate": (76, PATH, 0),
}
# What would make something where nothing is.
MAKERS = {
    "open": (257, HERE, PATH, os.O_CREAT | os.O_WRONLY, 0o600),
    "mkdir": (83, PATH, 0o700),
    "symlink": (88, PATH, PATH),
    "mknod": (133, PATH, 0o010600, 0),
}


@attack(WHO, "takes the agent over and looks for a way out: programs, processes, files, other sockets")
def _(scene: Scene) -> None:
    if os.geteuid() != 0 or platform.machine() != "x86_64":
        raise NotHere("only root takes another process over, and this one speaks x86-64")
    scene.ready("s")
    victim = scene.home / "id_victim"
    victim.write_text("private\n")
    victim.chmod(0o700)
    thread = Thread(scene.process.pid)
    try:
        results = {name: thread.call(*door, text=bytes(victim)) for name, door in DOORS.items()}
        new = scene.home / "made"
        results |= {f"{name}, new": thread.call(*maker, text=bytes(new)) for name, maker in MAKERS.items()}
    finally:
        thread.let_go()
    open_doors = {name: result for name, result in results.items() if result not in (-1, -13, -97)}
    must(not open_doors, f"these are open, or no rule is about them: {open_doors}")
    must(not os.path.lexists(new), "something is made in the home")
    must(victim.read_text() == "private\n", "the file is another one")
    scene.alive("s")
