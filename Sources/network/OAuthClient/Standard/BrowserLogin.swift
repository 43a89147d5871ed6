// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// The browser flow: an authorization code with PKCE, received by a loopback redirect or pasted (RFC 8252).
///
/// ``AuthorizationTransaction`` is the request and checks the response. ``LoopbackListener`` receives the
/// browser and shows the outcome.
///
/// - Entry points of this folder: `logInByBrowser()`, `logInByDevice()`, `logInByPassword()`,
///   `logInByClientCredentials()`, `logInByImport()`.
/// - May not: send an authorization code twice, or accept a response with another `state` or issuer.
extension StandardLogin {
    /// The timeout for the user in the browser.
    static let loginTimeout = LoginMessage.browserTimeout
    /// The number of times that an address may be pasted.
    private static let pastes = 3

    func logInByBrowser() async throws(LoginError) -> LoginGrant {
        let url = try authorizationEndpoint()
        let places = request.pastesRedirect ? [] : profile.authorization.places
        let (transaction, response) =
            places.isEmpty
            ? try await pastedResponse(from: url) : try await listenedResponse(from: url, at: places)
        switch response {
        case .refused(let failure): throw .failed(failure)
        case .code(let code): return try await redeem(code, transaction)
        }
    }

    /// Returns the authorization endpoint of a server with the code flow and PKCE, as RFC 9700 §2.1.1
    /// requires.
    ///
    /// - Throws: `misconfigured` if the server does not offer them.
    private func authorizationEndpoint() throws(LoginError) -> EndpointURL {
        let others = Remedy.set("--flow to another flow, such as device")
        guard let url = metadata.authorization else {
            let reason = metadata.reason(forLacking: "authorization_endpoint")
            throw misconfigured("the server has no authorization_endpoint\(reason)", others)
        }
        if let types = metadata.responseTypes, !types.contains("code") {
            throw misconfigured("the server does not support the authorization code flow", others)
        }
        if profile.dialect.usesPKCE, let methods = metadata.challengeMethods, !methods.contains("S256") {
            throw misconfigured("the server does not support PKCE with S256", others)
        }
        return url
    }

    /// Sends the code once.
    ///
    /// A lost response requires a new login and not a retry (RFC 6749 §4.1.2).
    private func redeem(
        _ code: String,
        _ transaction: AuthorizationTransaction
    ) async throws(LoginError) -> LoginGrant {
        let form = FormBody([
            ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", transaction.sentRedirect),
        ])
        if profile.dialect.usesPKCE { form.add("code_verifier", transaction.verifier) }
        form.add(profile.dialect.tokenParameters.mapValues { $0 == "{state}" ? transaction.state : $0 })
        for resource in profile.resources { form.add("resource", resource) }
        var grant = try await exchange(form, nonce: asksForOpenID ? transaction.nonce : nil)
        grant.tokens.keptMembers.merge(transaction.keptParameters) { $1 }
        return grant
    }

    private func transaction(port: Int, keyThumbprint: String?) -> AuthorizationTransaction {
        AuthorizationTransaction(
            redirectURI: profile.authorization.redirectURI(port: port),
            issuer: metadata.issuer,
            namesIssuer: metadata.namesIssuer,
            keyThumbprint: keyThumbprint,
            format: profile.dialect.redirects
        )
    }

    private func keyThumbprint() throws(LoginError) -> String? {
        guard let proofKey else { return nil }
        do throws(RefreshFailure) {
            return try ProofKey(proofKey, in: tools.memory).thumbprint
        } catch {
            throw .failed(error)
        }
    }

    private func listenedResponse(
        from url: EndpointURL,
        at places: [LoopbackRedirect]
    ) async throws(LoginError) -> (AuthorizationTransaction, AuthorizationTransaction.Response) {
        let thumbprint = try keyThumbprint()
        let listener = try await listener(at: places)
        let transaction = transaction(port: listener.port, keyThumbprint: thumbprint)
        let response = await response(to: transaction, from: url, on: listener)
        guard case .success = response else {
            await listener.close()
            return (transaction, try response.get())
        }
        // The login continues without waiting for the browser.
        listener.stayForOutcome(of: request.session)
        tools.lingering.add(listener)
        await conversation.whenEnded { listener.show($0) }
        return (transaction, try response.get())
    }

    /// Opens a listener on the first of `places` that is free.
    private func listener(at places: [LoopbackRedirect]) async throws(LoginError) -> LoopbackListener {
        var failure = RefreshFailure(
            kind: .misconfigured,
            message: "the browser login has no redirect URI to listen at"
        )
        for place in places {
            // An earlier login may still have a page to show at this port.
            if place.port != 0 { await tools.lingering.close(at: place.port) }
            do throws(RefreshFailure) {
                return try await LoopbackListener.open(place, on: tools.eventLoop)
            } catch {
                failure = error
            }
        }
        throw .failed(failure)
    }

