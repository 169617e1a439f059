// Collects the output slabs of one job into tensors [C][Z][Y][X] of a response.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/pipeline/engine.hpp"
#include "server/rpc/base/slab_blocks.hpp"
#include "server/volume/volume_view.hpp"

namespace znni::rpc {

// The engine writes straight into the tensor when it has one channel; slabs of several channels are written into
// blocks of their own and spread out when complete. For the thread that computes the job.
class ChannelOutput {
 public:
  // Writes the channels of an output. `shape`: the whole output of the job, channel_major. `channels`: the place of
  // each channel, the caller's, or nullptr for a channel that was not requested; a single channel always has one.
  ChannelOutput(const VolumeShape& shape, std::vector<std::byte*> channels, SlabBlocks& blocks);

  // Returns the bytes of a block for slabs of at most `planes` planes; 0 if none is needed.
  [[nodiscard]] static std::int64_t block_bytes(VolumeShape shape, std::int64_t planes);

  [[nodiscard]] Result<OutputSlab> slab(std::int64_t first_plane, std::int64_t planes);
  [[nodiscard]] Result<void> deliver(const OutputSlab& slab);
  // Gives up a slab that will not be delivered.
  void abandon(const OutputSlab& slab);
  // Returns whether every plane was delivered.
  [[nodiscard]] bool complete() const { return delivered_ == shape_.n.z; }

 private:
  VolumeShape shape_;
  std::vector<std::byte*> channels_;
  SlabBlocks& blocks_;
  std::int64_t delivered_ = 0;  // planes
};

}  // namespace znni::rpc
