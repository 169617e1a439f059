#include "planner/layers/places.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace znni {
namespace {

using testing::HasSubstr;

Machine machine() {
  MachineDevice cpu;
  cpu.spec.name = "C";
  cpu.bytes = {1 << 30, 0, 0};
  MachineDevice gpu;
  gpu.spec.name = "G";
  gpu.spec.kind = DeviceKind::gpu;
  gpu.bytes = {0, 1 << 20, 1 << 25};
  return {"box", {cpu, gpu}, {{MemorySpace::pinned, MemorySpace::device, 12e9, 1e-5}}};
}

TEST(PlacesOf, GiveTheGpuItsMemoryAndItsLink) {
  const MachinePlaces places = places_of(machine()).value();
  EXPECT_EQ(places.memory, (SpaceBytes{1 << 30, 1 << 20, 1 << 25}));
  EXPECT_EQ(places.specs.cpu.name, "C");
  const AcceleratorSpec& link = places.specs.gpu.accelerator;
  EXPECT_EQ(link.memory_bytes, 1 << 25);
  EXPECT_EQ(link.up, (LinkRate{1e-5, 12e9}));
  EXPECT_EQ(link.down, link.up);
  EXPECT_DOUBLE_EQ(link.duplex_bytes_per_second, 24e9);
}

TEST(PlacesOf, TakeEachDirectionsOwnLink) {
  Machine box = machine();
  box.links.push_back({MemorySpace::device, MemorySpace::host, 6e9, 2e-5});
  box.links.push_back({MemorySpace::host, MemorySpace::pinned, 8e9, 0});
  const AcceleratorSpec link = places_of(box)->specs.gpu.accelerator;
  EXPECT_EQ(link.down, (LinkRate{2e-5, 6e9}));
  EXPECT_DOUBLE_EQ(link.duplex_bytes_per_second, 18e9);
  EXPECT_DOUBLE_EQ(link.staging_bytes_per_second, 8e9);
}

TEST(PlacesOf, SayWhatIsLacking) {
  Machine no_gpu = machine();
  no_gpu.devices.pop_back();
  EXPECT_THAT(places_of(no_gpu).error().message, HasSubstr("no GPU"));
  Machine no_link = machine();
  no_link.links.clear();
  EXPECT_THAT(places_of(no_link).error().message, HasSubstr("no link between host and device memory"));
  Machine no_memory = machine();
  no_memory.devices[1].bytes[2] = 0;
  EXPECT_THAT(places_of(no_memory).error().message, HasSubstr("no device memory"));
}

}  // namespace
}  // namespace znni
