// SPDX-License-Identifier: Apache-2.0

extension FleetService {
  /// Updates a vehicle. Every request is counted and recorded, accepted or not.
  func update(
    _ received: Request, _ service: VehicleService, provider: String, vehicle: String, at now: ServerTime
  ) -> Reply {
    let key = service.key(vehicle)
    // Decoded for the record, even if the response is a fault.
    let decoding = Result { () throws(APIError) in try received.decoded(limit: HTTPServer.maximumBodySize) }
    let request = (try? decoding.get()) ?? received
    let fault = consumeFault(.update, vehicle: vehicle, features: Fault.Feature.all(of: request, received), at: now)
    if let fault, !fault.appliesUpdate, let reply = fault.reply(at: now, replacing: nil) {
      let status = reply.silence == nil ? reply.status : 0
      statistics[key, default: .init()].recordRefused(status: status, bytes: request.receivedSize)
      publish(
        .refused(.init(fault, reply)), key, UpdateLine.event(vehicle, "\(fault.label): \(fault.summary)"), at: now)
      recordUpdate(request, as: received, accepted: false, status: status, at: now)
      return reply
    }
    var reply: Reply
    var accepted = true
    do throws(APIError) {
      reply = try applyUpdate(try decoding.get(), service, provider: provider, vehicle: vehicle, at: now)
    } catch {
      reply = Reply(error)
      accepted = false
      statistics[key, default: .init()].recordRefused(status: error.httpStatus, bytes: request.receivedSize)
      publish(.refused(.init(error)), key, UpdateLine.refused(vehicle: vehicle, error: error), at: now)
    }
    if let fault {
      publish(.info, key, UpdateLine.event(vehicle, "the response has a \(fault.label): \(fault.summary)"), at: now)
      reply = fault.reply(at: now, replacing: reply) ?? reply
    }
    recordUpdate(request, as: received, accepted: accepted, status: reply.silence == nil ? reply.status : 0, at: now)
    return reply
  }

  private func applyUpdate(
    _ request: Request, _ service: VehicleService, provider: String, vehicle: String, at now: ServerTime
  ) throws(APIError) -> Reply {
    let call = try authorizedCall(
      request, service, provider: provider, vehicle: vehicle, known: ["updateMask"], at: now)
    guard let maskText = call.parameters["updateMask"] else {
      throw .invalid("update_mask cannot be empty", field: "update_mask", reason: "EMPTY_UPDATE_MASK")
    }
    let mask = try UpdateMask(maskText, of: service.vehicleSchema)
    let update = try body(request, service, name: call.name)
    guard var stored = vehicles[call.name] ?? (options.createsVehicles ? ["name": .string(call.name)] : nil) else {
      throw APIError(.notFound, "Vehicle \(vehicle) was not found.", reason: "VEHICLE_NOT_FOUND")
    }
    stored = MessageValidator.response(mask.apply(update, to: stored), as: service.vehicleSchema)
    if mask.topLevel.contains("lastLocation"), update["lastLocation"] != nil {
      stored["lastLocation"]?["serverTime"] = .string(RFC3339.text(milliseconds: now.wall))
    }
    let answer = try call.answer(stored)
    vehicles[call.name] = stored
    let key = service.key(vehicle)
    let (previousUpdate, previousPosition) = (statistics[key]?.lastUpdate, statistics[key]?.lastPosition)
    let warnings = statistics[key, default: .init()].recordAccepted(
      update, mask: mask, bytes: request.receivedSize, at: now, minimumInterval: options.minimumInterval)
    let gap = previousUpdate.map { now.steady - $0.steady }
    let positionGap = previousPosition.map { now.steady - $0.steady }
    let named = mask.topLevel
    let position = named.contains("lastLocation") ? update["lastLocation"] : nil
    let past = named.contains("pastLocations") ? update["pastLocations"]?.array : nil
    publish(
      .accepted(
        position.flatMap { ReportedPosition($0, at: now.wall) },
        past: (past ?? []).compactMap { ReportedPosition($0, at: now.wall) }),
      key,
      UpdateLine.accepted(
        vehicle: vehicle, update: update, mask: mask, warnings: warnings, gap: gap, positionGap: positionGap, at: now),
      at: now)
    return Reply(json: answer)
  }

