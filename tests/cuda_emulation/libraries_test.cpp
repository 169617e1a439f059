// Calls that the emulation's runtime and libraries refuse, as strictly as CUDA's or more: each stands for a fault of
// the back end.
#include <cublas_v2.h>
#include <cufft.h>
#include <gmock/gmock.h>

#include <array>
#include <csignal>

#include "primitives/cuda/backend.hpp"
#include "primitives/cuda/device/gpu_properties.hpp"
#include "primitives/cuda/fft/fft_products.hpp"
#include "tests/cuda_emulation/device_array.hpp"

namespace znni::cuda_emulation {
namespace {

TEST(EmulatedMemory, IsClosedToTheHost) {
  const DeviceArray<int> array(std::vector<int>{1, 2, 3});
  volatile int* const at = array.data();
  EXPECT_EXIT(*at = 4, testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EQ(array.values(), (std::vector<int>{1, 2, 3}));
}

TEST(EmulatedMemory, CopiesGoWhereTheirKindSays) {
  const DeviceArray<int> array(2);
  std::array<int, 2> host{};
  const std::size_t bytes = sizeof(host);
  EXPECT_EQ(cudaMemcpy(host.data(), array.data(), bytes, cudaMemcpyHostToDevice), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpy(host.data(), host.data(), bytes, cudaMemcpyDeviceToHost), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpy(array.data(), host.data(), bytes + 1, cudaMemcpyHostToDevice), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpy2DAsync(array.data(), 4, host.data(), 4, 5, 1, cudaMemcpyHostToDevice, nullptr),
            cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaMemsetAsync(host.data(), 0, bytes, nullptr), cudaErrorInvalidValue);
  static_cast<void>(cudaGetLastError());
}

// One product of one by one: conj(2 + i) (3 - i).
class EmulatedBlas : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(cublasCreate(&blas_), CUBLAS_STATUS_SUCCESS); }
  void TearDown() override { EXPECT_EQ(cublasDestroy(blas_), CUBLAS_STATUS_SUCCESS); }

  [[nodiscard]] Result<void> multiply(const DeviceArray<float2>& to) const {
    const DeviceArray<float2> a(std::vector<float2>{{2, 1}});
    const DeviceArray<float2> b(std::vector<float2>{{3, -1}});
    return cuda::multiply_spectra(blas_, {1, 1, 1, 1, a.data(), b.data(), to.data()}, false);
  }
  [[nodiscard]] Result<void> lend(const DeviceArray<std::byte>& area) const {
    return cuda::lend_workspace(blas_, nullptr, {area.data(), 512});
  }
  cublasHandle_t blas_ = nullptr;
};

TEST_F(EmulatedBlas, TakesNoMemoryOfItsOwn) {
  const DeviceArray<float2> out(1);
  const DeviceArray<std::byte> area(512);
  EXPECT_EQ(multiply(out).error().code, ErrorCode::over_budget) << "nothing was lent";
  ASSERT_TRUE(lend(area));
  ASSERT_EQ(cublasSetStream(blas_, nullptr), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(multiply(out).error().code, ErrorCode::over_budget) << "the stream took it away";
  EXPECT_EQ(cublasSetWorkspace(blas_, area.data() + 64, 64), CUBLAS_STATUS_INVALID_VALUE) << "not aligned";
}

TEST_F(EmulatedBlas, WritesToItsWorkspace) {
  const DeviceArray<float2> out(1);
  const DeviceArray<std::byte> area(512);
  ASSERT_TRUE(lend(area));
  ASSERT_TRUE(multiply(out));
  EXPECT_EQ(out.values()[0].x, 5.0F);
  EXPECT_EQ(out.values()[0].y, -5.0F);
  EXPECT_EQ(area.values(), std::vector<std::byte>(512, std::byte{0xff}));
}

TEST(EmulatedFft, NeedsAnAreaAndWritesToIt) {
  cufftHandle plan = 0;
  std::array<long long, 3> extents = {4, 4, 4};
  std::size_t bytes = 0;
  ASSERT_EQ(cufftCreate(&plan), CUFFT_SUCCESS);
  ASSERT_EQ(cufftMakePlanMany64(plan, 3, extents.data(), nullptr, 1, 0, nullptr, 1, 0, CUFFT_R2C, 1, &bytes),
            CUFFT_SUCCESS);
  const DeviceArray<float> in(std::vector<float>(64, 1.0F));
  const DeviceArray<cufftComplex> out(48);
  EXPECT_EQ(cufftExecR2C(plan, in.data(), out.data()), CUFFT_INVALID_VALUE);
  const DeviceArray<std::byte> area(bytes);
  ASSERT_EQ(cufftSetWorkArea(plan, area.data()), CUFFT_SUCCESS);
  EXPECT_EQ(cufftExecC2R(plan, out.data(), in.data()), CUFFT_INVALID_TYPE);
  EXPECT_EQ(cufftExecR2C(plan, in.data(), out.data()), CUFFT_SUCCESS);
  EXPECT_EQ(out.values()[0].x, 64.0F);
  EXPECT_EQ(area.values(), std::vector<std::byte>(bytes, std::byte{0xff}));
  EXPECT_EQ(cufftDestroy(plan), CUFFT_SUCCESS);
}

// cuDNN alone takes no part in what runs here.
TEST(EmulatedCudnn, TakesNothing) {
  const ConvProblem conv{{1, 2, {8, 8, 8}}, 2, Vec3::cube(3), {1, 1, 1}, {1, 1, 1}, {}, false};
  const DeviceSpec spec = cuda::spec_of(cuda::read_gpus().front());
  for (const Primitive* primitive : cuda::registry()) {
    if (primitive->name != "cuda.conv.cudnn") continue;
    EXPECT_THAT(primitive->describe(conv, spec).error().message, testing::HasSubstr("cuDNN is of version 0"));
    return;
  }
  FAIL() << "the back end has no cuda.conv.cudnn";
}

}  // namespace
}  // namespace znni::cuda_emulation
