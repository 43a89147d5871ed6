// SPDX-License-Identifier: MIT

/// A library of Python that this project did not write, which a test has work with our programs.
///
/// One that is installed is taken as it is. A full run fetches what is not, once, into an environment of its own.
package struct PythonLibrary: Sendable {
    private static let fetching = Turns(1)
    private static let kept: Result<TemporaryDirectory, any Error> = Result { try TemporaryDirectory() }

    /// What a program imports.
    private let module: String
    /// What pip calls it, and what it needs beside it.
    private let packages: [String]

    package init(_ module: String, packages: String...) {
        self.module = module
        self.packages = packages
    }

    /// An interpreter may look for its libraries below the home directory.
    private static let environment = [
        "PATH": TestEnvironment.searchPath, "HOME": TestEnvironment.value("HOME") ?? "/",
    ]

    private var isInstalled: Bool {
        let variables = Self.environment.map { "\($0.key)='\($0.value)'" }.joined(separator: " ")
        return Program.succeeds("env \(variables) python3 -c 'import \(module)' 2>/dev/null")
    }

    /// Whether this run can have it.
    package var isAvailable: Bool { TestEnvironment.isFull || isInstalled }

    /// It could not be fetched.
    package struct Missing: Error {
        let message: String
    }

    /// An interpreter that has it.
    ///
    /// - Returns: its absolute path.
    /// - Throws: ``Missing`` with pip's words.
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
