// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// What a request asks for, by its method and path.
enum Route: Equatable {
    case agent
    case sessions
    case session(SessionName)
    case token(SessionName)
    case refresh(SessionName)
    case report(SessionName)
    case login(SessionName)
    case loginAnswer(SessionName, LoginNumber)
    case logout(SessionName)
    case events
    case metrics
    case doctor
    case audit
    case lock
    case unlock
    case reload
    case shutdown
    case vault
    case vaultInit
    case vaultSlots
    case vaultSlot(Int)
    case vaultPassphrase
    case vaultRekey

    /// Finds the route of `path`, whatever the method; `nil` when there is none.
    init?(path: Substring) {
        if let name = Self.tokenSession(path) {
            self = .token(name)
            return
        }
        guard let segments = RequestTarget.segments(of: path), segments.first == "v1" else { return nil }
        let rest = segments.dropFirst()
        if rest.first == "sessions" {
            self.init(session: Array(rest.dropFirst()))
        } else if rest.first == "vault" {
            self.init(vault: Array(rest.dropFirst()))
        } else {
            self.init(agent: Array(rest))
        }
    }

    /// The session of `/v1/sessions/NAME/token` written plainly: nearly all requests, so without taking it apart.
    private static func tokenSession(_ path: Substring) -> SessionName? {
        let (start, end) = ("/v1/sessions/".utf8, "/token".utf8)
        let bytes = path.utf8
        guard bytes.count > start.count + end.count, bytes.starts(with: start),
            bytes.suffix(end.count).elementsEqual(end)
        else { return nil }
        return SessionName(Substring(bytes.dropFirst(start.count).dropLast(end.count)))
    }

    /// Whether `path` is one of a session, but its name can be none.
    static func namesNoSession(_ path: Substring) -> Bool {
        guard let segments = RequestTarget.segments(of: path), segments.starts(with: ["v1", "sessions"]),
            segments.count > 2
        else { return false }
        return SessionName(segments[2].text) == nil
    }

    private init?(agent segments: [ByteText]) {
        switch segments {
        case []: self = .agent
        case ["events"]: self = .events
        case ["metrics"]: self = .metrics
        case ["doctor"]: self = .doctor
        case ["audit"]: self = .audit
        case ["lock"]: self = .lock
        case ["unlock"]: self = .unlock
        case ["reload"]: self = .reload
        case ["shutdown"]: self = .shutdown
        default: return nil
        }
    }

    private init?(session segments: [ByteText]) {
        guard let first = segments.first else {
            self = .sessions
            return
        }
        guard let name = SessionName(first.text) else { return nil }
        switch segments.dropFirst() {
        case []: self = .session(name)
        case ["token"]: self = .token(name)
        case ["refresh"]: self = .refresh(name)
        case ["report"]: self = .report(name)
        case ["login"]: self = .login(name)
        case ["logout"]: self = .logout(name)
        case let rest where rest.count == 2 && rest.first == "login":
            guard let number = rest.last.flatMap({ UInt64($0.text) }) else { return nil }
            self = .loginAnswer(name, LoginNumber(rawValue: number))
        default: return nil
        }
    }

    private init?(vault segments: [ByteText]) {
        switch segments {
        case []: self = .vault
        case ["init"]: self = .vaultInit
        case ["slots"]: self = .vaultSlots
        case ["passwd"]: self = .vaultPassphrase
        case ["rekey"]: self = .vaultRekey
        default:
            guard segments.count == 2, segments[0] == "slots", let index = Int(segments[1].text), index >= 0
            else {
                return nil
            }
            self = .vaultSlot(index)
        }
    }

    /// The one method the route answers; `HEAD` goes with `GET`.
    var method: HTTPRequest.Method {
        switch self {
        case .agent, .sessions, .session, .token, .events, .metrics, .doctor, .audit, .vault: .get
        case .refresh, .report, .login, .loginAnswer, .logout, .lock, .unlock, .reload, .shutdown,
            .vaultInit, .vaultSlots, .vaultPassphrase, .vaultRekey:
            .post
        case .vaultSlot: .delete
        }
    }

    /// Whether a locked agent answers it: whatever shows and changes how it stands, but nothing of a session.
    var worksLocked: Bool {
        switch self {
        case .agent, .events, .metrics, .doctor, .lock, .unlock, .reload, .shutdown, .vault: true
        case .audit, .sessions, .session, .token, .refresh, .report, .login, .loginAnswer, .logout,
            .vaultInit,
            .vaultSlots, .vaultSlot, .vaultPassphrase, .vaultRekey:
            false
        }
    }
}
