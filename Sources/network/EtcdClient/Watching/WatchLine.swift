// SPDX-License-Identifier: MIT

import Text

/// One line of a watch's response.
enum WatchLine: Equatable, Sendable {
    /// etcd has established the watch.
    case created(EtcdHeader)
    /// Changes, after which the next line begins with another revision if `isWhole`.
    ///
    /// Without changes, the line reports the current revision of the history.
    case changes(EtcdHeader, [EtcdChange], isWhole: Bool)
    /// etcd has ended the watch.
    case ended(EtcdFailure)

    /// Parses a line.
    ///
    /// - Throws: ``EtcdFailure/malformed(_:)``.
    init(parsing line: [UInt8]) throws(EtcdFailure) {
        let answer = try ParsedGatewayResponse(parsing: line)
        if let error = try answer.answer("error") {
            self = .ended(GatewayError(status: 500, error).failure)
            return
        }
        guard let result = try answer.answer("result") else {
            throw .malformed("a line of the watch has no result")
        }
        if try result.truth("canceled") {
            self = .ended(try WatchLine.end(result))
            return
        }
        let header = try result.header()
        guard try !result.truth("created") else {
            self = .created(header)
            return
        }
        var changes: [EtcdChange] = []
        for event in try result.answers("events") { changes.append(try event.change()) }
        self = .changes(header, changes, isWhole: try !result.truth("fragment"))
    }

    /// Returns the reason for which etcd has ended a watch.
    ///
    /// A rejected watch is accepted with status 200 and then ended at once.
    private static func end(_ result: ParsedGatewayResponse) throws(EtcdFailure) -> EtcdFailure {
        let compacted = try result.number("compact_revision")
        guard compacted == 0 else { return .compacted(compacted) }
        let failure = GatewayError(ending: try result.text("cancel_reason") ?? "etcd ended the watch")
            .failure
        // A watch changes nothing, so no change can be in doubt.
        guard case .unanswered(let words) = failure else { return failure }
        return .unreachable(words)
    }
}

/// A change of a key.
package struct EtcdChange: Equatable, Sendable {
    package var pair: EtcdKeyValue
    /// Whether the key was deleted.
    ///
    /// In that case the pair contains only the key's name.
    package var isDeletion: Bool

    package init(_ pair: EtcdKeyValue, isDeletion: Bool = false) {
        self.pair = pair
        self.isDeletion = isDeletion
    }
}

extension ParsedGatewayResponse {
    /// Parses a change.
    ///
    /// The type is omitted for `PUT`.
    fileprivate func change() throws(EtcdFailure) -> EtcdChange {
        guard let pair = try answer("kv")?.keyValue() else { throw .malformed("a change has no key") }
        let type = try text("type")
        return EtcdChange(pair, isDeletion: type.map { $0.bytewise == "DELETE" } ?? false)
    }
}

extension LineCutter {
    /// Returns the next line that is not empty, or `nil` if it is incomplete.
    ///
    /// - Throws: ``EtcdFailure/malformed(_:)`` if the line is too long.
    mutating func nextOfWatch() throws(EtcdFailure) -> [UInt8]? {
        while let line = next() {
            if !line.isEmpty { return line }
        }
        guard heldCount <= GatewayTransport.longest else {
            throw .malformed("a line of the watch is longer than 8 MiB")
        }
        return nil
    }
}
