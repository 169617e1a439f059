#include <fftw3.h>

#include <array>
#include <cstddef>
#include <mutex>
#include <string>
#include <type_traits>

#include "primitives/cpu/fft/fft_1d.hpp"

namespace znni::cpu {
namespace {

// Returns the lock of FFTW's planner, which is not thread safe. The planner's state belongs to the process, so the lock
// does too. A local static hides it from other code.
std::mutex& planner_mutex() {
  static std::mutex mutex;
  return mutex;
}

struct DestroyPlan {
  void operator()(fftwf_plan plan) const {
    const std::lock_guard lock(planner_mutex());
    fftwf_destroy_plan(plan);
  }
};
using PlanHandle = std::unique_ptr<std::remove_pointer_t<fftwf_plan>, DestroyPlan>;

// Makes a plan with FFTW_ESTIMATE. This effort neither reads nor writes the arrays and considers only their alignment.
// Only with it does FFTW always make the same plan, and therefore always round in the same way. Out of place from a
// small tile it is as fast as a measured plan.
PlanHandle make_plan(const FftLines& lines, std::byte* in, std::byte* out) {
  const fftwf_iodim64 sample{lines.n, lines.in_step, lines.out_step};
  const fftwf_iodim64 line{lines.lines, lines.in_line, lines.out_line};
  auto* real_in = reinterpret_cast<float*>(in);
  auto* real_out = reinterpret_cast<float*>(out);
  auto* complex_in = reinterpret_cast<fftwf_complex*>(in);
  auto* complex_out = reinterpret_cast<fftwf_complex*>(out);
  const std::lock_guard lock(planner_mutex());
  switch (lines.kind) {
    case FftKind::forward:
    case FftKind::backward:
      return PlanHandle(fftwf_plan_guru64_dft(1, &sample, 1, &line, complex_in, complex_out,
                                              lines.kind == FftKind::forward ? FFTW_FORWARD : FFTW_BACKWARD,
                                              FFTW_ESTIMATE));
    case FftKind::real_to_complex:
      return PlanHandle(fftwf_plan_guru64_dft_r2c(1, &sample, 1, &line, real_in, complex_out, FFTW_ESTIMATE));
    case FftKind::complex_to_real:
      return PlanHandle(fftwf_plan_guru64_dft_c2r(1, &sample, 1, &line, complex_in, real_out, FFTW_ESTIMATE));
  }
  return nullptr;
}

bool tile_is_input(FftKind kind) { return kind == FftKind::forward || kind == FftKind::real_to_complex; }

int alignment_of(const void* pointer) {
  return fftwf_alignment_of(const_cast<float*>(static_cast<const float*>(pointer)));
}

}  // namespace

// A plan is valid for one alignment of its arrays. Complex values lie at multiples of eight bytes, among which FFTW
// distinguishes two kinds. `even` has the alignment of a multiple of 64 bytes, `odd` the other one.
struct Fft1d::Plans {
  FftKind kind;
  int even_alignment;
  PlanHandle even;
  PlanHandle odd;

  [[nodiscard]] fftwf_plan of(const void* far_end) const {
    return alignment_of(far_end) == even_alignment ? even.get() : odd.get();
  }
};

Result<Fft1d> Fft1d::make(const FftLines& lines) {
  alignas(fft_alignment) std::array<std::byte, 2 * fft_alignment> arrays{};
  std::byte* tile = arrays.data();
  const auto plan_for = [&](std::byte* far_end) {
    return tile_is_input(lines.kind) ? make_plan(lines, tile, far_end) : make_plan(lines, far_end, tile);
  };
  std::byte* far_end = tile + fft_alignment;
  auto plans = std::make_unique<Plans>(
      Plans{lines.kind, alignment_of(far_end), plan_for(far_end), plan_for(far_end + sizeof(Complex))});
  if (plans->even == nullptr || plans->odd == nullptr) {
    return Error{ErrorCode::device_failure, "FFTW makes no plan for " + std::to_string(lines.lines) +
                                                " transforms of length " + std::to_string(lines.n)};
  }
  return Fft1d(std::move(plans));
}

Fft1d::Fft1d(std::unique_ptr<const Plans> plans) : plans_(std::move(plans)) {}
Fft1d::Fft1d(Fft1d&&) noexcept = default;
Fft1d& Fft1d::operator=(Fft1d&&) noexcept = default;
Fft1d::~Fft1d() = default;

void Fft1d::complex_lines(const Complex* in, Complex* out) const {
  ensure(plans_->kind == FftKind::forward || plans_->kind == FftKind::backward, "a plan of complex lines");
  // FFTW keeps the input of an out-of-place complex transform, though its signature does not say so.
  auto* from = reinterpret_cast<fftwf_complex*>(const_cast<Complex*>(in));
  fftwf_execute_dft(plans_->of(plans_->kind == FftKind::forward ? static_cast<const void*>(out) : in), from,
                    reinterpret_cast<fftwf_complex*>(out));
}

void Fft1d::from_real(const float* in, Complex* out) const {
  ensure(plans_->kind == FftKind::real_to_complex, "a plan of real lines");
  // FFTW keeps this input too.
  fftwf_execute_dft_r2c(plans_->of(out), const_cast<float*>(in), reinterpret_cast<fftwf_complex*>(out));
}

void Fft1d::to_real(Complex* in, float* out) const {
  ensure(plans_->kind == FftKind::complex_to_real, "a plan back to real lines");
  fftwf_execute_dft_c2r(plans_->of(in), reinterpret_cast<fftwf_complex*>(in), out);
}

std::string_view fft_1d_notice() {
  return "This binary contains FFTW and is therefore distributed under GPL-3.0-or-later;\n"
         "the sources of ZNNi are under Apache-2.0.";
}

}  // namespace znni::cpu
