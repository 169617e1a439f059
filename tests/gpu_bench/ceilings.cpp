#include "tests/gpu_bench/ceilings.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "primitives/cuda/device/status.hpp"
#include "primitives/cuda/kernels/products_kernel.hpp"
#include "tests/gpu_bench/lines.hpp"
#include "tests/gpu_bench/timing.hpp"

namespace znni::gpu_bench {
namespace {

using cuda::check;
using cuda::CudaDevice;

constexpr std::int64_t gibibyte = std::int64_t{1} << 30;

// Copies as convolutions in sub-layers copy their parts, a mebibyte at a time.
void stage(CudaDevice& device, const Reservation& pinned) {
  constexpr std::int64_t piece = std::int64_t{1} << 20;
  const std::vector<std::byte> plain(static_cast<std::size_t>(gibibyte), std::byte{1});
  double least = 1e30;
  for (int turn = 0; turn < 3; ++turn) {
    const auto start = std::chrono::steady_clock::now();
    device.executor().parallel_for(gibibyte / piece, [&](std::int64_t index, int) {
      std::memcpy(pinned.data() + index * piece, plain.data() + index * piece, static_cast<std::size_t>(piece));
    });
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  Line("copy")
      .text("what", "plain to pinned, by the host's threads")
      .number("threads", device.executor().workers())
      .number("GB_per_s", 1e-9 * gibibyte / least)
      .print();
}

using Copy = std::function<Result<void>(Stream)>;

// Copies up on the stream that is timed, and down beside it: the copy down begins with the other, which waits for it at
// its end.
Result<void> both_ways(CudaDevice& device, const Copy& up, const Copy& down, const Event& begun, const Event& other) {
  if (Result<void> done = device.record(Stream::compute, begun); !done) return done;
  if (Result<void> done = device.wait(Stream::download, begun); !done) return done;
  if (Result<void> done = up(Stream::compute); !done) return done;
  if (Result<void> done = down(Stream::download); !done) return done;
  if (Result<void> done = device.record(Stream::download, other); !done) return done;
  return device.wait(Stream::compute, other);
}

Result<void> copies(CudaDevice& device, const Reservation& memory) {
  Result<double> seconds = median_seconds(device, [&] {
    return device.copy(Stream::compute, memory.data(), memory.data() + 2 * gibibyte, {2 * gibibyte, 1, 0, 0});
  });
  if (!seconds) return seconds.error();
  Line("copy").text("what", "device to device, read + written").number("GB_per_s", 4e-9 * gibibyte / *seconds).print();
  const auto start = std::chrono::steady_clock::now();
  Result<Reservation> pinned = device.reserve(MemorySpace::pinned, 2 * gibibyte, "ceilings");
  if (!pinned) return pinned.error();
  const double pinning = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Line("copy").text("what", "pinning and zeroing").number("GB_per_s", 2e-9 * gibibyte / pinning).print();
  stage(device, *pinned);
  const CopyRows all{gibibyte, 1, 0, 0};
  const auto up = [&](Stream stream) { return device.upload(stream, memory.data(), pinned->data(), all); };
  const auto down = [&](Stream stream) {
    return device.download(stream, pinned->data() + gibibyte, memory.data() + gibibyte, all);
  };
  seconds = median_seconds(device, [&] { return up(Stream::compute); });
  if (!seconds) return seconds.error();
  Line("copy").text("what", "pinned to device").number("GB_per_s", 1e-9 * gibibyte / *seconds).print();
  seconds = median_seconds(device, [&] { return down(Stream::compute); });
  if (!seconds) return seconds.error();
  Line("copy").text("what", "device to pinned").number("GB_per_s", 1e-9 * gibibyte / *seconds).print();
  const Result<Event> begun = device.make_event();
  const Result<Event> other = device.make_event();
  if (!begun || !other) return (begun ? other : begun).error();
  seconds = median_seconds(device, [&] { return both_ways(device, up, down, *begun, *other); });
  if (!seconds) return seconds.error();
  Line("copy").text("what", "both ways at once, together").number("GB_per_s", 2e-9 * gibibyte / *seconds).print();
  return {};
}

struct Gemm {
  const char* what;
  cudaDataType type;
  cublasComputeType_t compute;
  std::int64_t m, n, k, batch;
};

Result<void> products(CudaDevice& device, const Reservation& memory) {
  const Result<cublasHandle_t> blas = device.blas();
  if (!blas) return blas.error();
  const float alpha[2] = {1.0F, 0.0F};
  const float beta[2] = {0.0F, 0.0F};
  const Gemm gemms[] = {
      {"bf16", CUDA_R_16BF, CUBLAS_COMPUTE_32F, 8192, 8192, 8192, 1},
      {"tf32", CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 8192, 8192, 8192, 1},
      {"float32", CUDA_R_32F, CUBLAS_COMPUTE_32F, 8192, 8192, 8192, 1},
      {"complex float32, 80 x 80, 64 tiles", CUDA_C_32F, CUBLAS_COMPUTE_32F, 80, 64, 80, 16384},
      {"complex float32, 80 x 80, 256 tiles", CUDA_C_32F, CUBLAS_COMPUTE_32F, 80, 256, 80, 8192},
      {"complex tf32, 80 x 80, 64 tiles", CUDA_C_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 80, 64, 80, 16384},
      {"complex tf32, 80 x 80, 256 tiles", CUDA_C_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 80, 256, 80, 8192},
  };
  std::byte* const a = memory.data();
  std::byte* const b = memory.data() + gibibyte;
  std::byte* const c = memory.data() + 2 * gibibyte;
  for (const Gemm& gemm : gemms) {
    const bool complex = gemm.type == CUDA_C_32F;
    const Result<double> seconds = median_seconds(device, [&] {
      return check(cublasGemmStridedBatchedEx_64(*blas, CUBLAS_OP_N, CUBLAS_OP_N, gemm.m, gemm.n, gemm.k, alpha, a,
                                                 gemm.type, gemm.m, gemm.m * gemm.k, b, gemm.type, gemm.k,
                                                 gemm.k * gemm.n, beta, c, gemm.type, gemm.m, gemm.m * gemm.n,
                                                 gemm.batch, gemm.compute, CUBLAS_GEMM_DEFAULT),
                   gemm.what);
    });
    if (!seconds) return seconds.error();
    const double flops = (complex ? 8.0 : 2.0) * static_cast<double>(gemm.m * gemm.n * gemm.k * gemm.batch);
    Line("gemm").text("what", gemm.what).number("TFLOP_per_s", 1e-12 * flops / *seconds).print();
  }
  return {};
}

// Products of our own, on matrix units.
Result<void> split_products(CudaDevice& device, const Reservation& memory) {
  for (const auto& [tiles, frequencies] : {std::pair<std::int64_t, std::int64_t>{64, 16384}, {256, 8192}}) {
    const cuda::SpectraProduct product{80,
                                       80,
                                       tiles,
                                       frequencies,
                                       reinterpret_cast<const float2*>(memory.data()),
                                       reinterpret_cast<const float2*>(memory.data() + gibibyte),
                                       reinterpret_cast<float2*>(memory.data() + 2 * gibibyte)};
    const std::string what = "complex tf32x3, 80 x 80, " + std::to_string(tiles) + " tiles";
    const Result<double> seconds = median_seconds(
        device, [&] { return check(cuda::launch_products(product, device.stream(Stream::compute)), what); });
    if (!seconds) return seconds.error();
    const double flops = 8.0 * static_cast<double>(80 * 80 * tiles * frequencies);
    Line("gemm").text("what", what).number("TFLOP_per_s", 1e-12 * flops / *seconds).print();
  }
  return {};
}

// Fills memory with random operands of moderate size: rates on zeros are not those on data.
Result<void> fill(CudaDevice& device, const Reservation& memory) {
  std::vector<std::uint32_t> values(std::size_t{1} << 24);
  std::uint32_t state = 1;
  for (std::uint32_t& value : values) {
    state = state * 1664525U + 1013904223U;
    value = 0x3c003c00U | (state & 0x83ff83ffU);  // small numbers, as floats and as pairs of bf16
  }
  const auto bytes = std::as_bytes(std::span(values));
  for (std::int64_t at = 0; at + std::ssize(bytes) <= memory.bytes(); at += std::ssize(bytes)) {
    if (Result<void> written = device.write(memory.data() + at, bytes); !written) return written;
  }
  return {};
}

}  // namespace

Result<void> measure_ceilings(CudaDevice& device) {
  Result<Reservation> memory = device.reserve(MemorySpace::device, 4 * gibibyte, "ceilings");
  if (!memory) return memory.error();
  if (Result<void> filled = fill(device, *memory); !filled) return filled;
  const Result<double> empty = median_seconds(
      device,
      [&] {
        return device.fill(Stream::compute, {memory->data(), 4}, std::byte{0});
      },
      100);
  if (!empty) return empty.error();
  Line("launch").text("what", "fill of 4 bytes between two events").number("microseconds", 1e6 * *empty).print();
  if (Result<void> done = copies(device, *memory); !done) return done;
  if (Result<void> filled = fill(device, *memory); !filled) return filled;
  if (Result<void> done = products(device, *memory); !done) return done;
  if (Result<void> done = split_products(device, *memory); !done) return done;
  const Result<std::int64_t> overhead = device.overhead_bytes();
  if (!overhead) return overhead.error();
  Line("memory").text("what", "context and handles").number("MiB", static_cast<double>(*overhead >> 20)).print();
  return {};
}

}  // namespace znni::gpu_bench
