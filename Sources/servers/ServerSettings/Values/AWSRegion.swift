// SPDX-License-Identifier: MIT

import Text

/// AWS regions, whose names become parts of host names.
package enum AWSRegion {
    /// Returns whether `text` can be the name of a region, such as `eu-west-1`: 1 to 32 letters, digits and
    /// hyphens.
    package static func isName(_ text: String) -> Bool {
        (1...32).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || $0 == UInt8(ascii: "-") }
    }

    /// Returns the URL of `service` in `region`, without a slash at the end.
    ///
    /// China has a separate domain.
    package static func origin(of service: String, in region: String) -> String {
        let domain = region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
        return "https://\(service).\(region).\(domain)"
    }
}
