// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// One login to IAM Identity Center: the user confirms in a browser, and the agent polls (RFC 8628 with
/// Amazon's names).
struct IdentityCenterLogin {
    var server: IdentityCenterServer
    var conversation: any LoginPrompting

    func run(_ flow: LoginFlow) async throws(LoginError) -> LoginGrant {
        guard flow == .device else {
            let message = "kind aws_sso supports the flow device, not \(flow.rawValue)"
            throw .failed(RefreshFailure(kind: .misconfigured, message: message))
        }
        let (client, grant) = try await begin()
        return try await DeviceCodePolling(tools: server.tools, conversation: conversation).finish(grant) {
            () async throws(LoginError) in
            try await tokens(for: grant, as: client)
        }
    }

    /// Returns the client to log in with, and the code for the user.
    ///
    /// If the service has forgotten the client, another one is registered, once per login.
    private func begin() async throws(LoginError) -> (ClientRegistration, DeviceGrant) {
        do throws(RefreshFailure) {
            let client = try await server.clientForLogin()
            do throws(RefreshFailure) {
                return (client, try await deviceGrant(as: client))
            } catch {
                guard error.code == "invalid_client" else { throw error }
                await server.tools.registrar.drop(client)
                let another = try await server.clientForLogin()
                return (another, try await deviceGrant(as: another))
            }
        } catch {
            throw .failed(error)
        }
    }

    /// Requests a code (StartDeviceAuthorization).
    private func deviceGrant(as client: ClientRegistration) async throws(RefreshFailure) -> DeviceGrant {
        let service = server.service
        let answer: (object: JSONObject, requestedAt: Instant)
        do throws(RefreshFailure) {
            answer = try await service.post("/device_authorization") { members throws(RefreshFailure) in
                try client.add(to: members, server.tools.memory)
                members.add("startUrl", server.center.startURL)
            }
        } catch {
            var failure = error
            if failure.code == "invalid_request" {
                failure.kind = .misconfigured
                failure.remedy = .set("start_url and region to those of IAM Identity Center")
            }
            throw failure
        }
        guard let grant = DeviceGrant(answer.object, requestedAt: answer.requestedAt, named: .camelCase)
        else {
            let host = try service.url("").hostAndPort
            throw RefreshFailure(kind: .misbehaved, message: "\(host): not a device authorization response")
        }
        return grant
    }

    private func tokens(
        for grant: DeviceGrant,
        as client: ClientRegistration
    ) async throws(LoginError) -> LoginGrant {
        do throws(RefreshRequestError) {
            var tokens = try await server.tokens(as: client, by: DeviceGrant.grantType) {
                $0.add("deviceCode", grant.deviceCode)
            }
            tokens.scope = [IdentityCenter.scope]
            return LoginGrant(
                tokens: tokens,
                renewal: tokens.refreshToken.map(RenewalMethod.refreshToken) ?? .impossible,
                tokenEndpoint: server.center.tokenService,
                server: DiscoveredServer(issuer: server.center.tokenService, client: client.clientID)
            )
        } catch {
            throw .failed(error.failure)
        }
    }
}
