#include "tokenizer/unigram_encoder.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/special_tokens.h"
#include "tokenizer/spm_encoder.h"

namespace hearth {

namespace {

constexpr size_t kMaxNormalBytes = std::numeric_limits<int32_t>::max() / 4;
constexpr float kUnknownPenalty = 10;
constexpr double kUserDefinedPenalty = 0.1;

bool is_piece(const Vocab& vocab, int32_t id) {
  TokenType type = vocab.types[id];
  return type == TokenType::kNormal ||
         (type == TokenType::kUserDefined && !is_guarded_token(vocab, id));
}

PieceTrie pieces_of(const Vocab& vocab, const TokenIndex& index) {
  std::vector<int32_t> ids = index.sorted_ids();
  std::erase_if(ids, [&](int32_t id) { return !is_piece(vocab, id); });
  return {vocab.tokens, ids};
}

}  // namespace

// The best path to a place in the text: its last token, and the sum of its tokens' scores.
struct UnigramEncoder::Step {
  double score;
  float rounded;    // the sum from the beginning of the text in single precision
  int32_t id;       // Vocab::kNone for an unknown character
  uint32_t length;  // of the token; 0 where no path leads here
};

struct UnigramEncoder::Cut {
  int32_t id;
  std::string_view text;
};

UnigramEncoder::UnigramEncoder(const Vocab& vocab, const TokenIndex& index)
    : normalizer_(vocab, index), pieces_(pieces_of(vocab, index)), unk_(vocab.unk) {
  set_scores(vocab);
  set_byte_ids(vocab);
  for (size_t id = 0; id < vocab.tokens.size(); ++id) {
    const std::string& token = vocab.tokens[id];
    if (is_piece(vocab, static_cast<int32_t>(id)) && space_inside(token) < token.size()) {
      words_apart_ = false;
    }
  }
}

void UnigramEncoder::set_scores(const Vocab& vocab) {
  float worst = std::numeric_limits<float>::max();
  float best = 0;
  for (size_t id = 0; id < vocab.tokens.size(); ++id) {
    if (vocab.types[id] != TokenType::kNormal) continue;
    worst = std::min(worst, vocab.scores[id]);
    best = std::max(best, vocab.scores[id]);
  }
  unknown_score_ = worst - kUnknownPenalty;
  scores_.assign(vocab.scores.begin(), vocab.scores.end());
  for (size_t id = 0; id < vocab.tokens.size(); ++id) {
    if (vocab.types[id] != TokenType::kUserDefined) continue;
    scores_[id] = static_cast<double>(vocab.tokens[id].size()) * best - kUserDefinedPenalty;
  }
}

void UnigramEncoder::set_byte_ids(const Vocab& vocab) {
  byte_ids_.fill(Vocab::kNone);
  for (size_t id = 0; id < vocab.tokens.size(); ++id) {
    if (vocab.types[id] != TokenType::kByte) continue;
    int value = byte_token_value(vocab.tokens[id]);
    if (value >= 0) byte_ids_[value] = static_cast<int32_t>(id);
  }
  auto missing = std::ranges::count(byte_ids_, Vocab::kNone);
  has_bytes_ = missing == 0;
  if (missing > 0 && missing < 256) {
    fail(ErrorCode::kFile,
         "{}: tokenizer.ggml.tokens has byte tokens, but not <0x{:02X}>; the file is damaged: get "
         "or convert it again",
         vocab.source, std::ranges::find(byte_ids_, Vocab::kNone) - byte_ids_.begin());
  }
  if (!has_bytes_ && unk_ == Vocab::kNone) {
    fail(ErrorCode::kFile,
         "{}: the vocabulary has neither byte tokens (<0x00> to <0xFF>) in tokenizer.ggml.tokens "
         "nor a tokenizer.ggml.unknown_token_id, so it cannot tokenize every text: use another "
         "conversion of the model",
         vocab.source);
  }
}

void UnigramEncoder::encode(std::string_view text, Before before, Encoding& out) const {
  std::vector<int32_t>& ids = out.ids;
  std::string normal =
      normalizer_.normalize(text, before != Before::kText, kMaxNormalBytes, out.pace);
  std::vector<Step> steps;
  std::vector<Cut> cuts;
  float rounded = 0;
  bool after_unknown = false;
  for (std::string_view rest = normal; !rest.empty() && !out.is_over();) {
    std::string_view piece = rest.substr(0, words_apart_ ? space_inside(rest) : rest.size());
    rest.remove_prefix(piece.size());
    find_best(piece, &rounded, steps, cuts, out.pace);
    for (auto cut = cuts.rbegin(); cut != cuts.rend(); ++cut) {
      bool unknown = cut->id == Vocab::kNone;
      if (!unknown) {
        ids.push_back(cut->id);
      } else if (has_bytes_) {
        for (char byte : cut->text) ids.push_back(byte_ids_[static_cast<uint8_t>(byte)]);
      } else if (!after_unknown) {
        ids.push_back(unk_);
      }
      after_unknown = unknown;
    }
  }
}

void UnigramEncoder::find_best(std::string_view text, float* rounded, std::vector<Step>& steps,
                               std::vector<Cut>& cuts, Pace& pace) const {
  steps.assign(text.size() + 1, {0, *rounded, Vocab::kNone, 0});
  for (size_t start = 0; start < text.size();) {
    size_t character = walk(text, start, steps);
    pace.did(character);
    start += character;
  }
  *rounded = steps[text.size()].rounded;
  cuts.clear();
  for (size_t end = text.size(); end > 0; end -= steps[end].length) {
    cuts.push_back({steps[end].id, text.substr(end - steps[end].length, steps[end].length)});
  }
}

size_t UnigramEncoder::walk(std::string_view text, size_t start, std::vector<Step>& steps) const {
  const Step before = steps[start];
  const size_t character = std::max<size_t>(utf8_sequence(text.substr(start)), 1);
  auto consider = [&](int32_t id, double score, size_t length) {
    Step& there = steps[start + length];
    double sum = before.score + static_cast<float>(score);
    double rounded = before.rounded + score;
    if (there.length == 0 || sum > there.score || (sum == there.score && rounded > there.rounded)) {
      there = {sum, static_cast<float>(rounded), id, static_cast<uint32_t>(length)};
    }
  };
  bool spelled = false;
  const PieceTrie::Node* node = pieces_.root();
  for (size_t at = start; at < text.size(); ++at) {
    node = pieces_.child(*node, text[at]);
    if (node == nullptr) break;
    if (node->id == PieceTrie::kNone) continue;
    size_t length = at + 1 - start;
    consider(node->id, scores_[node->id], length);
    spelled |= length == character;
  }
  if (!spelled) consider(Vocab::kNone, unknown_score_, character);
  return character;
}

}  // namespace hearth
