// SPDX-License-Identifier: MIT

import AgentProtocol
import CHardening
import CommandCore
import Glibc
import Text

/// Keeps a token file fresh: looks when the agent says that something changed, and before the token gets old.
struct TokenFileRefresher: ~Copyable {
    /// How long after a failure it looks again: 2 s.
    private static let pause: Int64 = 2
    /// Longest wait when the agent says nothing: 10 minutes, but at most half of the token's remaining life.
    private static let longestWait: Int64 = 600

    private let demand: TokenRequest
    private let file: TokenFile
    private var endpoint: AgentEndpoint
    private var events: AgentLines?
    private var last: String
    private var hasComplained = false
    private var nextLook: Int64

    private init(
        _ demand: TokenRequest,
        _ endpoint: AgentEndpoint,
        _ token: AgentToken,
        _ file: consuming TokenFile
    ) {
        self.demand = demand
        self.file = file
        self.endpoint = endpoint
        self.endpoint.mayStartAgent = false
        last = token.value
        nextLook = TokenFileRefresher.look(after: token)
        events = try? self.endpoint.connect().lines(of: AgentRequest(.get, "events"))
    }

    /// Asks for the first token, waiting as long as the agent does, and writes it.
    static func begun(
        _ demand: TokenRequest,
        _ endpoint: AgentEndpoint
    ) throws(AgentError) -> TokenFileRefresher {
        var agent = try endpoint.connect()
        let token = try agent.token(demand)
        let file = try TokenFile(besideSocket: try endpoint.socketPath)
        try file.write(token.value)
        return TokenFileRefresher(demand, endpoint, token, file)
    }

    var path: String { file.path }
    var token: String { last }

    /// Runs until `child` ends, passing signals on to it.
    mutating func accompany(_ child: ChildProcess, _ signals: borrowing RelayedSignals) -> Int32 {
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

    /// Whether an event concerns the token.
    private mutating func hasNews() -> Bool {
        var isNews = false
        while true {
            do {
                guard let line = try events?.next(timeout: .zero) else {
                    events = nil
                    return true
                }
                let event = EventMessage(parsing: line)
                isNews = isNews || TokenFileRefresher.isNews(event, for: demand)
            } catch {
                if error.code != .temporarilyUnavailable { events = nil }
                return isNews
            }
        }
    }

    /// Whether the event concerns the token of `demand`; the refresh of another scope's token does not.
    ///
    /// Where a server keeps only one good token for each login, two programs that asked again at each other's
    /// refreshes would never stop.
    private static func isNews(_ event: EventMessage?, for demand: TokenRequest) -> Bool {
        guard let event, let name = event.session else { return true }
        guard name == demand.session else { return false }
        guard event.event == EventName.refreshed.rawValue else { return true }
        let scopes = event.scope?.split(separator: " ").map(String.init) ?? []
        return Set(scopes) == Set(demand.scopes) && event.audience == demand.audience
    }

    /// Asks without waiting, so that the program's end is never noticed late.
    private mutating func look() {
        var demand = demand
        demand.timeout = .zero
        do {
            var agent = try endpoint.connect()
            let token = try agent.token(demand)
            if token.value != last { try file.write(token.value) }
            last = token.value
            hasComplained = false
            nextLook = TokenFileRefresher.look(after: token)
            if events == nil { events = try? endpoint.connect().lines(of: AgentRequest(.get, "events")) }
        } catch {
            nextLook = TokenFileRefresher.now + TokenFileRefresher.pause
            guard error.code == .loginRequired, !hasComplained else { return }
            hasComplained = true
            let line = FailureReport.line(for: error.about(demand.session))
            StandardError.write("tokenctl: \(line)\n")
        }
    }

    private static func look(after token: AgentToken) -> Int64 {
        now + max(1, min(token.expiresIn.map { $0 / 2 } ?? longestWait, longestWait))
    }

    /// Seconds since boot.
    private static var now: Int64 { hardening_boot_clock() / 1_000_000_000 }
}
