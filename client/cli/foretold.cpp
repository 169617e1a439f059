#include "client/cli/foretold.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace znni::client {
namespace {

// Returns the rate in an endless volume from the model's metadata.
std::optional<double> endless_rate(const ModelFacts& model) {
  const auto found = model.properties.find("predicted_voxels_per_second");
  if (found == model.properties.end()) return std::nullopt;
  const std::string& text = found->second;
  double rate = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
  const bool is_rate = error == std::errc() && rest == text.data() + text.size() && std::isfinite(rate) && rate > 0;
  return is_rate ? std::optional(rate) : std::nullopt;
}

std::string rate_text(double voxels_per_second) {
  return std::to_string(std::llround(voxels_per_second)) + " voxels/s";
}

}  // namespace

std::optional<Foretold> foretold(const Job& job, const Advice& advice) {
  if (!advice.outlook || !(advice.outlook->seconds > 0)) return std::nullopt;
  const double seconds = advice.outlook->seconds;
  return Foretold{seconds, static_cast<double>(voxels(job.n_out)) / seconds, endless_rate(job.model)};
}

std::string foretold_text(const Foretold& foretold) {
  std::array<char, 400> seconds{};
  std::snprintf(seconds.data(), seconds.size(), "%.2f s, ", foretold.seconds);
  const std::string own = seconds.data() + rate_text(foretold.voxels_per_second);
  return foretold.endless ? own + " (" + rate_text(*foretold.endless) + " in an endless volume)" : own;
}

void set_foretold(nlohmann::json& json, const Foretold& foretold) {
  json["predicted_seconds"] = foretold.seconds;
  json["predicted_voxels_per_second"] = foretold.voxels_per_second;
  if (foretold.endless) json["endless_voxels_per_second"] = *foretold.endless;
}

}  // namespace znni::client
