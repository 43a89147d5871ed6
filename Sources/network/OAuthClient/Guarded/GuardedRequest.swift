// SPDX-License-Identifier: MIT

import NIOCore
import NIOHTTP1
import Text

extension HTTPRequestHead {
    /// The head of `request`, whose body is `body`, if it has one.
    ///
    /// - Throws: `misconfigured` if a header cannot be written.
    init(of request: OutgoingRequest, _ body: OutgoingBody?) throws(TransportFailure) {
        let url = request.url
        var fields = HTTPHeaders(of: request, body)
        fields.add(name: "host", value: url.hostAndPort)
        let isGet = body == nil || request.hasParametersInURL && request.format.placement == .get
        if let body, !isGet { fields.add(name: "content-length", value: "\(body.count)") }
        for (name, value) in fields {
            guard !name.isEmpty, name.utf8.allSatisfy(\.isTokenByte), value.utf8.allSatisfy(\.isFieldByte)
            else { throw .misconfigured("the header \(name) cannot be sent unchanged") }
        }
        self.init(
            version: .http1_1,
            method: request.deletes ? .DELETE : isGet ? .GET : .POST,
            uri: request.target,
            headers: fields
        )
    }
}
