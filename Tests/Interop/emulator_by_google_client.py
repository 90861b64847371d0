#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the emulator with Google's own REST client, so that it is checked by Google's code as well.

For on-demand trips Google's library supports only gRPC: there Google's JSON encodes and decodes its messages, and the
URLs are those of the annotations in vehicle_api.proto.

Usage: emulator_by_google_client.py PATH-OF-fleet-engine-emulator
Exit status: 0 if the client and the emulator are compatible in every case.
"""

import datetime
import json
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

from google.api_core import exceptions
from google.auth import crypt, jwt
from google.auth.credentials import Credentials
from google.maps import fleetengine
from google.maps import fleetengine_delivery as delivery
from google.maps.fleetengine_delivery_v1.services.delivery_service.transports.rest import DeliveryServiceRestTransport
from google.protobuf import field_mask_pb2, json_format, wrappers_pb2
from google.type import latlng_pb2

import token_server_by_google_auth as accounts

PARENT = "providers/interop"


class FixedToken(Credentials):
    """A token that is not refreshed, even if the server rejects it."""

    def __init__(self, token):
        super().__init__()
        self.token = token

    def refresh(self, request):
        pass


class Emulator:
    """The emulator as a child process."""

    def __init__(self, program, *options):
        self.process = subprocess.Popen([program, "--quiet", *options], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[-1]

    def call(self, path, body=None, method=None, token=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"} if token else {}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=5) as answer:
            return json.load(answer)

    def client(self, vehicle):
        token = self.call(f"/token/delivery_driver/{vehicle}")["token"]
        transport = DeliveryServiceRestTransport(
            host=self.url.removeprefix("http://"), credentials=FixedToken(token), url_scheme="http")
        return delivery.DeliveryServiceClient(transport=transport)

    def stop(self):
        self.process.terminate()
        self.process.communicate(timeout=5)
        return self.process.returncode


def name(vehicle):
    return f"{PARENT}/deliveryVehicles/{vehicle}"


def location(latitude, seconds_ago=0):
    moment = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=seconds_ago)
    return delivery.DeliveryVehicleLocation(
        supplemental_location=latlng_pb2.LatLng(latitude=latitude, longitude=11.5),
        supplemental_location_time=moment,
        supplemental_location_sensor=delivery.DeliveryVehicleLocationSensor.CUSTOMER_SUPPLIED_LOCATION,
        supplemental_location_accuracy=wrappers_pb2.DoubleValue(value=4.0),
        heading=wrappers_pb2.Int32Value(value=0),
        speed=wrappers_pb2.DoubleValue(value=12.5),
    )


def update(client, vehicle, paths, past=(), latitude=48.1, **fields):
    return client.update_delivery_vehicle(
        delivery.UpdateDeliveryVehicleRequest(
            delivery_vehicle=delivery.DeliveryVehicle(
                name=name(vehicle), last_location=location(latitude), past_locations=list(past), **fields),
            update_mask=field_mask_pb2.FieldMask(paths=paths)))


def expect(kind, call, reason=None):
    try:
        call()
    except kind as error:
        assert error.domain == "fleetengine.googleapis.com", error.domain
        assert reason is None or error.reason == reason, error.reason
        return
    raise AssertionError(f"{kind.__name__} was expected")


def updates_and_answers(emulator):
    client = emulator.client("truck-1")
    answer = update(client, "truck-1", ["last_location", "past_locations"], past=[location(48.0, 20), location(48.05, 10)])
    assert answer.name == name("truck-1")
    assert answer.last_location.supplemental_location.latitude == 48.1
    assert answer.last_location.supplemental_location_sensor == 5
    assert answer.last_location.heading == 0 and answer.last_location.speed == 12.5
    assert answer.last_location.server_time is not None and not answer.past_locations
    stored = client.get_delivery_vehicle(name=name("truck-1"))
    assert stored == answer
    stats = emulator.call("/debug/stats")["vehicles"]["truck-1"]
    assert (stats["accepted"], stats["past_locations"]) == (1, 2), stats


def header_and_other_fields(emulator):
    client = emulator.client("truck-2")
    request = delivery.UpdateDeliveryVehicleRequest(
        header=delivery.DeliveryRequestHeader(region_code="DE", language_code="de", trace_id="a b&c"),
        delivery_vehicle=delivery.DeliveryVehicle(
            name=name("truck-2"), type_=delivery.DeliveryVehicle.DeliveryVehicleType.BICYCLE,
            current_route_segment=b"\xff\xfe", remaining_duration=datetime.timedelta(seconds=3.5)),
        update_mask=field_mask_pb2.FieldMask(paths=["type", "current_route_segment", "remaining_duration"]))
    answer = client.update_delivery_vehicle(request)
    assert answer.type_ == 3 and answer.current_route_segment == b"\xff\xfe"
    assert answer.remaining_duration == datetime.timedelta(seconds=3.5)


def vehicles_are_created_once(emulator):
    client = emulator.client("van 3".replace(" ", "%20"))

    def create():
        return client.create_delivery_vehicle(
            parent=PARENT, delivery_vehicle_id="van 3",
            delivery_vehicle=delivery.DeliveryVehicle(attributes=[{"key": "colour", "value": "red"}]))

    assert create().name == name("van 3")
    expect(exceptions.Conflict, create, "VEHICLE_ALREADY_EXISTS")


def refusals(emulator):
    client = emulator.client("truck-4")
    expect(exceptions.NotFound, lambda: client.get_delivery_vehicle(name=name("truck-4")), "VEHICLE_NOT_FOUND")
    expect(exceptions.Forbidden, lambda: update(client, "truck-5", ["last_location"]), "VEHICLE_MISMATCH")
    expect(exceptions.BadRequest, lambda: update(client, "truck-4", []), "EMPTY_UPDATE_MASK")
    expect(exceptions.BadRequest, lambda: update(client, "truck-4", ["last_location"], latitude=91), "OUT_OF_RANGE")
    expect(exceptions.BadRequest, lambda: client.create_delivery_vehicle(
        parent=PARENT, delivery_vehicle_id="truck-4",
        delivery_vehicle=delivery.DeliveryVehicle(past_locations=[location(1)])))
    expect(exceptions.MethodNotImplemented, lambda: client.delete_delivery_vehicle(name=name("truck-4")))


def vehicles_are_listed(emulator):
    """With a token for all vehicles, signed by the emulator's account."""
    for number in range(120):
        update(emulator.client(f"listed-{number:03}"), f"listed-{number:03}", ["last_location"])
    transport = DeliveryServiceRestTransport(
        host=emulator.url.removeprefix("http://"), credentials=FixedToken(emulator.reader), url_scheme="http")
    listed = [vehicle.name for vehicle in delivery.DeliveryServiceClient(transport=transport).list_delivery_vehicles(parent=PARENT)]
    assert [each for each in listed if "listed-" in each] == [name(f"listed-{number:03}") for number in range(120)], listed
    expect(exceptions.Forbidden, lambda: list(emulator.client("listed-000").list_delivery_vehicles(parent=PARENT)))