    private func response(
        to transaction: AuthorizationTransaction,
        from url: EndpointURL,
        on listener: LoopbackListener
    ) async -> Result<AuthorizationTransaction.Response, LoginError> {
        do throws(LoginError) {
            let address = try await browserAddress(transaction, at: url)
            // Do this before the URL is shown: a browser may return at once.
            listener.expect(transaction) { [conversation] problem in
                Task { await conversation.tell(.notice(problem.text)) }
            }
            await conversation.tell(.openURL(address, redirectURI: transaction.redirectURI))
        } catch {
            return .failure(error)
        }
        return await wait(on: listener, for: transaction)
    }

    private func wait(
        on listener: LoopbackListener,
        for transaction: AuthorizationTransaction
    ) async -> Result<AuthorizationTransaction.Response, LoginError> {
        await withTaskGroup(of: Result<AuthorizationTransaction.Response, LoginError>.self) { group in
            group.addTask {
                do {
                    return .success(try await listener.response())
                } catch {
                    return .failure(.cancelled)
                }
            }
            let unfinished = RefreshFailure.loginNotFinished(
                addsConsent: profile.authorization.addsConsent(for: profile.scopes)
            )
            group.addTask { [sleep = tools.sleep] in
                do {
                    try await sleep(StandardLogin.loginTimeout)
                    return .failure(.failed(unfinished))
                } catch {
                    return .failure(.cancelled)
                }
            }
            let first = await group.next() ?? .failure(.cancelled)
            group.cancelAll()
            return first
        }
    }

    /// Asks the user for the URL that the browser ended at.
    ///
    /// This is necessary if the browser is on another machine, or ends at a URL that the agent cannot listen
    /// on.
    private func pastedResponse(
        from url: EndpointURL
    ) async throws(LoginError) -> (AuthorizationTransaction, AuthorizationTransaction.Response) {
        let anyPort = Int.random(in: 49_152...65_535)
        var port = profile.authorization.place?.port ?? 0
        if port == 0 { port = anyPort }
        let transaction = transaction(port: port, keyThumbprint: try keyThumbprint())
        let address = try await browserAddress(transaction, at: url)
        await conversation.tell(.openURL(address, redirectURI: transaction.redirectURI))
        var isBehindFragment = false
        var prompt = "Paste the URL your browser was redirected to (starts with \(transaction.redirectStart))"
        for _ in 0..<StandardLogin.pastes {
            let answer = try await dialogue.ask(.redirectAddress, prompt, isSecret: false)
            defer { tools.memory.erase(answer) }
            let pasted = try dialogue.text(of: answer)
            if let query = transaction.query(ofPasted: pasted), let response = transaction.accept(query) {
                return (transaction, response)
            }
            isBehindFragment = pasted.bytewise.contains("#")
            prompt =
                "Not the URL of this login. Paste the whole URL (starts with \(transaction.redirectStart))"
        }
        throw .failed(.pastedInVain(isBehindFragment: isBehindFragment))
    }
}

extension AuthorizationTransaction {
    /// The redirect URI up to the server's parameters.
    fileprivate var redirectStart: String {
        redirectURI + (redirectURI.bytewise.contains("?") ? "&" : "?")
    }

    /// Returns the query of a pasted URL that begins with the redirect URI.
    ///
    /// Blanks around the URL are ignored. Browsers show a path of `/` if the redirect URI has none.
    func query(ofPasted text: String) -> Substring? {
        let blanks: [UInt8] = [0x20, 0x09, 0x0D, 0x0A]
        let line = text.utf8.drop { blanks.contains($0) }.prefix { !blanks.contains($0) }
        let start = [redirectStart, "\(redirectURI)/?"].first { line.starts(with: $0.utf8) }
        guard let start else { return nil }
        return Substring(line.dropFirst(start.utf8.count).prefix { $0 != UInt8(ascii: "#") })
    }
}

extension RefreshFailure {
    fileprivate static func loginNotFinished(addsConsent: Bool) -> RefreshFailure {
        RefreshFailure(
            kind: .interactionRequired,
            message: "login timed out: no response from the browser within 5 minutes",
            remedy: addsConsent
                ? .set("redirect_uri to a registered one, or prompt = \"\", if the browser showed an error")
                : .set("redirect_uri to a registered one, if the browser showed an error")
        )
    }

    fileprivate static func pastedInVain(isBehindFragment: Bool) -> RefreshFailure {
        guard isBehindFragment else {
            return RefreshFailure(
                kind: .interactionRequired,
                message: "the pasted URL does not belong to this login"
            )
        }
        return RefreshFailure(
            kind: .interactionRequired,
            message: "the pasted URL has its response after a #, which is not supported",
            remedy: .set("response_mode = \"query\" in authorization_parameters")
        )
    }
}
