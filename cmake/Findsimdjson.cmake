# simdjson::simdjson for the host and for a cross build. Debian's libsimdjson-dev can be installed
# for one architecture only, so the other one is linked by the name of the shared library itself.
find_path(simdjson_INCLUDE_DIR simdjson.h)
find_library(simdjson_LIBRARY NAMES simdjson libsimdjson.so.14)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(simdjson DEFAULT_MSG simdjson_LIBRARY simdjson_INCLUDE_DIR)
mark_as_advanced(simdjson_INCLUDE_DIR simdjson_LIBRARY)
if(simdjson_FOUND AND NOT TARGET simdjson::simdjson)
  find_package(Threads REQUIRED)
  add_library(simdjson::simdjson UNKNOWN IMPORTED)
  set_target_properties(simdjson::simdjson PROPERTIES
    IMPORTED_LOCATION ${simdjson_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${simdjson_INCLUDE_DIR}
    INTERFACE_COMPILE_DEFINITIONS SIMDJSON_THREADS_ENABLED=1
    INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()
