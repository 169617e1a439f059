#include "client/cli/dry_run.hpp"

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "client/cli/foretold.hpp"
#include "client/cli/recorded_writer.hpp"

namespace znni::client {
namespace {

std::string seconds_text(double seconds) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.1f s", seconds);
  return text.data();
}

std::string files_text(const Job& job) {
  return "would read " + to_string(read_box(job.input.extent).extent()) + " voxels of " + job.options.input +
         ", send " + to_string(job.input.extent.outer) + " (padding " + to_string(job.options.padding) +
         ") and write " + std::to_string(job.model.f_out) + " x " + to_string(job.n_out) + " " +
         numpy_name(job.options.dtype) + " to " + job.options.output;
}

std::string parts_text(const Parts& parts) {
  if (parts.count() == 1) return "in one stream";
  const Vec3 smallest = parts.box(parts.count() - 1).extent();
  return "in " + std::to_string(parts.count()) + " parts of " + to_string(parts.part) + " voxels" +
         (smallest == parts.part ? "" : ", the smallest of " + to_string(smallest));
}

std::string prediction_text(const Job& job, const Advice& advice) {
  if (job.goes_on()) return kept_text(job.begun.parts_done, job.begun.planes_done, job.parts) + " are there already";
  if (advice.missing) return one_stream_text(*advice.missing);
  const std::optional<Foretold> own = foretold(job, advice);
  if (!own) return "";
  const std::string predicted = "predicted to take " + foretold_text(*own);
  return job.parts.count() == 1 ? predicted
                                : predicted + ", in one stream " + seconds_text(advice.outlook->whole_seconds);
}

nlohmann::json vec3_json(Vec3 n) { return {n.z, n.y, n.x}; }

}  // namespace

InferOutcome dry_outcome(const Job& job, const Advice& advice) {
  nlohmann::json json = {{"dry_run", true},
                         {"extent", vec3_json(job.n_out)},
                         {"channels", job.model.f_out},
                         {"images", job.model.f_out},  // as earlier versions called them
                         {"parts", job.parts.count()},
                         {"part", vec3_json(job.parts.part)},
                         {"resumed_parts", job.begun.parts_done},
                         {"resumed_planes", job.begun.planes_done}};
  if (const std::optional<Foretold> own = foretold(job, advice)) {
    set_foretold(json, *own);
    json["predicted_seconds_in_one_stream"] = advice.outlook->whole_seconds;
  }
  return {files_text(job) + ", " + parts_text(job.parts) + "; " + prediction_text(job, advice), json.dump()};
}

}  // namespace znni::client
