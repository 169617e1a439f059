#include "primitives/hybrid/layers_in_turn.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace znni::hybrid {
namespace {

bool is_scratch(const Buffer& buffer) {
  return !buffer.lifetime.persistent && buffer.name != output_name && buffer.name != input_name(0) &&
         buffer.name != input_name(1);
}

}  // namespace

MemoryPlan scratch_of(const Estimate& estimate) {
  MemoryPlan scratch;
  std::copy_if(estimate.memory.begin(), estimate.memory.end(), std::back_inserter(scratch), is_scratch);
  return scratch;
}

std::int64_t scratch_bytes(const Estimate& estimate) { return pack(scratch_of(estimate), MemorySpace::device).bytes; }

void LayersInTurn::add(std::unique_ptr<PreparedLayer> layer, const Estimate& estimate) {
  MemoryPlan scratch = scratch_of(estimate);
  Packing packing = pack(scratch, MemorySpace::device);
  layers_.push_back({std::move(layer), std::move(scratch), std::move(packing)});
}

std::int64_t LayersInTurn::bytes() const {
  std::int64_t most = 0;
  for (const Layer& layer : layers_) most = std::max(most, layer.packing.bytes);
  return most;
}

void LayersInTurn::place(std::byte* scratch) {
  if (!arenas_.empty() && placed_at_ == scratch) return;
  arenas_.clear();
  placed_at_ = scratch;
  for (const Layer& layer : layers_) {
    std::vector<Placement> placements;
    for (std::size_t i = 0; i < layer.scratch.size(); ++i) {
      placements.push_back({layer.scratch[i], scratch + layer.packing.offsets[i]});
    }
    arenas_.emplace_back(std::move(placements));
    if (poison_) arenas_.back().poison_with(poison_);
  }
}

Result<void> LayersInTurn::run(std::size_t number, std::span<const TensorView> inputs, const TensorView& out) {
  arenas_[number].begin();
  return layers_[number].layer->run(inputs, out, arenas_[number]);
}

}  // namespace znni::hybrid
