#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks recorded UpdateDeliveryVehicle and UpdateVehicle requests with Google's own client libraries.

Usage: google_client_judge.py RECORDING | --self-test

The recording is the output of `fleet-engine-emulator --record`. Each request must parse into Google's message types without
unknown fields, be in the canonical JSON encoding, match Google's own URL rules, and have plausible values.
Exit status: 0 if every request passes, 1 if one fails or there is none, 2 if the recording cannot be read.
"""

import base64
import gzip
import json
import sys
from collections import namedtuple
from urllib.parse import parse_qsl, unquote

from google.api_core import path_template
from google.maps.fleetengine import UpdateVehicleRequest, Vehicle
from google.maps.fleetengine_delivery import DeliveryVehicle, UpdateDeliveryVehicleRequest
from google.maps.fleetengine_delivery_v1.services.delivery_service.transports import rest_base
from google.protobuf import field_mask_pb2, json_format

OFFLINE, ONLINE = 1, 2


def update_delivery_vehicle(name, vehicle, mask):
    vehicle.name = name
    request = UpdateDeliveryVehicleRequest.pb()(delivery_vehicle=vehicle, update_mask=mask)
    vehicle.ClearField("name")  # Google's rules move it from the body into the path.
    return request


def update_vehicle(name, vehicle, mask):
    return UpdateVehicleRequest.pb()(name=name, vehicle=vehicle, update_mask=mask)


# The key is the collection in the path. The library for on-demand trips supports only gRPC, so the URL rules of its
# update are the `google.api.http` annotation in vehicle_api.proto.
Service = namedtuple("Service", "body vehicle request rules")
SERVICES = {
    "deliveryVehicles": Service(
        "deliveryVehicle", DeliveryVehicle.pb(), update_delivery_vehicle,
        rest_base._BaseDeliveryServiceRestTransport._BaseUpdateDeliveryVehicle._get_http_options()),
    "vehicles": Service(
        "vehicle", Vehicle.pb(), update_vehicle,
        [{"method": "put", "uri": "/v1/{name=providers/*/vehicles/*}", "body": "vehicle"}]),
}
# The client's descriptors have no annotations, so these are from the comments of the public protocol buffers.
OUTPUT_ONLY = {"server_time", "current_trips", "current_route_segment_version", "waypoints_version"}
DEPRECATED = {
    "speed_kmph", "horizontal_accuracy", "vertical_accuracy", "bearing_accuracy", "num_stale_updates", "road_snapped",
}
# The path of a position, with its time and its accuracy.
POSITIONS = [
    ("supplemental_location", "supplemental_location_time"),
    ("location", "update_time"),
]


class Refused(Exception):
    """A request differs from what Google's library would send."""


def check(condition, message):
    if not condition:
        raise Refused(message)


def check_canonical(given, printed, descriptor, path):
    """The JSON is what Google's encoder prints, except for zeroes, which the encoder omits."""
    by_name = {field.json_name: field for field in descriptor.fields}
    for key, value in given.items():
        place = f"{path}.{key}"
        check(key in by_name, f"{place}: the canonical name is lowerCamelCase")
        field = by_name[key]
        if key not in printed:
            check(value == 0 and not isinstance(value, bool), f"{place}: Google's encoder would leave it out")
            continue
        check_same(value, printed[key], field, place)


def check_same(value, printed, field, place):
    if isinstance(printed, list):
        check(isinstance(value, list) and len(value) == len(printed), f"{place}: not a list")
        for index, (one, other) in enumerate(zip(value, printed)):
            check_same(one, other, field, f"{place}[{index}]")
    elif isinstance(printed, dict):
        check(isinstance(value, dict), f"{place}: not an object")
        check_canonical(value, printed, field.message_type, place)
    elif isinstance(printed, bool) or isinstance(printed, str):
        check(type(value) is type(printed) and value == printed, f"{place}: {value!r} is canonically {printed!r}")
    else:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        check(number and value == printed, f"{place}: {value!r} is canonically {printed!r}")


def check_behaviour(message, path):
    """No field is set that Google documents as output only or deprecated."""
    for field, value in message.ListFields():
        place = f"{path}.{field.json_name}"
        check(field.name not in OUTPUT_ONLY, f"{place} is output only")
        check(field.name not in DEPRECATED, f"{place} is deprecated")
        if field.message_type is not None and field.message_type.full_name.startswith("maps.fleetengine."):
            for one in value if field.is_repeated else [value]:
                check_behaviour(one, place)


