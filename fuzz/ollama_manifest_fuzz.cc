// Manifests of ollama from hostile bytes. Only hearth::Error may come out; what is read is a digest
// that names a file among the blobs.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "store/hub_name.h"
#include "store/local_models.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const hearth::OllamaLayer layer = hearth::read_ollama_manifest(text);
    HEARTH_CHECK(hearth::is_hex(layer.digest, 64), "a digest is a number");
  } catch (const hearth::Error&) {
    // Only this exception may come of a text that is no manifest.
  }
  return 0;
}
