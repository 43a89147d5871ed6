// SPDX-License-Identifier: MIT

import Text
import TokenCore

extension ServerResponse {
    /// Amazon's name of the error, such as `ForbiddenException`, or `nil` if the response is not from
    /// Amazon's service.
    ///
    /// In a body it may have a namespace before `#`, and in the header a URL after `:`. A text of more than a
    /// thousand bytes is not a name.
    var awsException: String? {
        guard let object = jsonObject,
            let text = object["__type"]?.string ?? object["code"]?.string ?? header("x-amzn-errortype"),
            text.utf8.count <= 1_000,
            let name = text.bytewise.split(on: "#").last?.bytewise.split(on: ":").first
        else { return nil }
        return ServerText.cleaned(name, limit: 100)
    }
}

/// Amazon's names of errors.
enum AWSErrorNames {
    /// Returns whether the same request may succeed later.
    static func isTemporary(_ name: String) -> Bool {
        [
            "TooManyRequestsException", "LimitExceededException", "TooManyFailedAttemptsException",
            "ThrottlingException", "Throttling", "ThrottledException", "RequestLimitExceeded",
            "RequestThrottledException", "SlowDown", "InternalErrorException", "InternalFailure",
            "InternalServerError", "InternalServerException", "ServiceUnavailable",
            "ServiceUnavailableException", "RequestTimeout", "RequestTimeoutException", "ForbiddenException",
            "CodeDeliveryFailureException", "ConcurrentModificationException", "UnexpectedLambdaException",
            "InvalidLambdaResponseException",
        ].contains(name)
    }
}

extension ReportedOAuthError {
    /// Converts Amazon's name of an error to OAuth's: `SlowDownException` becomes `slow_down`.
    init(exception: String, description: String? = nil) {
        let suffix = "Exception"
        let name = exception.hasSuffix(suffix) ? exception.dropLast(suffix.utf8.count) : exception[...]
        var code = ""
        for byte in name.utf8 {
            let isCapital = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
            if isCapital, !code.isEmpty { code.append("_") }
            code.append(Character(Unicode.Scalar(isCapital ? byte | 0x20 : byte)))
        }
        self.init(code: code, description: description)
    }
}
