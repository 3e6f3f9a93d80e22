#include "formats/cut_guard.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>

namespace hearth {

struct GuardedRange {
  std::atomic<uintptr_t> begin = 0, end = 0;  // end 0: free for another map
  std::atomic<bool> cut = false;
  std::atomic<GuardedRange*> next = nullptr;
};

namespace {

static_assert(std::atomic<uintptr_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "a signal handler reads them");

// The list that the signal handler walks. Entries are added in front and never leave it, so it may
// be walked at any moment.
struct GuardedRanges {
  std::mutex changing;
  std::atomic<GuardedRange*> first = nullptr;
  size_t page = 0;
  struct sigaction before = {};
};

// Returns the one list of the process: a signal handler can reach only globals.
GuardedRanges& ranges();

// Maps zeros from `address` to the end of the guarded range that contains it. Returns false if no
// range contains the address, or mapping fails.
bool mend(uintptr_t address) {
  const size_t page = ranges().page;
  GuardedRange* range = ranges().first.load();
  while (range != nullptr && !(range->begin.load() <= address && address < range->end.load())) {
    range = range->next.load();
  }
  if (range == nullptr) return false;
  const uintptr_t from = address / page * page;
  const uintptr_t to = (range->end.load() + page - 1) / page * page;
  range->cut = true;
  // Calls the system directly, since sanitizers replace mmap() with functions of their own. On
  // Linux a signal handler may make this call.
  const long mapped = syscall(SYS_mmap, from, to - from, PROT_READ,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  return mapped != -1;
}

void handle_bus(int signal, siginfo_t* info, void*) {
  const int error = errno;
  const bool mended =
      info->si_code == BUS_ADRERR && mend(reinterpret_cast<uintptr_t>(info->si_addr));
  if (!mended) {
    sigaction(signal, &ranges().before, nullptr);
    // A fault is raised again when the handler returns and the access is repeated. A signal that
    // another process sent would not come again, so it is raised here.
    if (info->si_code <= 0) raise(signal);
  }
  errno = error;
}

GuardedRanges* start_guarding() {
  auto* all = new GuardedRanges;
  all->page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return all;
}

GuardedRanges& ranges() {
  // The list is never destroyed, since threads may read files while the process ends.
  static GuardedRanges* const all = start_guarding();
  return *all;
}

void handle_signal(GuardedRanges* all) {
  struct sigaction action = {};
  action.sa_sigaction = handle_bus;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &all->before);
}

}  // namespace

CutGuard::CutGuard(std::span<const std::byte> mapped) {
  GuardedRanges& all = ranges();
  const std::lock_guard lock(all.changing);
  if (all.first.load() == nullptr) handle_signal(&all);
  GuardedRange* range = all.first.load();
  while (range != nullptr && range->end.load() != 0) range = range->next.load();
  if (range == nullptr) {
    range = new GuardedRange;
    range->next = all.first.load();
    all.first = range;
  }
  range->cut = false;
  range->begin = reinterpret_cast<uintptr_t>(mapped.data());
  range->end = range->begin.load() + mapped.size();
  range_ = range;
}

CutGuard::~CutGuard() {
  if (range_ == nullptr) return;
  const std::lock_guard lock(ranges().changing);
  range_->end = 0;
}

bool CutGuard::was_cut() const { return range_ != nullptr && range_->cut.load(); }

}  // namespace hearth
