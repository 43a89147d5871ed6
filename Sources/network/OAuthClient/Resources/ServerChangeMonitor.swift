// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// A monitor that notices when a resource names another authorization server than that of the login.
actor ServerChangeMonitor {
    /// The minimum time between two checks that found no change.
    private static let delay: Duration = .seconds(60)
    /// The delay after a failed check.
    ///
    /// A resource that is unreachable must not delay its refreshes.
    private static let longPause: Duration = .seconds(600)

    private let isIssuerWritten: Bool
    private let look: @Sendable () async throws(RefreshFailure) -> ResourceMetadata
    private let timekeeper: any Timekeeper
    private var quietUntil: Instant?

    init(
        timekeeper: any Timekeeper,
        isIssuerWritten: Bool = false,
        _ look: @escaping @Sendable () async throws(RefreshFailure) -> ResourceMetadata
    ) {
        self.timekeeper = timekeeper
        self.isIssuerWritten = isIssuerWritten
        self.look = look
    }

    /// Returns the reason not to refresh the login at `server` now, or `nil` if the resource still names it
    /// or does not respond.
    func objection(to server: DiscoveredServer) async -> RefreshFailure? {
        if let quietUntil, timekeeper.now < quietUntil { return nil }
        do throws(RefreshFailure) {
            let metadata = try await look()
            guard metadata.names(server.issuer) else {
                quietUntil = nil
                let named = metadata.servers[0]
                return .issuerChanged(from: server.issuer, to: named, isWritten: isIssuerWritten)
            }
            quietUntil = timekeeper.now + ServerChangeMonitor.delay
        } catch {
            quietUntil = timekeeper.now + ServerChangeMonitor.longPause
        }
        return nil
    }
}

extension RefreshFailure {
    static let issuerChangedCode = "issuer_changed"

    /// Returns the failure if a resource names another authorization server.
    ///
    /// Only the user may follow it there. With `isWritten`, the old issuer is in the configuration, so a
    /// login alone would not change it.
    static func issuerChanged(from old: String, to new: String, isWritten: Bool) -> RefreshFailure {
        let names =
            "\(ServerText.cleaned(new, limit: 150)), not \(ServerText.cleaned(old, limit: 150))"
        return RefreshFailure(
            kind: .misconfigured,
            code: issuerChangedCode,
            message: "the resource now uses the issuer \(names)",
            remedy: isWritten ? issuerCorrection(new) : nil,
            needsLogin: true
        )
    }

    /// Returns the change that makes the session follow a resource to `issuer`, before the login.
    static func issuerCorrection(_ issuer: String) -> Remedy {
        .set("issuer = \"\(ServerText.cleaned(issuer, limit: 300))\" if you trust this server")
    }
}
