# Shaders in the program itself:
#   hearth_shaders(hearth_accelerator MODULES norm rope ... INCLUDES exact.glsl ...)
# compiles shaders/norm.comp and so on to SPIR-V, each with and without -DFUSED, and adds a source
# to the target that defines what vulkan/shader_modules.h declares.
find_program(HEARTH_GLSLANG glslangValidator REQUIRED)

function(hearth_shaders target)
  cmake_parse_arguments(ARG "" "" "MODULES;INCLUDES" ${ARGN})
  set(folder ${CMAKE_CURRENT_SOURCE_DIR}/shaders)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/shaders)
  file(MAKE_DIRECTORY ${out})
  list(TRANSFORM ARG_INCLUDES PREPEND ${folder}/ OUTPUT_VARIABLE includes)
  set(headers)
  set(rows)
  foreach(name ${ARG_MODULES})
    foreach(form fused double)
      set(define)
      if(form STREQUAL fused)
        set(define -DFUSED)
      endif()
      set(header ${out}/${name}_${form}.h)
      add_custom_command(OUTPUT ${header} DEPENDS ${folder}/${name}.comp ${includes} VERBATIM
                         COMMAND ${HEARTH_GLSLANG} --quiet -V --target-env vulkan1.3 ${define}
                                 --vn ${name}_${form} -o ${header} ${folder}/${name}.comp)
      list(APPEND headers ${header})
    endforeach()
    string(APPEND rows "    {\"${name}\", ${name}_double, ${name}_fused},\n")
  endforeach()
  set(source_text "#include \"accelerator/vulkan/shader_modules.h\"

#include \"base/check.h\"

namespace hearth {
namespace {

")
  foreach(header ${headers})
    string(APPEND source_text "#include \"${header}\"\n")
  endforeach()
  string(APPEND source_text "
struct Module {
  std::string_view name;
  std::span<const uint32_t> with_doubles, fused;
};

const Module kModules[] = {
${rows}};

}  // namespace

std::span<const uint32_t> shader_module(std::string_view name, bool fused) {
  for (const Module& module : kModules) {
    if (module.name == name) return fused ? module.fused : module.with_doubles;
  }
  HEARTH_CHECK(false, \"a dispatch names a module that was built\");
  return {};
}

}  // namespace hearth
")
  file(GENERATE OUTPUT ${out}/shader_modules.cc CONTENT "${source_text}")
  target_sources(${target} PRIVATE ${out}/shader_modules.cc)
  set_source_files_properties(${out}/shader_modules.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON
                              SKIP_UNITY_BUILD_INCLUSION ON OBJECT_DEPENDS "${headers}")
  add_custom_target(${target}_shaders DEPENDS ${headers})
  add_dependencies(${target} ${target}_shaders)
endfunction()
