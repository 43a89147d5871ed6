// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The sessions that the tokens of another one are made from, as far as a peer may not know of them: they are left
/// out of what it is told about that one (`derived = "open"`, a `[[socket]]`).
struct HiddenSources: Equatable, Sendable {
    /// Near and far ones.
    let names: Set<SessionName>

    /// What a peer is told in place of what a source of which it may not know is short of.
    static let message = "another session, which its tokens are made from, gives none"

    /// `text`, or ``message`` if that names one of them.
    func message(_ text: String) -> String {
        names.contains { text.names($0, after: "session ") } ? Self.message : text
    }

    /// `remedy`, unless the source is to be mended; `text` is the message that it goes with.
    func remedy(_ remedy: String?, for text: String?) -> String? {
        guard let remedy, !names.isEmpty else { return remedy }
        let isAboutSource = text.map { message($0) == Self.message } ?? false
        return isAboutSource || names.contains { remedy.names($0, after: " ") } ? nil : remedy
    }
}

extension LiveConfiguration {
    /// The sources of `name` that the peer may not know of.
    func hiddenSources(of name: SessionName, from connection: Connection) -> HiddenSources {
        HiddenSources(names: current.sources(of: name).filter { !isShown($0, to: connection) })
    }

    /// Leaves out of `failure` what names sources that the peer may not know of.
    func withoutHiddenSources(_ failure: RequestFailure, for connection: Connection) -> RequestFailure {
        guard let name = failure.session.flatMap({ SessionName($0) }) else { return failure }
        let hidden = hiddenSources(of: name, from: connection)
        guard !hidden.names.isEmpty else { return failure }
        var told = failure
        told.message = RequestFailure.sentence(hidden.message(failure.message))
        told.remedy = hidden.remedy(failure.remedy, for: failure.message)
        return told
    }
}

extension AgentConfiguration {
    /// All sessions that the tokens of `name` are made from, near and far.
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
    /// Whether `name` stands in the text as a whole word, right after `lead`.
    ///
    /// A full stop may end a sentence as well as belong to a name, and counts as the end of the word.
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
