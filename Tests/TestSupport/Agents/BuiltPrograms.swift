// SPDX-License-Identifier: MIT

import Glibc

/// The programs of this package from the current build, which are next to the test bundle.
package enum BuiltPrograms {
    package static let directory: String = {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        let own = String(decoding: buffer.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return own.split(separator: "/").dropLast().map { "/\($0)" }.joined()
    }()

    package static var agent: String { "\(directory)/tokenagent" }
    package static var client: String { "\(directory)/tokenctl" }
    package static var commands: String { "\(directory)/tokenctl-commands" }
    package static var issuer: String { "\(directory)/demo-issuer" }

    /// The root of the checkout.
    package static var checkout: String {
        let parts = #filePath.split(separator: "/")
        let tests = parts.lastIndex(of: "Tests") ?? parts.endIndex
        return parts[..<tests].map { "/\($0)" }.joined()
    }
}

/// The environment in which the tests themselves run.
package enum TestEnvironment {
    package static func value(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    /// The search path for programs that are not part of this package.
    package static var searchPath: String { value("PATH") ?? "/usr/local/bin:/usr/bin:/bin" }

    /// Whether long tests run too.
    package static var isFull: Bool { value("TOKENAGENT_TEST_FULL") == "1" }
}
