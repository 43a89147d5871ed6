// SPDX-License-Identifier: MIT

import OAuthClient
import ServerSettings
import TestSupport
import Testing
import TokenCore

@testable import AgentSettings

/// Sessions without `client_id`, whose server says who they are.
struct UnregisteredClientTests {
    private func text(_ keys: String) -> String {
        "[session.work]\nkind = \"oidc\"\nissuer = \"https://id.example\"\n\(keys)\n"
    }

    @Test(
        .holds("194"),
        arguments: [
            ("", ClientRegistrationOptions()),
            (
                #"client_metadata_url = "https://me.example/client.json""#,
                ClientRegistrationOptions(document: "https://me.example/client.json")
            ),
            (#"client_authentication = "post""#, ClientRegistrationOptions(method: .post)),
            (#"client_authentication = "basic""#, ClientRegistrationOptions(method: .basic)),
            (#"flow = "device""#, ClientRegistrationOptions()),
        ]
    )
    func `without client_id the server is asked`(keys: String, introduction: ClientRegistrationOptions) throws
    {
        let session = try #require(try read(text(keys)).sessions.first)
        let client = session.profile { _ in SecretID(rawValue: 0) }.client
        #expect(client == ClientIdentity("", introduction: introduction))
    }

    @Test func `a configured client_id always wins`() throws {
        let session = try #require(try read(text("client_id = \"cli\"")).sessions.first)
        #expect(session.profile { _ in SecretID(rawValue: 0) }.client == ClientIdentity("cli"))
    }

    @Test(arguments: [
        (
            "client_secret = \"s\"",
            "client_id: required: client_secret authenticates the client with this ID"
        ),
        (
            "client_key_file = \"/k\"",
            "client_id: required: client_key_file authenticates the client with this ID"
        ),
        ("client_assertion_file = \"/a\"", "client_id: required: client_assertion_file authenticates"),
        ("flow = \"import\"", "client_id: required: a refresh token works only with the client"),
        (
            "flow = \"token_exchange\"\nsubject_token_file = \"/t\"",
            "client_id: required: a token exchange works only with a registered client"
        ),
        ("flow = \"client_credentials\"", "flow: client_credentials requires a client secret"),
        (
            "flow = \"client_credentials\"\nclient_secret = \"s\"",
            "client_id: required: client_secret authenticates the client with this ID"
        ),
        (
            "client_id = \"cli\"\nclient_metadata_url = \"https://me.example/c\"",
            "client_metadata_url: cannot be combined with client_id"
        ),
        ("client_metadata_url = \"http://me.example/c\"", "client_metadata_url: must begin with https://"),
    ])
    func `a mistake is one line with its remedy`(keys: String, part: String) {
        let lines = complaints(text(keys))
        #expect(lines.count == 1 && lines.first?.contains(part) == true, "\(lines)")
    }

    @Test func `a reload names what has changed`() throws {
        let old = try #require(try read(text("")).sessions.first)
        let keys = "client_metadata_url = \"https://me.example/c\"\nclient_authentication = \"post\""
        let new = try #require(try read(text(keys)).sessions.first)
        #expect(
            new.written.keys(differingFrom: old.written) == ["client_authentication", "client_metadata_url"]
        )
    }
}
