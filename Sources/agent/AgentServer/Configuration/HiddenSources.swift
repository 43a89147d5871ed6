// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The sources of a session that are hidden from a peer.
///
/// They are left out of what the peer gets about the session (`derived = "open"`, a `[[socket]]`).
struct HiddenSources: Equatable, Sendable {
    /// The names of direct and indirect sources.
    let names: Set<SessionName>

    /// The message that replaces one about a hidden source.
    static let message = "the session that its tokens are made from has no token"

    /// Returns `text`, or ``message`` if it names a hidden source.
    func message(_ text: String) -> String {
        names.contains { text.names($0, after: "session ") || text.names($0, after: "session \"") }
            ? Self.message : text
    }

    /// Returns `remedy`, or `nil` if it is about a hidden source.
    ///
    /// `text` is the message that it belongs to.
    func remedy(_ remedy: Remedy?, for text: String?) -> Remedy? {
        guard let remedy, !names.isEmpty else { return remedy }
        let isAboutSource = text.map { message($0) == Self.message } ?? false
        let namesSource = names.contains { name in
            remedy.text.names(name, after: " ") || remedy.text.names(name, after: "[session.")
        }
        return isAboutSource || namesSource ? nil : remedy
    }
}

extension LiveConfiguration {
    /// Returns the sessions from which the tokens of `name` are made, and which the peer may not see.
    func hiddenSources(of name: SessionName, from connection: Connection) -> HiddenSources {
        HiddenSources(names: current.sources(of: name).filter { !isShown($0, to: connection) })
    }

    /// Returns `failure` without mentions of sources that are hidden from the peer.
    func withoutHiddenSources(_ failure: RequestFailure, for connection: Connection) -> RequestFailure {
        guard let name = failure.session.flatMap({ SessionName($0) }) else { return failure }
        let hidden = hiddenSources(of: name, from: connection)
        guard !hidden.names.isEmpty else { return failure }
        var told = failure
        told.message = RequestFailure.clause(hidden.message(failure.message))
        told.remedy = hidden.remedy(failure.remedy, for: failure.message)
        return told
    }
}

extension AgentConfiguration {
    /// Returns all sessions that `name` is derived from, directly or indirectly.
    func sources(of name: SessionName) -> Set<SessionName> {
        var found: Set<SessionName> = []
        var next = sessions[name]?.sources.all.map(\.session) ?? []
        while let source = next.popLast() {
            guard found.insert(source).inserted else { continue }
            next += sessions[source]?.sources.all.map(\.session) ?? []
        }
        return found
    }
}

extension String {
    /// Returns whether the text contains `name` as a whole word, right after `lead`.
    ///
    /// A full stop may end a sentence or belong to a name. It counts as the end of the word.
    fileprivate func names(_ name: SessionName, after lead: String) -> Bool {
        let wanted = Array((lead + name.description).utf8)
        var rest = utf8[...]
        while let start = rest.firstIndex(of: wanted[0]) {
            rest = rest[start...]
            if rest.starts(with: wanted), rest.dropFirst(wanted.count).first?.goesOnWithName != true {
                return true
            }
            rest = rest.dropFirst()
        }
        return false
    }
}

extension UInt8 {
    fileprivate var goesOnWithName: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
