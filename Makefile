# SPDX-License-Identifier: Apache-2.0
# The entry point: make help

SHELL := /bin/bash
.DEFAULT_GOAL := build

DESTDIR ?=
SECONDS ?=
# The date before which no clock can be right: that of the last commit.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || date +%s)
export SWIFT_BACKTRACE ?= enable=no

# The same options on a terminal and in a pipe: otherwise each of the two would rebuild all that the other has built. Libraries are those
# of the system: none is searched for next to the program.
RELEASE := -c release --static-swift-stdlib --no-color-diagnostics --disable-local-rpath
# Types that a module itself names are looked up directly, not by mangled name at their first use: 2.6 million fewer instructions at
# each start (callgrind), for a program that is 0.2 % larger.
RELEASE += $(addprefix -Xswiftc ,-Xfrontend -disable-concrete-type-metadata-mangled-name-accessors)
# lld comes with the toolchain. A section for each function lets it place the functions that a run executes next to each other, in the
# order of `make symbol-order`: the kernel reads 64 kB around each page that is touched, so this saves memory (docs/performance.md).
# Without the file, or with an old one, the program needs more memory and is otherwise the same.
RELEASE += -Xswiftc -Xfrontend -Xswiftc -function-sections -Xswiftc -use-ld=lld \
  $(addprefix -Xlinker ,--icf=safe --no-export-dynamic -z pack-relative-relocs --build-id=sha1 --no-warn-symbol-ordering) \
  $(addprefix -Xlinker --symbol-ordering-file=,$(wildcard scripts/symbol-order.txt))
# The programs use a tenth of libstdc++: linked statically, it costs less memory and fewer relocations at each start than as a library.
STATIC_CXX = $(patsubst %,-Xlinker '--remap-inputs=*/libstdc++.so=%',$(wildcard $(shell $(CXX) -print-file-name=libstdc++.a)))
BIN := .build/release
# Without the targets that only tests need.
PROGRAM_TARGETS := fleet-locationd,fleet-locationctl,fleet-engine-emulator
DOC = $(DESTDIR)/usr/share/doc/fleet-locationd

# The architecture of the packages.
MACHINE := $(shell dpkg --print-architecture 2>/dev/null)
ARCH ?= $(MACHINE)
ARCHITECTURES ?= $(MACHINE)
ARM64 := scripts/arm64/toolchain.sh
ARM64_BIN := .build/arm64/aarch64-unknown-linux-gnu/release

BUILD_PACKAGES := g++ pkg-config libsystemd-dev libcurl4-openssl-dev libssl-dev libexpat1-dev libtomlplusplus-dev \
  libmicrohttpd-dev libsqlite3-dev zlib1g-dev
TEST_PACKAGES := python3 python3-venv sqlite3 curl openssl nghttp2-proxy nginx-light strace procps systemd socat gpsd gpsd-clients gpsd-tools iproute2 heaptrack \
  chromium-headless-shell fonts-inter libjs-leaflet dbus-daemon python3-dbus python3-gi modemmanager
DEB_PACKAGES := debhelper lintian dpkg-dev fakeroot mandoc python3 gpg gpgv gpg-agent
# The live map's page.
DEMO_PACKAGES := libjs-leaflet
# For making a compiler for arm64 out of Debian's packages.
ARM64_PACKAGES := mmdebstrap bubblewrap
# For running the programs for arm64, and what their tests need.
ARM64_TEST_PACKAGES := mmdebstrap arch-test qemu-user-static binfmt-support iproute2 nghttp2-proxy openssl python3 socat
# HTTP/2 servers that test our client. Every check uses nghttpx and nginx, which are in TEST_PACKAGES.
H2_PACKAGES := apache2-bin haproxy h2o caddy python3-hypercorn
# A real systemd in a container.
CONTAINER_PACKAGES := systemd-container mmdebstrap curl
SUITE ?= bookworm
# What the recipes of docs/fleet.md need on the machine that tests them; the Debian packages that a box needs are in its container.
FLEET_OPS_PACKAGES := $(CONTAINER_PACKAGES) reprepro gnupg haproxy openssl openssh-client iproute2 python3

