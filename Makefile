# SPDX-License-Identifier: MIT
#
# `make demo` and `make test` are all a newcomer needs. Both use one debug build, so the second is quick.

SWIFT   ?= swift
PREFIX  ?= /usr/local
DESTDIR ?=
INSTALL ?= install
# STRIP=: keeps the debug symbols, three quarters of a program.
STRIP   ?= strip

# A target that imports a sibling it does not declare fails the build. C++'s headers are read once, not for each file.
SWIFT_FLAGS = --explicit-target-dependency-import-check error $$(Scripts/header-modules .build/header-modules)

# What lets the linker leave out functions that no program calls: each is in a section of its own, and is not kept for
# other modules to call. C code, most of it cryptography that runs once a connection, is compiled for size, without tables.
RELEASE_FLAGS = -Xswiftc -Xfrontend -Xswiftc -function-sections -Xswiftc -Xfrontend -Xswiftc -internalize-at-link \
    -Xcc -ffunction-sections -Xcc -fdata-sections -Xcc -Oz -Xcc -DOPENSSL_SMALL

# Tests at a time: many start programs and measure time, and starve each other when all run at once.
TEST_WIDTH ?= 4

RELEASE  = .build/release
SWIFT_STATIC = .build/swift-static
DEBUG    = .build/debug
MANPAGES = tokenagent.1 tokenctl.1 tokenagent.conf.5 tokenagent-clients.7 tokenagent-fleet.7 tokenagent-protocol.7 \
    tokenagent-providers.7 tokenagent-tutorial.7
# What the two in PATH run or become.
PROGRAMS = tokenagent-runner tokenagent-proxy tokenagent-mcp tokenctl-commands
# The names under which git, docker and bazel look for their helpers in PATH.
LINKS    = git-credential-tokenagent docker-credential-tokenagent bazel-credential-tokenagent
# terraform looks into its own directories only, and keyring in PATH would hide the program of that name.
HIDDEN_LINKS = terraform-credentials-tokenagent keyring
UNITS    = tokenagent.service tokenagent.socket tokenagent-proxy.service
# For service accounts: these are the system's, not a user's.
SYSTEM_UNITS = tokenagent@.service
DOCUMENTS = README.md ARCHITECTURE.md THREAT_MODEL.md CHANGES.md packaging/examples/config.toml
# What the documents above link to.
LINKED_DOCUMENTS = docs/promises.md docs/decisions.md docs/source-map.md docs/fleet-protocol.md docs/providers.md
EXAMPLES = packaging/examples/tpm-rollback-counter

bindir  = $(PREFIX)/bin
libexecdir = $(PREFIX)/libexec/tokenagent
mandir  = $(PREFIX)/share/man
docdir  = $(PREFIX)/share/doc/tokenagent
# tokenagent looks for them next to the directory it is in.
providerdir = $(PREFIX)/share/tokenagent/providers
unitdir = $(PREFIX)/lib/systemd/user
systemunitdir = $(PREFIX)/lib/systemd/system
bashdir = $(PREFIX)/share/bash-completion/completions
zshdir  = $(PREFIX)/share/zsh/site-functions
fishdir = $(PREFIX)/share/fish/vendor_completions.d

.PHONY: help demo test test-full fuzz attack fleet-test build check-linkage lint messages bench link-order install install-documents tokenctl-full uninstall deb check-deb clean

help:
	@echo 'make demo        watch a session live: login, get, refresh, kill -9, restart (debug build)'
	@echo 'make test        every test but those that take minutes (debug build, shared with the demo)  [FILTER=TokenCoreTests: only these]'
	@echo 'make test-full   every test, and every promise of docs/promises.md, a line each  [ROWS="54 57": only these]'
	@echo 'make fuzz        hostile input for the parsers  [T="request store"] [SECONDS=60: for each]'
	@echo 'make attack      hostile issuers, programs, peers, proxies, disks and clocks against the release build  [W="words": only these]'
	@echo 'make fleet-test  hosts that share sessions, killed, paused and cut off, with an etcd in trouble  [S="kill pause"] [MINUTES=15, 75 for all kills]'
	@echo 'make build       release binaries in $(RELEASE)'
	@echo 'make install     binaries, man pages, completions, systemd user units  [PREFIX=$(PREFIX)] [DESTDIR=] [STRIP=:]'
	@echo 'make tokenctl-full  tokenctl with every command in one static file, for containers and other hosts'
	@echo 'make uninstall   removes what install put there'
	@echo 'make deb         Debian packages of the release build: tokenagent and tokenagent-dbgsym'
	@echo 'make check-deb   installs them on a clean Debian 12 in a folder, uses and removes them (as root)'
	@echo 'make lint        format, imports, words, man pages, scripts'
	@echo 'make messages    every text that a user can see, with its place'
	@echo 'make bench       our figures beside ssh-agent, oidc-agent, gpg-agent and nginx (release build)'
	@echo 'make link-order  notes which functions a start enters, for the linker to put side by side'
	@echo 'make clean       removes build products, keeps downloaded dependencies'
	@echo
	@echo 'Missing packages are installed first (apt-get), and every installation is announced.'

