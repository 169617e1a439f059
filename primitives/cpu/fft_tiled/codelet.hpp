// One straight-line transform of length T along a line of vectors (generate_codelets.py). Every lane of the vectors is
// a separate line.
#pragma once

#include <cstddef>
#include <cstdint>

namespace znni::cpu::fft_tiled {

// Transforms a line. It reads element t at re + t * step and im + t * step. It writes element k at out_re + k *
// out_step and out_im + k * out_step. Steps are in floats. A variant with non-temporal stores needs lines that are
// aligned to a vector. Input and output must not overlap. A real line has no im; its transform has T / 2 + 1 elements.
using Codelet = void (*)(const float* re, const float* im, std::ptrdiff_t step, float* out_re, float* out_im,
                         std::ptrdiff_t out_step);

// Selects one register of vectors that take two. Such vectors are transformed one register after the other, because
// straight-line code for both would need more values than there are registers.
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

// Returns the codelet for lines of Isa's vectors, made from a codelet for lines of its registers.
template <class Isa, Codelet codelet>
constexpr Codelet whole_vectors() {
  if constexpr (Register<Isa>::lanes == Isa::lanes) return codelet;
  return &both_halves<Isa, codelet>;
}

// Tells whether vectors hold packed units.
template <class Isa>
inline constexpr bool packs = requires {
  &Isa::quads;
};

// Writes a vector. `stream` selects a non-temporal store, for lines that are not read again soon.
template <class Isa, bool stream>
inline void write(float* to, typename Isa::V value) {
  if constexpr (stream) {
    Isa::stream(to, value);
  } else {
    Isa::store(to, value);
  }
}

}  // namespace znni::cpu::fft_tiled
