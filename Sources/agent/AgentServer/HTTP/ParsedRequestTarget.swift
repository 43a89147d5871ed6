// SPDX-License-Identifier: MIT

/// The target of a request, split into its parts.
struct ParsedRequestTarget: Equatable, Sendable {
    /// The path and query as sent, beginning with `/`, in printable ASCII without spaces.
    let target: String
    let path: Substring
    /// The query without its question mark.
    let query: Substring
    /// The route, or `nil` if there is none at the path.
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
