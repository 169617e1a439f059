#include "tests/server/pipeline/oracle_primitive.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "primitives/core/volume_layer.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/oracle/stacks.hpp"
#include "tests/support/layout.hpp"

namespace znni::test {
namespace {

Result<std::vector<Estimate>> describe_any(const LayerProblem& problem, const DeviceSpec&) {
  if (std::holds_alternative<ReorderProblem>(problem)) return Error{ErrorCode::unsupported, "planar only"};
  if (Result<void> checked = check(problem); !checked) return checked.error();
  Estimate estimate;
  estimate.time = 1e-9 * direct_flops(problem) + 1e-6;
  estimate.memory = input_output_buffers(problem, {}, {}, 1);
  estimate.memory.push_back({"doubled", MemorySpace::host, 100, Lifetime::stages(0, 0)});
  estimate.memory.push_back({"halved", MemorySpace::host, 1000, Lifetime::stages(1, 1)});
  estimate.memory.push_back({"bias copy", MemorySpace::host, 24, Lifetime::plan()});
  return std::vector<Estimate>{estimate};
}

template <class Base>
class OracleLayer final : public Base {
 public:
  OracleLayer(LayerProblem problem, const LayerWeights& weights, bool fails)
      : problem_(std::move(problem)), weights_(weights), fails_(fails) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    if (fails_) return Error{ErrorCode::device_failure, "it was made to fail"};
    static_cast<void>(arena.grant("doubled"));
    arena.stage(1);
    static_cast<void>(arena.grant("halved"));
    std::vector<oracle::Values> values;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      values.push_back(load_exactly(inputs[i], input_shape(problem_, static_cast<int>(i))));
    }
    const auto* const stack = std::get_if<StackProblem>(&problem_);
    store_rounded(stack == nullptr ? oracle::oracle_run(problem_, values, weights_)
                                   : oracle::stacked(*stack, values.front(), weights_, starts_, whole_),
                  out);
    return {};
  }

  void place(std::span<const Vec3> starts, Vec3 whole) override {
    starts_.assign(starts.begin(), starts.end());
    whole_ = whole;
  }

 private:
  LayerProblem problem_;
  LayerWeights weights_;
  bool fails_;
  std::vector<Vec3> starts_;
  Vec3 whole_;
};

template <bool fails, class Base = PreparedLayer>
Result<std::unique_ptr<PreparedLayer>> prepare(const LayerProblem& problem, const Estimate&,
                                               const LayerWeights& weights, Arena& persistent, Device&) {
  const std::span<std::byte> copy = persistent.grant("bias copy");
  ensure(copy.size() == 24, "the declared bytes");
  std::memset(copy.data(), 1, copy.size());
  return std::unique_ptr<PreparedLayer>(std::make_unique<OracleLayer<Base>>(problem, weights, fails));
}

constinit const Primitive oracle_primitive{"test.oracle", 1, DeviceKind::cpu, describe_any, prepare<false>};
constinit const Primitive in_place_primitive{"test.in_place", 1, DeviceKind::cpu, describe_any,
                                             prepare<false, VolumeLayer>};
constinit const Primitive failing_primitive{"test.failing", 1, DeviceKind::cpu, describe_any, prepare<true>};

// Two workers and the memory of another device.
class HostSocket final : public Device {
 public:
  explicit HostSocket(Device& whole) : whole_(whole), spec_(of_one_socket(whole.spec())) {}

  const DeviceSpec& spec() const override { return spec_; }
  Executor& executor() override { return executor_; }
  Result<Reservation> reserve(MemorySpace space, std::int64_t bytes, std::string_view purpose) override {
    return whole_.reserve(space, bytes, purpose);
  }
  std::int64_t budget(MemorySpace space) const override { return whole_.budget(space); }
  std::int64_t reserved(MemorySpace space) const override { return whole_.reserved(space); }

 private:
  void give_back(MemorySpace, std::span<std::byte>) override {}  // nothing is reserved here

  Device& whole_;
  DeviceSpec spec_;
  Executor executor_{2};
};

class HostDevice final : public Device {
 public:
  HostDevice(std::int64_t budget, std::byte fill, int sockets)
      : budget_(budget), fill_(fill), drivers_(sockets), executor_(2 * sockets) {
    spec_.name = "test host";
    spec_.threads = executor_.workers();
    spec_.sockets = sockets;
    for (int i = 0; i < sockets && sockets > 1; ++i) sockets_.push_back(std::make_unique<HostSocket>(*this));
  }
  ~HostDevice() override { ensure(blocks_.empty(), "a reservation outlives its device"); }

  const DeviceSpec& spec() const override { return spec_; }
  Executor& executor() override { return executor_; }
  Device& socket(int number) override {
    return spec_.sockets == 1 ? *this : static_cast<Device&>(*sockets_.at(static_cast<std::size_t>(number)));
  }
  Executor& drivers() override { return drivers_; }
  Result<Reservation> reserve(MemorySpace space, std::int64_t bytes, std::string_view purpose) override {
    if (bytes == 0) return Reservation();
    if (bytes > budget_ - reserved(space)) {
      return Error{ErrorCode::over_budget, std::string(purpose) + " needs " + std::to_string(bytes) + " bytes"};
    }
    auto block = std::make_unique<Line[]>(static_cast<std::size_t>(div_up(bytes, buffer_alignment)));
    auto* data = reinterpret_cast<std::byte*>(block.get());
    std::memset(data, static_cast<int>(fill_), static_cast<std::size_t>(bytes));
    blocks_.emplace(data, std::move(block));
    reserved_ += bytes;
    return Reservation(*this, space, {data, static_cast<std::size_t>(bytes)});
  }
  std::int64_t budget(MemorySpace) const override { return budget_; }
  std::int64_t reserved(MemorySpace) const override { return reserved_; }

 private:
  struct alignas(buffer_alignment) Line {
    std::array<std::byte, buffer_alignment> bytes{};
  };
  void give_back(MemorySpace, std::span<std::byte> block) override {
    reserved_ -= static_cast<std::int64_t>(block.size());
    blocks_.erase(block.data());
  }

  const std::int64_t budget_;
  const std::byte fill_;
  std::int64_t reserved_ = 0;
  std::map<std::byte*, std::unique_ptr<Line[]>> blocks_;
  std::vector<std::unique_ptr<HostSocket>> sockets_;
  Executor drivers_;
  Executor executor_;
  DeviceSpec spec_;
};

std::vector<DeviceSpec> probe() { return {}; }

Result<std::unique_ptr<Device>> open_oracle(const DeviceSpec&, std::int64_t host_budget, std::int64_t, std::int64_t) {
  return host_device(host_budget);
}

constexpr std::array<const Primitive*, 1> oracle_table = {&oracle_primitive};
constexpr std::array<const Primitive*, 1> in_place_table = {&in_place_primitive};
constexpr std::array<const Primitive*, 1> failing_table = {&failing_primitive};
const Backend oracle_row{"test", probe, open_oracle, oracle_table};
const Backend in_place_row{"in place", probe, open_oracle, in_place_table};
const Backend failing_row{"failing", probe, open_oracle, failing_table};

}  // namespace

const Backend& oracle_backend() { return oracle_row; }
const Backend& in_place_backend() { return in_place_row; }
const Backend& failing_backend() { return failing_row; }

std::unique_ptr<Device> host_device(std::int64_t budget, std::byte fill, int sockets) {
  return std::make_unique<HostDevice>(budget, fill, sockets);
}

void nans(std::span<std::byte> block, MemorySpace) {
  if (!block.empty()) std::memset(block.data(), 0xff, block.size());
}

}  // namespace znni::test
