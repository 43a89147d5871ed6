// SPDX-License-Identifier: MIT

/// What stands readable in front of a file of the store that is sealed as a whole, and is sealed with it.
///
/// ```
/// magic | u8 version | u16 suite 1 | vault_id[16] | u32 epoch
/// ```
enum FileHeader {
    /// Bytes of a header that begins with `magic`.
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
