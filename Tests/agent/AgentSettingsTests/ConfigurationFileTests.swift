// SPDX-License-Identifier: MIT

import AgentSettings
import Glibc
import ServerSettings
import TestSupport
import Testing

/// A file with `text` and `mode` in a directory of its own.
private func withFile(_ text: String, mode: mode_t, _ body: (String) throws -> Void) throws {
    let directory = try TemporaryDirectory()
    try body(try directory.write(text, to: "config.toml", mode: mode))
}

private func complaint(_ path: String, mustExist: Bool = true) -> String? {
    do throws(ConfigurationProblems) {
        _ = try ConfigurationFile(path: path, mustExist: mustExist).settings(home: "/home/me")
        return nil
    } catch {
        return error.lines.joined(separator: "\n")
    }
}

struct ConfigurationFileTests {
    static let secret = """
        [session.w]
        kind = "oidc"
        issuer = "https://id.example"
        client_id = "c"
        client_secret = "s"
        """

    @Test func `the default file need not exist, a named one must`() {
        #expect(complaint("/nonexistent/config.toml", mustExist: false) == nil)
        #expect(
            complaint("/nonexistent/config.toml")
                == "/nonexistent/config.toml: cannot be read: No such file or directory"
        )
    }

    @Test(arguments: [0o644, 0o600, 0o400] as [mode_t])
    func `a file without secrets may be readable by all`(mode: mode_t) throws {
        try withFile("[agent]\n", mode: mode) { #expect(complaint($0) == nil) }
    }

    @Test(arguments: [0o620, 0o602, 0o666] as [mode_t])
    func `a file others can write is refused`(mode: mode_t) throws {
        try withFile("", mode: mode) { path in
            #expect(
                complaint(path)
                    == "\(path): must not be writable by group or others (run: chmod go-w \(path))"
            )
        }
    }

    @Test func `a file with a client secret must be private`() throws {
        try withFile(Self.secret, mode: 0o640) { path in
            let reason = "contains client_secret and must not be accessible to group or others"
            #expect(complaint(path) == "\(path): \(reason) (run: chmod 600 \(path))")
        }
        try withFile(Self.secret, mode: 0o600) { #expect(complaint($0) == nil) }
    }

    @Test func `only a regular file is read`() {
        #expect(complaint("/dev/null") == "/dev/null: is not a regular file")
        #expect(complaint("/tmp") == "/tmp: is not a regular file")
    }

    @Test func `a huge file is refused`() throws {
        try withFile(String(repeating: "#", count: ConfigurationFile.maximumSize + 1), mode: 0o600) { path in
            #expect(complaint(path) == "\(path): is larger than 4 MiB")
        }
    }
}
