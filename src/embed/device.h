// EmbedDevice: something that turns texts into vectors: a pool of CPU cores, a server elsewhere
// that drives an accelerator, a simulation. Only the thread of a device's queue
// (embed/queue_manager.h) calls its functions, unless a function's comment says otherwise.
//
// The time that a device takes for a batch is a line (WindVE, Huang et al. 2025, equation 12): t =
// alpha C + beta for C queries of equal length together. Here C counts tokens, since lengths
// differ.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

// A text to embed, or a pair of texts to score. An endpoint is sent the text, or the ids if there
// is no text; a pool takes the ids.
struct EmbedQuery {
  std::string text = {};
  std::vector<int32_t> tokens = {};
  uint32_t second = 0;  // the first token of a pair's second text; 0: there is no second one
};

// Returns how many of a device's slot tokens a query takes, at least 1: one for each of its ids or,
// without ids, one for every 4 bytes of its text and two more.
uint64_t query_tokens(const EmbedQuery& query);

enum class DeviceKind : uint8_t { kAccelerator, kCpu };
std::string_view device_kind_name(DeviceKind kind);  // "accelerator", "cpu"

// The pooled and normalised vector of a text, [width]; for a pair of texts its one element is the
// score.
using EmbedVector = std::vector<float>;

class EmbedDevice {
 public:
  virtual ~EmbedDevice() = default;

  // Returns the name that users know; unique among the devices of a program.
  virtual const std::string& name() const = 0;
  virtual DeviceKind kind() const = 0;
  virtual uint32_t width() const = 0;
  // Returns whether a failure may mean that the device is gone for a while. false: the device is
  // part of the program, and goes on with its next batch after a failure.
  virtual bool remote() const { return false; }
  // Computes the vectors of a batch, which is not empty, in its order. Blocks until all vectors are
  // there.
  //
  // Errors: kRequest if a text is at fault, which any other device would refuse as well. Any other
  // error means that the device has failed, kBusy that it had too much to do.
  virtual std::vector<EmbedVector> run(std::span<const EmbedQuery* const> batch) = 0;
  // Gives up the batch under way; run() is not called again. May be called from any thread while
  // another is in run(), which then ends soon, with an error if it waits for a server.
  virtual void abandon() {}
};

}  // namespace hearth
