// SPDX-License-Identifier: MIT

import ServerSettings
import Synchronization
import Text
import TokenCore

/// A server of kind `github_app`: tokens of an installation of a GitHub App.
///
/// Source: GitHub, "Generating a JSON Web Token (JWT) for a GitHub App" and the REST API's "Create an
/// installation access token for an app", "Get a user installation", "Revoke an installation access token".
struct GitHubAppServer: LoginlessServer {
    let profile: ServerProfile
    let app: GitHubApp
    let tools: ServerDependencies

    private let key: SecretReader
    private let found = FoundInstallation()

    /// The number of an installation that the configuration names by its account.
    private final class FoundInstallation: Sendable {
        private let number = Mutex<Int64?>(nil)

        var known: Int64? { number.withLock { $0 } }

        func note(_ found: Int64?) { number.withLock { $0 = found } }
    }

    init(profile: ServerProfile, app: GitHubApp, tools: ServerDependencies) {
        self.profile = profile
        self.app = app
        self.tools = tools
        key = SecretReader(
            source: app.key,
            named: "key",
            sharedWith: .nobody,
            memory: tools.memory,
            commands: tools.commands
        )
    }

    var heldSecrets: [SecretID] {
        get async { await key.held.map { [$0] } ?? [] }
    }

    var variantRefusal: String { "sessions of a GitHub App do not support other scopes or audiences" }

    func fetch(_ request: RefreshRequest) async throws(RefreshFailure) -> GrantedTokens {
        do throws(RefreshFailure) {
            return try await token()
        } catch {
            if error.kind == .misconfigured {
                await key.forget()
                found.note(nil)
            }
            throw error
        }
    }

    func revoke(_ tokens: RevocationRequest) async -> RevocationOutcome {
        guard let token = tokens.accessToken else { return .nothing }
        do throws(RefreshFailure) {
            let bearer = try tools.memory.text(of: token)
            let answer = try await send("/installation/token", as: bearer) { $0.deletes = true }
            switch answer.reply.status {
            // A 401 means that the token has expired.
            case 204, 401: return .revoked
            default: return .failed(answer.failure)
            }
        } catch {
            return .failed(error)
        }
    }

    // MARK: A token

    private func token() async throws(RefreshFailure) -> GrantedTokens {
        let assertion = try await assertion()
        let number = try await installation(assertion)
        let body = try JSONRequestBody { members throws(RefreshFailure) in
            if !app.repositories.isEmpty { members.add("repositories", app.repositories) }
            guard !app.permissions.isEmpty else { return }
            try members.add("permissions") { inner throws(RefreshFailure) in
                for (name, level) in app.permissions.sorted(by: { $0.key < $1.key }) {
                    inner.add(name, level)
                }
            }
        }
        let requestedAt = tools.timekeeper.now
        let answer = try await send("/app/installations/\(number)/access_tokens", as: assertion) {
            $0.json = body
        }
        let token = try answer.token()
        return GrantedTokens(
            accessToken: try tools.memory.sealing(token.text, as: .accessToken),
            lifetime: token.lifetime,
            requestedAt: requestedAt,
            serverClockAhead: answer.reply.serverTime.map { $0 - answer.now }
        )
    }

    /// Returns the token that proves the app's identity, signed with RS256.
    ///
    /// GitHub accepts at most ten minutes from issue to expiry.
    private func assertion() async throws(RefreshFailure) -> String {
        guard let secret = try await key.read() else {
            throw RefreshFailure(kind: .misconfigured, message: "key_file is missing")
        }
        let now = tools.timekeeper.wallTime.secondsSince1970
        // The time of issue is a minute ago, as GitHub recommends, because clocks differ.
        let claims: JSONObject = [
            "iss": .string(app.appID), "iat": .integer(now - 60), "exp": .integer(now + 300),
        ]
        let text = try tools.memory.text(of: secret)
        do throws(SigningKey.Problem) {
            let key = try SigningKey(text)
            return try key.token(of: claims, with: try key.algorithm(among: ["RS256"]))
        } catch {
            throw error.failure(of: key)
        }
    }

    /// Returns the number of the installation, which is requested once if the configuration names the
    /// account.
    private func installation(_ assertion: String) async throws(RefreshFailure) -> Int64 {
        let account: String
        switch app.installation {
        case .id(let number): return number
        case .account(let name): account = PercentCoding.encoded(name)
        }
        if let known = found.known { return known }
        var answer = try await send("/users/\(account)/installation", as: assertion)
        // An organization of that name is not always found as a user.
        if answer.reply.status == 404 {
            answer = try await send("/orgs/\(account)/installation", as: assertion)
        }
        let number = try answer.installation()
        found.note(number)
        return number
    }

    // MARK: Exchange

    private func send(
        _ path: String,
        as bearer: String,
        _ change: (inout OutgoingRequest) -> Void = { _ in }
    ) async throws(RefreshFailure) -> GitHubResponse {
        let url = try EndpointURL(app.apiURL + path, of: "api_url")
        var request = OutgoingRequest(url: url, trust: profile.trust)
        request.headers = [
            ("accept", "application/vnd.github+json"), ("authorization", "Bearer " + bearer),
            ("x-github-api-version", "2022-11-28"),
        ]
        change(&request)
        let reply = try await tools.send(request)
        return GitHubResponse(reply, from: url, at: tools.timekeeper.wallTime)
    }
}
