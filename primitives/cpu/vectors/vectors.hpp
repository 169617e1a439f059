// Vectors of `lanes` floats, in the compiler's own portable form: code written with them is compiled once per
// instruction set. Where registers are narrower than the vectors wanted, split_vectors.hpp. An instruction set `Isa` is
// such a type with, beside, stream() and fence() for stores that pass by the caches and the shape of the register block
// of a matrix product: gemm_rows x gemm_vectors accumulators.
//
// Code templated on an Isa may call other inline functions only where they are surely inlined (tile arithmetic): of two
// out-of-line bodies, one per instruction set, the linker keeps one. A test looks for such bodies.
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
  static V all(float value) { return value - V{}; }
  // Returns the larger of each lane; `a` where one of them is not a number.
  static V larger(V a, V b) { return a < b ? b : a; }
  static V where_negative(V value, V then, V otherwise) { return value < V{} ? then : otherwise; }
  // 2^(n - 127) of 1.5 * 2^23 + n, in whose last bits the integer n stands, 1 to 254; of anything else any value.
  static V power(V value) { return (V)((Bits)value << 23); }
  // Keeps the compiler from carrying single values that it loaded round a loop: it would have to spread each over the
  // lanes of a vector, which a load does on its way.
  static const float* anew(const float* at) {
    __asm__("" : "+r"(at));
    return at;
  }
  static void prefetch(const void* address) { __builtin_prefetch(address, 0, 2); }
  // A load that nobody waits for: unlike a prefetch it always has its page translated.
  static void touch(const float* address) { static_cast<void>(*static_cast<const volatile float*>(address)); }
};

// An instruction set's stores where nothing passes by the caches.
template <int count>
struct PlainVectors : Vectors<count> {
  static void stream(float* to, typename Vectors<count>::V value) { Vectors<count>::store(to, value); }
  static void fence() {}
};

}  // namespace znni::cpu
