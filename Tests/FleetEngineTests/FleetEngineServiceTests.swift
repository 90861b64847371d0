// SPDX-License-Identifier: Apache-2.0
import Expectations
import ExternalInput
import Authorization
import HTTPMessages
import JSON
import Positioning
import Testing
import Timekeeping

@testable import FleetEngine

/// A fictitious service, with its own HTTP method and path, and with a field that is in every update mask.
extension FleetEngineService {
  fileprivate static let rovers = FleetEngineService(
    name: "rovers", collection: "rovers", method: .post, role: "roles/test.rover", scope: { .vehicle($0) },
    message: { update, _, _, _ in
      func place(_ location: VehicleLocation, _ writer: inout JSONWriter) {
        writer.openArray()
        writer.number(location.coordinate.latitude, decimals: 6)
        writer.number(location.coordinate.longitude, decimals: 6)
        writer.closeArray()
      }
      var writer = JSONWriter()
      writer.openObject()
      writer.key("place")
      place(update.live, &writer)
      writer.key("state")
      writer.string("ON")
      writer.key("track")
      writer.openArray()
      for past in update.past { place(past, &writer) }
      writer.closeArray()
      writer.closeObject()
      return Message(mask: "state%2Cplace" + (update.past.isEmpty ? "" : "%2Ctrack"), body: writer.bytes)
    })
}

struct FleetEngineServiceTests {
  private let vehicle = FleetEngineVehicle(service: .rovers, providerID: "p", vehicleID: "r 1")

