// SPDX-License-Identifier: MIT

/// A system call that the kernel, or the filter of a container, does not have.
enum DeniedSystemCall {
    /// Becomes a program for which a call fails: its number, the error number, and the command are the arguments.
    private static let filter = """
        import ctypes, os, struct, sys
        call, error = map(int, sys.argv[1:3])
        code = b"".join(struct.pack("HBBI", *step) for step in (
            (0x20, 0, 0, 0), (0x15, 0, 1, call), (0x06, 0, 0, 0x50000 | error), (0x06, 0, 0, 0x7FFF0000)))
        buffer = ctypes.create_string_buffer(code)
        program = struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer))
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.prctl(38, 1, 0, 0, 0) == 0
        assert libc.prctl(22, 2, ctypes.create_string_buffer(program), 0, 0) == 0, ctypes.get_errno()
        os.execvp(sys.argv[3], sys.argv[3:])
        """

    /// The words before a command that make `call` fail with `error` for it.
    static func wrapper(_ call: Int, failingWith error: Int) -> [String] {
        ["python3", "-c", filter, "\(call)", "\(error)"]
    }
}
