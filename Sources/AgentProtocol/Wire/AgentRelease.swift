// SPDX-License-Identifier: MIT

/// The names of this release on the command line and on the socket.
public enum AgentRelease {
    /// The version of `tokenagent` and `tokenctl`, which are released together.
    public static let version = "0.1.0"
    /// The version of the API on the socket, with which every path begins.
    public static let apiVersion = 1
}
