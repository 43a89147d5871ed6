// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The device flow: the person uses another device, we wait (RFC 8628).
extension StandardLogin {
    func logInByDevice() async throws(LoginError) -> LoginGrant {
        guard let url = metadata.deviceAuthorization else {
            let reason = metadata.reason(forLacking: "device_authorization_endpoint")
            throw misconfigured(
                "the server has no device_authorization_endpoint\(reason)",
                "log in by another flow, such as --flow browser"
            )
        }
        let grant = try await requestDeviceCode(at: url)
        return try await DeviceFlow(tools: tools, conversation: conversation).finish(grant) {
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
            let message = "\(url.hostAndPort): not a device code answer"
            throw .failed(RefreshFailure(kind: .misbehaved, message: message))
        }
        return grant
    }
}

/// What follows once there is a code: the person is told, and the server asked until it has tokens.
struct DeviceFlow {
    var tools: ServerDependencies
    var conversation: any LoginPrompting

    /// Tells the person, and asks for the tokens, never sooner than the server allows and never after the code expired.
    ///
    /// - Parameters:
    ///   - grant: the code.
    ///   - exchange: sends one request for the tokens.
    /// - Returns: the finished login.
    /// - Throws: why there is none; the codes of a failure are those of RFC 8628 §3.5.
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
        var next = DevicePoll(interval: grant.interval)
        // What a person hears when the time is over: that they were too late, or that the server was away.
        var ending = RefreshFailure.deviceCodeExpired
        while true {
            guard tools.timekeeper.now + next.pause < grant.expiresAt else { throw .failed(ending) }
            try await pause(next.pause)
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

    private func pause(_ duration: Duration) async throws(LoginError) {
        do {
            try await tools.sleep(duration)
        } catch {
            throw .cancelled
        }
    }
}

/// When a server is asked for the tokens next.
struct DevicePoll: Equatable {
    /// Between polls, unless the server says otherwise.
    var interval: Duration
    /// Before this one.
    var pause: Duration

    init(interval: Duration, pause: Duration? = nil) {
        self.interval = interval
        self.pause = pause ?? interval
    }
}

/// The answer of the device authorization endpoint (RFC 8628 §3.2).
struct DeviceGrant: Sendable {
    var deviceCode: String
    /// Printable.
    var userCode: String
    var verificationURI: String
    var completeURI: String?
    var expiresIn: Duration
    var expiresAt: Instant
    var interval: Duration

    /// What buys the tokens (RFC 8628 §3.4).
    static let grantType = "urn:ietf:params:oauth:grant-type:device_code"
    /// RFC 8628 §3.2: 5 seconds when the server does not say.
    static let defaultInterval: Duration = .seconds(5)
    /// RFC 8628 §3.5: `slow_down` adds 5 seconds, for this and all later requests.
    static let slowDown: Duration = .seconds(5)
    static let longestInterval: Duration = .seconds(300)
    /// Bytes; it is sent again with every poll.
    static let longestCode = 8 << 10
    /// Between polls of a server in trouble: a person is waiting for it to come back.
    static let longestPause: Duration = .seconds(60)

    /// How the members of the answer are spelled.
    struct Names: Sendable {
        var deviceCode = "device_code"
        var userCode = "user_code"
        var uri = "verification_uri"
        var completeURI = "verification_uri_complete"
        var expiresIn = "expires_in"

        /// As Amazon has them.
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
            (1...DeviceGrant.longestCode).contains(deviceCode.utf8.count),
            let userCode = object[names.userCode]?.string, (1...64).contains(userCode.utf8.count),
            userCode.utf8.allSatisfy({ (0x20...0x7E).contains($0) }),
            let uri = (object[names.uri] ?? object["verification_url"])?.string,
            (try? EndpointURL(uri)) != nil
        else { return nil }
        self.deviceCode = deviceCode
        self.userCode = userCode
        verificationURI = uri
        // A person will open this address, so it must be a valid one; a bad shortcut is left out.
        completeURI = object[names.completeURI]?.string.flatMap {
            (try? EndpointURL($0)) == nil ? nil : $0
        }
        expiresIn = min(LifetimeMember.read(object[names.expiresIn]) ?? .seconds(600), .seconds(86_400))
        expiresAt = requestedAt + expiresIn
        let asked = LifetimeMember.read(object["interval"]) ?? DeviceGrant.defaultInterval
        interval = min(max(asked, .seconds(1)), DeviceGrant.longestInterval)
    }

    /// The next poll, or `nil` when polling is over (RFC 8628 §3.5).
    func poll(after last: DevicePoll, _ failure: RefreshFailure) -> DevicePoll? {
        let interval = last.interval
        let asked = failure.retryAfter.map { min($0, DeviceGrant.longestInterval) }
        switch (failure.code, failure.kind) {
        case ("authorization_pending", _): return DevicePoll(interval: interval)
        case ("slow_down", _): return DevicePoll(interval: interval + DeviceGrant.slowDown)
        // The same as slow_down in HTTP's own words (RFC 6585 §4); the time that the server names counts for once.
        case _ where failure.status == 429:
            guard let asked else { return DevicePoll(interval: interval + DeviceGrant.slowDown) }
            return DevicePoll(interval: interval, pause: asked)
        case (nil, .unreachable), (nil, .ambiguous), (nil, .busy), ("server_error", _),
            ("temporarily_unavailable", _):
            // A server in trouble is asked less and less often, as the RFC recommends for time-outs.
            let slower = min(interval * 2, max(interval, DeviceGrant.longestPause))
            return DevicePoll(interval: max(slower, asked ?? .zero))
        default: return nil
        }
    }
}

extension RefreshFailure {
    fileprivate static let deviceCodeExpired = RefreshFailure(
        kind: .interactionRequired,
        code: "expired_token",
        message: "the code was not entered in time: log in again"
    )
}
