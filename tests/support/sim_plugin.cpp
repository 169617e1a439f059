// The simulated GPU as a plug-in, so that programs can be tested with a GPU on machines without one. The environment
// sets faults. ZNNI_SIM_FAIL_WORK=N: the N-th piece of work and all later ones fail. ZNNI_SIM_LOSE_WORK=N: the same,
// and only another process can use the GPU again. ZNNI_SIM_FAIL_OPEN=1: it does not open. ZNNI_SIM_NOTE is the text of
// its note.
#include <atomic>
#include <cstdlib>

#include "primitives/core/modules.hpp"
#include "tests/support/host_sim.hpp"
#include "tests/support/sim_primitives.hpp"

namespace znni::test {
namespace {

std::int64_t number_of(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoll(text);
}

Result<std::unique_ptr<Device>> open(const DeviceSpec& spec, std::int64_t host, std::int64_t pinned,
                                     std::int64_t device) {
  if (number_of("ZNNI_SIM_FAIL_OPEN") != 0) {
    return Error{ErrorCode::device_failure, spec.name + ": it does not open, as the test asked"};
  }
  auto sim = std::make_unique<HostSim>(HostSimOptions{spec, host, pinned, device, 0});
  sim->fail_work(number_of("ZNNI_SIM_FAIL_WORK"));
  if (const std::int64_t number = number_of("ZNNI_SIM_LOSE_WORK"); number != 0) {
    sim->fail_work(number, ErrorCode::device_lost);
  }
  return std::unique_ptr<Device>(std::move(sim));
}

std::vector<std::string> notes() {
  static std::atomic<bool> said = false;
  const char* const note = std::getenv("ZNNI_SIM_NOTE");
  if (note == nullptr || said.exchange(true)) return {};
  return {note};
}

const Backend* backend() {
  static const Backend sim{"sim", sim_backend().probe, &open, sim_backend().primitives, nullptr, &notes};
  return &sim;
}

}  // namespace
}  // namespace znni::test

extern "C" const znni::BackendModule* znni_backend_module() {
  static const znni::BackendModule module{.backend = &znni::test::backend};
  return &module;
}
