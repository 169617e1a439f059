// The engines of cuDNN that compute a graph, the memory that each takes, and plans of one of them. Plans for a
// described device say the same as those of the real one, but cannot run.
#pragma once

#include <span>
#include <vector>

#include "primitives/core/precision.hpp"
#include "primitives/cuda/conv/cudnn_convolution.hpp"

namespace znni::cuda {

// One engine as it is set up, and what it takes.
struct EngineChoice {
  std::int64_t engine = 0;                                   // cuDNN's global index
  std::vector<std::pair<std::int64_t, std::int64_t>> knobs;  // type and value
  std::int64_t workspace_bytes = 0;
  bool matrix_units = false;

  bool operator==(const EngineChoice&) const = default;
};

// Convert a choice to the settings "engine", "knob 2", ... of a variant, and back.
[[nodiscard]] Variant to_variant(const EngineChoice& choice);
[[nodiscard]] EngineChoice from_variant(const Variant& variant);

// Returns true if an engine with these notes of the library is taken. It rounds no more than `precision` allows, does
// not transform, and gives the same results in every run. It is not code that has to be generated first.
[[nodiscard]] bool is_acceptable(std::span<const cudnnBackendNumericalNote_t> numerical,
                                 std::span<const cudnnBackendBehaviorNote_t> behaviour, Precision precision);

// Returns the engines that take `graph` on `device`. The library's own favourites come first, each engine as it is
// ranked first, then their other settings, then those that only asking by index finds. All are acceptable. At most
// `most`.
[[nodiscard]] std::vector<EngineChoice> offered_engines(const CudnnGraph& graph, const CudnnDescriptor& device,
                                                        Precision precision, std::size_t most);

// A finalised plan and the descriptors that it is made of, which live as long: the library does not say that it is done
// with them.
struct CudnnPlan {
  std::vector<CudnnDescriptor> parts;
  CudnnDescriptor plan;
};
// Makes a plan that runs, of a graph made with `handle`; asks for `choice` as it is. Refuses an engine that rounds more
// than `precision` allows: in another release of the library its number may mean another.
[[nodiscard]] Result<CudnnPlan> make_plan(const CudnnGraph& graph, const EngineChoice& choice, Precision precision,
                                          cudnnHandle_t handle);
[[nodiscard]] Result<std::int64_t> workspace_of(const CudnnDescriptor& plan);

}  // namespace znni::cuda
