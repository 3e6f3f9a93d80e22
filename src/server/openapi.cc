#include "server/openapi.h"

#include "base/embedded_file.h"

namespace hearth {

std::span<const EmbeddedFile> openapi_files();

std::string_view openapi_json() { return openapi_files()[0].bytes; }

}  // namespace hearth
