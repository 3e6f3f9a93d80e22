// Fuzzes ollama's manifests with hostile bytes. Only hearth::Error may be thrown. A digest that is
// read names a file among the blobs.
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
    // A text that is not a manifest must throw this exception and no other.
  }
  return 0;
}
