#include "bench/serve_load.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/json.h"

namespace hearth {
namespace {

constexpr uint32_t kDigits = 4;
constexpr auto kWords = std::to_array<std::string_view>(
    {"the",   "of",    "and",   "to",    "in",    "is",   "was",  "he",    "for",   "it",   "with",
     "as",    "his",   "on",    "be",    "at",    "by",   "had",  "not",   "are",   "but",  "from",
     "or",    "have",  "an",    "they",  "which", "one",  "you",  "were",  "her",   "all",  "she",
     "there", "would", "their", "we",    "him",   "been", "has",  "when",  "who",   "will", "more",
     "no",    "if",    "out",   "so",    "said",  "what", "up",   "its",   "about", "into", "than",
     "them",  "can",   "only",  "other", "new",   "some", "time", "could", "these"});

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  size_t first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

bool read_length(std::string_view text, uint32_t* value) {
  text = without_blanks(text);
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc{} && stop == end && *value >= 1 && *value <= kMaxShapeTokens;
}

bool begins_with_letter(std::string_view line) {
  char c = line.front() == '"' && line.size() > 1 ? line[1] : line.front();
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string words_of(const std::vector<uint32_t>& tokens) {
  std::string text;
  for (uint32_t token : tokens) {
    if (!text.empty()) text += ' ';
    text += kWords[token];
  }
  return text;
}

}  // namespace

std::vector<RequestShape> read_shapes(std::string_view csv, const std::string& name) {
  std::vector<RequestShape> shapes;
  for (size_t number = 1; !csv.empty(); ++number) {
    size_t end = std::min(csv.find('\n'), csv.size());
    std::string_view line = without_blanks(csv.substr(0, end));
    csv.remove_prefix(std::min(end + 1, csv.size()));
    if (line.empty() || (number == 1 && begins_with_letter(line))) continue;
    RequestShape shape;
    size_t comma = line.find(',');
    if (comma == line.npos || !read_length(line.substr(0, comma), &shape.prompt) ||
        !read_length(line.substr(comma + 1), &shape.output)) {
      fail(ErrorCode::kFile,
           "{}:{}: '{}' is not a pair of lengths such as 512,128, each from 1 to {} tokens", name,
           number, line.substr(0, 40), kMaxShapeTokens);
    }
    shapes.push_back(shape);
  }
  if (shapes.empty()) fail(ErrorCode::kFile, "{} has no line with lengths such as 512,128", name);
  return shapes;
}

uint64_t LoadRandom::next() {
  state_ += 0x9e3779b97f4a7c15u;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

double LoadRandom::real() { return static_cast<double>(next() >> 11) * 0x1p-53; }

uint32_t LoadRandom::below(uint32_t limit) {
  return static_cast<uint32_t>(((next() >> 32) * limit) >> 32);
}

double PoissonArrivals::next() {
  last_ -= std::log1p(-random_.real()) / rate_;
  return last_;
}

std::string random_words(uint32_t count, uint64_t seed) {
  LoadRandom random(seed);
  std::vector<uint32_t> words(count);
  for (uint32_t& word : words) word = random.below(kWords.size());
  return words_of(words);
}

std::vector<uint32_t> RequestMaker::prompt(uint32_t tokens, uint32_t first, uint32_t last) {
  uint32_t kinds = last - first + 1;
  uint32_t shared = std::min(call_.shared_prefix, tokens);
  std::vector<uint32_t> out;
  LoadRandom common(salt_);
  while (out.size() < shared) out.push_back(first + common.below(kinds));
  // A prompt begins with the request's number as digits, so that no two are equal where there is
  // room.
  uint64_t rest = made_;
  for (uint32_t digit = 0; digit < kDigits && out.size() < tokens; ++digit, rest /= kinds) {
    out.push_back(first + static_cast<uint32_t>((rest + salt_ % kinds) % kinds));
  }
  LoadRandom own(salt_ ^ LoadRandom(made_).next());
  while (out.size() < tokens) out.push_back(first + own.below(kinds));
  return out;
}

std::string RequestMaker::next(const RequestShape& shape) {
  ++made_;
  bool ids = !call_.chat && !call_.text;
  std::vector<uint32_t> tokens = ids ? prompt(shape.prompt, call_.first_id, call_.last_id)
                                     : prompt(shape.prompt, 0, kWords.size() - 1);
  Json json;
  json.object();
  if (!call_.model.empty()) json.key("model").text(call_.model);
  if (call_.chat) {
    json.key("messages").array().object().key("role").text("user");
    json.key("content").text(words_of(tokens)).end_object().end_array();
  } else if (ids) {
    json.key("prompt").array();
    for (uint32_t token : tokens) json.number(uint64_t{token});
    json.end_array();
  } else {
    json.key("prompt").text(words_of(tokens));
  }
  json.key("max_tokens").number(uint64_t{shape.output}).key("temperature").number(uint64_t{0});
  json.key("ignore_eos").boolean(true).key("stream").boolean(true);
  json.key("stream_options").object().key("include_usage").boolean(true).end_object();
  json.end_object();
  std::string line = json.line();
  line.pop_back();
  return line;
}

}  // namespace hearth
