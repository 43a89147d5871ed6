// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// A managed identity endpoint for Azure SDKs, in the form of App Service.
///
/// The form of the instance metadata service has no secret and is served only where it is allowed.
struct AzureIdentity {
    private static let appServiceVersion = "2019-08-01"
    private static let metadataVersion = "2018-02-01"

    private let service: CloudCredentialService

    init(_ service: CloudCredentialService) {
        self.service = service
    }

    func answer(_ call: EndpointRequest, _ answered: @escaping (LocalResponse) -> Void) {
        let isMetadata = call.path.bytewise == "/metadata/identity/oauth2/token"
        guard isMetadata || call.path.bytewise == "/msi/token" else {
            return answered(AzureIdentity.refusal(404, "not_found", "not found"))
        }
        guard isMetadata ? isAllowedMetadata(call) : call.showsSecret(in: "x-identity-header") else {
            let message =
                isMetadata
                ? "header Metadata: true is missing" : "header X-IDENTITY-HEADER is wrong or missing"
            return answered(AzureIdentity.refusal(isMetadata ? 400 : 401, "invalid_request", message))
        }
        let version = isMetadata ? AzureIdentity.metadataVersion : AzureIdentity.appServiceVersion
        guard call.parameter("api-version")?.bytewise == version.bytewise else {
            return answered(AzureIdentity.refusal(400, "invalid_request", "api-version must be \(version)"))
        }
        guard let resource = call.parameter("resource"), resource.utf8.isVisibleWord,
            let tokenRequest = call.rules.tokenRequest(resource: resource)
        else {
            let message = "this endpoint does not serve tokens for this resource"
            return answered(AzureIdentity.refusal(400, "invalid_resource", message))
        }
        service.token(tokenRequest) { answered(AzureIdentity.answer($0, resource)) }
    }

    private func isAllowedMetadata(_ call: EndpointRequest) -> Bool {
        call.rules.doesWithoutSecret && call.request.only("metadata")?.says("true") == true
    }

    private static func answer(_ result: Result<AgentToken, AgentError>, _ resource: String) -> LocalResponse
    {
        switch result {
        case .failure(let error):
            let status = LocalResponse.status(of: error.code)
            return refusal(status, error.code.rawValue, error.advised.description).telling(error)
        case .success(let token):
            // The SDKs expect numbers as strings.
            var object: JSONObject = [
                "access_token": .string(token.value), "token_type": "Bearer", "resource": .string(resource),
            ]
            if let end = token.expiresAt { object["expires_on"] = .string(String(end)) }
            if let life = token.expiresIn { object["expires_in"] = .string(String(life)) }
            return LocalResponse(200, "application/json", JSONValue.object(object).serialized)
        }
    }

    /// Creates an error response.
    ///
    /// SDKs show the first two members from the metadata service, and the other two from App Service.
    private static func refusal(_ status: Int, _ code: String, _ message: String) -> LocalResponse {
        let body: JSONValue = [
            "error": .string(code), "error_description": .string(message),
            "statusCode": .integer(status), "message": .string(message),
        ]
        return LocalResponse(status, "application/json", body.serialized)
    }
}
