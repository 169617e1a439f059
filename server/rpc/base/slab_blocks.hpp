// Memory for the output slabs of one call that are open at the same time. Usually it is one; it is a few if patches
// computed together belong to several rows or jobs, or if the client is slow. Blocks are used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "server/jobs/model_server.hpp"
#include "server/rpc/base/bytes.hpp"

namespace znni::rpc {

// Thread safe: slabs are taken by the thread that computes and given back by the one that sends.
class SlabBlocks {
 public:
  // Blocks are leased from `server`, which must outlive this.
  explicit SlabBlocks(ModelServer& server) : server_(server) {}

  // Reserves `count` blocks of at least `bytes` bytes, free for take(), or none of them, so that the usual need is
  // refused before any work.
  [[nodiscard]] Result<void> reserve(std::int64_t bytes, std::int64_t count);
  [[nodiscard]] Result<std::byte*> take(std::int64_t bytes);
  // Gives back the block at `data`, which came from take().
  void give_back(const std::byte* data);
  // Frees all; none may be in use.
  void clear();

 private:
  struct Block {
    TransportLease lease;
    Bytes bytes;
    bool taken = false;
  };
  [[nodiscard]] Result<void> add(std::int64_t bytes);

  ModelServer& server_;
  std::mutex mutex_;  // guards blocks_
  std::vector<Block> blocks_;
};

}  // namespace znni::rpc
