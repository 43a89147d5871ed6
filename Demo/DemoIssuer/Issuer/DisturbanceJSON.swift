// SPDX-License-Identifier: MIT

import Text

extension Disturbance {
    /// Parses the body of `POST /_control/queue`.
    ///
    /// The members are `status`, `headers` (object), `body`, `process` (bool), `delay_before_ms`, `delay_ms`,
    /// `hold`, `ending` (`complete`, `hang`, `fin`, `rst`, `drip`), `after_bytes`, `bytes_per_second` and
    /// `grant_type`.
    init?(_ object: JSONObject) {
        var reply: IssuerResponse?
        if let status = object["status"]?.integer {
            let headers = object["headers"]?.object?.members ?? []
            reply = IssuerResponse(
                status: Int(status),
                headers: headers.map { ($0.name, $0.value.string ?? $0.value.text) },
                body: Array((object["body"]?.string ?? "").utf8)
            )
        }
        guard let ending = Ending(object) else { return nil }
        self.init(
            reply: reply,
            isProcessed: object["process"]?.bool,
            delayBefore: .milliseconds(object["delay_before_ms"]?.integer ?? 0),
            delay: .milliseconds(object["delay_ms"]?.integer ?? 0),
            isHeld: object["hold"]?.bool ?? false,
            ending: ending,
            grantType: object["grant_type"]?.string
        )
    }
}

extension Disturbance.Ending {
    fileprivate init?(_ object: JSONObject) {
        let count = Int(object["after_bytes"]?.integer ?? 0)
        switch object["ending"]?.string ?? "complete" {
        case "complete": self = .complete
        case "hang": self = .hang
        case "fin": self = .finish(afterBytes: count)
        case "rst": self = .reset(afterBytes: count)
        case "drip": self = .drip(bytesPerSecond: Int(object["bytes_per_second"]?.integer ?? 1))
        default: return nil
        }
    }
}
