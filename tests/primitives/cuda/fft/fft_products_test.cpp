#include "primitives/cuda/fft/fft_products.hpp"

#include <complex>

#include "tests/primitives/cuda/require_gpu.hpp"
#include "tests/support/random.hpp"

namespace znni::cuda {
namespace {

TEST(FftProducts, WithoutAHandleTheFailureNamesTheCall) {
  const Result<void> done = multiply_spectra(nullptr, {1, 1, 1, 1, nullptr, nullptr, nullptr}, false);
  ASSERT_FALSE(done.has_value());
  EXPECT_NE(done.error().message.find("cublasGemmStridedBatchedEx_64"), std::string::npos);
}

class FftProductsOnGpu : public OnGpu {};

TEST_F(FftProductsOnGpu, MultipliesByConjugatedKernels) {
  constexpr std::int64_t f = 5;
  constexpr std::int64_t f_out = 3;
  constexpr std::int64_t tiles = 4;
  constexpr std::int64_t frequencies = 7;
  test::Random random(1);
  const std::vector<float> kernels = random.normals(2 * frequencies * f * f_out);
  const std::vector<float> inputs = random.normals(2 * frequencies * f * tiles);
  Result<Reservation> memory = device_->reserve(MemorySpace::device, 1 << 20, "spectra");
  Result<Reservation> area = device_->reserve(MemorySpace::device, 32 << 20, "workspace");
  ASSERT_TRUE(memory && area);
  std::byte* const base = memory->data();
  ASSERT_TRUE(device_->write(base, std::as_bytes(std::span(kernels))));
  ASSERT_TRUE(device_->write(base + (1 << 18), std::as_bytes(std::span(inputs))));
  const Result<cublasHandle_t> blas = device_->blas();
  ASSERT_TRUE(blas.has_value());
  ASSERT_TRUE(
      lend_workspace(*blas, device_->stream(Stream::compute), {area->data(), static_cast<std::size_t>(area->bytes())}));
  auto* const outputs = reinterpret_cast<float2*>(base + (1 << 19));
  ASSERT_TRUE(multiply_spectra(*blas,
                               {f, f_out, tiles, frequencies, reinterpret_cast<const float2*>(base),
                                reinterpret_cast<const float2*>(base + (1 << 18)), outputs},
                               false));
  std::vector<float> found(2 * frequencies * tiles * f_out);
  ASSERT_TRUE(device_->read(std::as_writable_bytes(std::span(found)), base + (1 << 19)));
  const auto at = [](const std::vector<float>& values, std::int64_t i) {
    return std::complex<double>(values[static_cast<std::size_t>(2 * i)], values[static_cast<std::size_t>(2 * i + 1)]);
  };
  for (std::int64_t q = 0; q < frequencies; ++q) {
    for (std::int64_t t = 0; t < tiles; ++t) {
      for (std::int64_t j = 0; j < f_out; ++j) {
        std::complex<double> sum = 0.0;
        for (std::int64_t i = 0; i < f; ++i) {
          sum += std::conj(at(kernels, (q * f_out + j) * f + i)) * at(inputs, (q * tiles + t) * f + i);
        }
        EXPECT_NEAR(std::abs(at(found, (q * tiles + t) * f_out + j) - sum), 0.0, 1e-4);
      }
    }
  }
}

}  // namespace
}  // namespace znni::cuda
