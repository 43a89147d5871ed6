// SPDX-License-Identifier: MIT

/// A proxy in front of an etcd that forwards calls, but holds back a watch's responses after the first.
package final class WithholdingGateway: Sendable {
    private let server: StreamingServer

    package var address: String { "http://127.0.0.1:\(server.port)" }

    /// Starts a proxy.
    ///
    /// - Parameter endpoint: the URL `http://host:port` of etcd.
    /// - Throws: an error if no port is available.
    package init(before endpoint: String) throws {
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
            peer.send(client.read(until: isWatch ? "\"created\":true}}\n\r\n" : nil).utf8)
            if isWatch { peer.waitUntilLeft() }
        }
    }
}
