#include "primitives/cuda/fft/fft_products.hpp"

#include <complex>
#include <cstring>

#include "tests/primitives/cuda/require_gpu.hpp"
#include "tests/primitives/gpu/products_check.hpp"
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

// A product with its spectra in the device's memory.
struct SplitRun {
  test::ProductCase of;
  test::Spectrum kernels;
  test::Spectrum inputs;
  Reservation memory;
  SpectraProduct product;

  [[nodiscard]] double error(CudaDevice& device) const {
    test::Spectrum outputs(static_cast<std::size_t>(of.frequencies * of.tiles * of.f_out));
    EXPECT_TRUE(
        device.read(std::as_writable_bytes(std::span(outputs)), reinterpret_cast<const std::byte*>(product.outputs)));
    return test::product_error(of, kernels, inputs, outputs);
  }
};

SplitRun make_run(const test::ProductCase& of, CudaDevice& device) {
  test::Random random(static_cast<std::uint64_t>(of.f));
  SplitRun run{of,
               test::random_spectrum(of.frequencies * of.f_out * of.f, random),
               test::random_spectrum(of.frequencies * of.tiles * of.f, random),
               {},
               {of.f, of.f_out, of.tiles, of.frequencies}};
  Result<Reservation> memory = device.reserve(MemorySpace::device, 3 << 20, "spectra");
  EXPECT_TRUE(memory);
  run.memory = std::move(*memory);
  std::byte* const base = run.memory.data();
  EXPECT_TRUE(device.write(base, std::as_bytes(std::span(run.kernels))));
  EXPECT_TRUE(device.write(base + (1 << 20), std::as_bytes(std::span(run.inputs))));
  run.product.kernels = reinterpret_cast<const float2*>(base);
  run.product.inputs = reinterpret_cast<const float2*>(base + (1 << 20));
  run.product.outputs = reinterpret_cast<float2*>(base + (2 << 20));
  return run;
}

TEST_F(FftProductsOnGpu, OfSplitNumbersKeepTheBoundOfFloat32AndThoseOfTf32DoNot) {
  const Result<cublasHandle_t> blas = device_->blas();
  Result<Reservation> area = device_->reserve(MemorySpace::device, 32 << 20, "workspace");
  ASSERT_TRUE(blas && area);
  const cudaStream_t stream = device_->stream(Stream::compute);
  ASSERT_TRUE(lend_workspace(*blas, stream, {area->data(), static_cast<std::size_t>(area->bytes())}));
  for (const test::ProductCase& of : {test::ProductCase{80, 80, 70, 2}, {3, 5, 1, 40}, {130, 20, 33, 2}}) {
    const SplitRun run = make_run(of, *device_);
    ASSERT_EQ(launch_products(run.product, stream), cudaSuccess);
    EXPECT_LE(run.error(*device_), test::product_bound(of.f)) << of.f;
    ASSERT_TRUE(multiply_spectra(*blas, run.product, true));
    EXPECT_GT(run.error(*device_), test::product_bound(of.f)) << of.f;
  }
}

}  // namespace
}  // namespace znni::cuda