  private func location(_ degrees: Double) throws -> VehicleLocation {
    VehicleLocation(
      coordinate: try #require(Coordinate(latitude: degrees, longitude: degrees)), time: Timestamp(seconds: 100))
  }

  @Test("the method, path, mask and body of an update are those of its service")
  func update() throws {
    let endpoint = FleetEngineEndpoint(origin: "https://e.test", vehicle: vehicle)
    let update = PositionUpdate(live: try location(2), past: [try location(1)])
    let request = endpoint.request(update, .plain, token: Secret("t"))
    expectEqual(request.method, .post)
    expectEqual(request.url, "https://e.test/v1/providers/p/rovers/r%201?updateMask=state%2Cplace%2Ctrack")
    expectEqual(String(decoding: request.body, as: UTF8.self), #"{"place":[2,2],"state":"ON","track":[[1,1]]}"#)
  }

  @Test(
    "the body of an update for on-demand trips begins with the vehicle's state, and is otherwise as for deliveries"
  )
  func trips() throws {
    let taxi = FleetEngineVehicle(service: .trips, providerID: "p", vehicleID: "taxi 1")
    let truck = FleetEngineVehicle(service: .deliveries, providerID: "p", vehicleID: "taxi 1")
    let update = PositionUpdate(live: try location(2), past: [try location(1)])
    func request(_ vehicle: FleetEngineVehicle, reportsState: Bool = true) -> HTTPRequest {
      FleetEngineEndpoint(origin: "https://e.test", vehicle: vehicle, reportsState: reportsState)
        .request(update, .plain, token: Secret("t"))
    }
    let put = request(taxi)
    expectEqual(put.method, .put)
    expectEqual(
      put.url, "https://e.test/v1/providers/p/vehicles/taxi%201?updateMask=vehicleState%2ClastLocation%2CpastLocations")
    let body = String(decoding: request(truck).body, as: UTF8.self)
    expectEqual(String(decoding: put.body, as: UTF8.self), #"{"vehicleState":"ONLINE","# + body.dropFirst())
    let bare = request(taxi, reportsState: false)
    expectEqual(bare.url, "https://e.test/v1/providers/p/vehicles/taxi%201?updateMask=lastLocation%2CpastLocations")
    expectEqual(String(decoding: bare.body, as: UTF8.self), body)
    expectEqual(taxi.tokenContext?.scope.claim, "vehicleid")
  }

  @Test("OFFLINE is sent without a position, if the service has a vehicle state and no other system sets it")
  func offline() throws {
    func request(_ service: FleetEngineService, reportsState: Bool = true) -> HTTPRequest? {
      FleetEngineEndpoint(
        origin: "https://e.test", vehicle: FleetEngineVehicle(service: service, providerID: "p", vehicleID: "v"),
        reportsState: reportsState
      ).offlineRequest(token: Secret("t"))
    }
    let offline = try #require(request(.trips))
    expectEqual(offline.method, .put)
    expectEqual(offline.url, "https://e.test/v1/providers/p/vehicles/v?updateMask=vehicleState")
    expectEqual(String(decoding: offline.body, as: UTF8.self), #"{"vehicleState":"OFFLINE"}"#)
    expect(offline.headers.contains { $0.name == "Authorization" })
    expectNil(request(.trips, reportsState: false))
    expectNil(request(.deliveries))
  }

  @Test("the dry run, the probe and the size of a past position are those of the service")
  func others() throws {
    let endpoint = FleetEngineEndpoint(origin: "https://e.test", vehicle: vehicle)
    let dryRun = endpoint.dryRun(token: Secret("t"))
    expect(dryRun.method == .post && dryRun.url == "https://e.test/v1/providers/p/rovers/r%201")
    expectEqual(endpoint.probe.url, dryRun.url)
    // The size of ",[-89.123457,-179.123457]", whatever other fields the position has.
    var past = try location(1)
    past.speed = 3
    expectEqual(endpoint.pastPositionSizes().size(of: past), 25)
  }

  @Test("the scope of a vehicle's token is the vehicle's ID in the claim of its service")
  func scope() {
    expectEqual(vehicle.tokenContext, AuthorizationContext(providerID: "p", scope: .vehicle("r 1")))
    let truck = FleetEngineVehicle(service: .deliveries, providerID: "p", vehicleID: "t")
    expectEqual(truck.tokenContext, AuthorizationContext(providerID: "p", scope: .deliveryVehicle("t")))
    expectNil(FleetEngineVehicle(service: .deliveries, providerID: "", vehicleID: "t").tokenContext)
  }

  @Test("the same IDs in two services are two vehicles")
  func identity() {
    let truck = FleetEngineVehicle(service: .deliveries, providerID: "p", vehicleID: "r 1")
    expect(truck != vehicle)
    let endpoints = [truck, vehicle].map { FleetEngineEndpoint(origin: "https://e.test", vehicle: $0) }
    expect(!endpoints[0].isSameVehicle(as: endpoints[1]))
  }

  @Test(
    "advice about a missing or denied vehicle names its ID and project; for a missing one also the call to create it")
  func names() throws {
    func failure(_ status: Int, _ code: String, of service: FleetEngineService) throws -> UpdateFailure {
      let body = Array("{\"error\":{\"code\":\(status),\"status\":\"\(code)\",\"message\":\"no\"}}".utf8)
      let outcome = UpdateOutcome(
        .response(HTTPResponse(status: status, headers: [], body: body)),
        of: FleetEngineVehicle(service: service, providerID: "my-project", vehicleID: "truck-17"))
      guard case .failed(let failure) = outcome else { throw CancellationError() }
      return failure
    }
    try expectEqual(
      failure(404, "NOT_FOUND", of: .deliveries).advice,
      "the backend must create the vehicle first (CreateDeliveryVehicle); if it has, check vehicle.vehicle_id (truck-17) "
        + "and vehicle.provider_id (my-project)")
    try expect(failure(404, "NOT_FOUND", of: .trips).advice?.contains("(CreateVehicle)") == true)
    try expectEqual(
      failure(403, "PERMISSION_DENIED", of: .deliveries).advice,
      "check vehicle.provider_id (my-project), vehicle.vehicle_id (truck-17) and the service account's role "
        + "(roles/fleetengine.deliveryUntrustedDriver)")
  }

  @Test("advice names the role that the service needs")
  func role() {
    let failure = UpdateFailure(.permissionDenied, "words", from: .rovers, cause: .role)
    expectEqual(failure.advice?.contains("roles/test.rover"), true)
  }
}
