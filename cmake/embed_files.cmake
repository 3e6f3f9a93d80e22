# Writes OUTPUT, a C++ source with the bytes of FILES ("name=path|name=path"): hearth_embed.
string(REPLACE "|" ";" files "${FILES}")
set(arrays "")
set(table "")
set(index 0)
foreach(file IN LISTS files)
  string(REGEX MATCH "^([^=]*)=(.*)$" parts "${file}")
  set(name ${CMAKE_MATCH_1})
  file(READ ${CMAKE_MATCH_2} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  # A zero behind the bytes, so that an empty file has an array too.
  string(APPEND arrays "constexpr unsigned char kFile${index}[] = {${bytes}0};\n")
  string(APPEND table "      {\"${name}\", {reinterpret_cast<const char*>(kFile${index}), "
                      "sizeof(kFile${index}) - 1}},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUTPUT} "#include \"base/embedded_file.h\"

namespace hearth {
namespace {
${arrays}}  // namespace

std::span<const EmbeddedFile> ${FUNCTION}();
std::span<const EmbeddedFile> ${FUNCTION}() {
  static const EmbeddedFile kFiles[] = {
${table}  };
  return kFiles;
}
}  // namespace hearth
")
