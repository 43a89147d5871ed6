// SPDX-License-Identifier: MIT

import ServerSettings
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
        else { throw broken("the response has no token or no expiry") }
        // Both times are the server's own, so a wrong clock on this machine has no effect.
        let life = end - (reply.serverTime ?? now)
        return (token, min(max(life, .zero), LifetimeParser.longest))
    }

    /// Returns the number of an installation.
    ///
    /// - Throws: The classified failure if the response has no number.
    func installation() throws(RefreshFailure) -> Int64 {
        guard reply.status == 200, let object = reply.jsonObject else { throw failure }
        guard let number = object["id"]?.integer, number > 0 else {
            throw broken("the response has no installation")
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
        let (kind, remedy): (FailureClass, Remedy?) =
            switch reply.status {
            case 401: (.misconfigured, .set("app_id, key_file or the clock of this machine"))
            case 404: (.misconfigured, .set("installation to an account that has the app installed"))
            case 422: (.misconfigured, .set("repositories and permissions to those of the installation"))
            case 200..<400: (.misbehaved, nil)
            default: (.busy, nil)
            }
        return RefreshFailure(
            kind: kind,
            message: ServerText.cleaned("\(url.hostAndPort) returned \(reply.status)\(said ?? "")"),
            retryAfter: delay,
            remedy: remedy
        )
    }

    /// The delay that the response requests, or `nil` if there is none.
    ///
    /// GitHub's limits count by the hour.
    private var delay: Duration? {
        if let text = reply.header("retry-after") { return RetryAfter.read(text, at: now) }
        guard reply.header("x-ratelimit-remaining")?.bytewise == "0",
            let reset = reply.header("x-ratelimit-reset").flatMap({ Int64($0) })
        else { return nil }
        let wait = WallTime(secondsSince1970: reset) - (reply.serverTime ?? now)
        return min(max(wait, RetryAfter.shortest), RetryAfter.longest)
    }
}
