// SPDX-License-Identifier: MIT

import ArgumentParser
import DemoIssuer
import Text

@main
struct DemoIssuerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo-issuer",
        abstract: "A small OAuth 2.0 and OpenID Connect server for demonstrations and tests.",
        discussion: """
            Listens on 127.0.0.1, prints one line of JSON, and runs until SIGTERM, SIGINT or the end of standard \
            input. Every login is approved. Requests below the URL in "control" change what it does; their \
            bodies are JSON:

              GET requests?path=/token    the log of requests; DELETE empties it
              GET counts                  requests by path and by grant type
              GET alive?token=TOKEN       whether a refresh token is accepted
              POST kill {"user": "bob"}   end the logins of a user, or all
              POST forget_access          reject the access tokens issued so far
              POST settings {"access_ttl": 60}
                                          also deny, rotation, delay_ms and others
              POST queue {"path": "/token", "status": 500, "times": 1}
                                          answer the next requests in this way
              POST approve {"user_code": CODE, "deny": true}
                                          decide a device login
            """
    )

    @Option(help: "Port to listen on; 0 means any free one.")
    var port = 0

    @Option(help: "Serve HTTPS with a fresh certificate; its authority goes to ca.pem in this directory.")
    var tls: String?

    @Option(help: "Lifetime of access tokens in seconds.")
    var accessTTL = 20

    @Option(help: "Lifetime of refresh tokens in seconds; without it they do not expire.")
    var refreshTTL: Int?

    @Option(help: "What a refresh does to the refresh token: none, strict or grace=SECONDS.")
    var rotation = "none"

    @Option(help: "Proofs of possession, RFC 9449: off, allowed or required.")
    var dpop = "off"

    @Flag(name: .customLong("dpop-nonce"), help: "Demand a fresh nonce in every proof of possession.")
    var demandsDPoPNonce = false

    @Option(help: "Seconds every answer takes.")
    var delay = 0.0

    @Option(help: "How tokens are signed: ES256 or RS256.")
    var algorithm = "ES256"

    @Flag(help: "Keep running when standard input ends.")
    var ignoreStandardInput = false

    func run() async throws {
        let authority = try CertificateAuthority()
        var caFile: String?
        if let tls { caFile = try CertificateFile.write(authority.certificatePEM, in: tls) }
        let issuer = try await DemoIssuer.start(options(authority))
        print(announcement(issuer, caFile: caFile).text)
        try StandardOutput.flush()
        await RunUntilEnded.wait(watchingStandardInput: !ignoreStandardInput)
        await issuer.stopListening()
    }

    private func options(_ authority: CertificateAuthority) throws -> DemoIssuer.Options {
        guard let rotation = IssuerSettings.Rotation(rotation) else {
            throw ValidationError("--rotation is none, strict or grace=SECONDS")
        }
        guard let algorithm = SigningKey.Algorithm(rawValue: algorithm) else {
            throw ValidationError("--algorithm is ES256 or RS256")
        }
        guard let dpop = IssuerSettings.DPoPDemand(rawValue: dpop) else {
            throw ValidationError("--dpop is off, allowed or required")
        }
        var options = DemoIssuer.Options()
        options.port = port
        options.algorithm = algorithm
        options.settings.rotation = rotation
        options.settings.dpop = dpop
        options.settings.demandsDPoPNonce = demandsDPoPNonce
        options.settings.accessLifetime = .seconds(accessTTL)
        options.settings.refreshLifetime = refreshTTL.map { .seconds($0) }
        options.settings.delay = .milliseconds(Int64(delay * 1000))
        if tls != nil { options.tls = try authority.issue() }
        return options
    }

    private func announcement(_ issuer: DemoIssuer, caFile: String?) -> JSONValue {
        var object = JSONObject()
        object["issuer"] = .string(issuer.issuer)
        object["port"] = .integer(issuer.port)
        object["pid"] = .integer(RunUntilEnded.processID)
        object["control"] = .string("\(issuer.issuer)/_control/")
        object["ca_file"] = caFile.map(JSONValue.string)
        object["clients"] = .array(
            issuer.registry.clients.map { client in
                var entry = JSONObject()
                entry["client_id"] = .string(client.id)
                entry["client_secret"] = client.secret.map(JSONValue.string)
                return .object(entry)
            }
        )
        object["users"] = .array(
            issuer.registry.users.map { ["username": .string($0.name), "password": .string($0.password)] }
        )
        return .object(object)
    }
}
