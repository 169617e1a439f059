// The fastest of a problem's estimates on this GPU, found by running them.
#pragma once

#include <functional>
#include <optional>

#include "tests/gpu_bench/layer_run.hpp"
#include "tests/gpu_bench/promising.hpp"

namespace znni::gpu_bench {

// How a net computes: strict float32 planar; the same with products of transforms in TF32; TF32 or bf16 channels last.
enum class Mode { f32, fft_tf32, tf32, bf16 };
[[nodiscard]] std::optional<Mode> mode_of(std::string_view name);
[[nodiscard]] Format format_of(Mode mode);
// Returns true if an estimate belongs to a mode. A net's first layer may read planar float32 in any mode.
[[nodiscard]] bool belongs(const Estimate& estimate, Mode mode, bool first);

using Filter = std::function<bool(const Primitive&, const Estimate&)>;

// Times, in the order of most_promising(), at most `most` estimates that `filter` takes and that fit into
// `block`: once warm, and repeatedly those that are short and come near the best so far. `tell` sees every one,
// failures (in words) too.
[[nodiscard]] Result<Candidate> fastest(const LayerProblem& problem, const LayerWeights& weights, const Filter& filter,
                                        std::size_t most, const Reservation& block, cuda::CudaDevice& device,
                                        const std::function<void(const Candidate&, std::string_view failure)>& tell);

}  // namespace znni::gpu_bench