SYMBOL_ORDER_PACKAGES := valgrind binutils

# A virtual machine: qemu, and what makes its image out of Debian packages.
MACHINE_PACKAGES := qemu-system-x86 qemu-utils mmdebstrap busybox-static kmod e2fsprogs openssh-client socat binutils sqlite3 python3

# A target's line names its subject, then what it does.
SUBJECTS := 'Use' 'Every day' 'Tests in virtual time' 'Tests of hostile input and memory' 'Tests with real programs' \
  'Tests of the installed service' 'Measurements, with the pictures of the pages' 'Release'
help: ## Every day: Lists the targets.
	@for subject in $(SUBJECTS); do printf '%s\n' "$$subject"; \
	  sed -nE "s/^([a-z0-9-]+):.* ## $$subject: (.*)/\1|\2/p" Makefile | while IFS='|' read -r name text; do printf '  %-18s%s\n' "$$name" "$$text"; done; done

.PHONY: help build setup setup-build setup-test setup-deb setup-container deb demo rehearsal test h2-interop explore simulate mutants crash-test damage sanitize check lint words arrows unit interop package-test release systemd-test fleet-ops-test downgrade-test reproducible-test arm64-test arm64-vm-test badlink-test delays fleet soak vm-test bench symbol-order fuzz format install clean

# A target's prerequisites install what the next ones need; compilers are parallel by themselves.
.NOTPARALLEL:

build: ## Use: Builds the programs for release.
	TESTS=$(PROGRAM_TARGETS) swift build $(QUIET) $(RELEASE) $(STATIC_CXX)

setup: setup-build setup-test ## Every day: Installs what building and testing need.

setup-build:
	@scripts/install-packages.sh $(BUILD_PACKAGES)

setup-test:
	@scripts/install-packages.sh $(TEST_PACKAGES)
	@Tests/Interop/setup-venv.sh

setup-deb:
	@scripts/install-packages.sh $(DEB_PACKAGES)

setup-container:
	@scripts/install-packages.sh $(CONTAINER_PACKAGES)

demo: export DEMO_ROUTE = $(ROUTE)
demo: export DEMO_VEHICLES = $(VEHICLES)
demo: export DEMO_SERVICE = $(SERVICE)
demo: export DEMO_SPEEDUP = $(SPEEDUP)
demo: export DEMO_SECONDS = $(SECONDS)
demo: export DEMO_SOURCE = $(SOURCE)
demo: export DEMO_TILES = $(TILES)
demo: export DEMO_ATTRIBUTION = $(ATTRIBUTION)
demo: ## Use: Drives simulated vehicles on a live map; ROUTE=file.gpx, VEHICLES=20, SECONDS=20: docs/rehearsal.md.
	@scripts/demo.sh --check
	@scripts/install-packages.sh $(DEMO_PACKAGES) || echo "Without $(DEMO_PACKAGES) there is no live map; the lines are printed anyway." >&2
	@$(MAKE) --no-print-directory setup-build build
	@scripts/demo.sh $(BIN)

rehearsal: setup build ## Tests with real programs: 1,000 (VEHICLES) daemons for SECONDS (120) and an emulator that is killed halfway.
	Tests/Interop/rehearsal.py $(BIN) --vehicles $(or $(VEHICLES),1000) --seconds $(or $(SECONDS),120)

test: setup ## Every day: Runs the tests.
	swift build --build-tests
	@scripts/run-tests.sh

# Not `swift test --filter`, which succeeds if no test matches; the program of the tests itself fails.
TESTS_NAMED := .build/debug/fleet-locationdPackageTests.xctest --testing-library swift-testing --filter
crash-test: setup ## Tests with real programs: Kills the daemon at 200 (CRASH_ROUNDS) random moments: no position is lost.
	swift build --build-tests
	CRASH_ROUNDS=$(or $(CRASH_ROUNDS),200) $(TESTS_NAMED) DurableBacklogTests.crashes

