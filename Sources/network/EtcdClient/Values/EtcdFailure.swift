// SPDX-License-Identifier: MIT

import Text

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
    /// The port has no JSON gateway; it may be etcd's port for traffic between members.
    ///
    /// Nothing was done.
    case noGateway
    /// This host does not trust the member's certificate, or the member does not trust this host's.
    case insecure(EtcdTLSError)
    /// This host cannot get the user's password, so etcd was not called.
    ///
    /// The values are the error, a remedy, and whether only the user can solve the problem.
    case noPassword(String, remedy: Remedy?, isMistake: Bool)
    /// The name or password is wrong, or etcd's authentication is disabled.
    case unauthenticated(String)
    /// The user of etcd lacks the permission.
    case denied(String)
    /// etcd accepts no more changes until space is freed.
    case outOfSpace
    /// The history before this revision is compacted, so a watch cannot begin there.
    case compacted(Int64)
    /// etcd rejects the request as invalid.
    case refused(String)
    /// The response cannot come from etcd 3.4 or later.
    case malformed(String)

    /// Whether etcd may have processed the call.
    package var mayHaveActed: Bool { consequences.mayHaveActed }

    /// Whether the failure concerns one member only, so that a call to another may succeed.
    var isOfOneMember: Bool { consequences.isOfOneMember }

    /// Whether the member responds but denies this host access, or one of them does not trust the certificate
    /// of the other.
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

        /// Returns the consequences for a call that has not reached a member.
        static func unreached(_ reason: String) -> Self {
            Self(sentence: "cannot reach etcd: \(reason)", isOfOneMember: true)
        }
    }

    private var consequences: Consequences {
        switch self {
        case .unreachable(let text): .unreached(text)
        case .unanswered(let text):
            Consequences(sentence: "no response from etcd: \(text)", isOfOneMember: true, mayHaveActed: true)
        case .unknownHost: .unreached("cannot resolve the host name")
        case .closedPort: .unreached("nothing is listening at its port")
        case .noHandshake: .unreached("connection closed during the TLS handshake")
        case .noPlainAnswer:
            Consequences(
                sentence: "etcd closed the connection (is it expecting https?)",
                isOfOneMember: true,
                mayHaveActed: true
            )
        case .noGateway: .unreached("its port has no JSON gateway (requires etcd 3.4 or later)")
        case .insecure(let distrust):
            Consequences(
                sentence: "cannot connect to etcd securely: \(distrust.sentence)",
                isOfOneMember: true,
                isRefusal: true
            )
        case .noPassword(let text, _, _): Consequences(sentence: text)
        case .unauthenticated(let text):
            Consequences(sentence: "etcd rejected the user: \(text)", isRefusal: true)
        case .denied(let text):
            Consequences(sentence: "etcd denied permission: \(text)", isRefusal: true)
        case .outOfSpace: Consequences(sentence: "etcd is out of space and rejects changes")
        case .compacted(let revision):
            Consequences(sentence: "etcd has compacted its history before revision \(revision)")
        case .refused(let text): Consequences(sentence: "etcd rejected the request: \(text)")
        // An unreadable response may belong to a call that was processed.
        case .malformed(let text):
            Consequences(
                sentence: "not a response of etcd 3.4 or later: \(text)",
                isOfOneMember: true,
                mayHaveActed: true
            )
        }
    }

    /// The remedy, or `nil` if only waiting helps.
    package var remedy: Remedy? {
        switch self {
        case .unanswered(let text) where text.contains("the gateway has no"): EtcdTLSError.wantsClientUse
        // Only the administrator of the keys knows which permissions are missing.
        case .unreachable, .unanswered, .denied, .compacted, .refused, .malformed: nil
        case .unknownHost:
            .setAndRestart(
                "fleet.endpoints to a host name that this host can resolve"
            )
        case .closedPort:
            .setAndRestart(
                "fleet.endpoints to etcd's client port if etcd is running"
            )
        case .noHandshake: .setAndRestart("fleet.endpoints to http")
        case .noPlainAnswer: .setAndRestart("fleet.endpoints to https")
        case .noGateway:
            .setAndRestart(
                "fleet.endpoints to etcd's client port, by default 2379"
            )
        case .insecure(let distrust): distrust.remedy
        case .noPassword(_, let remedy, _): remedy
        case .unauthenticated(let text) where text.contains("CommonName"):
            .setAndRestart(
                "fleet.certificate_file to a client certificate without a CommonName"
            )
        case .unauthenticated(let text) where text.contains("not enabled"): .run("etcdctl auth enable")
        case .unauthenticated:
            .setAndRestart(
                "fleet.user, and fleet.password_file or fleet.password_command"
            )
        case .outOfSpace: .see("etcd's maintenance guide: etcdctl compact, defrag and alarm disarm")
        }
    }
}
