#include "planner/plan/plugins.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "primitives/core/modules.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

// Return the files of plug-ins beside the tests: the simulated GPU, and primitives without a device.
std::filesystem::path simulated() { return program_folder() / "libznni_sim.so"; }
std::filesystem::path example() { return program_folder() / "libznni_example.so"; }

TEST(Plugins, TheFirstGpuOfThePluginsIsOffered) {
  const std::vector<std::filesystem::path> files = {example(), simulated()};
  const Result<Plugins> plugins = open_plugins(files, false);
  ASSERT_TRUE(plugins) << plugins.error().message;
  EXPECT_EQ(plugins->backends.size(), 2U);
  ASSERT_EQ(plugins->gpu, plugins->backends[1]);
  EXPECT_EQ(plugins->gpu_spec.name, "simulated GPU");
  const GpuOffer half = offer_gpu(*plugins, 1000, 77).value();
  EXPECT_EQ(half.device_bytes, 1000);
  EXPECT_EQ(half.pinned_bytes, 77);
  EXPECT_EQ(half.spec, plugins->gpu_spec);
  const std::int64_t whole = plugins->gpu_spec.accelerator.memory_bytes;
  EXPECT_EQ(offer_gpu(*plugins, {}, 0)->device_bytes, whole / 10 * 9);
  const Result<GpuOffer> more = offer_gpu(*plugins, whole + 1, 0);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::over_budget);
  EXPECT_THAT(more.error().message, HasSubstr("'simulated GPU' has 256.00 MiB"));
}

// Returns plug-ins with a GPU of 1000 bytes.
Plugins with_memory(Result<GpuMemory> (*memory)(const DeviceSpec& spec), Backend& backend) {
  backend.memory = memory;
  Plugins plugins;
  plugins.backends = {&backend};
  plugins.gpu = &backend;
  plugins.gpu_spec.name = "card";
  plugins.gpu_spec.accelerator.memory_bytes = 1000;
  return plugins;
}

TEST(Plugins, OfAGpuThatOthersUseOnlyWhatIsFreeIsOffered) {
  Backend backend;
  const Plugins plugins = with_memory(
      [](const DeviceSpec&) -> Result<GpuMemory> {
        return GpuMemory{700, 50};
      },
      backend);
  EXPECT_EQ(offer_gpu(plugins, {}, 0)->device_bytes, 650);
  EXPECT_EQ(offer_gpu(plugins, 800, 0)->device_bytes, 800) << "as the user says: what is free changes";
}

TEST(Plugins, AGpuWithoutFreeMemoryIsNotOffered) {
  Backend backend;
  const Plugins full = with_memory([](const DeviceSpec&) -> Result<GpuMemory> { return GpuMemory{40, 50}; }, backend);
  const Result<GpuOffer> offer = offer_gpu(full, {}, 0);
  ASSERT_FALSE(offer);
  EXPECT_EQ(offer.error().code, ErrorCode::over_budget);
  EXPECT_EQ(offer.error().message,
            "40 B of the memory of 'card' are free, and libraries take 50 B: nothing is left for plans");
}

TEST(Plugins, AGpuThatDoesNotAnswerIsNotOffered) {
  Backend backend;
  const Plugins lost = with_memory(
      [](const DeviceSpec&) -> Result<GpuMemory> {
        return Error{ErrorCode::device_failure, "it fell off the bus"};
      },
      backend);
  EXPECT_EQ(offer_gpu(lost, {}, 0).error().message, "it fell off the bus");
}

TEST(Plugins, WithoutAGpuTheRefusalSaysWhatIsMissing) {
  const std::vector<std::filesystem::path> files = {example()};
  const Result<Plugins> plugins = open_plugins(files, false);
  ASSERT_TRUE(plugins);
  EXPECT_EQ(plugins->gpu, nullptr);
  EXPECT_THAT(offer_gpu(*plugins, {}, 0).error().message, HasSubstr("find no GPU"));
  EXPECT_THAT(offer_gpu({}, 1000, 0).error().message, HasSubstr("libznni_cuda.so is not beside the program"));
}

TEST(Plugins, ErrorsNameTheFile) {
  const std::vector<std::filesystem::path> files = {"nowhere.so"};
  const Result<Plugins> plugins = open_plugins(files, true);
  ASSERT_FALSE(plugins);
  EXPECT_THAT(plugins.error().message, HasSubstr("nowhere.so: no such module"));
}

}  // namespace
}  // namespace znni
