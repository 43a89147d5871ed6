// SPDX-License-Identifier: MIT

import SecretMemory

/// The unencrypted header of a store file that is sealed as a whole; opening the file authenticates the
/// header too.
///
/// ```
/// magic | u8 version | u16 suite 1 | vault_id[16] | u32 epoch
/// ```
enum SealedFileHeader {
    /// Returns the number of bytes in a header that begins with `magic`.
    static func count(_ magic: [UInt8]) -> Int { magic.count + 1 + 2 + RandomID.byteCount + 4 }

    static func bytes(_ magic: [UInt8], version: UInt8, vault: RandomID, epoch: UInt32) -> [UInt8] {
        var bytes = magic
        bytes.append(version)
        bytes.append(integer: VaultFile.suite)
        bytes.append(vault)
        bytes.append(integer: epoch)
        return bytes
    }
}
