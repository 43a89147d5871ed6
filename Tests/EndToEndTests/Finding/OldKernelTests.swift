// SPDX-License-Identifier: MIT

import TestSupport
import Testing

extension EndToEnd {
    /// Systems without `pidfd_open`: Linux before 5.3, and containers whose filter is older than the call.
    @Suite(.full) struct OldKernelTests {
        /// `ENOSYS`, `EPERM`.
        @Test(arguments: [38, 1])
        func `commands are run and their end is noticed`(error: Int) async throws {
            let agent = try AgentUnderTest()
            let tool = try agent.home.write("#!/bin/sh\necho token-of-tool\n", to: "tool", mode: 0o700)
            try agent.configure("[session.tool]\nkind = \"command\"\ncommand = [\"\(tool)\"]\n")
            let wrapper = DeniedSystemCall.wrapper(434, failingWith: error)
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
