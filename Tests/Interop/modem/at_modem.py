#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A modem on a socket, for the real ModemManager's test interface: at_modem.py NAME SIM

NAME is that of the abstract socket, `abstract:NAME` for SetProfile. SIM is the response to AT+CPIN?: READY, "SIM PIN", or
nothing for a modem without one.
"""
import re
import socketserver
import sys

SIM = sys.argv[2]
ANSWERS = {
    r"\+GCAP": "+GCAP: +CGSM,+DS,+ES", r"\+CGMI|\+GMI": "Quectel", r"\+CGMM|\+GMM": "EC25", r"\+CGMR|\+GMR": "EC25EFAR06A01M4G",
    r"\+CGSN|\+GSN": "354479080000017", r"\+CIMI": "262011234567890", r"\+CFUN\?": "+CFUN: 1", r"\+CSCS=\?": '+CSCS: ("IRA","UCS2")',
    r"\+CREG\?": "+CREG: 0,1", r"\+CGREG\?": "+CGREG: 0,1", r"\+CSQ": "+CSQ: 20,99", r"\+CRSM.*": "+CRSM: 106,130",
    r"\+COPS\?": '+COPS: 0,2,"26201"', r"\+CGDCONT=\?": '+CGDCONT: (1-16),"IP",,,(0-2),(0-4)', r"\+CMEE.*|E0|V1|Z.*|\+CREG=.*|\+CGREG=.*|": "",
}


class Port(socketserver.BaseRequestHandler):
    def handle(self):
        text = ""
        while data := self.request.recv(4096):
            text += data.decode("ascii", "replace")
            *commands, text = text.split("\r")
            for command in commands:
                self.request.sendall(answer(command.strip()).encode())


def answer(command):
    command = re.sub(r"(?i)^AT", "", command)
    if command == "+CPIN?":
        return f"\r\n+CPIN: {SIM}\r\n\r\nOK\r\n" if SIM else "\r\n+CME ERROR: 10\r\n"
    for pattern, words in ANSWERS.items():
        if re.fullmatch(pattern, command):
            return (f"\r\n{words}\r\n" if words else "") + "\r\nOK\r\n"
    return "\r\nERROR\r\n"


socketserver.ThreadingUnixStreamServer.daemon_threads = True
socketserver.ThreadingUnixStreamServer("\0abstract:" + sys.argv[1], Port).serve_forever()
