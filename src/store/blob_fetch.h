// Fetches one file from a hub into the cache over several connections, each of which fetches one
// piece at a time, and moves it into place once the digest of all bytes is right. The caller holds
// the file's lock.
//
// Pieces that an earlier process fetched are kept (store/safe_pieces.h), and the prefix that
// another program left in HASH.incomplete is adopted. If the digest is wrong, the pieces whose
// bytes on the disk no longer match their sums, and the adopted ones, are fetched once more. If all
// pieces match, the file is deleted, with an error.
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
  std::string url, path;  // the path in the repository, for messages
  std::string blob;       // the cache's file that it becomes
  uint64_t size = 0;
  DigestKind kind = DigestKind::kSha256;
  std::string digest;
};

// Called by the calling thread several times a second with the number of bytes that are there.
using FetchProgress = std::function<void(uint64_t done)>;

// Fetches the file. Returns false where `stop` was set before the end; the bytes fetched are kept.
bool fetch_blob(const StorePlaces& places, const HubName& name, const BlobToFetch& blob,
                const FetchOptions& options, const std::atomic<bool>& stop,
                const FetchProgress& progress);

// Removes the record of safe pieces, which is left over if a process ended just before its last
// step.
void drop_record(const BlobToFetch& blob);

// Returns how many bytes of the file are there already, from an earlier try or another program.
uint64_t fetched_bytes(const BlobToFetch& blob);
// Returns how many bytes of disk space the rest of the file needs.
uint64_t missing_bytes(const BlobToFetch& blob);

}  // namespace hearth
