// SPDX-License-Identifier: MIT

import NIOCore
import Text

/// The head that the client gets: what the upstream wrote, in the frame of the client's own connection.
struct ForwardedResponse {
    let answer: UpstreamResponse
    let request: ProxiedRequest
    let rules: ProxyRules
    /// Host and port at which the client reached the listener, for addresses in the answer.
    let authority: ArraySlice<UInt8>

    /// Where the body ends for the client.
    var framing: BodyFraming {
        switch answer.framing {
        case .none, .length: answer.framing
        case .chunked, .untilClose: request.isHTTP11 ? .chunked : .untilClose
        }
    }

    /// The head with its empty line; `keepsAlive`: the client may send another request on its connection.
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
        // An answer without a body may say how long it would be.
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

    /// An address of the upstream as one of the listener; any other stays as it is.
    private func rewritten(_ url: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        if let target = rules.upstream.target(of: url) { return address(of: target) }
        guard url.first == UInt8(ascii: "/"), !url.starts(with: "//".utf8) else { return url }
        // What the listener does not serve is found at the upstream alone.
        guard let target = rules.upstream.stripped(url) else { return rules.upstream.origin.utf8 + url }
        if target.starts(with: "//".utf8) { return address(of: target) }
        return target.first == UInt8(ascii: "/") ? target : [UInt8(ascii: "/")] + target
    }

    /// The address of a path at the listener, which may begin with two slashes: alone they would name a host.
    private func address(of target: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var address = Array("http://".utf8)
        address += authority
        if target.first != UInt8(ascii: "/") { address.append(UInt8(ascii: "/")) }
        return (address + target)[...]
    }
}
