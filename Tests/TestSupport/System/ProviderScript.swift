// SPDX-License-Identifier: MIT

import Glibc
import Text

/// A script that runs an authorization server of another project.
///
/// The scripts are outside of the repository, in `$TOKENAGENT_IDP_DIR`. Tests that need a missing script are
/// skipped.
package struct ProviderScript: Sendable {
    private static var directory: String {
        TestEnvironment.value("TOKENAGENT_IDP_DIR") ?? "\(BuiltPrograms.checkout)/../shared/idp"
    }

    private static let starts = Turns(1)

    private let name: String

    package init(_ name: String) {
        self.name = name
    }

    package var path: String { "\(Self.directory)/\(name)" }

    package var isAvailable: Bool { File.exists(path) }

    /// An error: the server did not start, or a test needs one that its suite does not run.
    package enum Failure: Error {
        case notStarted(String)
        case notRunning
    }

    /// Starts the server in a new directory, and stops it after `body`.
    ///
    /// - Parameters:
    ///   - options: further options of the script's `start`.
    ///   - body: receives the directory, and the script's description of the server.
    /// - Throws: ``Failure``, or the error of `body`.
    package func whileRunning(
        _ options: [String] = [],
        _ body: (TemporaryDirectory, JSONObject) async throws -> Void
    ) async throws {
        let work = try TemporaryDirectory()
        let state = try await start(in: work, options)
        do {
            try await body(work, state)
        } catch {
            try await run([work.path, "stop"])
            throw error
        }
        try await run([work.path, "stop"])
    }

    /// Starts the server in `work`, possibly with the files of an earlier run, one server at a time.
    ///
    /// Several starts at once, which fetch packages and create keys, would slow each other down until they
    /// all time out.
    ///
    /// - Parameters:
    ///   - work: the server's directory.
    ///   - options: further options of the script's `start`.
    /// - Returns: the script's description of the server.
    /// - Throws: ``Failure``.
    package func start(in work: TemporaryDirectory, _ options: [String]) async throws -> JSONObject {
        try await ProviderScript.starts.whileHolding {
            let packages = FetchedPackages(of: name)
            try packages?.lend(to: work)
            // The first start of a server fetches packages.
            let started = try await run([work.path, "start"] + options, within: .seconds(180))
            let answer = try? JSONValue(parsing: started.standardOutput.utf8)
            guard started.status == 0, let state = answer?.object else {
                throw Failure.notStarted(started.standardError)
            }
            try packages?.keep(from: work)
            return state
        }
    }

    /// Gives `agent` a browser that logs in automatically at the server whose state is in the file `state`.
    package static func writeBrowser(of agent: AgentUnderTest, for state: String) throws {
        try agent.home.write(
            """
            #!/bin/sh
            PATH='\(TestEnvironment.searchPath)' exec python3 '\(ProviderScript("browser.py").path)' \
                --state '\(state)' --jar "$HOME/jar" --url "$1" >"$HOME/browser.log" 2>&1

            """,
            to: "browser",
            mode: 0o700
        )
    }

    /// Runs the script to its end.
    @discardableResult
    package func run(
        _ arguments: [String],
        within limit: Duration = .seconds(60)
    ) async throws -> ProgramResult {
        try await Program.run(
            ["python3", path] + arguments,
            environment: ["PATH": TestEnvironment.searchPath, "HOME": TestEnvironment.value("HOME") ?? "/"],
            within: limit
        )
    }
}

/// The packages that a script unpacks below its server's directory, kept for other servers of this test run.
///
/// The packages are moved to a directory of the run and replaced by a link. A script that finds the file that
/// lists the packages fetches nothing. The directory is used only during the start of a server, one at a
/// time.
private struct FetchedPackages {
    /// The directory in which each script unpacks its packages, and the name under which they are kept.
    ///
    /// Two scripts share one server.
    private static let places = [
        "etcd.py": ("etcd/root", "etcd"),
        "glewlwyd.py": ("glewlwyd/root", "glewlwyd"),
        "glewlwyd_auth.py": ("glewlwyd-auth/glewlwyd/root", "glewlwyd"),
        "idpyoidc_op.py": ("idpyoidc/venv", "idpyoidc"),
        "mcp_server.py": ("mcp/venv", "mcp"),
        "moto_cognito.py": ("moto-cognito/venv", "moto-cognito"),
        "moto_sts.py": ("moto-sts/venv", "moto-sts"),
        "upstream.py": ("upstream/venv", "upstream"),
    ]

    private static let kept: Result<TemporaryDirectory, any Error> = Result { try TemporaryDirectory() }

    /// The path below the server's work directory.
    private let place: String
    private let name: String

    /// Creates the packages of a script, or returns `nil` if the script fetches none.
    init?(of script: String) {
        guard let (place, name) = FetchedPackages.places[script] else { return nil }
        (self.place, self.name) = (place, name)
    }

    /// Links the kept packages into `work`, where a server is about to start.
    func lend(to work: TemporaryDirectory) throws {
        let kept = try FetchedPackages.kept.get().path(name)
        guard File.exists(kept), !File.exists(work.path(place)) else { return }
        let folders = place.split(separator: "/").dropLast()
        for count in folders.indices { try work.makeDirectory(folders[...count].joined(separator: "/")) }
        try File.link(work.path(place), to: kept)
    }

    /// Keeps the packages that the first server fetched in `work`.
    ///
    /// That server continues with the link.
    func keep(from work: TemporaryDirectory) throws {
        let kept = try FetchedPackages.kept.get().path(name)
        let place = work.path(self.place)
        guard !File.exists(kept), File.exists(place) else { return }
        guard rename(place, kept) == 0 else { throw SystemFailure("rename \(place)") }
        try File.link(place, to: kept)
    }
}
