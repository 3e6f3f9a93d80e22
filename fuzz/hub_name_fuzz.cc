// Fuzzes names of models. Only hearth::Error may be thrown. The parts of an accepted name stay in
// the cache's folder.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/error.h"
#include "store/hub_name.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // The text gets memory of its own, so that the sanitizers see a read beyond its end.
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const hearth::HubName name = hearth::read_hub_name(text);
    for (const std::string* part : {&name.org, &name.repo}) {
      HEARTH_CHECK(hearth::is_safe_path(*part), "a part is the name of a folder");
      HEARTH_CHECK(part->find('/') == std::string::npos, "and of one alone");
    }
    HEARTH_CHECK(hearth::is_safe_path(name.revision), "a revision lies among the refs");
    HEARTH_CHECK(name.file.empty() || hearth::is_safe_path(name.file), "and a file in its folder");
  } catch (const hearth::Error&) {
    // A text that is not a name must throw this exception and no other.
  }
  return 0;
}
