// SPDX-License-Identifier: MIT

import Glibc
import Text

/// A script that runs an authorization server this project did not write.
///
/// The scripts live outside the repository, in `$TOKENAGENT_IDP_DIR`; tests that need one are skipped without it.
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

    /// The server did not start, or a test asks for one that its suite does not run.
    package enum Failure: Error {
        case notStarted(String)
        case notRunning
    }

    /// Starts the server in a directory of its own, and stops it when `body` has ended.
    ///
    /// - Parameters:
    ///   - options: further options of the script's `start`.
    ///   - body: gets the directory, and what the script says about the server.
    /// - Throws: ``Failure``, and what `body` throws.
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

    /// Starts the server in `work`, where one that ran before has left what it needs; one server at a time.
    ///
    /// Several at once, which fetch packages and make keys, would hinder each other until none is up in time.
    ///
    /// - Parameters:
    ///   - work: its directory.
    ///   - options: further options of the script's `start`.
    /// - Returns: what the script says about the server.
    /// - Throws: ``Failure``.
    package func start(in work: TemporaryDirectory, _ options: [String]) async throws -> JSONObject {
        try await ProviderScript.starts.whileHolding {
            let packages = FetchedPackages(of: name)
            try packages?.lend(to: work)
            // The first start of its kind fetches packages.
            let started = try await run([work.path, "start"] + options, within: .seconds(180))
            let answer = try? JSONValue(parsing: started.standardOutput.utf8)
            guard started.status == 0, let state = answer?.object else {
                throw Failure.notStarted(started.standardError)
            }
            try packages?.keep(from: work)
            return state
        }
    }

    /// Gives `agent` a browser that logs in by itself at the server whose state is in the file `state`.
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

    /// Runs it to its end.
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

/// The packages that a script unpacks below its server's directory, kept for every other server of this test run.
///
/// They are moved to a directory of the run, with a link in their place; a script that finds what it would fetch, by a file
/// that lists the packages, fetches nothing. Only who starts a server touches them, one at a time.
private struct FetchedPackages {
    /// Where each script unpacks them, and under which name they are kept: two scripts run the same server.
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

    /// Below the work directory of the server.
    private let place: String
    private let name: String

    /// `nil`: the script fetches nothing.
    init?(of script: String) {
        guard let (place, name) = FetchedPackages.places[script] else { return nil }
        (self.place, self.name) = (place, name)
    }

    /// Gives the server that is to start in `work` what another one has fetched.
    func lend(to work: TemporaryDirectory) throws {
        let kept = try FetchedPackages.kept.get().path(name)
        guard File.exists(kept), !File.exists(work.path(place)) else { return }
        let folders = place.split(separator: "/").dropLast()
        for count in folders.indices { try work.makeDirectory(folders[...count].joined(separator: "/")) }
        try File.link(work.path(place), to: kept)
    }

    /// Keeps what the server in `work` has fetched, if it is the first; it goes on with the link.
    func keep(from work: TemporaryDirectory) throws {
        let kept = try FetchedPackages.kept.get().path(name)
        let place = work.path(self.place)
        guard !File.exists(kept), File.exists(place) else { return }
        guard rename(place, kept) == 0 else { throw SystemFailure("rename \(place)") }
        try File.link(place, to: kept)
    }
}
