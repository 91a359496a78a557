# `make` alone lists the verbs. Each does the set-up that it needs; done once, none of it needs the network again.

CANDIDATES := python3.13 python3.12 python3.11 python3.14 python3
python = $(shell for name in $(CANDIDATES); do "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$name" && break; done)
set_up = @python="$(python)"; test -n "$$python" || { echo "Treering needs Python 3.11 or newer. Install it, then run make again."; exit 1; }; "$$python" install.py
bin := .venv/bin
compile := uv pip compile pyproject.toml --group pyproject.toml:build --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate --quiet

.DEFAULT_GOAL := help
.PHONY: help setup protos check test run soak demo bench lock clean

help:
	@sed -n 's/^\([a-z]*\):.*## /make \1	/p' $(MAKEFILE_LIST) | expand -t 16

setup: ## install everything for development, and compile the protos
	$(set_up) dev

protos: ## compile the protos again
	@rm -f gen/stamp
	$(set_up) run

check: setup ## format, lint, types, protos, architecture
	@$(bin)/python -m pytest -n 0 --noconftest -v --no-header -rs tests/test_rules.py

# The tests have houses and parents of databases in one process, and gRPC's handlers around a fork may crash the child
# while calls are under way. What is forked only executes another program, and needs none of them.
test: setup ## everything, in two processes; `make test k=pop` for some
	@GRPC_ENABLE_FORK_SUPPORT=0 $(bin)/python -m pytest $(if $(k),-k '$(k)')

run: ## the whole house, on 127.0.0.1:7600 (gRPC) and 127.0.0.1:7680 (HTTP)
	$(set_up) run
	@exec $(bin)/treering serve

soak: setup ## 100,000 pushes and pops while connections are cut, each in its place
	@SOAK_PUSHES=6250 $(bin)/python -m pytest -n 0 -o timeout=7200 tests/services/test_clipboard_stack.py

demo: ## the story of a session, in a house that is gone afterwards
	$(set_up) run
	@exec $(bin)/treering demo

bench: ## measure; `make bench LOCOMO=FILE THREATS=FILE` for retrieval and screening too
	$(set_up) dev
	@exec $(bin)/python -m bench $(if $(LOCOMO),--locomo '$(LOCOMO)') $(if $(THREATS),--threats '$(THREATS)')

lock: ## pin the newest packages that pyproject.toml allows (needs uv)
	$(compile) --upgrade --group pyproject.toml:dev -o requirements/dev.lock
	$(compile) -c requirements/dev.lock -o requirements/run.lock

clean: ## remove what set-up made; the state in .treering stays
	rm -rf .venv gen
