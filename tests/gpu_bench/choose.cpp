#include "tests/gpu_bench/choose.hpp"

#include <algorithm>

#include "primitives/cuda/backend.hpp"
#include "primitives/gpu/estimates.hpp"
#include "tests/gpu_bench/promising.hpp"
#include "tests/gpu_bench/timing.hpp"

namespace znni::gpu_bench {
namespace {

// Seconds: what a first run may take to bring its kernels to the GPU; of a run that need not be repeated.
constexpr double loading = 0.5;
constexpr double long_run = 0.2;

Result<double> time_of(const Candidate& candidate, const LayerProblem& problem, const LayerWeights& weights,
                       const Reservation& block, cuda::CudaDevice& device, double best) {
  Result<LayerRun> run =
      LayerRun::make(*candidate.primitive, problem, candidate.estimate, weights, block.data(), device);
  if (!run) return run.error();
  const auto timed = [&](int repetitions) {
    return median_seconds(
        device, [&] { return run->run(); }, repetitions, 0);
  };
  const Result<double> cold = timed(1);
  if (!cold || *cold > 4.0 * best + loading) return cold;
  const Result<double> warm = timed(1);
  if (!warm || *warm > 1.5 * best || *warm > long_run) return warm;
  return timed(5);
}

}  // namespace

std::optional<Mode> mode_of(std::string_view name) {
  if (name == "f32") return Mode::f32;
  if (name == "fft_tf32") return Mode::fft_tf32;
  if (name == "tf32") return Mode::tf32;
  if (name == "bf16") return Mode::bf16;
  return std::nullopt;
}

Format format_of(Mode mode) { return mode == Mode::bf16 ? last_bf16 : mode == Mode::tf32 ? last_f32 : planar_f32; }

bool belongs(const Estimate& estimate, Mode mode, bool first) {
  const bool rounded = setting(estimate.variant, "tf32", 0) == 1;
  const bool reads = estimate.in == format_of(mode) || (first && estimate.in == planar_f32);
  return reads && estimate.out == format_of(mode) && (mode != Mode::f32 || !rounded);
}

Result<Candidate> fastest(const LayerProblem& problem, const LayerWeights& weights, const Filter& filter,
                          std::size_t most, const Reservation& block, cuda::CudaDevice& device,
                          const std::function<void(const Candidate&, std::string_view)>& tell) {
  std::vector<Candidate> candidates;
  std::string refused;
  for (const Primitive* primitive : cuda::registry()) {
    const Result<std::vector<Estimate>> estimates = primitive->describe(problem, device.spec());
    if (!estimates) refused = estimates.error().message;
    if (!estimates) continue;
    for (const Estimate& estimate : *estimates) {
      if (!filter(*primitive, estimate) || LayerRun::packed_bytes(estimate) > block.bytes()) continue;
      candidates.push_back({primitive, estimate, 0});
    }
  }
  candidates = most_promising(std::move(candidates), most);
  Candidate best{nullptr, {}, 1e30};
  for (Candidate& candidate : candidates) {
    const Result<double> seconds = time_of(candidate, problem, weights, block, device, best.seconds);
    if (seconds) candidate.seconds = *seconds;
    tell(candidate, seconds ? "" : seconds.error().message);
    if (seconds && *seconds < best.seconds) best = candidate;
  }
  if (best.primitive != nullptr) return best;
  return Error{ErrorCode::unsupported, "nothing computes " + to_string(problem) + " within " +
                                           bytes_text(block.bytes()) + (refused.empty() ? "" : "; " + refused)};
}

}  // namespace znni::gpu_bench
