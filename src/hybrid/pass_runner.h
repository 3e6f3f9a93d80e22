// A pass over prompts computes their keys and values of every layer and puts them into the pages
// that the prompts have; it does nothing else. PrefillPass (prefill_pass.h) does it on an
// accelerator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hearth {

// Tokens of one text, at positions first_position, first_position + 1, ... The pages already hold
// the positions before them.
struct PassText {
  std::span<const int32_t> tokens;
  uint32_t first_position = 0;
  std::span<const uint32_t> pages;  // pages[p / kPagePositions] holds position p
  // The pages for layers that see a window, where other layers see all positions. Positions that
  // the window of the text's last position does not reach are not written, so pages may take turns.
  std::span<const uint32_t> window_pages = {};
  // The number of the text's first positions that attend to expanded latents (graph/ops/latent.h),
  // in a model with latents.
  uint32_t expanded = 0;
};

// Says which texts of a pass are still wanted. Its functions are called by the thread that runs the
// pass.
class PassWatch {
 public:
  virtual ~PassWatch() = default;
  // Whether the pages of a text are still wanted. Asked at every layer, until the first false.
  virtual bool wanted(size_t text) = 0;
  // Tells that nothing reads or writes the pages of an unwanted text from now on.
  virtual void let_go(size_t text) = 0;
};

// A watch for passes whose texts are all wanted to the end.
class AllWanted : public PassWatch {
 public:
  bool wanted(size_t) override { return true; }
  void let_go(size_t) override {}
};

// The most rows and pages of a pass.
struct PassRoom {
  uint32_t rows = 0;   // tokens of all texts
  uint32_t pages = 0;  // of all texts, with the pages of the tokens before
};

class PassRunner {
 public:
  virtual ~PassRunner() = default;
  virtual PassRoom room() const = 0;
  // Returns once all texts have been computed or let go. Throws Error where the pass cannot go on.
  virtual void run(std::span<const PassText> texts, PassWatch& watch) = 0;
  // Says after a run that threw whether nothing reads or writes pages any more once the runner is
  // destroyed. False: the pages of that run's texts must never be used again.
  virtual bool ended() const = 0;
  // kept_layers() is the number of layers whose weights stay where passes run. bytes_in_flight() is
  // the most bytes of other layers that are there or being copied at a time.
  virtual uint32_t kept_layers() const { return 0; }
  virtual uint64_t bytes_in_flight() const { return 0; }
  // Returns the bytes that all runs so far have asked to be copied, both ways.
  virtual uint64_t copied_bytes() const { return 0; }
};

}  // namespace hearth
