// SPDX-License-Identifier: Apache-2.0
import Authorization
import HTTPMessages

extension TokenInspection.Problem {
  /// What to change in the backend.
  var advice: String {
    switch kind {
    case .notJWT: "Check token.token_key, and the provider's value for it"
    case .headerUnreadable, .unsigned, .algorithm, .signatureMissing:
      "Sign with the private key of a Google service account, RS256"
    case .keyIDMissing: "Set `kid` to the key's private_key_id"
    case .audience: "Set \"aud\": \"\(TokenInspection.audience)\""
    case .account: "Set both to the service account's e-mail address"
    case .issueTimeMissing, .expirationMissing, .lifetimeTooLong, .lifetimeEmpty:
      "Set `iat` to the time of signing, and `exp` to at most 3600 seconds later"
    case .notYetValid: "Check the clock of the machine that signs"
    case .expired: "Check the clock of the machine that signs, and that no cache returns old tokens"
    case .authorizationMissing, .claimMissing, .claimMistyped: "Sign exactly this claim"
    case .otherContext: "Sign for the ID in the request; check vehicle.vehicle_id and the placeholders of the request"
    case .anyContext: "Sign for this one ID"
    }
  }

  /// As a finding of `doctor`.
  var finding: Finding { isFatal ? .fail(sentence, advice) : .warn(sentence, advice) }
}

extension TokenFailure {
  /// What to do about it, in addition to the message.
  var advice: String {
    switch reason {
    case .missingAuthorizationContext: "Check the placeholders in [token]: docs/token-provider.md"
    case .transport(.unresolved), .transport(.unreachable), .transport(.refused), .transport(.timedOut):
      "Check token.url, token.proxy, the name servers and the firewall"
    case .transport(.certificateUntrusted), .transport(.handshakeFailed):
      "Check token.ca_file, token.client_certificate, and whether a captive portal or proxy answers instead"
    case .transport(.certificateNotYetValid), .transport(.certificateExpired):
      "Check the certificate, and this machine's clock: timedatectl"
    case .transport: "Try: curl -v URL"
    case .status(401), .status(403): "Check token.headers, the credential, and the client certificate"
    case .status(300..<400): "Set token.url to the URL that it redirects to: redirects are not followed"
    case .status(429): "The provider limits requests: wait, or raise its limit"
    case .status(500...): "Read the provider's log"
    case .status: "Check token.url, and read the provider's log"
    case .missingData, .notJSON: "Check token.url; the answer must be one JSON object"
    case .missingField: "Check token.token_key, token.expiration_key and token.response"
    case .unknownLifetime: "Check token.expiration_key and token.expiration_format; or sign `iat` and `exp`"
    case .notJWT: "Check token.token_key, and the provider's value for it"
    case .missingClaim: "Sign exactly this claim: docs/token-provider.md"
    case .wrongVehicle, .wrongContext: "Check vehicle.vehicle_id, and which ID the provider signs"
    case .expired: "Check the clocks of both machines, and that no cache returns old tokens"
    case .unchanged: "Make the provider sign a new token for each request"
    case .program:
      "Run it manually as the service's user; the service cannot see /root and /home (ProtectHome=), so install it in /usr/local/bin"
    case .file: "Check token.file, and the program that renews it"
    }
  }
}
