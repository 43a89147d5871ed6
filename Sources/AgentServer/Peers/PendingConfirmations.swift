// SPDX-License-Identifier: MIT

/// The questions a person has not answered yet, each with the requests that wait for its answer.
///
/// The first question of a process is asked even if others have many open; a further one only while few are
/// open. So a process that asks much keeps no other waiting.
struct PendingConfirmations {
    enum Admission {
        /// Nobody has asked it yet.
        case asked
        /// The person is being asked already.
        case joined
        case refused
    }

    /// Questions open at most for a process to add a second one of its own: more would only bury the person.
    private static let few = 4
    /// Questions open at most in all: many processes with one question each are a flood too.
    private static let most = 32

    private var requests: [ConfirmationKey: [UnconfirmedRequest]] = [:]

    /// How many requests wait.
    var waiting: Int { requests.values.map(\.count).reduce(0, +) }

    /// Lets a request wait, unless its question is one too many.
    mutating func add(_ request: UnconfirmedRequest, to key: ConfirmationKey) -> Admission {
        if requests[key] != nil {
            requests[key]?.append(request)
            return .joined
        }
        let isFirst = !requests.keys.contains { $0.process == key.process }
        guard requests.count < (isFirst ? Self.most : Self.few) else { return .refused }
        requests[key] = [request]
        return .asked
    }

    /// Ends a question and returns the requests that waited for it.
    mutating func close(_ key: ConfirmationKey) -> [UnconfirmedRequest] {
        requests.removeValue(forKey: key) ?? []
    }

    /// Ends all questions and returns the requests that waited.
    mutating func closeAll() -> [UnconfirmedRequest] {
        defer { requests = [:] }
        return requests.values.flatMap(\.self)
    }

    /// Forgets the request of a peer that left; the person may still be thinking about it.
    mutating func withdraw(_ connection: Connection, from key: ConfirmationKey) {
        requests[key]?.removeAll { $0.call.connection === connection }
    }
}
