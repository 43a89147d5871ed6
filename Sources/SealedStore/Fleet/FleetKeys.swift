// SPDX-License-Identifier: MIT

import CSodium
import Synchronization
import TokenCore

/// The keys of a fleet, in guarded memory.
///
/// ```
/// name key N         random, for the life of the fleet: etcd's keys stay where they are
/// keepers' secret K  random, one for each epoch
/// readers' secret R  subkey 1 of K
/// below R: access tokens, wants     below K: refresh tokens, secrets in them, intents, marks, signatures (Ed25519)
/// ```
///
/// A keeper has N and every K. A reader has N, every R and the public key of the keepers' signatures, from which nothing of K can
/// be had: it opens access tokens, and cannot put others in their place. Values are sealed under the newest epoch only, and the
/// older ones open what was sealed before it. An epoch that is staged opens values too, and is the one to seal under as soon as
/// another host has done so.
package final class FleetKeys: Sendable {
    /// What a key of an epoch is for; the raw value is its place in the epoch's block and its subkey number.
    enum Purpose: Int, CaseIterable {
        /// Values that readers open.
        case accessTokens = 3
        /// The MAC of what readers ask for.
        case wants
        /// Values that only keepers open.
        case refreshTokens
        /// Refresh tokens and other long-lived secrets inside them.
        case secrets
        /// The MAC of intents.
        case intents
        /// Marks of refresh tokens.
        case marks
        /// What the keepers' signing key is made from.
        case signatures

        fileprivate var context: String {
            switch self {
            case .accessTokens: "ta1fat.."
            case .wants: "ta1fwa.."
            case .refreshTokens: "ta1frt.."
            case .secrets: "ta1fse.."
            case .intents: "ta1fin.."
            case .marks: "ta1fma.."
            case .signatures: "ta1fsi.."
            }
        }

        /// Whether readers have it too.
        var isReaders: Bool {
            switch self {
            case .accessTokens, .wants: true
            case .refreshTokens, .secrets, .intents, .marks, .signatures: false
            }
        }
    }

    /// Where else something lies in an epoch's block; each place has 32 bytes.
    private enum Place {
        static let keepersSecret = 0
        /// The public key follows it.
        static let readersSecret = 1
        static let publicKey = 2
        /// Two places.
        static let signingKey = 10
        static let count = 12
    }

    /// How many epochs a key file holds: the present one, and those that a host which was away may still need.
    package static let maximumEpochs = 4

    package let fleet: RandomID
    /// What people call the fleet.
    package let label: String
    package let role: FleetRole
    /// Counts the fleet's keys from 1; the newest first, but one that is staged comes second.
    package let epochs: [UInt32]
    /// The epoch that everything is sealed under now.
    private let current: Atomic<UInt32>
    /// The name key, then a block for each epoch.
    private let keys: GuardedBytes

    /// Derives the keys below the secrets that `fill` writes: the name key, then what the role has of each of `epochs`.
    /// - Throws: ``FleetKeyError/outOfMemory``, or what `fill` throws.
    init(
        fleet: RandomID,
        label: String,
        role: FleetRole,
        epochs: [UInt32],
        _ fill: (UnsafeMutableRawBufferPointer) throws(FleetKeyError) -> Void
    ) throws(FleetKeyError) {
        self.fleet = fleet
        self.label = label
        self.role = role
        self.epochs = epochs
        current = Atomic(epochs.first ?? 0)
        let secrets: GuardedBytes
        do throws(SealedMemoryError) {
            secrets = try GuardedBytes(count: AEAD.keyCount + epochs.count * role.secretCount)
            keys = try GuardedBytes(count: (1 + epochs.count * Place.count) * AEAD.keyCount)
        } catch {
            throw .outOfMemory
        }
        try unsafe secrets.write(fill)
        unsafe secrets.read { secrets in
            unsafe keys.write { keys in
                unsafe FleetKeys.place(0, in: keys)
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: secrets[..<AEAD.keyCount]))
                for index in epochs.indices {
                    let start = AEAD.keyCount + index * role.secretCount
                    unsafe FleetKeys.derive(
                        block: FleetKeys.block(index),
                        in: keys,
                        from: UnsafeRawBufferPointer(rebasing: secrets[start..<start + role.secretCount]),
                        role
                    )
                }
            }
        }
    }

    private static func block(_ index: Int) -> Int { 1 + index * Place.count }

    /// Fills the block of one epoch; a reader's has zeros where it has no key.
    private static func derive(
        block: Int,
        in keys: UnsafeMutableRawBufferPointer,
        from secret: UnsafeRawBufferPointer,
        _ role: FleetRole
    ) {
        let own = unsafe place(block + Place.keepersSecret, in: keys)
        let readers = unsafe place(block + Place.readersSecret, in: keys)
        switch role {
        case .keeper:
            unsafe own.copyMemory(from: secret)
            unsafe KeyDerivation.subkey(1, context: "ta1frd..", of: secret, into: readers)
        case .reader: unsafe place(block + Place.readersSecret, in: keys, 2).copyMemory(from: secret)
        }
        for purpose in Purpose.allCases where purpose.isReaders || role == .keeper {
            unsafe KeyDerivation.subkey(
                UInt64(purpose.rawValue),
                context: purpose.context,
                of: UnsafeRawBufferPointer(purpose.isReaders ? readers : own),
                into: place(block + purpose.rawValue, in: keys)
            )
        }
        guard role == .keeper else { return }
        unsafe KeyDerivation.signingKey(
            of: UnsafeRawBufferPointer(place(block + Purpose.signatures.rawValue, in: keys)),
            into: place(block + Place.signingKey, in: keys, 2),
            publicKey: place(block + Place.publicKey, in: keys)
        )
    }

    /// The epoch that everything is sealed under now.
    package var epoch: UInt32 { current.load(ordering: .relaxed) }

    /// The epoch that other hosts may have already, and nothing is sealed under yet.
    package var stagedEpoch: UInt32? { epochs.first { $0 > epoch } }

    /// Another host has sealed something under `epoch`: if that is staged here, it is not any more.
    package func follow(_ epoch: UInt32) {
        guard has(epoch: epoch) else { return }
        _ = current.max(epoch, ordering: .relaxed)
    }

    /// Whether values of `epoch` open here.
    func has(epoch: UInt32) -> Bool { epochs.contains(epoch) }

    /// Lends the key that names in etcd are made with.
    func withNameKey<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe keys.read { unsafe body(UnsafeRawBufferPointer(rebasing: $0[..<AEAD.keyCount])) }
    }

    /// The identity of the host whose vault this is: it tells the fleet nothing of the vault, and stays as long as the vault.
    package func host(of vault: RandomID) -> UInt64 {
        var message = Array("ta1 fleet host".utf8)
        message.append(vault)
        let code = unsafe message.withUnsafeBytes { message in
            unsafe withNameKey { unsafe KeyDerivation.code(of: message, key: $0, count: RandomID.byteCount) }
        }
        return RandomID(code).high
    }

    /// Lends the key for `purpose` in `epoch`.
    /// - Returns: `nil` if this host has no such key.
    func withKey<Result>(
        for purpose: Purpose,
        epoch: UInt32,
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result? {
        guard purpose.isReaders || role == .keeper else { return nil }
        return try unsafe with(purpose.rawValue, 1, of: epoch, body)
    }

    /// Lends what a file of `role` holds of an epoch; `nil`: this host cannot write it.
    func withSecret<Result>(
        of epoch: UInt32,
        for role: FleetRole,
        _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result? {
        guard role == .reader || self.role == .keeper else { return nil }
        return role == .keeper
            ? unsafe with(Place.keepersSecret, 1, of: epoch, body)
            : unsafe with(Place.readersSecret, 2, of: epoch, body)
    }

    /// Signs `message` under `epoch`; `nil` on a reader.
    func signature(of message: [UInt8], epoch: UInt32) -> [UInt8]? {
        guard role == .keeper else { return nil }
        return unsafe with(Place.signingKey, 2, of: epoch) {
            unsafe KeyDerivation.signature(of: message, key: $0)
        }
    }

    /// Whether a keeper has signed `message` under `epoch`.
    func isSignature(_ signature: [UInt8], of message: [UInt8], epoch: UInt32) -> Bool {
        let isGenuine = unsafe with(Place.publicKey, 1, of: epoch) { key in
            unsafe KeyDerivation.isSignature(signature, of: message, publicKey: key)
        }
        return isGenuine == true
    }

    /// Lends what lies at some places of an epoch's block; `nil`: there is no such epoch.
    private func with<Result>(
        _ place: Int,
        _ count: Int,
        of epoch: UInt32,
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result? {
        guard let index = epochs.firstIndex(of: epoch) else { return nil }
        let start = (FleetKeys.block(index) + place) * AEAD.keyCount
        return try unsafe keys.read { keys in
            try unsafe body(UnsafeRawBufferPointer(rebasing: keys[start..<start + count * AEAD.keyCount]))
        }
    }

    private static func place(
        _ index: Int,
        in all: UnsafeMutableRawBufferPointer,
        _ count: Int = 1
    ) -> UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(
            rebasing: all[index * AEAD.keyCount..<(index + count) * AEAD.keyCount]
        )
    }
}

extension FleetRole {
    /// Bytes that a key file has of each epoch: a secret, and for readers the public key of keepers' signatures.
    var secretCount: Int { (self == .keeper ? 1 : 2) * AEAD.keyCount }
}

extension FleetKeys {
    /// The keys of a new fleet.
    /// - Throws: ``FleetKeyError/badLabel``, ``FleetKeyError/outOfMemory``.
    package static func random(label: String) throws(FleetKeyError) -> FleetKeys {
        guard FleetKeyText.isLabel(label) else { throw .badLabel }
        return try unsafe FleetKeys(fleet: .random(), label: label, role: .keeper, epochs: [1]) { secrets in
            if let base = secrets.baseAddress { unsafe randombytes_buf(base, secrets.count) }
        }
    }

    /// The keys of a keeper with a new random epoch before the present ones, of which the newest are kept.
    ///
    /// - Parameter keeping: how many older epochs stay; 0 makes every value of before useless at once.
    /// - Returns: keepers' keys.
    /// - Throws: ``FleetKeyError/readersKey``, ``FleetKeyError/outOfMemory``.
    package func renewed(keeping: Int = 1) throws(FleetKeyError) -> FleetKeys {
        let kept = min(max(keeping, 0), FleetKeys.maximumEpochs - 1)
        return try rebuilt([try nextEpoch()] + epochs.sorted(by: >).prefix(kept))
    }

    /// The keys of a keeper with a new random epoch that nothing is sealed under yet.
    ///
    /// - Parameter keeping: how many other epochs stay, at least the present one.
    /// - Returns: keepers' keys; these if an epoch is staged already.
    /// - Throws: ``FleetKeyError/readersKey``, ``FleetKeyError/outOfMemory``.
    package func staged(keeping: Int = 1) throws(FleetKeyError) -> FleetKeys {
        guard stagedEpoch == nil else { return self }
        let kept = min(max(keeping, 1), FleetKeys.maximumEpochs - 1)
        return try rebuilt([epoch, try nextEpoch()] + epochs.dropFirst().prefix(kept - 1))
    }

    /// The keys of a keeper whose staged epoch is the one to seal under.
    ///
    /// - Throws: ``FleetKeyError/nothingStaged``, ``FleetKeyError/readersKey``, ``FleetKeyError/outOfMemory``.
    package func activated() throws(FleetKeyError) -> FleetKeys {
        guard stagedEpoch != nil else { throw .nothingStaged }
        return try rebuilt(epochs.sorted(by: >))
    }

    private func nextEpoch() throws(FleetKeyError) -> UInt32 {
        let (next, overflow) = (epochs.max() ?? 0).addingReportingOverflow(1)
        guard !overflow else { throw .damaged }
        return next
    }

    /// Keepers' keys of the same fleet with these epochs; those that are not here are random.
    private func rebuilt(_ epochs: [UInt32]) throws(FleetKeyError) -> FleetKeys {
        guard role == .keeper else { throw .readersKey }
        return try unsafe FleetKeys(
            fleet: fleet,
            label: label,
            role: .keeper,
            epochs: epochs
        ) { secrets in
            unsafe withNameKey { unsafe FleetKeys.place(0, in: secrets).copyMemory(from: $0) }
            for (index, epoch) in epochs.enumerated() {
                let place = unsafe FleetKeys.place(1 + index, in: secrets)
                let isCopied = unsafe withSecret(of: epoch, for: .keeper) { secret in
                    unsafe place.copyMemory(from: secret)
                    return true
                }
                if isCopied == nil, let base = place.baseAddress {
                    unsafe randombytes_buf(base, place.count)
                }
            }
        }
    }
}
