// SPDX-License-Identifier: MIT

import AgentProtocol
import NIOCore
import Text

@testable import TokenProxy

/// Feeds `bytes` to the proxy as requests of a client or responses of an upstream.
func fuzzProxy(_ bytes: [UInt8]) {
    guard let first = bytes.first else { return }
    let stream = bytes.dropFirst()
    switch first % 4 {
    case 0: fuzzRequests(stream, ProxyScene.open)
    case 1: fuzzRequests(stream, ProxyScene.narrow)
    case 2: fuzzAnswers(stream, toHead: false)
    default: fuzzAnswers(stream, toHead: true)
    }
}

/// The rules of two listeners.
private enum ProxyScene {
    static let token = "Bearer our-token"
    static let open = rules { $0.upstream = "https://api.example.com" }
    static let narrow = rules {
        $0.upstream = "https://api.example.com/base"
        $0.paths = ["/v1/*", "/one"]
        $0.methods = ["GET", "POST"]
    }
    static let request = read(Array("GET / HTTP/1.1\r\nHost: 127.0.0.1:1".utf8))

    private static func rules(_ fill: (inout ProxyListenerMessage) -> Void) -> ProxyRules {
        guard let rules = ProxyRules(ProxyListenerMessage(fill)) else { preconditionFailure("no rules") }
        return rules
    }

    static func read(_ head: [UInt8]) -> ProxiedRequest? {
        (try? MessageHead(head)).flatMap { try? ProxiedRequest($0) }
    }
}

/// A body and what followed it.
private struct ReadBody: Equatable {
    var bytes: [UInt8] = []
    var trailers: [MessageField] = []
    var isWhole = false
    var isBroken = false
    var rest = 0
}

/// Reads requests from the stream until one is invalid.
private func fuzzRequests(_ stream: ArraySlice<UInt8>, _ rules: ProxyRules) {
    var input = ByteBuffer(bytes: stream)
    var search = HeadSearch(longest: 65536)
    for _ in 0..<16 {
        guard let head = try? search.take(from: &input) else { return }
        guard let request = ProcessorTime.limited("a request", { ProxyScene.read(head) }) else { return }
        let body = ProcessorTime.limited("a body") { read(input, request.framing) }
        checkPassed(request, body, rules)
        guard body.isWhole, !body.isBroken else { return }
        input.moveReaderIndex(to: input.writerIndex - body.rest)
    }
}

/// Checks that the upstream gets exactly one request, with only the proxy's token and with an unchanged body.
private func checkPassed(_ request: ProxiedRequest, _ body: ReadBody, _ rules: ProxyRules) {
    let isAllowed = ProcessorTime.limited("the rules") { (try? rules.check(request)) != nil }
    guard isAllowed else { return }
    let passed = ForwardedRequest(request: request, rules: rules)
    let head = ProcessorTime.limited("a passed head") {
        try? passed.head(authorization: ProxyScene.token, proof: nil)
    }
    guard let head else { return }
    let bytes = Array(head.readableBytesView)
    precondition(bytes.suffix(4).elementsEqual("\r\n\r\n".utf8), "a head without its end")
    guard let again = ProxyScene.read(bytes.dropLast(4)) else {
        preconditionFailure("the upstream gets no request")
    }
    precondition(again.framing == request.framing, "the upstream sees another body")
    precondition(again.method == request.method && again.isHTTP11)
    precondition(again.target.elementsEqual(rules.upstream.prefix + request.target), "another target")
    precondition(again.host.map { $0.elementsEqual(rules.upstream.authority.utf8) } == true, "another host")
    let tokens = again.fields.filter { KnownField($0.name) == .authorization }
    precondition(tokens.count == 1 && tokens[0].value.elementsEqual(ProxyScene.token.utf8), "another token")
    precondition(!again.has(.accessTokenProof) && !again.has(.forwarded) && !again.has(.forwardedPart))
    checkWritten(body, again.framing)
}

