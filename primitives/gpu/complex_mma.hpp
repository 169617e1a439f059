// Products of complex matrices on matrix units that take TF32, as exact as in float32. Each number is split in two of
// TF32; of their four products the three larger ones are added up. Here are the roundings, and which element of a
// matrix each thread of a warp holds: PTX ISA, "Matrix Fragments for mma.m16n8k8", .tf32. A left matrix has 16 rows and
// 8 columns, a right one 8 and 8, their product 16 and 8.
//
// Error of one part of an element of a product over k numbers, relative to sum |a| |b|: at most (13 + k / 32) 2^-22.
// Splitting and the product left out take 2 of the 13. The rest are the roundings of units that cut off what lies below
// the last bit of the largest of the nine numbers they add; real ones are not known to be worse. k / 32 is what adding
// up the steps of eight takes: products begin at zero in each, so that what is cut off does not grow with k.
#pragma once

#include "primitives/gpu/element.hpp"
#include "primitives/gpu/fft32.hpp"

namespace znni::cuda {

inline constexpr int warp_lanes = 32;
inline constexpr int mma_rows = 16;
inline constexpr int mma_columns = 8;
inline constexpr int mma_depth = 8;

// Return the place of element i of a lane's fragment: four of the left matrix, two of the right, four of the product.
constexpr int left_row(int lane, int i) { return lane / 4 + i % 2 * 8; }
constexpr int left_column(int lane, int i) { return lane % 4 + i / 2 * 4; }
constexpr int right_row(int lane, int i) { return lane % 4 + i * 4; }
constexpr int right_column(int lane) { return lane / 4; }
constexpr int product_row(int lane, int i) { return lane / 4 + i / 2 * 8; }
constexpr int product_column(int lane, int i) { return lane % 4 * 2 + i % 2; }

// Returns which of eight numbers stands in column `slot` of the left matrix and in that row of the right one. A sum has
// no order: so the two that a lane holds are neighbours, and are read as one.
constexpr int depth_of(int slot) { return slot % 4 * 2 + slot / 4; }

// Two numbers of TF32, whose last 13 bits are zero. Their sum is x but for 2^-23 |x|.
struct SplitNumber {
  float high;
  float low;
};

// Splits x: rounds to nearest, then cuts the rest off, which has two bits more than TF32 at most. A NaN stays one, in
// the lower part at least; both parts of an infinity are none that one could compute with.
constexpr SplitNumber split_tf32(float x) {
  constexpr std::uint32_t kept = ~0x1fffU;
  const float high = float_of((bits_of(x) + 0x1000U) & kept);
  return {high, float_of(bits_of(x - high) & kept)};
}

// What a lane holds of a complex matrix, as matrices of numbers.
struct LeftFragment {
  float part[4][4];  // re high, re low, im high, im low
};
struct RightFragment {
  float part[6][2];  // the same, and -im high, -im low
};
struct ProductFragment {
  float part[2][4];  // re, im
};

constexpr void put_split(LeftFragment& to, int i, Complex value) {
  const SplitNumber re = split_tf32(value.re);
  const SplitNumber im = split_tf32(value.im);
  to.part[0][i] = re.high;
  to.part[1][i] = re.low;
  to.part[2][i] = im.high;
  to.part[3][i] = im.low;
}
constexpr void put_split(RightFragment& to, int i, Complex value) {
  const SplitNumber re = split_tf32(value.re);
  const SplitNumber im = split_tf32(value.im);
  to.part[0][i] = re.high;
  to.part[1][i] = re.low;
  to.part[2][i] = im.high;
  to.part[3][i] = im.low;
  to.part[4][i] = -im.high;
  to.part[5][i] = -im.low;
}

// One product of real matrices, by the parts of fragments.
struct Term {
  int sum;
  int left;
  int right;
};
inline constexpr int complex_terms = 12;

// Returns the terms of left conj(right), in their order. Small ones come first: what they lose is small, too. Real and
// imaginary parts take turns, because a term waits for the one before it of its own sum.
constexpr Term complex_term(int i) {
  constexpr Term terms[complex_terms] = {{0, 1, 0}, {1, 3, 0}, {0, 0, 1}, {1, 2, 1}, {0, 3, 2}, {1, 1, 4},
                                         {0, 2, 3}, {1, 0, 5}, {0, 0, 0}, {1, 2, 0}, {0, 2, 2}, {1, 0, 4}};
  return terms[i];
}

constexpr void add_product(ProductFragment& to, const ProductFragment& more) {
  for (int part = 0; part < 2; ++part) {
    for (int i = 0; i < 4; ++i) to.part[part][i] += more.part[part][i];
  }
}

}  // namespace znni::cuda
