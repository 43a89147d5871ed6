// SPDX-License-Identifier: MIT

/// A parser on a boundary, called with whatever the fuzzer thinks of; it must return, and keep its word.
enum FuzzTarget: String, CaseIterable, Sendable {
    /// Requests on the agent's socket.
    case request
    /// Answers of token endpoints, of every kind of server.
    case agentToken = "token-answer"
    /// An ID token, a line feed, and the key set that is said to have signed it.
    case idToken = "id-token"
    /// A first byte that says what: a resource's document, a challenge, a registration, or an issuer's document.
    case metadata
    /// A first byte that says what: an answer of AWS or of GitHub, what a program prints, or a client's key.
    case sources
    /// A first byte that says what: a message, a stream of events, lines, or a list of tools and a call.
    case mcp
    /// A first byte that says what: requests to a listener of the proxy, of two kinds, or answers of an upstream.
    case proxy
    /// Requests to the redirect listener of a login.
    case callback
    /// A line with what opens it, and what a server said in TLS.
    case recording
    /// A first byte that says which file of the store, and that file.
    case store
    /// The configuration file.
    case configuration

    func run(_ bytes: [UInt8]) {
        switch self {
        case .request: fuzzRequest(bytes)
        case .agentToken: fuzzTokenAnswer(bytes)
        case .idToken: fuzzIDToken(bytes)
        case .metadata: fuzzMetadata(bytes)
        case .sources: fuzzSources(bytes)
        case .mcp: fuzzBridge(bytes)
        case .proxy: fuzzProxy(bytes)
        case .callback: fuzzCallback(bytes)
        case .recording: fuzzRecording(bytes)
        case .store: fuzzStore(bytes)
        case .configuration: fuzzConfiguration(bytes)
        }
    }
}

/// The target of this process; set once, before the fuzzer runs.
nonisolated(unsafe) var chosen = FuzzTarget.request