def flawed_tokens(emulator):
    for flaw, kind in [
        ("expired", exceptions.Unauthorized), ("garbage", exceptions.Unauthorized),
        ("bad-signature", exceptions.Unauthorized), ("long-life", exceptions.Unauthorized),
        ("wrong-vehicle", exceptions.Forbidden), ("no-claim", exceptions.Forbidden),
        ("alg-none", exceptions.Forbidden), ("wrong-audience", exceptions.Forbidden),
    ]:
        emulator.call("/debug/faults", {"target": "token", "token": flaw})
        client = emulator.client("truck-6")
        expect(kind, lambda: update(client, "truck-6", ["last_location"]))


def the_client_retries_what_it_should(emulator):
    client = emulator.client("truck-7")
    emulator.call("/debug/faults", {"target": "update", "status": 503, "times": 2, "retry_info": "0.5s"})
    update(client, "truck-7", ["last_location"])
    for status, kind in [(429, exceptions.TooManyRequests), (500, exceptions.InternalServerError),
                         (504, exceptions.GatewayTimeout), (403, exceptions.Forbidden)]:
        emulator.call("/debug/faults", {"target": "update", "status": status, "reason": "SOME_REASON"})
        expect(kind, lambda: update(client, "truck-7", ["last_location"]), "SOME_REASON")
    update(client, "truck-7", ["last_location"])
    stats = emulator.call("/debug/stats")["vehicles"]["truck-7"]
    assert stats["refused"] == {"403": 1, "429": 1, "500": 1, "503": 2, "504": 1}, stats


