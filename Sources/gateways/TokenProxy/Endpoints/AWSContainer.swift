// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// A credential endpoint for AWS SDKs in a container, which returns the credentials of a role.
///
/// `AWS_CONTAINER_CREDENTIALS_FULL_URI` is the address of the endpoint. The token in the file named by
/// `AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE` is the value of `Authorization`.
struct AWSContainer {
    private let service: CloudCredentialService

    init(_ service: CloudCredentialService) {
        self.service = service
    }

    func answer(_ call: EndpointRequest, _ answered: @escaping (LocalResponse) -> Void) {
        guard call.showsSecret(in: "authorization") else {
            return answered(
                AWSContainer.refusal(401, "AccessDenied", "the authorization token is wrong or missing")
            )
        }
        guard call.path.bytewise == "/credentials" else {
            return answered(AWSContainer.refusal(404, "NotFound", "not found"))
        }
        // SDKs give up after two seconds and try again.
        let request = AgentRequest(.get, "sessions", service.session, "aws", query: [("timeout", "1")])
        service.ask(request) { answered(AWSContainer.answer($0)) }
    }

    private static func answer(_ result: Result<AgentResponse, AgentError>) -> LocalResponse {
        switch result {
        case .failure(let error):
            let status = LocalResponse.status(of: error.code)
            return refusal(status, error.code.rawValue, error.advised.description).telling(error)
        case .success(let response):
            guard let role = (try? JSONValue(parsing: response.body))?.object,
                let key = role["AccessKeyId"], let secret = role["SecretAccessKey"]
            else { return refusal(500, "internal", "the agent's response contains no credentials") }
            var object: JSONObject = ["AccessKeyId": key, "SecretAccessKey": secret]
            object["Token"] = role["SessionToken"]
            object["Expiration"] = role["Expiration"]
            return LocalResponse(200, "application/json", JSONValue.object(object).serialized)
        }
    }

    /// Creates an error response with the two members that SDKs show.
    private static func refusal(_ status: Int, _ code: String, _ message: String) -> LocalResponse {
        let body: JSONValue = ["code": .string(code), "message": .string(message)]
        return LocalResponse(status, "application/json", body.serialized)
    }
}
