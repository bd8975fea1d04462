# `make demo` and `make test` each set up all they need inside this checkout; see README.md.

UV := scripts/uv
RUN := $(UV) run --frozen --no-sync
# rustup's folder is not on the PATH of a shell that was open before its installation.
export PATH := $(PATH):$(HOME)/.cargo/bin

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint bench clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Build the core and its Python environment in .venv
	@command -v cargo >/dev/null || { echo "cellwind: Rust is missing; install stable Rust from https://rustup.rs" >&2; exit 1; }
	@command -v cc >/dev/null || { echo "cellwind: a C compiler is missing (Debian: apt-get install gcc libc6-dev)" >&2; exit 1; }
	@$(UV) sync --frozen
	@test -e python/cellwind/_core.abi3.so || $(UV) sync --frozen --reinstall-package cellwind

demo: setup ## Simulate a download over UMTS ten times and write its report
	@rm -rf results/demo
	@$(RUN) cellwind run umts-384 --replications 10 --facts --out results/demo

test: setup ## Run the Rust and the Python tests
	cargo test --workspace --locked
	$(RUN) pytest

lint: setup ## Check formatting, lints and types
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	$(RUN) ruff check
	$(RUN) ruff format --check
	$(RUN) mypy

bench: setup ## Measure speed, memory and punctuality, beside ns-2 and the kernel where they are there
	@$(RUN) python benches/run.py
	@$(RUN) python benches/live_clocks.py

clean: ## Remove everything that was built; results stay
	rm -rf target .venv .tools .pytest_cache .mypy_cache .ruff_cache python/cellwind/*.so
	find python tests benches -name __pycache__ -prune -exec rm -rf {} +
