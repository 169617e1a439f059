#include "server/models/plan_source.hpp"

#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "planner/plan/kept_plans.hpp"
#include "planner/search/search_bound.hpp"
#include "planner/split/socket_search.hpp"
#include "proto/convert/text/plan_text.hpp"

namespace znni {
namespace {

namespace fs = std::filesystem;

enum class PlanKind { beside, named, planners, own, own_for_other_memory };

// The path of a possible plan. If one of our own for other memory does not run, the log has no warning: it was never
// meant for this memory.
struct PlanFile {
  fs::path path;
  PlanKind kind = PlanKind::beside;
};

bool is_own(PlanKind kind) { return kind == PlanKind::own || kind == PlanKind::own_for_other_memory; }

// Returns true if times of a plan were measured, or if it was made for at least half the memory there is: a new search
// would hardly find a better one. A search here knows no GPU.
bool worth_keeping(const Plan& plan, std::int64_t memory) {
  return needs_gpu(plan) || plan.predicted.basis == Basis::measured || plan.key.memory_limit >= memory / 2;
}

// Says how a plan of the planner is made that runs here.
std::string plan_again(std::int64_t memory, const PlanContext& context) {
  return "; planner --model-repository with --plan-dir " + context.plan_directory.string() + " --mem " +
         std::to_string(memory) + " --threads " + std::to_string(context.spec.threads) + " makes one that is";
}

std::string memory_note(const Plan& plan, std::int64_t memory) {
  return "it was made for " + bytes_text(plan.key.memory_limit) + ", " + bytes_text(memory) + " may be used";
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

// Logs that a plan is not used, and why.
void pass_over(const PlanFile& where, const std::string& why, std::int64_t memory, const PlanContext& context) {
  const char* const level = where.kind == PlanKind::own_for_other_memory ? "info" : "warning";
  const std::string mend = where.kind == PlanKind::planners ? plan_again(memory, context) : "";
  log_to(context.log, level, "plan " + where.path.string() + " is not used: " + why + mend);
}

// Logs that a plan is used, with what else is worth knowing, among which is `reason` of its check.
void tell_use(const PlanFile& where, const Plan& plan, const std::string& reason, std::int64_t memory,
              const PlanContext& context) {
  std::string line = "plan " + where.path.string() + " is used" + (reason.empty() ? "" : ": " + reason);
  const bool may_differ = where.kind == PlanKind::planners || where.kind == PlanKind::own_for_other_memory;
  if (may_differ && plan.key.memory_limit != memory) line += "; " + memory_note(plan, memory);
  if (where.kind == PlanKind::named) {
    line +=
        "; the next version reads no plans by a model's name: put it beside the model, as plan.pbtxt, or make "
        "another with planner --model-repository";
  }
  log_to(context.log, where.kind == PlanKind::named ? "warning" : "info", line);
}

// Returns the plan in a file, if it runs; the log says why not, or what else is worth knowing. Fails if the plan wants
// a GPU and does not run.
Result<std::optional<Plan>> usable_plan(const PlanFile& where, const Network& network, std::int64_t memory,
                                        const PlanContext& context) {
  std::error_code ignored;
  std::optional<Plan> none;
  if (where.path.empty() || fs::symlink_status(where.path, ignored).type() == fs::file_type::not_found) return none;
  Result<Plan> plan = read_plan(where.path.string());
  if (!plan) {
    pass_over(where, plan.error().message, memory, context);
    return none;
  }
  PlanCheck fit;
  if (const Result<void> runs = check_here(*plan, network, memory, context, fit); !runs) {
    if (needs_gpu(*plan)) return runs.error().within("plan " + where.path.string());
    pass_over(where, runs.error().message, memory, context);
    return none;
  }
  if (!worth_keeping(*plan, memory)) {
    pass_over(where, memory_note(*plan, memory) + " now", memory, context);
    return none;
  }
  tell_use(where, *plan, fit.reason, memory, context);
  if (is_own(where.kind)) note_use(where.path);
  return std::optional<Plan>(*std::move(plan));
}

// Returns the first of `files` that can be used, if any can; fails as usable_plan() does.
Result<std::optional<Plan>> first_usable(std::span<const PlanFile> files, const Network& network, std::int64_t memory,
                                         const PlanContext& context) {
  for (const PlanFile& file : files) {
    Result<std::optional<Plan>> plan = usable_plan(file, network, memory, context);
    if (!plan || *plan) return plan;
  }
  return std::optional<Plan>();
}

// Logs which plans of the planner were made for this network on another machine, in one line.
void tell_of_other_machines(const Network& network, std::int64_t memory, const PlanContext& context) {
  const std::vector<std::string> nodes = describe(network);
  std::string first;
  int others = -1;
  for (const fs::path& file : planner_plans_elsewhere(context.plan_directory, network, context.spec)) {
    const Result<Plan> plan = read_plan(file.string());
    const bool is_ours = plan && plan->key.nodes == nodes;
    if (!is_ours || plan->key.device == context.spec.name) continue;
    if (first.empty()) first = file.string() + " is not used: it was made for " + plan->key.device;
    ++others;
  }
  if (first.empty()) return;
  const std::string more = others == 0 ? "" : " (and " + std::to_string(others) + " more for other machines)";
  log_to(context.log, "warning",
         "plan " + first + more + "; this is " + context.spec.name + plan_again(memory, context));
}

// Returns a plan of the planner that runs here, if there is one. The log names each that is passed over; those for
// other machines only if no other is used.
Result<std::optional<Plan>> find_planners(const Network& network, std::int64_t memory, const PlanContext& context) {
  if (context.plan_directory.empty()) return std::optional<Plan>();
  const auto listed = planner_plan_files(context.plan_directory, network, context.spec, memory);
  if (!listed) {
    log_to(context.log, "warning",
           "plans are not used: " + listed.error().message + "; let the user of this daemon read that folder");
    return std::optional<Plan>();
  }
  std::vector<PlanFile> files;
  for (const fs::path& file : *listed) files.push_back({file, PlanKind::planners});
  Result<std::optional<Plan>> plan = first_usable(files, network, memory, context);
  if (plan && !*plan) tell_of_other_machines(network, memory, context);
  return plan;
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
  const Result<void> in_temporary = files.size() == 1 ? saved : save(plan, files.back());
  if (in_temporary) {
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
  SearchOptions options;
  options.memory_limit = memory;
  options.volume = context.volume.input_of(network);
  const std::string of = options.volume ? " for volumes of " + to_string(*options.volume) : "";
  log_to(context.log, "info", "planning network '" + network.name + "' within " + bytes_text(memory) + of);
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

// Returns plan files that are not the planner's in the order in which they are tried; `roots`: the plan directory, and
// the folder that replaces it.
std::vector<PlanFile> plan_files(const ModelEntry& entry, const Network& network, std::int64_t memory,
                                 const PlanContext& context, std::span<const fs::path> roots) {
  const std::optional<Vec3> volume = context.volume.input_of(network);
  std::vector<PlanFile> files;
  for (const fs::path& root : roots) {
    files.push_back({named_plan_file(root, entry.name, entry.version), PlanKind::named});
    files.push_back({kept_plan_file(root, network, context.spec, memory, volume), PlanKind::own});
    if (volume) continue;
    for (const fs::path& other : other_plan_files(root, network, context.spec, memory)) {
      files.push_back({other, PlanKind::own_for_other_memory});
    }
  }
  return files;
}

// Returns the plan directory, if there is one; and what is in its place, if the folder of the network's plans cannot be
// written in it.
std::vector<fs::path> plan_roots(const Network& network, const PlanContext& context) {
  if (context.plan_directory.empty()) return {};
  std::vector<fs::path> roots = {context.plan_directory};
  const fs::path folder = kept_plan_file(roots.front(), network, context.spec, 1).parent_path();
  const fs::path temporary = can_write(folder) ? fs::path() : temporary_plan_directory(context.temporary);
  if (!temporary.empty()) roots.push_back(temporary);
  return roots;
}

// Warns of a plan by the model's name that is there beside the planner's plan, which is used.
void tell_of_named(const ModelEntry& entry, const PlanContext& context) {
  const fs::path named = named_plan_file(context.plan_directory, entry.name, entry.version);
  std::error_code ignored;
  if (!fs::exists(named, ignored)) return;
  log_to(context.log, "warning",
         "plan " + named.string() + " is not read, because the planner's plan comes first: remove one of them");
}

// Returns the plan of a file, if there is one that runs here; fails as usable_plan() does.
Result<std::optional<Plan>> find_plan(const ModelEntry& entry, const Network& network, std::int64_t memory,
                                      const PlanContext& context, std::span<const fs::path> roots) {
  Result<std::optional<Plan>> plan = usable_plan({entry.plan_file}, network, memory, context);
  if (!plan || *plan) return plan;
  plan = find_planners(network, memory, context);
  if (plan && *plan) tell_of_named(entry, context);
  if (!plan || *plan) return plan;
  return first_usable(plan_files(entry, network, memory, context, roots), network, memory, context);
}

}  // namespace

Result<Plan> find_or_make_plan(const ModelEntry& entry, const Network& network, std::int64_t memory,
                               const PlanContext& context, const std::stop_token& stop) {
  const std::vector<fs::path> roots = plan_roots(network, context);
  Result<std::optional<Plan>> found = find_plan(entry, network, memory, context, roots);
  if (!found) return found.error();
  if (*found) return **std::move(found);
  Result<Plan> plan = make_plan(network, memory, context, stop);
  std::vector<fs::path> files;
  const std::optional<Vec3> volume = context.volume.input_of(network);
  for (const fs::path& root : roots) files.push_back(kept_plan_file(root, network, context.spec, memory, volume));
  if (plan) keep(*plan, files, context.log);
  return plan;
}

}  // namespace znni
