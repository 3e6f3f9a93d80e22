#include "cli/demo_model.h"

#include <fmt/format.h>

#include <system_error>

#include "base/error.h"
#include "cli/text_io.h"

namespace hearth {

namespace fs = std::filesystem;

fs::path find_demo_model(const fs::path& program_folder) {
  fs::path built = program_folder / "assets" / "demo.gguf";
  fs::path installed = program_folder.parent_path() / "share" / "hearth" / "demo.gguf";
  std::error_code error;
  for (const fs::path& path : {built, installed}) {
    if (fs::is_regular_file(path, error)) return path;
  }
  fail(ErrorCode::kUsage,
       "MODEL is missing, and the demo model that comes with the program is neither at '{}' nor at "
       "'{}': name a model file",
       built.native(), installed.native());
}

bool take_demo_model(std::string* model) {
  if (!model->empty()) return false;
  std::error_code error;
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) fail(ErrorCode::kUsage, "MODEL is missing: name a model file");
  *model = find_demo_model(program.parent_path()).native();
  print_note(fmt::format("no MODEL is named: taking the demo model, {}", *model));
  return true;
}

}  // namespace hearth
