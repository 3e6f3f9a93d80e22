// The model that comes with the program (docs/demo-model.md): what `hearth run` and `hearth bench`
// take where no MODEL is named, so that the first command needs no download.
#pragma once

#include <filesystem>
#include <string>

namespace hearth {

// assets/demo.gguf in the program's folder, as in a build folder, or share/hearth/demo.gguf beside
// that folder, as installed. Throws (kUsage) where neither is a file, and names both.
std::filesystem::path find_demo_model(const std::filesystem::path& program_folder);

// Puts the demo model where `model` is empty and tells so; true where it did.
bool take_demo_model(std::string* model);

}  // namespace hearth
