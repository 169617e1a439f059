// Memory for the output slabs of one job that are open at the same time: usually one, a few where patches
// computed together belong to several rows. Blocks are used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/jobs/model_server.hpp"
#include "server/rpc/bytes.hpp"

namespace znni::rpc {

class SlabBlocks {
 public:
  // Blocks are leased from `server`, which must outlive this.
  explicit SlabBlocks(ModelServer& server) : server_(server) {}

  // A block of at least `bytes` bytes, free for take(): so that the usual need is refused before any work.
  [[nodiscard]] Result<void> reserve(std::int64_t bytes);
  [[nodiscard]] Result<std::byte*> take(std::int64_t bytes);
  // `data` came from take().
  void give_back(const std::byte* data);
  // Frees all; none may be in use.
  void clear() { blocks_.clear(); }

 private:
  struct Block {
    TransportLease lease;
    Bytes bytes;
    bool taken = false;
  };
  ModelServer& server_;
  std::vector<Block> blocks_;
};

}  // namespace znni::rpc
