// SPDX-License-Identifier: MIT

/// A Python library of another project, which a test uses with this package's programs.
///
/// An installed library is used as it is. A full run fetches a missing one, once, into a separate
/// environment.
package struct PythonLibrary: Sendable {
    private static let fetching = Turns(1)
    private static let kept: Result<TemporaryDirectory, any Error> = Result { try TemporaryDirectory() }

    /// The module to import.
    private let module: String
    /// The names for pip of the library and of the further packages it needs.
    private let packages: [String]

    package init(_ module: String, packages: String...) {
        self.module = module
        self.packages = packages
    }

    /// The environment for Python.
    ///
    /// An interpreter may look for its libraries below the home directory.
    private static let environment = [
        "PATH": TestEnvironment.searchPath, "HOME": TestEnvironment.value("HOME") ?? "/",
    ]

    private var isInstalled: Bool {
        let variables = Self.environment.map { "\($0.key)='\($0.value)'" }.joined(separator: " ")
        return Program.succeeds("env \(variables) python3 -c 'import \(module)' 2>/dev/null")
    }

    /// Whether the library is installed or can be fetched in this run.
    package var isAvailable: Bool { TestEnvironment.isFull || isInstalled }

    /// An error: the library could not be fetched.
    package struct Missing: Error {
        let message: String
    }

    /// Returns an interpreter that has the library.
    ///
    /// - Returns: the absolute path of the interpreter.
    /// - Throws: ``Missing`` with pip's message.
    package func interpreter() async throws -> String {
        if isInstalled {
            let words = ["python3", "-c", "import sys; print(sys.executable)"]
            return try await Program.run(words, environment: Self.environment).line
        }
        return try await Self.fetching.whileHolding {
            let place = try Self.kept.get().path(packages[0])
            let python = "\(place)/bin/python"
            guard !File.exists("\(place)/whole") else { return python }
            let script = """
                set -e
                python3 -m venv '\(place)'
                '\(python)' -m pip install -q --disable-pip-version-check \(packages.joined(separator: " "))
                : >'\(place)/whole'
                """
            let result = try await Program.run(
                ["/bin/sh", "-c", script],
                environment: Self.environment,
                within: .seconds(300)
            )
            guard result.status == 0 else { throw Missing(message: result.standardError) }
            return python
        }
    }
}
