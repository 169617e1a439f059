#include "server/jobs/server_gpu.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/pipeline/oracle_primitive.hpp"
#include "tests/support/host_sim.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

std::unique_ptr<Device> simulated_gpu() { return std::make_unique<test::HostSim>(test::HostSimOptions{}); }

struct Opener {
  // Returns a GPU whose next call gives `device`.
  ServerGpu gives(Result<std::unique_ptr<Device>> device) {
    next = std::move(device);
    return {{test::host_sim_spec(), std::int64_t{3} << 20, 100}, [this](const GpuOffer&) {
              ++calls;
              return std::move(next);
            }};
  }
  Result<std::unique_ptr<Device>> next = Error{ErrorCode::internal, ""};
  int calls = 0;
};

TEST(OpenGpu, IsOpenedOnceAndSaysSo) {
  Opener opener;
  std::string log;
  const LogSink sink = [&log](std::string_view level, const std::string& line) {
    log += std::string(level) + ": " + line;
  };
  const ServerGpu from = opener.gives(simulated_gpu());
  OpenGpu gpu;
  EXPECT_EQ(gpu.accelerator(), nullptr);
  EXPECT_EQ(gpu.reserved(MemorySpace::device), 0);
  gpu.open(from, sink);
  EXPECT_NE(gpu.accelerator(), nullptr);
  EXPECT_THAT(log, HasSubstr("info: GPU '" + test::host_sim_spec().name + "' is open with 3.00 MiB"));
  gpu.open(from, sink);
  EXPECT_EQ(opener.calls, 1);
}

TEST(OpenGpu, SaysWhatIsLackingAndIsTriedAnew) {
  Opener opener;
  OpenGpu gpu;
  gpu.open(opener.gives(Error{ErrorCode::device_failure, "it fell off the bus"}), {});
  EXPECT_EQ(gpu.accelerator(), nullptr);
  EXPECT_EQ(gpu.lacking(), "it fell off the bus");
  gpu.open(opener.gives(test::host_device(1 << 20)), {});
  EXPECT_EQ(gpu.accelerator(), nullptr);
  EXPECT_THAT(gpu.lacking(), HasSubstr("is not a GPU"));
  gpu.open(opener.gives(simulated_gpu()), {});
  EXPECT_NE(gpu.accelerator(), nullptr);
}

TEST(OpenGpu, TheFirstLossIsKeptAndSaid) {
  OpenGpu gpu;
  std::string log;
  const LogSink sink = [&log](std::string_view level, const std::string& line) {
    log += std::string(level) + ": " + line + "\n";
  };
  EXPECT_FALSE(gpu.loss());
  gpu.note_loss({"it read where nothing is", false}, sink);
  gpu.note_loss({"it is lost", true}, sink);
  EXPECT_EQ(gpu.loss()->reason, "it read where nothing is");
  EXPECT_FALSE(gpu.loss()->while_loading);
  EXPECT_EQ(log, "error: the GPU is lost to this process, and no retry mends that: it read where nothing is\n");
}

}  // namespace
}  // namespace znni
