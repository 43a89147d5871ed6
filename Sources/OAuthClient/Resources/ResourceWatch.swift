// SPDX-License-Identifier: MIT

import TokenCore

/// Notices that a resource has begun to name another authorization server than the one of the login.
actor ResourceWatch {
    /// Between two looks that found nothing wrong.
    private static let pause: Duration = .seconds(60)
    /// After a look that failed: a resource that is away must not hold up its refreshes.
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

    /// Why the login at `server` is not to be renewed now; `nil`: the resource still names it, or says nothing.
    func objection(to server: DiscoveredServer) async -> RefreshFailure? {
        if let quietUntil, timekeeper.now < quietUntil { return nil }
        do throws(RefreshFailure) {
            let metadata = try await look()
            guard metadata.names(server.issuer) else {
                quietUntil = nil
                let named = metadata.servers[0]
                return .issuerChanged(from: server.issuer, to: named, isWritten: isIssuerWritten)
            }
            quietUntil = timekeeper.now + ResourceWatch.pause
        } catch {
            quietUntil = timekeeper.now + ResourceWatch.longPause
        }
        return nil
    }
}

extension RefreshFailure {
    static let issuerChangedCode = "issuer_changed"

    /// A resource names another authorization server than before: only a person may follow it there.
    ///
    /// With `isWritten` the configuration has the old one, so that a login alone would not leave it.
    static func issuerChanged(from old: String, to new: String, isWritten: Bool) -> RefreshFailure {
        let names =
            "\(ServerText.cleaned(new, limit: 150)), not \(ServerText.cleaned(old, limit: 150)) as at the login"
        return RefreshFailure(
            kind: .misconfigured,
            code: issuerChangedCode,
            message: "the resource now names the issuer \(names)",
            remedy: isWritten ? issuerCorrection(new) : "if that is right",
            needsLogin: true
        )
    }

    /// What a person changes who follows a resource to `issuer`; the login comes after it.
    static func issuerCorrection(_ issuer: String) -> String {
        let written = "issuer = \"\(ServerText.cleaned(issuer, limit: 300))\""
        return "if that is right, set \(written) in the session's table"
    }
}
