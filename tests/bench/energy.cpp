#include "tests/bench/energy.hpp"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <system_error>

namespace znni::bench {
namespace {

std::optional<std::int64_t> number_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::int64_t number = 0;
  if (stream >> number) return number;
  return std::nullopt;
}

// Returns whether the name is that of a package, "intel-rapl:3", and not of a part of one, "intel-rapl:3:0".
bool names_package(std::string_view name) {
  constexpr std::string_view prefix = "intel-rapl:";
  if (!name.starts_with(prefix) || name.size() == prefix.size()) return false;
  name.remove_prefix(prefix.size());
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

EnergyMeter::EnergyMeter(const std::filesystem::path& folder) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    if (!names_package(entry.path().filename().string())) continue;
    const std::optional<std::int64_t> range = number_in(entry.path() / "max_energy_range_uj");
    const std::filesystem::path file = entry.path() / "energy_uj";
    if (range && number_in(file)) counters_.push_back({file, *range});
  }
}

void EnergyMeter::start() {
  for (Counter& counter : counters_) counter.before = number_in(counter.file).value_or(0);
}

std::optional<double> EnergyMeter::stop() const {
  if (counters_.empty()) return std::nullopt;
  double joules = 0;
  for (const Counter& counter : counters_) {
    const std::optional<std::int64_t> now = number_in(counter.file);
    if (!now) return std::nullopt;
    joules += 1e-6 * static_cast<double>(*now - counter.before + (*now < counter.before ? counter.range : 0));
  }
  return joules;
}

}  // namespace znni::bench
