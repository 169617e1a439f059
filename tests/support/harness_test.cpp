#include "tests/support/harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <type_traits>

#include "primitives/core/volume_layer.hpp"
#include "tests/support/layout.hpp"

// Checks that the harness finds faults: it must catch primitives with one fault each.
namespace znni::test {
namespace {

enum class Fault {
  none,
  wrong_value,
  outside_of_window,
  dirty_padding,
  scratch_unused,
  scratch_read_before_written,
  input_read_too_late,
  changes_its_mind,
  unfinished,
  no_volumes,
  writes_to_input,
};

class HostDevice final : public Device {
 public:
  [[nodiscard]] const DeviceSpec& spec() const override { return spec_; }
  [[nodiscard]] Executor& executor() override { return executor_; }
  [[nodiscard]] Result<Reservation> reserve(MemorySpace, std::int64_t, std::string_view) override {
    return Error{ErrorCode::over_budget, "this device has no memory"};
  }
  [[nodiscard]] std::int64_t budget(MemorySpace) const override { return 0; }
  [[nodiscard]] std::int64_t reserved(MemorySpace) const override { return 0; }

 private:
  void give_back(MemorySpace, std::span<std::byte>) override {}
  DeviceSpec spec_;
  Executor executor_{1};
};

// Describes relu in two stages: the input is copied to scratch, then scratch to the output.
template <Layout layout>
Result<std::vector<Estimate>> describe_relu(const LayerProblem& problem, const DeviceSpec&) {
  const Format format{ElementType::f32, layout};
  const std::int64_t bytes = tensor_bytes(input_shape(problem, 0), format);
  Estimate estimate;
  estimate.in = format;
  estimate.out = format;
  estimate.time = 1.0;
  estimate.memory = {{"input 0", MemorySpace::host, bytes, Lifetime::stages(0, 0)},
                     {"scratch", MemorySpace::host, bytes, Lifetime::stages(0, 1)},
                     {"more", MemorySpace::host, bytes, Lifetime::stages(1, 1)},
                     {"output", MemorySpace::host, bytes, Lifetime::stages(1, 1)}};
  return std::vector<Estimate>{estimate};
}

template <Fault fault, class Base>
class Faulty final : public Base {
 public:
  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    ++runs_;
    const std::span<float> scratch = arena.grant_as<float>("scratch");
    std::vector<float> values = load(inputs[0]);
    const bool is_volume = inputs[0].strides.z > inputs[0].strides.f;
    if (fault == Fault::no_volumes && is_volume) values = load(dense_view(inputs[0].data, inputs[0].shape));
    if (fault == Fault::writes_to_input) inputs[0].data[0] = 7.0F;
    if (fault != Fault::scratch_read_before_written) std::copy(values.begin(), values.end(), scratch.begin());
    arena.stage(1);
    if (fault != Fault::scratch_unused) static_cast<void>(arena.grant("more"));
    if (fault == Fault::input_read_too_late) values = load(inputs[0]);
    if (fault != Fault::input_read_too_late) std::copy_n(scratch.begin(), values.size(), values.begin());
    for (float& value : values) value = std::max(value, 0.0F) + (value != value ? value : 0.0F);
    if (fault == Fault::wrong_value) values.back() += 0.25F;
    if (fault == Fault::changes_its_mind && runs_ > 1) values.back() += 0.25F;
    if (fault == Fault::unfinished) return Error{ErrorCode::internal, "gave up"};
    store(values, out);
    if (fault == Fault::outside_of_window) (&out.at(0, 0, {0, 0, out.shape.n.x - 1}))[8] = 1.0F;
    if (fault == Fault::dirty_padding) out.channel(0, 0)[7] = 1.0F;
    return {};
  }

 private:
  int runs_ = 0;
};

template <Fault fault, class Base>
Result<std::unique_ptr<PreparedLayer>> prepare_layer(const LayerProblem&, const Estimate&, const LayerWeights&, Arena&,
                                                     Device&) {
  return std::unique_ptr<PreparedLayer>(std::make_unique<Faulty<fault, Base>>());
}

// Returns all failure messages of check_primitive() on a relu of 5 channels. A planar one takes volumes.
template <Fault fault, Layout layout = Layout::blocked8>
std::string failures() {
  using Base = std::conditional_t<layout == Layout::planar, VolumeLayer, PreparedLayer>;
  const Primitive primitive{"test.faulty", 1, DeviceKind::cpu, &describe_relu<layout>, &prepare_layer<fault, Base>};
  HostDevice device;
  ::testing::TestPartResultArray results;
  {
    const ::testing::ScopedFakeTestPartResultReporter reporter(&results);
    check_primitive(primitive, ActivationProblem{{2, 5, {2, 3, 4}}, {ActivationKind::relu, 0}}, device, 1);
  }
  std::string all;
  for (int i = 0; i < results.size(); ++i) all += std::string(results.GetTestPartResult(i).message()) + "\n";
  return all;
}

TEST(Harness, PassesAPrimitiveWithoutFault) { EXPECT_EQ(failures<Fault::none>(), ""); }

TEST(Harness, CatchesEveryFault) {
  EXPECT_THAT(failures<Fault::wrong_value>(), ::testing::HasSubstr("should be"));
  EXPECT_THAT(failures<Fault::outside_of_window>(), ::testing::HasSubstr("wrote outside of its output window"));
  EXPECT_THAT(failures<Fault::dirty_padding>(), ::testing::HasSubstr("padding channels are not zero"));
  EXPECT_THAT(failures<Fault::scratch_unused>(), ::testing::HasSubstr("memory held is not the memory declared"));
  EXPECT_THAT(failures<Fault::scratch_read_before_written>(), ::testing::HasSubstr("nan, should be"));
  EXPECT_THAT(failures<Fault::input_read_too_late>(), ::testing::HasSubstr("nan, should be"));
  EXPECT_THAT(failures<Fault::changes_its_mind>(), ::testing::HasSubstr("a second run gave other bits"));
  EXPECT_THAT(failures<Fault::unfinished>(), ::testing::HasSubstr("gave up"));
  EXPECT_THAT(failures<Fault::writes_to_input>(), ::testing::HasSubstr("wrote to its input"));
}

TEST(Harness, LaysTensorsAsVolumesWhereAPrimitiveTakesThem) {
  EXPECT_EQ((failures<Fault::none, Layout::planar>()), "");
  const std::string message = failures<Fault::no_volumes, Layout::planar>();
  EXPECT_THAT(message, ::testing::AllOf(::testing::HasSubstr("in volumes"), ::testing::HasSubstr("should be")));
  EXPECT_THAT(message, ::testing::Not(::testing::HasSubstr("separate")));
  EXPECT_EQ(failures<Fault::no_volumes>(), "");
}

TEST(Harness, AFailureNamesPrimitiveProblemFormatsAndSeed) {
  const std::string message = failures<Fault::wrong_value>();
  for (const char* part :
       {"test.faulty", "activation 2x5x2x3x4, relu", "f32:blocked8 -> f32:blocked8", "ZNNI_TEST_SEED=1"}) {
    EXPECT_THAT(message, ::testing::HasSubstr(part));
  }
}

}  // namespace
}  // namespace znni::test
