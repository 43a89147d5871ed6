// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// The error sent in place of a result (JSON-RPC 2.0 §5.1).
package struct RPCFailure: Error, Equatable, Sendable {
    /// The error codes in use.
    package enum Code: Int64, Sendable {
        /// The client's line is not JSON.
        case notJSON = -32_700
        /// The client's line is JSON, but not a message.
        case notAMessage = -32_600
        /// The server or the agent did not serve the request.
        case failed = -32_000
    }

    /// The object of the member `error`, as JSON on one line.
    package let error: [UInt8]
    /// Whether the request may succeed a little later without anybody's action.
    let mayPass: Bool

    /// Creates an error.
    ///
    /// `message` is one sentence without a full stop.
    package init(_ code: Code, _ message: String, data: JSONObject? = nil, mayPass: Bool = false) {
        self.mayPass = mayPass
        var object: JSONObject = ["code": .integer(code.rawValue), "message": .string(message)]
        object["data"] = data.map(JSONValue.object)
        error = JSONValue.object(object).serialized
    }

    /// Creates an error from one of the agent.
    ///
    /// The message names the remedy, and `data` is the agent's error object.
    package init(_ error: AgentError) {
        self.init(
            .failed,
            FailureReport.line(for: error),
            data: FailureReport.message(for: error).json.object,
            // An agent that is being restarted comes back.
            mayPass: [.temporarilyUnavailable, .noAgent, .internal].contains(error.code)
        )
    }

    /// Creates an error in the server's own words.
    ///
    /// - Returns: `nil` if the member `error` of `packet` is not an error object (JSON-RPC 2.0 §5.1).
    init?(verbatim error: Range<Int>, of packet: RPCPacket) {
        guard let outline = try? JSONOutline(packet.bytes, in: error),
            RPCPacket.small(packet.bytes, outline.value(of: "code"))?.integer != nil,
            let message = outline.value(of: "message"), packet.bytes[message].first == UInt8(ascii: "\"")
        else { return nil }
        mayPass = false
        // A server may write the object on several lines, each of which the client would take for a message.
        self.error = RPCPacket.line(packet.bytes[error]).dropLast()
    }

    /// Returns the response to the request `id`, as a line with its line feed.
    package func line(to id: RPCIdentifier?) -> [UInt8] {
        var bytes = Array(#"{"jsonrpc":"2.0","id":"#.utf8)
        (id?.json ?? .null).write(to: &bytes)
        bytes += Array(#","error":"#.utf8)
        bytes += error
        bytes.append(UInt8(ascii: "}"))
        return RPCPacket.line(bytes[...])
    }
}

extension RPCFailure {
    /// Returns a server's text for use in an error message: shortened, and safe to show in a terminal.
    static func quoted(_ text: String) -> String { TerminalText.escaped(text, longest: 300) }
}
