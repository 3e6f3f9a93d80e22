# `make help` says what there is. CMake does the building (CMakePresets.json names the builds); this
# file strings the commands together that a person or a build server would otherwise have to know.
SHELL := /bin/bash
.DEFAULT_GOAL := help

JOBS ?= $(shell nproc)
# How long `make check` and `make fuzz-long` run each fuzzer.
FUZZ_SECONDS ?= 600
# How long `make soak` loads the server.
SOAK_SECONDS ?= 1800
export JOBS FUZZ_SECONDS SOAK_SECONDS MODEL PROMPT

# Debian's Python has its NumPy; another one that comes first in PATH may not.
python := $(firstword $(wildcard /usr/bin/python3) python3)

launcher := $(if $(shell command -v ccache),-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
ninja_flags := $(shell [ -t 2 ] || echo --quiet)
numa_programs := hearth numa_decode numa_probe
# What the tests with the label `few` run in the cross build.
few_programs := kernels_test threads_test
cpp_files = git ls-files -co --exclude-standard -- '*.cc' '*.h'

say = @printf '==> %s\n' "$(1)"

# $(call build_preset,preset,what for,targets)
define build_preset
$(call say,build/$(1): $(2))
@scripts/quiet.sh cmake --preset $(1) $(launcher)
@cmake --build build/$(1) -j $(JOBS) --target $(3) -- $(ninja_flags)
endef

# $(call run_tests,preset,labels): one more at a time than there are CPUs, since those of the
# program mostly wait.
run_tests = ctest --test-dir build/$(1) -L '$(2)' -LE house --no-tests=error \
            --output-on-failure -j $$(($(JOBS) + 1)) && scripts/what_ran.py build/$(1)

# $(call web_with,preset)
define web_with
$(call build_preset,$(1),the program with sanitizers,hearth stub_serve)
$(call say,web-$(1): published clients and a browser against hearth serve of build/$(1))
@HEARTH=$(CURDIR)/build/$(1)/hearth $(fixed_addresses) scripts/web.sh
endef

##@ Use
.PHONY: build run serve man
build: deps  ## the program, at build/release/hearth
	$(call build_preset,release,the program with g++,hearth)

ifdef MODEL
run: build  ## text from the demo model, or make run MODEL=file.gguf [PROMPT="Once"] [ARGS="-n 64"]
	$(call say,hearth run $(MODEL))
	@build/release/hearth run "$$MODEL" $${PROMPT:+-p "$$PROMPT"} $(ARGS)
else
run: build
	$(call say,hearth topo: the machine and the plan)
	@build/release/hearth topo
	$(call say,hearth run: the demo model; MODEL=file.gguf takes another)
	@build/release/hearth run $${PROMPT:+-p "$$PROMPT"} $(ARGS)
endif

man: build deps-man  ## manual pages, a page a verb, in build/man
	$(call say,manual pages of what --help prints: build/man)
	@scripts/man.sh

serve: build  ## the demo model on a page and its API, or make serve MODEL=... [ARGS="--port 80"]
	$(call say,hearth serve: $(or $(MODEL),the demo model); Ctrl+C ends it)
	@build/release/hearth serve $${MODEL:+"$$MODEL"} $(ARGS)

##@ Test
.PHONY: test check units tokenizers tokenizers-long tested-levels web numa numa-long house fuzz
.PHONY: fuzz-long aarch64 aarch64-long goldens-long streams-long llama-peer agents shapes
.PHONY: gpu-compilers
.PHONY: asan tsan web-asan web-tsan clang tidy bench-smoke soak
test: deps-test  ## house rules, units, goldens, tokenizers, web, NUMA, fuzzers, aarch64
	@scripts/steps.sh house units tokenizers web numa fuzz aarch64

check: deps-check  ## the rest: sanitizers, clang, clang-tidy, all of aarch64, fuzzing, bench smoke
	@scripts/steps.sh format-check asan tsan web-asan web-tsan clang tidy bench-smoke numa-long \
	  aarch64-long fuzz-long tokenizers-long goldens-long streams-long llama-peer agents \
	  shapes gpu-compilers

units: deps-units  ## every test of the release build
	$(call build_preset,release,the program and its tests with g++,all)
	$(call say,ctest: unit golden and ISA tests of the release build)
	@$(call run_tests,release,.)

goldens-long: deps-units  ## golden models under every ISA level, plan and cut
	$(call build_preset,release,golden models,golden_test)
	$(call say,goldens-long: every golden model at every ISA level)
	@HEARTH_ALL_LEVELS=1 ctest --test-dir build/release -R '^golden_test' --no-tests=error \
	  --output-on-failure -j $(JOBS)

streams-long: deps-units  ## prompts through virtual GPUs and lavapipe, in hundreds of shapes
	$(call build_preset,release,streamed prompts,pass_order_test prefill_pass_test scheduler_test)
	$(call say,streams-long: prompts through GPUs in hundreds of shapes and 10000 that come and go)
	@ctest --test-dir build/release --no-tests=error --output-on-failure -R '^golden_set$$'
	@HEARTH_ALL_STREAMS=1 build/release/bin/scheduler_test --gtest_brief=1 \
	  --gtest_filter='SchedulerStream*'
	@HEARTH_ALL_STREAMS=1 build/release/bin/pass_order_test --gtest_brief=1
	@HEARTH_ALL_STREAMS=1 HEARTH_GOLDEN_DIR=build/release/golden \
	  build/release/bin/prefill_pass_test --gtest_brief=1

web: deps-web  ## published clients of the API, and the page in Chromium
	$(call build_preset,release,the program with g++,hearth stub_serve)
	$(call say,web: published clients and a browser against hearth serve)
	@scripts/web.sh

agents: deps-web  ## Claude Code, Codex and opencode as docs/agents.md sets them up
	$(call build_preset,release,the server before a stub of an engine,stub_serve)
	$(call say,agents: coding agents against the server before a stub of an engine)
	@scripts/agents.sh

shapes: deps-web  ## bodies and events beside what OpenAI and Anthropic declare
	$(call build_preset,release,the program with g++,hearth stub_serve)
	$(call say,shapes: bodies and events beside the types of openai and @anthropic-ai/sdk)
	@scripts/shapes.sh

tokenizers: deps-web  ## token ids beside Hugging Face's tokenizers and tiktoken
	$(call build_preset,release,what asks the tokenizer,tokenizer_probe)
	$(call say,tokenizers: ids beside Hugging Face's tokenizers and tiktoken)
	@scripts/tokenizer_peers.sh --texts 300 --random 8

tokenizers-long: deps-web  ## 10,000 texts, more tokenizers, the encodings that come with tiktoken
	$(call build_preset,release,what asks the tokenizer,tokenizer_probe)
	$(call say,tokenizers-long: ids of 10000 texts beside Hugging Face's tokenizers and tiktoken)
	@scripts/tokenizer_peers.sh --texts 10000 --random 40 --encodings

llama-peer: deps-web  ## files of hearth quantize in llama.cpp, as npm has it
	$(call build_preset,release,the program and what makes models,hearth made_model)
	$(call say,llama-peer: files that hearth quantize writes in llama.cpp)
	@scripts/llama_peer.sh

gpu-compilers: deps-gpu-mesa  ## the shaders by compilers for AMD's GPUs, a newer lavapipe
	$(call build_preset,release,the program and what compiles shaders,hearth shader_compile)
	$(call say,gpu-compilers: shaders by compilers for AMD and by a newer lavapipe)
	@scripts/gpu-compilers.sh

numa: deps-numa  ## an emulated machine with four NUMA nodes: where memory lies, threads run
	$(call build_preset,release,the program and what probes it,$(numa_programs))
	$(call say,numa: the engine on an emulated machine with four nodes)
	@$(python) tests/numa/numa_test.py --build build/release

numa-long: deps-numa  ## more models, machines of other shapes, remote bytes counted
	$(call build_preset,release,the program and what probes it,$(numa_programs))
	$(call say,numa-long: the engine on emulated machines of many shapes)
	@$(python) tests/numa/numa_test.py --build build/release --all
	$(call say,numa-long: remote bytes of a decode step)
	@$(python) tools/numa/count_remote.py --build build/release --check

tested-levels:  ## writes docs/tested-levels.md from the last units and aarch64
	@scripts/what_ran.py --page docs/tested-levels.md build/release build/aarch64

house: deps  ## layering, budgets and wording of the tree itself
	$(call say,house: layering budgets and wording of the tree)
	@python3 tests/house/house_test.py

fuzz: deps-clang  ## fuzzers of files and requests with sanitizers, a fixed number of runs
	$(call say,fuzz: every fuzzer of files and requests for its fixed number of runs)
	@scripts/fuzz.sh runs

fuzz-long: deps-clang  ## all fuzzers for FUZZ_SECONDS each, learning into build/fuzz/corpus
	$(call say,fuzz-long: every fuzzer for $(FUZZ_SECONDS) seconds)
	@scripts/fuzz.sh seconds $(FUZZ_SECONDS)

ifeq ($(shell uname -m),aarch64)
aarch64 aarch64-long:
	@scripts/skip.sh 'this machine is aarch64: its release build is that test'
else ifeq ($(shell command -v apt-get aarch64-linux-gnu-g++),)
aarch64 aarch64-long:
	@scripts/skip.sh 'there is no aarch64-linux-gnu-g++, and no apt to install it with'
else
aarch64: deps-aarch64  ## 64-bit ARM under qemu-user: the kernels and the threads
	$(call build_preset,aarch64,cross build for 64-bit ARM of what the few tests need,$(few_programs))
	$(call say,ctest: a few tests of build/aarch64 under qemu-user)
	@$(call run_tests,aarch64,few)

aarch64-long: deps-aarch64  ## cross build of the whole tree; all units and goldens under qemu-user
	$(call build_preset,aarch64,cross build for 64-bit ARM,all)
	$(call say,ctest: unit and golden tests of build/aarch64 under qemu-user)
	@$(call run_tests,aarch64,unit|golden)
endif

asan: deps  ## units and three golden models under Address- and UndefinedBehaviorSanitizer
	$(call build_preset,asan,with AddressSanitizer and UndefinedBehaviorSanitizer,all)
	$(call say,ctest: unit tests and three golden models of build/asan)
	@$(call run_tests,asan,unit|few)

# ThreadSanitizer of GCC 12 cannot map its shadow where the kernel randomises 32 bits of an address.
# A report ends the program, so that a client or a signal sees it too.
fixed_addresses := $$(setarch -R true 2> /dev/null && echo setarch -R)
tsan web-tsan: export TSAN_OPTIONS := halt_on_error=1
asan web-asan: export UBSAN_OPTIONS := print_stacktrace=1
tsan: deps  ## units and three golden models under ThreadSanitizer
	$(call build_preset,tsan,with ThreadSanitizer,all)
	$(call say,ctest: unit tests and three golden models of build/tsan)
	@$(fixed_addresses) $(call run_tests,tsan,unit|few)

web-asan: deps-web  ## the clients and the page against build/asan
	$(call web_with,asan)

web-tsan: deps-web  ## the same against build/tsan
	$(call web_with,tsan)

clang: deps-clang  ## the whole tree with clang, warnings as errors, and its unit tests
	$(call build_preset,clang,the whole tree with clang,all benches)
	$(call say,ctest: unit tests of build/clang)
	@$(call run_tests,clang,unit)

# A folder of its own, because clang-tidy cannot read compile commands that begin with ccache.
tidy: deps-check  ## clang-tidy over the sources
	$(call say,clang-tidy: every source but tests and benchmarks)
	@scripts/quiet.sh cmake --preset clang -B build/tidy
	@scripts/quiet.sh run-clang-tidy -quiet -p build/tidy -j $(JOBS) \
	  '$(CURDIR)/(src|tools)/(?!.*_(test|bench)\.cc).*\.cc$$'

bench-smoke: deps  ## every micro-benchmark once, to see that it still runs
	$(call build_preset,release,the micro-benchmarks,benches)
	$(call say,bench-smoke: every micro-benchmark for a moment)
	@scripts/bench-smoke.sh build/release/bin

soak: deps  ## hearth serve under load, with states, attacked, with a GPU (SOAK_SECONDS each, 1800)
	$(call build_preset,release,the program with g++,hearth failing_malloc)
	$(call say,soak: a mixed load with disconnects for $(SOAK_SECONDS) seconds)
	@$(python) tests/server/soak.py --hearth build/release/hearth --seconds $(SOAK_SECONDS)
	$(call say,soak: the same of a model that keeps states for $(SOAK_SECONDS) seconds)
	@$(python) tests/server/soak.py --hearth build/release/hearth --hybrid --seconds $(SOAK_SECONDS)
	$(call say,soak: polite clients beside attackers for $(SOAK_SECONDS) seconds)
	@$(python) tests/server/soak.py --hearth build/release/hearth --attacked --seconds $(SOAK_SECONDS)
	$(call say,soak: long prompts through a driver that is software for $(SOAK_SECONDS) seconds)
	@$(python) tests/server/soak.py --hearth build/release/hearth --gpu --seconds $(SOAK_SECONDS)
	$(call say,soak: a pull that is cut and killed 300 times)
	@$(python) tests/store/store_test.py --hearth build/release/hearth --kills 300 KillTest
	$(call say,soak: allocations that fail at random)
	@$(python) tests/server/failing_malloc_test.py --hearth build/release/hearth \
	    --library build/release/tests/server/libfailing_malloc.so --rounds 500

##@ Write
.PHONY: format format-check clean help
format: deps-clang  ## clang-format every C++ file in place
	$(call say,clang-format: in place)
	@$(cpp_files) | xargs -r clang-format -i

format-check: deps-clang  ## fail where clang-format would change something
	$(call say,clang-format: check)
	@$(cpp_files) | xargs -r clang-format --dry-run -Werror

clean:  ## remove build/
	$(call say,remove build/)
	@rm -rf build

help:  ## this list
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@printf '\nMissing Debian packages are installed first (scripts/install-deps.sh). %s\n' \
	  'Builds stand in build/PRESET.'

.PHONY: deps deps-units deps-clang deps-aarch64 deps-numa deps-web deps-gpu-mesa deps-man
.PHONY: deps-test
.PHONY: deps-check
deps:
	@scripts/install-deps.sh
deps-units:
	@scripts/install-deps.sh --units
deps-clang:
	@scripts/install-deps.sh --clang
deps-aarch64:
	@scripts/install-deps.sh --aarch64
deps-numa:
	@scripts/install-deps.sh --numa
deps-web:
	@scripts/install-deps.sh --web
deps-gpu-mesa:
	@scripts/install-deps.sh --gpu-mesa
deps-man:
	@scripts/install-deps.sh --man
deps-test:
	@scripts/install-deps.sh --units --clang --aarch64 --numa --web
deps-check:
	@scripts/install-deps.sh --check
