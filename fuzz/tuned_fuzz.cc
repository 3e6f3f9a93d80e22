// Fuzzes files of tuned plans with hostile text. Only hearth::Error may be thrown. Plans that are
// read equal those parsed from their own text.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/error.h"
#include "cost/tuned_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hearth;
  try {
    Tuned tuned = parse_tuned({reinterpret_cast<const char*>(data), size}, "input");
    // Ratios are written with six digits, so the text is parsed twice.
    tuned = parse_tuned(tuned_text(tuned), "input");
    HEARTH_CHECK(parse_tuned(tuned_text(tuned), "input") == tuned, "it comes back from its text");
  } catch (const Error& error) {
    HEARTH_CHECK(error.code() == ErrorCode::kFile, "the file is at fault");
  }
  return 0;
}
