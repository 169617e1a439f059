// cuFFT over FFTW: batches of dense real 3D transforms out of place, with a work area that the caller lends.
#include <cufft.h>
#include <fftw3.h>

#include <cstring>
#include <map>

#include "tests/cuda_emulation/device_memory.hpp"

namespace znni::cuda_emulation {
namespace {

struct Plan {
  int extents[3] = {0, 0, 0};
  long long batch = 0;
  cufftType type = CUFFT_R2C;
  void* area = nullptr;  // lent
  fftwf_plan of_one = nullptr;

  [[nodiscard]] std::size_t voxels() const { return static_cast<std::size_t>(extents[0]) * rows() * columns(); }
  [[nodiscard]] std::size_t frequencies() const {
    return static_cast<std::size_t>(extents[0]) * rows() * (columns() / 2 + 1);
  }
  // Returns the assumed area: cuFFT takes at most as much as a copy of its spectra.
  [[nodiscard]] std::size_t area_bytes() const {
    return frequencies() * static_cast<std::size_t>(batch) * sizeof(cufftComplex);
  }

 private:
  [[nodiscard]] std::size_t rows() const { return static_cast<std::size_t>(extents[1]); }
  [[nodiscard]] std::size_t columns() const { return static_cast<std::size_t>(extents[2]); }
};

std::map<cufftHandle, Plan>& plans() {
  static std::map<cufftHandle, Plan> all;
  return all;
}

Plan* find(cufftHandle handle) {
  const auto found = plans().find(handle);
  return found == plans().end() ? nullptr : &found->second;
}

// Checks what a transform needs: its plan, its area, and both tensors in device memory.
cufftResult check(const Plan* plan, cufftType type, const float* real, const cufftComplex* complex) {
  if (plan == nullptr || plan->batch == 0) return CUFFT_INVALID_PLAN;
  if (plan->type != type) return CUFFT_INVALID_TYPE;
  const auto batch = static_cast<std::size_t>(plan->batch);
  const DeviceMemory& memory = device_memory();
  if (!memory.holds(real, plan->voxels() * batch * sizeof(float))) return CUFFT_INVALID_VALUE;
  if (!memory.holds(complex, plan->frequencies() * batch * sizeof(cufftComplex))) return CUFFT_INVALID_VALUE;
  return memory.holds(plan->area, plan->area_bytes()) ? CUFFT_SUCCESS : CUFFT_INVALID_VALUE;
}

// Fills the area with NaNs: it has no use here, but cuFFT would leave something there.
void spoil(void* block, std::size_t bytes) { std::memset(block, 0xff, bytes); }

}  // namespace
}  // namespace znni::cuda_emulation

namespace emulation = znni::cuda_emulation;

cufftResult cufftCreate(cufftHandle* handle) {
  static cufftHandle last = 0;
  *handle = ++last;
  emulation::plans()[last] = {};
  return CUFFT_SUCCESS;
}

cufftResult cufftDestroy(cufftHandle handle) {
  const emulation::Plan* const plan = emulation::find(handle);
  if (plan == nullptr) return CUFFT_INVALID_PLAN;
  if (plan->of_one != nullptr) fftwf_destroy_plan(plan->of_one);
  emulation::plans().erase(handle);
  return CUFFT_SUCCESS;
}

cufftResult cufftSetAutoAllocation(cufftHandle, int automatic) {
  return automatic == 0 ? CUFFT_SUCCESS : CUFFT_INVALID_VALUE;
}

cufftResult cufftSetStream(cufftHandle, cudaStream_t) { return CUFFT_SUCCESS; }

cufftResult cufftSetWorkArea(cufftHandle handle, void* area) {
  emulation::Plan* const plan = emulation::find(handle);
  if (plan == nullptr) return CUFFT_INVALID_PLAN;
  plan->area = area;
  return CUFFT_SUCCESS;
}

cufftResult cufftMakePlanMany64(cufftHandle handle, int rank, long long* extents, long long* in_extents, long long,
                                long long, long long* out_extents, long long, long long, cufftType type,
                                long long batch, std::size_t* area_bytes) {
  emulation::Plan* const plan = emulation::find(handle);
  if (plan == nullptr) return CUFFT_INVALID_PLAN;
  if (rank != 3 || in_extents != nullptr || out_extents != nullptr || batch < 1) return CUFFT_INVALID_VALUE;
  for (int axis = 0; axis < 3; ++axis) plan->extents[axis] = static_cast<int>(extents[axis]);
  plan->batch = batch;
  plan->type = type;
  *area_bytes = plan->area_bytes();
  return CUFFT_SUCCESS;
}

cufftResult cufftExecR2C(cufftHandle handle, float* real, cufftComplex* complex) {
  emulation::Plan* const plan = emulation::find(handle);
  if (const cufftResult usable = emulation::check(plan, CUFFT_R2C, real, complex); usable != CUFFT_SUCCESS)
    return usable;
  const emulation::Access access;
  auto* const spectra = reinterpret_cast<fftwf_complex*>(complex);
  if (plan->of_one == nullptr) {
    plan->of_one =
        fftwf_plan_dft_r2c(3, plan->extents, real, spectra, FFTW_ESTIMATE | FFTW_UNALIGNED | FFTW_PRESERVE_INPUT);
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(plan->batch); ++i) {
    fftwf_execute_dft_r2c(plan->of_one, real + i * plan->voxels(), spectra + i * plan->frequencies());
  }
  emulation::spoil(plan->area, plan->area_bytes());
  return CUFFT_SUCCESS;
}

// Spoils its input, as cuFFT may.
cufftResult cufftExecC2R(cufftHandle handle, cufftComplex* complex, float* real) {
  emulation::Plan* const plan = emulation::find(handle);
  if (const cufftResult usable = emulation::check(plan, CUFFT_C2R, real, complex); usable != CUFFT_SUCCESS)
    return usable;
  const emulation::Access access;
  auto* const spectra = reinterpret_cast<fftwf_complex*>(complex);
  if (plan->of_one == nullptr) {
    plan->of_one = fftwf_plan_dft_c2r(3, plan->extents, spectra, real, FFTW_ESTIMATE | FFTW_UNALIGNED);
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(plan->batch); ++i) {
    fftwf_execute_dft_c2r(plan->of_one, spectra + i * plan->frequencies(), real + i * plan->voxels());
  }
  emulation::spoil(complex, plan->frequencies() * static_cast<std::size_t>(plan->batch) * sizeof(cufftComplex));
  emulation::spoil(plan->area, plan->area_bytes());
  return CUFFT_SUCCESS;
}
