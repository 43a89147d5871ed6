// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import TestSupport
import Testing

@testable import TokenProxy

/// Where a proxy listens at a path.
@Suite struct SocketFileTests {
    private func refusal(at path: String) -> AgentError? {
        do throws(AgentError) {
            let file = try SocketFile(path)
            close(file.descriptor)
            file.remove()
            return nil
        } catch {
            return error
        }
    }

    @Test func `it is in a directory of the user's that others may read`() throws {
        let directory = try TemporaryDirectory()
        try directory.makeDirectory("mine")
        chmod(directory.path("mine"), 0o755)
        #expect(refusal(at: directory.path("mine/p.sock")) == nil)
    }

    @Test(arguments: [
        ("open/p.sock", "others may write to it"), ("link/p.sock", "it is a symbolic link"),
        ("open/below/p.sock", "others may write to it"), ("none/p.sock", "No such file"),
        ("file/p.sock", "it is not a directory"),
    ])
    func `it is not where others could listen first`(name: String, reason: String) throws {
        let directory = try TemporaryDirectory()
        for child in ["open", "open/below", "mine"] { try directory.makeDirectory(child) }
        chmod(directory.path("open"), 0o777)
        symlink(directory.path("mine"), directory.path("link"))
        try directory.write("", to: "file")
        let found = try #require(refusal(at: directory.path(name)))
        #expect(found.code == .misconfigured && found.remedy != nil)
        #expect(found.message.contains(reason), "\(found.message)")
        #expect(access(directory.path(name), F_OK) != 0)
    }
}
