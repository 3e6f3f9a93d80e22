#include "server/rerank_request.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "server/json_fields.h"
#include "server/unbuilt_fields.h"

namespace hearth {
namespace {

using boost::json::object;
using boost::json::value;

// Reads a text: a string, or an object with the member `text`.
std::string read_text(const value& field, const std::string& name) {
  if (field.is_string()) return text_field(field, name);
  if (!field.is_object()) refuse_type(field, name, "a string, or an object with a text");
  const std::string inner = name + ".text";
  return text_field(require_field(field.get_object(), "text", inner), inner);
}

std::string read_query(const object& body) {
  std::string query = read_text(require_field(body, "query", "query"), "query");
  if (query.empty()) {
    throw RequestError(kInvalidValue, "query", "is empty: documents are ranked by a query");
  }
  return query;
}

void read_documents(const value& field, const EmbeddingLimits& limits, RerankCall* call) {
  const std::string name = call->documents_field();
  const boost::json::array& entries = array_field(field, name, 1, limits.inputs);
  for (size_t i = 0; i < entries.size(); ++i) {
    call->documents.push_back(read_text(entries[i], entry_name(name, i)));
  }
}

void read_model(const value& field, const std::string& name, RerankCall* call) {
  call->model = text_field(field, name);
}

void read_best(const value& field, const std::string& name, RerankCall* call) {
  call->best =
      static_cast<size_t>(integer_field(field, name, 1, std::numeric_limits<int32_t>::max()));
}

void read_with_documents(const value& field, const std::string& name, RerankCall* call) {
  call->with_documents = bool_field(field, name);
}

void read_raw(const value& field, const std::string& name, RerankCall* call) {
  call->raw = bool_field(field, name);
}

void read_truncate(const value& field, const std::string& name, RerankCall* call) {
  call->truncate = bool_field(field, name);
}

void read_document_tokens(const value& field, const std::string& name, RerankCall* call) {
  call->document_tokens =
      static_cast<uint32_t>(integer_field(field, name, 1, std::numeric_limits<int32_t>::max()));
}

struct Field {
  const char* name;
  void (*read)(const value& field, const std::string& name, RerankCall* call);
};
constexpr Field kFields[] = {
    {"model", read_model},
    {"top_n", read_best},
    {"return_documents", read_with_documents},
    {"return_text", read_with_documents},
    {"raw_scores", read_raw},
    {"truncate", read_truncate},
    {"max_tokens_per_doc", read_document_tokens},
};

}  // namespace

RerankCall read_rerank_call(std::string_view body, const EmbeddingLimits& limits, bool cohere) {
  const object fields = read_object(body, limits.depth);
  refuse_unbuilt(fields, unbuilt_rerank_fields());
  RerankCall call;
  const value* texts = cohere ? nullptr : find_field(fields, "texts");
  call.form = texts != nullptr ? RerankForm::kTei
              : cohere         ? RerankForm::kCohere
                               : RerankForm::kJina;
  call.with_documents = call.form == RerankForm::kJina;
  call.query = read_query(fields);
  read_documents(texts != nullptr ? *texts : require_field(fields, "documents", "documents"),
                 limits, &call);
  for (const Field& field : kFields) {
    if (const value* given = find_field(fields, field.name)) field.read(*given, field.name, &call);
  }
  return call;
}

std::vector<std::string_view> rerank_field_names() {
  std::vector<std::string_view> all = {"query", "documents", "texts"};
  for (const Field& field : kFields) all.push_back(field.name);
  for (const UnbuiltField& field : unbuilt_rerank_fields()) all.push_back(field.name);
  return all;
}

}  // namespace hearth
