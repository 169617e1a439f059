#include "server/pipeline/schedule/history.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/host_sim.hpp"
#include "tests/support/random.hpp"

namespace znni {
namespace {

using test::Random;

constexpr Format formats[] = {{},
                              {ElementType::f32, Layout::blocked8},
                              {ElementType::f32, Layout::blocked16},
                              {ElementType::f32, Layout::channels_last}};

std::size_t floats(const Shape5& shape, Format format) {
  return static_cast<std::size_t>(tensor_bytes(shape, format)) / sizeof(float);
}

// Returns a number for every plane of a stream, different for each channel, row and voxel.
float wanted(std::int64_t channel, std::int64_t plane, std::int64_t voxel) {
  if (plane < 0) return 0;
  return static_cast<float>(1 + channel * 10007 + plane * 101 + voxel);
}

// One tensor, filled step after step, with the whole stream beside it to compare with.
class KeptPlanes {
 public:
  KeptPlanes(const Shape5& shape, Format format, std::int64_t planes, std::int64_t runs)
      : shape_(shape),
        planes_(planes),
        runs_(runs),
        data_(floats(shape, format), -1.0F),
        kept_(static_cast<std::size_t>(runs) * floats({shape.S, shape.f, {planes, shape.n.y, shape.n.x}}, format), -2),
        view_(dense_view(data_.data(), shape, format)),
        history_(view_, planes, runs, kept_.data()) {}

  void begin() {
    history_.forget(executor_);
    step_ = 0;
  }

  // Runs once, in two halves: each plane is written once more, that of an earlier step too, before the last are kept.
  void step_in_halves() {
    history_.begin(0);
    const float more = 1000000.0F * static_cast<float>(step_ + 1);
    each([&](std::int64_t s, std::int64_t j, Vec3 at, std::int64_t plane, std::int64_t number) {
      view_.at(s, j, at) = at.z < planes_ ? -3 : wanted(number, plane, at.y * shape_.n.x + at.x);
    });
    history_.put(executor_);
    each([&](std::int64_t s, std::int64_t j, Vec3 at, std::int64_t plane, std::int64_t number) {
      const float own = wanted(number, plane, at.y * shape_.n.x + at.x);
      const float kept = plane < 0 && step_ == 0 ? 0.0F : 1000000.0F * static_cast<float>(step_) + own;
      ASSERT_EQ(view_.at(s, j, at), at.z < history_.planes() ? kept : own) << "step " << step_ << " plane " << at.z;
      view_.at(s, j, at) = own + more;
    });
    history_.keep(executor_);
    ++step_;
  }

  void step() {
    history_.begin(0);
    for (std::int64_t run = 0; run < runs_; ++run) {
      each([&](std::int64_t s, std::int64_t j, Vec3 at, std::int64_t plane, std::int64_t number) {
        view_.at(s, j, at) = at.z < planes_ ? -3 : wanted(number + 1000 * run, plane, at.y * shape_.n.x + at.x);
      });
      history_.roll(executor_);
      each([&](std::int64_t s, std::int64_t j, Vec3 at, std::int64_t plane, std::int64_t number) {
        ASSERT_EQ(view_.at(s, j, at), wanted(number + 1000 * run, plane, at.y * shape_.n.x + at.x))
            << "step " << step_ << " run " << run << " plane " << at.z;
      });
    }
    ++step_;
  }

 private:
  // Calls an action for every voxel, with the plane of the stream and the number of its channel.
  template <class Action>
  void each(const Action& action) {
    const std::int64_t first = step_ * (shape_.n.z - planes_) - planes_;
    for (std::int64_t number = 0; number < shape_.S * shape_.f; ++number) {
      for (std::int64_t i = 0; i < voxels(shape_.n); ++i) {
        const Vec3 at = {i / (shape_.n.y * shape_.n.x), i / shape_.n.x % shape_.n.y, i % shape_.n.x};
        action(number / shape_.f, number % shape_.f, at, first + at.z, number);
      }
    }
  }

