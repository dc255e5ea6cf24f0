# wideleaf: make alone lists the targets.
.DEFAULT_GOAL := help
export CGO_ENABLED ?= 0
GO ?= go
# The folder of real tables beside the project, if it is there: tests that need it skip without it and say so.
DATA ?= $(wildcard ../shared/data)
export WIDELEAF_DATA ?= $(abspath $(DATA))

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-9s %s\n", $$1, $$2}'

.PHONY: build
build: ## build the commands into bin/
	$(GO) build -o bin/ ./cmd/...

.PHONY: test
test: ## all tests, under ten minutes on two cores
	$(GO) test ./...

.PHONY: race
race: ## the tests under the race detector (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race -short ./...

.PHONY: lint
lint: ## gofmt and go vet
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "not formatted:"; echo "$$out"; exit 1; fi
	$(GO) vet ./...

FUZZTIME ?= 20s
.PHONY: fuzz
fuzz: ## every fuzz test for FUZZTIME (20s)
	@for pkg in $$($(GO) list ./...); do \
		for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "$$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
		done; \
	done

.PHONY: nightly
nightly: ## the long forms: many random histories and crashes, fuzzing, races
	WIDELEAF_NIGHTLY=1 $(GO) test -timeout 60m ./...
	$(MAKE) fuzz race

BENCH ?= .
.PHONY: bench
bench: ## Go benchmarks, five runs each, for benchstat (BENCH=regexp)
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count 5 ./...
