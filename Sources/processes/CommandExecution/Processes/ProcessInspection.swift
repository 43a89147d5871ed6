// SPDX-License-Identifier: MIT

import Glibc

/// The inspection of a process: its program, and the programs on whose behalf it makes requests.
///
/// `tokenctl` makes requests for the program that started it: `git` runs it, perhaps through a shell, and
/// uses the token. `tokenctl` also denies other processes access to itself. So unless this process runs as
/// root, it recognizes `tokenctl` only by name. A process that can start programs as this user can start an
/// allowed one, so this only distinguishes honest programs.
struct ProcessInspection: Sendable {
    /// The number of ancestors to inspect: `git` runs `git remote-https`, which runs a shell, which runs
    /// `tokenctl`.
    private static let generations = 4

    private let digests = DigestCache()
    private let clients: [String]
    /// The path of the program that serves `[[proxy]]` and `[[endpoint]]`.
    private let proxy: String

    /// The programs with which `tokenctl` replaces itself for its other commands.
    private static let otherHalves = ["tokenctl-commands", "tokenagent-mcp"]

    /// The kernel's names for the programs of `tokenctl`: at most 15 bytes (proc_pid_comm(5)).
    private static let clientNames: Set = ["tokenctl", "tokenctl-comman", "tokenagent-mcp"]
    private static let proxyName = "tokenagent-prox"

    /// Finds the programs that count as `tokenctl`, relative to this executable.
    ///
    /// They are `tokenctl`, `tokenctl-commands` and `tokenagent-mcp` in its directory, and
    /// `../../bin/tokenctl` from there.
    init() {
        var own = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink("/proc/self/exe", &own, own.count)
        let path = own.prefix(max(0, count)).map { UInt8(bitPattern: $0) }
        let directory = String(decoding: path[..<(path.lastIndex(of: UInt8(ascii: "/")) ?? 0)], as: UTF8.self)
        proxy = "\(directory)/tokenagent-proxy"
        clients = (["tokenctl", "../../bin/tokenctl"] + Self.otherHalves).map { "\(directory)/\($0)" }
    }

    /// Returns the identity of `process`, or `nil` if there is no process of that number.
    func facts(of process: pid_t, digesting digested: Set<String> = []) -> ProcessDescription? {
        guard let directory = ProcessDirectory(process), let status = directory.status else { return nil }
        let own = program(directory, digested)
        var programs = own.map { [$0] } ?? []
        var callers: [ProcessDescription.Program] = []
        if isClient(directory, status) {
            if let own { programs += otherHalf(of: own, digested) }
            callers = ancestors(of: process, digested)
            programs += callers
        }
        return ProcessDescription(
            programs: programs,
            unit: directory.unit?.name,
            startedAt: status.startTicks * (1_000_000_000 / Int64(sysconf(Int32(_SC_CLK_TCK)))),
            image: directory.image ?? "?" + status.name,
            isProxy: isProxy(directory, status),
            name: status.name,
            executable: own?.executable,
            callers: callers.map(\.executable)
        )
    }

    /// Returns whether the process is the proxy, which denies access to itself like `tokenctl`.
    private func isProxy(_ directory: borrowing ProcessDirectory, _ status: ProcessDirectory.Status) -> Bool {
        if let executable = directory.executable { return FileIdentity(at: proxy) == executable.file }
        return directory.hidesExecutable && status.name == Self.proxyName
    }

    private func isClient(_ directory: borrowing ProcessDirectory, _ status: ProcessDirectory.Status) -> Bool
    {
        if let executable = directory.executable {
            return clients.contains { FileIdentity(at: $0) == executable.file }
        }
        return directory.hidesExecutable && Self.clientNames.contains(status.name)
    }

    /// Returns `tokenctl` if `own` is one of the programs that replace it, because the same rules apply to
    /// both.
    private func otherHalf(
        of own: ProcessDescription.Program,
        _ digested: Set<String>
    ) -> [ProcessDescription.Program] {
        guard Self.otherHalves.contains(where: { own.executable.hasSuffix("/\($0)") }),
            let client = clients.first(where: { $0.hasSuffix("/tokenctl") && FileIdentity(at: $0) != nil }),
            let resolved = unsafe realpath(client, nil)
        else { return [] }
        defer { unsafe free(resolved) }
        let path = unsafe String(cString: resolved)
        guard let file = FileIdentity(at: path) else { return [] }
        let executable = ProcessDirectory.Executable(path: path, file: file)
        return [program(executable, digested, opening: opened(path))]
    }

    private func opened(_ path: String) -> Int32? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        return descriptor >= 0 ? descriptor : nil
    }

    /// Returns the programs of the ancestors of `process`, nearest first.
    private func ancestors(of process: pid_t, _ digested: Set<String>) -> [ProcessDescription.Program] {
        var found: [ProcessDescription.Program] = []
        var child = process
        for _ in 0..<Self.generations {
            guard let parent = ProcessDirectory(child)?.status?.parent, parent > 1,
                let directory = ProcessDirectory(parent)
            else { break }
            let program = program(directory, digested)
            // A child whose parent exits gets another parent. If the child still has this one, its parent was
            // inspected.
            guard ProcessDirectory(child)?.status?.parent == parent else { break }
            if let program { found.append(program) }
            child = parent
        }
        return found
    }

    private func program(
        _ directory: borrowing ProcessDirectory,
        _ digested: Set<String>
    ) -> ProcessDescription.Program? {
        guard let executable = directory.executable else { return nil }
        return program(executable, digested, opening: directory.openExecutable())
    }

    private func program(
        _ executable: ProcessDirectory.Executable,
        _ digested: Set<String>,
        opening descriptor: @autoclosure () -> Int32?
    ) -> ProcessDescription.Program {
        guard digested.contains(executable.path) else {
            return ProcessDescription.Program(executable: executable.path)
        }
        let digest = digests.digest(of: executable.file, opening: descriptor())
        return ProcessDescription.Program(executable: executable.path, digest: digest)
    }
}
