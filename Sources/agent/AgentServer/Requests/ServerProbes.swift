// SPDX-License-Identifier: MIT

import AgentProtocol
import TokenCore

/// The probes of servers that the user may add, for `tokenctl add`.
///
/// Confined to the agent's event loop.
final class ServerProbes {
    /// The maximum number of concurrent probes.
    ///
    /// Each may hold a connection for seconds, and few are ever needed at once.
    private static let maximumAtOnce = 4

    private let diagnostics: any DiagnosticsProviding
    private let tasks: LoopTasks
    private var count = 0

    init(_ diagnostics: any DiagnosticsProviding, tasks: LoopTasks) {
        self.diagnostics = diagnostics
        self.tasks = tasks
    }

    /// Serves `POST /v1/examine`.
    ///
    /// Only the agent's own Unix user may send it, as the agent connects to the server in the request.
    func serve(_ request: HTTPRequest, on connection: Connection) throws(RequestFailure) {
        guard connection.caller.isOwnUserAtOwnSocket else {
            throw RequestFailure(
                code: .denied,
                message: "only the agent's own user can probe servers"
            )
        }
        let body = try ParsedRequestBody(request.body, ServerProbeRequestMembers.self)
        let place = try ServerProbes.place(body)
        let caFile = try body.value(\.caFile)
        guard count < ServerProbes.maximumAtOnce else {
            throw RequestFailure(
                code: .temporarilyUnavailable,
                message: "too many server probes in progress",
                retryAfter: .seconds(10)
            )
        }
        count += 1
        tasks.start {
            let result = await self.diagnostics.examine(place, caFile: caFile)
            self.finish(result, on: connection)
        }
    }

    private static func place(
        _ body: ParsedRequestBody<ServerProbeRequestMembers>
    ) throws(RequestFailure) -> ProbeTarget {
        guard let resource = try body.value(\.resource) else {
            guard let metadata = try body.value(\.metadata) else {
                return .issuer(try body.required(\.issuer))
            }
            return .issuer(try body.value(\.issuer), metadata: metadata)
        }
        return .resource(resource, issuer: try body.value(\.issuer))
    }

    private func finish(_ result: Result<ServerProbeMessage, RequestFailure>, on connection: Connection) {
        count -= 1
        switch result {
        case .success(let message): connection.answer(.message(message))
        case .failure(let failure): connection.answer(HTTPResponse(failure))
        }
    }
}
