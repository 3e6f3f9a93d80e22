// A pass over prompts: their keys and values of every layer are computed and put into the pages
// that they have, and nothing else. PrefillPass (prefill_pass.h) does it on an accelerator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hearth {

// Tokens of one text, at positions first_position, first_position + 1, ...; what stands before them
// is in its pages already.
struct PassText {
  std::span<const int32_t> tokens;
  uint32_t first_position = 0;
  std::span<const uint32_t> pages;  // pages[p / kPagePositions] holds position p
  // The same of layers that see a window, where others see all positions. What lies behind the
  // window that its last position has is not written: pages may take turns.
  std::span<const uint32_t> window_pages = {};
  // The number of the text's first positions that attend to expanded latents (graph/ops/latent.h),
  // in a model with latents.
  uint32_t expanded = 0;
};

// Waits for a pass; the thread that runs the pass calls it.
class PassWatch {
 public:
  virtual ~PassWatch() = default;
  // Whether the pages of a text are still wanted. Asked at every layer; never again once it is not.
  virtual bool wanted(size_t text) = 0;
  // A text that is not wanted: from now on nothing reads or writes its pages.
  virtual void let_go(size_t text) = 0;
};

// A watch for passes whose texts are all wanted to the end.
class AllWanted : public PassWatch {
 public:
  bool wanted(size_t) override { return true; }
  void let_go(size_t) override {}
};

// The most that a pass has.
struct PassRoom {
  uint32_t rows = 0;   // tokens of all texts
  uint32_t pages = 0;  // of all texts, those of tokens before included
};

class PassRunner {
 public:
  virtual ~PassRunner() = default;
  virtual PassRoom room() const = 0;
  // Returns once all texts have been computed or let go. Throws Error where it cannot go on.
  virtual void run(std::span<const PassText> texts, PassWatch& watch) = 0;
  // Says after a run that threw whether nothing reads or writes pages any more once the runner is
  // destroyed. False: the pages of its texts must never be used again.
  virtual bool ended() const = 0;
  // Both tell of the model: the layers that stay where passes run, and the most bytes of the others
  // that are there or on their way.
  virtual uint32_t kept_layers() const { return 0; }
  virtual uint64_t bytes_in_flight() const { return 0; }
  // Returns the bytes that all runs so far have asked to be copied, both ways.
  virtual uint64_t copied_bytes() const { return 0; }
};

}  // namespace hearth
