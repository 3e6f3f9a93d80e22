#include "formats/tokenizer_json.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "formats/config_reader.h"
#include "formats/token_index.h"
#include "formats/tokenizer_steps.h"

namespace hearth {

namespace {

// The largest known file, of 262,144 tokens, has 33 MB.
constexpr uint64_t kMaxBytes = uint64_t{128} << 20;

std::string string_of(const boost::json::string& text) { return {text.data(), text.size()}; }

class TokenizerReader {
 public:
  TokenizerReader(const ConfigReader& config, uint32_t max_tokens, Vocab* vocab)
      : config_(config), max_tokens_(max_tokens), vocab_(*vocab) {}

  void read() {
    auto model = config_.object("model");
    if (!model) config_.refuse("model", "an object");
    const std::string type = model->text_or("type", "BPE");
    if (type == "WordPiece") {
      read_wordpiece(*model);
    } else if (type == "Unigram") {
      read_unigram(*model);
    } else {
      read_rules(*model);
      read_tokens(*model);
      read_merges(*model);
      read_added();
    }
    TextTemplate around = read_post_processor(config_, static_cast<uint32_t>(vocab_.tokens.size()));
    vocab_.add_bos = !around.before.empty();
    vocab_.add_eos = !around.behind.empty();
    vocab_.before = std::move(around.before);
    vocab_.between = std::move(around.between);
    vocab_.behind = std::move(around.behind);
  }

 private:
  void read_rules(const ConfigReader& model) {
    if (model.text_or("type", "BPE") != "BPE") {
      model.fail_unsupported("type", "it supports BPE, WordPiece and Unigram");
    }
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      if (!model.text_or(key, "").empty()) model.fail_unsupported(key, "it must be empty");
    }
    const boost::json::value* dropout = model.find("dropout");
    if (dropout != nullptr && !(dropout->is_number() && dropout->to_number<double>() == 0)) {
      model.fail_unsupported("dropout", "it must be 0, or tokenizing would be random");
    }
    TextRules rules;
    rules.normalize = read_normalizer(config_);
    rules.cut = read_pre_tokenizer(config_);
    rules.decode = read_decoder(config_);
    rules.ignore_merges = model.flag_or("ignore_merges", false);
    rules.byte_fallback = model.flag_or("byte_fallback", false);
    rules.fuse_unk = model.flag_or("fuse_unk", false);
    vocab_.rules = std::move(rules);
  }

  // Reads a WordPiece model. Tokens get the spelling of a GGUF vocabulary: a mark before one that
  // begins a word, and none before one that continues it.
  void read_wordpiece(const ConfigReader& model) {
    constexpr std::string_view kMark = "\xe2\x96\x81", kGoesOn = "##";
    constexpr uint32_t kWordCharacters = 100;
    vocab_.kind = VocabKind::kWordPiece;
    if (model.text_or("continuing_subword_prefix", "##") != kGoesOn) {
      model.fail_unsupported("continuing_subword_prefix", "it supports ##");
    }
    if (model.count_or("max_input_chars_per_word", kWordCharacters, UINT32_MAX) !=
        kWordCharacters) {
      model.fail_unsupported("max_input_chars_per_word", "it supports 100");
    }
    read_bert_steps(config_, &vocab_);
    read_tokens(model);
    if (vocab_.unk == Vocab::kNone) model.refuse("unk_token", "a token of model.vocab");
    read_added();
    vocab_.types[vocab_.unk] = TokenType::kUnknown;
    for (size_t id = 0; id < vocab_.tokens.size(); ++id) {
      std::string& token = vocab_.tokens[id];
      if (vocab_.types[id] != TokenType::kNormal) continue;
      if (token.starts_with(kGoesOn)) {
        token.erase(0, kGoesOn.size());
      } else {
        token.insert(0, kMark);
      }
    }
  }