  /// Returns a vehicle.
  func get(
    _ request: Request, _ service: VehicleService, provider: String, vehicle: String, at now: ServerTime
  ) throws(APIError) -> Reply {
    let call = try authorizedCall(request, service, provider: provider, vehicle: vehicle, at: now)
    guard let stored = vehicles[call.name] else {
      throw APIError(.notFound, "Vehicle \(vehicle) was not found.", reason: "VEHICLE_NOT_FOUND")
    }
    return Reply(json: try call.answer(stored))
  }

  /// Lists the vehicles of a provider in the order of their names, in pages of at most a hundred.
  func list(
    _ request: Request, _ service: VehicleService, provider: String, at now: ServerTime
  ) throws(APIError) -> Reply {
    let call = try authorizedCall(
      request, service, provider: provider, vehicle: "*", known: ["pageSize", "pageToken"], at: now)
    let size = try call.parameters["pageSize"].map { (text) throws(APIError) in
      guard let number = Int(text), number >= 0 else { throw .invalid("page_size is negative.", field: "page_size") }
      return number
    }
    let previous = try call.parameters["pageToken"].map { (text) throws(APIError) in
      guard let bytes = Base64.decode(text[...], alphabet: .url), let name = String(validating: bytes, as: UTF8.self)
      else { throw .invalid("The page token is not one of this server.", field: "page_token") }
      return name
    }
    let prefix = service.name(provider: provider, vehicle: "")
    let names = vehicles.keys.filter { $0.hasPrefix(prefix) }.sorted()
    let rest = names.drop { $0 <= previous ?? "" }
    let page = rest.prefix(min(size.flatMap { $0 > 0 ? $0 : nil } ?? Self.maximumPageSize, Self.maximumPageSize))
    var listed: [JSON] = []
    for name in page {
      if let stored = vehicles[name] { listed.append(try call.answer(stored)) }
    }
    var answer: JSON = ["totalSize": .string(String(names.count))]
    if !listed.isEmpty { answer[service.collection] = .array(listed) }
    if let last = page.last, page.count < rest.count {
      answer["nextPageToken"] = .string(Base64.encodeURLSafe(Array(last.utf8)))
    }
    return Reply(json: answer)
  }

  private static var maximumPageSize: Int { 100 }

  /// Creates a vehicle.
  func create(
    _ request: Request, _ service: VehicleService, provider: String, at now: ServerTime
  ) throws(APIError) -> Reply {
    let identifier = try request.parameters().first { $0.name == service.identifierParameter }?.value ?? ""
    try ResourceName.check(identifier)
    let call = try authorizedCall(
      request, service, provider: provider, vehicle: identifier, known: [service.identifierParameter], at: now)
    var created = try body(request, service, name: nil, ignoring: service.ignoredOnCreate)
    if let member = created.members.first(where: { service.refusedOnCreate.contains($0.name) }) {
      throw .invalid("\(member.name) must not be set when a vehicle is created.", field: member.name)
    }
    if let missing = service.requiredOnCreate.first(where: { created[$0] == nil }) {
      throw .invalid("\(missing) must be set when a vehicle is created.", field: missing)
    }
    guard vehicles[call.name] == nil else {
      throw APIError(.alreadyExists, "Vehicle \(identifier) already exists.", reason: "VEHICLE_ALREADY_EXISTS")
    }
    created["name"] = .string(call.name)
    let stored = MessageValidator.response(created, as: service.vehicleSchema)
    let answer = try call.answer(stored)
    vehicles[call.name] = stored
    publish(.info, service.key(identifier), UpdateLine.event(identifier, "created"), at: now)
    return Reply(json: answer)
  }

