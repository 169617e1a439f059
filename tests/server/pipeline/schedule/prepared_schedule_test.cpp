#include "server/pipeline/schedule/prepared_schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/oracle_primitive.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/server/pipeline/split_plan.hpp"
#include "tests/server/pipeline/streams.hpp"
#include "tests/support/host_sim.hpp"
#include "tests/support/layout.hpp"

namespace znni {
namespace {

using test::Random;
using testing::HasSubstr;

class PreparedScheduleOfRung : public testing::Test {
 protected:
  PreparedScheduleOfRung() {
    const Backend* const rows[] = {&test::oracle_backend()};
    catalogue_ = Catalogue::make(rows).value();
  }

  RungDesign design(const Network& network, std::uint64_t seed = 1, bool streamed = false) {
    Random random(seed);
    const std::optional<GeometryChoice> stream = streamed ? test::random_stream(network, random) : std::nullopt;
    const GeometryChoice choice = stream ? *stream : test::random_choice(network, random, 2);
    plan_ = test::hand_plan(network, {choice}, catalogue_, device_->spec(), random).value();
    Result<RungDesign> made = design_rung(network, plan_.ladder[0], catalogue_, device_->spec());
    ensure(made.has_value(), made ? "" : made.error().message);
    return std::move(*made);
  }

  static void fill(const TensorView& input) {
    for (std::int64_t channel = 0; channel < input.shape.S * input.shape.f; ++channel) {
      std::fill_n(input.channel(channel / input.shape.f, channel % input.shape.f), voxels(input.shape.n), 0.5F);
    }
  }

  std::unique_ptr<Device> device_ = test::host_device(std::int64_t{1} << 30);
  Catalogue catalogue_;
  Plan plan_;
};

TEST_F(PreparedScheduleOfRung, EveryArenaReachesExactlyWhatItsCallDeclared) {
  for (int i = 0; i < test::case_count(20); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    const Network network = test::random_network(random, 12);
    const NetworkWeights weights = random_weights(network, seed);
    RungDesign made = design(network, seed, i % 2 == 1);
    const std::size_t calls = made.whole.schedule.calls.size();
    const Result<Reservation> block = device_->reserve(MemorySpace::host, made.packing.bytes, "test");
    Result<PreparedSchedule> rung =
        PreparedSchedule::open(std::move(made), weights, block->data(), *device_, test::nans);
    ASSERT_TRUE(rung) << rung.error().message;
    EXPECT_EQ(rung->persistent_bytes(), plan_.memory.persistent);
    EXPECT_EQ(block->bytes(), plan_.memory.transient);
    fill(rung->input());
    ASSERT_TRUE(rung->run_pass(0, {}));
    ASSERT_EQ(rung->call_memory().size(), calls);
    for (const PreparedSchedule::CallMemory& call : rung->call_memory()) {
      EXPECT_EQ(call.high_water, call.declared_peak);
    }
  }
}

TEST_F(PreparedScheduleOfRung, ScratchThatIsPoisonedBetweenCallsDoesNotReachTheOutput) {
  const Network network = test::simple_network(2);
  const NetworkWeights weights = random_weights(network, 1);
  RungDesign made = design(network);
  const Result<Reservation> block = device_->reserve(MemorySpace::host, made.packing.bytes, "test");
  Result<PreparedSchedule> rung = PreparedSchedule::open(std::move(made), weights, block->data(), *device_, test::nans);
  ASSERT_TRUE(rung);
  for (int run = 0; run < 2; ++run) {
    std::fill_n(rung->input().data, elements(rung->input().shape), 1.0F);
    ASSERT_TRUE(rung->run_pass(0, {}));
    const float* out = rung->output().data;
    EXPECT_TRUE(std::all_of(out, out + elements(rung->output().shape), [](float x) { return std::isfinite(x); }));
  }
}

TEST_F(PreparedScheduleOfRung, TensorsLieInsideTheBlockAndOpeningLeavesItAlone) {
  const Network network = test::simple_network(2);
  const NetworkWeights weights = random_weights(network, 1);
  RungDesign made = design(network);
  const Result<Reservation> block = device_->reserve(MemorySpace::host, made.packing.bytes, "test");
  Result<PreparedSchedule> rung = PreparedSchedule::open(std::move(made), weights, block->data(), *device_);
  ASSERT_TRUE(rung);
  EXPECT_TRUE(std::all_of(block->data(), block->data() + block->bytes(), [](std::byte x) { return x == std::byte{}; }));
  for (const TensorView& tensor : {rung->input(), rung->output()}) {
    const auto* first = reinterpret_cast<const std::byte*>(tensor.data);
    EXPECT_GE(first, block->data());
    EXPECT_LE(first + tensor_bytes(tensor.shape, tensor.format), block->data() + block->bytes());
  }
}

TEST_F(PreparedScheduleOfRung, StopsBetweenCalls) {
  const Network network = test::simple_network(1);
  const NetworkWeights weights = random_weights(network, 1);
  RungDesign made = design(network);
  const Result<Reservation> block = device_->reserve(MemorySpace::host, made.packing.bytes, "test");
  Result<PreparedSchedule> rung = PreparedSchedule::open(std::move(made), weights, block->data(), *device_);
  ASSERT_TRUE(rung);
  std::stop_source stop;
  stop.request_stop();
  const Result<void> ran = rung->run_pass(0, stop.get_token());
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::cancelled);
}

TEST_F(PreparedScheduleOfRung, RefusesWhenPersistentMemoryIsNotThere) {
  const Network network = test::simple_network(1);
  const NetworkWeights weights = random_weights(network, 1);
  RungDesign made = design(network);
  std::vector<std::byte> block(static_cast<std::size_t>(made.packing.bytes) + 64);
  const std::unique_ptr<Device> tight = test::host_device(plan_.memory.persistent - 1);
  const Result<PreparedSchedule> rung = PreparedSchedule::open(std::move(made), weights, block.data(), *tight);
  ASSERT_FALSE(rung);
  EXPECT_EQ(rung.error().code, ErrorCode::over_budget);
  EXPECT_THAT(rung.error().message, HasSubstr("bias copy"));
}

class PreparedScheduleInPlace : public PreparedScheduleOfRung {
 protected:
  // Opens a rung on primitives of a back end.
  PreparedSchedule open(const Backend& backend, const GeometryChoice& choice) {
    const Backend* const rows[] = {&backend};
    catalogue_ = Catalogue::make(rows).value();
    Random random(1);
    plan_ = test::hand_plan(network_, {choice}, catalogue_, device_->spec(), random).value();
    RungDesign made = design_rung(network_, plan_.ladder[0], catalogue_, device_->spec()).value();
    block_ = device_->reserve(MemorySpace::host, made.packing.bytes, "test").value();
    return PreparedSchedule::open(std::move(made), weights_, block_.data(), *device_).value();
  }

