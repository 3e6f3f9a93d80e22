// Compares the grammar of a JSON Schema with RapidJSON's validator of schemas, which shares no code
// with it. A document that the grammar accepts and the validator refuses is a fault. The bytes up
// to the first newline are the schema. The others are tried as a document; then each of them picks
// among the bytes that may come next.
//
// The validator knows draft 4 and ignores unknown keywords, so it may accept more. Schemas that it
// reads differently are left out.
#include <rapidjson/document.h>
#include <rapidjson/schema.h>

#include <array>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/json_reader.h"
#include "grammar/byte_vocabulary.h"
#include "grammar/matcher.h"
#include "grammar/schema.h"
#include "grammar/token_mask.h"

namespace hearth {
namespace {

// Schemas with these words are left out, since the validator reads them differently. It never ends
// on circular references, its patterns are of another language, and it divides in doubles.
constexpr std::array<std::string_view, 6> kLeftOut = {"$ref",   "pattern",     "multipleOf",
                                                      "\"id\"", "definitions", "dependencies"};

// Replaces 7.0 by 7. Newer drafts take both for an integer, and the validator only 7.
void make_integers(rapidjson::Value& value) {
  constexpr double kMax = 1e15;
  if (value.IsObject()) {
    const auto members = value.MemberCount();
    for (rapidjson::SizeType i = 0; i < members; ++i) make_integers(value.MemberBegin()[i].value);
  } else if (value.IsArray()) {
    for (rapidjson::SizeType i = 0; i < value.Size(); ++i) make_integers(value[i]);
  } else if (value.IsDouble() && std::abs(value.GetDouble()) < kMax) {
    const auto whole = static_cast<int64_t>(value.GetDouble());
    if (static_cast<double>(whole) == value.GetDouble()) value.SetInt64(whole);
  }
}

class Validator {
 public:
  explicit Validator(const std::string& schema) {
    rapidjson::Document document;
    document.Parse(schema.data(), schema.size());
    HEARTH_CHECK(!document.HasParseError(), "a schema that was compiled is JSON");
    make_integers(document);
    schema_ = std::make_unique<rapidjson::SchemaDocument>(document);
  }

  void check(const std::string& text) const {
    rapidjson::Document document;
    document.Parse(text.data(), text.size());
    if (document.HasParseError()) {
      HEARTH_CHECK(document.GetParseError() == rapidjson::kParseErrorNumberTooBig,
                   "a document that was said whole is JSON");
      return;
    }
    make_integers(document);
    rapidjson::SchemaValidator validator(*schema_);
    HEARTH_CHECK(document.Accept(validator), "a document that was said whole satisfies the schema");
  }

 private:
  std::unique_ptr<rapidjson::SchemaDocument> schema_;
};

const std::shared_ptr<const VocabularyTrie>& vocabulary() {
  static const auto kVocabulary = single_byte_vocabulary();
  return kVocabulary;
}

void try_whole(const std::shared_ptr<const Grammar>& grammar, std::string_view text,
               const Validator& validator) {
  Matcher matcher(grammar, vocabulary());
  for (char c : text) {
    if (!matcher.accept(static_cast<uint8_t>(c))) return;
  }
  if (matcher.may_end()) validator.check(std::string(text));
}

// Extends the text byte by byte. Each choice takes the next allowed byte from its value on; after
// the last choice, the least allowed byte is taken.
void walk(const std::shared_ptr<const Grammar>& grammar, std::string_view choices,
          const Validator& validator) {
  constexpr size_t kMaxBytes = 400;
  Matcher matcher(grammar, vocabulary());
  std::vector<uint64_t> bits(vocabulary()->mask_words());
  std::string text;
  for (size_t i = 0; i < kMaxBytes; ++i) {
    if (matcher.may_end()) validator.check(text);
    if (matcher.must_end()) return;
    matcher.mask(bits);
    const uint8_t choice = i < choices.size() ? static_cast<uint8_t>(choices[i]) : 0;
    int32_t taken = -1;
    for (int32_t step = 0; step < 256 && taken < 0; ++step) {
      const int32_t byte = (choice + step) % 256;
      if (has_bit(bits, byte)) taken = byte;
    }
    if (taken < 0) {
      HEARTH_CHECK(matcher.may_end(), "nothing may follow");
      return;
    }
    HEARTH_CHECK(matcher.accept(taken), "a byte of the mask is accepted");
    text.push_back(static_cast<char>(taken));
  }
}

}  // namespace
}  // namespace hearth

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hearth;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t cut = std::min(input.find('\n'), input.size());
  const std::string_view rest = input.substr(std::min(cut + 1, input.size()));
  try {
    // Reading and writing the schema drops duplicate members, so that both sides see the same one.
    const std::string schema = boost::json::serialize(read_json(input.substr(0, cut)));
    for (std::string_view word : kLeftOut) {
      if (schema.find(word) != std::string::npos) return 0;
    }
    const SchemaGrammar made = compile_schema(schema, {.cpu_seconds = 5});
    const Validator validator(schema);
    try_whole(made.grammar, rest, validator);
    walk(made.grammar, rest, validator);
  } catch (const Error&) {
  }
  return 0;
}
