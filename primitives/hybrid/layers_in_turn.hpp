// Layers that run one after the other on a GPU's compute stream within another layer and share its scratch memory.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "primitives/core/primitive.hpp"

namespace znni::hybrid {

// Returns the scratch buffers of an estimate: all except tensors and persistent buffers.
[[nodiscard]] MemoryPlan scratch_of(const Estimate& estimate);
// Returns the device memory of that scratch.
[[nodiscard]] std::int64_t scratch_bytes(const Estimate& estimate);

class LayersInTurn {
 public:
  // Fills the granted buffers with `poison`, as Arena does.
  explicit LayersInTurn(Arena::Poison poison = {}) : poison_(std::move(poison)) {}

  // Adds a layer; layers are numbered 0, 1, ... in this order.
  void add(std::unique_ptr<PreparedLayer> layer, const Estimate& estimate);
  // Returns the scratch bytes of the largest layer.
  [[nodiscard]] std::int64_t bytes() const;
  // Sets the address of the shared scratch; nullptr if no layer has any.
  void place(std::byte* scratch);
  Result<void> run(std::size_t number, std::span<const TensorView> inputs, const TensorView& out);

 private:
  struct Layer {
    std::unique_ptr<PreparedLayer> layer;
    MemoryPlan scratch;
    Packing packing;
  };

  Arena::Poison poison_;
  std::vector<Layer> layers_;
  std::byte* placed_at_ = nullptr;
  std::vector<Arena> arenas_;  // per layer, once placed
};

}  // namespace znni::hybrid
