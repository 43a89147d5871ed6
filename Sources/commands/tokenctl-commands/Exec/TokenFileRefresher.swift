// SPDX-License-Identifier: MIT

import AgentProtocol
import CHardening
import CommandCore
import Glibc
import Text

/// The upkeep of a token file: it is rewritten after events of the agent and before the token expires.
struct TokenFileRefresher: ~Copyable {
    /// The delay after an error, in seconds.
    private static let delay: Int64 = 2
    /// The maximum time between two requests, in seconds: 10 minutes.
    ///
    /// The time is also at most half of the token's remaining validity.
    private static let maximumWait: Int64 = 600

    private let tokenRequest: TokenRequest
    private let file: ExecTokenFile
    private var endpoint: AgentEndpoint
    private var events: AgentLines?
    private var last: String
    private var hasComplained = false
    private var nextLook: Int64

    private init(
        _ tokenRequest: TokenRequest,
        _ endpoint: AgentEndpoint,
        _ token: AgentToken,
        _ file: consuming ExecTokenFile
    ) {
        self.tokenRequest = tokenRequest
        self.file = file
        self.endpoint = endpoint
        self.endpoint.mayStartAgent = false
        last = token.value
        nextLook = TokenFileRefresher.look(after: token)
        events = try? self.endpoint.connect().lines(of: AgentRequest(.get, "events"))
    }

    /// Requests the first token, waiting for the agent's default time, and writes the file.
    static func begun(
        _ tokenRequest: TokenRequest,
        _ endpoint: AgentEndpoint
    ) throws(AgentError) -> TokenFileRefresher {
        var agent = try endpoint.connect()
        let token = try agent.token(tokenRequest)
        let file = try ExecTokenFile(besideSocket: try endpoint.socketPath)
        try file.write(token.value)
        return TokenFileRefresher(tokenRequest, endpoint, token, file)
    }

    var path: String { file.path }
    var token: String { last }

    /// Runs until `child` exits, and relays signals to it.
    ///
    /// - Parameters:
    ///   - child: The program that reads the file.
    ///   - signals: The signals that this process receives.
    /// - Returns: The exit status of the program.
    mutating func refreshUntilExit(_ child: ChildProcess, _ signals: borrowing RelayedSignals) -> Int32 {
        let ended = hardening_open_process(child.pid)
        defer { if ended >= 0 { close(ended) } }
        while true {
            var wanted = [ended, signals.descriptor, events?.descriptor ?? -1].map {
                pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
            }
            let left = max(0, nextLook - TokenFileRefresher.now)
            _ = unsafe poll(&wanted, nfds_t(wanted.count), Int32(clamping: left * 1000))
            signals.pass(to: child)
            if wanted[0].revents != 0 { return child.wait() }
            if wanted[2].revents != 0, hasNews() { nextLook = 0 }
            if nextLook <= TokenFileRefresher.now { look() }
        }
    }

    /// Reads the available events.
    ///
    /// - Returns: Whether one of them concerns the token.
    private mutating func hasNews() -> Bool {
        var isNews = false
        while true {
            do {
                guard let line = try events?.next(timeout: .zero) else {
                    events = nil
                    return true
                }
                let event = EventMessage(parsing: line)
                isNews = isNews || TokenFileRefresher.isNews(event, for: tokenRequest)
            } catch {
                if error.code != .temporarilyUnavailable { events = nil }
                return isNews
            }
        }
    }

    /// Returns whether `event` concerns the token of `tokenRequest`; refreshes of tokens with other scopes do not.
    ///
    /// Some servers keep only one token of a login valid. Two programs that requested a token after each
    /// other's refreshes would never stop.
    private static func isNews(_ event: EventMessage?, for tokenRequest: TokenRequest) -> Bool {
        guard let event, let name = event.session else { return true }
        guard name == tokenRequest.session else { return false }
        guard event.event == EventName.refreshed.rawValue else { return true }
        let scopes = event.scope?.split(separator: " ").map(String.init) ?? []
        return Set(scopes) == Set(tokenRequest.scopes) && event.audience == tokenRequest.audience
    }

    /// Requests the token without waiting, so that the exit of the program is never noticed late.
    private mutating func look() {
        var tokenRequest = tokenRequest
        tokenRequest.timeout = .zero
        do {
            var agent = try endpoint.connect()
            let token = try agent.token(tokenRequest)
            if token.value != last { try file.write(token.value) }
            last = token.value
            hasComplained = false
            nextLook = TokenFileRefresher.look(after: token)
            if events == nil { events = try? endpoint.connect().lines(of: AgentRequest(.get, "events")) }
        } catch {
            nextLook = TokenFileRefresher.now + TokenFileRefresher.delay
            guard error.code == .loginRequired, !hasComplained else { return }
            hasComplained = true
            FailureReport.tell(error.about(tokenRequest.session))
        }
    }

    private static func look(after token: AgentToken) -> Int64 {
        now + max(1, min(token.expiresIn.map { $0 / 2 } ?? maximumWait, maximumWait))
    }

    /// The number of seconds since boot.
    private static var now: Int64 { hardening_boot_clock() / 1_000_000_000 }
}
