#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One secret per box, of docs/fleet.md: enrolled, rotated, revoked, and checked by the two haproxys, in front of token-server and of
# the metrics. On this machine, without containers: enrolment.sh DIRECTORY-OF-PACKAGES
set -euo pipefail

packages=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
fleet=$(cd "$here/../../../packaging/fleet" && pwd)
work=$(mktemp -d)
background=()
trap 'kill "${background[@]}" 2>/dev/null; rm -rf "$work"' EXIT
. "$here/../../Support/library.sh"
fail() { tail -n 20 "$work"/*.log >&2 || true; echo "failed: $*" >&2; exit 1; }
# Different for each run.
port=$((20000 + $$ % 10000)) provider=$((port + 1)) tokens=$((port + 2)) pushes=$((port + 3)) journal=$((port + 4))
boxes() { (cd "$work/secrets" && "$fleet/enrolment/fleet-boxes" "$@"); }
refused() { # TEXT COMMAND...
  local status=0
  "${@:2}" >"$work/refusal" 2>&1 || status=$?
  if [ $status -eq 0 ] || ! grep -q -- "$1" "$work/refusal"; then cat "$work/refusal" >&2; fail "not refused with: $1"; fi
}

step "the fleet's CA, and the secrets of three boxes"
mkdir -m 700 "$work/secrets"
# The daemon connects to localhost, in place of tokens.example.com.
boxes init metrics.example.com localhost
boxes add truck-17
printf 'truck-18\nvan-1\n' | boxes add -
refused "already" boxes add truck-17
for name in "../x" "a b" "" "-x" "$(printf %064d 1)"; do refused "is not a host name" boxes add "$name"; done
refused "there is no box" boxes revoke truck-99
[ -z "$(find "$work/secrets" -type f -perm /077)" ] || fail "others can read the secrets"
[ "$(stat -c %s "$work"/secrets/boxes/*/token-provider | sort -u)" = 71 ] || fail "the credentials are not \"Bearer \" and 64 digits"
[ "$(boxes accepted | cut -c1-64 | sort -u | wc -l)" -eq 3 ] || fail "a secret is there twice"
openssl verify -purpose sslclient -CAfile "$work/secrets/central/ca.pem" "$work/secrets/boxes/truck-17/box.pem" >/dev/null || fail "the box's certificate"
openssl verify -purpose sslserver -CAfile "$work/secrets/central/ca.pem" "$work/secrets/central/central.pem" >/dev/null || fail "the server's"
! openssl verify -purpose sslserver -CAfile "$work/secrets/central/ca.pem" "$work/secrets/boxes/truck-17/box.pem" >/dev/null 2>&1 ||
  fail "a box can be the central machine"
# A certificate from another CA with the same names.
mkdir -m 700 "$work/stranger"
(cd "$work/stranger" && "$fleet/enrolment/fleet-boxes" init a b && "$fleet/enrolment/fleet-boxes" add truck-17)

step "user-data of a box has its own secrets, and those of no other"
boxes user-data truck-17 "$fleet/cloud-init/user-data.yaml" >"$work/user-data"
python3 - "$work" <<'END' || fail "the user-data"
import pathlib, re, sys
work = pathlib.Path(sys.argv[1])
text = (work / "user-data").read_text()
secrets = work / "secrets"
def indented(path):
    return "\n".join("      " + line for line in path.read_text().splitlines())
assert indented(secrets / "boxes/truck-17/box.pem") in text, "no certificate"
assert indented(secrets / "central/ca.pem") in text, "no CA"
credential = (secrets / "boxes/truck-17/token-provider").read_text()
assert f"content: {credential}\n" in text, "no credential"
for other in ("truck-18", "van-1"):
    # Some lines are the same in all certificates.
    assert (secrets / "boxes" / other / "token-provider").read_text() not in text, other
    assert not any(line in text for line in (secrets / "boxes" / other / "box.pem").read_text().splitlines()[-4:-1]), other
assert not re.search(r"BOX-|FLEET-CA", re.sub(r"(?m)^ *#.*$", "", text)), "a word of the template is left"
END

