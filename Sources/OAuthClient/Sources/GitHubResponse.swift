// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// One response of GitHub to an app.
struct GitHubResponse {
    let reply: ServerResponse
    let url: EndpointURL
    /// The time of the response, by this machine's clock.
    let now: WallTime

    init(_ reply: ServerResponse, from url: EndpointURL, at now: WallTime) {
        self.reply = reply
        self.url = url
        self.now = now
    }

    /// Returns the token of an installation and its lifetime.
    ///
    /// - Throws: The classified failure if the response has no token.
    func token() throws(RefreshFailure) -> (text: String, lifetime: Duration) {
        guard reply.status == 201, let object = reply.jsonObject else { throw failure }
        guard let token = object["token"]?.string, token.utf8.isVisibleWord,
            let end = object["expires_at"]?.string.flatMap(ZonedTime.read)
        else { throw broken("the answer holds no token, or does not say when it ends") }
        // Both times are the server's own, so a wrong clock on this machine has no effect.
        let life = end - (reply.serverTime ?? now)
        return (token, min(max(life, .zero), LifetimeMember.longest))
    }

    /// Returns the number of an installation.
    ///
    /// - Throws: The classified failure if the response has no number.
    func installation() throws(RefreshFailure) -> Int64 {
        guard reply.status == 200, let object = reply.jsonObject else { throw failure }
        guard let number = object["id"]?.integer, number > 0 else {
            throw broken("the answer holds no installation")
        }
        return number
    }

    private func broken(_ message: String) -> RefreshFailure {
        RefreshFailure(kind: .misbehaved, message: "\(url.hostAndPort): \(message)")
    }

    /// The classified failure of a response without the requested content.
    var failure: RefreshFailure {
        let said = reply.jsonObject?["message"]?.string.map {
            " " + FailureClassification.quoted($0, at: reply.status)
        }
        let (kind, remedy): (FailureClass, String?) =
            switch reply.status {
            case 401: (.misconfigured, "check app_id and key_file, and the clock of this machine")
            case 404: (.misconfigured, "check installation: the app has to be installed there")
            case 422:
                (.misconfigured, "check repositories and permissions: the installation has to have them")
            case 200..<400: (.misbehaved, nil)
            default: (.busy, nil)
            }
        return RefreshFailure(
            kind: kind,
            message: ServerText.cleaned("\(url.hostAndPort) answered \(reply.status)\(said ?? "")"),
            retryAfter: pause,
            remedy: remedy
        )
    }

    /// The delay that the response requests, or `nil` if there is none.
    ///
    /// GitHub's limits count by the hour.
    private var pause: Duration? {
        if let text = reply.header("retry-after") { return RetryAfter.read(text, at: now) }
        guard reply.header("x-ratelimit-remaining")?.bytewise == "0",
            let reset = reply.header("x-ratelimit-reset").flatMap({ Int64($0) })
        else { return nil }
        let wait = WallTime(secondsSince1970: reset) - (reply.serverTime ?? now)
        return min(max(wait, RetryAfter.shortest), RetryAfter.longest)
    }
}