  Executor executor_{2};
  Shape5 shape_;
  std::int64_t planes_;
  std::int64_t runs_;
  std::vector<float> data_;
  std::vector<float> kept_;
  TensorView view_;
  History history_;
  std::int64_t step_ = 0;
};

TEST(History, KeepsTheLastPlanesOfEveryRunInAnyLayout) {
  for (int i = 0; i < test::case_count(40); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const std::int64_t planes = random.integer(1, 5);
    const Shape5 shape{random.integer(1, 3), random.integer(1, 20), {planes + random.integer(1, 4), 2, 3}};
    const Format format = formats[random.integer(0, 3)];
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + ", " + to_string(shape) + " " + to_string(format));
    KeptPlanes stream(shape, format, planes, random.integer(1, 3));
    for (int streams = 0; streams < 2; ++streams) {
      stream.begin();
      for (int step = 0; step < 4; ++step) stream.step();
    }
  }
}

TEST(History, KeepsWhatIsChangedBetweenItsHalves) {
  for (const Format format : formats) {
    for (const std::int64_t more : {1, 4}) {  // fewer new planes than are kept, and more
      KeptPlanes stream({2, 9, {3 + more, 2, 3}}, format, 3, 1);
      stream.begin();
      for (int step = 0; step < 4; ++step) stream.step_in_halves();
    }
  }
}

TEST(History, LargeOnesAreSharedOut) {
  KeptPlanes stream({2, 3, {5, 60, 150}}, {}, 3, 2);
  stream.begin();
  for (int step = 0; step < 2; ++step) stream.step();
}

TEST(History, OnesLargerThanCachesAreCopiedPastThem) {
  KeptPlanes stream({1, 4, {7, 400, 401}}, {}, 2, 1);
  stream.begin();
  for (int step = 0; step < 2; ++step) stream.step();
}

// In device memory, out of the host's reach and poisoned, in the order of the compute stream whatever else is under
// way.
TEST(History, OnAnAcceleratorIsWhatItIsInHostMemory) {
  for (int i = 0; i < test::case_count(20); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    const std::int64_t planes = random.integer(1, 5);
    const std::int64_t runs = random.integer(1, 3);
    const Shape5 shape{random.integer(1, 3), random.integer(1, 4), {planes + random.integer(1, 4), 2, 3}};
    const std::size_t count = floats(shape, {});
    std::vector<float> on_host(count);
    std::vector<float> kept(static_cast<std::size_t>(runs * planes) * count, -1.0F);
    test::HostSimOptions options;
    options.seed = seed;
    test::HostSim gpu(options);
    const Reservation tensor = std::move(gpu.reserve(MemorySpace::device, std::ssize(on_host) * 4, "tensor").value());
    const Reservation own = std::move(gpu.reserve(MemorySpace::device, std::ssize(kept) * 4, "kept").value());
    auto* const on_device = reinterpret_cast<float*>(tensor.data());
    Executor executor(1);
    History host(dense_view(on_host.data(), shape), planes, runs, kept.data());
    History device(dense_view(nullptr, shape), planes, runs, reinterpret_cast<float*>(own.data()));
    host.forget(executor);
    ASSERT_TRUE(device.forget(gpu));
    for (int step = 0; step < 4; ++step) {
      for (std::int64_t run = runs - 1; run >= 0; --run) {  // in any order
        on_host = random.normals(std::ssize(on_host));
        ASSERT_TRUE(gpu.write(tensor.data(), std::as_bytes(std::span(on_host))));
        for (History* const history : {&host, &device}) history->begin(run);
        host.move_to(on_host.data());
        device.move_to(on_device);
        host.roll(executor);
        ASSERT_TRUE(device.roll(gpu));
        std::vector<float> found(count);
        ASSERT_TRUE(gpu.read(std::as_writable_bytes(std::span(found)), tensor.data()));
        ASSERT_EQ(found, on_host) << "step " << step << " run " << run;
      }
    }
  }
}

}  // namespace
}  // namespace znni
