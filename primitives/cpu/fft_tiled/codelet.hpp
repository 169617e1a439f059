// One straight-line transform of length T along a line of vectors (generate_codelets.py): every lane of the vectors
// is a line of its own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace znni::cpu::fft_tiled {

// Reads element t of the line at re + t * step and im + t * step, writes at out_re + k * out_step and
// out_im + k * out_step; steps in floats. Stores past the caches
// need lines that are aligned to a vector. Input and output do not overlap.
// Real lines have no im; the transform of a real line has T / 2 + 1 elements.
using Codelet = void (*)(const float* re, const float* im, std::ptrdiff_t step, float* out_re, float* out_im,
                         std::ptrdiff_t out_step);

// Vectors of two registers are transformed one register after the other: a straight line keeps more values than
// registers are there for both.
template <class Isa>
struct OneRegister {
  using Type = Isa;
};
template <class Isa>
requires requires { typename Isa::Half; }
struct OneRegister<Isa> {
  using Type = typename Isa::Half;
};
template <class Isa>
using Register = typename OneRegister<Isa>::Type;

template <class Isa, Codelet codelet>
void both_halves(const float* re, const float* im, std::ptrdiff_t step, float* out_re, float* out_im,
                 std::ptrdiff_t out_step) {
  constexpr std::ptrdiff_t half = Register<Isa>::lanes;
  codelet(re, im, step, out_re, out_im, out_step);
  codelet(re + half, im == nullptr ? im : im + half, step, out_re + half, out_im == nullptr ? out_im : out_im + half,
          out_step);
}

// The transform of lines of Isa's vectors by one of lines of its registers.
template <class Isa, Codelet codelet>
constexpr Codelet whole_vectors() {
  if constexpr (Register<Isa>::lanes == Isa::lanes) return codelet;
  return &both_halves<Isa, codelet>;
}

// Stores past the caches where nobody reads the line soon.
template <class Isa, bool stream>
inline void write(float* to, typename Isa::V value) {
  if constexpr (stream) {
    Isa::stream(to, value);
  } else {
    Isa::store(to, value);
  }
}

}  // namespace znni::cpu::fft_tiled
