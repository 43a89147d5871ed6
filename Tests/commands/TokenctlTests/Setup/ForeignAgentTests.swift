// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// Text from another user's agent that `tokenctl setup` might write.
struct ForeignAgentTests {
    @Test(.holds("243")) func `a name that a shell would read otherwise is not written`() async throws {
        let odd = #"{"session":"x;touch y","hosts":["a.example"]}"#
        let work = #"{"session":"work","hosts":["b.example"]}"#
        let tokenctl = try TokenctlRun(responding: { _ in .answer(#"{"sessions":[\#(odd),\#(work)]}"#) })
        let result = try await tokenctl("setup", "git", "--print")
        #expect(result.status == 0, "\(result)")
        #expect(result.standardOutput.contains("git-credential --session work"), "\(result)")
        #expect(!result.standardOutput.contains("touch"), "\(result)")
        #expect(!result.standardOutput.contains("a.example"), "\(result)")
    }
}
