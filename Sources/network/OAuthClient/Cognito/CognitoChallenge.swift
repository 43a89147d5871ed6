// SPDX-License-Identifier: MIT

import ModularArithmetic
import Text
import TokenCore

/// One step that Cognito requires before it issues tokens.
struct CognitoChallenge: Equatable {
    var name: String
    /// The identifier of the active login, which some responses omit.
    var session: String?
    var parameters: JSONObject

    /// Reads the challenge in a response, or returns `nil` if there is none.
    init?(_ answer: JSONObject) {
        guard let name = answer["ChallengeName"]?.string, !name.isEmpty else { return nil }
        self.name = ServerText.cleaned(name, limit: 60)
        session = answer["Session"]?.string
        parameters = answer["ChallengeParameters"]?.object ?? JSONObject()
    }

    /// The parameter for a code that the user enters, and its prompt, or `nil` if no code is required.
    var codeQuestion: (parameter: String, prompt: String)? {
        let place = parameters["CODE_DELIVERY_DESTINATION"]?.string.map { " sent to \($0)" } ?? ""
        let sent = ServerText.cleaned("Code\(place)", limit: 120)
        return switch name {
        case "SOFTWARE_TOKEN_MFA": ("SOFTWARE_TOKEN_MFA_CODE", "Code from the authenticator app")
        case "SMS_MFA": ("SMS_MFA_CODE", sent)
        case "SMS_OTP": ("SMS_OTP_CODE", sent)
        case "EMAIL_OTP": ("EMAIL_OTP_CODE", sent)
        default: nil
        }
    }

    /// The second factor to choose.
    ///
    /// An app's code is preferred because it needs no delivery.
    var preferredFactor: String? {
        let list = parameters["MFAS_CAN_CHOOSE"]?.string ?? "[]"
        let factors = (try? JSONValue(parsing: list.utf8))?.array ?? []
        return ["SOFTWARE_TOKEN_MFA", "EMAIL_OTP", "SMS_MFA"].first { factors.contains(.string($0)) }
    }

    /// The values of a `PASSWORD_VERIFIER` challenge, or `nil` if one is missing or malformed.
    var passwordVerifier: SRPClient.Challenge? {
        guard let userID = parameters["USER_ID_FOR_SRP"]?.string,
            let salt = parameters["SALT"]?.string.flatMap({ HexNumber.decoded($0) }),
            let serverKey = parameters["SRP_B"]?.string.flatMap({ HexNumber.decoded($0) })
                .flatMap({ Residue(bigEndian: $0) }),
            let block = secretBlock
        else { return nil }
        // Amazon's block is Base64. Servers that imitate Cognito send any text and check no proof.
        let secretBlock = Base64.decoded(block) ?? Array(block.utf8)
        return SRPClient.Challenge(userID: userID, salt: salt, serverKey: serverKey, secretBlock: secretBlock)
    }

    /// The `SECRET_BLOCK`, which is sent back unchanged.
    var secretBlock: String? { parameters["SECRET_BLOCK"]?.string }
}
