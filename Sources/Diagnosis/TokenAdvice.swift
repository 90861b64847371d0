// SPDX-License-Identifier: Apache-2.0
import Authorization
import HTTPMessages

extension TokenInspection.Problem {
  /// What the backend has to do about it.
  var advice: String {
    switch kind {
    case .notJWT: "Check token.token_key, and what the provider puts there"
    case .headerUnreadable, .unsigned, .algorithm, .signatureMissing:
      "Sign with the private key of a Google service account, RS256"
    case .keyIDMissing: "Write the key's private_key_id as `kid`"
    case .audience: "Write \"aud\": \"\(TokenInspection.audience)\""
    case .account: "Write the service account's e-mail address into both"
    case .issueTimeMissing, .expirationMissing, .lifetimeTooLong, .lifetimeEmpty:
      "Write `iat`, the time of signing, and `exp`, 3600 seconds later at most"
    case .notYetValid: "Check the clock of the machine that signs"
    case .expired: "Check the clock of the machine that signs, and that no cache gives out old tokens"
    case .authorizationMissing, .claimMissing, .claimMistyped: "Write the claim just so when signing"
    case .otherContext: "Sign for the ID in the request; check vehicle.vehicle_id and the request's template"
    case .anyContext: "Sign for one ID"
    }
  }

  /// As a line of the doctor's.
  var finding: Finding { isFatal ? .fail(sentence, advice) : .warn(sentence, advice) }
}

extension TokenFailure {
  /// What a person can do about it, beside what the message says.
  var advice: String {
    switch reason {
    case .missingAuthorizationContext: "Check the placeholders in [token]: docs/token-provider.md"
    case .transport(.unresolved), .transport(.unreachable), .transport(.refused), .transport(.timedOut):
      "Check token.url, token.proxy, the name servers and the firewall between"
    case .transport(.certificateUntrusted), .transport(.handshakeFailed):
      "Check token.ca_file, token.client_certificate, and whether a portal or proxy answers in its place"
    case .transport(.certificateNotYetValid), .transport(.certificateExpired):
      "Check the certificate, and this machine's clock: timedatectl"
    case .transport: "Look at it with: curl -v, and the URL"
    case .status(401), .status(403): "Check token.headers, the credential, and the client certificate"
    case .status(300..<400): "Write the URL that it redirects to: redirects are not followed"
    case .status(429): "Wait, and ask less often"
    case .status(500...): "Look into the provider's log"
    case .status: "Check token.url, and look into the provider's log"
    case .missingData, .notJSON: "Check token.url; the answer must be one JSON object"
    case .missingField: "Check token.token_key, token.expiration_key and token.response"
    case .unknownLifetime: "Check token.expiration_key and token.expiration_format; or sign `iat` and `exp`"
    case .notJWT: "Check token.token_key, and what the provider puts there"
    case .missingClaim: "Write the claim just so when signing: docs/token-provider.md"
    case .wrongVehicle, .wrongContext: "Check vehicle.vehicle_id, and what the provider signs"
    case .expired: "Check the clocks of both machines, and that no cache gives out old tokens"
    case .unchanged: "Let the provider sign a new token for each request"
    case .program:
      "Run it by hand as the service's user; the service sees no /root and no /home (ProtectHome=): /usr/local/bin is a good place"
    case .file: "Check token.file, and the program that renews it"
    }
  }
}
