// SPDX-License-Identifier: MIT

import TestSupport
import Testing

extension EndToEnd {
    /// Systems without `pidfd_open`: Linux before 5.3, and containers whose filter is older than the call.
    @Suite(.full) struct OldKernelTests {
        /// Becomes a program for which `pidfd_open` fails with the error number that is the first argument.
        private static let filter = """
            import ctypes, os, struct, sys
            error = int(sys.argv[1])
            code = b"".join(struct.pack("HBBI", *step) for step in (
                (0x20, 0, 0, 0), (0x15, 0, 1, 434), (0x06, 0, 0, 0x50000 | error), (0x06, 0, 0, 0x7FFF0000)))
            buffer = ctypes.create_string_buffer(code)
            program = struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer))
            libc = ctypes.CDLL(None, use_errno=True)
            assert libc.prctl(38, 1, 0, 0, 0) == 0
            assert libc.prctl(22, 2, ctypes.create_string_buffer(program), 0, 0) == 0, ctypes.get_errno()
            os.execvp(sys.argv[2], sys.argv[2:])
            """

        /// `ENOSYS`, `EPERM`.
        @Test(arguments: [38, 1])
        func `commands are run and their end is noticed`(error: Int) async throws {
            let agent = try AgentUnderTest()
            let tool = try agent.home.write("#!/bin/sh\necho token-of-tool\n", to: "tool", mode: 0o700)
            try agent.configure("[session.tool]\nkind = \"command\"\ncommand = [\"\(tool)\"]\n")
            let wrapper = ["python3", "-c", Self.filter, "\(error)"]
            try await agent.start(wrapper: wrapper)
            let get = try await agent.tokenctl("get", "tool", "--timeout", "20s")
            #expect(get.status == 0 && get.line == "token-of-tool", "\(get) \(agent.log)")
            let exec = try await Program.run(
                wrapper + [BuiltPrograms.client, "exec", "tool", "--", "sh", "-c", "exit 3"],
                environment: agent.environment
            )
            #expect(exec.status == 3, "\(exec)")
        }
    }
}
