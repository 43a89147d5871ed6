// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

struct PrintedTokenTests {
    private static let now = WallTime(secondsSince1970: 1_800_000_000)

    private static func read(_ text: String) throws -> PrintedToken { try PrintedToken(Array(text.utf8)) }

    /// Returns the lifetime of the token in `text`, in seconds, or `nil` if there is none.
    private static func life(_ text: String) -> Int64? {
        try? read(text).lifetime(at: now, assumed: .seconds(300)).wholeSeconds
    }

    @Test(
        .holds("181"),
        arguments: [
            ("at-1\n", "at-1"), ("\n  at-1\r\n\n", "at-1"), (#"{"access_token":"at-1"}"#, "at-1"),
            (#"{"accessToken":"at-1","tokenType":"Bearer","tenant":"x"}"#, "at-1"),
            (#"{"token":"at-1"}"#, "at-1"), (#"{"id_token":"at-1"}"#, "at-1"),
            (#"{"credential":{"access_token":"at-1","id_token":"no"},"configuration":{}}"#, "at-1"),
            (#"{"kind":"ExecCredential","spec":{},"status":{"token":"at-1"}}"#, "at-1"),
            (#"{"id_token":"no","token":"no","accessToken":"no","access_token":"at-1"}"#, "at-1"),
            (#"{"access_token":null,"token":"at-1"}"#, "at-1"),
            (#"{"access_token":"","token":"at-1"}"#, "at-1"),
        ]
    )
    func `tokens are found as programs print them`(output: String, token: String) throws {
        #expect(try Self.read(output).token == token)
    }

    @Test(
        .holds("181"),
        arguments: [
            "", "\n \t", "two words", "one\ntwo", "{", #"{"access_token":7}"#, "{}", #"["at-1"]"# + " x",
            #"{"access_token":"a b"}"#, #"{"access_token":"a\nb"}"#, "{\"token\":\"a\",\"token\":\"b\"}",
            "\u{1B}[31mat",
            #"{"Version":1,"AccessKeyId":"AKIA","SecretAccessKey":"s"}"#, "ERROR: Please run 'az login'",
        ]
    )
    func `anything else is no token, and is not quoted`(output: String) {
        let problem = #expect(throws: PrintedToken.OutputError.self) { try Self.read(output) }
        #expect(problem?.message.contains("at-1") == false)
        #expect(problem?.message.hasPrefix("printed ") == true)
    }

    @Test(
        arguments: [
            ("at", 300), (#"{"token":"t","expires_in":120}"#, 120),
            (#"{"token":"t","expires_in":"120"}"#, 120),
            (#"{"token":"t","expires_on":1800000060}"#, 60),
            (#"{"token":"t","expires_on":"1800000060"}"#, 60),
            (#"{"token":"t","expires_on":1800000060,"expires_in":9}"#, 60),
            (#"{"credential":{"access_token":"t","token_expiry":"2027-01-15T08:10:00Z"}}"#, 600),
            (#"{"status":{"token":"t","expirationTimestamp":"2027-01-15T09:10:00+01:00"}}"#, 600),
            (#"{"accessToken":"t","expiresOn":"2027-01-15T08:10:00.25Z"}"#, 600),
            // az's own clock has no zone.
            (#"{"accessToken":"t","expiresOn":"2027-01-15 08:10:00.000000"}"#, 300),
            (#"{"accessToken":"t","expiresOn":"2027-01-15 08:10:00","expires_on":1800000600}"#, 600),
            (#"{"token":"t","expires_in":"soon"}"#, 300), (#"{"token":"t","expires_on":-5}"#, 300),
            (#"{"token":"t","expires_on":1e300}"#, 300), (#"{"token":"t","expires_in":1e300}"#, 315_360_000),
            (#"{"token":"t","expires_in":0}"#, nil), (#"{"token":"t","expires_on":1799999999}"#, nil),
        ] as [(String, Int64?)]
    )
    func `its end is read as programs print it`(output: String, seconds: Int64?) {
        #expect(Self.life(output) == seconds)
    }

    @Test func `a signed token's own end counts where nothing else is said`() {
        func signed(_ expiry: Int64) -> String {
            let claims = Base64.urlEncoded(Array(#"{"exp":\#(expiry)}"#.utf8))
            return "eyJhbGciOiJub25lIn0.\(claims).c2ln"
        }
        #expect(Self.life(signed(1_800_000_090)) == 90)
        #expect(Self.life(signed(1_799_999_000)) == nil)
        #expect(Self.life(#"{"token":"\#(signed(1_800_000_090))","expires_in":40}"#) == 40)
    }

    @Test(arguments: [
        "2027-01-15T08:00:00", "2027-13-15T08:00:00Z", "2027-1-15T08:00:00Z", "2027-01-15T08:00:00+1", "Z",
        "2027-01-15T08:00:00Zz", "\u{662}027-01-15T08:00:00Z",
    ])
    func `times that are none, or have no zone, are not read`(text: String) {
        #expect(ZonedTime.read(text) == nil)
    }
}
