#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests make release with small substitutes for the programs: maintainer, homepage, signatures, and how a fleet verifies them: release.sh
set -euo pipefail

cd "$(dirname "$0")/../.."
architecture=$(dpkg --print-architecture)
version=$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)
work=$(mktemp -d)
trap 'gpgconf --homedir "$work/gpg" --kill all 2>/dev/null; rm -rf "$work"' EXIT
fail() { echo "failed: $*" >&2; exit 1; }
refused() { # TEXT COMMAND...
  local status=0
  "${@:2}" >"$work/log" 2>&1 || status=$?
  if [ $status -eq 0 ] || ! grep -q -- "$1" "$work/log"; then cat "$work/log" >&2; fail "$2 was not refused because of: $1"; fi
}

tree=$work/tree
mkdir -p "$tree/build/linked/$architecture" "$tree/bin"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$tree"
cd "$tree"
for program in fleet-locationd fleet-engine-emulator; do
  echo 'int main(void) { return 0; }' | ${CC:-gcc} -x c -Wl,--build-id=sha1 -Wl,-z,now -pie -fPIE - -o "bin/$program"
  echo '{"compiler": "6.3", "archives": {}, "objects": [], "headers": []}' > "build/linked/$architecture/$program.json"
done

# Without a maintainer, nothing is signed.
scripts/build-deb.sh bin >/dev/null
refused "no maintainer" scripts/release.sh KEY "$architecture"
for wrong in "Fleet team" "fleet@fleet.example.com" "A <a@b> <c@d>" "Fleet/team <fleet@fleet.example.com>"; do
  MAINTAINER=$wrong refused "expected NAME <ADDRESS>" scripts/build-deb.sh bin
done
HOMEPAGE=http://fleet.example.com refused "expected https" scripts/build-deb.sh bin

export MAINTAINER="Fleet & Sons <packages@fleet.example.com>"
scripts/build-deb.sh bin >/dev/null
refused "no homepage" scripts/release.sh KEY "$architecture"
HOMEPAGE="https://fleet.example.com/a?b&c" scripts/build-deb.sh bin >/dev/null
package=fleet-locationd_${version}_$architecture
[ "$(dpkg-deb --field "build/$package.deb" Maintainer)" = "$MAINTAINER" ] || fail "Maintainer"
[ "$(dpkg-deb --field "build/$package.deb" Homepage)" = "https://fleet.example.com/a?b&c" ] || fail "Homepage"
dpkg-deb --fsys-tarfile "build/$package.deb" | tar -xO ./usr/share/doc/fleet-locationd/changelog.gz | gzip -d >"$work/changelog"
! grep -q '\.invalid' "$work/changelog" || fail "the changelog has another maintainer"
grep -q "^ -- $MAINTAINER  " "$work/changelog" || fail "the changelog does not have the maintainer"
python3 - "build/$package.spdx.json" <<'END' || fail "the list of components has another maintainer or homepage"
import json, sys
own = json.load(open(sys.argv[1]))["packages"][0]
assert own["supplier"] == "Organization: Fleet & Sons (packages@fleet.example.com)" and own["homepage"] == "https://fleet.example.com/a?b&c", own
END

export GNUPGHOME=$work/gpg
mkdir -m 700 "$GNUPGHOME"
gpg --batch --quiet --passphrase '' --quick-generate-key 'Releases <releases@fleet.example.com>' ed25519 sign 1d 2>/dev/null
key=$(gpg --list-keys --with-colons | awk -F: '$1 == "fpr" { print $10; exit }')
gpg --armor --export "$key" >"$work/release.asc"
scripts/release.sh "$key" "$architecture" >/dev/null
cp -r build/release "$work/download"

# As in docs/fleet.md, on a machine that does not have the key.
gpgconf --kill all
export GNUPGHOME=$work/gpg-of-fleet
mkdir -m 700 "$GNUPGHOME"
cd "$work/download"
[ "$(find . -type f | wc -l)" -eq 12 ] || fail "another number of files: $(ls)"
gpg --batch --quiet --no-default-keyring --keyring ./release.gpg --import "$work/release.asc" 2>/dev/null
verify() { gpgv --quiet --keyring ./release.gpg SHA256SUMS.asc SHA256SUMS && sha256sum --quiet --check SHA256SUMS; }
verify 2>"$work/log" || { cat "$work/log" >&2; fail "the release is not accepted"; }
for file in *.deb *.json; do
  gpgv --quiet --keyring ./release.gpg "$file.asc" "$file" 2>"$work/log" || { cat "$work/log" >&2; fail "$file is not accepted"; }
done
cp "$package.deb" "$work/whole.deb"
printf x >>"$package.deb"
refused "FAILED" verify
refused "BAD signature" gpgv --keyring ./release.gpg "$package.deb.asc" "$package.deb"
sed -i "s/^[0-9a-f]*  $package.deb/$(sha256sum "$package.deb" | cut -d' ' -f1)  $package.deb/" SHA256SUMS
refused "BAD signature" verify
echo "release: the maintainer's name, homepage and signatures; what was changed afterwards is refused"
gpgconf --kill all 2>/dev/null || true
