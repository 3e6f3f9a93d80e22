#include "formats/tiktoken_ranks.h"

#include <array>
#include <charconv>
#include <string_view>

#include "base/base64.h"
#include "base/error.h"
#include "formats/token_index.h"

namespace hearth {

namespace {

// The shortest line: 4 characters of base64, a space and a digit.
constexpr size_t kShortestLine = 6;
constexpr size_t kMaxTokenBytes = 256;
constexpr size_t kMaxFileBytes = size_t{64} << 20;
// The most merges; Kimi-K2's 163,584 tokens have 600,000.
constexpr size_t kMaxMerges = size_t{1} << 24;

struct Line {
  std::string bytes;
  uint32_t rank;
};

class RankReader {
 public:
  RankReader(const MappedFile& file, uint32_t max_tokens)
      : file_(file.name()), max_tokens_(max_tokens) {
    if (file.bytes().size() > kMaxFileBytes) {
      fail(ErrorCode::kFile,
           "'{}' has {} bytes, more than the limit of {}: download the file again", file_,
           file.bytes().size(), kMaxFileBytes);
    }
    text_ = {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
  }

  std::vector<std::string> read() {
    std::vector<std::string> tokens;
    while (!text_.empty()) {
      ++number_;
      const size_t end = std::min(text_.find('\n'), text_.size());
      std::string_view line = text_.substr(0, end);
      text_.remove_prefix(std::min(end + 1, text_.size()));
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty()) continue;
      Line found = parse(line);
      if (found.rank >= tokens.size()) tokens.resize(found.rank + 1);
      if (!tokens[found.rank].empty()) refuse("has a rank that appears twice");
      tokens[found.rank] = std::move(found.bytes);
    }
    for (size_t rank = 0; rank < tokens.size(); ++rank) {
      if (!tokens[rank].empty()) continue;
      fail(ErrorCode::kFile,
           "'{}' has no token of rank {}, but one of rank {}: download the file again", file_, rank,
           tokens.size() - 1);
    }
    return tokens;
  }

 private:
  [[noreturn]] void refuse(std::string_view why) const {
    fail(ErrorCode::kFile, "'{}': line {} {}; the file is damaged, download it again", file_,
         number_, why);
  }

  Line parse(std::string_view line) const {
    const size_t space = line.find(' ');
    if (line.size() < kShortestLine || space == std::string_view::npos) {
      refuse("is not a token in base64, a space and a rank");
    }
    auto bytes = base64_decode(line.substr(0, space));
    if (!bytes || bytes->empty() || bytes->size() > kMaxTokenBytes) {
      refuse("does not begin with a token in base64");
    }
    const std::string_view number = line.substr(space + 1);
    uint32_t rank = 0;
    const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), rank);
    if (error != std::errc{} || stop != number.data() + number.size() || rank >= max_tokens_) {
      refuse(fmt::format("has no rank below {}, the number of tokens of the model", max_tokens_));
    }
    return {*std::move(bytes), rank};
  }

  std::string_view text_;
  const std::string& file_;
  uint32_t max_tokens_;
  size_t number_ = 0;
};

}  // namespace

void read_tiktoken_ranks(const MappedFile& file, uint32_t max_tokens, Vocab* vocab) {
  vocab->kind = VocabKind::kBpe;
  vocab->source = file.name();
  vocab->tokens_field = "the list of ranks";
  vocab->raw_bytes = true;
  vocab->tokens = RankReader(file, max_tokens).read();
  vocab->types.assign(vocab->tokens.size(), TokenType::kNormal);
  const TokenIndex index(vocab->tokens);
  if (index.duplicates() > 0) {
    fail(ErrorCode::kFile, "'{}' has {} duplicate tokens; the file is damaged, download it again",
         file.name(), index.duplicates());
  }
  for (uint32_t byte = 0; byte < 256; ++byte) {
    if (index.find(std::string(1, static_cast<char>(byte))) != TokenIndex::kNone) continue;
    fail(ErrorCode::kFile,
         "'{}' has no token for the byte 0x{:02X}; the file is damaged, download it again",
         file.name(), byte);
  }
  for (size_t rank = 0; rank < vocab->tokens.size(); ++rank) {
    const std::string_view token = vocab->tokens[rank];
    for (size_t at = 1; at < token.size(); ++at) {
      const int32_t left = index.find(token.substr(0, at));
      if (left == TokenIndex::kNone) continue;
      const int32_t right = index.find(token.substr(at));
      if (right == TokenIndex::kNone) continue;
      if (vocab->merges.size() == kMaxMerges) {
        fail(ErrorCode::kFile,
             "'{}' needs more than {} merges; the file is damaged, download it again", file.name(),
             kMaxMerges);
      }
      vocab->merges.push_back(
          {left, right, static_cast<int32_t>(rank), static_cast<uint32_t>(rank)});
    }
  }
}

}  // namespace hearth