damage: setup ## Tests of hostile input and memory: Opens 10,000 (FILES) backlog files with flipped bits or truncated ends.
	swift build --build-tests
	DAMAGED_FILES=$(or $(FILES),10000) $(TESTS_NAMED) DamagedFileTests.anyFile

explore: ## Tests in virtual time: Tries every order of DEPTH (6) events from twenty states; then MERGED_DEPTH (5), with equivalent states merged.
	EXPLORATION_DEPTH=$(or $(DEPTH),6) EXPLORATION_MERGED_DEPTH=$(or $(MERGED_DEPTH),5) EXPLORATION_COMPARED=$(or $(COMPARED),100) \
	  TESTS=Exploration swift test --scratch-path build/exploration

# A drive is simulated in one thread: it needs neither atomic reference counts nor, after all tests have passed with them, checks
# for overlapping accesses. Together with optimization across modules, this saves a third of the time.
FAST_SIMULATION := -enable-testing -cross-module-optimization -enforce-exclusivity=unchecked -Xfrontend -assume-single-threaded
simulate: setup ## Tests in virtual time: Runs 12,000 random drives; SEED=81 TRACE=1 prints one, SEEDS=1..1000000 runs many.
	@mkdir -p build
ifdef SEEDS
	TESTS=Simulation swift build -c release --scratch-path build/simulation --product fleet-locationdPackageTests $(FAST_SIMULATION:%=-Xswiftc %)
	nice -n 19 scripts/simulate.py --processes $(or $(PROCESSES),2) build/simulation/release/fleet-locationdPackageTests.xctest $(SEEDS)
else ifdef TRACE
	@rm -f build/story.txt
	@swift build --build-tests >build/story.log 2>&1 || { cat build/story.log; exit 1; }
	@status=0; SIMULATION_RUNS=1 SIMULATION_SEED=$(or $(SEED),1) SIMULATION_STORY="$(CURDIR)/build/story.txt" \
	  $(TESTS_NAMED) RandomRunTests/invariants >build/story.log 2>&1 || status=$$?; \
	cat build/story.txt || cat build/story.log; [ $$status -eq 0 ] || grep -A40 "recorded an issue" build/story.log; exit $$status
else
	@rm -f build/outage.json
	swift build --build-tests
	SIMULATION_RUNS=$(or $(RUNS),10000) SIMULATION_SEED=$(or $(SEED),1) $(TESTS_NAMED) RandomRunTests
	OUTAGE_TRACE="$(CURDIR)/build/outage.json" $(TESTS_NAMED) OutageTraceTests
	Benchmarks/Pictures/outage.py build/outage.json docs/images/outage.svg
endif

mutants: setup ## Tests in virtual time: Breaks the daemon in twenty ways, and counts the random drives that notice it.
	scripts/mutants.py $(RUNS)

# Built in a separate directory; Benchmarks/run.sh says why. SEED (1).
fleet: setup-build ## Measurements, with the pictures of the pages: The load of 10,000 (VEHICLES) simulated vehicles through every fault; SCENARIOS="start cell".
	BENCH=1 TESTS=none swift build --scratch-path build/decoder -c release --static-swift-stdlib --product FleetBenchmark
	@status=0; VEHICLES=$(or $(VEHICLES),10000) SEED=$(or $(SEED),1) FIX_PERIOD=$(or $(FIX_PERIOD),5) build/decoder/release/FleetBenchmark build/fleet.json $(SCENARIOS) || status=$$?; \
	[ -n "$(SCENARIOS)" ] || Benchmarks/Pictures/fleet.py build/fleet.json docs/images/fleet.svg || status=$$?; exit $$status

sanitize: setup ## Tests of hostile input and memory: Tests all code with `unsafe` or C in it with the address sanitizer.
	@scripts/sanitize.sh

check: setup setup-deb setup-container ## Every day: What CI runs, half an hour; docs/development.md lists what it leaves out.
	@scripts/check.sh

