#include "server/conv/shared_device.hpp"

#include <unistd.h>

#include <map>
#include <utility>

#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/device/cpu_device.hpp"

namespace znni {
namespace {

struct KnownDevices {
  std::mutex mutex;
  std::map<std::pair<pid_t, int>, std::weak_ptr<SharedDevice>> devices;
};

// Never destroyed: a device may be given back when the process ends.
KnownDevices& known_devices() {
  static auto* const known = new KnownDevices;
  return *known;
}

std::shared_ptr<SharedDevice> make_shared_device(int threads, pid_t process) {
  DeviceSpec spec = cpu::describe_cpu(threads);
  spec.sockets = 1;
  auto made = std::make_shared<SharedDevice>();
  made->device = cpu::make_cpu_device(spec, cpu::Topology{}, 0);
  made->process = process;
  return made;
}

}  // namespace

std::shared_ptr<SharedDevice> shared_device(int threads) {
  KnownDevices& known = known_devices();
  const pid_t process = getpid();
  const std::lock_guard lock(known.mutex);
  std::weak_ptr<SharedDevice>& kept = known.devices[{process, threads}];
  std::shared_ptr<SharedDevice> device = kept.lock();
  if (device == nullptr) kept = device = make_shared_device(threads, process);
  return device;
}

}  // namespace znni
