// SPDX-License-Identifier: MIT

/// The limits on the resources that a client or server can make the bridge use.
package enum BridgeLimits {
    /// The maximum size of a message in either direction: 32 MiB.
    package static let message = 32 << 20
    /// The number of messages of maximum size that may be received from the server at a time: 128 MiB in
    /// total.
    static let heldMessages = 4
    /// The maximum number of concurrent exchanges with the server.
    static let exchanges = 256
    /// The maximum number of messages in a batch.
    static let batch = 256
    /// The maximum size in bytes of the identifiers of a request, of an event, and of a server's session.
    static let identifier = 1024
    /// The maximum number of a server's `Mcp-…` fields that are sent back to it.
    static let keptFields = 16
    /// The maximum size in bytes and maximum number of fields of the head of a response.
    static let head = 64 << 10
    static let fields = 128
    /// The maximum number of bytes read from the body of a rejection or error.
    static let refusal = 64 << 10
}
