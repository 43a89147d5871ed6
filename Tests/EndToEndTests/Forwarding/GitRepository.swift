// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

/// A repository with one file, `file`, that an issuer hands out as any web server could (gitprotocol-http(5), dumb).
struct GitRepository {
    private let path: String
    private let files: [String]

    init(in home: TemporaryDirectory) async throws {
        let path = home.path("repository")
        self.path = path
        let made = try await Program.run(
            [
                "/bin/sh", "-ec",
                """
                mkdir "$HOME"; cd "$HOME"; git init -q -b main --template= tree; cd tree; echo content >file
                git add file; git -c user.name=a -c user.email=a@example.com commit -q -m first
                git clone -q --bare --template= . ../bare.git; cd ../bare.git; git update-server-info
                find . -type f | sed 's|^./||'
                """,
            ],
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": path, "GIT_CONFIG_NOSYSTEM": "1"]
        )
        try #require(made.status == 0, "\(made)")
        files = made.standardOutput.split(separator: "\n").map(String.init)
    }

    func url(at issuer: DemoIssuer) -> String { issuer.issuer + "/repository.git" }

    /// Serves the repository at `issuer` for requests with an `accepted` token, sent as git sends a helper's password.
    func serve(at issuer: DemoIssuer, accepted: @escaping @Sendable (String) -> Bool) {
        for file in files {
            let content = File.bytes("\(path)/bare.git/\(file)") ?? []
            issuer.add(
                Route("GET", "/repository.git/\(file)") { request in
                    let words = (request.basicCredentials ?? "").split(separator: ":", maxSplits: 1)
                    guard words.count == 2, words[0] == "oauth2", accepted(String(words[1])) else {
                        return IssuerResponse(
                            status: 401,
                            headers: [("WWW-Authenticate", #"Basic realm="git""#)]
                        )
                    }
                    return IssuerResponse(headers: [("Content-Type", "text/plain")], body: content)
                }
            )
        }
    }
}
