// SPDX-License-Identifier: MIT

import Glibc

/// Finds out which program a process runs and for whom it asks.
///
/// `tokenctl` asks on behalf of the program that started it: `git` runs it, perhaps through a shell, and
/// wants the token. `tokenctl` also keeps other processes from looking at it, so unless this process is
/// root's it knows `tokenctl` by name only. A process that can start programs as this user can start an
/// allowed one, so this only tells honest programs apart.
struct ProcessExamination: Sendable {
    /// How far above `tokenctl` to look: `git` runs `git remote-https`, which runs a shell, which runs `tokenctl`.
    private static let generations = 4

    private let digests = DigestCache()
    private let clients: [String]
    /// Where the program lies that serves `[[proxy]]` and `[[endpoint]]`.
    private let proxy: String

    /// The programs that `tokenctl` becomes for its other commands.
    private static let otherHalves = ["tokenctl-commands", "tokenagent-mcp"]

    /// How the kernel names the programs of `tokenctl`: 15 bytes at most (proc_pid_comm(5)).
    private static let clientNames: Set = ["tokenctl", "tokenctl-comman", "tokenagent-mcp"]
    private static let proxyName = "tokenagent-prox"

    /// Takes for `tokenctl` the programs `tokenctl`, `tokenctl-commands` and `tokenagent-mcp` beside this one, and
    /// `tokenctl` in `../../bin` seen from there.
    init() {
        var own = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink("/proc/self/exe", &own, own.count)
        let path = own.prefix(max(0, count)).map { UInt8(bitPattern: $0) }
        let directory = String(decoding: path[..<(path.lastIndex(of: UInt8(ascii: "/")) ?? 0)], as: UTF8.self)
        proxy = "\(directory)/tokenagent-proxy"
        clients = (["tokenctl", "../../bin/tokenctl"] + Self.otherHalves).map { "\(directory)/\($0)" }
    }

    /// The facts about `process`; `nil` when there is no process of that number.
    func facts(of process: pid_t, digesting digested: Set<String> = []) -> ProcessIdentity? {
        guard let directory = ProcessDirectory(process), let status = directory.status else { return nil }
        let own = program(directory, digested)
        var programs = own.map { [$0] } ?? []
        var callers: [ProcessIdentity.Program] = []
        if isClient(directory, status) {
            if let own { programs += otherHalf(of: own, digested) }
            callers = ancestors(of: process, digested)
            programs += callers
        }
        return ProcessIdentity(
            programs: programs,
            unit: directory.unit,
            startedAt: status.startTicks * (1_000_000_000 / Int64(sysconf(Int32(_SC_CLK_TCK)))),
            image: directory.image ?? "?" + status.name,
            isProxy: isProxy(directory, status),
            name: status.name,
            executable: own?.executable,
            callers: callers.map(\.executable)
        )
    }

    /// Whether it is the program that serves listeners, which is looked at as little as `tokenctl` is.
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

    /// `tokenctl`, if `own` is one that it becomes: what is allowed to the one is to the other.
    private func otherHalf(
        of own: ProcessIdentity.Program,
        _ digested: Set<String>
    ) -> [ProcessIdentity.Program] {
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

    /// The programs above `process`, the nearest first.
    private func ancestors(of process: pid_t, _ digested: Set<String>) -> [ProcessIdentity.Program] {
        var found: [ProcessIdentity.Program] = []
        var child = process
        for _ in 0..<Self.generations {
            guard let parent = ProcessDirectory(child)?.status?.parent, parent > 1,
                let directory = ProcessDirectory(parent)
            else { break }
            let program = program(directory, digested)
            // A child whose parent ends gets another one. If it still has this one, we looked at its parent.
            guard ProcessDirectory(child)?.status?.parent == parent else { break }
            if let program { found.append(program) }
            child = parent
        }
        return found
    }

    private func program(
        _ directory: borrowing ProcessDirectory,
        _ digested: Set<String>
    ) -> ProcessIdentity.Program? {
        guard let executable = directory.executable else { return nil }
        return program(executable, digested, opening: directory.openExecutable())
    }

    private func program(
        _ executable: ProcessDirectory.Executable,
        _ digested: Set<String>,
        opening descriptor: @autoclosure () -> Int32?
    ) -> ProcessIdentity.Program {
        guard digested.contains(executable.path) else {
            return ProcessIdentity.Program(executable: executable.path)
        }
        let digest = digests.digest(of: executable.file, opening: descriptor())
        return ProcessIdentity.Program(executable: executable.path, digest: digest)
    }
}
