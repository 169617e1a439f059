#include "planner/program/bound_options.hpp"

#include <CLI/CLI.hpp>

#include <utility>

namespace znni {
namespace {

Error wrong_bound(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

}  // namespace

void add_bound_flags(CLI::App& app, SearchBounds& bounds) {
  app.add_option("--max-extent", bounds.max_extent,
                 "longest edge, in voxels, of the patches that are looked at, 1 to 65536 (default: 1024); example: "
                 "--mem 256G --max-extent 2048")
      ->check(CLI::Range(std::int64_t{1}, most_pinned_extent));
  app.add_option("--max-S", bounds.max_S,
                 "most patches computed together, 1 to 4096: S is the powers of two up to it (default: 4)")
      ->check(CLI::Range(std::int64_t{1}, most_pinned_S));
  app.add_flag("--all-extents", bounds.every_extent,
               "every combination of legal extents up to --max-extent; default: some of them (docs/plan.md), since all "
               "take minutes to days; example: --max-extent 64 --all-extents");
}

Result<void> check_bounds_used(const PlannerOptions& options) {
  if (options.bounds == SearchBounds()) return {};
  const bool searches = options.command == Command::plan || options.command == Command::draw ||
                        (options.command == Command::measure && !options.model.empty());
  const bool has_extents = options.bounds.max_extent || options.bounds.every_extent;
  if (options.pins.S && options.bounds.max_S) return wrong_bound("--max-S and --S exclude each other");
  if (options.pins.patch && has_extents) {
    return wrong_bound(
        "--max-extent and --all-extents bound the patches that are looked at, --patch names one: give one");
  }
  if (searches) return {};
  return wrong_bound("--max-extent, --max-S and --all-extents bound a search; leave them out of this command");
}

}  // namespace znni
