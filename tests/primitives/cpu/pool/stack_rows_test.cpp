#include "primitives/cpu/pool/stack_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/cpu.hpp"

namespace znni::cpu {
namespace {

using Row = std::vector<float>;

// What a level has when a row comes in.
struct Case {
  PoolKind kind;
  std::int64_t step;
  std::int64_t window;
  std::int64_t floats;
  float floor;
  Row from;
  std::vector<Row> planes;
  std::vector<Row> rows;
  Row scale;
  Row shift;
};

Case random_case(test::Random& random) {
  Case made;
  made.kind = random.chance(0.5) ? PoolKind::max : PoolKind::average;
  made.step = std::int64_t{1} << random.integer(0, 4);
  const bool of_three = random.chance(0.4);
  made.window = of_three ? 3 : random.integer(1, 4);
  made.floats = random.integer(1, 70);
  made.floor = random.chance(0.5) ? 0 : -std::numeric_limits<float>::infinity();
  made.from = random.normals(made.floats + made.window * made.step + stack_lanes);
  for (std::int64_t i = random.integer(0, 3); i > 0; --i)
    made.planes.push_back(random.normals(made.floats + stack_lanes));
  for (std::int64_t i = random.integer(0, 3); i > 0; --i)
    made.rows.push_back(random.normals(made.floats + stack_lanes));
  if (of_three) made.rows.assign(2, made.from);
  made.scale = random.normals(stack_lanes);
  made.shift = random.normals(stack_lanes);
  return made;
}

// The rows that a level writes.
struct Written {
  Row plane;
  Row row;
  Row out;
};

// Pools the row. A level's oldest rows give way to the new ones.
Written pooled(const Case& given, const StackKernels& kernels) {
  Case own = given;
  const auto room = static_cast<std::size_t>(own.floats + stack_lanes);
  Written to{Row(room), Row(room), Row(room)};
  std::vector<const float*> planes;
  std::vector<const float*> rows;
  for (const Row& plane : own.planes) planes.push_back(plane.data());
  for (const Row& row : own.rows) rows.push_back(row.data());
  float* const plane_to = own.planes.empty() ? to.plane.data() : own.planes.front().data();
  float* const row_to = own.rows.empty() ? to.row.data() : own.rows.front().data();
  const auto plane_count = static_cast<std::int64_t>(planes.size());
  const auto row_count = static_cast<std::int64_t>(rows.size());
  const PoolStackRow pool = kernels.pool(own.kind, {plane_count + 1, row_count + 1, own.window});
  pool({own.from.data(), own.step, own.window, planes.data(), plane_count, rows.data(), row_count, plane_to, row_to,
        to.out.data(), own.scale.data(), own.shift.data(), own.floor, own.floats});
  if (!own.planes.empty()) to.plane = own.planes.front();
  if (!own.rows.empty()) to.row = own.rows.front();
  return to;
}

double joined(PoolKind kind, double a, double b) { return kind == PoolKind::max ? std::max(a, b) : a + b; }

// Expects float i of each row that was written; errors are small beside numbers of like size.
void expect_float(const Case& given, const Written& written, std::int64_t i, std::int64_t lanes) {
  const auto at = static_cast<std::size_t>(i);
  double value = given.from[at];
  for (std::int64_t d = 1; d < given.window; ++d) {
    value = joined(given.kind, value, given.from[static_cast<std::size_t>(i + d * given.step)]);
  }
  if (!given.planes.empty()) {
    EXPECT_NEAR(written.plane[at], value, 1e-5);
  }
  for (const Row& plane : given.planes) value = joined(given.kind, value, plane[at]);
  if (!given.rows.empty()) {
    EXPECT_NEAR(written.row[at], value, 1e-5);
  }
  for (const Row& row : given.rows) value = joined(given.kind, value, row[at]);
  const auto lane = static_cast<std::size_t>(i % lanes);
  const double scaled = static_cast<double>(given.scale[lane]) * value + static_cast<double>(given.shift[lane]);
  EXPECT_NEAR(written.out[at], std::max(scaled, static_cast<double>(given.floor)), 1e-4) << "float " << i;
}

TEST(StackRows, AreWhatTheirDefinitionSays) {
  for (const int simd_floats : {16, 8}) {
    if (simd_floats > describe_cpu(1).simd_floats) continue;
    const StackKernels& kernels = stack_kernels(simd_floats);
    for (int i = 0; i < test::case_count(200); ++i) {
      test::Random random(test::base_seed() + static_cast<std::uint64_t>(i));
      const Case given = random_case(random);
      const Written written = pooled(given, kernels);
      for (std::int64_t at = 0; at < given.floats; ++at) expect_float(given, written, at, kernels.lanes);
    }
  }
}

TEST(StackRows, NotANumberPassesARectifier) {
  const StackKernels& kernels = stack_kernels(8);
  Case given{PoolKind::max, 1, 1, 8, 0, Row(24, std::numeric_limits<float>::quiet_NaN()), {}, {}, Row(16, 1), Row(16)};
  EXPECT_TRUE(std::isnan(pooled(given, kernels).out.front()));
}

TEST(StackRows, ActivationsAreThoseOfTheirKind) {
  const StackKernels& kernels = stack_kernels(describe_cpu(1).simd_floats);
  Row values = {-1, 2, -3};
  kernels.activate({ActivationKind::leaky_relu, 0.5F}, values.data(), 2);
  EXPECT_EQ(values, (Row{-0.5F, 2, -3}));
}

}  // namespace
}  // namespace znni::cpu
