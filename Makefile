# make run    builds and runs the whole loop on recorded load (a minute and a quarter)
# make install  puts ringmaster into PREFIX/bin (/usr/local)
# make package  writes bin/ringmaster.deb, of the build without OpenGL
# make test   runs every test; a skipped test is a failure
# make race   the same under the race detector
# make fuzz   damaged payloads, a million and more
# make check  formatting, vet, staticcheck, module tidiness
#
# The targets that build with cgo install missing system packages first.

GO ?= go
VERSION := $(shell git describe --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -X main.version=$(VERSION)

# Without a compiler go would silently build what has no OpenGL.
export CGO_ENABLED ?= 1

.PHONY: run build install test race fuzz check bench soak-stream soak-fleet soak-network soak-flood soak-subscribers soak-core soak-crashes soak-pool soak-cycles packages packages-test package package-test clean

run: build
	bin/ringmaster demo

build: packages bin/ringmaster

.PHONY: bin/ringmaster bin/ringmaster-headless
bin/ringmaster:
	$(GO) build -ldflags '$(LDFLAGS)' -o $@ ./cmd/runtime

# No window backend: needs libc only to start, finds libEGL when it runs.
bin/ringmaster-headless:
	$(GO) build -tags noglfw,egl -ldflags '$(LDFLAGS)' -o $@ ./cmd/runtime

PREFIX ?= /usr/local

install: build
	install -D -m 755 bin/ringmaster $(DESTDIR)$(PREFIX)/bin/ringmaster
	install -d $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/bash-completion/completions
	bin/ringmaster man >$(DESTDIR)$(PREFIX)/share/man/man1/ringmaster.1
	bin/ringmaster completion bash >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/ringmaster

package:
	mkdir -p bin
	deploy/deb/build bin/ringmaster.deb

# Installs the package into this machine, starts it, and removes it.
package-test:
	deploy/deb/test

test: packages-test
	RINGMASTER_REQUIRE=gl,nats,node .ci/test ./...
	CGO_ENABLED=0 $(GO) build ./...
	RINGMASTER_REQUIRE=nats,node CGO_ENABLED=0 .ci/test $$(.ci/without-cgo)

race: packages-test
	RINGMASTER_REQUIRE=gl,nats,node .ci/test -race ./...

fuzz: packages-test
	.ci/fuzz

check: packages-test
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt -w these:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	CGO_ENABLED=0 $(GO) vet ./...
	$(GO) vet -tags noglfw,egl ./...
	$(GO) tool staticcheck ./...
	$(GO) mod tidy -diff

# A program of its own, so that no yardstick is linked into ringmaster; go run ./bench does as well.
.PHONY: bin/bench
bin/bench:
	$(GO) build -tags noglfw,egl -ldflags '$(LDFLAGS)' -o $@ ./bench

# What the soaks below run, for machines without Go: bin/fleet --ringmaster bin/ringmaster-headless --nats-server bin/nats-server
.PHONY: bin/fleet bin/nats-server
bin/fleet:
	CGO_ENABLED=0 $(GO) build -o $@ ./bench/fleet
bin/nats-server:
	CGO_ENABLED=0 $(GO) build -o $@ github.com/nats-io/nats-server/v2

# Floods the stream for ten minutes; fails if memory is not flat.
soak-stream: packages bin/bench
	bin/bench soak

# 35 minutes: the table of docs/reliability.md; root only, for the disks. Two cores are full at 100 workers.
WORKERS ?= 1000
soak-fleet: packages
	$(GO) run ./bench/fleet --disks --workers $(WORKERS) --rate 1 --runs 20

# Ten minutes: servers cut off, and packets lost, in network namespaces; root only, with ip and nft.
soak-network:
	$(GO) run ./bench/fleet --namespaces --workers 1000 --rate 1 --runs 4

# A minute and a half: how long records wait beside a neighbour that sends a thousand records a second, each of another queue.
soak-flood:
	$(GO) run ./bench/fleet --servers 1 --deciders 1 --workers 10 --rate 50 --runs 3 --flood 1000

# Two minutes: how long records wait beside a subscriber that does not read.
soak-subscribers:
	$(GO) run ./bench/fleet --servers 1 --deciders 1 --workers 10 --rate 50 --runs 3 --subscribers 64

# A minute: what a decider carries that has one of two cores for itself. The server and the load share the other.
soak-core:
	taskset -c 0 $(GO) run ./bench/fleet --steady 10s --core 1 --servers 1 --deciders 1 --workers 1000 --rate 100 --batch 4

# Four minutes: a worker with a device is killed with batches in hand. docs/reliability.md has its table.
soak-crashes:
	$(GO) run ./bench/fleet --crashes 20

# Five minutes: a worker for each of these devices, and a pool that they share.
POOL_DEVICES ?= 0,1
soak-pool:
	$(GO) run ./bench/fleet --pool $(POOL_DEVICES)

# Starts and ends a node that decides a thousand times; fails if anything stays behind. CI has a hundred.
soak-cycles:
	$(GO) test ./cmd/runtime/worker -run TestNothingStaysOfANode -v -cycles 1000

bench: packages bin/bench
	bin/bench policy decode ring stream

packages:
	@.ci/packages build

packages-test:
	@.ci/packages test

clean:
	rm -rf bin
