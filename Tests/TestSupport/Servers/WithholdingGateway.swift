// SPDX-License-Identifier: MIT

/// A proxy in front of an etcd that forwards calls, and holds back a watch's responses after the first.
package final class WithholdingGateway: Sendable {
    private let server: StreamingServer

    package var address: String { "http://127.0.0.1:\(server.port)" }

    /// Starts a proxy.
    ///
    /// - Parameters:
    ///   - endpoint: the URL `http://host:port` of etcd.
    ///   - change: changes the response to a call.
    ///   - withholds: whether a new watch is held back.
    /// - Throws: an error if no port is available.
    package init(
        before endpoint: String,
        changing change: @escaping @Sendable (String) -> String = { $0 },
        withholding withholds: @escaping @Sendable () -> Bool = { true }
    ) throws {
        let port = Int(endpoint.split(separator: ":").last ?? "") ?? 0
        server = try StreamingServer { request, peer in
            defer { peer.leave() }
            guard let client = try? RawClient(port: port) else { return }
            let isWatch = request.target.hasSuffix("/watch")
            let head = [
                "POST \(request.target) HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json",
                "Content-Length: \(request.body.utf8.count)", isWatch ? "Accept: */*" : "Connection: close",
            ]
            client.send(head.joined(separator: "\r\n") + "\r\n\r\n" + request.body)
            peer.send(change(client.read(until: isWatch ? "\"created\":true}}\n\r\n" : nil)).utf8)
            guard isWatch else { return }
            if withholds() { return peer.waitUntilLeft() }
            client.forEachPiece(peer.send)
        }
    }
}
