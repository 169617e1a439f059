#include "tests/support/accelerators.hpp"

#include <cstdlib>
#include <cstring>

#include "primitives/core/modules.hpp"
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

void fill_with_nans(Accelerator& gpu, std::span<std::byte> block, MemorySpace space) {
  if (space == MemorySpace::device) {
    const Result<void> filled = gpu.fill(Stream::compute, block, std::byte{0xff});
    ensure(filled.has_value(), "a GPU can fill its memory");
  } else if (!block.empty()) {
    std::memset(block.data(), 0xff, block.size());
  }
}

// Opens the first GPU of the module beside the programs.
OpenAccelerator open_cuda(std::int64_t pinned_budget, std::int64_t device_budget) {
  const auto file = find_module("cuda", program_folder() / ".." / "bin");
  if (!file) return {nullptr, {}, {}, "this build has no CUDA module"};
  const Result<const Backend*> backend = open_module(*file);
  if (!backend) return {nullptr, {}, {}, backend.error().message};
  const std::vector<DeviceSpec> gpus = (*backend)->probe();
  if (gpus.empty()) return {nullptr, {}, {}, "no GPU, or no driver for it"};
  Result<std::unique_ptr<Device>> device =
      (*backend)->open(gpus.front(), std::int64_t{1} << 28, pinned_budget, device_budget);
  if (!device) return {nullptr, {}, {}, device.error().message};
  Accelerator* const gpu = (*device)->accelerator();
  const auto poison = [gpu](std::span<std::byte> block, MemorySpace space) { fill_with_nans(*gpu, block, space); };
  return {std::move(*device), (*backend)->primitives, poison, ""};
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
  return open_cuda(pinned_budget, device_budget);
}

void OnAccelerator::SetUp() {
  // Spectra of kernels of the random problems take up to some hundred MiB; no primitive of a HostSim makes any.
  constexpr std::int64_t for_spectra = std::int64_t{1} << 30;
  opened_ = GetParam() == "Cuda" ? open_accelerator(GetParam(), 1, std::int64_t{1} << 26, for_spectra)
                                 : open_accelerator(GetParam());
  if (opened_.device != nullptr) return;
  if (gpu_is_required()) FAIL() << GetParam() << ": " << opened_.lacking << ", and ZNNI_REQUIRE_GPU=1 asks for it";
  GTEST_SKIP() << GetParam() << ": " << opened_.lacking;
}

}  // namespace znni::test
