// SPDX-License-Identifier: MIT

/// The reason a call has no result.
///
/// Each case tells whether etcd may have processed the call.
package enum EtcdFailure: Error, Equatable, Sendable {
    /// Nothing was sent, or the member did nothing: no endpoint responds, or none has a leader.
    case unreachable(String)
    /// The call was sent, and no response arrived.
    ///
    /// Only a read can tell whether etcd processed it.
    case unanswered(String)
    /// The endpoint's host name cannot be resolved.
    ///
    /// Nothing was sent.
    case unknownHost
    /// Nobody listens on the port.
    ///
    /// Nothing was sent.
    case closedPort
    /// The connection to an https endpoint ended before the TLS handshake was complete.
    ///
    /// Nothing was sent.
    case noHandshake
    /// The connection to an http endpoint was closed after the request, without a response.
    case noPlainAnswer
    /// The port has no JSON gateway, like the port for traffic between members.
    ///
    /// Nothing was done.
    case noGateway
    /// The member is not trusted, or does not trust this host.
    case insecure(EtcdTLSError)
    /// This host cannot get the user's password, so etcd was not called.
    ///
    /// The values are the error, a remedy, and whether only the user can solve the problem.
    case noPassword(String, remedy: String?, isMistake: Bool)
    /// The name or password is wrong, or etcd's authentication is disabled.
    case unauthenticated(String)
    /// The user lacks the permission.
    case denied(String)
    /// etcd accepts no more changes until space is freed.
    case outOfSpace
    /// The history before this revision is compacted, so a watch cannot begin there.
    case compacted(Int64)
    /// etcd rejects the request as it is.
    case refused(String)
    /// The response is not one of etcd.
    case malformed(String)

    /// Whether etcd may have processed the call.
    package var mayHaveActed: Bool { consequences.mayHaveActed }

    /// Whether another member may succeed.
    var isOfOneMember: Bool { consequences.isOfOneMember }

    /// Whether the member responds, but the member and this host do not accept each other.
    package var isRefusal: Bool { consequences.isRefusal }

    /// Whether only the user can solve the problem.
    package var isMistake: Bool {
        switch self {
        case .noPassword(_, _, let isMistake): isMistake
        case .noGateway: true
        default: isRefusal
        }
    }

    /// The error in one sentence without a full stop.
    package var sentence: String { consequences.sentence }

    private struct Consequences {
        var sentence: String
        var isOfOneMember = false
        var mayHaveActed = false
        var isRefusal = false

        /// Returns the values for a call that has not reached a member.
        static func unreached(_ reason: String) -> Self {
            Self(sentence: "etcd cannot be reached: \(reason)", isOfOneMember: true)
        }
    }

    private var consequences: Consequences {
        switch self {
        case .unreachable(let text): .unreached(text)
        case .unanswered(let text):
            Consequences(sentence: "etcd does not answer: \(text)", isOfOneMember: true, mayHaveActed: true)
        case .unknownHost: .unreached("the host name cannot be resolved")
        case .closedPort: .unreached("nobody listens at its port")
        case .noHandshake: .unreached("the connection ended in the TLS handshake")
        case .noPlainAnswer:
            Consequences(
                sentence: "etcd closed the connection: is it expecting https?",
                isOfOneMember: true,
                mayHaveActed: true
            )
        case .noGateway: .unreached("its port has no JSON gateway (etcd 3.4 or later has one)")
        case .insecure(let distrust):
            Consequences(
                sentence: "there is no secure connection to etcd: \(distrust.sentence)",
                isOfOneMember: true,
                isRefusal: true
            )
        case .noPassword(let text, _, _): Consequences(sentence: text)
        case .unauthenticated(let text):
            Consequences(sentence: "etcd does not let the user in: \(text)", isRefusal: true)
        case .denied(let text):
            Consequences(sentence: "etcd does not allow it: \(text)", isRefusal: true)
        case .outOfSpace: Consequences(sentence: "etcd has no room left and takes no changes")
        case .compacted(let revision):
            Consequences(sentence: "etcd's history before revision \(revision) is gone")
        case .refused(let text): Consequences(sentence: "etcd refuses the request: \(text)")
        // An unreadable response may belong to a call that was processed.
        case .malformed(let text):
            Consequences(
                sentence: "what answers is no etcd of version 3.4 or later: \(text)",
                isOfOneMember: true,
                mayHaveActed: true
            )
        }
    }

    /// The remedy, or `nil` if only waiting helps, or if the sentence says what to do.
    package var remedy: String? {
        switch self {
        case .unanswered(let text) where text.contains("the gateway has no"): EtcdTLSError.wantsClientUse
        // Only the administrator of the keys knows which permissions are missing.
        case .unreachable, .unanswered, .denied, .compacted, .refused, .malformed: nil
        case .unknownHost: "correct the host name in endpoints, or look why this host cannot resolve it"
        case .closedPort: "start etcd there, or put its client port into endpoints"
        case .noHandshake: "look whether etcd speaks TLS there: its listen-client-urls begin with https then"
        case .noPlainAnswer: "if etcd speaks TLS there, begin the endpoint with https"
        case .noGateway:
            "put its client port into endpoints, by default 2379: 2380 is for other members alone; where etcd has a "
                + "configuration file, write enable-grpc-gateway: true there"
        case .insecure(let distrust): distrust.remedy
        case .noPassword(_, let remedy, _): remedy
        case .unauthenticated(let text) where text.contains("CommonName"):
            "use a client certificate without a CommonName: etcd refuses any other one with users and JSON"
        case .unauthenticated(let text) where text.contains("not enabled"):
            "etcdctl auth enable, or leave out user and password"
        case .unauthenticated: "look at user and password_file or password_command"
        case .outOfSpace: "etcdctl compact, defrag and alarm disarm; see etcd's page on maintenance"
        }
    }
}
