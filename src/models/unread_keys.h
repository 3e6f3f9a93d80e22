// Keys of a model's metadata that change its results: scales and caps of logits, embeddings and
// residuals, layers of other kinds, settings that only windowed layers have. A file is refused if
// such a key has a value with an effect, and no code that made the model's blocks has read the key.
// Else the model's text would be wrong. The keys and their neutral values are those of llama.cpp's
// readers. A key that those readers do not know describes the model and changes nothing.
#pragma once

#include "models/model_spec.h"

namespace hearth {

// `keys` are the keys that `spec` was made by. Throws Error (kUnsupported), naming the key and its
// value.
void refuse_unread_keys(const ModelKeys& keys, const ModelSpec& spec);

}  // namespace hearth
