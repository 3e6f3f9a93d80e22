# Headers that are read once a build. Those of the standard library, fmt and GoogleTest are most of
# what a compiler reads here; whatever a target reuses of them costs it next to nothing.
#   hearth_headers(NAME HEADERS <a> ... LIBS hearth_flags ...)
# A source still includes all that it uses: the preset `clang` builds without, and so does ccache,
# which keeps nothing that was compiled with such headers.
# GCC 12 crashes where a file at -O3 reuses headers that were compiled at -O1: the presets `dev`,
# `asan` and `tsan` build without them too.
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

function(hearth_headers name)
  cmake_parse_arguments(ARG "" "" "HEADERS;LIBS" ${ARGN})
  # A target needs a source.
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cc CONTENT "")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PRIVATE ${ARG_LIBS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

set(headers <fmt/format.h> <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath>
    <cstdint> <cstring> <filesystem> <fstream> <functional> <limits> <map> <memory> <mutex>
    <numeric> <optional> <random> <set> <span> <sstream> <string> <string_view> <thread> <utility>
    <vector>)
hearth_headers(hearth_std_headers HEADERS ${headers} LIBS hearth_flags fmt::fmt)
hearth_headers(hearth_test_headers HEADERS ${headers} <gtest/gtest.h>
               LIBS hearth_flags fmt::fmt GTest::gtest hearth_test_flags)
