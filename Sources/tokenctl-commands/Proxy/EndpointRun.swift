// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc
import Text

/// Runs a program whose cloud library finds an `[[endpoint]]`: one that is served already, or one for this program.
struct EndpointRun {
    private let endpoint: AgentEndpoint

    init(_ endpoint: AgentEndpoint) {
        self.endpoint = endpoint
    }

    /// Runs `command` and answers its exit status.
    ///
    /// - Throws: ``AgentError`` if there is no endpoint `name`, or it cannot be served.
    func run(_ name: String, _ command: [String]) throws(AgentError) -> Int32 {
        _ = try endpoint.connect()
        var tables = try ListenerTables(endpoint: endpoint, name: name).read()
        guard let table = tables.listeners?.first, let kind = table.kind, kind != .proxy else {
            throw AgentError(.notFound, "\(name) is a [[proxy]]", remedy: "tokenctl proxy \(name) -- COMMAND")
        }
        let socket = try endpoint.socketPath
        if let listen = table.listen, let place = ListeningPort(listen), place.owner == geteuid() {
            let secret = EndpointSecrets.standing(name, besideSocket: socket)
            guard secret != nil || !kind.hasSecret else {
                throw AgentError(
                    .misconfigured,
                    "\(listen) is in use by another program of yours, which is no tokenctl proxy"
                )
            }
            set(kind, table, url: "http://\(listen)", secret, socket)
            let signals = try RelayedSignals()
            guard let child = ChildProcess.running(command) else { return 127 }
            return ProxiedRun.accompany(child, signals)
        }
        var secrets = EndpointSecrets(besideSocket: socket)
        try secrets.fill(&tables)
        let proxy = try ProxyProcess()
        let places = try proxy.serve(tables)
        try secrets.write()
        set(kind, table, url: places.first?.url ?? "", secrets.secret(of: name), socket)
        let signals = try RelayedSignals()
        guard let child = ChildProcess.running(command) else {
            _ = proxy.end()
            return 127
        }
        let status = ProxiedRun.accompany(child, signals)
        _ = proxy.end()
        return status
    }

    /// Sets the variables that the libraries of the cloud look at.
    private func set(
        _ kind: ListenerKind,
        _ table: ListenerMessage,
        url: String,
        _ secret: String?,
        _ socket: String
    ) {
        let place = String(url.dropFirst("http://".utf8.count))
        switch kind {
        case .proxy: break
        case .awsContainer:
            // These would be looked at first.
            for name in ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN"] {
                unsafe unsetenv(name)
            }
            let file = EndpointSecrets.path(of: table.name ?? "", besideSocket: socket)
            unsafe setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "\(url)/credentials", 1)
            unsafe setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file, 1)
        case .azureIdentity:
            unsafe setenv("IDENTITY_ENDPOINT", "\(url)/msi/token", 1)
            unsafe setenv("IDENTITY_HEADER", secret ?? "", 1)
            if table.doesWithoutSecret == true { unsafe setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", url, 1) }
        case .gceMetadata:
            unsafe setenv("GCE_METADATA_HOST", place, 1)
            unsafe setenv("GCE_METADATA_IP", place, 1)
        }
    }
}