  // Returns a tensor in a volume of its own.
  TensorView in_volume(const Shape5& shape) {
    test::Window window = test::plane_major_window(shape);
    volumes_.emplace_back(static_cast<std::size_t>(window.elements));
    window.view.data = volumes_.back().data();
    return window.view;
  }

  Network network_ = test::simple_network(1);
  NetworkWeights weights_ = random_weights(network_, 1);
  GeometryChoice choice_ = test::choice_of(network_, PoolMode::fragments, 0);
  Reservation block_;
  std::vector<std::vector<float>> volumes_;
};

TEST_F(PreparedScheduleInPlace, ReadsAndWritesVolumesUntilItIsTurnedBack) {
  PreparedSchedule rung = open(test::in_place_backend(), choice_);
  ASSERT_TRUE(rung.reads_volumes() && rung.writes_volumes());
  Random random(2);
  const std::vector<float> voxels = random.normals(elements(rung.input().shape));
  test::store(voxels, rung.input());
  ASSERT_TRUE(rung.run_pass(0, {}));
  const std::vector<float> wanted = test::load(rung.output());

  test::nans({block_.data(), static_cast<std::size_t>(block_.bytes())}, MemorySpace::host);
  const TensorView own = rung.output();
  const TensorView input = in_volume(rung.input().shape);
  const TensorView output = in_volume(own.shape);
  test::store(voxels, input);
  rung.redirect(&input, &output);
  EXPECT_EQ(rung.output().data, output.data);
  ASSERT_TRUE(rung.run_pass(0, {}));
  EXPECT_EQ(test::load(output), wanted);

  rung.redirect(&input, nullptr);
  ASSERT_TRUE(rung.run_pass(0, {}));
  EXPECT_EQ(rung.output().data, own.data);
  EXPECT_EQ(test::load(own), wanted);

  std::fill(volumes_[0].begin(), volumes_[0].end(), std::nanf(""));
  rung.redirect(nullptr, nullptr);
  test::store(voxels, rung.input());
  ASSERT_TRUE(rung.run_pass(0, {}));
  EXPECT_EQ(test::load(rung.output()), wanted);
}

TEST_F(PreparedScheduleInPlace, AsksItsPrimitives) {
  const PreparedSchedule rung = open(test::oracle_backend(), choice_);
  EXPECT_FALSE(rung.reads_volumes() || rung.writes_volumes());
}

TEST_F(PreparedScheduleInPlace, StreamsKeepTheirOwnTensors) {
  GeometryChoice choice = choice_;
  choice.pass_input.z = 4;
  choice.streamed = true;
  const PreparedSchedule rung = open(test::in_place_backend(), choice);
  EXPECT_FALSE(rung.reads_volumes() || rung.writes_volumes());
}

class PreparedScheduleOfSegment : public testing::Test {
 protected:
  [[nodiscard]] SegmentDesign part(int theta, std::size_t which) const {
    const GeometryChoice choice = test::choice_of(network_, PoolMode::fragments, 0);
    const Rung rung = test::split_rung(network_, choice, theta, 0, cpu_->spec(), test::host_sim_spec()).value();
    return std::move(take_apart(network_, rung, test::split_catalogue(), {cpu_->spec(), test::host_sim_spec()})
                         .value()
                         .segments[which]);
  }

