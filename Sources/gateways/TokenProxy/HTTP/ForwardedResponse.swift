// SPDX-License-Identifier: MIT

import NIOCore
import Text

/// The head that is sent to the client.
///
/// It contains the upstream's fields, with the framing of the client's connection.
struct ForwardedResponse {
    let answer: UpstreamResponse
    let request: ProxiedRequest
    let rules: ProxyRules
    /// The host and port at which the client reached the listener, used in rewritten URLs.
    let authority: ArraySlice<UInt8>

    /// The framing of the body on the client's connection.
    var framing: BodyFraming {
        switch answer.framing {
        case .none, .length: answer.framing
        case .chunked, .untilClose: request.isHTTP11 ? .chunked : .untilClose
        }
    }

    /// Serializes the head.
    ///
    /// - Parameter keepsAlive: whether the client may send another request on its connection.
    /// - Returns: the head with its empty line.
    func head(keepsAlive: Bool) -> ByteBuffer {
        var head = ByteBufferAllocator().buffer(capacity: 1024)
        head.writeStaticString("HTTP/1.1 ")
        head.writeString(String(answer.status))
        head.writeStaticString(" ")
        head.writeBytes(answer.reason)
        head.writeStaticString("\r\n")
        for field in answer.fields { write(field, to: &head) }
        head.write(framing)
        if answer.opensWebSocket {
            head.writeStaticString("Connection: Upgrade\r\nUpgrade: websocket\r\n")
        } else if !answer.isInterim {
            if !keepsAlive {
                head.writeStaticString("Connection: close\r\n")
            } else if !request.isHTTP11 {
                head.writeStaticString("Connection: keep-alive\r\n")
            }
        }
        head.writeStaticString("\r\n")
        return head
    }

    private func write(_ field: MessageField, to head: inout ByteBuffer) {
        switch field.meaning {
        case .proofNonce: return
        // A response without a body may still say how long the body would be.
        case .contentLength:
            if answer.framing != .none || answer.status < 200 || answer.status == 204 { return }
        case .location, .contentLocation:
            return head.write(MessageField(name: field.name, value: rewritten(field.value)))
        case let meaning where meaning.isHopByHop: return
        default: break
        }
        guard !answer.connectionOptions.contains(where: { field.name.saysTheSame(as: $0) }) else { return }
        head.write(field)
    }

    /// Rewrites a URL of the upstream as one of the listener.
    ///
    /// Other URLs are unchanged.
    private func rewritten(_ url: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        if let target = rules.upstream.target(of: url) { return address(of: target) }
        guard url.first == UInt8(ascii: "/"), !url.starts(with: "//".utf8) else { return url }
        // A path outside of the listener's prefix exists only at the upstream.
        guard let target = rules.upstream.stripped(url) else { return rules.upstream.origin.utf8 + url }
        if target.starts(with: "//".utf8) { return address(of: target) }
        return target.first == UInt8(ascii: "/") ? target : [UInt8(ascii: "/")] + target
    }

    /// Returns the absolute URL of a path at the listener.
    ///
    /// A path may begin with two slashes, which without scheme and host would name a host.
    private func address(of target: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var address = Array("http://".utf8)
        address += authority
        if target.first != UInt8(ascii: "/") { address.append(UInt8(ascii: "/")) }
        return (address + target)[...]
    }
}
