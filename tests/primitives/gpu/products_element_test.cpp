// The kernel of primitives/cuda/kernels/products_kernel.cu on the host, thread by thread between its barriers, with the
// emulation's matrix unit in the place of a GPU's.
#include "primitives/gpu/products_element.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tests/cuda_emulation/mma.hpp"
#include "tests/primitives/gpu/products_check.hpp"

namespace znni::cuda {
namespace {

using test::ProductCase;
using test::Spectrum;

TEST(ProductShapes, WasteLittleOfABlock) {
  EXPECT_EQ(columns_of(product_shape(96, 80)), 80);
  EXPECT_EQ(columns_of(product_shape(96, 128)), 64);
  EXPECT_EQ(columns_of(product_shape(96, 48)), 48);
  EXPECT_EQ(columns_of(product_shape(96, 3)), 16);
  EXPECT_EQ(rows_of(product_shape(96, 80)), 64);
  EXPECT_EQ(rows_of(product_shape(12, 80)), 32);
}

TEST(ProductShapes, TellTheShareOfWork) {
  EXPECT_EQ(product_share(80, 80, 96), 1.0);
  EXPECT_EQ(product_share(80, 80, 12), 12.0 / 16);
  EXPECT_EQ(product_share(4, 6, 16), 0.5 * 0.75);
}

TEST(ProductShapes, AllChannelsAreInSharedMemoryWhereTheyFit) {
  EXPECT_EQ(product_arg(80, 80, 96).depth, 80);
  EXPECT_EQ(product_bytes(product_arg(80, 80, 96), product_shape(96, 80)), product_shared_bytes);
  EXPECT_EQ(product_arg(81, 80, 96).depth, 48) << "two parts alike";
  for (Index f = 1; f < 600; f += 7) {
    for (Index f_out = 1; f_out < 200; f_out += 9) {
      for (const Index tiles : {1, 20, 64, 100}) {
        const ProductArg arg = product_arg(f, f_out, tiles);
        ASSERT_LE(product_bytes(arg, product_shape(tiles, f_out)), product_shared_bytes) << f << " " << f_out;
        ASSERT_TRUE(arg.depth % mma_depth == 0 && arg.depth > 0) << f << " " << f_out;
        ASSERT_EQ(product_pitch(arg.depth) % 16, 8) << "a multiple of 64 bytes, not of 128";
      }
    }
  }
}

// What a warp's lanes keep.
template <int row_tiles, int column_tiles>
using Sums = std::array<ProductSums<row_tiles, column_tiles>, product_threads>;

struct WarpOfFragments {
  std::array<LeftFragment, warp_lanes> left;
  std::array<RightFragment, warp_lanes> right;
  std::array<ProductFragment, warp_lanes> product;
};

void multiply(WarpOfFragments& all) {
  all.product = {};
  for (int i = 0; i < complex_terms; ++i) {
    const Term term = complex_term(i);
    std::array<cuda_emulation::MmaRegisters, cuda_emulation::lanes_of_warp> warp{};
    for (std::size_t lane = 0; lane < warp.size(); ++lane) {
      warp[lane] = {all.left[lane].part[term.left], all.right[lane].part[term.right], all.product[lane].part[term.sum]};
    }
    cuda_emulation::mma_m16n8k8(warp);
  }
}

template <int row_tiles, int column_tiles>
void multiply_step(const ComplexPair* shared, int pitch, int first, int step, Sums<row_tiles, column_tiles>& sums) {
  constexpr ProductShape shape{row_tiles, column_tiles};
  for (int m = 0; m < row_tiles; ++m) {
    for (int n = 0; n < column_tiles; ++n) {
      WarpOfFragments all{};
      for (int lane = 0; lane < warp_lanes; ++lane) {
        const auto at = static_cast<std::size_t>(lane);
        const int row = warp_row(first, row_tiles) + m * mma_rows;
        const int column = rows_of(shape) + warp_column(first, column_tiles) + n * mma_columns;
        all.left[at] = read_left(shared, pitch, row, step, lane);
        all.right[at] = read_right(shared, pitch, column, step, lane);
      }
      multiply(all);
      for (std::size_t lane = 0; lane < warp_lanes; ++lane) {
        add_product(sums[static_cast<std::size_t>(first) + lane].v[m][n], all.product[lane]);
      }
    }
  }
}

template <int row_tiles, int column_tiles>
void run_block(const ProductArg& arg, const ProductBlock& block, const Spectrum& kernels, const Spectrum& inputs,
               Spectrum& outputs) {
  const int bytes = product_bytes(arg, {row_tiles, column_tiles});
  std::vector<ComplexPair> shared(static_cast<std::size_t>(bytes) / sizeof(ComplexPair));
  Sums<row_tiles, column_tiles> sums{};
  for (Index part = 0; part < arg.f; part += arg.depth) {
    for (int thread = 0; thread < product_threads; ++thread) {
      move_rows<row_tiles, column_tiles>(arg, block, thread, part, {inputs.data(), kernels.data()}, shared.data());
    }
    for (int first = 0; first < product_threads; first += warp_lanes) {
      if (!has_products<row_tiles, column_tiles>(block, first)) continue;
      for (int step = 0; step < arg.depth / mma_depth; ++step) {
        multiply_step<row_tiles, column_tiles>(shared.data(), product_pitch(arg.depth), first, step, sums);
      }
    }
  }
  for (int thread = 0; thread < product_threads; ++thread) {
    if (has_products<row_tiles, column_tiles>(block, thread)) {
      write_products(arg, block, thread, sums[static_cast<std::size_t>(thread)], outputs.data());
    }
  }
}

template <int row_tiles, int column_tiles>
Spectrum run(const ProductCase& of, const Spectrum& kernels, const Spectrum& inputs) {
  const ProductArg arg = product_arg(of.f, of.f_out, of.tiles);
  constexpr ProductShape shape{row_tiles, column_tiles};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Spectrum outputs(static_cast<std::size_t>(of.frequencies * of.tiles * of.f_out), Complex{nan, nan});
  for (Index block = 0; block < of.frequencies * product_blocks(arg, shape); ++block) {
    run_block<row_tiles, column_tiles>(arg, product_block(arg, shape, block), kernels, inputs, outputs);
  }
  return outputs;
}

template <int row_tiles>
Spectrum run(int column_tiles, const ProductCase& of, const Spectrum& kernels, const Spectrum& inputs) {
  switch (column_tiles) {
    case 1: return run<row_tiles, 1>(of, kernels, inputs);
    case 2: return run<row_tiles, 2>(of, kernels, inputs);
    case 3: return run<row_tiles, 3>(of, kernels, inputs);
    case 4: return run<row_tiles, 4>(of, kernels, inputs);
    default: return run<row_tiles, 5>(of, kernels, inputs);
  }
}

double error_of(const ProductCase& of, test::Random& random) {
  const bool positive = random.chance(0.5);
  const Spectrum kernels = test::random_spectrum(of.frequencies * of.f_out * of.f, random, positive);
  const Spectrum inputs = test::random_spectrum(of.frequencies * of.tiles * of.f, random, positive);
  const ProductShape shape = product_shape(of.tiles, of.f_out);
  const Spectrum outputs = shape.row_tiles == 1 ? run<1>(shape.column_tiles, of, kernels, inputs)
                                                : run<2>(shape.column_tiles, of, kernels, inputs);
  return test::product_error(of, kernels, inputs, outputs);
}

TEST(Products, OfRandomShapesKeepTheBound) {
  for (int i = 0; i < test::case_count(24); ++i) {
    test::Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    const ProductCase of{random.integer(1, 40), random.integer(1, 90), random.integer(1, 70), random.integer(1, 2)};
    const double error = error_of(of, random);
    ASSERT_LE(error, test::product_bound(of.f)) << of.f << " to " << of.f_out << ", " << of.tiles << " tiles";
  }
}

// More channels than shared memory holds: parts, the last of them shorter.
TEST(Products, InPartsKeepTheBound) {
  test::Random random(1);
  for (const Index f : {97, 180, 515}) {
    const ProductCase of{f, 75, 40, 1};
    ASSERT_LT(product_arg(of.f, of.f_out, of.tiles).depth, of.f);
    ASSERT_LE(error_of(of, random), test::product_bound(of.f)) << of.f;
  }
}

}  // namespace
}  // namespace znni::cuda
