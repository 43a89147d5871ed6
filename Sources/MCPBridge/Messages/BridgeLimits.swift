// SPDX-License-Identifier: MIT

/// What neither client nor server can make the bridge exceed.
package enum BridgeLimits {
    /// Bytes of one message, either way: 32 MiB.
    package static let message = 32 << 20
    /// Number of largest messages that may be received from the server at a time: 128 MiB.
    static let heldMessages = 4
    /// Exchanges with the server at a time.
    static let exchanges = 256
    /// Messages of a batch.
    static let batch = 256
    /// Bytes of a request's identifier, of an event's, and of the identifier of a server's session.
    static let identifier = 1024
    /// Fields `Mcp-…` of a server that are sent back to it.
    static let keptFields = 16
    /// Bytes of the head of an answer, and its fields.
    static let head = 64 << 10
    static let fields = 128
    /// Bytes of an answer that is a refusal or an error.
    static let refusal = 64 << 10
}
