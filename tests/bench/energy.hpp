// Energy of the machine's processors, if the system lets this process read the counters (RAPL: powercap of the Linux
// kernel, Documentation/power/powercap). The counters are those of the whole machine, so other programs count too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace znni::bench {

class EnergyMeter {
 public:
  // Opens the counters "<folder>/intel-rapl:N", one per processor package.
  explicit EnergyMeter(const std::filesystem::path& folder = "/sys/class/powercap");

  [[nodiscard]] bool readable() const { return !counters_.empty(); }
  void start();
  // Returns the joules since start(); nullopt if no counter can be read. Each counter may have wrapped around once.
  [[nodiscard]] std::optional<double> stop() const;

 private:
  struct Counter {
    std::filesystem::path file;
    std::int64_t range;  // microjoules after which the counter wraps around
    std::int64_t before = 0;
  };
  std::vector<Counter> counters_;
};

}  // namespace znni::bench
