// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    private static let hasBrowser = Program.succeeds(
        "env PATH='\(TestEnvironment.searchPath)' sh -c 'command -v chromium && command -v python3'"
    )

    /// The pages of the redirect listener, in a real browser.
    @Suite(.full, .enabled(if: hasBrowser, "chromium or python3 is not installed here"))
    struct BrowserPageTests {
        /// An end of a browser login.
        enum Ending: CaseIterable, Sendable {
            case success, failure, rejection

            var title: String {
                switch self {
                case .success: "You are logged in"
                case .failure: "The login failed"
                case .rejection: "Not a login"
                }
            }
        }

        @Test(.holds("93"), arguments: Ending.allCases)
        func `a page has two color schemes, fits a phone, and leaves no code in the browser`(
            ending: Ending
        ) async throws {
            let scene = try await Scene(flow: "browser")
            try await scene.agent.start()
            if ending == .failure {
                let text = String(repeating: "x", count: 400)
                scene.issuer.queue(.failure("invalid_grant", description: text))
            }
            let login = try scene.agent.startTokenctl(["login", "work", "--json", "--no-browser"])
            let line = try await login.outputLine(containing: "open_url")
            let step = try #require(try JSONValue(parsing: line.utf8).object)
            var url = try #require(step["url"]?.string)
            if ending == .rejection {
                url = try #require(step["redirect_uri"]?.string) + "?code=SECRET-code&state=SECRET-state"
            }
            let shown = try await open(url, in: scene)
            #expect(shown["title"]?.string?.hasPrefix(ending.title) == true, "\(shown)")
            let addresses = [shown["address"]] + (shown["history"]?.array ?? [])
            for address in addresses.map({ $0?.string ?? "" }) {
                for word in ["code=", "state=", "?", "SECRET"] {
                    #expect(!address.contains(word), "\(address)")
                }
            }
            let looks = ["light", "dark", "narrow"].map { shown[$0]?.object ?? JSONObject() }
            for color in ["back", "card", "text"] {
                #expect(looks[0][color]?.string?.hasPrefix("rgb(") == true, "\(looks[0])")
                #expect(looks[0][color] != looks[1][color], "\(color)")
            }
            for look in looks {
                #expect(look["overflows"]?.bool == false && look["wide"]?.array?.isEmpty == true, "\(look)")
            }
            if ending == .rejection { login.signal(.interrupt) }
            _ = try await login.finish()
        }

        /// Opens `url` in a browser, and returns what it shows.
        private func open(_ url: String, in scene: Scene) async throws -> JSONObject {
            let script = "\(BuiltPrograms.checkout)/Tests/Browser/chromium.py"
            let result = try await scene.agent.shell(
                "PATH='\(TestEnvironment.searchPath)' exec python3 -B '\(script)' '\(url)'",
                within: .seconds(120)
            )
            try #require(result.status == 0, "\(result)")
            return try #require(try JSONValue(parsing: result.standardOutput.utf8).object)
        }
    }
}
