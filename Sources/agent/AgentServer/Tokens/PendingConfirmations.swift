// SPDX-License-Identifier: MIT

/// The prompts that the user has not answered yet, each with the requests that wait for it.
///
/// The first prompt of a process is admitted even if other processes have many. A further one is admitted
/// only while few are open. So a process with many requests does not keep others waiting.
struct PendingConfirmations {
    enum Admission {
        /// The user has not been prompted for this yet.
        case asked
        /// The prompt is already open.
        case joined
        case refused
    }

    /// The maximum number of open prompts at which a process may add a second one.
    ///
    /// More would overwhelm the user.
    private static let few = 4
    /// The maximum number of open prompts.
    ///
    /// Many processes with one prompt each are a flood too.
    private static let most = 32

    private var requests: [ConfirmationKey: [RequestToConfirm]] = [:]

    /// The number of requests that wait.
    var waiting: Int { requests.values.map(\.count).reduce(0, +) }

    /// Adds a request, unless its prompt would exceed a limit.
    mutating func add(_ request: RequestToConfirm, to key: ConfirmationKey) -> Admission {
        if requests[key] != nil {
            requests[key]?.append(request)
            return .joined
        }
        let isFirst = !requests.keys.contains { $0.process == key.process }
        guard requests.count < (isFirst ? Self.most : Self.few) else { return .refused }
        requests[key] = [request]
        return .asked
    }

    /// Closes a prompt and returns the requests that waited for it.
    mutating func close(_ key: ConfirmationKey) -> [RequestToConfirm] {
        requests.removeValue(forKey: key) ?? []
    }

    /// Closes all prompts and returns the requests that waited.
    mutating func closeAll() -> [RequestToConfirm] {
        defer { requests = [:] }
        return requests.values.flatMap(\.self)
    }

    /// Removes the request of a peer that left.
    ///
    /// The prompt stays open, as the user may be about to answer it.
    mutating func withdraw(_ connection: Connection, from key: ConfirmationKey) {
        requests[key]?.removeAll { $0.call.connection === connection }
    }
}