def check_location(location, path):
    """A location has a position and a time, in range. Returns the time as nanoseconds."""
    used = [(place, time) for place, time in POSITIONS if location.HasField(place)]
    check(used, f"{path}: neither supplementalLocation nor location is set")
    for place, time in used:
        point = getattr(location, place)
        check(-90 <= point.latitude <= 90 and -180 <= point.longitude <= 180, f"{path}.{place} is out of range")
        check(location.HasField(time), f"{path}.{time} is missing")
    if location.HasField("supplemental_location"):
        # 0, which is omitted: the comment of the field gives CUSTOMER_SUPPLIED_LOCATION as the default.
        check(location.supplemental_location_sensor in (0, 5), f"{path}: the supplementalLocationSensor is another")
    if location.HasField("location"):
        check(location.location_sensor != 0, f"{path}: no locationSensor")
    for sensor in ("location_sensor", "supplemental_location_sensor", "raw_location_sensor"):
        check(getattr(location, sensor) != 6, f"{path}.{sensor} is FLEET_ENGINE_LOCATION")
    if location.HasField("heading"):
        check(0 <= location.heading.value < 360, f"{path}.heading is {location.heading.value}")
    for name in ("speed", "supplemental_location_accuracy", "latlng_accuracy", "heading_accuracy", "speed_accuracy",
                 "altitude_accuracy", "time_since_update"):
        if location.HasField(name):
            check(getattr(location, name).value >= 0, f"{path}.{name} is negative")
    moment = getattr(location, used[0][1])
    moment.ToDatetime()
    check(moment.seconds > 0, f"{path}: the time is before 1970")
    return moment.ToNanoseconds()


def check_sense(vehicle, mask):
    touched = {path.split(".")[0] for path in mask.paths}
    filled = {field.name for field, _ in vehicle.ListFields() if field.name != "name"}
    check(filled == touched, f"the mask names {sorted(touched)}, the body fills {sorted(filled)}")
    check("name" not in touched, "the mask names the name")
    if "vehicle_state" in touched:
        check(vehicle.vehicle_state in (OFFLINE, ONLINE), f"vehicleState is {vehicle.vehicle_state}")
    newest = None
    if "last_location" in touched:
        newest = check_location(vehicle.last_location, "lastLocation")
    times = [check_location(one, f"pastLocations[{i}]") for i, one in enumerate(vehicle.past_locations)]
    check(times == sorted(times), "pastLocations are not oldest first")
    check(newest is None or not times or times[-1] <= newest, "a past location is newer than lastLocation")


def judge(request):
    """Raises Refused if Google's library would not send, or not parse, the request."""
    parts = request["path"].split("/")
    check(len(parts) > 4 and parts[4] in SERVICES, f"the path {request['path']} is no vehicle's")
    service = SERVICES[parts[4]]
    headers = {name.lower(): value for name, value in request["headers"].items()}
    check(headers.get("content-type", "").split(";")[0] == "application/json", "the Content-Type is not JSON")
    check(headers.get("authorization", "").startswith("Bearer "), "the Authorization is no Bearer token")

    parameters = parse_qsl(request["query"], keep_blank_values=True, strict_parsing=True)
    check(len(parameters) == len(dict(parameters)), "a parameter is given twice")
    parameters = dict(parameters)
    text = parameters.pop("updateMask", "")
    # A parameter of every Google API: whether the response is indented.
    check(parameters.pop("prettyPrint", "false") == "false", "the response would be indented")
    check(not parameters, f"unknown parameters: {sorted(parameters)}")
    check(text, "the update mask is empty")
    mask = field_mask_pb2.FieldMask()
    try:
        mask.FromJsonString(text)
    except ValueError as error:
        raise Refused(f"the mask {text!r}: {error}") from error
    check(mask.IsValidForDescriptor(service.vehicle.DESCRIPTOR), f"the mask {text!r} names what is no field")

    wanted = field_mask_pb2.FieldMask()
    wanted.FromJsonString(headers.get("x-goog-fieldmask", ""))
    check(wanted.IsValidForDescriptor(service.vehicle.DESCRIPTOR), "the response's mask names what is no field")

    check(headers.get("content-encoding") == ("gzip" if "encoded" in request else None), "the coding is not what it says")
    if "encoded" in request:
        text = gzip.decompress(base64.urlsafe_b64decode(request["encoded"] + "==")).decode()
        check(text == request["body"], "the compressed body is another")

    vehicle = service.vehicle()
    try:
        json_format.Parse(request["body"], vehicle, ignore_unknown_fields=False)
    except json_format.ParseError as error:
        raise Refused(f"the body: {error}") from error
    check_canonical(
        json.loads(request["body"]), json_format.MessageToDict(vehicle), service.vehicle.DESCRIPTOR, service.body)
    check_behaviour(vehicle, service.body)
    check_sense(vehicle, mask)

    # Google's own URL rules, applied to the same message, must give the same URL.
    name = unquote(request["path"]).removeprefix("/v1/")
    check(not vehicle.name or vehicle.name == name, "the body names another vehicle")
    try:
        transcoded = path_template.transcode(service.rules, service.request(name, vehicle, mask))
    except ValueError as error:
        raise Refused(f"the path {request['path']}: {error}") from error
    check(unquote(transcoded["uri"]) == unquote(request["path"]), f"the path should be {transcoded['uri']}")
    check(transcoded["method"] == request["method"].lower(), f"the method should be {transcoded['method']}")
    check(transcoded["body"] == vehicle, "the body is not the vehicle")
    return len(vehicle.past_locations)