  void read_unigram(const ConfigReader& model) {
    vocab_.kind = VocabKind::kUnigram;
    if (model.flag_or("byte_fallback", false)) {
      model.fail_unsupported("byte_fallback", "with Unigram it supports false");
    }
    read_unigram_steps(config_, &vocab_);
    const boost::json::value* pieces = model.find("vocab");
    if (pieces == nullptr || !pieces->is_array()) model.refuse("vocab", "an array");
    for (const boost::json::value& piece : pieces->get_array()) {
      const boost::json::array* pair = piece.if_array();
      if (pair == nullptr || pair->size() != 2 || !pair->at(0).is_string() ||
          !pair->at(1).is_number()) {
        model.refuse("vocab", "an array of tokens with scores");
      }
      put(static_cast<int64_t>(vocab_.scores.size()), string_of(pair->at(0).get_string()),
          "model.vocab");
      vocab_.scores.push_back(static_cast<float>(pair->at(1).to_number<double>()));
    }
    if (vocab_.tokens.empty()) model.refuse("vocab", "an array of tokens with scores");
    vocab_.types.assign(vocab_.tokens.size(), TokenType::kNormal);
    vocab_.unk = static_cast<int32_t>(
        model.need_count("unk_id", static_cast<uint32_t>(vocab_.tokens.size() - 1), 0));
    read_added();
    vocab_.scores.resize(vocab_.tokens.size(), 0);
    vocab_.types[vocab_.unk] = TokenType::kUnknown;
  }

  // Sets the token of an id, which must not have one.
  void put(int64_t id, std::string_view text, std::string_view where) {
    if (id < 0 || id >= max_tokens_) {
      fail(ErrorCode::kFile,
           "'{}': {} gives '{}' the id {}, beyond the {} tokens of the model: the files do not "
           "belong together, download them again",
           config_.file(), where, printable(text), id, max_tokens_);
    }
    const auto at = static_cast<size_t>(id);
    if (at >= vocab_.tokens.size()) {
      vocab_.tokens.resize(at + 1);
      taken_.resize(at + 1);
    }
    if (taken_[at]) {
      fail(ErrorCode::kFile,
           "'{}': {} gives '{}' the id {}, which '{}' already has: the file is damaged, download "
           "it again",
           config_.file(), where, printable(text), id, printable(vocab_.tokens[at]));
    }
    taken_[at] = true;
    vocab_.tokens[at] = text;
  }

  void read_tokens(const ConfigReader& model) {
    const boost::json::value* tokens = model.find("vocab");
    if (tokens == nullptr || !tokens->is_object()) model.refuse("vocab", "an object");
    for (const auto& [text, id] : tokens->get_object()) {
      if (!id.is_int64()) model.refuse("vocab", "an object of ids");
      put(id.get_int64(), {text.data(), text.size()}, "model.vocab");
    }
    vocab_.types.assign(vocab_.tokens.size(), TokenType::kNormal);
    if (auto unknown = model.text("unk_token")) {
      vocab_.unk = TokenIndex(vocab_.tokens).find(*unknown);
      if (vocab_.unk == Vocab::kNone) model.refuse("unk_token", "a token of model.vocab");
    }
  }

  [[noreturn]] void refuse_merge(size_t rank, const std::string& why) const {
    fail(ErrorCode::kFile, "'{}': model.merges[{}] {}: the file is damaged, download it again",
         config_.file(), rank, why);
  }

  // Returns the two texts of a merge rule.
  std::pair<std::string, std::string> texts_of(const boost::json::value& rule, size_t rank) const {
    if (const boost::json::array* pair = rule.if_array()) {
      if (pair->size() == 2 && pair->at(0).is_string() && pair->at(1).is_string()) {
        return {string_of(pair->at(0).get_string()), string_of(pair->at(1).get_string())};
      }
    } else if (rule.is_string()) {
      const std::string text = string_of(rule.get_string());
      const size_t space = text.find(' ');
      if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos) {
        return {text.substr(0, space), text.substr(space + 1)};
      }
    }
    refuse_merge(rank, "is neither a string of two tokens nor an array of two");
  }