demo:
	@Scripts/install-dependencies build curl
	$(SWIFT) build $(SWIFT_FLAGS)
	Scripts/demo

# FILTER=TokenCoreTests runs only the tests whose target, suite or name holds the word.
test:
	@Scripts/install-dependencies build curl strace python3 toml-test ssh containers
	SWIFT='$(SWIFT)' SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$(TEST_WIDTH) Scripts/run-tests $(SWIFT_FLAGS) \
	    $(if $(FILTER),--filter '$(FILTER)')
	Scripts/check-docs $(DEBUG)

# ROWS="54 O17" runs only the tests and scripts of these promises and requirements.
test-full: build
	@Scripts/install-dependencies build curl strace python3 toml-test ssh containers ext4 xfs btrfs tpm keyring chromium
	$(SWIFT) build $(SWIFT_FLAGS) --build-tests
	Scripts/check-docs $(DEBUG)
	SWIFT='$(SWIFT)' SWIFT_FLAGS="$(SWIFT_FLAGS)" TEST_WIDTH=$(TEST_WIDTH) \
	    Scripts/promises $(if $(ROWS),--rows $(ROWS))

build:
	@Scripts/install-dependencies build python3
	SWIFT='$(SWIFT)' Scripts/slim-libraries $(SWIFT_STATIC)
	# Libraries are those of the system: none is looked for beside the program.
	TOKENAGENT_SWIFT_STATIC='$(CURDIR)/$(SWIFT_STATIC)' $(SWIFT) build -c release --disable-local-rpath \
	    $(SWIFT_FLAGS) $(RELEASE_FLAGS)

T       ?= request token-answer id-token metadata sources mcp proxy callback recording store configuration
SECONDS ?= 60
fuzz:
	@Scripts/install-dependencies build
	SWIFT='$(SWIFT)' SWIFT_FLAGS="$(SWIFT_FLAGS)" Scripts/fuzz $(SECONDS) $(T)

# S="kill pause" runs only these scenarios; MINUTES in all.
MINUTES ?= 15
fleet-test: build
	@Scripts/install-dependencies python3 cc etcd
	Scripts/fleet-test $(RELEASE) --minutes $(MINUTES) $(S:%=--scenario %)

# W="issuer: redirect" runs only the attacks whose line holds all of these words.
attack: build
	@Scripts/install-dependencies python3 curl cc
	Tests/Attacks/attacks $(RELEASE) $(W)

check-linkage: build
	Scripts/check-linkage $(RELEASE)

lint:
	@Scripts/install-dependencies swift mandoc groff python3
	Scripts/lint

messages:
	@Scripts/install-dependencies python3
	@Scripts/words --messages

bench: build
	@Scripts/install-dependencies python3 cc strace curl ssh-agent oidc-agent gpg-agent bench-proxy
	Scripts/bench $(RELEASE)
	Scripts/bench-proxy $(RELEASE)

# Only when what runs at every start has changed much: the order is a matter of speed and memory, and old names do no harm.
link-order: build
	@Scripts/install-dependencies python3 cc etcd
	Scripts/link-order $(RELEASE)
	# The programs are linked anew by the next build.
	rm -f $(RELEASE)/tokenagent $(RELEASE)/tokenagent-runner $(RELEASE)/tokenctl

