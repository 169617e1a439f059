#include "primitives/cuda/fft/fft_plan.hpp"

#include <array>
#include <string>

#include "primitives/cuda/device/status.hpp"

namespace znni::cuda {

FftPlan::~FftPlan() {
  if (made_) static_cast<void>(cufftDestroy(plan_));
}

Result<FftPlan> FftPlan::make(FftDirection direction, Extent n, Index batch, cudaStream_t stream) {
  const std::string what = "cuFFT plan of " + std::to_string(batch) + " x " + std::to_string(n.z) + "x" +
                           std::to_string(n.y) + "x" + std::to_string(n.x);
  FftPlan plan;
  if (Result<void> made = check(cufftCreate(&plan.plan_), what); !made) return made.error();
  plan.made_ = true;
  std::array<long long, 3> extents = {n.z, n.y, n.x};
  std::size_t bytes = 0;
  const cufftType type = direction == FftDirection::forward ? CUFFT_R2C : CUFFT_C2R;
  if (Result<void> none = check(cufftSetAutoAllocation(plan.plan_, 0), what); !none) return none.error();
  // Without embedding extents: dense, one transform behind the other.
  if (Result<void> laid = check(
          cufftMakePlanMany64(plan.plan_, 3, extents.data(), nullptr, 1, 0, nullptr, 1, 0, type, batch, &bytes), what);
      !laid) {
    return laid.error();
  }
  if (Result<void> bound = check(cufftSetStream(plan.plan_, stream), what); !bound) return bound.error();
  plan.area_bytes_ = static_cast<std::int64_t>(bytes);
  return plan;
}

Result<void> FftPlan::run(const float* real, float2* complex, std::byte* area) const {
  if (Result<void> given = check(cufftSetWorkArea(plan_, area), "cufftSetWorkArea"); !given) return given;
  return check(cufftExecR2C(plan_, const_cast<float*>(real), complex), "cufftExecR2C");
}

Result<void> FftPlan::run(float2* complex, float* real, std::byte* area) const {
  if (Result<void> given = check(cufftSetWorkArea(plan_, area), "cufftSetWorkArea"); !given) return given;
  return check(cufftExecC2R(plan_, complex, real), "cufftExecC2R");
}

}  // namespace znni::cuda
