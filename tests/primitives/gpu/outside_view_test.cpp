// What stands for padding, set on the host, element by element as the kernel does it.
#include "primitives/gpu/outside_view.hpp"

#include <gtest/gtest.h>

#include "primitives/gpu/estimates.hpp"
#include "tests/primitives/gpu/host_tensors.hpp"
#include "tests/support/naive_outside.hpp"

namespace znni::cuda {
namespace {

// Kernels have the rules in their order.
static_assert(static_cast<int>(Outside::value) == static_cast<int>(OutsideRule::value));
static_assert(static_cast<int>(Outside::nearest) == static_cast<int>(OutsideRule::nearest));
static_assert(static_cast<int>(Outside::reflected) == static_cast<int>(OutsideRule::reflected));

template <class T>
void run_outside(const OutsideArg& arg, T* data, bool reversed) {
  for (Index index = 0; index < row_count(arg.rows); ++index) {
    const Index row = reversed ? row_count(arg.rows) - 1 - index : index;
    for (int element = 0; element < row_elements(arg.rows); ++element) {
      outside_element(arg, row_at(arg.rows, row), element, data);
    }
  }
}

void check_fill(const Shape5& shape, Format format, bool window, std::uint64_t seed) {
  SCOPED_TRACE(to_string(shape) + " " + to_string(format) + (window ? ", windows" : ", dense"));
  test::Random random(seed);
  HostTensor tensor(shape, format, window, seed);
  tensor.store(random.normals(elements(shape)));
  const std::vector<float> before = tensor.load();
  const OutsideFill fill = test::random_fill(tensor.view(), random);
  const OutsideArg arg = outside_arg(fill);
  if (format.type == ElementType::bf16) {
    run_outside(arg, reinterpret_cast<Bfloat*>(tensor.view().data), seed % 2 == 0);
  } else {
    run_outside(arg, tensor.view().data, seed % 2 == 0);
  }
  const std::vector<float> found = tensor.load();
  const std::int64_t of_channel = voxels(shape.n);
  for (std::int64_t i = 0; i < elements(shape); ++i) {
    const auto channel = before.begin() + i / of_channel * of_channel;
    const std::int64_t v = i % of_channel;
    const float expected = test::after_outside(fill, {channel, channel + of_channel},
                                               {v / (shape.n.y * shape.n.x), v / shape.n.x % shape.n.y, v % shape.n.x});
    ASSERT_EQ(found[static_cast<std::size_t>(i)], expected) << i << ", rule " << static_cast<int>(fill.rule);
  }
}

TEST(OutsideView, EveryRuleInEveryFormatAndOrder) {
  for (int i = 0; i < test::case_count(60); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    test::Random random(seed);
    const Shape5 shape{1, random.integer(1, 5), random.vec3(1, 7)};
    for (const Format format : {planar_f32, last_f32, last_bf16}) check_fill(shape, format, random.chance(0.5), seed);
  }
}

}  // namespace
}  // namespace znni::cuda