# git grep has the status 1 if it finds nothing, and another one if it fails.
lint: ## Every day: Checks the format, the comments, and that everything exists that the pages link to or name.
	@scripts/check-documentation.py
	@scripts/check-links.py
	@scripts/test-simulate.py
	@git grep -nE '^(<<<<<<<|>>>>>>>) '; [ $$? -eq 1 ]
	@git grep -nP '#expect\((?!throws|processExitsWith|$$)' -- Tests; [ $$? -eq 1 ] || { echo "expectEqual, expectNil or expect (Tests/Support/Expectations): docs/development.md says why"; exit 1; }
	@git grep -nP 'systemd-creds\W+encrypt\b(?!.*--(tpm2-pcrs=(?!\d)|with-key=host))' -- Sources docs packaging config Tests; [ $$? -eq 1 ] || { echo "systemd-creds encrypt needs --tpm2-pcrs=: docs/fleet.md says why"; exit 1; }
	swift format lint --strict --recursive Package.swift Sources Tests Benchmarks Fuzz

words: ## Every day: Lists words that often stand where a term of the field should be; never fails.
	@scripts/words.py

arrows: ## Every day: Checks which module imports which.
	@scripts/check-arrows.sh

unit: ## Tests of the installed service: Checks the systemd unit and the decisions of the rollback.
	@scripts/check-unit.sh
	@Tests/FleetOps/tests/rollback.sh

# ROUNDS=20: more corrections of settings.
systemd-test: deb setup-container ## Tests of the installed service: The packages under a real systemd, from installation to purge; SUITE=trixie.
	Tests/Systemd/same-files.sh build
	SUITE=$(SUITE) Tests/Systemd/run.sh build
	SUITE=$(SUITE) ROUNDS=$(or $(ROUNDS),1) Tests/Systemd/corrections.sh build

fleet-ops-test: deb ## Tests of the installed service: The recipes of docs/fleet.md in containers; RECIPES="packages", SUITE=trixie.
	@scripts/install-packages.sh $(FLEET_OPS_PACKAGES)
	SUITE=$(SUITE) Tests/FleetOps/run.sh build $(RECIPES)

arm64-test: ## Tests of the installed service: The arm64 packages in an emulated Debian 12.
	$(MAKE) deb ARCH=arm64
	@scripts/install-packages.sh $(ARM64_TEST_PACKAGES)
	Tests/Arm64/run.sh build

reproducible-test: setup-build setup-deb ## Release: Builds the packages twice, in two directories, and compares them.
	@scripts/check-reproducible.sh

downgrade-test: setup build ## Release: Upgrades and downgrades between OLD, an earlier package, and this one with one backlog file.
	Tests/Interop/downgrade.py $(OLD) $(BIN)

interop: setup build ## Tests with real programs: Google's client libraries, gpsd, nghttpx, ModemManager, a browser; PART=programs, receivers or trials.
	Tests/Interop/run.sh $(BIN) $(PART)

h2-interop: setup build ## Tests with real programs: 400 updates through each of seven HTTP/2 servers.
	@scripts/install-packages.sh $(H2_PACKAGES)
	Tests/Interop/http2/servers.py $(BIN)

arm64-vm-test: setup-build build ## Tests of the installed service: The arm64 service in an emulated machine with udev and a USB receiver.
	$(MAKE) deb ARCH=arm64
	@scripts/install-packages.sh $(MACHINE_PACKAGES) $(ARM64_TEST_PACKAGES) qemu-system-arm
	MACHINE_ARCH=arm64 Tests/Machine/run.sh $(BIN) Tests/Machine/tests/receiver.sh

badlink-test: setup build ## Tests with real programs: Twenty minutes over a slow mobile link that loses packets; needs root.
	Tests/Interop/badlink/badlink.py $(BIN)

# MINUTES (5) for each link.
delays: setup build ## Measurements, with the pictures of the pages: The delay from the fix to Fleet Engine over five mobile links; needs root.
	@mkdir -p build
	Tests/Interop/badlink/delays.py $(BIN) build/delays.json --minutes $(or $(MINUTES),5)
	Benchmarks/Pictures/delay.py build/delays.json docs/images/delay.svg

