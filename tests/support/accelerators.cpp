#include "tests/support/accelerators.hpp"

#include <cstdlib>

#include "tests/support/host_sim.hpp"
#include "tests/support/sim_primitives.hpp"

namespace znni::test {
namespace {

OpenAccelerator open_sim(std::uint64_t seed, std::int64_t pinned_budget, std::int64_t device_budget) {
  HostSimOptions options;
  options.pinned_budget = pinned_budget;
  options.device_budget = device_budget;
  options.seed = seed;
  auto sim = std::make_unique<HostSim>(options);
  Arena::Poison poison = sim->poison();
  return {std::move(sim), sim_backend().primitives, std::move(poison), ""};
}

bool gpu_is_required() {
  const char* const text = std::getenv("ZNNI_REQUIRE_GPU");
  return text != nullptr && std::string(text) == "1";
}

}  // namespace

std::vector<std::string> accelerator_names() { return {"HostSim", "HostSimInAnyOrder", "Cuda"}; }

OpenAccelerator open_accelerator(const std::string& name, std::uint64_t seed, std::int64_t pinned_budget,
                                 std::int64_t device_budget) {
  if (name == "HostSim") return open_sim(0, pinned_budget, device_budget);
  if (name == "HostSimInAnyOrder") return open_sim(seed, pinned_budget, device_budget);
  return {nullptr, {}, {}, "this build has no CUDA module"};
}

void OnAccelerator::SetUp() {
  opened_ = open_accelerator(GetParam());
  if (opened_.device != nullptr) return;
  if (gpu_is_required()) FAIL() << GetParam() << ": " << opened_.lacking << ", and ZNNI_REQUIRE_GPU=1 asks for it";
  GTEST_SKIP() << GetParam() << ": " << opened_.lacking;
}

}  // namespace znni::test
