#include "talk/text_file.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/utf8_stream.h"
#include "talk/terminal_mode.h"
#include "talk/terminal_signals.h"

namespace hearth {
namespace {

std::string with_home(const std::string& path) {
  const char* home = std::getenv("HOME");
  return path.starts_with("~/") && home != nullptr ? home + path.substr(1) : path;
}

std::string editor_command() {
  for (const char* name : {"VISUAL", "EDITOR"}) {
    const char* command = std::getenv(name);
    if (command != nullptr && *command != '\0') return command;
  }
  return "vi";
}

// Starts the command in a process group of its own, with all signals at their defaults and
// unblocked.
pid_t start_editor(const std::string& command, const std::string& path) {
  posix_spawnattr_t how;
  posix_spawnattr_init(&how);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&how, &none);
  posix_spawnattr_setsigdefault(&how, &all);
  posix_spawnattr_setpgroup(&how, 0);
  posix_spawnattr_setflags(&how,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  // The shell ignores Ctrl-C and Ctrl-\, which the editor takes as keys.
  std::string words[] = {"sh", "-c", "trap : INT QUIT; " + command + " \"$1\"", "sh", path};
  char* argv[6] = {};
  for (size_t i = 0; i < std::size(words); ++i) argv[i] = words[i].data();
  pid_t child = 0;
  const int error = posix_spawn(&child, "/bin/sh", nullptr, &how, argv, environ);
  posix_spawnattr_destroy(&how);
  if (error != 0) fail(ErrorCode::kResource, "cannot start /bin/sh: {}", std::strerror(error));
  return child;
}

// Runs the editor and returns its exit status. The editor has the terminal while it runs. If it is
// stopped, this process stops as well, and both are continued together.
int run_editor(const std::string& command, const std::string& path) {
  LentTerminal terminal;
  const pid_t child = start_editor(command, path);
  for (;;) {
    terminal.lend(child);
    kill(-child, SIGCONT);
    int status = 0;
    while (waitpid(child, &status, WUNTRACED) < 0 && errno == EINTR) {
    }
    terminal.take_back();
    if (!WIFSTOPPED(status)) return status;
    // The editor may have tried to use the terminal before this process gave it the terminal.
    const bool waited = WSTOPSIG(status) == SIGTTIN || WSTOPSIG(status) == SIGTTOU;
    if (!waited) TerminalSignals::stop_process();
  }
}

}  // namespace

std::string read_text_file(const std::string& path) {
  const std::string place = with_home(path);
  std::error_code error;
  if (!std::filesystem::exists(place, error)) {
    fail(ErrorCode::kFile, "'{}' does not exist; check the path", path);
  }
  if (!std::filesystem::is_regular_file(place, error)) {
    fail(ErrorCode::kFile, "'{}' is not a file: choose another path", path);
  }
  if (std::filesystem::file_size(place, error) > kMaxTextFileBytes) {
    fail(ErrorCode::kFile, "'{}' is larger than the limit of 64 MiB", path);
  }
  std::ifstream file(place, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (!file) fail(ErrorCode::kFile, "cannot read '{}': {}", path, std::strerror(errno));
  if (bytes.find('\0') != bytes.npos) fail(ErrorCode::kFile, "'{}' is not a text file", path);
  return well_formed_utf8(bytes);
}

bool is_there(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(with_home(path), error);
}

void write_text_file(const std::string& path, std::string_view text) {
  AtomicFile file(with_home(path));
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

std::string edited_text(std::string_view text) {
  std::string path = (std::filesystem::temp_directory_path() / "hearth-XXXXXX").string();
  const int fd = mkstemp(path.data());
  if (fd < 0) fail(ErrorCode::kFile, "cannot create '{}': {}", path, std::strerror(errno));
  auto remove = [](const std::string* file) { unlink(file->c_str()); };
  std::unique_ptr<const std::string, decltype(remove)> remover(&path, remove);
  const int error = write_all(fd, text);
  close(fd);
  if (error != 0) fail(ErrorCode::kFile, "cannot write '{}': {}", path, std::strerror(error));
  const std::string command = editor_command();
  if (run_editor(command, path) != 0) {
    fail(ErrorCode::kFile, "the editor '{}' failed, so nothing is sent; set $EDITOR to another one",
         command);
  }
  return read_text_file(path);
}

std::vector<std::string> paths_from(const std::string& beginning) {
  const size_t slash = beginning.rfind('/');
  const std::string folder = slash == beginning.npos ? "" : beginning.substr(0, slash + 1);
  const std::string name = beginning.substr(folder.size());
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder.empty() ? "." : with_home(folder), error)) {
    const std::string found = entry.path().filename().string();
    if (!found.starts_with(name) || (name.empty() && found.starts_with('.'))) continue;
    paths.push_back(folder + found + (entry.is_directory(error) ? "/" : ""));
  }
  std::ranges::sort(paths);
  return paths;
}

}  // namespace hearth
