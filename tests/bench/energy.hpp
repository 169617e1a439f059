// Energy of the machine's processors, where the system lets this process read the counters (RAPL: powercap of the
// Linux kernel, Documentation/power/powercap). It is the whole machine's: whoever else runs is counted too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace znni::bench {

class EnergyMeter {
 public:
  // Counters "<folder>/intel-rapl:N": one per processor package (their parts have longer names).
  explicit EnergyMeter(const std::filesystem::path& folder = "/sys/class/powercap");

  [[nodiscard]] bool readable() const { return !counters_.empty(); }
  void start();
  // Joules since start(); nothing where no counter can be read. A counter may have begun anew once.
  [[nodiscard]] std::optional<double> stop() const;

 private:
  struct Counter {
    std::filesystem::path file;
    std::int64_t range;  // microjoules after which it begins anew
    std::int64_t before = 0;
  };
  std::vector<Counter> counters_;
};

}  // namespace znni::bench
