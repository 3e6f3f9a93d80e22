// Keys of a model's metadata that change what it computes and that this program does not read:
// scales and caps of logits, embeddings and residuals, layers of other kinds, settings of windowed
// layers alone. A file that says anything but nothing by such a key is refused, since its text
// would be wrong. Keys and their neutral values are those of llama.cpp's readers; a key that is
// unknown there as well tells of the model and changes nothing.
#pragma once

#include "models/hyper_parameters.h"

namespace hearth {

// `hyper` was read from the source. Throws (kUnsupported) naming the key and its value.
void refuse_unread_keys(const ModelSource& source, const ArchitectureKind& kind,
                        const HyperParameters& hyper);

}  // namespace hearth
