// The accelerators on which suites run: the simulated GPU, in good order and in a bad one, and a real one if there is
// one. A suite is a TEST_P of OnAccelerator. Tests of an absent accelerator skip themselves with the reason, unless
// ZNNI_REQUIRE_GPU=1 requires it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "primitives/core/accelerator.hpp"
#include "primitives/core/primitive.hpp"

namespace znni::test {

struct OpenAccelerator {
  std::unique_ptr<Device> device;  // nullptr if it is absent
  std::span<const Primitive* const> primitives;
  Arena::Poison poison;  // may be empty
  std::string lacking;   // reason for its absence
};

// Returns "HostSim", "HostSimInAnyOrder" and "Cuda".
[[nodiscard]] std::vector<std::string> accelerator_names();
// Opens an accelerator with these budgets in bytes; "HostSimInAnyOrder" draws its order from `seed`.
[[nodiscard]] OpenAccelerator open_accelerator(const std::string& name, std::uint64_t seed = 1,
                                               std::int64_t pinned_budget = std::int64_t{1} << 26,
                                               std::int64_t device_budget = std::int64_t{1} << 27);

class OnAccelerator : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override;
  [[nodiscard]] Accelerator& gpu() { return *opened_.device->accelerator(); }
  OpenAccelerator opened_;
};

}  // namespace znni::test