soak: setup build ## Tests with real programs: Half an hour (MINUTES) in which each part fails in turn: memory, descriptors, losses.
	Tests/Interop/soak.py $(BIN) --minutes $(or $(MINUTES),30)

vm-test: setup-build build ## Tests of the installed service: In a virtual machine: the receiver is unplugged, the power is cut.
	@scripts/install-packages.sh $(MACHINE_PACKAGES)
	Tests/Machine/run.sh $(BIN)

fuzz: setup-build ## Tests of hostile input and memory: Fuzzes each parser for SECONDS (60); SEED=1 repeats the inputs of check.
	@SEED=$(SEED) scripts/fuzz.sh $(or $(SECONDS),60)

bench: setup build ## Measurements, with the pictures of the pages: CPU, memory and bytes of the daemon and of a program in C.
	Benchmarks/run.sh $(BIN)
	Benchmarks/Pictures/bench.py build/bench.json docs/images/bench.svg

symbol-order: setup build ## Measurements, with the pictures of the pages: Records which functions a run executes, for the linker.
	@scripts/install-packages.sh $(SYMBOL_ORDER_PACKAGES)
	scripts/symbol-order.py $(BIN) scripts/symbol-order.txt
	rm -f $(BIN)/fleet-locationd $(BIN)/fleet-locationctl
	@$(MAKE) --no-print-directory build

format: ## Every day: Formats the sources.
	swift format --in-place --recursive Package.swift Sources Tests Benchmarks Fuzz

# The maintainer and the home page of the packages: "Fleet team <fleet@example.com>", https://…
MAINTAINER ?=
HOMEPAGE ?=
export MAINTAINER HOMEPAGE
PROGRAMS := fleet-locationd fleet-engine-emulator
# build/ may also have the packages of other versions.
LINTIAN := sh -c 'lintian --fail-on error,warning --info build/*_$$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)_$(ARCH).changes'
ifeq ($(ARCH),$(MACHINE))
deb: setup-build setup-deb build ## Use: Builds the Debian packages, in build/; ARCH=arm64.
	@mkdir -p build/linked/$(ARCH)
	@for program in $(PROGRAMS); do scripts/linked.py $(BIN) $$program > build/linked/$(ARCH)/$$program.json || exit; done
	@scripts/build-deb.sh $(BIN)
	$(LINTIAN)
else
deb:
	@[ $(MACHINE)-$(ARCH) = amd64-arm64 ] || { echo "ARCH=$(ARCH): packages for another architecture can be built for arm64 only, and on amd64 only" >&2; exit 1; }
	@scripts/install-packages.sh $(ARM64_PACKAGES)
	$(ARM64) build $(RELEASE)
	@mkdir -p build/linked/arm64
	@for program in $(PROGRAMS); do $(ARM64) linked $(ARM64_BIN) $$program > build/linked/arm64/$$program.json || exit; done
	@$(ARM64) packaging scripts/build-deb.sh $(ARM64_BIN) arm64
	$(ARM64) packaging $(LINTIAN)
endif

release: ## Release: Signed packages in build/release; KEY, MAINTAINER, HOMEPAGE, ARCHITECTURES: docs/fleet.md.
	@[ -n "$(KEY)" ] && [ -n "$$MAINTAINER" ] && [ -n "$$HOMEPAGE" ] || { echo "release: needs KEY, MAINTAINER and HOMEPAGE: docs/fleet.md" >&2; exit 1; }
	@changes=$$(git status --porcelain) && [ -z "$$changes" ] || { echo "release: there are uncommitted changes, or git fails" >&2; exit 1; }
	@for architecture in $(ARCHITECTURES); do $(MAKE) deb ARCH=$$architecture || exit; done
	@scripts/release.sh "$(KEY)" $(ARCHITECTURES)

