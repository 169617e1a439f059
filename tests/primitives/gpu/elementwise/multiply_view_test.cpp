// Products and quotients of two tensors on the host, element by element as the kernel computes them.
#include "primitives/gpu/elementwise/multiply_view.hpp"

#include <gtest/gtest.h>

#include "primitives/gpu/estimates.hpp"
#include "tests/primitives/gpu/host_tensors.hpp"

namespace znni::cuda {
namespace {

template <class T, int width>
void run_rows(const MultiplyArg& arg) {
  for (Index index = 0; index < row_count(arg.rows); ++index) {
    for (int element = 0; element < row_elements(arg.rows); ++element) {
      multiply_element<T, width>(arg, row_at(arg.rows, index), element);
    }
  }
}

void run_multiply(const MultiplyArg& arg, ElementType type) {
  if (type == ElementType::f32 && arg.width == 4) return run_rows<float, 4>(arg);
  if (type == ElementType::f32) return run_rows<float, 1>(arg);
  if (arg.width == 8) return run_rows<Bfloat, 8>(arg);
  run_rows<Bfloat, 1>(arg);
}

void check_product(const Shape5& shape, std::int64_t f_other, Format format, bool divides, std::uint64_t seed) {
  const bool window = seed % 2 == 0;
  SCOPED_TRACE(std::string(divides ? "quotient " : "product ") + to_string(shape) + " by " + std::to_string(f_other) +
               " " + to_string(format) + (window ? ", windows" : ", dense"));
  test::Random random(seed);
  HostTensor in(shape, format, window, seed);
  HostTensor other({shape.S, f_other, shape.n}, format, window, seed + 1);
  HostTensor out(shape, format, window, seed + 2);
  in.store(random.normals(elements(shape)));
  other.store(random.normals(elements(other.view().shape)));
  run_multiply(multiply_arg(in.view(), other.view(), out.view(), divides), format.type);
  const std::vector<float> a = in.load();
  const std::vector<float> b = other.load();
  const std::vector<float> found = out.load();
  const auto of_channel = static_cast<std::size_t>(voxels(shape.n));
  const std::size_t of_input = of_channel * static_cast<std::size_t>(shape.f);
  const double step = format.type == ElementType::bf16 ? 0x1p-8 : 0x1p-23;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::size_t j = f_other == 1 ? i / of_input * of_channel + i % of_channel : i;
    const auto of = static_cast<double>(a[i]);
    const auto by = static_cast<double>(b[j]);
    const double expected = divides ? of / by : of * by;
    ASSERT_NEAR(found[i], expected, step * std::abs(expected)) << i;
  }
}

TEST(MultiplyView, ProductsAndQuotientsInAnyFormatWithAsManyChannelsOrOne) {
  for (int i = 0; i < test::case_count(30); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    test::Random random(seed);
    const Shape5 shape{random.integer(1, 3), random.chance(0.5) ? 16 : random.integer(1, 19), random.vec3(1, 8)};
    for (const Format format : {planar_f32, last_f32, last_bf16}) {
      const std::int64_t f_other = random.chance(0.5) ? shape.f : 1;
      for (const bool divides : {false, true}) check_product(shape, f_other, format, divides, seed);
    }
  }
}

// One channel of a factor does not keep the product from vectors.
TEST(MultiplyView, OneChannelLeavesVectors) {
  const Shape5 shape{1, 16, {2, 3, 4}};
  const Shape5 one{1, 1, shape.n};
  for (const Format format : {planar_f32, last_f32}) {
    HostTensor in(shape, format);
    HostTensor other(one, format);
    EXPECT_EQ(multiply_arg(in.view(), other.view(), in.view(), false).width, 4) << to_string(format);
  }
}

}  // namespace
}  // namespace znni::cuda
