// SPDX-License-Identifier: MIT

import Testing
import TokenCore

@testable import OAuthClient

struct CognitoErrorResponseTests {
    func refusal(
        _ body: String,
        status: Int = 400,
        headers: [String: String] = [:]
    ) -> CognitoErrorResponse {
        let list = headers.map { ServerResponse.Header(name: $0.key, value: $0.value) }
        let reply = ServerResponse(status: status, headers: list, body: Array(body.utf8))
        return CognitoErrorResponse(reply, from: "idp.example", at: WallTime(secondsSince1970: 1_800_000_000))
    }

    func amazon(_ type: String, _ message: String = "", status: Int = 400) -> CognitoErrorResponse {
        refusal(#"{"__type":"\#(type)","message":"\#(message)"}"#, status: status)
    }

    @Test(arguments: [
        ("Refresh Token has expired", FailureClass.grantDead), ("Refresh Token has been revoked", .grantDead),
        ("Invalid Refresh Token.", .grantDead), ("User is disabled.", .grantDead),
        ("Incorrect username or password.", .grantDead), ("", .grantDead),
        ("Password attempts exceeded", .busy),
        ("SecretHash does not match for the client: c", .clientRejected),
        ("Unable to verify secret hash for client c", .clientRejected),
        ("Client c is configured with secret but SECRET_HASH was not received", .clientRejected),
    ])
    func `NotAuthorizedException means what its message says`(message: String, kind: FailureClass) {
        let refusal = amazon("NotAuthorizedException", message)
        #expect(refusal.failure.kind == kind)
        #expect(refusal.failure.code == "NotAuthorizedException")
    }

    /// Every error Amazon documents for the operations in use, and the common ones.
    @Test(arguments: [
        (
            FailureClass.busy,
            [
                "TooManyRequestsException", "LimitExceededException", "TooManyFailedAttemptsException",
                "ThrottlingException", "InternalErrorException", "InternalFailure", "ServiceUnavailable",
                "RequestTimeoutException", "ForbiddenException", "CodeDeliveryFailureException",
                "ConcurrentModificationException", "UnexpectedLambdaException",
                "InvalidLambdaResponseException",
            ]
        ),
        (.grantDead, ["RefreshTokenReuseException", "UserNotFoundException"]),
        (
            .interactionRequired,
            [
                "UserNotConfirmedException", "PasswordResetRequiredException", "CodeMismatchException",
                "ExpiredCodeException", "InvalidPasswordException", "PasswordHistoryPolicyViolationException",
                "AliasExistsException",
            ]
        ),
        (
            .misconfigured,
            [
                "ResourceNotFoundException", "InvalidParameterException",
                "InvalidUserPoolConfigurationException", "UnrecognizedClientException",
                "UnsupportedOperationException", "UnsupportedTokenTypeException", "UnauthorizedException",
                "InvalidSmsRoleAccessPolicyException", "InvalidSmsRoleTrustRelationshipException",
                "InvalidEmailRoleAccessPolicyException", "MFAMethodNotFoundException",
                "SoftwareTokenMFANotFoundException", "UserPoolAddOnNotEnabledException",
                "UnknownOperationException", "SerializationException", "ValidationException",
                "AccessDeniedException",
            ]
        ),
        (.unexplained, ["UserLambdaValidationException", "SomethingNewException"]),
    ])
    func `every documented error has its meaning`(kind: FailureClass, names: [String]) {
        for name in names {
            #expect(amazon(name).failure.kind == kind, "\(name)")
            #expect(amazon("com.amazonaws.cognito#\(name)").exception == name)
        }
    }

    @Test(arguments: [429, 408, 500, 502, 503, 504])
    func `a status that asks for patience outweighs the error`(status: Int) {
        let kind = amazon("NotAuthorizedException", "Refresh Token has expired", status: status).failure.kind
        #expect(kind == (status == 502 || status == 504 ? .ambiguous : .busy))
    }

    @Test(arguments: [
        (400, "", FailureClass.unexplained), (400, "<html>portal</html>", .busy), (403, "", .busy),
        (404, "<html>", .busy), (302, "", .misbehaved), (500, "<!doctype html>", .busy),
    ])
    func `what Cognito did not say ends nothing`(status: Int, body: String, kind: FailureClass) {
        let refusal = refusal(body, status: status)
        #expect(refusal.failure.kind == kind)
        #expect(refusal.exception == nil)
    }

    @Test func `the header names the error where the body does not`() {
        let refusal = refusal(
            #"{"message":"slow"}"#,
            headers: ["x-amzn-errortype": "TooManyRequestsException:http://x/"]
        )
        #expect(refusal.exception == "TooManyRequestsException")
        #expect(refusal.failure.kind == .busy)
    }

    @Test(arguments: [(900, true), (1_100, false)])
    func `a name without end is none`(length: Int, isName: Bool) {
        let name = String(repeating: "#", count: length) + "NotAuthorizedException"
        let refusal = refusal(#"{"__type":"\#(name)","message":"no"}"#)
        #expect(refusal.exception == (isName ? "NotAuthorizedException" : nil))
    }

    @Test func `a web firewall is left alone for a minute`() {
        #expect(amazon("ForbiddenException", status: 403).failure.minimumDelay == .seconds(60))
    }
}
