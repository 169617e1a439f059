// Holds what one run of `planner` works with: the machine planned for, its primitives, what is known of their times. A
// part of the program, not of the library: it may include back ends and files.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/base/progress.hpp"
#include "planner/costs/catalogue.hpp"
#include "planner/costs/machine.hpp"
#include "planner/costs/recorded_primitives.hpp"
#include "planner/layers/places.hpp"
#include "planner/program/options.hpp"
#include "planner/report/run_record.hpp"
#include "planner/split/split_session.hpp"

namespace znni {

// Everything a search needs, read and checked once.
struct Session {
  PlannerOptions options;
  std::optional<Machine> machine;  // another one, of --machine
  DeviceSpec spec;
  std::optional<GpuOffer> gpu;           // of this machine, where a plug-in brings one
  std::vector<const Backend*> backends;  // of plug-ins
  RecordedPrimitives recorded;           // those of --machine that this build does not have
  Catalogue catalogue;
  std::int64_t memory_limit = 0;
  std::string timings_path;
  Timings timings;
  std::vector<RunRecord> measured;  // of --measured
};

[[nodiscard]] Result<Session> open_session(const PlannerOptions& options);

// Returns costs as --patience and --machine say. The session must outlive them.
[[nodiscard]] std::unique_ptr<CostSource> session_costs(const Session& session);

// Returns the places of --machine, or of this machine with its GPU, with --gpu-mem and --pinned-mem instead of its own.
// The error says what the machine lacks.
[[nodiscard]] Result<MachinePlaces> session_places(const Session& session);

// Returns options with the session's limit, strategy, volume and forced primitives; the search stops when interrupted,
// and ticks `progress`.
[[nodiscard]] SearchOptions search_options(const Network& network, const Session& session, Progress& progress);

// Makes a plan as --patience says, and keeps what it measures on the way in the session and its file.
[[nodiscard]] Result<Plan> make_plan(const Network& network, Session& session, SearchLog* log);

inline constexpr const char* searching_cuts = "searching cuts";

// Searches over places, as --strategy says, that share what does not depend on the limits. Network and session must
// outlive it.
class PlaceSearches {
 public:
  PlaceSearches(const Network& network, const Session& session, const PlaceSpecs& specs);
  PlaceSearches(const PlaceSearches&) = delete;  // its searches refer to its progress
  PlaceSearches& operator=(const PlaceSearches&) = delete;

  // Returns what SplitSession returns, and show as progress what the search is for.
  [[nodiscard]] Result<SplitPlan> within(const std::string& what, std::int64_t limit, const SpaceBytes& memory,
                                         SearchLog* log = nullptr);
  [[nodiscard]] Result<SplitPlan> first_within(const std::string& what, std::int64_t limit, const SpaceBytes& memory);

 private:
  Progress progress_;
  std::unique_ptr<CostSource> costs_;
  SplitSession searches_;
};

// Runs `planner measure` without a model: measures the calibration set, then prints what the formulas are worth after
// it.
[[nodiscard]] Result<void> calibrate_here(Session& session);

void warn(const std::string& line);

// Warns of what plug-ins had to assume since the last call.
void warn_of_notes(const Session& session);

// Holds back SIGINT and SIGTERM, which the program asks for, so that it needs no handler and leaves no file half
// written.
void hold_signals();
[[nodiscard]] bool interrupted();

}  // namespace znni