package-test: deb ## Release: Tests the packages: components, same bytes when packed elsewhere, make release.
	Tests/Packages/components.py build
	Tests/Packages/twice.sh $(BIN) build
	Tests/Packages/release.sh

# Does not depend on `build`: root has no Swift in its path, and does not need it.
install: ## Use: Installs the files of the package without a package, after make build; DESTDIR.
	@test -x $(BIN)/fleet-locationd || { echo "Nothing is built yet: make build" >&2; exit 1; }
	install -D -m 0755 $(BIN)/fleet-locationd $(DESTDIR)/usr/bin/fleet-locationd
	ln -sf fleet-locationd $(DESTDIR)/usr/bin/fleet-locationctl
	install -D -m 0644 systemd/fleet-locationd.service $(DESTDIR)/usr/lib/systemd/system/fleet-locationd.service
	install -D -m 0644 -t $(DESTDIR)/usr/lib/systemd/system systemd/fleet-locationd-{settings.path,settings@.path,settings.service,failed.service,retry.timer,retry-due.service,retry.service}
	install -D -m 0644 systemd/fleet-locationd.sysusers $(DESTDIR)/usr/lib/sysusers.d/fleet-locationd.conf
	install -D -m 0644 systemd/fleet-locationd.tmpfiles $(DESTDIR)/usr/lib/tmpfiles.d/fleet-locationd.conf
	set -o pipefail; scripts/template-unit.sh | install -m 0644 /dev/stdin $(DESTDIR)/usr/lib/systemd/system/fleet-locationd@.service
	install -D -m 0644 systemd/fleet-locationd.catalog $(DESTDIR)/usr/lib/systemd/catalog/fleet-locationd.catalog
	install -D -m 0644 -t $(DESTDIR)/usr/share/fleet-locationd config/io.fleet-locationd.{Control,Positions}.varlink
	install -D -m 0644 packaging/completion/fleet-locationctl $(DESTDIR)/usr/share/bash-completion/completions/fleet-locationctl
	ln -sf fleet-locationctl $(DESTDIR)/usr/share/bash-completion/completions/fleet-locationd
	install -D -m 0644 packaging/polkit/fleet-locationd.rules $(DESTDIR)/usr/share/polkit-1/rules.d/fleet-locationd.rules
	install -D -m 0644 packaging/debian/fleet-locationd.udev $(DESTDIR)/usr/lib/udev/rules.d/60-fleet-locationd.rules
	install -D -m 0644 -t $(DESTDIR)/usr/share/man/man1 docs/man/fleet-locationctl.1
	install -D -m 0644 -t $(DESTDIR)/usr/share/man/man5 docs/man/fleet-locationd.toml.5
	install -D -m 0644 -t $(DESTDIR)/usr/share/man/man8 docs/man/fleet-locationd.8
	install -D -m 0644 -t $(DOC)/examples packaging/prometheus/fleet-locationd.rules.yml config/fleet-locationd.toml config/examples/*
	install -D -m 0755 -t $(DOC)/examples scripts/crash-names.sh
	cd packaging && find fleet driver-app power -type f -exec sh -ec 'for file; do install -D -m $$(stat -c %a "$$file") "$$file" "$(abspath $(DOC))/examples/$$file"; done' sh {} +
	install -D -m 0644 -t $(DOC)/docs docs/*.md
	install -D -m 0644 -t $(DOC)/docs/images docs/images/*
	install -D -m 0644 -t $(DOC) README.md
	sed -i -f scripts/installed-links.sed $(DOC)/README.md $(DOC)/docs/*.md
	install -d $(DESTDIR)/etc/fleet-locationd/conf.d
	@[ -n "$(DESTDIR)" ] || printf '%s\n' "Installed. Next, as root:" "  systemd-sysusers" "  systemd-tmpfiles --create" "  systemctl daemon-reload" \
	  "  udevadm control --reload" "  journalctl --update-catalog" "  systemctl enable fleet-locationd"

clean: ## Every day: Removes what was built.
	rm -rf .build build
