// Layers that run one after the other on a GPU's compute stream within another layer: they share its scratch memory.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "primitives/core/primitive.hpp"

namespace znni::hybrid {

// The scratch of an estimate: what is neither a tensor nor persistent.
[[nodiscard]] MemoryPlan scratch_of(const Estimate& estimate);
// The device memory that it takes.
[[nodiscard]] std::int64_t scratch_bytes(const Estimate& estimate);

class LayersInTurn {
 public:
  // `poison` fills what they are granted, as in Arena.
  explicit LayersInTurn(Arena::Poison poison = {}) : poison_(std::move(poison)) {}

  // Number 0, 1, ... in the order in which they are added.
  void add(std::unique_ptr<PreparedLayer> layer, const Estimate& estimate);
  // Of the layer that takes most.
  [[nodiscard]] std::int64_t bytes() const;
  // Where the scratch of all of them lies from now on; nullptr where none has any.
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
