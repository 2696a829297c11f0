# make run and make test are all a newcomer needs; CONTRIBUTING.md tells about the rest.
SHELL := bash
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
FUZZTIME ?= 30s
SOAKTIME ?= 10m
SETS ?= ../shared/eval
PACK ?= store

.DEFAULT_GOAL := build
.PHONY: run build test check golden oracle fuzz bench soak replicas attack faults conformance everything eval console-test apps-test screenshots clean

run: build ## build, and serve the demonstration PACK (store, erp, or xiaoqu with keys for its people) at 127.0.0.1:8088/mcp
	bin/resq serve --pack $(PACK) --demo --state .state

build: ## one static binary: bin/resq
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/resq ./cmd/resq

test: ## all tests, on SQLite, MySQL or MariaDB, and PostgreSQL
	scripts/test.sh

check: ## what the continuous integration checks
	.ci/run

golden: ## rewrite the expected output of the tests from what the program does; read the diff
	scripts/test.sh go test ./schema ./engine ./server ./cmd/resq -update

fuzz: ## every fuzz target for FUZZTIME, and the random requests of the tests from a seed of the clock's
	scripts/fuzz.sh $(FUZZTIME)
	RESQ_INTERFERENCE_SEED=clock RESQ_ATTACK_SEED=clock scripts/test.sh go test -count 1 -v -run 'Interference|SameEverywhere|Corpus|Mutat' ./engine ./attack

oracle: ## what schema/sqltext reads of SQL, against the parsers of two databases; needs a C compiler
	cd schema/sqltext/oracle && CGO_ENABLED=1 go test -count 1 .

bench: ## all benchmarks
	scripts/test.sh go test -run '^$$' -bench . -benchmem ./...

soak: ## the server under load for SOAKTIME, with reloads, disconnects, keys that are revoked, and a restart of its database
	scripts/soak.sh $(SOAKTIME)

replicas: ## three servers behind a balancer that sends each message to another, on each database
	scripts/test.sh go test -count 1 -v -run Replicas ./cmd/resq

attack: ## the attack corpus and the non-interference tests alone
	scripts/test.sh bash -o pipefail -c "go test -count 1 -v -run 'Attack|Corpus|Interference|ListAgainst' ./attack ./engine ./server ./cmd/resq | grep -v '^=== \|--- PASS'"

faults: ## databases, networks, disks and clocks that fail, and the program killed in the middle of writes
	scripts/test.sh go test -tags failpoint -count 1 -timeout 20m ./faults

conformance: ## the conformance suite of the protocol, in both of its eras; needs npm
	scripts/conformance.sh

everything: ## the protocol's example server, whose tools are offered by resq; needs npm
	scripts/everything.sh

eval: build ## question sets with known answers, from SETS
	$(SETS)/eval.py --resq $(abspath bin/resq) $(EVALFLAGS)

console-test: ## the console in a browser, beside an MCP client; needs npm and chromium
	scripts/console.sh

apps-test: ## the pages beside answers, in a browser with the protocol's own bridge; needs npm and chromium
	scripts/apps.sh

screenshots: ## the same, with a picture of every page in .cache/screenshots
	CONSOLE_SCREENSHOTS=$(CURDIR)/.cache/screenshots scripts/console.sh

clean: ## what the build and the tests left behind; not a database that runs
	rm -rf bin .state .cache
