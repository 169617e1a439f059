// Vectors held in two registers, for machines whose registers are half as wide as a block of channels. The compiler's
// own vectors may also be wider than registers, but then they live on the stack.
#pragma once

#include "primitives/cpu/vectors/vectors.hpp"

namespace znni::cpu {

// Provides the interface of Vectors<2 * Part::lanes> with two vectors of `Part`.
template <class Part>
struct SplitVectors {
  using Half = Part;
  static constexpr std::int64_t lanes = 2 * Half::lanes;

  struct V {
    typename Half::V low;
    typename Half::V high;

    friend V operator+(V a, V b) { return {a.low + b.low, a.high + b.high}; }
    friend V operator-(V a, V b) { return {a.low - b.low, a.high - b.high}; }
    friend V operator*(V a, V b) { return {a.low * b.low, a.high * b.high}; }
    friend V operator*(float a, V b) { return {a * b.low, a * b.high}; }
    friend V operator/(V a, V b) { return {a.low / b.low, a.high / b.high}; }
    friend V operator-(V a) { return {-a.low, -a.high}; }
    friend V& operator+=(V& a, V b) { return a = a + b; }
  };

  static V load(const float* from) { return {Half::load(from), Half::load(from + Half::lanes)}; }
  static void store(float* to, V value) {
    Half::store(to, value.low);
    Half::store(to + Half::lanes, value.high);
  }
  static void stream(float* to, V value) {
    Half::stream(to, value.low);
    Half::stream(to + Half::lanes, value.high);
  }
  static void fence() { Half::fence(); }
  static V broadcast(float value) { return {Half::broadcast(value), Half::broadcast(value)}; }
  static V max(V a, V b) { return {Half::max(a.low, b.low), Half::max(a.high, b.high)}; }
  static V select_negative(V value, V then, V otherwise) {
    return {Half::select_negative(value.low, then.low, otherwise.low),
            Half::select_negative(value.high, then.high, otherwise.high)};
  }
  static V exp2_bits(V value) { return {Half::exp2_bits(value.low), Half::exp2_bits(value.high)}; }
  static const float* opaque(const float* at) { return Half::opaque(at); }
  static void prefetch(const void* address) { Half::prefetch(address); }
  static void load_ahead(const float* address) { Half::load_ahead(address); }
};

}  // namespace znni::cpu
