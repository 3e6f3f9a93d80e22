# What every module's CMakeLists.txt is written with:
#   hearth_module(NAME [EACH] SOURCES a.cc ... DEPS hearth_base ... LIBS fmt::fmt ...)
#   hearth_test(NAME [EACH] SOURCES a_test.cc ... DEPS hearth_x ... [LABELS unit] [SHARDS n])
#   hearth_bench(NAME SOURCES a_bench.cc ... DEPS hearth_x ...)
# One folder is one static library; its link list is the dependency order. A test of n shards runs
# as n processes, NAME and NAME_more_1 and so on, each with a share of its cases. Benchmarks are
# built by the target `benches` only.
# Most sources are little beside the headers that they read, so the compiler takes several at a
# time. What a source declares for itself therefore has a name of its own in its module, or in its
# test program. EACH compiles the sources one by one, as those with options of their own always are.

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(GTest REQUIRED)

add_library(hearth_flags INTERFACE)
target_compile_options(hearth_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                       -Wno-sign-conversion -Werror -fno-omit-frame-pointer
                       -ffp-contract=off)  # the numerical contract says where products are fused
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GNU attaches ABI notes and false positives of -O3's value tracking to correct code.
  target_compile_options(hearth_flags INTERFACE -Wno-psabi -Wno-stringop-overflow
                         -Wno-stringop-overread -Wno-array-bounds -Wno-maybe-uninitialized)
endif()
target_include_directories(hearth_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(hearth_flags INTERFACE Threads::Threads)
if(HEARTH_SANITIZE)
  target_compile_options(hearth_flags INTERFACE -fsanitize=${HEARTH_SANITIZE}
                         -fno-sanitize-recover=all)
  target_link_options(hearth_flags INTERFACE -fsanitize=${HEARTH_SANITIZE})
endif()
if(HEARTH_FUZZ)
  target_compile_options(hearth_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# GoogleTest's macros compare and convert on the user's behalf. What a test computes by itself is
# little beside what all those macros cost an optimiser.
add_library(hearth_test_flags INTERFACE)
target_compile_options(hearth_test_flags INTERFACE -Wno-conversion -O1)
# Random tests run fewer rounds where each costs many times as much.
if(HEARTH_SANITIZE OR CMAKE_CROSSCOMPILING)
  target_compile_definitions(hearth_test_flags INTERFACE HEARTH_FEW_ROUNDS)
endif()

include(hearth_embed)
include(hearth_headers)

function(hearth_several_at_a_time target)
  if(HEARTH_UNITY AND NOT ARG_EACH)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    # GNU takes a source that another one includes for a header.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

function(hearth_module name)
  cmake_parse_arguments(ARG "EACH" "" "SOURCES;DEPS;LIBS" ${ARGN})
  add_library(hearth_${name} STATIC ${ARG_SOURCES})
  hearth_several_at_a_time(hearth_${name})
  target_link_libraries(hearth_${name} PUBLIC hearth_flags ${ARG_DEPS} ${ARG_LIBS})
  target_precompile_headers(hearth_${name} REUSE_FROM hearth_std_headers)
endfunction()

function(hearth_test name)
  cmake_parse_arguments(ARG "EACH" "SHARDS" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  hearth_several_at_a_time(${name})
  # The test's flags come last, so that they win over those that the modules bring along.
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest_main hearth_test_flags)
  if(TARGET hearth_formats_testing)
    target_link_libraries(${name} PRIVATE hearth_formats_testing)
  endif()
  target_precompile_headers(${name} REUSE_FROM hearth_test_headers)
  if(NOT ARG_SHARDS)
    set(ARG_SHARDS 1)
  endif()
  set(test ${name})
  foreach(shard RANGE 1 ${ARG_SHARDS})
    add_test(NAME ${test} COMMAND ${name})
    math(EXPR index "${shard} - 1")
    set_tests_properties(${test} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 900 ENVIRONMENT
                         "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${index}")
    set(test ${name}_more_${shard})
  endforeach()
endfunction()

# The compiler of Vulkan's software driver does not free all of its memory.
function(hearth_test_uses_vulkan test)
  set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
endfunction()

# Where Vulkan's validation layer is installed, the test runs under it, with its checks of
# synchronisation within a queue and across submissions, and fails where it says anything.
function(hearth_vulkan_validates test)
  set(within VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT)
  set(across VALIDATION_CHECK_ENABLE_SYNCHRONIZATION_VALIDATION_QUEUE_SUBMIT)
  set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT
               VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation
               VK_LAYER_ENABLES=${within}:${across})
  hearth_test_uses_vulkan(${test})
  set_property(TEST ${test} APPEND PROPERTY FAIL_REGULAR_EXPRESSION "Validation (Error|Warning)")
endfunction()

find_package(benchmark QUIET)
add_custom_target(benches)

function(hearth_bench name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  if(benchmark_FOUND)
    add_executable(${name} EXCLUDE_FROM_ALL ${ARG_SOURCES})
    target_link_libraries(${name} PRIVATE ${ARG_DEPS} benchmark::benchmark)
    add_dependencies(benches ${name})
  endif()
endfunction()
