#include "accelerator/command_list.h"

#include "base/error.h"

namespace hearth {

std::vector<Access> accesses_of(const Command& command) {
  if (const auto* call = std::get_if<KernelCall>(&command.work)) return accesses_of(*call);
  const auto& copy = std::get<CopyBytes>(command.work);
  return {{.at = copy.from, .bytes = copy.bytes},
          {.at = copy.to, .bytes = copy.bytes, .writes = true}};
}

std::string work_name(const Command& command) {
  const auto* call = std::get_if<KernelCall>(&command.work);
  return call == nullptr ? "copy" : contract_name(*call);
}

void check_command(const Command& command) {
  if (const auto* call = std::get_if<KernelCall>(&command.work)) return check_call(*call);
  const auto& copy = std::get<CopyBytes>(command.work);
  if (copy.bytes == 0 || !copy.from || !copy.to) {
    fail(ErrorCode::kRequest, "a copy needs a source, a target and at least 1 byte");
  }
  const std::vector<Access> both = accesses_of(command);
  for (const Access& access : both) {
    if (end_of(access) > kMaxBufferBytes) {
      fail(ErrorCode::kRequest, "a copy ends beyond the longest buffer that is possible");
    }
  }
  if (overlap(both[0], both[1])) {
    fail(ErrorCode::kRequest, "a copy of {} bytes in buffer {} from {} to {} overlaps itself",
         copy.bytes, copy.from.buffer, copy.from.offset, copy.to.offset);
  }
}

}  // namespace hearth
