// SPDX-License-Identifier: MIT

/// A `[[socket]]` of the configuration that could not be opened.
struct SocketOpenFailure: Equatable, Sendable {
    var path: String
    var reason: String
}
