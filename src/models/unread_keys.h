// Keys of a model's metadata that change what it computes: scales and caps of logits, embeddings
// and residuals, layers of other kinds, settings of windowed layers alone. A file that says
// anything but nothing by such a key, which nothing read that makes its blocks, is refused, since
// its text would be wrong. Keys and their neutral values are those of llama.cpp's readers; a key
// that is unknown there as well describes the model and changes nothing.
#pragma once

#include "models/model_spec.h"

namespace hearth {

// `keys` are those that `spec` was made by. Throws (kUnsupported) naming the key and its value.
void refuse_unread_keys(const ModelKeys& keys, const ModelSpec& spec);

}  // namespace hearth
