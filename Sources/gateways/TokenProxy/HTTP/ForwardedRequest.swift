// SPDX-License-Identifier: MIT

import NIOCore
import Text

/// The head that is sent to the upstream.
///
/// It contains the client's fields, except those about the client's connection and credentials.
struct ForwardedRequest {
    let request: ProxiedRequest
    let rules: ProxyRules

    /// Serializes the head.
    ///
    /// - Parameters:
    ///   - authorization: scheme and token.
    ///   - proof: the proof of possession of the token's key (RFC 9449 §4.2).
    /// - Returns: the head with its empty line.
    /// - Throws: ``ForwardingError`` if `Destination` is outside of the listener.
    func head(authorization: String, proof: String?) throws(ForwardingError) -> ByteBuffer {
        var head = ByteBufferAllocator().buffer(capacity: 1024)
        head.writeBytes(request.method)
        head.writeStaticString(" ")
        head.writeBytes(rules.upstream.prefix)
        head.writeBytes(request.target)
        head.writeStaticString(" HTTP/1.1\r\n")
        head.write("Host", rules.upstream.authority)
        for field in request.fields {
            switch field.meaning {
            case .destination:
                head.write(MessageField(name: field.name, value: try destination(field.value)))
            case let name where passes(field, name):
                head.write(field)
            default:
                break
            }
        }
        head.write("Authorization", authorization)
        if let proof { head.write("DPoP", proof) }
        writeFrame(to: &head)
        head.writeStaticString("\r\n")
        return head
    }

    private func passes(_ field: MessageField, _ name: KnownField) -> Bool {
        switch name {
        case .host, .authorization, .accessTokenProof, .forwarded, .forwardedPart, .expect: return false
        case .pathOverride: if rules.paths.exist || !rules.upstream.prefix.isEmpty { return false }
        case .methodOverride: if !rules.methods.isEmpty { return false }
        case _ where name.isHopByHop: return false
        default: break
        }
        return !request.connectionOptions.contains { field.name.saysTheSame(as: $0) }
    }

    private func writeFrame(to head: inout ByteBuffer) {
        head.write(request.framing)
        if request.expectsContinue { head.writeStaticString("Expect: 100-continue\r\n") }
        if request.wantsWebSocket {
            head.writeStaticString("Connection: Upgrade\r\nUpgrade: websocket\r\n")
        } else if acceptsTrailers {
            head.writeStaticString("Connection: TE\r\nTE: trailers\r\n")
        }
    }

    private var acceptsTrailers: Bool {
        request.fields.contains { field in
            field.meaning == .te && field.value.listElements.contains { $0.says("trailers") }
        }
    }

    /// Replaces the listener's address in a `Destination` by that of the upstream (RFC 4918 §10.3).
    private func destination(_ value: ArraySlice<UInt8>) throws(ForwardingError) -> ArraySlice<UInt8> {
        let refusal = ForwardingError.malformed("Destination is not an address of this listener")
        var target = value
        let scheme = Array("http://".utf8)
        if value.prefix(scheme.count).saysTheSame(as: scheme[...]) {
            let rest = value.dropFirst(scheme.count)
            let authority = rest.prefix { $0 != UInt8(ascii: "/") }
            guard let host = request.host, authority.saysTheSame(as: host) else { throw refusal }
            target = rest.dropFirst(authority.count)
        }
        guard target.first == UInt8(ascii: "/"), !target.starts(with: "//".utf8),
            target.allSatisfy(\.isVisibleASCII)
        else { throw refusal }
        try rules.check(path: target.prefix { $0 != UInt8(ascii: "?") })
        var address = Array(rules.upstream.origin.utf8)
        address += rules.upstream.prefix
        address += target
        return address[...]
    }
}
