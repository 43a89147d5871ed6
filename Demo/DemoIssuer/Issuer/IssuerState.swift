// SPDX-License-Identifier: MIT

import Text

/// The state of the issuer.
///
/// Its endpoints are methods of this value, one file each.
struct IssuerState: Sendable {
    var settings: IssuerSettings
    var registry: IssuerRegistry
    var signingKey: SigningKey
    /// The issuer identifier: scheme, host and port, without a path.
    var issuer = ""
    var grants = GrantLedger()
    var proofs = ProofLedger()
    /// The `jti` of every valid client assertion.
    ///
    /// No assertion can be used twice.
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

    /// The time since the issuer was created.
    var now: Duration { ContinuousClock.now - start }

    /// Logs `request` and removes the disturbance queued for it, if any.
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

    /// Returns the issuer's own response.
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
