// SPDX-License-Identifier: MIT

/// The target of a request, taken apart.
struct RequestAddress: Equatable, Sendable {
    /// Path and query as sent, beginning with `/`; printable ASCII without a blank.
    let target: String
    let path: Substring
    /// Without its question mark.
    let query: Substring
    /// `nil` if nothing is at the path.
    let route: Route?

    init(_ target: String) {
        self.target = target
        if let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) {
            (path, query) = (target[..<mark], target[target.utf8.index(after: mark)...])
        } else {
            (path, query) = (target[...], "")
        }
        route = Route(path: path)
    }
}
