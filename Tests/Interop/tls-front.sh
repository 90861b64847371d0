#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# TLS and HTTP/2 in front of a plain HTTP server on the loopback interface, for tests and benchmarks.
#
#   tls-front.sh certificates DIR           creates a private CA and the certificates below, unless they exist
#   tls-front.sh serve DIR NAME FRONT BACK  serve DIR/NAME.crt on 127.0.0.1:FRONT in front of 127.0.0.1:BACK
#
# NAME: good, recent (an hour old), expired, not-yet-valid, wrong-host or unknown-ca (from an untrusted CA).
# DIR/ca.crt is the CA to trust; the certificates are for localhost, fleetengine.test, 127.0.0.1 and ::1.
# `serve` execs nghttpx: its process ID is the caller's child, and SIGTERM ends it. NGHTTPX_OPTIONS adds options.
set -eu

usage() {
  sed -n '3,10s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

# certificate NAME ISSUER HOSTS START END: times as YYYYMMDDHHMMSSZ. If the issuer is the name itself, it is a CA.
certificate() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -keyout "$1.key" -out "$1.csr" \
    -subj "/CN=Test $1" 2>/dev/null
  # Only `openssl ca` can set both times; it requires a configuration and an index.
  : >index.txt
  cat >ca.cnf <<END
[ca]
default_ca = front
[front]
database = index.txt
new_certs_dir = .
rand_serial = yes
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
[issuer]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical,CA:FALSE
extendedKeyUsage = serverAuth
subjectAltName = ${3:-DNS:none}
END
  if [ "$1" = "$2" ]; then
    set -- "$@" -selfsign -extensions issuer -keyfile "$1.key"
  else
    set -- "$@" -extensions server -cert "$2.crt" -keyfile "$2.key"
  fi
  name=$1 start=$4 end=$5
  shift 5
  openssl ca -batch -notext -config ca.cnf "$@" -in "$name.csr" -out "$name.crt" -startdate "$start" \
    -enddate "$end" 2>/dev/null
  rm -f "$name.csr" index.txt* ca.cnf ./[0-9A-F][0-9A-F]*.pem
}

certificates() {
  mkdir -p "$1"
  cd "$1"
  if [ -e complete ]; then return; fi
  umask 077
  local_names=DNS:localhost,DNS:fleetengine.test,IP:127.0.0.1,IP:::1
  day() { date -u -d "$1" +%Y%m%d%H%M%SZ; }
  # A long validity, so that a test can set the clock.
  past=20200101000000Z
  future=20600101000000Z
  certificate ca ca "" $past "$future"
  certificate stranger stranger "" $past "$future"
  certificate good ca "$local_names" $past "$future"
  certificate recent ca "$local_names" "$(day '-1 hour')" "$future"
  certificate expired ca "$local_names" $past "$(day '-1 day')"
  certificate not-yet-valid ca "$local_names" "$(day '+30 days')" "$future"
  certificate wrong-host ca DNS:elsewhere.example $past "$future"
  certificate unknown-ca stranger "$local_names" $past "$future"
  rm -f stranger.key
  : >complete
}

case "${1-}:$#" in
  certificates:2) certificates "$2" ;;
  serve:5)
    if [ ! -e "$2/$3.crt" ]; then
      echo "tls-front.sh: there is no $2/$3.crt; make it with: tls-front.sh certificates $2" >&2
      exit 1
    fi
    # shellcheck disable=SC2086
    exec nghttpx --conf=/dev/null --single-process --workers=1 --no-ocsp --log-level=ERROR --errorlog-file=/dev/stderr \
      --frontend="127.0.0.1,$4" --backend="127.0.0.1,$5" ${NGHTTPX_OPTIONS-} "$2/$3.key" "$2/$3.crt"
    ;;
  *) usage ;;
esac
