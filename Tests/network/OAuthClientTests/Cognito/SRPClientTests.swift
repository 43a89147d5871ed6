// SPDX-License-Identifier: MIT

import ModularArithmetic
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Answers of another implementation (pycognito 2024.5.1) to the same numbers.
struct SRPClientTests {
    struct Vector: Sendable {
        var privateKey: String
        var userID: String
        var password: String
        var pool: String
        var salt: String
        var serverKey: String
        var secretBlock: String
        var timestamp: String
        var signature: String
    }

    static let vectors = [
        Vector(
            privateKey: String(repeating: "0123456789abcdef", count: 4),
            userID: "user-id-1",
            password: "correct horse battery staple",
            pool: "Double123",
            salt: "8f3a0b1c2d3e4f5061728394a5b6c7d8",
            serverKey: """
                30e14b4811aed4a25d697f0a66ad903a3ce73efc7aacb797ff47a094d38fe0615be49bba20fdff72cb2af9d786aba687\
                501ddf6e70a6e52c780a44d8d7fb5f289d90ca0695d83a405afbe7b8a6b91b3d84ec17f960bad8b92fe1171b15103975\
                375a36a033df4166cd0ebd14f89e90893cf7d68ab997a953fd3d72122df7ea1a97dd0a074b634f4ef247f42302543ed0\
                ba296f97596d871850ad9e42dbaa42a74642d4f68a6dc476f0569e6aa093ad191c5b6bdc725b1b6c350350c9084bf6fd\
                5c1c4b6ca159754fbcecfd3406d270e42a867091d5183398dad424b88e62c7953b6b4e45705391515f148ef16279bd25\
                bb54dcf00f207461f5e3eb41ecf55a3edb0c0b513ff9bb8f656d6512263d76d95409b993927f5e12bafec407ac7e5eca\
                2d1afd248b3d1c96fbd67b44e150b09aab7b303f20d546395e8093278ae987545433dabb6206503fa35f7d2efb417545\
                b88bc4d0ad6a09f9650a1ceee7b3ef2a9eebccfb1fda8202b0cc4be12df6f51bea44396505d88ec15ba8c285795d1c05
                """,
            secretBlock: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
            timestamp: "Sat Nov 7 06:25:03 UTC 2026",
            signature: "2kPhOt6qiWKyAfdgaJrZZx3bzh5stv7yAyacjz5i9Qc="
        ),
        Vector(
            privateKey: String(repeating: "f", count: 64),
            userID: "b2a1e9a0-0000-4000-8000-00000000c0de",
            password: "p\u{E4}ssw\u{F6}rd \u{2713}",
            pool: "AbCdEfGh1",
            salt: "1c2d3e4f5061728394a5b6c7d8e9fa0b",
            serverKey: """
                7ddc92ebdd71ea64fc6607618a63179810b4f149e9f9be18db509e17cc1d33852db6327f388813030a79cdef12b90561\
                0baaf400d904ada70a588bc69f35ced6eb00ea5b523948e3546db824ffba222ca3c60a031d768a64fd8ac33854e8368d\
                e33a373a74bb705f295903892581db1631d6f8cd20328dd2588a1cf2ec405c318e3131b32f3c8e4d0f5f882228ab1666\
                4af12695131c5e253b431ad0b8927f8aeb6eb3f42cb63855a235d8c8131be847121c2b0a38dfb126bcb59050e04622b9\
                1aaa0ec63eb3e3efd0e8cb77b78004dc27ad5f712e0e3567f854ccf368bafa31e20cb9c55a1e0ebc270bac231375749d\
                f9d93cd9665b2f0ac4796d1dfb87f08ea1adc38fed609ed65967d0b35872079e413b66d1c8e60c7c8a181c7ca77a2ff0\
                75e0c9d4fd1a435dd7d351bd8e8608baae19c2a18fb37d4c36b839e49c01c7007f151123165ab8db9228eedcdc81a021\
                404a3af2532b80dbae1875b260236a038235c18b29226759a7c486836123ae4488012d1b1a90fd0dedc75b038a3ed20c
                """,
            secretBlock: String(repeating: "/", count: 85) + "w==",
            timestamp: "Tue Dec 31 00:00:00 UTC 2024",
            signature: "tmbmfZdfKrGoWHMM9+KQBTLvyBPiJh9dZ70aJq4mC1U="
        ),
    ]

