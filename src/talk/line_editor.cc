#include "talk/line_editor.h"

#include <fmt/format.h>
#include <histedit.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "base/utf8.h"
#include "talk/terminal_mode.h"
#include "talk/wrapped_text.h"

namespace hearth {
namespace {

constexpr size_t kReadAhead = 4096;
// Milliseconds to wait for the rest of a character after its first bytes.
constexpr int kRestMilliseconds = 50;
// A larger paste is shown in the line as a mark with its size.
constexpr size_t kMaxShownBytes = 1000, kMaxShownLines = 10;
constexpr const char *kMarkPastes = "\033[?2004h", *kMarkNoPastes = "\033[?2004l";
constexpr std::string_view kPasteEnd = "\033[201~";
constexpr wchar_t kReplacement = 0xfffd;

std::wstring wide(std::string_view text) {
  std::wstring out;
  while (!text.empty()) {
    const size_t length = utf8_sequence(text);
    out += length == 0 ? kReplacement : static_cast<wchar_t>(utf8_decode(text.substr(0, length)));
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

std::string narrow(std::wstring_view text) {
  std::string out;
  for (wchar_t c : text) utf8_append(out, static_cast<char32_t>(c));
  return out;
}

// Returns a paste with its line ends as newlines, and without control characters other than tabs.
std::string plain_paste(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    if (c == '\r') {
      if (i + 1 == bytes.size() || bytes[i + 1] != '\n') text += '\n';
    } else if (c == '\n' || c == '\t' || static_cast<unsigned char>(c) >= ' ') {
      text += c;
    }
  }
  return text;
}

std::string common_beginning(const std::vector<std::string>& words) {
  std::string all = words[0];
  for (const std::string& word : words) {
    size_t same = 0;
    while (same < all.size() && same < word.size() && all[same] == word[same]) ++same;
    all.resize(same);
  }
  // Bytes of an incomplete character at the end are dropped.
  while (!all.empty() && !is_well_formed(all)) all.pop_back();
  return all;
}

// Returns how many of the window's rows a text takes, without the row in which the cursor is after
// it.
size_t rows_above(std::string_view text, unsigned columns) {
  size_t row = 0, column = 0;
  while (!text.empty()) {
    const size_t length = std::max<size_t>(utf8_sequence(text), 1);
    column += text[0] == '\n' ? 0 : character_width(text.substr(0, length));
    if (text[0] == '\n' || column >= columns) {
      ++row;
      column = 0;
    }
    text.remove_prefix(length);
  }
  return row;
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using OwnFile = std::unique_ptr<std::FILE, CloseFile>;

// Opens a stream on a duplicate of a standard descriptor.
OwnFile file_over(int fd, const char* mode) {
  int own = dup(fd);
  OwnFile file(own < 0 ? nullptr : fdopen(own, mode));
  if (!file)
    fail(ErrorCode::kResource,
         "cannot open the terminal: raise the limit on open files (ulimit -n)");
  return file;
}

}  // namespace

struct LineEditor::Parts {
  Parts(const TerminalSignals& terminal_signals, WordEndings of_line);
  ~Parts();
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  static Parts& of(EditLine* editor);
  // Callbacks of libedit, through which no exception may pass.
  static int get_character(EditLine* editor, wchar_t* character);
  static wchar_t* get_prompt(EditLine* editor) { return of(editor).prompt.data(); }
  static unsigned char insert_newline(EditLine* editor, int);
  static unsigned char paste(EditLine* editor, int);
  static unsigned char complete(EditLine* editor, int);
  template <typename Call>
  unsigned char guarded(const Call& call) noexcept;

  void bind_keys();
  void begin();
  void end();
  bool take_character(wchar_t* character);
  bool fill();
  bool handle(int signal);
  void draw_again();
  std::string before_cursor() const;
  std::string read_paste();
  unsigned char insert_paste(const std::string& text);
  unsigned char complete_word();
  std::string with_pastes(std::string line) const;
  void show(std::string_view bytes) const;

  const TerminalSignals& signals;
  const WordEndings completions;
  OwnFile in, out, err;
  bool marks_pastes = false;
  std::wstring prompt = {};
  std::string bytes = {};  // read from the terminal
  size_t taken = 0;        // how many of these were used
  bool cleared = false;
  std::vector<std::string> pastes = {};  // shown in the line as marks
  std::exception_ptr thrown = {};
  HistoryW* history = nullptr;
  EditLine* editor = nullptr;
};

LineEditor::Parts::Parts(const TerminalSignals& terminal_signals, WordEndings of_line)
    : signals(terminal_signals),
      completions(std::move(of_line)),
      in(file_over(STDIN_FILENO, "r")),
      out(file_over(STDOUT_FILENO, "w")),
      err(file_over(STDERR_FILENO, "w")) {
  // libedit shows characters by the locale's encoding, and terminals use UTF-8.
  std::setlocale(LC_CTYPE, "C.UTF-8");
  const char* kind = std::getenv("TERM");
  marks_pastes = kind != nullptr && std::string_view(kind) != "dumb";
  history = history_winit();
  editor = el_init("hearth", in.get(), out.get(), err.get());
  if (history == nullptr || editor == nullptr) {
    fail(ErrorCode::kResource, "cannot start the terminal's line editor");
  }
  HistEventW event;
  history_w(history, &event, H_SETSIZE, static_cast<int>(kMaxHistoryLines));
  el_wset(editor, EL_CLIENTDATA, this);
  el_wset(editor, EL_HIST, history_w, history);
  el_wset(editor, EL_PROMPT, get_prompt);
  el_wset(editor, EL_EDITOR, L"emacs");
  el_wset(editor, EL_SIGNAL, 0);
  el_wset(editor, EL_GETCFN, get_character);
  bind_keys();
  el_source(editor, nullptr);
}

LineEditor::Parts::~Parts() {
  if (editor != nullptr) el_end(editor);
  if (history != nullptr) history_wend(history);
}

LineEditor::Parts& LineEditor::Parts::of(EditLine* editor) {
  void* parts = nullptr;
  el_wget(editor, EL_CLIENTDATA, &parts);
  return *static_cast<Parts*>(parts);
}

void LineEditor::Parts::bind_keys() {
  el_wset(editor, EL_ADDFN, L"hearth-newline", L"Put a new line", insert_newline);
  el_wset(editor, EL_ADDFN, L"hearth-paste", L"Take what is pasted", paste);
  el_wset(editor, EL_ADDFN, L"hearth-complete", L"Complete the word", complete);
  struct Binding {
    const wchar_t *keys, *command;
  };
  for (const Binding& key : {Binding{L"\\e^M", L"hearth-newline"},
                             {L"\\e^J", L"hearth-newline"},
                             {L"\\e[200~", L"hearth-paste"},
                             {L"^I", L"hearth-complete"},
                             {L"^R", L"em-inc-search-prev"},
                             {L"^W", L"ed-delete-prev-word"},
                             {L"\\e[H", L"ed-move-to-beg"},
                             {L"\\e[F", L"ed-move-to-end"},
                             {L"\\e[1~", L"ed-move-to-beg"},
                             {L"\\e[4~", L"ed-move-to-end"},
                             {L"\\e[3~", L"ed-delete-next-char"},
                             {L"\\e[A", L"ed-prev-history"},
                             {L"\\e[B", L"ed-next-history"},
                             {L"\\e[C", L"ed-next-char"},
                             {L"\\e[D", L"ed-prev-char"},
                             {L"\\e[1;5C", L"em-next-word"},
                             {L"\\e[1;5D", L"ed-prev-word"}}) {
    el_wset(editor, EL_BIND, key.keys, key.command, nullptr);
  }
}

void LineEditor::Parts::show(std::string_view text) const {
  std::fwrite(text.data(), 1, text.size(), out.get());
  std::fflush(out.get());
}

void LineEditor::Parts::begin() {
  if (marks_pastes) show(kMarkPastes);
}

void LineEditor::Parts::end() {
  if (marks_pastes) show(kMarkNoPastes);
}

int LineEditor::Parts::get_character(EditLine* editor, wchar_t* character) {
  Parts& parts = of(editor);
  bool got = false;
  parts.guarded([&] { return got = parts.take_character(character), CC_NORM; });
  return got ? 1 : 0;
}

template <typename Call>
unsigned char LineEditor::Parts::guarded(const Call& call) noexcept {
  try {
    return static_cast<unsigned char>(call());
  } catch (...) {
    thrown = std::current_exception();
    return CC_EOF;
  }
}

bool LineEditor::Parts::take_character(wchar_t* character) {
  for (;;) {
    const std::string_view rest = std::string_view(bytes).substr(taken);
    size_t length = utf8_sequence(rest);
    if (length > 0) {
      *character = static_cast<wchar_t>(utf8_decode(rest.substr(0, length)));
      taken += length;
      return true;
    }
    const size_t partial = utf8_partial(rest);
    pollfd look{STDIN_FILENO, POLLIN, 0};
    const bool more = partial == rest.size() && (rest.empty() || poll(&look, 1, kRestMilliseconds));
    if (more) {
      if (!fill()) return false;
      continue;
    }
    *character = kReplacement;
    taken += std::max<size_t>(partial, 1);
    return true;
  }
}

// Reads more bytes; false at their end, or where Ctrl-C clears the line.
bool LineEditor::Parts::fill() {
  for (;;) {
    pollfd look[] = {{STDIN_FILENO, POLLIN, 0}, {signals.fd(), POLLIN, 0}};
    if (poll(look, 2, -1) < 0 && errno != EINTR) return false;
    for (int signal = signals.next(); signal != 0; signal = signals.next()) {
      if (!handle(signal)) return false;
    }
    if (look[0].revents == 0) continue;
    bytes.erase(0, taken);
    taken = 0;
    const size_t had = bytes.size();
    bytes.resize(had + kReadAhead);
    const ssize_t got = ::read(STDIN_FILENO, bytes.data() + had, kReadAhead);
    bytes.resize(had + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got > 0) return true;
    if (got == 0 || errno != EINTR) return false;
  }
}

// Handles a signal, and returns whether reading goes on.
bool LineEditor::Parts::handle(int signal) {
  if (signal == SIGINT) {
    cleared = true;
    return false;
  }
  if (signal == SIGWINCH) {
    draw_again();
    return true;
  }
  end();
  el_wset(editor, EL_PREP_TERM, 0);
  if (TerminalSignals::ends(signal)) {
    show("\n");
    TerminalSignals::die_of(signal);
  }
  TerminalSignals::stop_process();
  el_wset(editor, EL_PREP_TERM, 1);
  begin();
  show("\r");
  el_resize(editor);
  el_wset(editor, EL_REFRESH);
  return true;
}

void LineEditor::Parts::draw_again() {
  const size_t rows = rows_above(narrow(prompt) + before_cursor(), terminal_columns());
  show(rows > 0 ? fmt::format("\r\033[{}A\033[J", rows) : "\r\033[J");
  el_resize(editor);
  el_wset(editor, EL_REFRESH);
}

std::string LineEditor::Parts::before_cursor() const {
  const LineInfoW* line = el_wline(editor);
  return narrow({line->buffer, static_cast<size_t>(line->cursor - line->buffer)});
}

unsigned char LineEditor::Parts::insert_newline(EditLine* editor, int) {
  return el_winsertstr(editor, L"\n") == 0 ? CC_REFRESH : CC_ERROR;
}

unsigned char LineEditor::Parts::paste(EditLine* editor, int) {
  Parts& parts = of(editor);
  return parts.guarded([&] { return parts.insert_paste(parts.read_paste()); });
}

// Returns the bytes up to the mark of the paste's end, or all that came if the terminal was closed.
std::string LineEditor::Parts::read_paste() {
  std::string pasted;
  for (size_t looked = 0;;) {
    pasted.append(bytes, taken);
    taken = bytes.size();
    const size_t at = pasted.find(kPasteEnd, looked);
    if (at != pasted.npos) {
      // Bytes after the mark were typed, not pasted.
      bytes = pasted.substr(at + kPasteEnd.size());
      taken = 0;
      pasted.resize(at);
      return pasted;
    }
    looked = pasted.size() - std::min(pasted.size(), kPasteEnd.size());
    if (!fill()) return pasted;
  }
}

unsigned char LineEditor::Parts::insert_paste(const std::string& pasted) {
  // Characters cut at the paste's borders become U+FFFD.
  std::string text = narrow(wide(plain_paste(pasted)));
  const size_t lines = static_cast<size_t>(std::ranges::count(text, '\n'));
  if (text.size() > kMaxShownBytes || lines > kMaxShownLines) {
    pastes.push_back(std::move(text));
    text = fmt::format("[paste {}: {} characters]", pastes.size(), wide(pastes.back()).size());
  }
  return el_winsertstr(editor, wide(text).c_str()) == 0 ? CC_REFRESH : CC_ERROR;
}

unsigned char LineEditor::Parts::complete(EditLine* editor, int) {
  Parts& parts = of(editor);
  return parts.guarded([&] { return parts.complete_word(); });
}

unsigned char LineEditor::Parts::complete_word() {
  const std::string line = before_cursor();
  const std::vector<std::string> words = completions(line);
  if (words.empty()) return CC_ERROR;
  const std::string word = line.substr(line.rfind(' ') + 1);
  std::string longer = common_beginning(words);
  if (words.size() == 1 && !longer.ends_with('/')) longer += ' ';
  if (longer.size() > word.size()) {
    const std::wstring rest = wide(longer.substr(word.size()));
    return el_winsertstr(editor, rest.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
  }
  // Names of files may contain control characters that move the cursor.
  std::string shown;
  for (const std::string& each : words) {
    shown += (shown.empty() ? "" : "  ") + printable(each, each.size());
  }
  show(fmt::format("\r\n{}\r\n", shown));
  return CC_REDISPLAY;
}

std::string LineEditor::Parts::with_pastes(std::string line) const {
  for (size_t i = pastes.size(); i > 0; --i) {
    const std::string mark =
        fmt::format("[paste {}: {} characters]", i, wide(pastes[i - 1]).size());
    const size_t at = line.find(mark);
    if (at != line.npos) line.replace(at, mark.size(), pastes[i - 1]);
  }
  return line;
}

LineEditor::LineEditor(const TerminalSignals& signals, WordEndings completions)
    : parts_(std::make_unique<Parts>(signals, std::move(completions))) {}

LineEditor::~LineEditor() = default;

void LineEditor::remember(const std::string& message) {
  HistEventW event;
  history_w(parts_->history, &event, H_ENTER, wide(message).c_str());
}

InputLine LineEditor::read(const std::string& prompt) {
  Parts& parts = *parts_;
  parts.prompt = wide(prompt);
  parts.cleared = false;
  parts.pastes.clear();
  parts.begin();
  // Sets up the terminal before the prompt is written, so that keys pressed from then on are not
  // echoed twice.
  el_wset(parts.editor, EL_PREP_TERM, 1);
  int length = 0;
  const wchar_t* line = el_wgets(parts.editor, &length);
  parts.end();
  if (parts.thrown) std::rethrow_exception(std::exchange(parts.thrown, {}));
  if (line != nullptr && length > 0) {
    std::string text = narrow({line, static_cast<size_t>(length)});
    if (text.ends_with('\n')) text.pop_back();
    return {InputLine::End::kLine, parts.with_pastes(std::move(text))};
  }
  parts.show(parts.cleared ? "^C\n" : "\n");
  return {parts.cleared ? InputLine::End::kCleared : InputLine::End::kEnd};
}

}  // namespace hearth
