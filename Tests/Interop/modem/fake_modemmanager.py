#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A fake ModemManager with one modem, on the bus at DBUS_SYSTEM_BUS_ADDRESS: fake_modemmanager.py CONTROL < SENTENCES

Like the real one it stores the last sentence of each kind, without its time, and answers GetLocation with all
of them in arbitrary order. CONTROL is a FIFO that it creates, with a line for each event of the modem:

    freeze, go                     the receiver's sentences are ignored, or stored again
    unplug, plug                   the modem disappears, and appears under another path
    sim no|pin|ok                  the state of its SIM
  unmanaged on|off               another program switches gps-unmanaged on
    allow location|setup yes|no    polkit's response
  off                            another program switches the receiver off
    calls                          it prints the number of calls for modems and positions
    quit                           it exits

Each call of Setup, and the response to it, is printed on one line.
"""
import os
import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

NAME = "org.freedesktop.ModemManager1"
ROOT = "/org/freedesktop/ModemManager1"
MODEM = NAME + ".Modem"
LOCATION = NAME + ".Modem.Location"
PROPERTIES = "org.freedesktop.DBus.Properties"
CELLS, RAW, NMEA, UNMANAGED = 1, 2, 4, 16
ENABLED, LOCKED, FAILED = 6, 2, -1


class Refusal(dbus.DBusException):
    def __init__(self, name, words):
        super().__init__(words)
        self._dbus_error_name = NAME + ".Error.Core." + name


class Modem(dbus.service.Object):
    def __init__(self, manager, number):
        super().__init__(manager.bus, f"{ROOT}/Modem/{number}")
        self.path = f"{ROOT}/Modem/{number}"
        self.manager = manager
        self.enabled = CELLS
        self.signals = False
        self.kept = {}

    def interfaces(self):
        state = {"ok": ENABLED, "pin": LOCKED, "no": FAILED}[self.manager.sim]
        interfaces = {MODEM: {
            "Device": "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-1", "EquipmentIdentifier": "354479080000017",
            "Manufacturer": "Quectel", "Model": "EC25", "State": dbus.Int32(state),
            "StateFailedReason": dbus.UInt32(2 if state == FAILED else 0),
            "Ports": dbus.Array([("cdc-wdm0", dbus.UInt32(6)), ("ttyUSB1", dbus.UInt32(5))], signature="(su)"),
            "SignalQuality": dbus.Struct((dbus.UInt32(71), True), signature="ub"),
        }}
        if state == ENABLED:
            interfaces[LOCATION] = {
                "Capabilities": dbus.UInt32(CELLS | RAW | NMEA | UNMANAGED), "Enabled": dbus.UInt32(self.enabled),
                "SignalsLocation": dbus.Boolean(self.signals), "Location": dbus.Dictionary({}, signature="uv"),
            }
        return {name: dbus.Dictionary(values, signature="sv") for name, values in interfaces.items()}

    def switch(self, enabled):
        if not enabled & NMEA:
            self.kept = {}
        self.enabled = enabled
        self.PropertiesChanged(LOCATION, {"Enabled": dbus.UInt32(enabled)}, [])

    @dbus.service.method(LOCATION, in_signature="ub", out_signature="")
    def Setup(self, sources, signals):
        if not self.manager.allows["setup"]:
            print(f"setup {sources} refused", flush=True)
            raise Refusal("Unauthorized", "PolicyKit authorization failed: not authorized for Device.Control")
        if sources & (RAW | NMEA) and (sources | self.enabled) & UNMANAGED:
            raise Refusal("Failed", "Cannot have both unmanaged GPS and raw/nmea GPS enabled at the same time")
        print(f"setup {sources} signals {int(signals)}", flush=True)
        self.signals = bool(signals)
        self.switch(int(sources))

    @dbus.service.method(LOCATION, in_signature="", out_signature="a{uv}")
    def GetLocation(self):
        self.manager.calls += 1
        if not self.manager.allows["location"]:
            raise Refusal("Unauthorized", "PolicyKit authorization failed: not authorized for Location")
        answer = {dbus.UInt32(CELLS): "262,02,0000,0123456,00789,"}
        if self.enabled & NMEA:
            # The arbitrary order of a hash table.
            kinds = sorted(self.kept, key=lambda kind: kind[::-1])
            answer[dbus.UInt32(NMEA)] = "\r\n".join(line for kind in kinds for line in self.kept[kind])
        return dbus.Dictionary(answer, signature="uv")

    @dbus.service.signal(PROPERTIES, signature="sa{sv}as")
    def PropertiesChanged(self, interface, changed, invalidated):
        pass

    @dbus.service.signal(MODEM, signature="iiu")
    def StateChanged(self, old, new, reason):
        pass

    def hear(self, line):
        if not self.enabled & NMEA:
            return
        kind = line.split(",")[0]
        fields = line.split(",")
        if kind == "$GPGSV" and len(fields) > 2 and fields[2] != "1":
            self.kept.setdefault(kind, []).append(line)
        else:
            self.kept[kind] = [line]


class Manager(dbus.service.Object):
    def __init__(self, connection):
        super().__init__(connection, ROOT)
        self.bus = connection
        self.allows = {"setup": True, "location": True}
        self.sim = "ok"
        self.number = 0
        self.calls = 0
        self.frozen = False
        self.modem = Modem(self, 0)

    @dbus.service.method("org.freedesktop.DBus.ObjectManager", out_signature="a{oa{sa{sv}}}")
    def GetManagedObjects(self):
        self.calls += 1
        modems = [self.modem] if self.modem else []
        return dbus.Dictionary({dbus.ObjectPath(m.path): m.interfaces() for m in modems}, signature="oa{sa{sv}}")

    @dbus.service.signal("org.freedesktop.DBus.ObjectManager", signature="oa{sa{sv}}")
    def InterfacesAdded(self, path, interfaces):
        pass

    @dbus.service.signal("org.freedesktop.DBus.ObjectManager", signature="oas")
    def InterfacesRemoved(self, path, interfaces):
        pass

    def unplug(self):
        modem, self.modem = self.modem, None
        modem.remove_from_connection()
        self.InterfacesRemoved(dbus.ObjectPath(modem.path), [MODEM, LOCATION])

    def plug(self):
        self.number += 1
        self.modem = Modem(self, self.number)
        self.InterfacesAdded(dbus.ObjectPath(self.modem.path), self.modem.interfaces())

    def obey(self, words):
        match words:
            case ["freeze" | "go" as word]: self.frozen = word == "freeze"
            case ["unplug"]: self.unplug()
            case ["plug"]: self.plug()
            case ["sim", sim]:
                self.sim = sim
                self.modem.StateChanged(ENABLED, LOCKED, 0)
            case ["unmanaged", on]: self.modem.switch(CELLS | (UNMANAGED if on == "on" else 0))
            case ["allow", what, answer]: self.allows[what] = answer == "yes"
            case ["off"]: self.modem.switch(CELLS)
            case ["calls"]: print(f"calls {self.calls}", flush=True)
            case ["quit"]: os._exit(0)
            case _: sys.exit(f"unknown: {words}")


def lines(descriptor, body):
    """Calls the body with each line."""
    rest = b""

    def ready(_, condition):
        nonlocal rest
        data = os.read(descriptor, 65536) if condition & GLib.IO_IN else b""
        if not data:
            return False
        *whole, rest = (rest + data).split(b"\n")
        for line in whole:
            body(line.decode("ascii", "replace").strip())
        return True

    GLib.io_add_watch(descriptor, GLib.IO_IN | GLib.IO_HUP, ready)


def main():
    control = sys.argv[1]
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    connection = dbus.SystemBus()
    manager = Manager(connection)
    name = dbus.service.BusName(NAME, connection)
    os.mkfifo(control)
    # Open for writing too, so that there is no end of file.
    lines(os.open(control, os.O_RDWR | os.O_NONBLOCK), lambda line: manager.obey(line.split()))
    lines(0, lambda line: None if manager.frozen or not manager.modem else manager.modem.hear(line))
    GLib.MainLoop().run()
    del name


main()
