// Fetches one file of a hub into the cache, by several connections, each a piece at a time, and
// puts it there once the digest of every byte is right. The caller holds the file's lock.
//
// Pieces that an earlier process left are kept (store/safe_pieces.h), and the prefix that another
// program left in HASH.incomplete is taken over. Where the digest is wrong, the pieces that the
// disk no longer holds as they came, and those of the other program, are fetched once more, and a
// file whose pieces are all as they came is thrown away with an error.
//
// Errors: (kFile) a wrong digest or size, a disk that cannot be written; and those of store/hub.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "store/cache_repo.h"
#include "store/file_digest.h"
#include "store/hub.h"

namespace hearth {

struct FetchOptions {
  HubOptions hub;
  uint32_t connections = 4;
  uint64_t piece = uint64_t{64} << 20;
};

struct BlobToFetch {
  std::string url, path;  // the path in the repository, for people
  std::string blob;       // where it goes
  uint64_t size = 0;
  DigestKind kind = DigestKind::kSha256;
  std::string digest;
};

// Told from the calling thread, several times a second, how many bytes are there.
using FetchProgress = std::function<void(uint64_t done)>;

// Returns false where `stop` was set before the end; what came is kept.
bool fetch_blob(const StorePlaces& places, const HubName& name, const BlobToFetch& blob,
                const FetchOptions& options, const std::atomic<bool>& stop,
                const FetchProgress& progress);

// Removes the record of a fetch under way, which a process leaves behind that ended just before its
// last step.
void drop_record(const BlobToFetch& blob);

// Bytes of the blob that are there already, from an earlier try of ours or of others.
uint64_t fetched_bytes(const BlobToFetch& blob);
// Bytes of the disk that it still takes.
uint64_t missing_bytes(const BlobToFetch& blob);

}  // namespace hearth
