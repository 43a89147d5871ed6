// SPDX-License-Identifier: MIT

/// Names blocks of lines in a file: whose they are and what they are for.
struct BlockMark: Equatable, Sendable {
    /// The program that is set up.
    let client: String
    /// The server, profile or registry; nil: any.
    let name: String?
    /// The sessions that serve it; none: any.
    let sessions: [String]

    init(_ client: String, _ name: String? = nil, sessions: [String] = []) {
        self.client = client
        self.name = name
        self.sessions = sessions
    }

    /// Reads what ``text`` gave.
    init(parsing text: Substring) {
        let words = text.split(separator: " ").map(String.init)
        self.init(words.first ?? "", words.dropFirst().first, sessions: Array(words.dropFirst(2)))
    }

    var text: String { ([client] + [name].compactMap(\.self) + sessions).joined(separator: " ") }

    /// The blocks for the same, whichever sessions serve it.
    var ofAnySession: BlockMark { BlockMark(client, name) }

    /// Whether `block`, the mark of a single one, is meant.
    func names(_ block: BlockMark) -> Bool {
        client == block.client && (name == nil || name == block.name)
            && (sessions.isEmpty || sessions.contains(where: block.sessions.contains))
    }
}
