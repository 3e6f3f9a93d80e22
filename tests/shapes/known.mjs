// Members that only the server's bodies and events have, or only the declarations, and why that is
// right. A test fails if a departure is not listed here, or if a listed one does not occur.

const nulls = "has to do with what is not served; null where it is there, and clients take what " +
              "is not there for null";

export const known = {
  "OpenAI: extra ChatCompletionMessage.reasoning_content": "what servers and clients agreed on",
  "OpenAI: extra Delta.reasoning_content": "the same, streamed",
  "OpenAI: extra Model.max_model_len": "the length of the context, which clients of vLLM read",
  "OpenAI: extra Model.status": "whether it is loaded, as llama.cpp's server tells it",
  "OpenAI: extra Response.store": "OpenAI sends it; the declarations have it in the request alone",
  "OpenAI: missing Response.output_text": "the client makes it of the output; nobody sends it",
  [`OpenAI.Completion.choices[].finish_reason: Type 'null' is not assignable to type '"stop" | ` +
   `"length" | "content_filter"'.`]:
    "of a stream, before the end; the declaration is that of whole completions, too",
  "OpenAI.Completion.usage: Type 'null' is not assignable to type 'CompletionUsage | undefined'.":
    "of a stream with include_usage, before the end, as OpenAI describes that option",
  ["OpenAI.Completion.choices[].logprobs.token_logprobs[]: Type 'null' is not assignable to type " +
   "'number'."]: "of an echoed prompt's first token, which follows nothing; OpenAI sends null, too",
  ["OpenAI.Completion.choices[].logprobs.top_logprobs[]: Type 'null' is not assignable to type " +
   "'{ [key: string]: number; }'."]: "the same",

  "Anthropic: extra InvalidRequestErrorObject.details": "tells the client to send all messages " +
    "where it asked for a thread",
  "Anthropic: missing Message.container": nulls,
  "Anthropic: missing Message.diagnostics": nulls,
  "Anthropic: missing Message.stop_details": nulls,
  "Anthropic: missing Delta.container": nulls,
  "Anthropic: missing Delta.stop_details": nulls,
  "Anthropic: missing TextBlock.citations": nulls,
  "Anthropic: missing Usage.cache_creation": nulls,
  "Anthropic: missing Usage.inference_geo": nulls,
  "Anthropic: missing Usage.server_tool_use": nulls,
  "Anthropic: missing Usage.service_tier": nulls,
  "Anthropic: missing Usage.speed": nulls,
  "Anthropic: missing MessageDeltaUsage.server_tool_use": nulls,
  "Anthropic: missing ToolUseBlock.caller": "the model calls by itself, as where no caller is told",
};
