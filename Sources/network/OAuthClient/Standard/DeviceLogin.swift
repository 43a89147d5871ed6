// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// The device flow: the user logs in on another device, and the agent polls (RFC 8628).
extension StandardLogin {
    func logInByDevice() async throws(LoginError) -> LoginGrant {
        guard let url = metadata.deviceAuthorization else {
            let reason = metadata.reason(forLacking: "device_authorization_endpoint")
            throw misconfigured(
                "the server has no device_authorization_endpoint\(reason)",
                .set("--flow to another flow, such as browser")
            )
        }
        let grant = try await requestDeviceCode(at: url)
        return try await DeviceCodePolling(tools: tools, conversation: conversation).finish(grant) {
            () async throws(LoginError) in
            try await exchange(
                FormBody([("grant_type", DeviceGrant.grantType), ("device_code", grant.deviceCode)])
            )
        }
    }

    private func requestDeviceCode(at url: EndpointURL) async throws(LoginError) -> DeviceGrant {
        let form = FormBody()
        addScope(to: form)
        profile.addAudience(to: form)
        let requestedAt = tools.timekeeper.now
        let answer = try await send(form, to: url)
        guard let grant = DeviceGrant(answer, requestedAt: requestedAt) else {
            let message = "\(url.hostAndPort): not a device authorization response"
            throw .failed(RefreshFailure(kind: .misbehaved, message: message))
        }
        return grant
    }
}

/// The device flow after the code has arrived.
///
/// The user sees the code, and the server is polled for tokens.
struct DeviceCodePolling {
    var tools: ServerDependencies
    var conversation: any LoginPrompting

    /// Shows the code to the user and polls for the tokens.
    ///
    /// Polls are never sooner than the server allows, and never after the code has expired.
    ///
    /// - Parameters:
    ///   - grant: The code.
    ///   - exchange: Sends one request for the tokens.
    /// - Returns: The finished login.
    /// - Throws: The reason the login failed. The codes of a failure are those of RFC 8628 §3.5.
    func finish(
        _ grant: DeviceGrant,
        asking exchange: () async throws(LoginError) -> LoginGrant
    ) async throws(LoginError) -> LoginGrant {
        await conversation.tell(
            .userCode(
                code: grant.userCode,
                verificationURI: grant.verificationURI,
                complete: grant.completeURI,
                expiresIn: grant.expiresIn
            )
        )
        var next = DevicePollTiming(interval: grant.interval)
        // The failure when the code expires: the user was too late, or the server was unreachable.
        var ending = RefreshFailure.deviceCodeExpired
        while true {
            guard tools.timekeeper.now + next.delay < grant.expiresAt else { throw .failed(ending) }
            try await delay(next.delay)
            guard tools.timekeeper.now < grant.expiresAt else { throw .failed(ending) }
            do throws(LoginError) {
                return try await exchange()
            } catch {
                if case .failed(let failure) = error, failure.code == "expired_token" {
                    throw .failed(.deviceCodeExpired)
                }
                guard case .failed(let failure) = error,
                    let later = grant.poll(after: next, failure)
                else { throw error }
                next = later
                ending = failure.code == nil ? failure : .deviceCodeExpired
            }
        }
    }

    private func delay(_ duration: Duration) async throws(LoginError) {
        do {
            try await tools.sleep(duration)
        } catch {
            throw .cancelled
        }
    }
}

/// The time of the next request for the tokens.
struct DevicePollTiming: Equatable {
    /// The delay between polls, unless the server sets another.
    var interval: Duration
    /// The delay before this poll.
    var delay: Duration

    init(interval: Duration, delay: Duration? = nil) {
        self.interval = interval
        self.delay = delay ?? interval
    }
}

/// The response of the device authorization endpoint (RFC 8628 §3.2).
struct DeviceGrant: Sendable {
    var deviceCode: String
    /// The code for the user, in printable characters.
    var userCode: String
    var verificationURI: String
    var completeURI: String?
    var expiresIn: Duration
    var expiresAt: Instant
    var interval: Duration

