// Fills for a GPU against what the CPU sets itself, in the memory of a simulated GPU.
#include "server/pipeline/schedule/outside_fills.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "server/pipeline/schedule/outside.hpp"
#include "tests/support/host_sim.hpp"
#include "tests/support/random.hpp"

namespace znni {
namespace {

constexpr float lowest = -std::numeric_limits<float>::infinity();

// What is drawn for a fill.
struct Drawn {
  TensorView view;
  std::vector<Vec3> starts;
  Border border;
  Vec3 whole;
  OutsideKind kind = OutsideKind::zero;
  std::int64_t kept = 0;
};

void fill_on_cpu(const Drawn& drawn, Executor& executor) {
  const auto& [view, starts, border, whole, kind, kept] = drawn;
  if (kind == OutsideKind::edge) return fill_edges(view, starts, border, whole, kept, executor);
  if (kind == OutsideKind::reflect) return fill_reflected(view, starts, border, whole, kept, executor);
  fill_outside(view, starts, border, whole, kind == OutsideKind::lowest ? lowest : 0.0F, executor);
}

std::vector<float> filled_on_gpu(Drawn drawn, const std::vector<float>& values) {
  test::HostSim gpu;
  const Reservation block = gpu.reserve(MemorySpace::device, std::ssize(values) * 4, "tensor").value();
  EXPECT_TRUE(gpu.write(block.data(), std::as_bytes(std::span(values))));
  drawn.view.data = reinterpret_cast<float*>(block.data());
  const std::vector<OutsideFill> fills =
      outside_fills(drawn.view, drawn.starts, drawn.border, drawn.whole, drawn.kind, drawn.kept);
  for (const OutsideFill& fill : fills) EXPECT_TRUE(gpu.fill_outside(Stream::compute, fill));
  std::vector<float> found(values.size());
  EXPECT_TRUE(gpu.read(std::as_writable_bytes(std::span(found)), block.data()));
  return found;
}

void check_drawn(std::uint64_t seed) {
  test::Random random(seed);
  Drawn drawn;
  const Layout layout = random.chance(0.5) ? Layout::planar : Layout::channels_last;
  const Shape5 shape{random.integer(1, 3), random.integer(1, 5), random.vec3(1, 7)};
  std::vector<float> values = random.normals(elements(shape));
  const std::vector<float> before = values;
  drawn.view = dense_view(values.data(), shape, {ElementType::f32, layout});
  drawn.border = {random.vec3(0, 3), random.vec3(0, 3)};
  for (std::int64_t s = 0; s < shape.S; ++s) drawn.starts.push_back(random.vec3(-3, 9));
  drawn.whole = drawn.border.begin + drawn.border.end + random.vec3(1, 9);
  drawn.kind = static_cast<OutsideKind>(seed % 4);
  const bool copies = drawn.kind == OutsideKind::edge || drawn.kind == OutsideKind::reflect;
  if (copies) drawn.kept = random.integer(0, shape.n.z - 1);
  Executor executor(1);
  fill_on_cpu(drawn, executor);
  EXPECT_EQ(filled_on_gpu(drawn, before), values) << "kind " << static_cast<int>(drawn.kind) << ", seed " << seed;
}

TEST(OutsideFills, DoWhatTheCpuDoes) {
  for (int i = 0; i < test::case_count(160); ++i) check_drawn(test::base_seed() + static_cast<std::uint64_t>(i));
}

TEST(OutsideFills, OfAPatchInsideThereAreNone) {
  const TensorView view = dense_view(nullptr, {2, 3, {4, 4, 4}});
  const std::vector<Vec3> starts = {{1, 1, 1}, {3, 2, 1}};
  EXPECT_TRUE(outside_fills(view, starts, {{1, 1, 1}, {1, 1, 1}}, {8, 7, 6}, OutsideKind::zero, 0).empty());
  EXPECT_EQ(outside_fills(view, starts, {{1, 1, 2}, {1, 1, 1}}, {8, 7, 6}, OutsideKind::zero, 0).size(), 2U);
  EXPECT_EQ(outside_fills(view, starts, {{2, 1, 1}, {1, 1, 1}}, {8, 7, 6}, OutsideKind::zero, 0).size(), 1U);
}

}  // namespace
}  // namespace znni
