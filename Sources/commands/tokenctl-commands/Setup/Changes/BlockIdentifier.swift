// SPDX-License-Identifier: MIT

/// The identity of blocks in a file: their client, subject and sessions.
struct BlockIdentifier: Equatable, Sendable {
    /// The program that is set up.
    let client: String
    /// The server, profile or registry, or `nil` for any.
    let name: String?
    /// The sessions for the server, or empty for any.
    let sessions: [String]

    init(_ client: String, _ name: String? = nil, sessions: [String] = []) {
        self.client = client
        self.name = name
        self.sessions = sessions
    }

    /// Parses the format of ``text``.
    init(parsing text: Substring) {
        let words = text.split(separator: " ").map(String.init)
        self.init(words.first ?? "", words.dropFirst().first, sessions: Array(words.dropFirst(2)))
    }

    var text: String { ([client] + [name].compactMap(\.self) + sessions).joined(separator: " ") }

    /// The mark of blocks with the same client and name and any sessions.
    var ofAnySession: BlockIdentifier { BlockIdentifier(client, name) }

    /// Returns whether this mark matches `block`, the mark of a single block.
    func names(_ block: BlockIdentifier) -> Bool {
        client == block.client && (name == nil || name == block.name)
            && (sessions.isEmpty || sessions.contains(where: block.sessions.contains))
    }
}
