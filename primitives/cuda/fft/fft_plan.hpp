// A batch of real 3D transforms by cuFFT, in a work area that the caller gives: nothing is allocated.
#pragma once

#include <cufft.h>

#include "primitives/core/result.hpp"
#include "primitives/gpu/kernel_types.hpp"

namespace znni::cuda {

enum class FftDirection { forward, inverse };  // real to complex; complex to real, unscaled

class FftPlan {
 public:
  FftPlan() = default;
  FftPlan(FftPlan&& other) noexcept { swap(other); }
  FftPlan& operator=(FftPlan&& other) noexcept {
    FftPlan(std::move(other)).swap(*this);
    return *this;
  }
  ~FftPlan();

  // Plans `batch` dense transforms of extent `n` at once. Needs a device.
  [[nodiscard]] static Result<FftPlan> make(FftDirection direction, Extent n, Index batch, cudaStream_t stream);

  [[nodiscard]] std::int64_t area_bytes() const { return area_bytes_; }
  // Transform out of place. `area`: area_bytes() bytes of device memory. An inverse transform spoils its input.
  [[nodiscard]] Result<void> run(const float* real, float2* complex, std::byte* area) const;
  [[nodiscard]] Result<void> run(float2* complex, float* real, std::byte* area) const;

 private:
  void swap(FftPlan& other) noexcept {
    std::swap(plan_, other.plan_);
    std::swap(made_, other.made_);
    std::swap(area_bytes_, other.area_bytes_);
  }
  cufftHandle plan_ = 0;
  bool made_ = false;
  std::int64_t area_bytes_ = 0;
};

}  // namespace znni::cuda
