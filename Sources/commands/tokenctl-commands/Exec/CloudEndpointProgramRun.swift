// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc
import Text

/// A run of a program whose cloud library uses an `[[endpoint]]`, which is already served or is served for
/// this program.
struct CloudEndpointProgramRun {
    private let endpoint: AgentEndpoint

    init(_ endpoint: AgentEndpoint) {
        self.endpoint = endpoint
    }

    /// Runs `command` with the endpoint `name`.
    ///
    /// - Parameters:
    ///   - name: The name of the table.
    ///   - command: The program and its arguments.
    /// - Returns: The exit status of the program.
    /// - Throws: ``AgentError`` if there is no endpoint `name`, or it cannot be served.
    func run(_ name: String, _ command: [String]) throws(AgentError) -> Int32 {
        _ = try endpoint.connect()
        let tables = try ConfiguredListenersReader(
            endpoint: endpoint,
            name: name,
            remedy: .set("an [[endpoint]] with this name in the configuration")
        ).read()
        guard let table = tables.listeners?.first, let kind = table.kind, kind != .proxy else {
            throw AgentError(
                .notFound,
                "\(name) is a [[proxy]], not an [[endpoint]]",
                remedy: .run("tokenctl proxy \(name) -- COMMAND")
            )
        }
        let socket = try endpoint.socketPath
        if let standing = RunningEndpoint(name, besideSocket: socket) {
            set(kind, table, standing)
            return try ListenerRun.supervise(command)
        }
        guard kind.hasSecret else {
            return try serve(tables, table, kind, RunningEndpoint(url: ""), command)
        }
        // This secret is only for this run; another run of the same endpoint has its own. The file is removed
        // when this function returns.
        let file = try ExecTokenFile(besideSocket: socket)
        var served = RunningEndpoint(url: "")
        served.secret = try EndpointSecrets.random()
        try file.write(served.secret ?? "")
        served.secretFile = file.path
        return try serve(tables, table, kind, served, command)
    }

    /// Serves only `table` while `command` runs, with the URL and `secrets` in its environment.
    private func serve(
        _ tables: ListenersSetupMessage,
        _ table: ProxyListenerMessage,
        _ kind: ProxyListenerKind,
        _ secrets: RunningEndpoint,
        _ command: [String]
    ) throws(AgentError) -> Int32 {
        var (tables, table, served) = (tables, table, secrets)
        table.secret = served.secret
        tables.listeners = [table]
        let proxy = try ProxyProcess()
        served.url = try CloudEndpointProgramRun.address(of: tables, table, by: proxy)
        set(kind, table, served)
        return try proxy.serve(around: command)
    }

    /// Makes `proxy` serve the table at its address, or at any free port if that port is in use.
    ///
    /// Any port works, because the variables contain the URL. Only an attempt to listen shows whether the
    /// port is free, because another run of the same endpoint may begin or end at any moment.
    private static func address(
        of tables: ListenersSetupMessage,
        _ table: ProxyListenerMessage,
        by proxy: borrowing ProxyProcess
    ) throws(AgentError) -> String {
        do throws(AgentError) {
            return try proxy.serve(tables).first?.url ?? ""
        } catch {
            guard error.code == .misconfigured, let listen = table.listen else { throw error }
            var (tables, table) = (tables, table)
            table.place = PortOwnerUIDLookup.any(at: listen)
            tables.listeners = [table]
            return try proxy.serve(tables).first?.url ?? ""
        }
    }

    /// Sets the environment variables that the cloud's libraries read.
    private func set(_ kind: ProxyListenerKind, _ table: ProxyListenerMessage, _ served: RunningEndpoint) {
        let url = served.url
        let place = String(url.dropFirst("http://".utf8.count))
        switch kind {
        case .proxy: break
        case .awsContainer:
            // The libraries would prefer these variables.
            for name in ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN"] {
                unsafe unsetenv(name)
            }
            unsafe setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "\(url)/credentials", 1)
            unsafe setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", served.secretFile ?? "", 1)
        case .azureIdentity:
            unsafe setenv("IDENTITY_ENDPOINT", "\(url)/msi/token", 1)
            unsafe setenv("IDENTITY_HEADER", served.secret ?? "", 1)
            if table.doesWithoutSecret == true { unsafe setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", url, 1) }
        case .gceMetadata:
            unsafe setenv("GCE_METADATA_HOST", place, 1)
            unsafe setenv("GCE_METADATA_IP", place, 1)
            // gcloud and older libraries read this variable.
            unsafe setenv("GCE_METADATA_ROOT", place, 1)
        }
    }
}