  private func body(
    _ request: Request, _ service: VehicleService, name: String?, ignoring ignored: Set<String> = []
  ) throws(APIError) -> JSON {
    let type = request.header("content-type")?.split(separator: ";").first?.lowercased()
    guard type == "application/json" else {
      throw .invalid("The Content-Type must be application/json.", reason: "INVALID_CONTENT_TYPE")
    }
    var json = try Self.parse(request)
    if !ignored.isEmpty, case .object(let members) = json {
      json = .object(members.filter { !ignored.contains($0.name) })
    }
    json = try MessageValidator.check(json, as: service.vehicleSchema, at: service.bodyField)
    if let name, let given = json["name"]?.string, given != name {
      throw .invalid("\(service.bodyField).name is not the vehicle of the URL.", field: "\(service.bodyField).name")
    }
    return json
  }

  /// Checks what all calls have in common: names, permissions, and the parameters of every Google API.
  ///
  /// - Parameter known: the names of the call's own parameters.
  private func authorizedCall(
    _ request: Request, _ service: VehicleService, provider: String, vehicle: String, known: Set<String> = [],
    at now: ServerTime
  ) throws(APIError) -> Call {
    try ResourceName.check(vehicle)
    try ResourceName.check(provider)
    try verifier.check(request.header("authorization"), vehicle: vehicle, of: service, at: now)
    if let only = options.provider, provider != only {
      throw APIError(
        .permissionDenied, "Permission denied on resource project \(provider).", reason: "CONSUMER_INVALID")
    }
    return try Call(request, service, name: service.name(provider: provider, vehicle: vehicle), known: known)
  }
}

/// A call whose parameters have been checked.
private struct Call {
  /// The vehicle's resource name.
  let name: String
  private let service: VehicleService
  /// The parameters of the query; no name occurs twice.
  let parameters: [String: String]
  private let responseMask: String?

  private static let systemParameters: Set<String> = [
    "$alt", "alt", "$fields", "fields", "$prettyPrint", "prettyPrint", "$.xgafv", "key", "quotaUser", "$userProject",
  ]

  init(_ request: Request, _ service: VehicleService, name: String, known: Set<String>) throws(APIError) {
    self.name = name
    self.service = service
    var parameters: [String: String] = [:]
    for (key, value) in try request.parameters() {
      if key.hasPrefix("header.") {
        try Call.checkHeader(String(key.dropFirst("header.".count)), value, as: CommonSchema.header)
      } else if !known.contains(key), !Call.systemParameters.contains(key) {
        throw .invalid(
          "Invalid JSON payload received. Unknown name \"\(key)\": Cannot bind query parameter. "
            + "Field '\(key)' could not be found in request message.", field: key)
      }
      guard parameters.updateValue(value, forKey: key) == nil else {
        throw .invalid("The parameter \"\(key)\" is given twice.", field: key)
      }
    }
    let hasHeader = parameters.keys.contains { $0.hasPrefix("header.") }
    if hasHeader && parameters["header.regionCode"] == nil {
      throw .invalid("header.region_code is required in a header.", field: "header.region_code")
    }
    self.parameters = parameters
    responseMask = request.header("x-goog-fieldmask") ?? parameters["$fields"] ?? parameters["fields"]
  }

  /// The vehicle in the format that the caller requests.
  func answer(_ stored: JSON) throws(APIError) -> JSON {
    var result = stored
    if let responseMask { result = try ResponseMask.trim(stored, to: responseMask, of: service.vehicleSchema) }
    switch parameters["$alt"] ?? parameters["alt"] {
    case nil, "json": return result
    case "json;enum-encoding=int":
      return MessageValidator.withNumericEnums(result, as: .message(service.vehicleSchema))
    case .some(let other): throw .invalid("alt=\(other) is not emulated: json is.", field: "alt")
    }
  }

  /// A field of the request header, whose value in a query is always text.
  private static func checkHeader(
    _ field: String, _ value: String, as header: MessageSchema
  ) throws(APIError) {
    guard let schema = header.fields[field] else {
      throw .invalid(
        "Invalid JSON payload received. Unknown name \"\(field)\" at 'header': Cannot bind query parameter.",
        field: "header")
    }
    var json = JSON.string(value)
    switch schema.type {
    case .enumeration, .int32: if Int64(value) != nil { json = .number(value) }
    default: break
    }
    _ = try MessageValidator.check(json, as: schema.type, at: "header.\(field)")
  }
}