# Never builds: `make build && sudo make install` must not leave files of root in the tree.
install:
	@test -x $(RELEASE)/tokenagent -a -x $(RELEASE)/tokenctl -a -x $(RELEASE)/tokenctl-commands || \
	    { echo 'make install: nothing is built yet; run "make build" first' >&2; exit 1; }
	$(INSTALL) -d '$(DESTDIR)$(bindir)' '$(DESTDIR)$(libexecdir)' '$(DESTDIR)$(docdir)' '$(DESTDIR)$(mandir)/man1' \
	    '$(DESTDIR)$(mandir)/man5' '$(DESTDIR)$(mandir)/man7' \
	    '$(DESTDIR)$(bashdir)' '$(DESTDIR)$(zshdir)' '$(DESTDIR)$(fishdir)'
	$(INSTALL) -m 755 $(RELEASE)/tokenagent $(RELEASE)/tokenctl '$(DESTDIR)$(bindir)'
	$(INSTALL) -m 755 $(PROGRAMS:%=$(RELEASE)/%) '$(DESTDIR)$(libexecdir)'
	$(STRIP) '$(DESTDIR)$(bindir)/tokenagent' '$(DESTDIR)$(bindir)/tokenctl' $(PROGRAMS:%='$(DESTDIR)$(libexecdir)/%')
	for link in $(LINKS); do ln -sf tokenctl '$(DESTDIR)$(bindir)'"/$$link" || exit 1; done
	for link in $(HIDDEN_LINKS); do ln -sf ../../bin/tokenctl '$(DESTDIR)$(libexecdir)'"/$$link" || exit 1; done
	for page in $(MANPAGES); do \
	    $(INSTALL) -m 644 "man/$$page" '$(DESTDIR)$(mandir)'"/man$${page##*.}/" || exit 1; done
	for link in $(LINKS); do ln -sf tokenctl.1 '$(DESTDIR)$(mandir)'"/man1/$$link.1" || exit 1; done
	$(MAKE) --no-print-directory install-documents
	$(INSTALL) -m 755 $(EXAMPLES) '$(DESTDIR)$(docdir)'
	$(INSTALL) -d '$(DESTDIR)$(providerdir)' && $(INSTALL) -m 644 packaging/providers/*.toml '$(DESTDIR)$(providerdir)'
	# Read by a shell that runs already, so without the line that names one.
	$(RELEASE)/tokenctl completions bash | sed '1{/^#!/d}' > '$(DESTDIR)$(bashdir)/tokenctl'
	$(RELEASE)/tokenctl completions zsh > '$(DESTDIR)$(zshdir)/_tokenctl'
	$(RELEASE)/tokenctl completions fish > '$(DESTDIR)$(fishdir)/tokenctl.fish'
	$(INSTALL) -d '$(DESTDIR)$(unitdir)'
	for unit in $(UNITS); do \
	    sed 's,/usr/bin/,$(bindir)/,' "packaging/systemd/$$unit" > '$(DESTDIR)$(unitdir)'"/$$unit" || exit 1; done
	$(INSTALL) -d '$(DESTDIR)$(systemunitdir)'
	for unit in $(SYSTEM_UNITS); do \
	    sed 's,/usr/bin/,$(bindir)/,' "packaging/systemd/$$unit" > '$(DESTDIR)$(systemunitdir)'"/$$unit" || exit 1; done
	$(INSTALL) -m 644 packaging/systemd/strict.conf '$(DESTDIR)$(docdir)'

install-documents:
	$(INSTALL) -d '$(DESTDIR)$(docdir)/docs'
	$(INSTALL) -m 644 LICENSE $(DOCUMENTS) '$(DESTDIR)$(docdir)'
	$(INSTALL) -m 644 $(LINKED_DOCUMENTS) '$(DESTDIR)$(docdir)/docs'
	Scripts/document-links '$(DESTDIR)$(docdir)'

uninstall:
	rm -f '$(DESTDIR)$(bindir)/tokenagent' '$(DESTDIR)$(bindir)/tokenctl' $(PROGRAMS:%='$(DESTDIR)$(libexecdir)/%') \
	    '$(DESTDIR)$(bashdir)/tokenctl' '$(DESTDIR)$(zshdir)/_tokenctl' '$(DESTDIR)$(fishdir)/tokenctl.fish'
	for link in $(LINKS); do rm -f '$(DESTDIR)$(bindir)'"/$$link" '$(DESTDIR)$(mandir)'"/man1/$$link.1"; done
	for link in $(HIDDEN_LINKS); do rm -f '$(DESTDIR)$(libexecdir)'"/$$link"; done
	for page in $(MANPAGES); do rm -f '$(DESTDIR)$(mandir)'"/man$${page##*.}/$$page"; done
	for unit in $(UNITS); do rm -f '$(DESTDIR)$(unitdir)'"/$$unit"; done
	for unit in $(SYSTEM_UNITS); do rm -f '$(DESTDIR)$(systemunitdir)'"/$$unit"; done
	for document in LICENSE strict.conf $(notdir $(DOCUMENTS) $(EXAMPLES)); do rm -f '$(DESTDIR)$(docdir)'"/$$document"; done
	for document in $(LINKED_DOCUMENTS); do rm -f '$(DESTDIR)$(docdir)'"/$$document"; done
	for file in packaging/providers/*.toml; do rm -f '$(DESTDIR)$(providerdir)'"/$$(basename "$$file")"; done
	-rmdir '$(DESTDIR)$(providerdir)' '$(DESTDIR)$(dir $(providerdir))'
	-rmdir '$(DESTDIR)$(docdir)/docs' '$(DESTDIR)$(docdir)' '$(DESTDIR)$(libexecdir)'

# tokenctl itself starts faster because it knows only get; this one needs no second file.
tokenctl-full: build
	$(INSTALL) -m 755 $(RELEASE)/tokenctl-commands $(RELEASE)/tokenctl-full
	$(STRIP) $(RELEASE)/tokenctl-full
	@echo 'copy $(RELEASE)/tokenctl-full as tokenctl'

deb: build
	@Scripts/install-dependencies deb
	Scripts/build-deb

check-deb: deb
	@Scripts/install-dependencies check-deb
	Scripts/check-deb

clean:
	$(SWIFT) package clean
	rm -rf .build/thread-sanitizer .build/address-sanitizer .build/fuzz $(SWIFT_STATIC)
