// SPDX-License-Identifier: MIT

import ServerSettings
import TokenCore

/// One probe of a session's server, for diagnostics.
///
/// Nothing is cached, and no secret is sent.
struct ServerProbe {
    let profile: ServerProfile
    let tools: ServerDependencies

    /// Resolves the name, connects, and verifies the certificate with the session's own trust settings.
    ///
    /// If the server has metadata, they are fetched and their issuer is compared (RFC 8414 §3.3, OpenID
    /// Connect Discovery §4.3).
    ///
    /// - Returns: The findings, or the reason the probe failed.
    func run() async -> Result<ServerProbeResult, RefreshFailure> {
        let exchange = ClockComparingExchange(tools.exchange, tools.timekeeper)
        var tools = tools
        tools.exchange = exchange
        return await ServerProbe(profile: profile, tools: tools).look()
            .map { ServerProbeResult($0, clockLead: exchange.clockLead) }
    }

    private func look() async -> Result<String, RefreshFailure> {
        if case .resource(let resource) = profile.kind {
            let discovery = ResourceDiscovery(address: resource.address, trust: profile.trust, tools: tools)
            do throws(RefreshFailure) {
                let servers = try await discovery.run().metadata.servers
                return .success("trusted, names \(ServerText.cleaned(servers[0], limit: 200))")
            } catch {
                return .failure(error)
            }
        }
        guard case .oidc = profile.kind else { return await reach(profile.kind.identity.address) }
        let issuer = Issuer.Description(profile)
        return await ServerMetadataCache.fetch(issuer, tools).map { metadata in
            let trusted = metadata.lacksDocument ? "trusted" : "trusted, metadata matches the issuer"
            return ([trusted] + metadata.remarks).joined(separator: ", ")
        }
    }

    /// Fetches the endpoint as a browser would.
    ///
    /// Any response shows that the server is reachable and trusted.
    private func reach(_ address: String) async -> Result<String, RefreshFailure> {
        let url: EndpointURL
        do throws(EndpointURLError) {
            url = try EndpointURL(address)
        } catch {
            return .failure(RefreshFailure(kind: .misconfigured, message: "an endpoint \(error)"))
        }
        do throws(TransportFailure) {
            _ = try await tools.exchanged(OutgoingRequest(url: url, trust: profile.trust))
            return .success("trusted, responds")
        } catch {
            return .failure(error.refreshFailure(at: url))
        }
    }
}
