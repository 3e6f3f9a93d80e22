# Files in the program itself:
#   hearth_embed(hearth_server page_files FILES page/index.html page/app.js)
# adds to the target a source that defines what a source of it declares:
#   std::span<const EmbeddedFile> page_files();   // base/embedded_file.h, in namespace hearth
# The files lie in the module's folder and are read at build time; each has its name as given. One
# that lies elsewhere is NAME=PATH. The source is plain C++, so that it is the same for every
# compiler and machine.
function(hearth_embed target function)
  cmake_parse_arguments(ARG "" "" "FILES" ${ARGN})
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${function}.cc)
  list(TRANSFORM ARG_FILES REPLACE "^([^=]+)$" "\\1=${CMAKE_CURRENT_SOURCE_DIR}/\\1")
  list(TRANSFORM ARG_FILES REPLACE "^[^=]*=" "" OUTPUT_VARIABLE paths)
  list(JOIN ARG_FILES "|" files)
  set(script ${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake)
  add_custom_command(OUTPUT ${output} DEPENDS ${paths} ${script} VERBATIM
                     COMMAND ${CMAKE_COMMAND} -D FUNCTION=${function} -D "FILES=${files}"
                             -D OUTPUT=${output} -P ${script})
  target_sources(${target} PRIVATE ${output})
  # It is one table, for which the headers of the standard library are of no use.
  set_source_files_properties(${output} PROPERTIES SKIP_PRECOMPILE_HEADERS ON
                              SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