def judge_all(requests):
    """Prints the result. Returns whether there was a request and all passed."""
    failures = past = accepted = 0
    for number, request in requests:
        try:
            past += judge(request)
        except (Refused, KeyError, TypeError, ValueError, AttributeError) as error:
            failures += 1
            print(f"request {number}: {type(error).__name__}: {str(error).splitlines()[0]}")
        accepted += bool(request.get("accepted"))
    print(f"{len(requests)} requests judged by Google's client: {len(requests) - failures} pass, {failures} fail; "
          f"{past} past locations; {accepted} were accepted by the server")
    return bool(requests) and failures == 0


def example(collection="deliveryVehicles"):
    location = {
        "supplementalLocation": {"latitude": 48.1173, "longitude": 0},
        "supplementalLocationTime": "2026-11-21T09:00:00.250Z",
        "supplementalLocationSensor": "CUSTOMER_SUPPLIED_LOCATION",
        "supplementalLocationAccuracy": 4.2,
        "heading": 0,
        "speed": 0.0,
        "altitude": 545.4,
    }
    earlier = dict(location, supplementalLocationTime="2026-11-21T08:59:50Z", timeSinceUpdate=0)
    body = {"lastLocation": location, "pastLocations": [earlier]}
    mask = "lastLocation%2CpastLocations"
    if collection == "vehicles":
        body["vehicleState"] = "ONLINE"
        mask = "vehicleState%2C" + mask
    request = {
        "method": "PUT" if collection == "vehicles" else "PATCH",
        "path": f"/v1/providers/my-project/{collection}/truck%2017",
        "query": f"updateMask={mask}",
        "headers": {"Content-Type": "application/json", "Authorization": "Bearer <redacted>"},
        "accepted": True,
        "status": 200,
    }
    return request, body, location