  std::unique_ptr<Device> cpu_ = test::host_device(std::int64_t{1} << 28);
  Network network_ = test::simple_network(1);
  NetworkWeights weights_ = random_weights(network_, 3);
};

TEST_F(PreparedScheduleOfSegment, ReservesWhatItsScheduleDeclaresAndGivesItBack) {
  test::HostSim gpu;
  {
    const SegmentDesign design = part(1, 1);
    const std::int64_t persistent = persistent_bytes(design.schedule.memory, MemorySpace::device);
    const std::int64_t transient = pack(design.schedule.memory, MemorySpace::device).bytes;
    ASSERT_TRUE(PreparedSchedule::open(design, weights_, {gpu, &gpu}));
    const Result<PreparedSchedule> segment = PreparedSchedule::open(design, weights_, {gpu, &gpu});
    ASSERT_TRUE(segment) << segment.error().message;
    EXPECT_GE(gpu.reserved(MemorySpace::device), persistent + transient);
    EXPECT_LE(gpu.reserved(MemorySpace::device), persistent + transient + 64 * 8);
    EXPECT_EQ(gpu.reserved(MemorySpace::pinned), 0);
  }
  EXPECT_EQ(gpu.reserved(MemorySpace::device), 0);
}

TEST_F(PreparedScheduleOfSegment, StopsBetweenLayersAndFailsWithoutMemory) {
  Result<PreparedSchedule> head = PreparedSchedule::open(part(1, 0), weights_, *cpu_);
  ASSERT_TRUE(head);
  std::stop_source stop;
  stop.request_stop();
  std::vector<float> in(static_cast<std::size_t>(elements(head->design().micro_batch_input())));
  std::vector<float> out(static_cast<std::size_t>(elements(head->design().micro_batch_output())));
  const TensorView output = dense_view(out.data(), head->design().micro_batch_output());
  EXPECT_EQ(head->run_micro_batch(in.data(), output, 0, stop.get_token()).error().code, ErrorCode::cancelled);
  EXPECT_TRUE(head->run_micro_batch(in.data(), output, 0, {}));

  test::HostSimOptions options;
  options.device_budget = 1024;
  test::HostSim small(options);
  const Result<PreparedSchedule> tail = PreparedSchedule::open(part(1, 1), weights_, {small, &small});
  ASSERT_FALSE(tail);
  EXPECT_EQ(tail.error().code, ErrorCode::over_budget);
}

// The head computes at the same time, and its executor takes one job at a time.
TEST_F(PreparedScheduleOfSegment, StreamsThroughHostRamWhileTheCpuComputes) {
  network_ = test::simple_network(0);
  weights_ = random_weights(network_, 3);
  test::HostSim gpu;
  test::Random random(1);
  const GeometryChoice choice = test::stream_of(network_, 2, 200);
  const int nodes = static_cast<int>(network_.nodes.size());
  const Rung rung = test::rung_of_three(network_, choice, 0, nodes, cpu_->spec(), gpu.spec(), random).value();
  RungSegments parts = take_apart(network_, rung, test::split_catalogue(), {cpu_->spec(), gpu.spec()}).value();
  Result<PreparedSchedule> segment = PreparedSchedule::open(parts.segments[0], weights_, {*cpu_, &gpu});
  ASSERT_TRUE(segment) << segment.error().message;
  const Schedule& schedule = segment->design().schedule;
  ASSERT_FALSE(schedule.histories.empty());
  ASSERT_GT(schedule.memory[static_cast<std::size_t>(schedule.histories[0].buffer)].bytes, 1 << 18)
      << "larger than what one thread copies alone";
  std::vector<float> in(static_cast<std::size_t>(elements(segment->design().micro_batch_tensor())));
  std::vector<float> out(static_cast<std::size_t>(elements(segment->design().micro_batch_output())));
  const TensorView output = dense_view(out.data(), segment->design().micro_batch_output());
  cpu_->executor().parallel_for(1, [&](std::int64_t, int) {
    EXPECT_TRUE(segment->forget(true));
    EXPECT_TRUE(segment->run_micro_batch(in.data(), output, 0, {}));
  });
  const std::vector<float> all_nodes = out;
  std::fill(out.begin(), out.end(), 7.0F);
  EXPECT_TRUE(segment->forget(false));
  EXPECT_TRUE(segment->run_micro_batch(in.data(), output, 0, {}));
  EXPECT_EQ(out, all_nodes) << "groups run every node, whatever the rungs of a stream leave out";
}

}  // namespace
}  // namespace znni
