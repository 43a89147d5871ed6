// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import TokenCore

@testable import SealedStore

/// Registered clients in the store.
struct RegistrationFileTests {
    private let fixture = StoreFixture()

    private var path: String { "\(fixture.statePath)/\(RegistrationFile.name)" }

    private func registration(_ client: String, in open: OpenStore) throws -> ClientRegistration {
        let purpose = ClientRegistration.LookupKey(
            issuer: "https://as.example/tenant",
            redirectURI: "http://127.0.0.1/callback",
            authentication: "automatic"
        )
        var registration = ClientRegistration(
            purpose: purpose,
            clientID: client,
            redirectURIs: ["http://127.0.0.1:20001/callback", "http://127.0.0.1:20002/callback"],
            method: "client_secret_post"
        )
        registration.secret = try open.secret("s3cret-\(client)", .clientSecret)
        registration.secretExpiresAt = WallTime(secondsSince1970: 1_900_000_000)
        registration.managementURI = "https://as.example/clients/\(client)"
        registration.managementToken = try open.secret("m4nage-\(client)", .clientSecret)
        return registration
    }

    /// `registration` without the numbers of its secrets.
    private func plain(_ registration: ClientRegistration) -> ClientRegistration {
        var plain = registration
        plain.secret = nil
        plain.managementToken = nil
        return plain
    }

    @Test(.holds("194"))
    func `clients come back after a restart, with their secrets, and nothing of them is readable`()
        throws
    {
        let (open, _) = try fixture.unlocked()
        #expect(open.store.registrations().isEmpty)
        let kept = try ["a", "b"].map { try registration($0, in: open) }
        for registration in kept { try open.store.keep(registration) }
        #expect(open.store.registrations() == kept)
        open.store.close()
        let bytes = try #require(Disk.read(path))
        for word in ["s3cret", "m4nage", "as.example"] {
            #expect(!String(decoding: bytes, as: UTF8.self).contains(word))
        }
        let (second, _) = try fixture.unlocked()
        let found = second.store.registrations()
        #expect(found.map(plain) == kept.map(plain))
        #expect(try found.map { try second.text(#require($0.secret)) } == ["s3cret-a", "s3cret-b"])
        #expect(try found.map { try second.text(#require($0.managementToken)) } == ["m4nage-a", "m4nage-b"])
        try second.store.drop(found[0])
        #expect(second.store.registrations() == [found[1]])
        #expect(throws: (any Error).self) { try second.text(#require(found[0].secret)) }
    }

    @Test func `a locked store has none, and an opened one has them again`() throws {
        let (open, _) = try fixture.unlocked()
        let registration = try registration("a", in: open)
        try open.store.keep(registration)
        open.store.lock()
        #expect(open.store.registrations().isEmpty)
        #expect(throws: StorageFailure.self) { try open.store.keep(registration) }
        _ = try open.store.unlockAutomatically()
        #expect(open.store.registrations().map(plain) == [plain(registration)])
    }

    @Test(.holds("194")) func `clients move to a new master key before the old one is dropped`() throws {
        let (open, _) = try fixture.unlocked()
        let registration = try registration("a", in: open)
        try open.store.keep(registration)
        try open.store.rekey()
        open.store.maintain()
        #expect(open.store.maintenanceDelay == nil)
        open.store.close()
        let (second, _) = try fixture.unlocked()
        #expect(second.store.registrations().map(plain) == [plain(registration)])
    }

    @Test func `a file that was changed is kept aside, and clients are registered anew`() throws {
        let (open, _) = try fixture.unlocked()
        try open.store.keep(try registration("a", in: open))
        open.store.close()
        var bytes = try #require(Disk.read(path))
        bytes[bytes.count - 1] ^= 1
        Disk.write(bytes, to: path)
        let (second, _) = try fixture.unlocked()
        #expect(second.store.registrations().isEmpty)
        #expect(Disk.read("\(path).bad") == bytes)
        try second.store.keep(try registration("b", in: second))
        #expect(second.store.registrations().count == 1)
    }
}
