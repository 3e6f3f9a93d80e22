#include "server/unbuilt_fields.h"

#include <algorithm>
#include <string>

#include "server/json_fields.h"

namespace hearth {
namespace {

using boost::json::value;

constexpr UnbuiltField kUnbuiltBoth[] = {
    {.name = "structural_tag"},
    {.name = "format"},
    {.name = "bad_words"},
    {.name = "logits_processors"},
    {.name = "prompt_logprobs"},
    {.name = "logprob_token_ids"},
    {.name = "return_token_ids"},
    {.name = "return_tokens"},
    {.name = "return_tokens_as_token_ids"},
    {.name = "use_beam_search"},
    {.name = "early_stopping"},
    {.name = "watermark"},
    {.name = "watermarking"},
    {.name = "top_n_tokens"},
    {.name = "decoder_input_details"},
    {.name = "return_full_text"},
    {.name = "truncate"},
    {.name = "truncate_prompt_tokens"},
    {.name = "post_sampling_probs"},
    {.name = "response_fields"},
    {.name = "samplers"},
    {.name = "lora"},
    {.name = "adapter_id"},
    {.name = "dry_multiplier"},
    {.name = "xtc_probability"},
    {.name = "mirostat"},
    {.name = "dynatemp_range"},
    {.name = "n_indent"},
    {.name = "prompt_embeds"},
    {.name = "vllm_xargs"},
    {.name = "repetition_detection"},
    {.name = "template"},
    {.name = "context"},
    {.name = "images"},
    {.name = "n_probs", .remedy = "use logprobs"},
    {.name = "stop_sequences", .remedy = "use stop"},
    {.name = "options", .remedy = "give its fields beside the others"},
    {.name = "parameters", .remedy = "give its fields beside the others"},
    {.name = "system", .remedy = "give it as the message of a chat"},
    {.name = "think",
     .nothing = Nothing::kNull,
     .remedy =
         "use reasoning_effort, or set variables of the chat template with chat_template_kwargs"},
    {.name = "do_sample", .nothing = Nothing::kTrue, .remedy = "give temperature 0"},
    {.name = "typical_p", .nothing = Nothing::kNumber, .low = 1, .high = 1},
    {.name = "tfs_z", .nothing = Nothing::kNumber, .low = 1, .high = 1},
    {.name = "length_penalty", .nothing = Nothing::kNumber, .low = 1, .high = 1},
    {.name = "num_beams", .nothing = Nothing::kNumber, .low = 1, .high = 1},
    {.name = "n_cmpl", .nothing = Nothing::kNumber, .low = 1, .high = 1, .remedy = "use n"},
    {.name = "top_n_sigma", .nothing = Nothing::kNumber, .high = 0},
    {.name = "t_max_predict_ms", .nothing = Nothing::kNumber, .high = 0},
    {.name = "min_keep", .nothing = Nothing::kNumber, .high = 1},
    {.name = "adaptive_target", .nothing = Nothing::kNumber, .high = -1},
    {.name = "thinking_token_budget", .nothing = Nothing::kNumber, .high = -1},
    {.name = "thinking_budget_tokens", .nothing = Nothing::kNumber, .high = -1},
};

constexpr UnbuiltField kUnbuiltChat[] = {
    {.name = "functions", .remedy = "use tools"},
    {.name = "audio", .nothing = Nothing::kNull},
    {.name = "prediction", .nothing = Nothing::kNull},
    {.name = "web_search_options", .nothing = Nothing::kNull},
    {.name = "moderation", .nothing = Nothing::kNull},
    {.name = "echo"},
    {.name = "chat_template"},
    {.name = "documents", .remedy = "give it in chat_template_kwargs"},
    {.name = "add_special_tokens"},
};

constexpr UnbuiltField kUnbuiltText[] = {
    {.name = "suffix"},
    {.name = "include_reasoning", .nothing = Nothing::kTrue},
    {.name = "add_special_tokens", .nothing = Nothing::kTrue},
};

constexpr UnbuiltField kUnbuiltEmbedding[] = {
    {.name = "messages"},
    {.name = "chat_template"},
    {.name = "chat_template_kwargs"},
    {.name = "add_generation_prompt"},
    {.name = "continue_final_message"},
    {.name = "mm_processor_kwargs"},
    {.name = "images"},
    {.name = "options"},
    {.name = "prompt_name"},
    {.name = "input_type"},
    {.name = "late_chunking"},
    {.name = "normalize", .nothing = Nothing::kTrue},
    {.name = "add_special_tokens", .nothing = Nothing::kTrue},
    {.name = "embd_normalize", .nothing = Nothing::kNumber, .low = 2, .high = 2},
    {.name = "embed_dtype", .nothing = Nothing::kWord, .words = "float32"},
    {.name = "endianness", .nothing = Nothing::kWord, .words = "native little"},
    {.name = "task", .nothing = Nothing::kWord, .words = "embed"},
    {.name = "truncation_side", .nothing = Nothing::kWord, .words = "right"},
    {.name = "truncation_direction", .nothing = Nothing::kWord, .words = "right Right"},
};

constexpr UnbuiltField kUnbuiltRerank[] = {
    {.name = "rank_fields"},
    {.name = "max_chunks_per_doc", .remedy = "leave it out: documents are always read as a whole"},
    {.name = "truncate_prompt_tokens", .remedy = "use max_tokens_per_doc"},
    {.name = "instruction"},
    {.name = "instruct"},
    {.name = "chat_template_kwargs"},
    {.name = "mm_processor_kwargs"},
    {.name = "return_embeddings"},
    {.name = "activation", .nothing = Nothing::kTrue, .remedy = "use raw_scores"},
    {.name = "softmax", .nothing = Nothing::kTrue, .remedy = "use raw_scores"},
    {.name = "use_activation", .nothing = Nothing::kTrue, .remedy = "use raw_scores"},
    {.name = "truncation_side", .nothing = Nothing::kWord, .words = "right"},
    {.name = "truncation_direction", .nothing = Nothing::kWord, .words = "right Right"},
};

constexpr UnbuiltField kUnbuiltOllama[] = {
    {.name = "suffix"},
    {.name = "template"},
    {.name = "context", .remedy = "send a chat with all its messages"},
    {.name = "images"},
};

bool is_empty(const value& field) {
  switch (field.kind()) {
    case boost::json::kind::bool_:
      return !field.get_bool();
    case boost::json::kind::string:
      return field.get_string().empty();
    case boost::json::kind::array:
      return field.get_array().empty();
    case boost::json::kind::object:
      return field.get_object().empty();
    default:
      return field.is_number() && field.to_number<double>() == 0;
  }
}

bool is_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

bool asks_nothing(const UnbuiltField& field, const value& given) {
  switch (field.nothing) {
    case Nothing::kEmpty:
      return is_empty(given);
    case Nothing::kTrue:
      return given.is_bool() && given.get_bool();
    case Nothing::kNumber: {
      if (!given.is_number()) return false;
      double number = given.to_number<double>();
      return number >= field.low && number <= field.high;
    }
    case Nothing::kWord:
      return given.is_string() &&
             is_word(field.words, {given.get_string().data(), given.get_string().size()});
    case Nothing::kNull:
      return false;
  }
  return false;
}

}  // namespace

std::span<const UnbuiltField> unbuilt_fields() { return kUnbuiltBoth; }
std::span<const UnbuiltField> unbuilt_chat_fields() { return kUnbuiltChat; }
std::span<const UnbuiltField> unbuilt_text_fields() { return kUnbuiltText; }
std::span<const UnbuiltField> unbuilt_embedding_fields() { return kUnbuiltEmbedding; }

std::span<const UnbuiltField> unbuilt_rerank_fields() { return kUnbuiltRerank; }
std::span<const UnbuiltField> unbuilt_ollama_fields() { return kUnbuiltOllama; }

void refuse_unbuilt(const boost::json::object& body, std::span<const UnbuiltField> fields) {
  for (const UnbuiltField& field : fields) {
    const value* given = find_field(body, field.name);
    if (given == nullptr || asks_nothing(field, *given)) continue;
    refuse_unsupported(std::string(field.name), field.remedy);
  }
}

}  // namespace hearth
