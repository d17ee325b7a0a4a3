# Entry points for users and contributors. Each target creates what it needs (virtual environment, Java) on its first run.
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
# With PYTHONDONTWRITEBYTECODE set, each process of the tests would compile a thousand modules again.
export PYTHONDONTWRITEBYTECODE :=
DEMO := broker-sim run scenarios/catalog/leader-crash-acks-1.yaml scenarios/catalog/leader-crash-acks-all.yaml --spark --report report.html

MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs --quiet build

INTEROP := tests/interop tests/interop_python tests/hostile tests/differential/test_real_3_7.py tests/differential/test_real_4_3.py

.DEFAULT_GOAL := help
.PHONY: help demo test lint docs interop bench clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' $(MAKEFILE_LIST)

$(VENV)/.installed-%: pyproject.toml tools/make-venv
	@tools/make-venv $(VENV) $*

demo: $(VENV)/.installed-spark ## crash a leader under load from Spark, with acks=1 and with acks=all
	@java_home="$$(tools/find-jdk)" && export JAVA_HOME="$$java_home" && $(BIN)/$(DEMO)

test: $(VENV)/.installed-test ## run the tests that need only Python and Java (minutes)
	@java_home="$$(tools/find-jdk)" && export JAVA_HOME="$$java_home" && $(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder -m "not interop" --ignore tests/interop

lint: $(VENV)/.installed-dev ## check format, lint, types, import directions and the links of the documentation
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/shellcheck tools/* .ci/run
	$(BIN)/hadolint Dockerfile
	@$(MKDOCS)

docs: $(VENV)/.installed-dev ## generate the reference pages, and build the documentation site
	rm -f docs/reference/protocol/*.md
	$(BIN)/broker-sim protocol docs docs/reference/protocol
	$(BIN)/python -c 'import broker_client; print(broker_client.ProducerConfig.docs_page(), end="")' > docs/reference/producer-configs.md
	$(BIN)/python -m broker_sim.faults.reference_page > docs/reference/faults.md
	$(BIN)/python -m broker_sim.defects.reference_page > docs/reference/defects.md
	$(BIN)/python -m broker_client.defects.reference_page > docs/reference/client-defects.md
	$(BIN)/python -m broker_scenarios.language.reference_page > docs/reference/scenario-files.md
	$(BIN)/python -m broker_scenarios.commands.reference_page > docs/reference/command-line.md
	$(BIN)/python -m broker_scenarios.commands.configs > docs/reference/configurations.md
	$(BIN)/python -m broker_sim.http_control.reference_page > docs/reference/http-control.md
	$(BIN)/python -m tests.differential.fidelity
	@$(MKDOCS) && echo "open build/site/index.html"

interop: $(VENV)/.installed-test ## test with real Kafka, Java clients, franz-go and the built wheel; names the tools that are missing
	@prepared="$$(tools/prepare-interop $(BIN)/python)" && eval "$$prepared" && $(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder -m "interop and not alone" $(INTEROP) && \
	  $(BIN)/pytest -m alone tests/interop && \
	  $(BIN)/python benchmarks/broker_vs_real_kafka.py --pairs 1

bench: $(VENV)/.installed-test ## run the benchmarks; each figure is printed with its target
	@$(BIN)/python benchmarks/run.py

clean: ## remove the files that the other targets created
	rm -rf $(VENV) build dist report.html .mypy_cache .ruff_cache .import_linter_cache .hypothesis spark-warehouse
