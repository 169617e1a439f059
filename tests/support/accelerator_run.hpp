// Runs one layer on an accelerator as the engine does. The transient buffers of each space are packed in one block,
// persistent ones are filled at prepare, and the arena poisons the buffers that it grants. Tensors may lie in any
// space.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "primitives/core/accelerator.hpp"
#include "primitives/core/primitive.hpp"

namespace znni::test {

class AcceleratorRun {
 public:
  using Prepare = std::function<Result<std::unique_ptr<PreparedLayer>>(Arena& persistent)>;

  // Reserves the memory and prepares the layer. `poison` may be empty. Pinned and device memory come from
  // `accelerator`; host memory belongs to the run.
  [[nodiscard]] static Result<std::unique_ptr<AcceleratorRun>> make(const LayerProblem& problem,
                                                                    const Estimate& estimate, Accelerator& accelerator,
                                                                    const Prepare& prepare,
                                                                    const Arena::Poison& poison = {});

  // Runs the layer; may be called repeatedly. Inputs and result are dense planar.
  [[nodiscard]] Result<std::vector<float>> run(std::span<const std::vector<float>> inputs);

  // Returns whether the arena's high water equals the declared peak in every space.
  [[nodiscard]] bool held_what_was_declared() const;

 private:
  AcceleratorRun(const LayerProblem& problem, const Estimate& estimate, Accelerator& accelerator)
      : problem_(problem), estimate_(estimate), accelerator_(accelerator) {}
  Result<void> reserve();
  Result<std::byte*> block(MemorySpace space, std::int64_t bytes);
  [[nodiscard]] const Placement& placement(std::string_view name) const;
  [[nodiscard]] Result<void> put(const std::vector<float>& planar, const Shape5& shape, Format format, int input);

  LayerProblem problem_;
  Estimate estimate_;
  Accelerator& accelerator_;
  std::vector<Reservation> blocks_;
  std::vector<std::vector<std::byte>> host_blocks_;
  std::vector<Placement> placements_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<PreparedLayer> layer_;
};

// Returns whether all of an estimate's work is float32.
[[nodiscard]] bool is_strict(const Estimate& estimate);

// Runs random data from `seed` through every estimate of a primitive of this accelerator. Compares the result with the
// oracle within the tolerance of its precision. Also checks the declared memory, and that a second run gives the same
// bits. A refusal is a failure here.
void check_on_accelerator(const Primitive& primitive, const LayerProblem& problem, Accelerator& accelerator,
                          std::uint64_t seed, const Arena::Poison& poison = {});

}  // namespace znni::test