def self_test():
    """Proves that the check can fail: each case below breaks one thing in a request that passes."""
    def spoil_location(**changes):
        def change(request, body, location):
            location.update(changes)
        return change

    def spoil_headers(headers):
        return lambda request, body, location: request["headers"].update(headers)

    def spoil_request(**changes):
        return lambda request, body, location: request.update(changes)

    cases = {
        "unknown field": spoil_location(colour="red"),
        "snake_case field": spoil_location(altitude_accuracy=3),
        "text for a number": spoil_location(speed="12.5"),
        "object for a number": spoil_location(speed={"value": 12.5}),
        "fraction for a whole number": spoil_location(heading=87.5),
        "heading of 360": spoil_location(heading=360),
        "latitude of 91": spoil_location(supplementalLocation={"latitude": 91, "longitude": 1}),
        "unknown sensor": spoil_location(supplementalLocationSensor="SEXTANT"),
        "sensor as a number": spoil_location(supplementalLocationSensor=5),
        "time that is none": spoil_location(supplementalLocationTime="yesterday"),
        "time not in UTC": spoil_location(supplementalLocationTime="2026-11-21T10:00:00+01:00"),
        "deprecated field": spoil_location(horizontalAccuracy=4),
        "output-only field": spoil_location(serverTime="2026-11-21T09:00:00Z"),
        "no position": lambda request, body, location: location.pop("supplementalLocation"),
        "no time": lambda request, body, location: location.pop("supplementalLocationTime"),
        "past newer than last": spoil_location(supplementalLocationTime="2026-11-21T08:00:00Z"),
        "snake_case mask": spoil_request(query="updateMask=last_location,past_locations"),
        "empty mask": spoil_request(query="updateMask="),
        "no mask": spoil_request(query=""),
        "mask of no field": spoil_request(query="updateMask=lastLocation,pastLocations,colour"),
        "mask short of a field": spoil_request(query="updateMask=lastLocation"),
        "mask beyond the body": spoil_request(query="updateMask=lastLocation,pastLocations,navigationStatus"),
        "unknown parameter": spoil_request(query="updateMask=lastLocation,pastLocations&colour=red"),
        "wrong path": spoil_request(path="/v1/providers/my-project/vehicles/truck-17"),
        "path of no vehicle": spoil_request(path="/v1/providers/my-project/tasks/truck-17"),
        "slash in the vehicle": spoil_request(path="/v1/providers/my-project/deliveryVehicles/a/b"),
        "wrong method": spoil_request(method="PUT"),
        "no token": spoil_request(headers={"Content-Type": "application/json"}),
        "form instead of JSON": spoil_request(headers={"Content-Type": "text/plain", "Authorization": "Bearer x"}),
        "response with indentation": spoil_request(query="updateMask=lastLocation,pastLocations&prettyPrint=true"),
        "response of no field": spoil_headers({"X-Goog-FieldMask": "colour"}),
        "coding that is not named": spoil_request(encoded=base64.urlsafe_b64encode(gzip.compress(b"{}")).decode()),
        "coding that is not there": spoil_headers({"Content-Encoding": "gzip"}),
        "compressed body that is another": lambda request, body, location: request.update(
            encoded=base64.urlsafe_b64encode(gzip.compress(b"{}")).decode(),
            headers=dict(request["headers"], **{"Content-Encoding": "gzip"})),
        "number that is none": spoil_location(speed=float("nan")),
        "body that is no JSON": lambda request, body, location: body.update({"lastLocation": "{"}),
    }

    def spoil_trip(query=None, **changes):
        def change(request, body, location):
            body.update(changes)
            if query:
                request["query"] = f"updateMask={query}"
        return change

    trips = {
        "the method of deliveries": spoil_request(method="PATCH"),
        "the path of deliveries": spoil_request(path="/v1/providers/my-project/deliveryVehicles/truck-17"),
        "state that is none": spoil_trip(vehicleState="PAUSED"),
        "state as a number": spoil_trip(vehicleState=2),
        "unknown state": spoil_trip(vehicleState="UNKNOWN_VEHICLE_STATE"),
        "state beyond the mask": spoil_trip("lastLocation,pastLocations"),
        "trips of the server's": spoil_trip("vehicleState,lastLocation,pastLocations,currentTrips", currentTrips=["trip-1"]),
        "field of deliveries": spoil_trip("vehicleState,lastLocation,pastLocations,type", type="AUTO"),
    }
    missed = []
    for collection in SERVICES:
        request, body, _ = example(collection)
        request["body"] = json.dumps(body)
        judge(request)
    judge({**request, "query": "updateMask=vehicleState", "body": '{"vehicleState": "OFFLINE"}'})
    spoilt = [(name, "deliveryVehicles", spoil) for name, spoil in cases.items()]
    spoilt += [(f"{name}, in trips", "vehicles", spoil) for name, spoil in trips.items()]
    for name, collection, spoil in spoilt:
        request, body, location = example(collection)
        spoil(request, body, location)
        request["body"] = json.dumps(body)
        try:
            judge(request)
            missed.append(name)
        except (Refused, ValueError) as error:
            print(f"refused as it should be: {name}: {str(error).splitlines()[0]}")
    if judge_all([]):
        missed.append("no request at all")
    for name in missed:
        print(f"NOT REFUSED: {name}")
    print(f"{len(spoilt) + 1 - len(missed)} of {len(spoilt) + 1} spoilt requests refused, and the whole ones pass")
    return not missed


def main(arguments):
    if arguments == ["--self-test"]:
        return 0 if self_test() else 1
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        with open(arguments[0], encoding="utf-8") as file:
            requests = [(number, json.loads(line)) for number, line in enumerate(file, 1)]
    except (OSError, ValueError) as error:
        print(f"google_client_judge: {arguments[0]}: {error}", file=sys.stderr)
        return 2
    return 0 if judge_all(requests) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
