// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// The authorization request, sent by the browser, or pushed directly if the server requires it (RFC 9126).
extension StandardLogin {
    /// Returns the URL for the user's browser.
    func browserAddress(
        _ transaction: AuthorizationTransaction,
        at url: EndpointURL
    ) async throws(LoginError) -> String {
        guard metadata.wantsPushedRequests else { return transaction.address(at: url, profile: profile) }
        // A reference is valid for one request and a short time, so every login pushes its own (RFC 9126 §4).
        let reference = try await push(transaction.parameters(profile))
        return AuthorizationTransaction.address(
            at: url,
            [("client_id", profile.client.id), ("request_uri", reference)]
        )
    }

    /// Sends the request to the server and returns its `request_uri` for the browser (RFC 9126 §2.2).
    private func push(_ parameters: [(name: String, value: String)]) async throws(LoginError) -> String {
        guard let url = metadata.pushedAuthorization else {
            throw misconfigured(
                "the server requires pushed requests, but has no pushed_authorization_request_endpoint",
                .retry("after the server's metadata has been corrected")
            )
        }
        // The client sends its ID when it authenticates.
        let form = FormBody(parameters.filter { $0.name != "client_id" })
        let answer = try await send(form, to: url)
        guard let reference = answer["request_uri"]?.string, (1...2_048).contains(reference.utf8.count),
            reference.utf8.allSatisfy(\.isVisibleASCII)
        else {
            let message = "\(url.hostAndPort): the response to the pushed request has no request_uri"
            throw .failed(RefreshFailure(kind: .misbehaved, message: message))
        }
        return reference
    }
}
