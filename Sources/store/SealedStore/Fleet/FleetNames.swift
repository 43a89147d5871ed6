// SPDX-License-Identifier: MIT

import SecretMemory
import Text
import TokenCore

/// The name of a session in etcd: a MAC that only the fleet's hosts can compute.
package struct FleetSessionName: Hashable, Sendable {
    let code: RandomID
}

/// A key in etcd that belongs to a session of the fleet.
package struct FleetEtcdKey: Hashable, Sendable {
    /// The kind of value under a key.
    package enum Kind: Hashable, Sendable {
        /// `rt`, which keepers open.
        case record
        /// `at`, which readers open.
        case access
        case intent
        case lock
        case want
        /// A late response to the refresh token of generation `parent`.
        case late(Lineage, parent: UInt64, AttemptID)
        /// `h/HOST`, the description of a host, which belongs to no session.
        case host(UInt64)
        /// Tokens of an attempt that a host keeps in its own record, not in etcd.
        case kept(AttemptID)
    }

    package var name: FleetSessionName
    package var kind: Kind

    package init(_ kind: Kind, of name: FleetSessionName) {
        self.name = name
        self.kind = kind
    }
}

extension LateResponse {
    /// The kind of key under which the response is stored.
    package var kind: FleetEtcdKey.Kind { .late(lineage, parent: parent, attempt) }
}

/// A range of keys in etcd, from `start` up to but not including `end`.
package struct FleetRange: Equatable, Sendable {
    package let start: [UInt8]
    package let end: [UInt8]

    /// Creates the range of all keys that begin with `prefix`, which ends in `/`.
    fileprivate init(below prefix: [UInt8]) {
        start = prefix
        // The byte after "/" is "0".
        end = prefix.dropLast() + [UInt8(ascii: "0")]
    }
}

