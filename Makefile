# The door of the house: each target makes what it needs (virtual environment, Java) when it is first called.
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
DEMO := broker-sim run scenarios/catalog/leader-crash-acks-1.yaml scenarios/catalog/leader-crash-acks-all.yaml --spark --report report.html

.DEFAULT_GOAL := help
.PHONY: help demo test lint docs interop bench clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' $(MAKEFILE_LIST)

$(VENV)/.installed-%: pyproject.toml tools/make-venv
	@tools/make-venv $(VENV) $*

demo: $(VENV)/.installed-spark ## crash a leader under a load from Spark, twice: see what is lost, and what is not
	@java_home="$$(tools/find-jdk)" && export JAVA_HOME="$$java_home" && $(BIN)/$(DEMO)

test: $(VENV)/.installed-test ## the tests that need nothing but Python and Java (minutes)
	@java_home="$$(tools/find-jdk)" && export JAVA_HOME="$$java_home" && $(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder -m "not interop"

lint: $(VENV)/.installed-dev ## format, lint, types, import directions
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/shellcheck tools/* .ci/run

docs: $(VENV)/.installed-test ## the reference of the protocol and of configurations, and what is the same as on real brokers
	rm -f docs/reference/protocol/*.md
	$(BIN)/broker-sim protocol docs docs/reference/protocol
	$(BIN)/python -c 'import broker_client; print(broker_client.ProducerConfig.docs_page(), end="")' > docs/reference/producer-configs.md
	$(BIN)/python -m tests.differential.fidelity

interop: $(VENV)/.installed-test ## real Kafka, Java clients, franz-go, the built wheel; says what it cannot run
	@prepared="$$(tools/prepare-interop $(BIN)/python)" && eval "$$prepared" && $(BIN)/pytest -n 2 --dist loadfile -m "interop and not alone" && \
	  $(BIN)/pytest -m alone && \
	  $(BIN)/python benchmarks/broker_vs_real_kafka.py --pairs 1

bench: $(VENV)/.installed-test ## the ratios against librdkafka's mock cluster, and start times
	@$(BIN)/python benchmarks/run.py

clean: ## remove what the other targets made
	rm -rf $(VENV) build dist report.html .mypy_cache .ruff_cache .import_linter_cache .hypothesis spark-warehouse
