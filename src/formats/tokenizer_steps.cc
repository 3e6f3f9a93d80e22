#include "formats/tokenizer_steps.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <utility>

#include "base/base64.h"
#include "base/error.h"

namespace hearth {

namespace {

// The most steps of one kind; released models have about five.
constexpr uint32_t kMaxSteps = 64;

using StepReader = std::function<void(const std::string& type, const ConfigReader& step)>;

std::string type_of(const ConfigReader& step) {
  if (!step.has("type")) step.refuse("type", "the name of a step");
  return *step.text("type");
}

// Calls read() for the step or, if it is a Sequence, for each step of its array `list`. `left`
// counts down how many further steps are allowed.
void visit(const ConfigReader& step, std::string_view list, uint32_t* left,
           const StepReader& read) {
  const std::string type = type_of(step);
  if (type != "Sequence") {
    if ((*left)-- == 0) step.refuse("type", fmt::format("one of at most {} steps", kMaxSteps));
    return read(type, step);
  }
  auto inner = step.objects(list);
  if (!inner) step.refuse(list, "an array of steps");
  for (const ConfigReader& each : *inner) visit(each, list, left, read);
}

void visit_at(const ConfigReader& config, std::string_view key, std::string_view list,
              const StepReader& read) {
  uint32_t left = kMaxSteps;
  if (auto step = config.object(key)) visit(*step, list, &left, read);
}

std::string need_text(const ConfigReader& step, std::string_view key) {
  auto text = step.text(key);
  if (!text) step.refuse(key, "a string");
  return *std::move(text);
}

TextPattern pattern_of(const ConfigReader& step) {
  auto pattern = step.object("pattern");
  if (!pattern) step.refuse("pattern", "a pattern");
  if (auto regex = pattern->text("Regex")) return {*std::move(regex), true};
  if (auto text = pattern->text("String")) return {*std::move(text), false};
  step.refuse("pattern", "an object with Regex or String");
}

ReplaceStep replace_of(const ConfigReader& step) {
  return {pattern_of(step), need_text(step, "content")};
}

CutBehavior behavior_of(const ConfigReader& step) {
  constexpr std::array<std::pair<std::string_view, CutBehavior>, 5> kNames = {
      {{"Removed", CutBehavior::kRemoved},
       {"Isolated", CutBehavior::kIsolated},
       {"MergedWithPrevious", CutBehavior::kMergedWithPrevious},
       {"MergedWithNext", CutBehavior::kMergedWithNext},
       {"Contiguous", CutBehavior::kContiguous}}};
  const std::string said = need_text(step, "behavior");
  for (const auto& [name, behavior] : kNames) {
    if (said == name) return behavior;
  }
  step.fail_unsupported(
      "behavior",
      "it supports Removed, Isolated, MergedWithPrevious, MergedWithNext and Contiguous");
}

PrependScheme prepend_of(const ConfigReader& step) {
  // Older files have only add_prefix_space.
  const bool prefix = step.flag_or("add_prefix_space", true);
  const std::string said = step.text_or("prepend_scheme", prefix ? "always" : "never");
  if (said == "always") return PrependScheme::kAlways;
  if (said == "never") return PrependScheme::kNever;
  if (said == "first") return PrependScheme::kFirst;
  step.fail_unsupported("prepend_scheme", "it supports always, never and first");
}

std::string mark_of(const ConfigReader& step) {
  std::string mark = need_text(step, "replacement");
  const auto begins = std::ranges::count_if(mark, [](char c) { return (c & 0xc0) != 0x80; });
  if (begins != 1 || mark.size() > 4) step.refuse("replacement", "one character");
  return mark;
}

uint32_t small_count(const ConfigReader& step, std::string_view key) {
  constexpr uint32_t kMaxStripped = 1000;
  return step.count_or(key, 0, kMaxStripped, 0);
}

// Returns the ids of special tokens that a template puts before the first text, between each two,
// and behind the last. The template's texts must be `texts`, in that order.
using Around = std::vector<std::vector<int32_t>>;
Around read_pieces(const ConfigReader& step, const char* key, std::string_view texts,
                   uint32_t tokens) {
  auto pieces = step.objects(key);
  if (!pieces) step.refuse(key, "an array of pieces");
  auto special = step.object("special_tokens");
  Around around(1);
  for (const ConfigReader& piece : *pieces) {
    if (auto sequence = piece.object("Sequence")) {
      const size_t seen = around.size() - 1;
      if (seen == texts.size() || sequence->text_or("id", "A") != texts.substr(seen, 1)) {
        piece.fail_unsupported("Sequence", texts.size() == 1 ? "it supports one text, A"
                                                             : "it supports two texts, A and B");
      }
      around.emplace_back();
      continue;
    }
    auto token = piece.object("SpecialToken");
    if (!token) step.refuse(key, "pieces SpecialToken and Sequence");
    auto named = special ? special->object(need_text(*token, "id")) : std::nullopt;
    const boost::json::value* ids = named ? named->find("ids") : nullptr;
    if (ids == nullptr || !ids->is_array()) {
      token->refuse("id", "one of special_tokens, with ids");
    }
    for (const boost::json::value& id : ids->get_array()) {
      if (!id.is_int64() || id.get_int64() < 0 || id.get_int64() >= tokens) {
        named->refuse("ids", fmt::format("ids below {}", tokens));
      }
      around.back().push_back(static_cast<int32_t>(id.get_int64()));
    }
  }
  if (around.size() != texts.size() + 1) step.refuse(key, "a piece Sequence of each text");
  return around;
}

void read_template(const ConfigReader& step, uint32_t tokens, TextTemplate* out) {
  const Around one = read_pieces(step, "single", "A", tokens);
  out->before = one[0];
  out->behind = one[1];
  if (step.find("pair") != nullptr) out->between = read_pieces(step, "pair", "AB", tokens)[1];
}

// Reads [CLS] and [SEP], each a text and an id. With `twice`, as in RoBERTa, [SEP] stands twice
// between two texts.
void read_pair(const ConfigReader& step, uint32_t tokens, bool twice, TextTemplate* out) {
  auto id_of = [&](std::string_view key) {
    const boost::json::value* pair = step.find(key);
    const bool good = pair != nullptr && pair->is_array() && pair->get_array().size() == 2 &&
                      pair->get_array()[1].is_int64();
    const int64_t id = good ? pair->get_array()[1].get_int64() : -1;
    if (id < 0 || id >= tokens) step.refuse(key, fmt::format("a token and an id below {}", tokens));
    return static_cast<int32_t>(id);
  };
  out->before = {id_of("cls")};
  out->behind = out->between = {id_of("sep")};
  if (twice) out->between.push_back(out->between[0]);
}

// Returns whether the step replaces several spaces by one mark, as SentencePiece does.
bool joins_spaces(const ConfigReader& step) {
  const ReplaceStep replace = replace_of(step);
  constexpr std::string_view kMark = "\xe2\x96\x81";
  return replace.pattern.is_regex && replace.pattern.text == " {2,}" &&
         (replace.content == " " || replace.content == kMark);
}

std::string charsmap_of(const ConfigReader& step) {
  auto bytes = base64_decode(need_text(step, "precompiled_charsmap"));
  if (!bytes) step.refuse("precompiled_charsmap", "base64");
  return *std::move(bytes);
}

}  // namespace

void read_bert_steps(const ConfigReader& config, Vocab* vocab) {
  bool normalized = false, cut = false;
  visit_at(config, "normalizer", "normalizers",
           [&](const std::string& type, const ConfigReader& step) {
             if (type != "BertNormalizer" || normalized) {
               step.fail_unsupported("type", "with WordPiece it supports one BertNormalizer");
             }
             for (const char* key : {"clean_text", "handle_chinese_chars"}) {
               if (!step.flag_or(key, true)) step.fail_unsupported(key, "it always does this");
             }
             normalized = true;
             vocab->lowercase = step.flag_or("lowercase", true);
             vocab->strip_accents = step.flag_or("strip_accents", vocab->lowercase);
           });
  visit_at(config, "pre_tokenizer", "pretokenizers",
           [&](const std::string& type, const ConfigReader& step) {
             if (type != "BertPreTokenizer") {
               step.fail_unsupported("type", "with WordPiece it supports BertPreTokenizer");
             }
             cut = true;
           });
  if (!normalized)
    config.fail_unsupported("normalizer", "with WordPiece it supports BertNormalizer");
  if (!cut) config.fail_unsupported("pre_tokenizer", "with WordPiece it supports BertPreTokenizer");
}

void read_unigram_steps(const ConfigReader& config, Vocab* vocab) {
  bool stripped = false, joined = false, split = false, marked = false;
  visit_at(
      config, "normalizer", "normalizers", [&](const std::string& type, const ConfigReader& step) {
        if (type == "Precompiled" && vocab->charsmap.empty()) {
          vocab->charsmap = charsmap_of(step);
        } else if (type == "Strip") {
          stripped = step.flag_or("strip_right", true);
        } else if (type == "Replace" && joins_spaces(step)) {
          joined = true;
        } else {
          step.fail_unsupported(
              "type",
              "with Unigram it supports Precompiled, Strip, and Replace of several spaces by one");
        }
      });
  visit_at(
      config, "pre_tokenizer", "pretokenizers",
      [&](const std::string& type, const ConfigReader& step) {
        if (type == "WhitespaceSplit" && !marked) {
          split = true;
        } else if (type == "Metaspace" && !marked) {
          marked = true;
          if (mark_of(step) != "\xe2\x96\x81" || prepend_of(step) != PrependScheme::kAlways) {
            step.fail_unsupported("prepend_scheme", "with Unigram it supports always, and U+2581");
          }
        } else {
          step.fail_unsupported("type", "with Unigram it supports WhitespaceSplit and Metaspace");
        }
      });
  if (!marked) config.fail_unsupported("pre_tokenizer", "with Unigram it supports Metaspace");
  vocab->add_space_prefix = true;
  vocab->remove_extra_whitespaces = true;
  if (split || (stripped && joined)) return;
  vocab->warnings.push_back(
      fmt::format("{}: several spaces become one, and spaces at the end are dropped, as "
                  "SentencePiece does, though the file does not say so",
                  config.file()));
}

std::vector<NormalizeStep> read_normalizer(const ConfigReader& config) {
  std::vector<NormalizeStep> steps;
  visit_at(config, "normalizer", "normalizers",
           [&](const std::string& type, const ConfigReader& step) {
             if (type == "NFC") {
               steps.emplace_back(NfcStep{});
             } else if (type == "Prepend") {
               steps.emplace_back(PrependStep{need_text(step, "prepend")});
             } else if (type == "Replace") {
               steps.emplace_back(replace_of(step));
             } else {
               step.fail_unsupported("type", "it supports NFC, Prepend, Replace and Sequence");
             }
           });
  return steps;
}

std::vector<CutStep> read_pre_tokenizer(const ConfigReader& config) {
  std::vector<CutStep> steps;
  auto read = [&](const std::string& type, const ConfigReader& step) {
    if (type == "Split") {
      steps.emplace_back(
          SplitStep{pattern_of(step), behavior_of(step), step.flag_or("invert", false)});
    } else if (type == "ByteLevel") {
      steps.emplace_back(
          ByteLevelStep{step.flag_or("add_prefix_space", true), step.flag_or("use_regex", true)});
    } else if (type == "Digits") {
      const bool alone = step.flag_or("individual_digits", false);
      steps.emplace_back(
          SplitStep{{R"(\p{N})", true}, alone ? CutBehavior::kIsolated : CutBehavior::kContiguous});
    } else if (type == "Metaspace") {
      steps.emplace_back(
          MetaspaceStep{mark_of(step), prepend_of(step), step.flag_or("split", true)});
    } else {
      step.fail_unsupported("type", "it supports Split, ByteLevel, Digits, Metaspace and Sequence");
    }
  };
  visit_at(config, "pre_tokenizer", "pretokenizers", read);
  return steps;
}

std::vector<DecodeStep> read_decoder(const ConfigReader& config) {
  std::vector<DecodeStep> steps;
  auto read = [&](const std::string& type, const ConfigReader& step) {
    if (type == "ByteLevel") {
      steps.emplace_back(SpellBytesStep{});
    } else if (type == "ByteFallback") {
      steps.emplace_back(ByteFallbackStep{});
    } else if (type == "Fuse") {
      steps.emplace_back(FuseStep{});
    } else if (type == "Replace") {
      steps.emplace_back(replace_of(step));
    } else if (type == "Strip") {
      std::string character = need_text(step, "content");
      if (character.empty() || character.size() > 4) step.refuse("content", "one character");
      steps.emplace_back(
          StripStep{std::move(character), small_count(step, "start"), small_count(step, "stop")});
    } else if (type == "Metaspace") {
      steps.emplace_back(SpaceMarkStep{mark_of(step), prepend_of(step) != PrependScheme::kNever});
    } else {
      step.fail_unsupported(
          "type",
          "it supports ByteLevel, ByteFallback, Fuse, Replace, Strip, Metaspace and Sequence");
    }
  };
  visit_at(config, "decoder", "decoders", read);
  return steps;
}

TextTemplate read_post_processor(const ConfigReader& config, uint32_t tokens) {
  TextTemplate made;
  bool found = false;
  auto read = [&](const std::string& type, const ConfigReader& step) {
    // ByteLevel in a post_processor changes only offsets, not ids.
    if (type == "ByteLevel") return;
    const bool pair = type == "BertProcessing" || type == "RobertaProcessing";
    if ((type != "TemplateProcessing" && !pair) || found) {
      step.fail_unsupported(
          "type",
          "it supports ByteLevel, and one TemplateProcessing, BertProcessing or RobertaProcessing");
    }
    found = true;
    if (pair) return read_pair(step, tokens, type == "RobertaProcessing", &made);
    read_template(step, tokens, &made);
  };
  visit_at(config, "post_processor", "processors", read);
  return made;
}

}  // namespace hearth
