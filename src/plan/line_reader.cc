#include "plan/line_reader.h"

#include "base/error.h"

namespace hearth {

std::string LineReader::word() {
  std::string w;
  if (!(in_ >> w)) fail(ErrorCode::kUsage, "plan line {} is incomplete", number_);
  return w;
}

void LineReader::expect(const char* wanted) {
  std::string w = word();
  if (w != wanted) {
    fail(ErrorCode::kUsage, "plan line {} has '{}' instead of '{}'", number_, w, wanted);
  }
}

uint32_t LineReader::number() { return number_of(word()); }

uint32_t LineReader::number_of(const std::string& w) const {
  if (w.size() > 9 || w.find_first_not_of("0123456789") != std::string::npos) {
    fail(ErrorCode::kUsage, "plan line {} has '{}' instead of a number", number_, w);
  }
  return static_cast<uint32_t>(std::stoul(w));
}

std::vector<uint32_t> LineReader::numbers() {
  std::vector<uint32_t> all{number()};
  while (!at_end()) all.push_back(number());
  return all;
}

std::vector<uint32_t> LineReader::numbers_before(const char* end) {
  std::vector<uint32_t> all{number()};
  for (std::string w; (w = word()) != end;) all.push_back(number_of(w));
  return all;
}

void LineReader::finish() {
  if (!at_end()) fail(ErrorCode::kUsage, "plan line {} has too many words", number_);
}

}  // namespace hearth
