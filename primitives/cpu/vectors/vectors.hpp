// Vectors of `lanes` floats, in the compiler's own portable form: code written with them is compiled once per
// instruction set. split_vectors.hpp has vectors that are wider than the registers. An instruction set `Isa` is such a
// type with two additions. It has stream() and fence() for non-temporal stores, and the shape of the register block of
// a matrix product: gemm_rows x gemm_vectors accumulators.
//
// Code templated on an Isa may call other inline functions only if they are surely inlined (tile arithmetic). Otherwise
// there would be one out-of-line body per instruction set, and the linker keeps only one of them. A test looks for such
// bodies.
#pragma once

#include <cstddef>
#include <cstdint>

namespace znni::cpu {

template <int count>
struct Vectors {
  static constexpr std::int64_t lanes = count;
  typedef float V __attribute__((vector_size(count * sizeof(float))));                      // NOLINT
  typedef float Unaligned __attribute__((vector_size(count * sizeof(float)), aligned(4)));  // NOLINT
  typedef std::uint32_t Bits __attribute__((vector_size(count * sizeof(float))));           // NOLINT

  static V load(const float* from) { return *reinterpret_cast<const Unaligned*>(from); }
  static void store(float* to, V value) { *reinterpret_cast<Unaligned*>(to) = value; }
  static V broadcast(float value) { return value - V{}; }
  // Returns the larger of each lane; `a` if one of them is not a number.
  static V max(V a, V b) { return a < b ? b : a; }
  static V select_negative(V value, V then, V otherwise) { return value < V{} ? then : otherwise; }
  // Returns 2^(n - 127) for the value 1.5 * 2^23 + n, whose last bits hold the integer n, 1 to 254. The result for
  // other values is arbitrary.
  static V exp2_bits(V value) { return (V)((Bits)value << 23); }
  // Hides a pointer from the optimiser, so that it does not keep loaded single values in registers over loop
  // iterations. It would have to broadcast each to the lanes of a vector, which a load does for free.
  static const float* opaque(const float* at) {
    __asm__("" : "+r"(at));
    return at;
  }
  static void prefetch(const void* address) { __builtin_prefetch(address, 0, 2); }
  // Loads a value without waiting for it. Unlike a prefetch, it always gets its page translated.
  static void load_ahead(const float* address) { static_cast<void>(*static_cast<const volatile float*>(address)); }
};

// An instruction set whose stores all go through the caches.
template <int count>
struct PlainVectors : Vectors<count> {
  static void stream(float* to, typename Vectors<count>::V value) { Vectors<count>::store(to, value); }
  static void fence() {}
};

}  // namespace znni::cpu
