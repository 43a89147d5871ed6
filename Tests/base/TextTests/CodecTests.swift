// SPDX-License-Identifier: MIT

import Testing

@testable import Text

/// Base64, hexadecimal digits and percent coding.
@Suite struct CodecTests {
    /// RFC 4648 §10, and bytes that the two alphabets write differently.
    static let vectors: [(bytes: [UInt8], padded: String, urlSafe: String)] = [
        ([], "", ""), (Array("f".utf8), "Zg==", "Zg"), (Array("fo".utf8), "Zm8=", "Zm8"),
        (Array("foo".utf8), "Zm9v", "Zm9v"), (Array("foob".utf8), "Zm9vYg==", "Zm9vYg"),
        (Array("fooba".utf8), "Zm9vYmE=", "Zm9vYmE"), (Array("foobar".utf8), "Zm9vYmFy", "Zm9vYmFy"),
        ([0xFB, 0xEF, 0xFF], "++//", "--__"),
    ]

    @Test(arguments: vectors)
    func `Base64 reads what it writes`(bytes: [UInt8], padded: String, urlSafe: String) {
        #expect(Base64.encoded(bytes) == padded)
        #expect(Base64.decoded(padded) == bytes)
        #expect(Base64.urlEncoded(bytes) == urlSafe)
        #expect(Base64.urlDecoded(urlSafe.utf8) == bytes)
    }

    @Test(arguments: ["Zg", "Zg=", "Zg===", "Zh==", "Zm9v\n", "Zm9*", "=", "Z===", "--__", "Zg==Zg=="])
    func `Base64 that no encoder writes is refused`(text: String) {
        #expect(Base64.decoded(text) == nil)
    }

    @Test(arguments: ["Zg==", "Zh", "Z", "++//", "Zm9v "])
    func `URL-safe Base64 that no encoder writes is refused`(text: String) {
        #expect(Base64.urlDecoded(text.utf8) == nil)
    }

    @Test func `every byte is two digits and comes back`() {
        let all = (0...255).map { UInt8($0) }
        let text = Hex.encoded(all)
        #expect(text.hasPrefix("000102") && text.hasSuffix("fdfeff"))
        #expect(Hex.decoded(text.utf8) == all)
        #expect(Hex.decoded(text.uppercased().utf8) == all)
        for wrong in ["0", "0g", "g0", "0x00", " 0", "６"] { #expect(Hex.decoded(wrong.utf8) == nil) }
    }

    @Test func `only unreserved bytes stand for themselves in an address`() {
        #expect(PercentCoding.encoded("aZ0-._~") == "aZ0-._~")
        #expect(PercentCoding.encoded("a b/ü*+%") == "a%20b%2F%C3%BC%2A%2B%25")
        #expect(FormEncoding.encoded("a b/ü*+%~") == "a+b%2F%C3%BC*%2B%25%7E")
    }

    @Test func `escapes are read in either case, and plus as the place has it`() {
        #expect(PercentCoding.decoded("a%2fb%2F+".utf8, plusIsBlank: false) == "a/b/+")
        #expect(PercentCoding.decoded("a%2fb%2F+".utf8, plusIsBlank: true) == "a/b/ ")
        for wrong in ["%", "%2", "%g0", "%C3", "%ED%A0%80"] {
            #expect(PercentCoding.decoded(wrong.utf8, plusIsBlank: true) == nil)
        }
    }

    @Test func `a query is its parameters in their order`() {
        let parameters = FormEncoding.decoded("b=1&a=%20+&b&&c==")
        #expect(parameters?.map(\.name) == ["b", "a", "b", "c"])
        #expect(parameters?.map(\.value) == ["1", "  ", "", "="])
        #expect(FormEncoding.decoded("a=%") == nil)
    }

    @Test(arguments: [("a\n", "a"), ("a\r\n", "a"), ("a", "a"), ("a\n\r\n", "a\n"), ("\n", ""), ("", "")])
    func `one line end is dropped`(text: String, content: String) {
        var bytes = Array(text.utf8)
        bytes.removeLineEnd()
        #expect(bytes == Array(content.utf8))
    }
}