    func sign(_ vector: Vector, password: String) throws -> String? {
        let client = SRPClient(privateKey: try #require(HexNumber.decoded(vector.privateKey)))
        let serverKey = try #require(HexNumber.decoded(vector.serverKey))
        let challenge = SRPClient.Challenge(
            userID: vector.userID,
            salt: try #require(HexNumber.decoded(vector.salt)),
            serverKey: try #require(Residue(bigEndian: serverKey)),
            secretBlock: try #require(Base64.decoded(vector.secretBlock))
        )
        return Array(password.utf8).withUnsafeBytes {
            client.signature(challenge, password: $0, pool: vector.pool, timestamp: vector.timestamp)
        }
    }

    @Test(arguments: vectors)
    func `a proof is what another implementation computes`(vector: Vector) throws {
        #expect(try sign(vector, password: vector.password) == vector.signature)
        #expect(try sign(vector, password: vector.password + " ") != vector.signature)
    }

    @Test(arguments: ["0", "00"])
    func `a server key that would reveal the password's key is refused`(text: String) throws {
        var vector = SRPClientTests.vectors[0]
        vector.serverKey = text
        #expect(try sign(vector, password: vector.password) == nil)
    }

    @Test(arguments: ["", "-1", "xyz", "0x10", "\u{661}", String(repeating: "f", count: 801)])
    func `a number that is none is refused`(text: String) {
        #expect(HexNumber.decoded(text) == nil)
    }

    @Test func `keys are never used twice`() {
        #expect(Set((0..<5).map { _ in SRPClient().publicKey }).count == 5)
    }

    @Test(arguments: [
        ("0", "00"), ("1", "01"), ("7f", "7f"), ("80", "0080"), ("100", "0100"), ("0001", "01"),
        ("10000000000000000", "010000000000000000"), ("ff0000000000000000", "00ff0000000000000000"),
    ])
    func `numbers are hashed in two's complement`(digits: String, bytes: String) throws {
        let padded = try #require(HexNumber.decoded(digits)).padded
        #expect(padded.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == bytes)
    }

    @Test func `only numbers below the prime are residues`() throws {
        #expect(Residue(bigEndian: Residue.prime) == nil)
        #expect(Residue(bigEndian: [1] + Residue.prime) == nil)
        var below = Residue.prime
        below[below.count - 1] -= 1
        let largest = try #require(Residue(bigEndian: below))
        #expect(largest.bytes == below)
        #expect((largest + Residue(1)).isZero)
        #expect(largest + Residue(3) == Residue(2))
        #expect(Residue(0) - Residue(1) == largest)
        #expect(largest * largest == Residue(1))
    }

    @Test func `powers obey Fermat's theorem`() {
        var exponent = Residue.prime
        exponent[exponent.count - 1] -= 1
        #expect(Residue(2).power(exponent) == Residue(1))
        #expect(Residue(3).power(Residue.prime) == Residue(3))
        #expect(Residue(7).power([]) == Residue(1))
        #expect(Residue(7).power([0, 5]) == Residue(7) * Residue(7) * Residue(7) * Residue(7) * Residue(7))
    }

    @Test(arguments: [
        (0, "Thu Jan 1 00:00:00 UTC 1970"), (951_782_399, "Mon Feb 28 23:59:59 UTC 2000"),
        (951_782_400, "Tue Feb 29 00:00:00 UTC 2000"), (1_709_251_199, "Thu Feb 29 23:59:59 UTC 2024"),
        (1_735_603_200, "Tue Dec 31 00:00:00 UTC 2024"), (1_767_225_599, "Wed Dec 31 23:59:59 UTC 2025"),
        (1_794_032_703, "Sat Nov 7 06:25:03 UTC 2026"), (4_107_542_400, "Mon Mar 1 00:00:00 UTC 2100"),
    ])
    func `times are written as Amazon reads them`(seconds: Int64, text: String) {
        #expect(CognitoTimestamp.text(of: WallTime(secondsSince1970: seconds)) == text)
    }
}
