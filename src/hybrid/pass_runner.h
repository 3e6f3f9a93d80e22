// A pass over prompts. It computes the keys and values of the prompts in every layer, and puts them
// into the prompts' pages. It does nothing else. PrefillPass (prefill_pass.h) does that on an
// accelerator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hearth {

// Tokens of one text, at positions first_position, first_position + 1, ... The pages already hold
// the keys and values of earlier positions.
struct PassText {
  std::span<const int32_t> tokens;
  uint32_t first_position = 0;
  std::span<const uint32_t> pages;  // pages[p / kPagePositions] holds position p
  // The pages for layers that see only a window, if they differ from those of layers that see all
  // positions. Only positions in the window of the text's last position are written, so a page may
  // stand for several positions in turn.
  std::span<const uint32_t> window_pages = {};
  // The number of the text's first positions that attend to expanded latents, in a model with
  // latents (graph/ops/latent.h).
  uint32_t expanded = 0;
};

// Tells a pass which of its texts are still wanted. The thread that runs the pass calls its
// functions.
class PassWatch {
 public:
  virtual ~PassWatch() = default;
  // Whether the pages of a text are still wanted. The pass asks at every layer until the answer is
  // false.
  virtual bool wanted(size_t text) = 0;
  // Tells that from now on, the pass does not read or write the pages of a text that was not
  // wanted.
  virtual void let_go(size_t text) = 0;
};

// A watch that wants all texts to the end.
class AllWanted : public PassWatch {
 public:
  bool wanted(size_t) override { return true; }
  void let_go(size_t) override {}
};

// The most rows and pages that a pass can have.
struct PassRoom {
  uint32_t rows = 0;   // tokens of all texts
  uint32_t pages = 0;  // of all texts, with those of earlier tokens
};

class PassRunner {
 public:
  virtual ~PassRunner() = default;
  virtual PassRoom room() const = 0;
  // Returns when each text has been computed or let go. Throws Error where the pass cannot go on.
  virtual void run(std::span<const PassText> texts, PassWatch& watch) = 0;
  // Tells after a run that threw whether nothing will read or write its pages once the runner is
  // destroyed. False: the pages of that run's texts must never be used again.
  virtual bool ended() const = 0;
  // kept_layers() is the number of layers whose weights always stay where passes run.
  // bytes_in_flight() is the most bytes that other layers take there at a time, while they are
  // copied or used.
  virtual uint32_t kept_layers() const { return 0; }
  virtual uint64_t bytes_in_flight() const { return 0; }
  // Returns how many bytes all runs so far have submitted for copying, in both directions together.
  virtual uint64_t copied_bytes() const { return 0; }
};

}  // namespace hearth
