#include "server/models/plan_source.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "planner/plan/kept_plans.hpp"
#include "planner/search/search_bound.hpp"
#include "planner/split/socket_search.hpp"
#include "proto/convert/plan_text.hpp"

namespace znni {
namespace {

namespace fs = std::filesystem;

// The path of a possible plan. If a plan for other memory does not run, the log has no warning: it was never meant for
// this memory.
struct PlanFile {
  fs::path path;
  bool is_for_other_memory = false;
  bool is_kept = false;  // by network, machine and memory
};

bool is_measured(const Plan& plan) { return plan.predicted.basis == Basis::measured; }

bool is_for_much_less(const Plan& plan, std::int64_t memory) { return plan.key.memory_limit < memory / 2; }

// Times of a plan were measured, or it was made for no less than half the memory there is: a new search would
// hardly find a better one. A search here knows no GPU. One that was measured for another daemon's memory is not meant
// for this one.
bool worth_keeping(const Plan& plan, const PlanFile& where, std::int64_t memory) {
  const bool is_chosen = is_measured(plan) && !where.is_for_other_memory;
  return needs_gpu(plan) || is_chosen || !is_for_much_less(plan, memory);
}

// Succeeds if `plan` runs here; else the error says why not. The answer of check() is in `fit`.
Result<void> check_here(const Plan& plan, const Network& network, std::int64_t memory, const PlanContext& context,
                        PlanCheck& fit) {
  if (needs_gpu(plan) && context.gpu == nullptr) {
    return Error{ErrorCode::unsupported,
                 "it places segments on a GPU, and none is in use: start znnid with --gpu-mem SIZE where a GPU and its "
                 "back end are, or take the plan away"};
  }
  fit = check(plan, network, context.catalogue, context.spec, memory, context.gpu);
  if (fit.fit == PlanFit::does_not_run) return Error{ErrorCode::unsupported, fit.reason};
  return {};
}

// The plan in `file`, if it runs; the log says why not, or what else is worth knowing. An error where it wants a GPU
// and does not run.
Result<std::optional<Plan>> usable_plan(const PlanFile& where, const Network& network, std::int64_t memory,
                                        const PlanContext& context) {
  const fs::path& file = where.path;
  std::error_code ignored;
  std::optional<Plan> none;
  if (file.empty() || !fs::exists(file, ignored)) return none;
  const auto pass_over = [&](const std::string& why) {
    const char* const level = where.is_for_other_memory ? "info" : "warning";
    log_to(context.log, level, "plan " + file.string() + " is not used: " + why);
    return none;
  };
  Result<Plan> plan = read_plan(file.string());
  if (!plan) return pass_over(plan.error().message);
  PlanCheck fit;
  if (const Result<void> runs = check_here(*plan, network, memory, context, fit); !runs) {
    if (needs_gpu(*plan)) return runs.error().within("plan " + file.string());
    return pass_over(runs.error().message);
  }
  if (!worth_keeping(*plan, where, memory)) {
    return pass_over("it was made for " + bytes_text(plan->key.memory_limit) + ", " + bytes_text(memory) +
                     " may be used now");
  }
  std::string note = fit.reason.empty() ? "" : ": " + fit.reason;
  if (where.is_for_other_memory) {
    note += "; it was made for " + bytes_text(plan->key.memory_limit) + ", " + bytes_text(memory) + " may be used";
  }
  log_to(context.log, "info", "plan " + file.string() + " is used" + note);
  if (where.is_kept) note_use(file);
  return std::optional<Plan>(*std::move(plan));
}

Result<void> save(const Plan& plan, const fs::path& file) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) return Error{ErrorCode::not_found, file.parent_path().string() + ": " + error.message()};
  return write_plan(file.string(), plan);
}

constexpr const char* why_pruned =
    "for 30 days it was not used, or 16 others for its network and machine were used since";

// Writes the plan to the first of `files` that can be written: in the plan directory, or in a folder that lives as long
// as the machine's temporary files.
void keep(const Plan& plan, std::span<const fs::path> files, const LogSink& log) {
  if (files.empty()) return;
  const Result<void> saved = save(plan, files.front());
  if (saved) {
    log_to(log, "info", "plan written to " + files.front().string());
    for (const fs::path& gone : prune_plans(files.front())) {
      log_to(log, "info", "plan " + gone.string() + " is removed: " + why_pruned);
    }
    return;
  }
  const Result<void> spared = files.size() == 1 ? saved : save(plan, files.back());
  if (spared) {
    return log_to(log, "warning",
                  "plan written to " + files.back().string() + ", which a restart may clear: " + saved.error().message);
  }
  log_to(log, "warning", "the plan is not kept for the next start: " + saved.error().message);
}

