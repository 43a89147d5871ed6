// SPDX-License-Identifier: MIT

/// What this release calls itself, on the command line and on the socket.
public enum AgentRelease {
    /// The version of `tokenagent` and `tokenctl`, which are released together.
    public static let version = "0.1.0"
    /// The version of the API on the socket; every path begins with it.
    public static let apiVersion = 1
}
