// Arguments of kernels that pass over tensors, and what these kernels do, on the host.
#include "primitives/gpu/views.hpp"

#include <gtest/gtest.h>

#include "primitives/gpu/elementwise/reorder_element.hpp"
#include "primitives/gpu/estimates.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/primitives/gpu/host_math.hpp"
#include "tests/primitives/gpu/host_tensors.hpp"
#include "tests/support/harness.hpp"
#include "tests/support/random.hpp"

namespace znni::cuda {
namespace {

template <class T, int width>
void run_rows(const ElementwiseArg& arg) {
  for (Index index = 0; index < row_count(arg.rows); ++index) {
    for (int element = 0; element < row_elements(arg.rows); ++element) {
      elementwise_element<HostMath, T, width>(arg, row_at(arg.rows, index), element);
    }
  }
}

void run_elementwise(const ElementwiseArg& arg, ElementType type) {
  if (type == ElementType::f32 && arg.width == 4) return run_rows<float, 4>(arg);
  if (type == ElementType::f32) return run_rows<float, 1>(arg);
  if (arg.width == 8) return run_rows<Bfloat, 8>(arg);
  run_rows<Bfloat, 1>(arg);
}

// Sums three tensors, the first one scaled and shifted; rectifies with a slope for each channel, of odd seeds alone;
// then activates.
void check_sum(const Shape5& shape, Format format, bool window, std::uint64_t seed) {
  SCOPED_TRACE(to_string(shape) + " " + to_string(format) + (window ? ", windows" : ", dense"));
  test::Random random(seed);
  std::vector<HostTensor> tensors;
  std::vector<TensorView> inputs;
  for (std::uint64_t i = 0; i < 3; ++i) {
    tensors.emplace_back(shape, format, window, seed + i);
    tensors.back().store(random.normals(elements(shape)));
    inputs.push_back(tensors.back().view());
  }
  HostTensor out(shape, format, window, seed + 9);
  const std::vector<float> scale = random.normals(shape.f);
  const std::vector<float> shift = random.normals(shape.f);
  const bool rectified = seed % 2 == 1;
  const std::vector<float> slopes =
      rectified ? random.normals(shape.f, 0.5F) : std::vector<float>(static_cast<std::size_t>(shape.f), 1.0F);
  ElementwiseArg arg = elementwise_arg(inputs, out.view(), {ActivationKind::elu, 0.5F});
  arg.of = {scale.data(), shift.data(), rectified ? slopes.data() : nullptr};
  run_elementwise(arg, format.type);
  const std::vector<float> found = out.load();
  const std::vector<float> a = tensors[0].load();
  const std::vector<float> b = tensors[1].load();
  const std::vector<float> c = tensors[2].load();
  const double step = format.type == ElementType::bf16 ? 0x1p-8 : 0x1p-22;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::size_t j = i / static_cast<std::size_t>(voxels(shape.n)) % static_cast<std::size_t>(shape.f);
    double sum = static_cast<double>(scale[j]) * a[i] + shift[j] + b[i] + c[i];
    if (sum < 0) sum *= static_cast<double>(slopes[j]);
    const double expected = oracle::apply_exactly({ActivationKind::elu, 0.5F}, sum);
    const double most = std::abs(scale[j] * a[i]) + std::abs(shift[j]) + std::abs(b[i]) + std::abs(c[i]);
    const double steepest = std::max(1.0, std::abs(static_cast<double>(slopes[j])));
    ASSERT_NEAR(found[i], expected, step * steepest * (most + 1e-3)) << i;
  }
}

TEST(Views, SumsScalesShiftsAndActivatesInAnyFormat) {
  for (int i = 0; i < test::case_count(30); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    test::Random random(seed);
    const Shape5 shape{random.integer(1, 3), random.chance(0.5) ? 16 : random.integer(1, 19), random.vec3(1, 8)};
    for (const Format format : {planar_f32, last_f32, last_bf16}) check_sum(shape, format, random.chance(0.5), seed);
  }
}

TEST(Views, WorksInPlace) {
  const Shape5 shape{1, 8, {2, 3, 4}};
  HostTensor tensor(shape, last_f32);
  test::Random random(4);
  tensor.store(random.normals(elements(shape)));
  const std::vector<float> before = tensor.load();
  const std::vector<TensorView> inputs = {tensor.view()};
  run_elementwise(elementwise_arg(inputs, tensor.view(), {ActivationKind::relu, 0.0F}), ElementType::f32);
  const std::vector<float> after = tensor.load();
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i], std::max(before[i], 0.0F));
}

TEST(Views, VectorsNeedAlignedAddressesExtentsAndStrides) {
  const auto width = [](const TensorView& view) { return vector_width({&view, 1}); };
  HostTensor planar({2, 3, {4, 4, 8}}, planar_f32);
  EXPECT_EQ(width(planar.view()), 4);
  TensorView view = planar.view();
  view.shape.n.x = 6;
  EXPECT_EQ(width(view), 1) << "an extent of 6";
  view = planar.view();
  view.strides.y = 9;
  EXPECT_EQ(width(view), 1) << "a stride of 9";
  view.shape.n.y = 1;
  EXPECT_EQ(width(view), 4) << "that is never walked";
  view.data += 2;
  EXPECT_EQ(width(view), 1) << "an address";
  HostTensor half({1, 8, {2, 2, 2}}, {ElementType::f16, Layout::channels_last});
  EXPECT_EQ(width(half.view()), 8);
}

TEST(Views, ReordersKeepEveryValue) {
  const Shape5 shape{2, 5, {2, 3, 7}};
  test::Random random(7);
  HostTensor from(shape, planar_f32, true, 3);
  HostTensor to(shape, last_bf16);
  from.store(random.normals(elements(shape)));
  const ReorderArg arg{2, 5, {2, 3, 7}, steps_of(from.view().strides), steps_of(to.view().strides), true, false};
  for (Index index = 0; index < reorder_rows(arg); ++index) {
    const ReorderRow row = reorder_row(arg, index);
    for (Index j = 0; j < shape.f; ++j) {
      for (Index x = 0; x < shape.n.x; ++x) {
        const float value = from.view().data[row.from + j * arg.from.f + x * arg.from.x];
        reinterpret_cast<Bfloat*>(to.view().data)[row.to + j * arg.to.f + x * arg.to.x] =
            converted<float, Bfloat>(value);
      }
    }
  }
  const std::vector<float> expected = from.load();
  const std::vector<float> found = to.load();
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(found[i], widen(narrow(expected[i], Bfloat())));
}

TEST(Views, RowsPastThirtyTwoBitsAreRefused) {
  EXPECT_TRUE(check_rows({1, 80, {1, 1, 1000000}}).has_value());
  const Result<void> refused = check_rows({1, 80, {1, 1, 1 << 30}});
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("n.x * f"), std::string::npos);
}

TEST(Views, StorageOfEveryElementTypeThatHasKernels) {
  EXPECT_EQ(storage_of(ElementType::f32), Storage::f32);
  EXPECT_EQ(storage_of(ElementType::bf16), Storage::bf16);
  EXPECT_EQ(storage_bytes(storage_of(ElementType::f16)), 2);
  EXPECT_EQ(storage_bytes(storage_of(ElementType::u8)), 1);
  EXPECT_DEATH(static_cast<void>(storage_of(ElementType::u16)), "u16");
}

}  // namespace
}  // namespace znni::cuda
