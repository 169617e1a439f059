#include "planner/costs/machine.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace znni {
namespace {

MachineDevice device(const std::string& name, DeviceKind kind, int threads) {
  MachineDevice made;
  made.spec.name = name;
  made.spec.kind = kind;
  made.spec.threads = threads;
  made.bytes[kind == DeviceKind::cpu ? 0 : 2] = 1 << 30;
  return made;
}

Machine machine() {
  return {"box",
          {device("C", DeviceKind::cpu, 72), device("G", DeviceKind::gpu, 1)},
          {{MemorySpace::host, MemorySpace::device, 12e9, 1e-5}}};
}

TEST(PlannerMachine, ASoundOneHasItsDevices) {
  EXPECT_TRUE(check(machine()));
  EXPECT_EQ(find_device(machine(), DeviceKind::gpu)->spec.name, "G");
  Machine cpu_only = machine();
  cpu_only.devices.pop_back();
  EXPECT_EQ(find_device(cpu_only, DeviceKind::gpu), nullptr);
}

TEST(PlannerMachine, SaysWhatMakesNoSense) {
  const std::vector<std::pair<std::function<void(Machine&)>, std::string>> changes = {
      {[](Machine& m) { m.devices.clear(); }, "no device"},
      {[](Machine& m) { m.devices[0].spec.name = ""; }, "no name"},
      {[](Machine& m) { m.devices[0].spec.threads = 0; }, "device 'C': threads is 0"},
      {[](Machine& m) { m.devices[0].spec.simd_floats = 3; }, "simd_floats is 3"},
      {[](Machine& m) { m.devices[1].spec.flops_per_second = 0; }, "device 'G': flops_per_second"},
      {[](Machine& m) { m.devices[1].spec.bytes_per_second = -1; }, "bytes_per_second"},
      {[](Machine& m) { m.devices[0].bytes[1] = -1; }, "-1 bytes"},
      {[](Machine& m) { m.devices[1].spec.kind = DeviceKind::cpu; }, "only one of its kind"},
      {[](Machine& m) { m.links[0].from = MemorySpace::pinned; }, "no device has pinned memory"},
      {[](Machine& m) { m.links[0].bytes_per_second = 0; }, "link from host to device: bytes_per_second"},
      {[](Machine& m) { m.links[0].latency = -1; }, "seconds is -1"},
  };
  for (const auto& [change, said] : changes) {
    Machine changed = machine();
    change(changed);
    const Result<void> sound = check(changed);
    ASSERT_FALSE(sound) << said;
    EXPECT_NE(sound.error().message.find(said), std::string::npos) << sound.error().message;
  }
}

TEST(PlannerMachine, RecordsGetTheirDevice) {
  Timings timings;
  TimingRecord record;
  record.primitive = "p";
  record.device = "C";
  timings.insert(record);
  EXPECT_EQ(complete(timings, machine())->records().at(0).threads, 72);
  record.device = "";
  Timings nameless;
  nameless.insert(record);
  EXPECT_NE(complete(nameless, machine()).error().message.find("record 0 (p): device is ''"), std::string::npos);
  Machine cpu_only = machine();
  cpu_only.devices.pop_back();
  EXPECT_EQ(complete(nameless, cpu_only)->records().at(0).device, "C");
  record.device = "C";
  record.threads = 3;
  Timings other;
  other.insert(record);
  EXPECT_NE(complete(other, machine()).error().message.find("threads is 3; its device has 72"), std::string::npos);
}

}  // namespace
}  // namespace znni
