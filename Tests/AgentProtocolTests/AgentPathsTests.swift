// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import TestSupport
import Testing

@Suite struct `AgentLocations of the agent` {
    @Test(arguments: [
        (["TOKENAGENT_SOCK": "/a", "XDG_RUNTIME_DIR": "/", "HOME": "/h"], "/a"),
        (
            ["TOKENAGENT_SOCK": "", "XDG_RUNTIME_DIR": "", "HOME": "/h"],
            "/h/.local/state/tokenagent/run/agent.sock"
        ),
        (["XDG_RUNTIME_DIR": "relative", "TOKENAGENT_STATE_DIR": "/s"], "/s/run/agent.sock"),
        (["STATE_DIRECTORY": "/var/lib/a:/var/lib/b"], "/var/lib/a/run/agent.sock"),
        (["XDG_STATE_HOME": "/state", "HOME": "/h"], "/state/tokenagent/run/agent.sock"),
    ])
    func `the socket is the first place that is set`(variables: [String: String], socket: String) throws {
        #expect(try AgentPaths.socket { variables[$0] } == socket)
    }

    @Test func `a runtime directory that is missing or another user's counts as unset`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("", to: "file")
        let foreign = try directory.makeDirectory("foreign")
        // Somebody else's, for root as for others.
        let stranger = TestUser.isRoot ? foreign : "/"
        if TestUser.isRoot { try #require(chown(foreign, 65_534, 65_534) == 0) }
        for (runtime, isTaken) in [
            (directory.path, true), (directory.path("vanished"), false), (file, false), (stranger, false),
        ] {
            let paths = try AgentPaths(stateDirectory: "/s") {
                ["XDG_RUNTIME_DIR": runtime, "HOME": "/h"][$0]
            }
            #expect(paths.socket == (isTaken ? runtime + "/tokenagent/agent.sock" : "/s/run/agent.sock"))
            #expect(paths.runtimeDirectory == (isTaken ? runtime : nil))
        }
    }

    @Test(arguments: [
        (["TOKENAGENT_CONFIG": "/c.toml", "HOME": "/h"], "/c.toml"),
        (["XDG_CONFIG_HOME": "/config", "HOME": "/h"], "/config/tokenagent/config.toml"),
        (["HOME": "/h"], "/h/.config/tokenagent/config.toml"),
    ])
    func `the configuration is the first place that is set`(variables: [String: String], path: String) throws
    {
        #expect(try AgentPaths(stateDirectory: "/s") { variables[$0] }.configuration == path)
    }

    @Test func `a state directory given by hand moves the socket with it`() throws {
        let paths = try AgentPaths(stateDirectory: "/mine") { ["HOME": "/h"][$0] }
        #expect(paths.stateDirectory == "/mine")
        #expect(paths.socket == "/mine/run/agent.sock")
    }

    @Test(arguments: [
        ["TOKENAGENT_SOCK": "agent.sock", "HOME": "/h"], ["TOKENAGENT_STATE_DIR": "s"], ["HOME": "h"], [:],
        ["TOKENAGENT_SOCK": "/" + String(repeating: "x", count: 107), "HOME": "/h"],
    ])
    func `a place that cannot be one is an error of the configuration`(variables: [String: String]) {
        let error = #expect(throws: AgentError.self) { try AgentPaths.socket { variables[$0] } }
        #expect(error?.code == .misconfigured)
    }

    @Test func `without HOME the remedy names the variable that makes it unnecessary`() {
        let state = #expect(throws: AgentError.self) { try AgentPaths.socket { _ in nil } }
        #expect(state?.remedy == .set("HOME or TOKENAGENT_STATE_DIR"))
        let configuration = #expect(throws: AgentError.self) { try AgentPaths.configuration { _ in nil } }
        #expect(configuration?.remedy == .set("HOME or TOKENAGENT_CONFIG"))
    }

    @Test(.holds("18")) func `a socket path of 107 bytes is the longest`() throws {
        let path = "/" + String(repeating: "x", count: 106)
        #expect(try AgentPaths.socket { ["TOKENAGENT_SOCK": path][$0] } == path)
    }
}

@Suite struct `Private directories` {
    private let scratch: TemporaryDirectory

    init() throws {
        scratch = try TemporaryDirectory()
    }

    @Test func `a missing directory is made with its parents, for its owner only`() throws {
        let path = scratch.path("a/b/c")
        try PrivateDirectory.prepare(path)
        try PrivateDirectory.prepare(path)
        #expect(try mode(of: path) == 0o700)
        #expect(try mode(of: scratch.path("a/b")) == 0o700)
    }

    @Test func `a directory that others can enter is refused with the command that closes it`() throws {
        let path = scratch.path("open")
        #expect(mkdir(path, 0o700) == 0 && chmod(path, 0o750) == 0)
        let error = #expect(throws: AgentError.self) { try PrivateDirectory.prepare(path) }
        #expect(error?.remedy == .run("chmod 700 \(path)"))
    }

    @Test(.holds("2")) func `a symbolic link is refused even if it leads to a private directory`() throws {
        #expect(symlink(try scratch.makeDirectory("real"), scratch.path("link")) == 0)
        #expect(throws: AgentError.self) { try PrivateDirectory.prepare(scratch.path("link")) }
    }

    @Test(.holds("2")) func `a file is refused`() throws {
        let path = try scratch.write("", to: "file")
        #expect(throws: AgentError.self) { try PrivateDirectory.prepare(path) }
    }

    private func mode(of path: String) throws -> mode_t {
        var status = stat()
        try #require(lstat(path, &status) == 0)
        return status.st_mode & 0o777
    }
}