void log_lifted_bound(const Network& network, const Plan& plan, const LogSink& log) {
  const std::int64_t bound = SearchOptions().max_extent;
  const std::int64_t lifted = lifted_bound(network, plan, bound);
  if (lifted == bound) return;
  log_to(log, "info",
         "patches of up to " + std::to_string(lifted) + " voxels an axis were looked at, not only of " +
             std::to_string(bound) + ": a longer one is faster");
}

Result<Plan> make_plan(const Network& network, std::int64_t memory, const PlanContext& context,
                       const std::stop_token& stop) {
  log_to(context.log, "info", "planning network '" + network.name + "' within " + bytes_text(memory));
  SearchOptions options;
  options.memory_limit = memory;
  options.threads = context.spec.threads;
  options.lifts_extent = true;
  options.stop = [&stop] { return stop.stop_requested(); };
  if (context.progress != nullptr) {
    context.progress->begin("planning within " + bytes_text(memory));
    options.progress = [&context](const SearchProgress& search) { context.progress->tell(search); };
  }
  const SearchOn on = [&](const DeviceSpec& spec, const SearchOptions& own, SearchLog* log) {
    const std::unique_ptr<CostSource> costs = context.costs(spec);
    return search(network, spec, context.catalogue, *costs, own, log);
  };
  Result<Plan> plan = search_sockets(network, context.spec, options, on);
  if (stop.stop_requested()) return Error{ErrorCode::cancelled, "stopped while planning"};
  if (plan) log_lifted_bound(network, *plan, context.log);
  return plan;
}

// Returns whether the plan of a file was measured for about as much memory, as `planner --patience measure` leaves it.
bool comes_first(const PlanFile& file, std::int64_t memory) {
  const Result<Plan> plan = read_plan(file.path.string());
  return plan && is_measured(*plan) && !is_for_much_less(*plan, memory);
}

// Returns the plan files that lie by network, machine and memory: measured ones, that for this memory, the others.
std::vector<PlanFile> kept_files(const fs::path& root, const Network& network, std::int64_t memory,
                                 const DeviceSpec& spec) {
  std::vector<PlanFile> files = {{kept_plan_file(root, network, spec, memory), false, true}};
  for (const fs::path& other : other_plan_files(root, network, spec, memory)) files.push_back({other, true, true});
  std::stable_partition(files.begin(), files.end(),
                        [memory](const PlanFile& file) { return comes_first(file, memory); });
  return files;
}

// Returns plan files in the order in which they are tried; `roots`: the plan directory, and the folder that replaces
// it.
std::vector<PlanFile> plan_files(const ModelEntry& entry, const Network& network, std::int64_t memory,
                                 const PlanContext& context, std::span<const fs::path> roots) {
  std::vector<PlanFile> files = {{entry.plan_file}};
  for (const fs::path& root : roots) {
    files.push_back({named_plan_file(root, entry.name, entry.version)});
    const std::vector<PlanFile> kept = kept_files(root, network, memory, context.spec);
    files.insert(files.end(), kept.begin(), kept.end());
  }
  return files;
}

// The plan directory, where there is one; and what is in its place, where that cannot be written.
std::vector<fs::path> plan_roots(const PlanContext& context) {
  if (context.plan_directory.empty()) return {};
  std::vector<fs::path> roots = {context.plan_directory};
  const fs::path spare = can_write(roots.front()) ? fs::path() : spare_plan_directory(context.temporary);
  if (!spare.empty()) roots.push_back(spare);
  return roots;
}

}  // namespace

Result<Plan> find_or_make_plan(const ModelEntry& entry, const Network& network, std::int64_t memory,
                               const PlanContext& context, const std::stop_token& stop) {
  const std::vector<fs::path> roots = plan_roots(context);
  for (const PlanFile& file : plan_files(entry, network, memory, context, roots)) {
    Result<std::optional<Plan>> plan = usable_plan(file, network, memory, context);
    if (!plan) return plan.error();
    if (*plan) return **std::move(plan);
  }
  Result<Plan> plan = make_plan(network, memory, context, stop);
  std::vector<fs::path> files;
  for (const fs::path& root : roots) files.push_back(kept_plan_file(root, network, context.spec, memory));
  if (plan) keep(*plan, files, context.log);
  return plan;
}

}  // namespace znni
