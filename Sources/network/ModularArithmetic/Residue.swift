// SPDX-License-Identifier: MIT

/// A number modulo the 3072-bit prime of RFC 3526 §4, for Secure Remote Password.
///
/// A power takes the same steps for all exponents of the same length.
///
/// The available library for big integers is not used: its running time depends on the exponent, it brings
/// Foundation into the agent, and it needs seconds per power in unoptimized builds. BoringSSL's numbers are
/// not exported by any public product.
///
/// - Entry points: ``init(bigEndian:)``, ``power(_:)`` and the operators.
/// - May not: branch on a secret.
package struct Residue: Equatable, Sendable {
    /// The limbs of 64 bits, least significant first.
    private var limbs: [UInt64]

    private static let count = 48

    /// The number of bytes in ``prime``, which is also the maximum for a residue.
    package static let byteCount = 8 * count

    /// The limbs of 2^3072 - 2^3008 - 1 + 2^64 * { [2^2942 pi] + 1690314 }, most significant first.
    private static let primeLimbs: [UInt64] = [
        0xFFFF_FFFF_FFFF_FFFF, 0xC90F_DAA2_2168_C234, 0xC4C6_628B_80DC_1CD1, 0x2902_4E08_8A67_CC74,
        0x020B_BEA6_3B13_9B22, 0x514A_0879_8E34_04DD, 0xEF95_19B3_CD3A_431B, 0x302B_0A6D_F25F_1437,
        0x4FE1_356D_6D51_C245, 0xE485_B576_625E_7EC6, 0xF44C_42E9_A637_ED6B, 0x0BFF_5CB6_F406_B7ED,
        0xEE38_6BFB_5A89_9FA5, 0xAE9F_2411_7C4B_1FE6, 0x4928_6651_ECE4_5B3D, 0xC200_7CB8_A163_BF05,
        0x98DA_4836_1C55_D39A, 0x6916_3FA8_FD24_CF5F, 0x8365_5D23_DCA3_AD96, 0x1C62_F356_2085_52BB,
        0x9ED5_2907_7096_966D, 0x670C_354E_4ABC_9804, 0xF174_6C08_CA18_217C, 0x3290_5E46_2E36_CE3B,
        0xE39E_772C_180E_8603, 0x9B27_83A2_EC07_A28F, 0xB5C5_5DF0_6F4C_52C9, 0xDE2B_CBF6_9558_1718,
        0x3995_497C_EA95_6AE5, 0x15D2_2618_98FA_0510, 0x1572_8E5A_8AAA_C42D, 0xAD33_170D_0450_7A33,
        0xA855_21AB_DF1C_BA64, 0xECFB_8504_58DB_EF0A, 0x8AEA_7157_5D06_0C7D, 0xB397_0F85_A6E1_E4C7,
        0xABF5_AE8C_DB09_33D7, 0x1E8C_94E0_4A25_619D, 0xCEE3_D226_1AD2_EE6B, 0xF12F_FA06_D98A_0864,
        0xD876_0273_3EC8_6A64, 0x521F_2B18_177B_200C, 0xBBE1_1757_7A61_5D6C, 0x7709_88C0_BAD9_46E2,
        0x08E2_4FA0_74E5_AB31, 0x43DB_5BFC_E0FD_108E, 0x4B82_D120_A93A_D2CA, 0xFFFF_FFFF_FFFF_FFFF,
    ]
    private static let modulus: [UInt64] = primeLimbs.reversed()

    /// The prime, most significant byte first.
    package static let prime: [UInt8] = bytes(of: modulus)

    /// 2^3072 mod p, which is 1 in Montgomery form.
    private static let one = subtract(modulus, from: [UInt64](repeating: 0, count: count)).difference

    /// 2^6144 mod p, the factor that brings a number into Montgomery form.
    private static let square: [UInt64] = (0..<64 * count).reduce(one) { number, _ in sum(number, number) }

    private init(limbs: [UInt64]) {
        self.limbs = limbs
    }

    package init(_ small: UInt8) {
        limbs = [UInt64](repeating: 0, count: Residue.count)
        limbs[0] = UInt64(small)
    }

    /// Reads a number, most significant byte first, or returns `nil` if it is not below the prime.
    package init?(bigEndian bytes: [UInt8]) {
        let significant = Array(bytes.drop { $0 == 0 })
        guard significant.count <= Residue.byteCount else { return nil }
        limbs = [UInt64](repeating: 0, count: Residue.count)
        for (index, byte) in significant.reversed().enumerated() {
            limbs[index / 8] |= UInt64(byte) << UInt64(8 * (index % 8))
        }
        guard Residue.subtract(Residue.modulus, from: limbs).borrow == 1 else { return nil }
    }

    /// The number's bytes, most significant first, without leading zeros; empty for zero.
    package var bytes: [UInt8] { Array(Residue.bytes(of: limbs).drop { $0 == 0 }) }

    package var isZero: Bool { limbs.allSatisfy { $0 == 0 } }

    /// Returns `self` to the power of `exponent`, given most significant byte first.
    ///
    /// The exponent may be derived from a password, so each of its bits takes the same steps.
    package func power(_ exponent: [UInt8]) -> Residue {
        let base = Residue.multiply(limbs, Residue.square)
        var result = Residue.one
        for byte in exponent {
            for bit in (0..<8).reversed() {
                result = Residue.multiply(result, result)
                let product = Residue.multiply(result, base)
                result = Residue.choose(product, over: result, if: UInt64(byte >> UInt8(bit) & 1))
            }
        }
        return Residue(limbs: Residue.multiply(result, Residue(1).limbs))
    }

    package static func + (left: Residue, right: Residue) -> Residue {
        Residue(limbs: sum(left.limbs, right.limbs))
    }

    package static func - (left: Residue, right: Residue) -> Residue {
        let (difference, borrow) = subtract(right.limbs, from: left.limbs)
        return Residue(limbs: choose(add(difference, modulus).sum, over: difference, if: borrow))
    }

    package static func * (left: Residue, right: Residue) -> Residue {
        Residue(limbs: multiply(multiply(left.limbs, square), right.limbs))
    }

    // MARK: Limbs

    /// Returns `chosen` if `bit` is 1 and `other` if it is 0, without a branch.
    private static func choose(_ chosen: [UInt64], over other: [UInt64], if bit: UInt64) -> [UInt64] {
        let mask = 0 &- bit
        var result = other
        for index in result.indices { result[index] ^= mask & (chosen[index] ^ other[index]) }
        return result
    }

    /// Returns 1 for true and 0 for false, to avoid branches.
    private static func bit(_ flag: Bool) -> UInt64 { flag ? 1 : 0 }

    private static func sum(_ left: [UInt64], _ right: [UInt64]) -> [UInt64] {
        let (sum, carry) = add(left, right)
        let (reduced, borrow) = subtract(modulus, from: sum)
        return choose(reduced, over: sum, if: carry | (1 ^ borrow))
    }

    private static func add(_ left: [UInt64], _ right: [UInt64]) -> (sum: [UInt64], carry: UInt64) {
        var sum = left
        var carry: UInt64 = 0
        for index in sum.indices {
            let (first, firstOverflow) = left[index].addingReportingOverflow(right[index])
            let (second, secondOverflow) = first.addingReportingOverflow(carry)
            sum[index] = second
            carry = bit(firstOverflow) | bit(secondOverflow)
        }
        return (sum, carry)
    }

    private static func subtract(
        _ subtrahend: [UInt64],
        from minuend: [UInt64]
    ) -> (difference: [UInt64], borrow: UInt64) {
        var difference = minuend
        var borrow: UInt64 = 0
        for index in difference.indices {
            let (first, firstOverflow) = minuend[index].subtractingReportingOverflow(subtrahend[index])
            let (second, secondOverflow) = first.subtractingReportingOverflow(borrow)
            difference[index] = second
            borrow = bit(firstOverflow) | bit(secondOverflow)
        }
        return (difference, borrow)
    }

    /// Returns `left * right / 2^3072 mod p` (Montgomery 1985, operands scanned limb by limb).
    ///
    /// The prime ends in 64 ones, so the factor that clears a limb is the limb itself.
    private static func multiply(_ left: [UInt64], _ right: [UInt64]) -> [UInt64] {
        var total = [UInt64](repeating: 0, count: count + 2)
        for factor in right {
            addProduct(of: left, factor, to: &total)
            addProduct(of: modulus, total[0], to: &total)
            total.removeFirst()
            total.append(0)
        }
        let product = Array(total[..<count])
        let (reduced, borrow) = subtract(modulus, from: product)
        return choose(reduced, over: product, if: total[count] | (1 ^ borrow))
    }

    private static func addProduct(of number: [UInt64], _ factor: UInt64, to total: inout [UInt64]) {
        var carry: UInt64 = 0
        for index in 0..<count {
            var (high, low) = number[index].multipliedFullWidth(by: factor)
            var overflow: Bool
            (low, overflow) = low.addingReportingOverflow(total[index])
            high &+= bit(overflow)
            (low, overflow) = low.addingReportingOverflow(carry)
            high &+= bit(overflow)
            total[index] = low
            carry = high
        }
        let (sum, overflow) = total[count].addingReportingOverflow(carry)
        total[count] = sum
        total[count + 1] &+= bit(overflow)
    }

    private static func bytes(of limbs: [UInt64]) -> [UInt8] {
        limbs.reversed().flatMap { limb in
            stride(from: UInt64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: limb >> $0) }
        }
    }
}
