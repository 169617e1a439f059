#include "planner/program/bound_options.hpp"

#include <CLI/CLI.hpp>

#include <utility>

namespace znni {
namespace {

constexpr std::int64_t max_patches = 100'000'000;
constexpr std::int64_t max_host_ram_patches = 1'000'000;

Error wrong_bound(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

// Returns whether some plan of the command may have layers that pass through a GPU from host RAM.
bool may_use_host_ram(const PlannerOptions& options) {
  return !options.machine.empty() || !options.priced.empty() || (options.split && *options.split != SplitStrategy::gpu);
}

}  // namespace

void add_bound_flags(CLI::App& app, SearchBounds& bounds) {
  app.add_option("--max-extent", bounds.max_extent,
                 "longest edge, in voxels, of the patches that are looked at, 1 to 65536 (default: 1024); example: "
                 "--mem 256G --max-extent 2048")
      ->check(CLI::Range(std::int64_t{1}, max_pinned_extent));
  app.add_option("--max-S", bounds.max_S,
                 "most patches computed together, 1 to 4096: S is the powers of two up to it (default: 4)")
      ->check(CLI::Range(std::int64_t{1}, max_pinned_S));
  app.add_option("--max-patches", bounds.max_patches,
                 "about how many patches are looked at, of all poolings together, 1 to 100000000 (default: 20000); "
                 "example: --max-patches 100000")
      ->check(CLI::Range(std::int64_t{1}, max_patches));
  app.add_option("--host-ram-patches", bounds.host_ram_patches,
                 "with a GPU: patches that are all looked at with layers through host RAM, 1 to 1000000, with --theta "
                 "four times as many (default: 256); of more, some cubes and some squares of streams (docs/timings.md)")
      ->check(CLI::Range(std::int64_t{1}, max_host_ram_patches));
  app.add_flag("--all-extents", bounds.every_extent,
               "every combination of legal extents up to --max-extent; default: some of them (docs/plan.md), since all "
               "take minutes to days; example: --max-extent 64 --all-extents");
}

Result<void> check_bounds_used(const PlannerOptions& options) {
  if (options.bounds == SearchBounds()) return {};
  const bool searches = options.command == Command::plan || options.command == Command::draw ||
                        (options.command == Command::measure && !options.model.empty());
  const bool has_extents = options.bounds.max_extent || options.bounds.every_extent || options.bounds.max_patches;
  if (options.pins.S && options.bounds.max_S) return wrong_bound("--max-S and --S exclude each other");
  if (options.pins.patch && has_extents) {
    return wrong_bound(
        "--max-extent, --max-patches and --all-extents bound the patches that are looked at, --patch names one: give "
        "one");
  }
  if (options.bounds.max_patches && options.bounds.every_extent) {
    return wrong_bound("--max-patches and --all-extents exclude each other: the latter looks at all patches");
  }
  if (!searches) {
    return wrong_bound(
        "--max-extent, --max-S, --max-patches, --all-extents and --host-ram-patches bound a search; leave them out of "
        "this command");
  }
  if (options.bounds.host_ram_patches && !may_use_host_ram(options)) {
    return wrong_bound("--host-ram-patches goes with --strategy gpu-host-ram or cpu-gpu, or with --machine");
  }
  return {};
}

}  // namespace znni
