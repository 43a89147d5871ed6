// SPDX-License-Identifier: MIT

import Text

extension ProxyRules {
    /// Whether paths must be unambiguous, so that every server reads them alike.
    private var needsPlainPaths: Bool { paths.exist || !upstream.prefix.isEmpty }

    /// Rejects a request that must not be forwarded.
    func check(_ request: ProxiedRequest) throws(ForwardingError) {
        guard methods.isEmpty || methods.contains(where: request.method.spells) else {
            throw ForwardingError(405, "this listener forwards only \(methods.joined(separator: ", "))")
        }
        try check(path: request.path)
    }

    /// Rejects a path that must not be forwarded.
    func check(path: ArraySlice<UInt8>) throws(ForwardingError) {
        guard !needsPlainPaths || PathAmbiguity.isPlain(path) else {
            throw .malformed(
                "the path has dot segments, backslashes or escapes that servers read differently"
            )
        }
        guard !paths.exist || paths.allow(path) else {
            throw ForwardingError(403, "this listener does not forward this path")
        }
    }
}