/// The names of a fleet's keys in etcd.
///
/// ```
/// /tokenagent/FLEET/s/NAME/rt
///                         /at | /intent | /lock | /want
///                         /late/LINEAGE/GENERATION/ATTEMPT
///                   /h/HOST
/// ```
///
/// FLEET and NAME are MACs of 128 bits. LINEAGE has 48 lower-case hexadecimal digits, GENERATION and HOST 16,
/// ATTEMPT 32, so that the late responses to one refresh token form a range and each name has only one
/// spelling. Names do not depend on the epoch: a host that missed a new epoch finds records that it cannot
/// open, instead of an empty key that it would fill.
package struct FleetNames: Sendable {
    /// The prefix of all names, for the permissions of an etcd user.
    package let prefix: [UInt8]
    private let keys: FleetKeys

    package init(_ keys: FleetKeys) {
        self.keys = keys
        var fleet: [UInt8] = []
        fleet.append(keys.fleet)
        prefix = Array("/tokenagent/\(FleetNames.code(of: fleet, "fleet", keys))/".utf8)
    }

    /// Returns the name of `session` in this fleet.
    package func name(of session: SessionName) -> FleetSessionName {
        FleetSessionName(code: FleetNames.code(of: Array(session.description.utf8), "session", keys))
    }

    private static func code(of text: [UInt8], _ purpose: String, _ keys: FleetKeys) -> RandomID {
        let message = Array("ta1 fleet \(purpose)\0".utf8) + text
        let code = unsafe message.withUnsafeBytes { message in
            unsafe keys.withNameKey { unsafe CryptoPrimitives.code(of: message, key: $0, count: 16) }
        }
        return RandomID(code)
    }

    /// The keys of all sessions, which a host watches.
    package var all: FleetRange { FleetRange(below: prefix + Array("s/".utf8)) }

    /// The descriptions of all hosts.
    package var hosts: FleetRange { FleetRange(below: prefix + Array("h/".utf8)) }

    /// Returns the key of a host's description.
    package func key(ofHost id: UInt64) -> FleetEtcdKey {
        FleetEtcdKey(.host(id), of: FleetSessionName(code: RandomID(high: 0, low: 0)))
    }

    /// Parses a key below ``hosts``, or returns `nil` if it is not valid.
    package func host(named bytes: [UInt8]) -> FleetEtcdKey? {
        guard bytes.starts(with: hosts.start), bytes.count == hosts.start.count + 16,
            let digits = String(validating: bytes[hosts.start.count...], as: UTF8.self),
            let id = UInt64(digits, radix: 16)
        else { return nil }
        let key = key(ofHost: id)
        return self.bytes(of: key) == bytes ? key : nil
    }

    /// Returns the range of all keys of one session.
    package func all(of name: FleetSessionName) -> FleetRange { FleetRange(below: start(name)) }

    /// Returns the range of one session's late responses.
    package func lateResults(of name: FleetSessionName) -> FleetRange {
        FleetRange(below: start(name) + Array("late/".utf8))
    }

    /// Returns the range of the late responses to one refresh token.
    package func lateResults(of name: FleetSessionName, _ lineage: Lineage, parent: UInt64) -> FleetRange {
        FleetRange(below: start(name) + Array(FleetNames.late(lineage, parent).utf8))
    }

    /// Returns the bytes of a name, in ASCII.
    package func bytes(of key: FleetEtcdKey) -> [UInt8] {
        let rest =
            switch key.kind {
            case .record: "rt"
            case .access: "at"
            case .intent: "intent"
            case .lock: "lock"
            case .want: "want"
            case .late(let lineage, let parent, let attempt):
                FleetNames.late(lineage, parent) + FleetNames.digits(attempt)
            case .kept(let attempt): "kept/\(FleetNames.digits(attempt))"
            case .host(let id): Hex.digits(of: id)
            }
        if case .host = key.kind { return hosts.start + Array(rest.utf8) }
        return start(key.name) + Array(rest.utf8)
    }

    /// Parses a name, or returns `nil` if it does not belong to this fleet.
    package func key(named bytes: [UInt8]) -> FleetEtcdKey? {
        guard bytes.count <= FleetNames.longest, bytes.starts(with: all.start),
            let text = String(validating: bytes[all.start.count...], as: UTF8.self)
        else { return nil }
        let parts = text.bytewise.split(on: "/", omittingEmpty: false)
        guard parts.count >= 2, let code = RandomID(hexadecimal: parts[0]),
            let kind = FleetNames.kind(parts[1...])
        else { return nil }
        let key = FleetEtcdKey(kind, of: FleetSessionName(code: code))
        // Reject other spellings, with upper-case digits or other leading zeros.
        return self.bytes(of: key) == bytes ? key : nil
    }

    /// The maximum size of a name in bytes.
    private static let longest = 200

    private static func kind(_ parts: ArraySlice<Substring>) -> FleetEtcdKey.Kind? {
        switch parts.map(\.bytewise) {
        case ["rt"]: return .record
        case ["at"]: return .access
        case ["intent"]: return .intent
        case ["lock"]: return .lock
        case ["want"]: return .want
        case let words where words.count == 4 && words[0] == "late":
            return late(words.dropFirst().map(\.text))
        default: return nil
        }
    }

    private static func late(_ words: [String]) -> FleetEtcdKey.Kind? {
        let digits = words[0].utf8
        guard digits.count == 48,
            let number = UInt64(String(decoding: digits.prefix(16), as: UTF8.self), radix: 16),
            let id = UInt128(String(decoding: digits.dropFirst(16), as: UTF8.self), radix: 16),
            let parent = UInt64(words[1], radix: 16), let attempt = RandomID(hexadecimal: words[2])
        else { return nil }
        return .late(
            Lineage(number: number, id: id),
            parent: parent,
            AttemptID(host: attempt.high, random: attempt.low)
        )
    }

    private static func late(_ lineage: Lineage, _ parent: UInt64) -> String {
        "late/\(Hex.digits(of: lineage.number))\(Hex.digits(of: lineage.id))/\(Hex.digits(of: parent))/"
    }

    private func start(_ name: FleetSessionName) -> [UInt8] { all.start + Array("\(name.code)/".utf8) }

    /// Returns 32 digits.
    private static func digits(_ attempt: AttemptID) -> String {
        Hex.digits(of: attempt.host) + Hex.digits(of: attempt.random)
    }
}
