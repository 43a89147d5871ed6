// SPDX-License-Identifier: MIT

import SecretMemory
import ServerSettings
import Text
import TokenCore

/// One login at a back end of kind `json`: with a password, with a code that the back end sends, or by
/// import.
struct JSONLogin {
    var server: JSONServer
    var dialogue: CredentialPrompts

    /// The number of wrong codes before a login fails.
    private static let tries = 3
    /// The HTTP statuses with which back ends reject a code.
    ///
    /// With any other status, the user is not prompted for another code.
    private static let codeRefusals = [400, 401, 403, 422]

    var backEnd: JSONBackEnd { server.backEnd }
    private var names: JSONBackEndDialect.CredentialNames { server.backEnd.rules.credentials }
    var memory: SealedMemory { server.tools.memory }

    func run(_ flow: LoginFlow) async throws(LoginError) -> LoginGrant {
        if flow == .import { return try await logInByImport() }
        guard flow == .password else {
            throw misconfigured("kind json supports the flows password and import, not \(flow.rawValue)")
        }
        guard let url = backEnd.loginURL else {
            throw misconfigured("the session has no login_url", .set("--flow import"))
        }
        guard let step = backEnd.codeStep else { return try await logInByPassword(at: url) }
        return try await logInByCode(step, at: url)
    }

    // MARK: Password

    private func logInByPassword(at url: String) async throws(LoginError) -> LoginGrant {
        let username = try await dialogue.username()
        return try await dialogue.withPassword(of: username) { password throws(LoginError) in
            do throws(RefreshRequestError) {
                let tokens = try await server.tokens(from: url) { members throws(RefreshFailure) in
                    members.add(names.username, username)
                    try members.add(names.password, password, from: memory)
                }
                return grant(tokens, account: username)
            } catch {
                throw .failed(error.failure)
            }
        }
    }

    // MARK: Code

    private func logInByCode(_ step: CodeDeliveryStep, at url: String) async throws(LoginError) -> LoginGrant
    {
        // Check this first: no code must be sent if the user cannot enter it.
        guard dialogue.request.secret == nil else {
            throw misconfigured("the login requires a code that the server sends, not a password")
        }
        let username = try await dialogue.username()
        let carried = try await requestCode(step, for: username)
        defer { carried.erase(from: memory) }
        let prompt = "Code sent to \(ServerText.cleaned(username, limit: 100))"
        var asked = prompt
        var triesLeft = JSONLogin.tries
        while true {
            triesLeft -= 1
            let code = try await dialogue.ask(.oneTimeCode, asked)
            defer { memory.erase(code) }
            do throws(RefreshFailure) {
                let answer = try await server.post(
                    { members throws(RefreshFailure) in
                        members.add(names.username, username)
                        try members.add(names.code, code, from: memory)
                        try carried.add(to: members, from: memory)
                    },
                    to: url,
                    for: .login
                )
                guard triesLeft > 0, let words = refusal(ofCodeIn: answer) else {
                    return grant(try tokens(in: answer), account: username)
                }
                let stop = words.utf8.last == UInt8(ascii: ".") ? "" : "."
                asked = ServerText.cleaned("\(words)\(stop) \(prompt)", limit: 300)
            } catch {
                throw .failed(error)
            }
        }
    }

    private func tokens(in answer: JSONServer.Answer) throws(RefreshFailure) -> GrantedTokens {
        do throws(RefreshRequestError) {
            return try server.tokens(in: answer)
        } catch {
            throw error.failure
        }
    }

    /// Makes the back end send a code to `username`, once.
    private func requestCode(
        _ step: CodeDeliveryStep,
        for username: String
    ) async throws(LoginError) -> CarriedMembers {
        do throws(RefreshFailure) {
            let answer = try await server.post(
                { members throws(RefreshFailure) in members.add(names.username, username) },
                to: step.url,
                for: .login
            )
            let object = answer.reply.jsonObject
            let paths = backEnd.rules.responses.ofLogins.paths
            let isRefused = object.map {
                paths.hasError(in: $0) || paths.demandLogin(in: $0)
                    || backEnd.rules.responses.isUnsuccessful($0)
            }
            guard answer.isSuccess, isRefused != true, !answer.reply.isHTML else {
                throw server.failure(answer)
            }
            let layers = object.map { paths.layers(of: $0) } ?? []
            return try CarriedMembers(step.carriedMembers, in: layers, from: answer.url, memory)
        } catch {
            throw .failed(error)
        }
    }

    /// Returns the message with which the back end rejected a code, or `nil` if the response is not a
    /// rejection of the code.
    private func refusal(ofCodeIn answer: JSONServer.Answer) -> String? {
        guard answer.isSuccess || JSONLogin.codeRefusals.contains(answer.reply.status),
            let object = answer.reply.jsonObject, backEnd.rules.isRefusal(object, .login)
        else { return nil }
        let refusal = JSONErrorResponse(object, at: backEnd.rules.responses.ofLogins.paths)
        return refusal.requiresReauth ? nil : refusal.text(refusal.codes.first)
    }

    // MARK: Grant

    func grant(
        _ tokens: GrantedTokens,
        fallback: RenewalMethod = .impossible,
        account: String?
    ) -> LoginGrant {
        LoginGrant(
            tokens: tokens,
            renewal: tokens.refreshToken.map(RenewalMethod.refreshToken) ?? fallback,
            tokenEndpoint: backEnd.refreshURL,
            account: account.map { ServerText.cleaned($0, limit: 255) }
        )
    }

    func misconfigured(_ message: String, _ remedy: Remedy? = nil) -> LoginError {
        .failed(RefreshFailure(kind: .misconfigured, message: message, remedy: remedy))
    }
}
