// SPDX-License-Identifier: MIT

import Text

/// A script that runs an authorization server this project did not write.
///
/// The scripts live outside the repository, in `$TOKENAGENT_IDP_DIR`; tests that need one are skipped without it.
package struct ProviderScript: Sendable {
    private static var directory: String {
        TestEnvironment.value("TOKENAGENT_IDP_DIR") ?? "\(BuiltPrograms.checkout)/../shared/idp"
    }

    private let name: String

    package init(_ name: String) {
        self.name = name
    }

    package var path: String { "\(Self.directory)/\(name)" }

    package var isAvailable: Bool { File.exists(path) }

    /// Runs it to its end.
    @discardableResult
    package func run(_ arguments: [String]) async throws -> ProgramResult {
        try await Program.run(
            ["python3", path] + arguments,
            environment: ["PATH": TestEnvironment.searchPath, "HOME": TestEnvironment.value("HOME") ?? "/"]
        )
    }
}
