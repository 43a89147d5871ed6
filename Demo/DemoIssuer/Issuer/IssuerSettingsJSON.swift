// SPDX-License-Identifier: MIT

import Text

extension IssuerSettings {
    /// Applies the body of `POST /_control/settings`.
    ///
    /// - Returns: the first unknown or invalid member, or `nil` if there is none.
    mutating func apply(_ object: JSONObject) -> String? {
        object.members.first { !apply($0.name, $0.value) }?.name
    }

    private mutating func apply(_ name: String, _ value: JSONValue) -> Bool {
        switch name {
        case "access_ttl": set(&accessLifetime, value.duration)
        case "refresh_ttl": set(&refreshLifetime, .some(value.duration))
        case "delay_ms": set(&delay, value.integer.map { .milliseconds($0) })
        case "rotation": set(&rotation, value.string.flatMap(Rotation.init))
        case "dpop": set(&dpop, value.string.flatMap(DPoPDemand.init))
        case "demands_dpop_nonce": set(&demandsDPoPNonce, value.bool)
        case "refuses_every_nonce": set(&refusesEveryNonce, value.bool)
        case "ignores_proofs": set(&ignoresProofs, value.bool)
        case "requires_pushed_requests": set(&requiresPushedRequests, value.bool)
        case "access_token_format": set(&accessTokenFormat, value.string.flatMap(AccessTokenFormat.init))
        case "deny": set(&authorization, value.string.map { .deny(error: $0) } ?? .approve)
        case "tells_expiry": set(&tellsExpiry, value.bool)
        case "tells_refresh_expiry": set(&tellsRefreshExpiry, value.bool)
        case "repeats_refresh_token": set(&repeatsRefreshToken, value.bool)
        case "refresh_brings_id_token": set(&refreshBringsIDToken, value.bool)
        case "device_interval": set(&deviceInterval, value.integer)
        case "approves_devices": set(&approvesDevices, value.bool)
        case "metadata": set(&metadata, value.object)
        case "id_token_claims": set(&idTokenClaims, value.object)
        case "id_token_header": set(&idTokenHeader, value.object)
        default: false
        }
    }

    private func set<Value>(_ place: inout Value, _ value: Value?) -> Bool {
        guard let value else { return false }
        place = value
        return true
    }
}

extension IssuerSettings.Rotation {
    /// Parses `none`, `strict` or `grace=SECONDS`.
    package init?(_ text: String) {
        switch text {
        case "none": self = .none
        case "strict": self = .strict
        default:
            guard text.hasPrefix("grace="), let seconds = Int64(text.dropFirst("grace=".count)), seconds >= 0
            else { return nil }
            self = .grace(.seconds(seconds))
        }
    }
}

extension JSONValue {
    fileprivate var duration: Duration? { double.map { .milliseconds(Int64($0 * 1000)) } }
}
