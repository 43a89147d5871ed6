// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Testing
import Text

/// Which session an address means.
struct ResourceAddressTests {
    private static func session(_ name: String, _ resource: String?) -> SessionMessage {
        SessionMessage {
            $0.session = name
            $0.resource = resource
        }
    }

    @Test(arguments: [
        ("https://a.example/mcp", "https://a.example/mcp", true),
        ("https://a.example/mcp", "https://A.example:443/mcp/", true),
        ("https://a.example/mcp", "https://a.example/mcp/x?y=1#z", true),
        ("https://a.example", "https://a.example/mcp", true),
        ("https://a.example/mcp", "https://a.example/mcpx", false),
        ("https://a.example/mcp", "https://a.example/", false),
        ("https://a.example/mcp", "https://a.example/MCP", false),
        ("https://a.example/mcp", "http://a.example/mcp", false),
        ("https://a.example/mcp", "https://a.example:8443/mcp", false),
        ("https://a.example/mcp", "https://b.example/mcp", false),
        ("https://a.example/mcp", "https://a.example.evil.example/mcp", false),
    ])
    func `an address covers what is below it by whole segments`(
        resource: String,
        address: String,
        covers: Bool
    ) throws {
        let (own, other) = (try #require(ResourceAddress(resource)), try #require(ResourceAddress(address)))
        #expect(own.covers(other) == covers)
    }

    @Test(arguments: [
        "", "work", "a.example/mcp", "://a.example", "ftp://a.example/", "https:///mcp",
        "https://a b.example/",
        "https://a.example\\mcp", "https://me@b@a.example/", "https://a.example/mcp/../x",
        "https://a.example/%2E%2e/x", "https://a.example/./x",
    ])
    func `what could be read in two ways is no address`(text: String) {
        #expect(ResourceAddress(text) == nil)
    }

    @Test func `of several sessions the closest is meant`() throws {
        let sessions = [
            Self.session("whole", "https://a.example"), Self.session("near", "https://a.example/mcp/team"),
            Self.session("mcp", "https://a.example/mcp"), Self.session("second", "https://a.example/mcp"),
            Self.session("none", nil), Self.session("odd", "no address"),
        ]
        for (address, name) in [
            ("https://a.example/mcp", "mcp"), ("https://a.example/mcp/team/x", "near"),
            ("https://a.example/other", "whole"),
        ] {
            #expect(try #require(ResourceAddress(address)).session(among: sessions) == name)
        }
        let elsewhere = try #require(ResourceAddress("https://b.example/mcp"))
        #expect(elsewhere.session(among: sessions) == nil)
    }

    @Test func `a session whose tokens are requested for an address is for it, after one that is at it`()
        throws
    {
        var requested = SessionMessage()
        (requested.session, requested.resources) = (
            "requested", ["https://a.example/", "https://b.example/mcp"]
        )
        let address = try #require(ResourceAddress("https://b.example/mcp/tools"))
        #expect(address.session(among: [requested]) == "requested")
        #expect(address.session(among: [requested, Self.session("at", "https://b.example")]) == "at")
        #expect(try #require(ResourceAddress("https://b.example/other")).session(among: [requested]) == nil)
    }

    @Test(arguments: [
        ("https://mcp.example.com/mcp", "mcp.example.com"), ("http://127.0.0.1:8080/x", "127.0.0.1"),
        ("http://[::1]:8080/x", "1-"), ("https://a_b.example/", "a-b.example"),
    ])
    func `a new session is named for the host`(address: String, name: String) throws {
        #expect(try #require(ResourceAddress(address)).name == name)
    }

    @Test func `a word in a command is one word, whatever it contains`() {
        #expect(ShellWord.quoted("https://a.example") == "'https://a.example'")
        #expect(ShellWord.quoted("it's $(id)") == #"'it'\''s $(id)'"#)
    }
}
