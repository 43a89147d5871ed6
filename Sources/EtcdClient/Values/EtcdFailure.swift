// SPDX-License-Identifier: MIT

/// Why a call has no answer; each case says whether etcd can have carried it out.
package enum EtcdFailure: Error, Equatable, Sendable {
    /// Nothing was sent, or the member says that it did nothing: no endpoint answers, or none has a leader.
    case unreachable(String)
    /// It was sent, and no answer came: only a look tells what has become of it.
    case unanswered(String)
    /// The endpoint's host name leads nowhere: nothing was sent.
    case unknownHost
    /// Nobody listens at the port: nothing was sent.
    case closedPort
    /// The connection to an https endpoint ended before both sides spoke TLS: nothing was sent.
    case noHandshake
    /// The connection to an http endpoint ended after the request, without a word.
    case noPlainAnswer
    /// What answers has no gateway for JSON, as the port at which members speak to each other: nothing was done.
    case noGateway
    /// The member is not the one that is trusted, or does not trust us.
    case insecure(EtcdTLSError)
    /// This host cannot get the user's password, so etcd was not asked: what went wrong, what helps, and whether only a
    /// person can put it right.
    case noPassword(String, remedy: String?, isMistake: Bool)
    /// Name or password are wrong, or etcd wants none.
    case unauthenticated(String)
    /// The user may not do this.
    case denied(String)
    /// etcd takes no more changes until it has been given room.
    case outOfSpace
    /// The history before this revision is gone, so nothing can be watched from there.
    case compacted(Int64)
    /// etcd does not take the request as it is.
    case refused(String)
    /// What came is no answer of an etcd.
    case malformed(String)

    /// The call may have been carried out.
    package var mayHaveActed: Bool { consequences.mayHaveActed }

    /// Another member may do better.
    var isOfOneMember: Bool { consequences.isOfOneMember }

    /// The member answers, but it and this host do not let each other in.
    package var isRefusal: Bool { consequences.isRefusal }

    /// Only a person can put it right.
    package var isMistake: Bool {
        switch self {
        case .noPassword(_, _, let isMistake): isMistake
        case .noGateway: true
        default: isRefusal
        }
    }

    /// What went wrong, in a sentence without a full stop.
    package var sentence: String { consequences.sentence }

    private struct Consequences {
        var sentence: String
        var isOfOneMember = false
        var mayHaveActed = false
        var isRefusal = false

        /// The call has not come to a member.
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
        // A broken answer may stand for a call that was carried out.
        case .malformed(let text):
            Consequences(
                sentence: "what answers is no etcd of version 3.4 or later: \(text)",
                isOfOneMember: true,
                mayHaveActed: true
            )
        }
    }

    /// What helps; `nil`: time, or what the sentence says.
    package var remedy: String? {
        switch self {
        case .unanswered(let text) where text.contains("the gateway has no"): EtcdTLSError.wantsClientUse
        // Which rights are missing is known to whoever has the keys.
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
