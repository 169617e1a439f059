// Many 1D transforms at once, in single precision: a thin layer over an FFT library, with one source file per library
// (ZNNI_FFT). Only those files include the library's header.
//
// Transforms are not scaled: backward(forward(x)) = n x. forward uses exp(-2 pi i ...).
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "primitives/core/result.hpp"
#include "primitives/cpu/fft/fft_sizes.hpp"

namespace znni::cpu {

enum class FftKind { forward, backward, real_to_complex, complex_to_real };

// `lines` transforms of n samples each. Sample e of line l lies at e * step + l * line, counted in elements of its
// side: reals or complex values. The complex side of a real transform has n / 2 + 1 samples.
struct FftLines {
  FftKind kind = FftKind::forward;
  std::int64_t n = 1;
  std::int64_t lines = 1;
  std::int64_t in_step = 1;
  std::int64_t in_line = 0;
  std::int64_t out_step = 1;
  std::int64_t out_line = 0;
};

// Input and output of a transform must not overlap. One of them (a small tile of lines) is aligned to this many bytes.
inline constexpr std::int64_t fft_alignment = 64;

// A plan: made once, run from any number of threads at once. The same plan on the same data gives bit-equal results.
// Plans made from equal FftLines also give equal results, in any process on this machine.
class Fft1d {
 public:
  // Makes a plan. Several threads may call it. Fails with device_failure if the library refuses.
  [[nodiscard]] static Result<Fft1d> make(const FftLines& lines);

  Fft1d(Fft1d&&) noexcept;
  Fft1d& operator=(Fft1d&&) noexcept;
  ~Fft1d();

  // Runs kinds forward and backward. In all three functions the direction decides which end is the aligned tile: the
  // input of forward and real_to_complex, the output of backward and complex_to_real. The other end may lie anywhere.
  void complex_lines(const Complex* in, Complex* out) const;
  // Runs kind real_to_complex.
  void from_real(const float* in, Complex* out) const;
  // Runs kind complex_to_real; destroys its input.
  void to_real(Complex* in, float* out) const;

 private:
  struct Plans;
  explicit Fft1d(std::unique_ptr<const Plans> plans);
  std::unique_ptr<const Plans> plans_;
};

// Returns the lines that the library's licence requires a linked program to show; "" if it requires none.
[[nodiscard]] std::string_view fft_1d_notice();

}  // namespace znni::cpu
