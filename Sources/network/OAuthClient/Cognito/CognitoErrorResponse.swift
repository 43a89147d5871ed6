// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// An error of Cognito, with Amazon's name and the agent's classification.
struct CognitoErrorResponse: Error, Equatable {
    var failure: RefreshFailure
    /// Amazon's name of the error, or `nil` if the response is not from Cognito.
    var exception: String?
    /// Amazon's explanation, made printable.
    var explanation = ""
    var status = 0

    init(failure: RefreshFailure) {
        self.failure = failure
    }

    /// Classifies a response that is not a 200.
    init(_ reply: ServerResponse, from server: String, at now: WallTime) {
        let object = reply.jsonObject
        status = reply.status
        exception = reply.awsException
        explanation = ServerText.cleaned((object?["message"] ?? object?["Message"])?.string ?? "", limit: 300)
        let answer = reply.refused(object: nil, at: now)
        var failure = FailureClassification.classify(answer, from: server)
        if let exception {
            failure.code = exception
            let said = explanation.isEmpty ? exception : "\(exception): \(explanation)"
            failure.message = ServerText.cleaned(
                "\(server) returned \(status) \(FailureClassification.quoted(said, at: status))"
            )
            // A gateway's status, throttling and 5xx outweigh the body.
            if (400..<500).contains(status), ![407, 408, 425, 429].contains(status) {
                failure.kind = CognitoErrorResponse.meaning(of: exception, explanation)
            }
            if exception == "ForbiddenException" {
                // The response comes from a web firewall and not from the pool.
                failure.minimumDelay = FailureClassification.proxyPause
            }
        }
        self.failure = failure
    }

    /// Classifies one of Amazon's errors.
    static func meaning(of exception: String, _ explanation: String) -> FailureClass {
        switch exception {
        case "NotAuthorizedException": meaning(ofNotAuthorized: explanation.lowercased())
        case "RefreshTokenReuseException", "UserNotFoundException": .grantDead
        case _ where isAboutPerson(exception): .interactionRequired
        case _ where AWSErrorNames.isTemporary(exception): .busy
        case _ where isAboutSettings(exception): .misconfigured
        default: .unexplained
        }
    }

    /// Classifies `NotAuthorizedException`, Amazon's only name for invalid tokens, wrong passwords, wrong
    /// client secrets and too many attempts.
    private static func meaning(ofNotAuthorized explanation: String) -> FailureClass {
        if explanation.contains("secret") { return .clientRejected }
        if explanation.contains("attempts exceeded") { return .busy }
        return .grantDead
    }

    private static func isAboutPerson(_ exception: String) -> Bool {
        [
            "UserNotConfirmedException", "PasswordResetRequiredException", "CodeMismatchException",
            "ExpiredCodeException", "InvalidPasswordException", "PasswordHistoryPolicyViolationException",
            "AliasExistsException", "EnableSoftwareTokenMFAException",
        ].contains(exception)
    }

    private static func isAboutSettings(_ exception: String) -> Bool {
        [
            "ResourceNotFoundException", "InvalidParameterException", "InvalidUserPoolConfigurationException",
            "UnrecognizedClientException", "UnsupportedOperationException", "UnsupportedTokenTypeException",
            "UnauthorizedException", "InvalidSmsRoleAccessPolicyException",
            "InvalidSmsRoleTrustRelationshipException", "InvalidEmailRoleAccessPolicyException",
            "MFAMethodNotFoundException", "SoftwareTokenMFANotFoundException",
            "UserPoolAddOnNotEnabledException", "UnknownOperationException", "SerializationException",
            "ValidationException", "AccessDeniedException", "MissingAuthenticationToken",
            "MissingAuthenticationTokenException", "InvalidAction", "InvalidSignatureException",
            "IncompleteSignature", "OptInRequired",
        ].contains(exception)
    }
}

extension CognitoErrorResponse {
    /// Whether the client does not allow the requested way to authenticate.
    var meansFlowNotEnabled: Bool {
        guard exception == "InvalidParameterException" || exception == "NotAuthorizedException" else {
            return exception == "UnsupportedOperationException"
        }
        return ["not enabled", "not supported", "not allowed"].contains { explanation.contains($0) }
    }

    /// Whether the other operation may accept the refresh token, because rotation excludes
    /// `REFRESH_TOKEN_AUTH`.
    ///
    /// Amazon does not document the texts, so only unambiguous ones rule rotation out.
    var mayMeanRotation: Bool {
        switch exception {
        case "NotAuthorizedException":
            let words = explanation.lowercased()
            return failure.kind == .grantDead
                && !["revoked", "expired", "disabled"].contains { words.contains($0) }
        case "InvalidParameterException", "UnsupportedOperationException": return true
        default: return false
        }
    }

    /// Whether the server does not know or does not allow the operation.
    var meansNoSuchOperation: Bool {
        switch exception {
        case "UnsupportedOperationException", "UnsupportedTokenTypeException", "UnknownOperationException",
            "InvalidAction":
            true
        // Servers other than Amazon's reject unknown operations in different ways.
        case nil: [404, 405, 500, 501].contains(status)
        default: false
        }
    }
}