  void read_merges(const ConfigReader& model) {
    const boost::json::value* merges = model.find("merges");
    if (merges == nullptr || !merges->is_array()) model.refuse("merges", "an array");
    const TokenIndex index(vocab_.tokens);
    size_t rank = 0;
    for (const boost::json::value& rule : merges->get_array()) {
      const auto [left, right] = texts_of(rule, rank);
      auto id_of = [&](const std::string& text) {
        const int32_t id = index.find(text);
        if (id == TokenIndex::kNone) {
          refuse_merge(rank, fmt::format("needs the token '{}', which is not in the vocabulary",
                                         printable(text)));
        }
        return id;
      };
      vocab_.merges.push_back(
          {id_of(left), id_of(right), id_of(left + right), static_cast<uint32_t>(rank)});
      ++rank;
    }
    drop_repeated_merges();
  }

  // If several merge rules are for the same two tokens, keeps only the last one: in tokenizer.json
  // the last one counts, but in a Vocab the first.
  void drop_repeated_merges() {
    std::vector<MergeRule> sorted = vocab_.merges;
    std::ranges::sort(sorted, [](const MergeRule& a, const MergeRule& b) {
      return std::tuple(a.left, a.right, b.rank) < std::tuple(b.left, b.right, a.rank);
    });
    auto last = std::unique(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
      return a.left == b.left && a.right == b.right;
    });
    if (last == sorted.end()) return;
    sorted.erase(last, sorted.end());
    vocab_.merges = std::move(sorted);
  }

  void read_added() {
    auto added = config_.objects("added_tokens");
    if (!added) return;
    const TokenIndex index(vocab_.tokens);
    // The index points to the tokens' texts, so new ones are added only when it is no longer used.
    std::vector<std::pair<int64_t, std::string>> new_tokens;
    for (const ConfigReader& token : *added) read_added(token, index, &new_tokens);
    for (const auto& [id, text] : new_tokens) put(id, text, "added_tokens");
    vocab_.types.resize(vocab_.tokens.size(), TokenType::kUnused);
    // Vocabularies without rules look for added tokens in text that is not normalised.
    for (AddedRule& rule : vocab_.added) rule.normalized = rule.normalized && vocab_.rules;
    std::ranges::sort(vocab_.added, {}, &AddedRule::id);
    size_t i = 0;
    for (const AddedRule& rule : vocab_.added) {
      if (i++ > 0 && vocab_.added[i - 2].id == rule.id) {
        fail(ErrorCode::kFile, "'{}': added_tokens has the id {} twice; download the file again",
             config_.file(), rule.id);
      }
    }
    for (const auto& [id, special] : special_) {
      vocab_.types[id] = special ? TokenType::kControl : TokenType::kUserDefined;
    }
  }

  void read_added(const ConfigReader& token, const TokenIndex& index,
                  std::vector<std::pair<int64_t, std::string>>* new_tokens) {
    const auto id = static_cast<int32_t>(token.need_count("id", max_tokens_ - 1, 0));
    auto text = token.text("content");
    if (!text) token.refuse("content", "a string");
    const int32_t known = index.find(*text);
    if (known != TokenIndex::kNone && known != id) {
      fail(ErrorCode::kFile,
           "'{}': added_tokens gives '{}' the id {}, and model.vocab {}: the file is damaged, "
           "download it again",
           config_.file(), printable(*text), id, known);
    }
    if (known == TokenIndex::kNone) new_tokens->emplace_back(id, *text);
    const bool special = token.flag_or("special", false);
    vocab_.added.push_back({.id = id,
                            .single_word = token.flag_or("single_word", false),
                            .strip_left = token.flag_or("lstrip", false),
                            .strip_right = token.flag_or("rstrip", false),
                            .normalized = token.flag_or("normalized", !special),
                            .outside = known == TokenIndex::kNone});
    special_.emplace_back(id, special);
  }

  const ConfigReader& config_;
  uint32_t max_tokens_;
  Vocab& vocab_;
  std::vector<bool> taken_;
  std::vector<std::pair<int32_t, bool>> special_;
};

}  // namespace

void read_tokenizer_json(const MappedFile& file, uint32_t max_tokens, Vocab* vocab) {
  const boost::json::value json = read_json_file(file, kMaxBytes);
  vocab->kind = VocabKind::kBpe;
  vocab->source = file.name();
  vocab->tokens_field = "model.vocab";
  const ConfigReader config(json.get_object(), file.name());
  TokenizerReader(config, max_tokens, vocab).read();
}

}  // namespace hearth
