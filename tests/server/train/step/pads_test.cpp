#include "server/train/step/pads.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "tests/support/cpu.hpp"
#include "tests/support/layout.hpp"
#include "tests/support/random.hpp"

namespace znni {
namespace {

using test::Random;

// A tensor that owns its memory; padding channels are zeros.
struct Owned {
  std::vector<float> block;
  TensorView view;

  Owned(const Shape5& shape, Format format) : block(static_cast<std::size_t>(tensor_bytes(shape, format) / 4), 0.0F) {
    view = dense_view(block.data(), shape, format);
  }
};

bool copies_voxels(const PadProblem& pad) { return pad.kind == OutsideKind::edge || pad.kind == OutsideKind::reflect; }

// A value has the voxels that its padding reflects.
PadProblem random_pad(OutsideKind kind, Random& random) {
  const Shape5 in{random.integer(1, 2), random.integer(1, 20), random.vec3(1, 6)};
  const Vec3 most = kind == OutsideKind::reflect ? in.n - Vec3::cube(1) : Vec3::cube(3);
  return {in, {min(random.vec3(0, 3), most), min(random.vec3(0, 3), most)}, kind};
}

// Returns the voxel of the value of which a place, outside or not, is a copy, along each axis.
Vec3 source_of(OutsideKind kind, Vec3 at, Vec3 n) {
  if (kind != OutsideKind::reflect) return max({}, min(at, n - Vec3::cube(1)));
  for (int axis = 0; axis < 3; ++axis) at[axis] = n[axis] - 1 - std::abs(n[axis] - 1 - std::abs(at[axis]));
  return at;
}

std::int64_t place(const Shape5& shape, std::int64_t channel, Vec3 v) {
  return ((channel * shape.n.z + v.z) * shape.n.y + v.y) * shape.n.x + v.x;
}

// Calls body(place of a voxel with padding, place of the voxel that it copies, is it padding).
template <class Body>
void for_each_padded(const PadProblem& pad, const Body& body) {
  const Shape5 whole = padded_shape(pad);
  for (std::int64_t at = 0; at < elements(whole); ++at) {
    const std::int64_t i = at % voxels(whole.n);
    const Vec3 v = Vec3{i / (whole.n.y * whole.n.x), i / whole.n.x % whole.n.y, i % whole.n.x} - pad.around.begin;
    const Vec3 source = source_of(pad.kind, v, pad.in.n);
    body(static_cast<std::size_t>(at), static_cast<std::size_t>(place(pad.in, at / voxels(whole.n), source)),
         v != source);
  }
}

std::vector<float> padded_exactly(const PadProblem& pad, const std::vector<float>& in) {
  std::vector<float> out(static_cast<std::size_t>(elements(padded_shape(pad))));
  const float fill = pad.kind == OutsideKind::zero ? 0.0F : -std::numeric_limits<float>::infinity();
  for_each_padded(pad, [&](std::size_t at, std::size_t from, bool is_padding) {
    out[at] = is_padding && !copies_voxels(pad) ? fill : in[from];
  });
  return out;
}

std::vector<double> gradient_exactly(const PadProblem& pad, const std::vector<float>& of_padded) {
  std::vector<double> sums(static_cast<std::size_t>(elements(pad.in)), 0.0);
  for_each_padded(pad, [&](std::size_t at, std::size_t from, bool is_padding) {
    if (!is_padding || copies_voxels(pad)) sums[from] += static_cast<double>(of_padded[at]);
  });
  return sums;
}

const std::vector<Format> formats = {
    {ElementType::f32, Layout::planar}, {ElementType::f32, Layout::blocked8}, {ElementType::f32, Layout::blocked16}};

// Calls body(pad, format, random, executor) for random pads of each kind.
template <class Body>
void for_random_pads(const Body& body) {
  for (const OutsideKind kind : {OutsideKind::zero, OutsideKind::lowest, OutsideKind::edge, OutsideKind::reflect}) {
    for (int i = 0; i < test::case_count(8); ++i) {
      const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
      SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)) + ", ZNNI_TEST_SEED=" + std::to_string(seed));
      Random random(seed);
      const PadProblem pad = random_pad(kind, random);
      const std::unique_ptr<Device> device = test::open_cpu(1 + i % 3);
      for (const Format format : formats) body(pad, format, random, device->executor());
    }
  }
}

TEST(Pads, StandAroundTheValue) {
  for_random_pads([](const PadProblem& pad, Format format, Random& random, Executor& executor) {
    const std::vector<float> in = random.normals(elements(pad.in));
    const Owned from(pad.in, format);
    const Owned to(padded_shape(pad), format);
    test::store(in, from.view);
    write_padded(pad, from.view, to.view, executor);
    EXPECT_EQ(test::load(to.view), padded_exactly(pad, in));
  });
}

TEST(Pads, GradientsAreThoseOfAllCopiesOfAVoxel) {
  for_random_pads([](const PadProblem& pad, Format format, Random& random, Executor& executor) {
    const std::vector<float> of_padded = random.normals(elements(padded_shape(pad)));
    const Owned from(padded_shape(pad), format);
    const Owned to(pad.in, format);
    test::store(of_padded, from.view);
    write_pad_gradient(pad, from.view, to.view, executor);
    const std::vector<float> found = test::load(to.view);
    const std::vector<double> exact = gradient_exactly(pad, of_padded);
    ASSERT_EQ(found.size(), exact.size());
    for (std::size_t i = 0; i < exact.size(); ++i) ASSERT_NEAR(static_cast<double>(found[i]), exact[i], 1e-5);
  });
}

// Of two voxels along x the padding wants the third, and the fourth: what is there is zero, and passes nothing back.
TEST(Pads, WhatReflectsNoVoxelIsZero) {
  const PadProblem pad{{1, 1, {1, 1, 2}}, {{}, {0, 0, 3}}, OutsideKind::reflect};
  const std::unique_ptr<Device> device = test::open_cpu(1);
  const Owned from(pad.in, {});
  const Owned to(padded_shape(pad), {});
  test::store(std::vector<float>{2, 3}, from.view);
  write_padded(pad, from.view, to.view, device->executor());
  EXPECT_EQ(test::load(to.view), (std::vector<float>{2, 3, 2, 0, 0}));
  test::store(std::vector<float>{1, 10, 100, 1000, 10000}, to.view);
  write_pad_gradient(pad, to.view, from.view, device->executor());
  EXPECT_EQ(test::load(from.view), (std::vector<float>{101, 10}));
}

TEST(Pads, TheInsideIsAViewOfTheSameMemory) {
  const Owned whole({1, 2, {3, 4, 5}}, {});
  const TensorView inside = inside_of(whole.view, {{1, 0, 2}, {1, 1, 0}});
  EXPECT_EQ(inside.shape, (Shape5{1, 2, {1, 3, 3}}));
  EXPECT_EQ(&inside.at(0, 1, {0, 2, 1}), &whole.view.at(0, 1, {1, 2, 3}));
}

}  // namespace
}  // namespace znni
