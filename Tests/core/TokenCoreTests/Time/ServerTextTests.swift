// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import TokenCore

struct ServerTextTests {
    @Test(
        .holds("123", "O58"),
        arguments: [
            ("Token is not active", "Token is not active"), ("", ""), ("   ", ""), (" a \r\n\t b ", "a b"),
            ("red \u{1B}[31mtext\u{1B}[0m", "red [31mtext [0m"),
            ("\u{1B}]8;;http://evil\u{7}link", "]8;;http://evil link"),
            ("\u{1B}]52;c;AAAA\u{7}", "]52;c;AAAA"), ("a\u{9B}31mb", "a 31mb"), ("a\u{0}b\u{7F}c", "a b c"),
            ("user\u{202E}drowssap", "user\\u{202e}drowssap"), ("a\u{2066}b\u{2069}", "a\\u{2066}b\\u{2069}"),
            ("zero\u{200B}width", "zero\\u{200b}width"), ("f\u{FC}r", "f\\u{fc}r"),
            ("\u{1F600}", "\\u{1f600}"),
            ("\u{2028}x", "\\u{2028}x"), ("a\u{A0}b", "a b"),
        ]
    )
    func `nothing a terminal would act on survives`(text: String, cleaned: String) {
        #expect(ServerText.cleaned(text) == cleaned)
    }

    @Test(.holds("123", "O58"), arguments: ["x", "\u{1B}", "\u{E9}", "\u{202E}", " x", "x\n\n"])
    func `a megabyte becomes at most 500 printable ASCII characters`(unit: String) {
        let cleaned = ServerText.cleaned(String(repeating: unit, count: 1 << 20))
        #expect(cleaned.utf8.count <= ServerText.limit)
        #expect(cleaned.utf8.allSatisfy { (0x20...0x7E).contains($0) })
    }

    @Test(.holds("123")) func `what is cut says so`() {
        #expect(ServerText.cleaned("abcdefghij", limit: 8) == "abcde...")
        #expect(ServerText.cleaned("abcdefgh", limit: 8) == "abcdefgh")
        #expect(ServerText.cleaned("abc", limit: 2) == "ab")
    }

    @Test(.holds("123"), arguments: 10...22)
    func `an escape is cut off whole, also where text is cleaned again`(limit: Int) {
        let text = "Zugang f\u{FC}r M\u{FC}ller"
        let cut = ServerText.cleaned(text, limit: limit)
        #expect(cut == ServerText.cleaned(ServerText.cleaned(text), limit: limit))
        #expect(!cut.replacing("\\u{fc}", with: "").contains("\\"), "\(cut)")
        #expect(cut.utf8.count <= limit && cut.hasPrefix("Zugang"))
    }
}

struct GrantWarningTests {
    /// Scopes asked for and granted, and the ones named as missing.
    @Test(
        arguments: [
            (["api", "admin"], ["api"], "admin"), (["api"], ["api", "more"], nil),
            (["openid", "offline_access", "api"], ["api"], nil), (["api"], [], nil), ([], ["api"], nil),
            (["a", "b"], ["c"], "a, b"),
        ] as [([String], [String], String?)]
    )
    func `a scope that was asked for and not granted is named`(
        asked: [String],
        granted: [String],
        missing: String?
    ) {
        let remark = GrantWarning.scopes(
            asked: asked,
            granted: granted,
            hasIDToken: true,
            hasRefreshToken: true
        )
        #expect(
            remark?.message
                == missing.map {
                    "the login lacks the configured scopes \($0): "
                        + "the server has not granted them, or they are newer than the login"
                }
        )
    }

    @Test func `a login that has just been made is not older than the configuration`() {
        let remark = GrantWarning.scopes(
            asked: ["api", "admin"],
            granted: ["api"],
            hasIDToken: false,
            hasRefreshToken: true,
            isNew: true
        )
        #expect(remark?.message == "the server did not grant the scopes admin")
    }

    @Test func `openid and offline_access count by what they bring`() {
        let remark = GrantWarning.scopes(
            asked: ["openid", "offline_access", "api"],
            granted: ["api"],
            hasIDToken: false,
            hasRefreshToken: false
        )
        #expect(remark?.message.contains("openid, offline_access") == true)
    }
}