    /// The grant type for the tokens (RFC 8628 §3.4).
    static let grantType = "urn:ietf:params:oauth:grant-type:device_code"
    /// The interval of 5 seconds if the server states none (RFC 8628 §3.2).
    static let defaultInterval: Duration = .seconds(5)
    /// The 5 seconds that `slow_down` adds for this and all later requests (RFC 8628 §3.5).
    static let slowDown: Duration = .seconds(5)
    static let maximumInterval: Duration = .seconds(300)
    /// The maximum number of bytes of the device code, which is sent again with every poll.
    static let maximumCodeLength = 8 << 10
    /// The maximum delay between polls of a failing server, because the user is waiting.
    static let maximumDelay: Duration = .seconds(60)

    /// The names of the members of the response.
    struct Names: Sendable {
        var deviceCode = "device_code"
        var userCode = "user_code"
        var uri = "verification_uri"
        var completeURI = "verification_uri_complete"
        var expiresIn = "expires_in"

        /// The names that Amazon uses.
        static let camelCase = Names(
            deviceCode: "deviceCode",
            userCode: "userCode",
            uri: "verificationUri",
            completeURI: "verificationUriComplete",
            expiresIn: "expiresIn"
        )
    }

    init?(_ object: JSONObject, requestedAt: Instant, named names: Names = Names()) {
        guard let deviceCode = object[names.deviceCode]?.string,
            (1...DeviceGrant.maximumCodeLength).contains(deviceCode.utf8.count),
            let userCode = object[names.userCode]?.string, (1...64).contains(userCode.utf8.count),
            userCode.utf8.allSatisfy({ (0x20...0x7E).contains($0) }),
            let uri = (object[names.uri] ?? object["verification_url"])?.string,
            (try? EndpointURL(uri)) != nil
        else { return nil }
        self.deviceCode = deviceCode
        self.userCode = userCode
        verificationURI = uri
        // The user will open this URL, so it must be valid. An invalid shortcut is left out.
        completeURI = object[names.completeURI]?.string.flatMap {
            (try? EndpointURL($0)) == nil ? nil : $0
        }
        expiresIn = min(LifetimeParser.read(object[names.expiresIn]) ?? .seconds(600), .seconds(86_400))
        expiresAt = requestedAt + expiresIn
        let asked = LifetimeParser.read(object["interval"]) ?? DeviceGrant.defaultInterval
        interval = min(max(asked, .seconds(1)), DeviceGrant.maximumInterval)
    }

    /// Returns the next poll, or `nil` if polling is over (RFC 8628 §3.5).
    func poll(after last: DevicePollTiming, _ failure: RefreshFailure) -> DevicePollTiming? {
        let interval = last.interval
        let asked = failure.retryAfter.map { min($0, DeviceGrant.maximumInterval) }
        switch (failure.code, failure.kind) {
        case ("authorization_pending", _): return DevicePollTiming(interval: interval)
        case ("slow_down", _): return DevicePollTiming(interval: interval + DeviceGrant.slowDown)
        // 429 means the same as `slow_down` (RFC 6585 §4). The delay in the response counts only once.
        case _ where failure.status == 429:
            guard let asked else { return DevicePollTiming(interval: interval + DeviceGrant.slowDown) }
            return DevicePollTiming(interval: interval, delay: asked)
        case (nil, .unreachable), (nil, .ambiguous), (nil, .busy), ("server_error", _),
            ("temporarily_unavailable", _):
            // Poll a failing server less and less often, as the RFC recommends for timeouts.
            let slower = min(interval * 2, max(interval, DeviceGrant.maximumDelay))
            return DevicePollTiming(interval: max(slower, asked ?? .zero))
        default: return nil
        }
    }
}

extension RefreshFailure {
    fileprivate static let deviceCodeExpired = RefreshFailure(
        kind: .interactionRequired,
        code: "expired_token",
        message: "login timed out: the code expired"
    )
}