def trips(emulator):
    """UpdateVehicle, GetVehicle and CreateVehicle of v1; a response contains no field that is unknown to Google's messages."""
    token = emulator.call("/token/driver/taxi-1")["jwt"]
    path = f"/v1/{PARENT}/vehicles/taxi-1"

    def call(method, url, vehicle=None, token=token):
        body = None if vehicle is None else json_format.MessageToDict(fleetengine.Vehicle.pb(vehicle))
        message = fleetengine.Vehicle.pb()()
        json_format.ParseDict(emulator.call(url, body, method, token), message, ignore_unknown_fields=False)
        return fleetengine.Vehicle.wrap(message)

    def put(vehicle, paths, token=token):
        mask = urllib.parse.quote(field_mask_pb2.FieldMask(paths=paths).ToJsonString())
        return call("PUT", f"{path}?updateMask={mask}", vehicle, token)

    def refused(status, wanted, call):
        try:
            call()
        except urllib.error.HTTPError as error:
            found = json.load(error)["error"]
            assert (error.code, found["status"]) == (status, wanted), (error.code, found)
            return
        raise AssertionError(f"{wanted} was expected")

    def position(latitude, seconds_ago=0):
        return fleetengine.VehicleLocation(
            location=latlng_pb2.LatLng(latitude=latitude, longitude=11.5), location_sensor=fleetengine.LocationSensor.GPS,
            update_time=datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=seconds_ago),
            heading=wrappers_pb2.Int32Value(value=0))

    states = fleetengine.VehicleState
    refused(404, "NOT_FOUND", lambda: call("GET", path))
    vehicle = fleetengine.Vehicle(
        vehicle_state=states.OFFLINE, supported_trip_types=[fleetengine.TripType.EXCLUSIVE], maximum_capacity=4,
        vehicle_type=fleetengine.Vehicle.VehicleType(category=fleetengine.Vehicle.VehicleType.Category.TAXI))
    create = f"/v1/{PARENT}/vehicles?vehicleId=taxi-1"
    refused(400, "INVALID_ARGUMENT", lambda: call("POST", create, fleetengine.Vehicle(vehicle_state=states.OFFLINE)))
    assert call("POST", create, vehicle).vehicle_type.category == 2
    refused(409, "ALREADY_EXISTS", lambda: call("POST", create, vehicle))
    live = fleetengine.Vehicle(
        vehicle_state=states.ONLINE, last_location=position(48.1), past_locations=[position(48.0, 20), position(48.05, 10)])
    answer = put(live, ["vehicle_state", "last_location", "past_locations"])
    assert answer.vehicle_state == states.ONLINE and answer.last_location.location.latitude == 48.1
    assert answer.last_location.server_time is not None and not answer.past_locations and answer.maximum_capacity == 4
    answer = put(fleetengine.Vehicle(vehicle_state=states.OFFLINE), ["vehicle_state"])
    assert answer.vehicle_state == states.OFFLINE and answer.last_location.location.latitude == 48.1
    assert call("GET", path) == answer
    for managed in ["current_trips", "current_route_segment_version", "waypoints_version", "name"]:
        refused(400, "INVALID_ARGUMENT", lambda: put(live, ["vehicle_state", managed]))
    delivery_token = emulator.call("/token/delivery_driver/taxi-1")["token"]
    refused(403, "PERMISSION_DENIED", lambda: put(live, ["vehicle_state"], delivery_token))
    stats = emulator.call("/debug/stats")["vehicles"]
    assert (stats["trips/taxi-1"]["accepted"], stats["trips/taxi-1"]["state"]) == (2, "OFFLINE"), stats["trips/taxi-1"]
    assert stats["taxi-1"]["accepted"] == 0, stats["taxi-1"]


CASES = [updates_and_answers, header_and_other_fields, vehicles_are_created_once, refusals, flawed_tokens, vehicles_are_listed,
         the_client_retries_what_it_should, trips]


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as directory:
        path, _ = accounts.key_file(directory)
        emulator = Emulator(arguments[0], "--service-account", path)
        now = int(time.time())
        emulator.reader = jwt.encode(crypt.RSASigner.from_service_account_file(path), {
            "iss": accounts.EMAIL, "sub": accounts.EMAIL, "aud": accounts.AUDIENCE, "iat": now, "exp": now + 3600,
            "authorization": {"deliveryvehicleid": "*"}}).decode()
    failures = 0
    try:
        for case in CASES:
            try:
                case(emulator)
                print(f"pass: {case.__name__}")
            except Exception as error:  # The other checks still run after a failure.
                failures += 1
                print(f"FAIL: {case.__name__}: {type(error).__name__}: {error}")
    finally:
        status = emulator.stop()
    print(f"Google's REST client against the emulator: {len(CASES) - failures} pass, {failures} fail")
    return 0 if failures == 0 and status == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
