#include "chat/marker_atoms.h"

#include <algorithm>
#include <cstdint>

#include "chat/marker_space.h"

namespace hearth {
namespace {

constexpr size_t kLongestTag = 64;
constexpr size_t kLongestEnding = 4096;

// Whether a byte belongs to a word. All letters outside of ASCII count, so that "｜" and "▁" belong
// to the word next to them.
bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<uint8_t>(c) >= 0x80;
}

// Returns the length of the tag at the text's beginning; 0 where there is none.
size_t tag_bytes(std::string_view text) {
  if (text.front() == '[') {
    size_t end = 1;
    while (end < text.size() && end < kLongestTag &&
           ((text[end] >= 'A' && text[end] <= 'Z') || text[end] == '_' || text[end] == '/')) {
      ++end;
    }
    return end > 2 && end < text.size() && text[end] == ']' ? end + 1 : 0;
  }
  if (text.front() != '<') return 0;
  for (size_t end = 1; end < text.size() && end < kLongestTag; ++end) {
    const char c = text[end];
    if (c == '>') return end > 1 ? end + 1 : 0;
    const bool quoted = c == '"' && text.substr(0, 3) == "<|\"";
    if (c == '<' || c == '=' || c == '{' || is_marker_space(c) || (c == '"' && !quoted)) return 0;
  }
  return 0;
}

size_t atom_bytes(std::string_view text) {
  const size_t tag = tag_bytes(text);
  if (tag > 0) return tag;
  auto run = [&](auto belongs) {
    return static_cast<size_t>(std::ranges::find_if_not(text, belongs) - text.begin());
  };
  if (is_marker_space(text.front())) return run(is_marker_space);
  if (is_word_byte(text.front())) return run(is_word_byte);
  return 1;
}

}  // namespace

std::vector<std::string_view> marker_atoms(std::string_view text) {
  std::vector<std::string_view> atoms;
  while (!text.empty()) {
    atoms.push_back(text.substr(0, atom_bytes(text)));
    text.remove_prefix(atoms.back().size());
  }
  return atoms;
}

bool is_tag_atom(std::string_view atom) {
  return atom.size() > 2 && (atom.front() == '<' || atom.front() == '[');
}

size_t common_beginning(std::string_view a, std::string_view b) {
  size_t bytes = 0;
  while (bytes < std::min(a.size(), b.size())) {
    const size_t atom = atom_bytes(a.substr(bytes));
    if (atom != atom_bytes(b.substr(bytes)) || a.substr(bytes, atom) != b.substr(bytes, atom)) {
      break;
    }
    bytes += atom;
  }
  return bytes;
}

size_t common_ending(std::string_view a, std::string_view b) {
  for (std::string_view* text : {&a, &b}) {
    if (text->size() > kLongestEnding) text->remove_prefix(text->size() - kLongestEnding);
  }
  const auto atoms = marker_atoms(a), others = marker_atoms(b);
  size_t bytes = 0;
  for (size_t i = 1; i <= std::min(atoms.size(), others.size()); ++i) {
    if (atoms[atoms.size() - i] != others[others.size() - i]) break;
    bytes += atoms[atoms.size() - i].size();
  }
  return bytes;
}

std::string without_any_space(std::string_view text) {
  std::string rest(text);
  std::erase_if(rest, is_marker_space);
  return rest;
}

}  // namespace hearth
