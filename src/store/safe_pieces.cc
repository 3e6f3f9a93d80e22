#include "store/safe_pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/atomic_file.h"
#include "base/round_up.h"

namespace hearth {
namespace {

constexpr const char* kHead = "hearth-pieces-3";
constexpr uint64_t kMaxPieces = 1u << 16, kPieceStep = 4096;

bool fits(const SafePiece& piece) {
  return piece.done <= piece.size && (piece.done % BlockSum::kStep == 0 || piece.whole());
}

}  // namespace

SafePieces SafePieces::of(uint64_t size, uint64_t piece) {
  piece = round_up(std::clamp(piece, size / kMaxPieces + 1, size + 1), kPieceStep);
  SafePieces all{.size = size, .piece = piece, .pieces = {}};
  for (uint64_t begin = 0; begin < size; begin += piece) {
    all.pieces.push_back({.begin = begin, .size = std::min(piece, size - begin)});
  }
  return all;
}

SafePieces SafePieces::read(const std::string& path, uint64_t size, uint64_t piece) {
  std::ifstream file(path);
  std::string head;
  uint64_t stored_size = 0, stored_piece = 0, adopted = 0;
  file >> head >> stored_size >> stored_piece >> adopted;
  const bool known =
      file && head == kHead && stored_size == size && stored_piece % BlockSum::kStep == 0;
  if (!known) return of(size, piece);
  SafePieces all = of(size, stored_piece);
  if (all.piece != stored_piece) return of(size, piece);
  all.adopted = adopted;
  for (SafePiece& each : all.pieces) {
    file >> each.done >> each.sum;
    if (!file || !fits(each)) return of(size, piece);
  }
  return all;
}

void SafePieces::write(const std::string& path) const {
  std::string text = fmt::format("{} {} {} {}\n", kHead, size, piece, adopted);
  for (const SafePiece& each : pieces) {
    fmt::format_to(std::back_inserter(text), "{} {}\n", each.done, each.sum);
  }
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

uint64_t SafePieces::done() const {
  uint64_t bytes = 0;
  for (const SafePiece& each : pieces) bytes += each.done;
  return bytes;
}

uint64_t SafePieces::prefix() const {
  uint64_t bytes = 0;
  for (const SafePiece& each : pieces) {
    bytes += each.done;
    if (!each.whole()) break;
  }
  return bytes;
}

}  // namespace hearth
