// SPDX-License-Identifier: MIT

import CSodium
import SecretMemory
import Synchronization
import TokenCore

/// The keys of a fleet, in guarded memory.
///
/// ```
/// name key N         random, for the lifetime of the fleet, so that names in etcd never change
/// keepers' secret K  random, one for each epoch
/// readers' secret R  subkey 1 of K
/// below R: access tokens, refresh requests (wants)
/// below K: refresh tokens, secrets in them, intents, marks, signatures (Ed25519)
/// ```
///
/// A keeper has N and every K. A reader has N, every R and the public key of the keepers' signatures, from
/// which nothing of K can be derived: it opens access tokens but cannot replace them. Values are sealed only
/// under the current epoch; older epochs open earlier values. A staged epoch also opens values, and becomes
/// the current one as soon as another host has sealed a value under it.
package final class FleetKeys: Sendable {
    /// The purpose of an epoch's key; the raw value is its index in the epoch's block and its subkey number.
    enum Purpose: Int, CaseIterable {
        /// Values that readers open.
        case accessTokens = 3
        /// The MAC of the readers' refresh requests.
        case wants
        /// Values that only keepers open.
        case refreshTokens
        /// Refresh tokens and other long-lived secrets inside those values.
        case secrets
        /// The MAC of intents.
        case intents
        /// Marks of refresh tokens.
        case marks
        /// The seed of the keepers' signing key.
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

        /// Whether readers have the key too.
        var isReaders: Bool {
            switch self {
            case .accessTokens, .wants: true
            case .refreshTokens, .secrets, .intents, .marks, .signatures: false
            }
        }
    }

    /// The indices of other keys in an epoch's block, which is divided into parts of 32 bytes.
    private enum KeyIndexInBlock {
        static let keepersSecret = 0
        /// The readers' secret, followed by the public key.
        static let readersSecret = 1
        static let publicKey = 2
        /// The signing key, which occupies two parts.
        static let signingKey = 10
        static let count = 12
    }

    /// The maximum number of epochs in a key file: the current one, and those that a host which was away may
    /// still need.
    package static let maximumEpochs = 4

    package let fleet: RandomID
    /// The name of the fleet.
    package let label: String
    package let role: FleetRole
    /// The epochs, counted from 1 over the life of the fleet, newest first; a staged one comes second.
    let epochs: [UInt32]
    /// The epoch under which values are sealed now.
    private let current: Atomic<UInt32>
    /// The name key, then a block for each epoch.
    private let keys: GuardedBytes

    /// Derives the keys from the secrets that `fill` writes: the name key, then the role's part of each of
    /// `epochs`.
    ///
    /// - Throws: ``FleetKeyError/outOfMemory``, or the error of `fill`.
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
            keys = try GuardedBytes(count: (1 + epochs.count * KeyIndexInBlock.count) * AEAD.keyCount)
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

    private static func block(_ index: Int) -> Int { 1 + index * KeyIndexInBlock.count }

    /// Fills the block of one epoch; a reader's block contains zeros for missing keys.
    private static func derive(
        block: Int,
        in keys: UnsafeMutableRawBufferPointer,
        from secret: UnsafeRawBufferPointer,
        _ role: FleetRole
    ) {
        let own = unsafe place(block + KeyIndexInBlock.keepersSecret, in: keys)
        let readers = unsafe place(block + KeyIndexInBlock.readersSecret, in: keys)
        switch role {
        case .keeper:
            unsafe own.copyMemory(from: secret)
            unsafe CryptoPrimitives.subkey(1, context: "ta1frd..", of: secret, into: readers)
        case .reader:
            unsafe place(block + KeyIndexInBlock.readersSecret, in: keys, 2).copyMemory(from: secret)
        }
        for purpose in Purpose.allCases where purpose.isReaders || role == .keeper {
            unsafe CryptoPrimitives.subkey(
                UInt64(purpose.rawValue),
                context: purpose.context,
                of: UnsafeRawBufferPointer(purpose.isReaders ? readers : own),
                into: place(block + purpose.rawValue, in: keys)
            )
        }
        guard role == .keeper else { return }
        unsafe CryptoPrimitives.signingKey(
            of: UnsafeRawBufferPointer(place(block + Purpose.signatures.rawValue, in: keys)),
            into: place(block + KeyIndexInBlock.signingKey, in: keys, 2),
            publicKey: place(block + KeyIndexInBlock.publicKey, in: keys)
        )
    }

    /// The epoch under which values are sealed now.
    package var epoch: UInt32 { current.load(ordering: .relaxed) }

    /// The epoch that other hosts may already have, but under which nothing is sealed yet.
    package var stagedEpoch: UInt32? { epochs.first { $0 > epoch } }

    /// Records that another host has sealed a value under `epoch`, which activates it if it is staged here.
    package func follow(_ epoch: UInt32) {
        guard has(epoch: epoch) else { return }
        _ = current.max(epoch, ordering: .relaxed)
    }

    /// Returns whether values of `epoch` can be opened here.
    func has(epoch: UInt32) -> Bool { epochs.contains(epoch) }

    /// Passes the key for names in etcd to `body`.
    func withNameKey<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe keys.read { unsafe body(UnsafeRawBufferPointer(rebasing: $0[..<AEAD.keyCount])) }
    }

    /// Returns the identity of the host that has this vault.
    ///
    /// The identity reveals nothing of the vault, and stays the same for the vault's lifetime.
    package func host(of vault: RandomID) -> UInt64 {
        var message = Array("ta1 fleet host".utf8)
        message.append(vault)
        let code = unsafe message.withUnsafeBytes { message in
            unsafe withNameKey {
                unsafe CryptoPrimitives.code(of: message, key: $0, count: RandomID.byteCount)
            }
        }
        return RandomID(code).high
    }

    /// Passes the key for `purpose` in `epoch` to `body`.
    ///
    /// - Returns: the result of `body`, or `nil` if this host does not have the key.
    func withKey<Result, Failure: Error>(
        for purpose: Purpose,
        epoch: UInt32,
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard purpose.isReaders || role == .keeper else { return nil }
        return try unsafe with(purpose.rawValue, 1, of: epoch, body)
    }

    /// Passes the secret for `role` in `epoch`, as in a key file, to `body`, or returns `nil` if this host
    /// does not have it.
    func withSecret<Result>(
        of epoch: UInt32,
        for role: FleetRole,
        _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result? {
        guard role == .reader || self.role == .keeper else { return nil }
        return role == .keeper
            ? unsafe with(KeyIndexInBlock.keepersSecret, 1, of: epoch, body)
            : unsafe with(KeyIndexInBlock.readersSecret, 2, of: epoch, body)
    }

    /// Signs `message` under `epoch`, or returns `nil` on a reader.
    func signature(of message: [UInt8], epoch: UInt32) -> [UInt8]? {
        guard role == .keeper else { return nil }
        return unsafe with(KeyIndexInBlock.signingKey, 2, of: epoch) {
            unsafe CryptoPrimitives.signature(of: message, key: $0)
        }
    }

    /// Returns whether a keeper has signed `message` under `epoch`.
    func isSignature(_ signature: [UInt8], of message: [UInt8], epoch: UInt32) -> Bool {
        let isGenuine = unsafe with(KeyIndexInBlock.publicKey, 1, of: epoch) { key in
            unsafe CryptoPrimitives.isSignature(signature, of: message, publicKey: key)
        }
        return isGenuine == true
    }

    /// Passes parts of an epoch's block to `body`, or returns `nil` if there is no such epoch.
    private func with<Result, Failure: Error>(
        _ place: Int,
        _ count: Int,
        of epoch: UInt32,
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard let index = epochs.firstIndex(of: epoch) else { return nil }
        let start = (FleetKeys.block(index) + place) * AEAD.keyCount
        return try unsafe keys.read { keys throws(Failure) in
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
    /// The number of bytes per epoch in a key file: a secret, and for readers also the public key of keepers'
    /// signatures.
    var secretCount: Int { (self == .keeper ? 1 : 2) * AEAD.keyCount }
}

extension FleetKeys {
    /// Creates the keys of a new fleet.
    ///
    /// - Throws: ``FleetKeyError/badLabel``, ``FleetKeyError/outOfMemory``.
    package static func random(label: String) throws(FleetKeyError) -> FleetKeys {
        guard FleetKeyText.isLabel(label) else { throw .badLabel }
        return try unsafe FleetKeys(fleet: .random(), label: label, role: .keeper, epochs: [1]) { secrets in
            if let base = secrets.baseAddress { unsafe randombytes_buf(base, secrets.count) }
        }
    }

    /// Returns a keeper's keys with a new random epoch, followed by the newest of the current epochs.
    ///
    /// - Parameter keeping: the number of older epochs to keep; 0 makes every previous value unreadable at
    ///   once.
    /// - Returns: keepers' keys.
    /// - Throws: ``FleetKeyError/readersKey``, ``FleetKeyError/outOfMemory``.
    package func renewed(keeping: Int = 1) throws(FleetKeyError) -> FleetKeys {
        let kept = min(max(keeping, 0), FleetKeys.maximumEpochs - 1)
        return try rebuilt([try nextEpoch()] + epochs.sorted(by: >).prefix(kept))
    }

    /// Returns a keeper's keys with a new random epoch that is staged.
    ///
    /// - Parameter keeping: the number of other epochs to keep, which include the current one.
    /// - Returns: keepers' keys, unchanged if an epoch is already staged.
    /// - Throws: ``FleetKeyError/readersKey``, ``FleetKeyError/outOfMemory``.
    package func staged(keeping: Int = 1) throws(FleetKeyError) -> FleetKeys {
        guard stagedEpoch == nil else { return self }
        let kept = min(max(keeping, 1), FleetKeys.maximumEpochs - 1)
        return try rebuilt([epoch, try nextEpoch()] + epochs.dropFirst().prefix(kept - 1))
    }

    /// Returns a keeper's keys whose staged epoch is the current one.
    ///
    /// - Throws: ``FleetKeyError/nothingStaged``, ``FleetKeyError/readersKey``,
    ///   ``FleetKeyError/outOfMemory``.
    func activated() throws(FleetKeyError) -> FleetKeys {
        guard stagedEpoch != nil else { throw .nothingStaged }
        return try rebuilt(epochs.sorted(by: >))
    }

    private func nextEpoch() throws(FleetKeyError) -> UInt32 {
        let (next, overflow) = (epochs.max() ?? 0).addingReportingOverflow(1)
        guard !overflow else { throw .damaged }
        return next
    }

    /// Returns keepers' keys of the same fleet with these epochs; new ones are random.
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
