// SPDX-License-Identifier: MIT

import TestSupport
import TokenCore

@testable import SealedStore

/// Sessions with anything that a session may hold.
extension FleetHost {
    func content(using generator: inout SeededGenerator) throws -> FleetSessionContent {
        var tokens: [TokenVariant: AccessToken] = [:]
        for number in 0..<Int.random(in: 0...4, using: &generator) {
            let audience = number == 0 ? nil : "https://api\(number).example"
            let variant = TokenVariant(scopes: number == 0 ? [] : ["mail", "s\(number)"], audience: audience)
            tokens[variant] = try token(number, &generator)
        }
        var snapshot = SessionSnapshot(
            standing: .loggedIn,
            renewal: .refreshToken(try secret(generator.text, .refreshToken)),
            tokens: tokens,
            loggedInAt: generator.wallTime,
            tokenEndpoint: generator.text
        )
        try fill(&snapshot, &generator)
        let binding = FleetLoginSettings(
            kind: generator.text,
            issuer: generator.text,
            client: generator.text,
            endpoint: snapshot.tokenEndpoint
        )
        return FleetSessionContent(snapshot: snapshot, binding: binding)
    }

    private func fill(_ snapshot: inout SessionSnapshot, _ generator: inout SeededGenerator) throws {
        if generator.bool, let reason = EndReason.allCases.randomElement(using: &generator) {
            let until = generator.bool ? generator.wallTime : nil
            snapshot.standing = .ended(reason, quarantinedUntil: until)
        }
        if generator.bool {
            snapshot.refreshTokenSent = true
            snapshot.interruptions = Int.random(in: 0...254, using: &generator)
        }
        if generator.bool { snapshot.loginBegan = generator.instant(before: clock.now) }
        if generator.bool { snapshot.refreshExpiresAt = generator.wallTime }
        if generator.bool {
            snapshot.end = LoginExpiry(
                at: generator.instant(before: .seconds(1_000_000)),
                since: generator.instant(before: clock.now),
                lifetime: .nanoseconds(Int64.random(in: 0...1 << 60, using: &generator)),
                source: generator.bool ? .told : .presumed,
                mobility: [.unknown, .moves, .fixed].randomElement(using: &generator) ?? .fixed
            )
        }
        if generator.bool { snapshot.noticedEnd = generator.instant(before: .seconds(1_000_000)) }
        snapshot.refused = RejectedTokens(
            (0..<Int.random(in: 0...3, using: &generator)).compactMap { _ in
                TokenFingerprint((0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) })
            }
        )
        snapshot.coexistence = [.unknown, .proven, .disproven].randomElement(using: &generator) ?? .unknown
        snapshot.rotation =
            [.rotates, .keeps, .unknown(unchanged: 2)].randomElement(using: &generator) ?? .rotates
        snapshot.subject = generator.bool ? generator.text : nil
        snapshot.account = generator.bool ? generator.text : nil
        if generator.bool { snapshot.keptMembers = ["userId": generator.text, "": ""] }
        if generator.bool { snapshot.proofKey = try secret(generator.text, .proofKey) }
        if generator.bool {
            snapshot.server = DiscoveredServer(
                issuer: generator.text,
                resource: generator.bool ? generator.text : nil,
                isPublic: generator.bool,
                client: generator.bool ? generator.text : nil
            )
        }
        snapshot.madeOf = generator.bool ? generator.text : nil
    }

    private func idToken(_ number: Int, _ generator: inout SeededGenerator) throws -> IDToken {
        let obtained = generator.instant(before: clock.now)
        let end = generator.bool ? obtained + .seconds(Int64.random(in: 0...100_000, using: &generator)) : nil
        let life = ValidityPeriod(obtainedAt: obtained, expiresAt: end)
        return IDToken(secret: try secret("ID-\(number)", .idToken), life: life)
    }

    private func token(_ number: Int, _ generator: inout SeededGenerator) throws -> AccessToken {
        let obtained = generator.instant(before: clock.now)
        let life = Duration.seconds(Int64.random(in: 0...100_000, using: &generator))
        var token = AccessToken(
            secret: try secret("AT-\(number)-\(generator.text)", .accessToken),
            idToken: generator.bool ? try idToken(number, &generator) : nil,
            tokenType: generator.text,
            scope: generator.bool ? [generator.text, "openid"] : [],
            obtainedAt: obtained,
            expiresAt: generator.bool ? obtained + life : nil,
            jitter: Double.random(in: 0..<1, using: &generator)
        )
        token.standing =
            [.good, .doubtful, .possiblyExpired, .refused(isRepeat: false), .refused(isRepeat: true)]
            .randomElement(using: &generator) ?? .good
        return token
    }
}

extension SeededGenerator {
    fileprivate var bool: Bool { mutating get { Bool.random(using: &self) } }

    fileprivate var text: String {
        mutating get {
            let letters = ["a", "é", "😀", "\0", "\n", "\"", "/"]
            let count = Int.random(in: 0...20, using: &self)
            return (0..<count).compactMap { _ in letters.randomElement(using: &self) }.joined()
        }
    }

    fileprivate var wallTime: WallTime {
        mutating get {
            WallTime(secondsSince1970: Int64.random(in: 1_000_000_000...2_000_000_000, using: &self))
        }
    }

    fileprivate mutating func instant(before end: Instant) -> Instant {
        Instant(nanoseconds: Int64.random(in: 0...end.nanoseconds, using: &self))
    }
}

extension FleetSessionContent {
    /// With every instant moved by `duration`.
    func later(by duration: Duration) -> FleetSessionContent {
        var content = self
        for (variant, token) in snapshot.tokens {
            content.snapshot.tokens[variant]?.obtainedAt = token.obtainedAt + duration
            content.snapshot.tokens[variant]?.expiresAt = token.expiresAt.map { $0 + duration }
            guard let life = token.idToken?.life else { continue }
            content.snapshot.tokens[variant]?.idToken?.life = ValidityPeriod(
                obtainedAt: life.obtainedAt + duration,
                expiresAt: life.expiresAt.map { $0 + duration }
            )
        }
        content.snapshot.loginBegan = snapshot.loginBegan.map { $0 + duration }
        content.snapshot.noticedEnd = snapshot.noticedEnd.map { $0 + duration }
        if var end = snapshot.end {
            (end.at, end.since) = (end.at + duration, end.since + duration)
            content.snapshot.end = end
        }
        return content
    }
}
