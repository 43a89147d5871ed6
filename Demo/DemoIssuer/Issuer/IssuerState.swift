// SPDX-License-Identifier: MIT

import Text

/// Everything the issuer knows; its endpoints are methods of this value, one file each.
struct IssuerState: Sendable {
    var settings: IssuerSettings
    var registry: IssuerRegistry
    var signingKey: SigningKey
    /// The issuer identifier: scheme, host and port, no path.
    var issuer = ""
    var grants = GrantLedger()
    var proofs = ProofLedger()
    /// The `jti` of every assertion that was good: none is good twice.
    var usedAssertions: Set<String> = []
    var routes = Route.standard
    var log: [IssuerRequest] = []
    private var disturbances: [String: [Disturbance]] = [:]
    private let start = ContinuousClock.now

    init(settings: IssuerSettings, registry: IssuerRegistry, signingKey: SigningKey) {
        self.settings = settings
        self.registry = registry
        self.signingKey = signingKey
    }

    /// Since the issuer was made.
    var now: Duration { ContinuousClock.now - start }

    /// Logs `request` and takes the disturbance queued for it, if any.
    mutating func receive(_ request: inout IssuerRequest) -> Disturbance {
        request.number = (log.last?.number ?? 0) + 1
        request.receivedAt = now
        log.append(request)
        guard let index = disturbances[request.path]?.firstIndex(where: { $0.applies(to: request) }) else {
            return .none
        }
        return disturbances[request.path]?.remove(at: index) ?? .none
    }

    mutating func queue(_ disturbance: Disturbance, for path: String, times: Int) {
        disturbances[path, default: []] += Array(repeating: disturbance, count: times)
    }

    mutating func clearQueue() {
        disturbances = [:]
    }

    /// The issuer's own answer.
    mutating func answer(_ request: IssuerRequest) -> IssuerResponse {
        guard let route = routes.last(where: { $0.matches(request) }) else { return .notFound }
        do {
            return try route.handler(request, &self)
        } catch let refusal as OAuthErrorResponse {
            return refusal.reply
        } catch {
            return .html("<p>\(error)</p>", status: 500)
        }
    }
}
