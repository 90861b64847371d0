# SPDX-License-Identifier: Apache-2.0
# Makes the links of the pages lead to the installed files, in /usr/share/doc/fleet-locationd: README.md and docs/*.md.
s|](\.\./packaging/debian/changelog)|](../changelog.gz)|g
s|](\.\./packaging/|](../examples/|g
s|](\.\./config/examples/|](../examples/|g
s|](\.\./systemd/|](/usr/lib/systemd/system/|g
s|](LICENSE)|](copyright)|g
# What is not installed is named.
s|\[\([^]]*\)\](\.\./\(Tests/[^)]*\))|\1: \2|g