/// Checks that a body that was framed again has the same bytes.
private func checkWritten(_ body: ReadBody, _ framing: BodyFraming) {
    guard body.isWhole, !body.isBroken, framing == .chunked else { return }
    let writer = BodyWriter(framing: framing)
    var written = ByteBuffer()
    if !body.bytes.isEmpty {
        writer.write(ByteBuffer(bytes: body.bytes)) { written.writeImmutableBuffer($0) }
    }
    if let end = writer.end(body.trailers) { written.writeImmutableBuffer(end) }
    let again = read(written, framing)
    precondition(again.isWhole && !again.isBroken && again.rest == 0, "a frame that breaks")
    precondition(again.bytes == body.bytes, "a body of other bytes")
    precondition(
        again.trailers.allSatisfy { KnownField($0.name) == .unimportant },
        "a trailer that says too much"
    )
}

/// A head of an answer, and its body.
private func fuzzAnswers(_ stream: ArraySlice<UInt8>, toHead isHead: Bool) {
    guard let request = ProxyScene.request else { preconditionFailure("no request") }
    var input = ByteBuffer(bytes: stream)
    var search = HeadSearch(longest: 65536)
    while let head = try? search.take(from: &input) {
        let answer = ProcessorTime.limited("an answer") {
            (try? MessageHead(head)).flatMap { try? UpstreamResponse($0, toHead: isHead) }
        }
        guard let answer else { return }
        let passed = ForwardedResponse(
            answer: answer,
            request: request,
            rules: ProxyScene.open,
            authority: Array("127.0.0.1:1".utf8)[...]
        )
        let bytes = ProcessorTime.limited("a passed answer") { passed.head(keepsAlive: true) }
        checkPassed(answer, passed.framing, Array(bytes.readableBytesView), isHead: isHead)
        ProcessorTime.limited("an answer's words") {
            _ = (answer.challenge, answer.nonce, answer.opensWebSocket)
        }
        let body = ProcessorTime.limited("an answer's body") { read(input, answer.framing) }
        checkWritten(body, passed.framing)
        guard answer.isInterim else { return }
    }
}

/// Checks that the client gets the upstream's response in the proxy's own framing.
private func checkPassed(_ answer: UpstreamResponse, _ framing: BodyFraming, _ head: [UInt8], isHead: Bool) {
    precondition(head.suffix(4).elementsEqual("\r\n\r\n".utf8), "a head without its end")
    let again = (try? MessageHead(Array(head.dropLast(4)))).flatMap {
        try? UpstreamResponse($0, toHead: isHead)
    }
    guard let again else { preconditionFailure("the client gets no answer") }
    precondition(again.status == answer.status && again.nonce == nil, "the client reads another answer")
    precondition(again.framing == framing, "the client sees another body")
}

/// Reads a body in one piece, and again in pieces.
private func read(_ input: ByteBuffer, _ framing: BodyFraming) -> ReadBody {
    let whole = read(input, framing, inPiecesOf: max(1, input.readableBytes))
    // A short body alone: in pieces of one byte a long one takes too long.
    if input.readableBytes <= 4096 {
        let split = read(input, framing, inPiecesOf: 1)
        precondition(split.bytes == whole.bytes && split.isBroken == whole.isBroken, "pieces read otherwise")
        precondition(split.trailers == whole.trailers && split.isWhole == whole.isWhole)
    }
    return whole
}

private func read(_ input: ByteBuffer, _ framing: BodyFraming, inPiecesOf size: Int) -> ReadBody {
    var reader = BodyReader(framing)
    var body = ReadBody()
    var rest = input
    var given = ByteBuffer()
    do throws(ForwardingError) {
        repeat {
            if let piece = rest.readSlice(length: min(size, rest.readableBytes)) {
                given.writeImmutableBuffer(piece)
            }
            while let piece = try reader.next(&given) {
                switch piece {
                case .data(let data): body.bytes += data.readableBytesView
                case .end(let trailers):
                    body.trailers = trailers
                    body.isWhole = true
                }
            }
        } while rest.readableBytes > 0 && !body.isWhole
        if !body.isWhole, reader.finish(), case .end = try reader.next(&given) { body.isWhole = true }
    } catch {
        body.isBroken = true
    }
    body.rest = given.readableBytes + rest.readableBytes
    return body
}