step "haproxy in front of token-server: each box gets the token of its own vehicle"
dpkg-deb -x "$(package fleet-engine-emulator)" "$work/programs"
dpkg-deb -x "$(package fleet-locationd)" "$work/programs"
python3 - "$work/account.json" <<'END'
import json, os, subprocess, sys
key = subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], check=True, capture_output=True, text=True)
with open(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
    json.dump({"type": "service_account", "project_id": "p", "private_key_id": "1", "private_key": key.stdout,
               "client_email": "driver@p.iam.gserviceaccount.com"}, file)
END
"$work/programs/usr/bin/fleet-engine-emulator" token-server --service-account "$work/account.json" --port $provider --quiet \
  --authorization "Bearer BEHIND-THE-PROXY" >"$work/token-server.log" 2>&1 &
background+=($!)
# Responds to a push like Prometheus.
python3 -c '
import http.server
class Prometheus(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"])); self.send_response(204); self.end_headers()
    def log_message(self, *arguments): pass
http.server.ThreadingHTTPServer(("127.0.0.1", '$port'), Prometheus).serve_forever()' >"$work/prometheus.log" 2>&1 &
background+=($!)
publish() {
  cp "$work"/secrets/central/*.pem "$work/served/"
  boxes accepted >"$work/served/accepted.map"
}
mkdir "$work/served"
publish
here() { # FILE
  sed -E "/^ *(user|group) /d; s#/etc/fleet-(boxes|metrics)#$work/served#g; s|127.0.0.1:8700|127.0.0.1:$provider|; s|127.0.0.1:9090|127.0.0.1:$port|
    s|bind :443|bind 127.0.0.1:$tokens|; s|bind :9443|bind 127.0.0.1:$pushes|; s|bind :19532|bind 127.0.0.1:$journal|; s|/dev/log local0|stdout local0|" "$fleet/$1"
}
here enrolment/tokens-haproxy.cfg >"$work/tokens.cfg"
here central-haproxy.cfg >"$work/central.cfg"
haproxies=()
# Like systemctl restart haproxy.
restart() {
  local pid name
  for pid in "${haproxies[@]}"; do kill "$pid"; wait "$pid" 2>/dev/null || true; done
  haproxies=()
  for name in tokens central; do
    # A container's limit of descriptors: with a fixed number of connections, haproxy would not start.
    prlimit --nofile=512:512 haproxy -db -f "$work/$name.cfg" >>"$work/haproxy-$name.log" 2>&1 &
    haproxies+=($!)
  done
  background+=("${haproxies[@]}")
  until_true 10 listening || fail "haproxy does not start"
}
listening() { for each in $tokens $pushes; do (: <"/dev/tcp/127.0.0.1/$each") 2>/dev/null || return 1; done; }
restart

ask() { # VEHICLE DIRECTORY-OF-CERTIFICATE FILE-OF-CREDENTIAL [OPTION...]: the status of the response
  curl -s -o "$work/answer" -w '%{http_code}' --cacert "$work/served/ca.pem" \
    ${2:+--cert "$2/box.pem"} -H "Authorization: $(cat "$3")" "${@:4}" "https://localhost:$tokens/token/delivery_driver/$1" || true
}
push() { # DIRECTORY-OF-CERTIFICATE
  curl -s -o /dev/null -w '%{http_code}' --cacert "$work/served/ca.pem" --connect-to "metrics.example.com:443:127.0.0.1:$pushes" --cert "$1/box.pem" \
    -d x https://metrics.example.com/api/v1/write || true
}
expect() { [ "$2" = "$1" ] || fail "$2 instead of $1: ${*:3}"; }
seventeen=$work/secrets/boxes/truck-17 eighteen=$work/secrets/boxes/truck-18
expect 200 "$(ask truck-17 "$seventeen" "$seventeen/token-provider")" "its own vehicle"
grep -q '"token"' "$work/answer" || fail "no token"
expect 403 "$(ask truck-18 "$seventeen" "$seventeen/token-provider")" "another vehicle"
expect 401 "$(ask truck-17 "$seventeen" "$eighteen/token-provider")" "the credential of another box"
expect 403 "$(ask truck-17 "$eighteen" "$seventeen/token-provider")" "the certificate of another box"
expect 000 "$(ask truck-17 "" "$seventeen/token-provider")" "no certificate"
expect 000 "$(ask truck-17 "$work/stranger/boxes/truck-17" "$seventeen/token-provider")" "a certificate of another CA"
expect 403 "$(ask truck-17 "$seventeen" "$seventeen/token-provider" -d x)" "another method"
expect 403 "$(ask "truck-17/../truck-18" "$seventeen" "$seventeen/token-provider" --path-as-is)" "another path"
expect 403 "$(ask "%2e%2e/%74ruck-18" "$seventeen" "$seventeen/token-provider" --path-as-is)" "an encoded path"
expect 204 "$(push "$seventeen")" "a push of metrics"
expect 000 "$(push "$work/stranger/boxes/truck-17")" "a push with a certificate of another CA"

step "the daemon's own client gets its token that way"
cat >"$work/settings.toml" <<END
[vehicle]
provider_id = "p"
vehicle_id = "truck-17"
[source]
type = "simulated"
route = "$fleet/../../config/examples/demo.gpx"
[token]
url = "https://localhost:$tokens/token/delivery_driver/{vehicle_id}"
response = "lmfs"
headers = { Authorization = { file = "$seventeen/token-provider" } }
$(sed -n "s|/etc/fleet-locationd/box.pem|$seventeen/box.pem|; s|/etc/fleet-locationd/ca.pem|$work/served/ca.pem|; /^c.* = /p" "$fleet/enrolment/token.toml")
END
"$work/programs/usr/bin/fleet-locationctl" token --config "$work/settings.toml" >"$work/token.log" 2>&1 || fail "fleet-locationctl token"

step "a rotation: both secrets are accepted until the box has the new ones"
cp -r "$seventeen" "$work/before"
boxes rotate truck-17
refused "retire first" boxes rotate truck-17
publish
restart
expect 200 "$(ask truck-17 "$work/before" "$work/before/token-provider")" "the secrets before"
expect 200 "$(ask truck-17 "$seventeen" "$seventeen/token-provider")" "the new secrets"
boxes retire truck-17
publish
restart
expect 000 "$(ask truck-17 "$work/before" "$work/before/token-provider")" "the certificate before, after it was retired"
expect 401 "$(ask truck-17 "$seventeen" "$work/before/token-provider")" "the credential before, after it was retired"
expect 200 "$(ask truck-17 "$seventeen" "$seventeen/token-provider")" "the new secrets, after the retirement"
expect 204 "$(push "$seventeen")" "a push with the new certificate"

step "an interrupted rotation is finished by the same command, and no secret in use is revoked"
mkdir -m 700 "$work/other"
others() { (cd "$work/other" && "$fleet/enrolment/fleet-boxes" "$@"); }
others init a b
others add truck-1 truck-2 backend
# The reader of the broker, which gets no tokens.
rm "$work/other/boxes/backend/token-provider"
truck=$work/other/boxes/truck-1
mkdir "$work/cut"
# The power fails when the first secret is replaced, and when the second one is.
for last in box.pem token-provider; do
  cp -r "$truck" "$work/kept"
  printf '#!/bin/sh\ncase $1 in */rotation/%s) kill -9 $PPID; exit 1 ;; esac\nexec /bin/mv "$@"\n' "$last" >"$work/cut/mv"
  chmod +x "$work/cut/mv"
  ! PATH=$work/cut:$PATH others rotate truck-1 2>/dev/null || fail "the rotation was not interrupted"
  [ -e "$truck/rotation/$last" ] || fail "the rotation was not interrupted at $last"
  others rotate truck-1
  [ "$(ls "$truck" | tr '\n' ' ')" = "box.pem previous token-provider " ] || fail "after the rotation: $(ls "$truck")"
  diff -r "$work/kept" "$truck/previous" || fail "the secrets before are not kept"
  ! cmp -s "$truck/box.pem" "$truck/previous/box.pem" || fail "the certificate is the same"
  others retire truck-1
  openssl verify -crl_check -CAfile <(cat "$work/other/central/ca.pem" "$work/other/central/crl.pem") "$truck/box.pem" >/dev/null ||
    fail "the certificate in use is revoked"
  rm -r "$work/kept"
done
# Those that were rotated before are named, and the others are rotated all the same.
others rotate backend
refused "backend was rotated before" others rotate backend truck-1 truck-2
[ -e "$truck/previous" ] && [ -e "$work/other/boxes/truck-2/previous" ] || fail "the others were not rotated"

step "an interrupted revocation is finished by the same command"
printf '#!/bin/sh\ncase $1 in ca/crl.new) kill -9 $PPID; exit 1 ;; esac\nexec /bin/mv "$@"\n' >"$work/cut/mv"
cp "$truck/box.pem" "$work/stolen.pem"
! PATH=$work/cut:$PATH others revoke truck-1 truck-2 2>/dev/null || fail "the revocation was not interrupted"
others revoke truck-1 truck-2
! openssl verify -crl_check -CAfile <(cat "$work/other/central/ca.pem" "$work/other/central/crl.pem") "$work/stolen.pem" >/dev/null 2>&1 ||
  fail "the certificate of a revoked box is valid"
[ ! -e "$truck" ] && [ ! -e "$work/other/boxes/truck-2" ] || fail "the boxes are still there"

step "a stolen box: its open connection ends, its session is not resumed, and it gets no other"
# A client that keeps its connection open, and its session for the next one.
cat >"$work/thief.py" <<'END'
import http.client, pickle, socket, ssl, sys, time
certificate, authority, port, flag = sys.argv[1:]
context = ssl.create_default_context(cafile=authority)
context.load_cert_chain(certificate)
def connect(session=None):
    raw = socket.create_connection(("127.0.0.1", int(port)))
    return context.wrap_socket(raw, server_hostname="metrics.example.com", session=session)
def push(sock):
    sock.sendall(b"POST /api/v1/write HTTP/1.1\r\nHost: m\r\nContent-Length: 1\r\n\r\nx")
    return sock.recv(4096)[9:12]
first = connect()
assert push(first) == b"204"
session = first.session
# The session can be resumed, and the connection is persistent.
second = connect(session)
assert second.session_reused and push(second) == b"204" and push(first) == b"204"
open(flag, "w").close()
first.settimeout(60)
assert first.recv(1) == b"", "the connection is open"
print("closed")
for kept in (session, None):
    deadline = time.monotonic() + 20
    while True:
        try:
            sock = connect(kept)
            print(f"{'resumed' if kept else 'new'}: {push(sock)}")
            break
        # While haproxy restarts, no process listens, or the one that did exits before the handshake.
        except (ConnectionRefusedError, ConnectionResetError):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        except OSError as error:
            print(f"{'resumed' if kept else 'new'}: {error.__class__.__name__} {'REVOKED' if 'revoked' in str(error).lower() else error}")
            break
END
cp -r "$eighteen" "$work/stolen"
python3 "$work/thief.py" "$work/stolen/box.pem" "$work/served/ca.pem" $pushes "$work/flag" >"$work/thief.log" 2>&1 &
thief=$!
until_true 10 test -e "$work/flag" || fail "the box's connection"
boxes revoke truck-18
publish
restart
wait $thief || fail "the open connection"
grep -q '^closed' "$work/thief.log" || fail "the connection is open"
[ "$(grep -c 'REVOKED' "$work/thief.log")" -eq 2 ] || fail "it is not refused as revoked"
expect 000 "$(ask truck-18 "$work/stolen" "$work/stolen/token-provider")" "a token for the stolen box"
expect 000 "$(push "$work/stolen")" "a push of the stolen box"
expect 204 "$(push "$seventeen")" "a push of another box"
boxes add truck-18
publish
restart
expect 200 "$(ask truck-18 "$eighteen" "$eighteen/token-provider")" "the new box for the vehicle"
expect 000 "$(ask truck-18 "$work/stolen" "$eighteen/token-provider")" "the stolen certificate, with a new box for the vehicle"

step "renewal before a certificate ends"
[ -z "$(boxes due 700 2>&1)" ] || fail "due in 700 days: $(boxes due 700 2>&1)"
[ "$(boxes due 731 | sort | tr '\n' ' ')" = "truck-17 truck-18 van-1 " ] || fail "due in 731 days: $(boxes due 731)"
boxes due 731 | boxes rotate -
boxes due 731 | boxes retire -
[ "$(boxes accepted | wc -l)" -eq 3 ] || fail "after the renewal"

step "the central machine's certificate: a warning before it ends, and a new one with the same names, which the boxes accept"
boxes due 731 2>"$work/warning" >"$work/due"
[ ! -s "$work/warning" ] || fail "a warning years too early: $(cat "$work/warning")"
boxes due 3651 2>"$work/warning" >"$work/due"
grep -q "the central machine's certificate expires on .*: fleet-boxes central" "$work/warning" || fail "no warning: $(cat "$work/warning")"
! grep -v '^truck-1[78]$\|^van-1$' "$work/due" || fail "the warning is among the vehicles"
names() { openssl x509 -in "$work/$1" -noout -subject -ext subjectAltName,extendedKeyUsage; }
boxes central
! cmp -s "$work/secrets/central/central.pem" "$work/served/central.pem" || fail "the same certificate"
[ "$(names secrets/central/central.pem)" = "$(names served/central.pem)" ] || fail "other names: $(names secrets/central/central.pem)"
publish
restart
expect 200 "$(ask truck-17 "$seventeen" "$seventeen/token-provider")" "a token from the machine with the new certificate"
expect 204 "$(push "$seventeen")" "a push to it"
