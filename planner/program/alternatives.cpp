#include "planner/program/alternatives.hpp"

#include <unistd.h>

#include <array>
#include <iostream>
#include <utility>

namespace znni {
namespace {

constexpr std::array with_gpu = {SplitStrategy::gpu, SplitStrategy::gpu_host_ram, SplitStrategy::cpu_gpu};

CurveSample split_sample(std::int64_t limit, const Result<SplitPlan>& found) {
  if (!found) return {limit, {}, 0, 0};
  const Vec3 patch = found->plan.ladder.front().geometry.pass_input;
  return {limit, patch, found->plan.predicted.voxels_per_second, found->plan.memory.total()};
}

}  // namespace

std::optional<MachinePlaces> other_places(const Session& session) {
  if (!session.machine) return std::nullopt;
  const Result<MachinePlaces> places = session_places(session);
  return places ? std::optional(*places) : std::nullopt;
}

Alternatives::Alternatives(const Network& network, const Session& session, const std::optional<MachinePlaces>& places)
    : network_(network),
      session_(session),
      places_(places),
      progress_(std::cerr, isatty(STDERR_FILENO) == 1),
      costs_(session_costs(session)),
      options_(search_options(network, session, progress_)) {}

std::string Alternatives::next_better(const Plan& plan) {
  if (plan.sockets > 1) return "";  // searches beside are for the machine as a whole
  progress_.tell("searching with more memory");
  const CurveSetting setting = this->setting(options_.strategy);
  const double rate = plan.predicted.voxels_per_second;
  return znni::next_better(search_within(setting), session_.memory_limit, rate, "host RAM", options_.stop);
}

// Plans whose rate is not worth telling are needed without their smaller rungs.
std::string Alternatives::next_better(const SplitPlan& plan, PlaceSearches& searches) {
  const std::string what = "searching with more memory";
  const double rate = plan.plan.predicted.voxels_per_second;
  const auto found = [&](std::int64_t limit, const SpaceBytes& memory) {
    Result<SplitPlan> first = searches.first_within(what, limit, memory);
    const bool is_worth = first && first->plan.predicted.voxels_per_second >= worth_telling * rate;
    return is_worth ? searches.within(what, limit, memory) : std::move(first);
  };
  const PlanWithin host = [&](std::int64_t limit) { return split_sample(limit, found(limit, places_->memory)); };
  const PlanWithin device = [&](std::int64_t limit) {
    SpaceBytes memory = places_->memory;
    memory.device = limit;
    const Result<SplitPlan> made = found(session_.memory_limit, memory);
    CurveSample sample = split_sample(limit, made);
    if (made) sample.bytes = made->bytes.device;
    return sample;
  };
  const std::string first = znni::next_better(host, session_.memory_limit, rate, "host RAM", options_.stop);
  const std::string second = znni::next_better(device, places_->memory.device, rate, "GPU memory", options_.stop);
  return first.empty() || second.empty() ? first + second : first + "; " + second;
}

// Returns the strategy that was asked for and the naive one, without those that the pins do not fit.
std::vector<Strategy> Alternatives::on_cpu() const {
  std::vector<Strategy> all = {options_.strategy};
  if (options_.strategy != Strategy::baseline) all.push_back(Strategy::baseline);
  std::erase_if(all, [&](Strategy strategy) {
    SearchOptions options = options_;
    options.strategy = strategy;
    return strategy != options_.strategy && !check_options(network_, options);
  });
  return all;
}

std::vector<StrategyCurves> Alternatives::curves(const std::vector<std::int64_t>& limits) {
  std::vector<StrategyCurves> all;
  for (const Strategy strategy : on_cpu()) all.push_back(both_of(strategy, limits));
  if (!places_) return all;
  for (const SplitStrategy strategy : with_gpu) all.push_back(both_of(strategy, limits));
  return all;
}

std::vector<StrategyCurves> Alternatives::curves_within(const std::vector<std::int64_t>& limits) {
  std::vector<StrategyCurves> all;
  for (const Strategy strategy : on_cpu()) all.push_back(by_limits(strategy, limits));
  if (!places_) return all;
  for (const SplitStrategy strategy : with_gpu) all.push_back(by_limits(strategy, limits));
  return all;
}

template <class Any>
StrategyCurves Alternatives::both_of(Any strategy, const std::vector<std::int64_t>& limits) {
  StrategyCurves curves = by_limits(strategy, limits);
  progress_.tell("curves: " + curves.strategy + " by patch size");
  curves.size = by_sizes(strategy);
  return curves;
}

StrategyCurves Alternatives::by_limits(Strategy strategy, const std::vector<std::int64_t>& limits) {
  const CurveSetting setting = this->setting(strategy);
  const std::string name(to_string(strategy));
  return {name, in_memories(name, search_within(setting), limits), {}};
}

StrategyCurves Alternatives::by_limits(SplitStrategy strategy, const std::vector<std::int64_t>& limits) {
  const std::string name(to_string(strategy));
  const PlanWithin within = [&](std::int64_t limit) {
    return split_sample(limit, searches_of(strategy).within(limit, places_->memory));
  };
  return {name, in_memories(name, within, limits), {}};
}

std::vector<CurveSample> Alternatives::by_sizes(Strategy strategy) { return by_size(setting(strategy)); }

std::vector<CurveSample> Alternatives::by_sizes(SplitStrategy strategy) {
  std::vector<CurveSample> samples;
  for (const Candidate& patch : split_cubes(network_, session_.catalogue, *costs_, *places_, strategy, options_)) {
    samples.push_back({session_.memory_limit, patch.choice.pass_input, patch.voxels_per_second, patch.memory.total()});
  }
  return samples;
}

std::vector<CurveSample> Alternatives::in_memories(const std::string& strategy, const PlanWithin& within,
                                                   const std::vector<std::int64_t>& limits) {
  const auto told = [&](std::int64_t limit) {
    progress_.tell("curves: " + strategy + " in " + bytes_text(limit));
    return within(limit);
  };
  return by_memory(told, limits, options_.stop);
}

SplitSession& Alternatives::searches_of(SplitStrategy strategy) {
  std::unique_ptr<SplitSession>& known = splits_[strategy];
  if (known == nullptr) {
    known = std::make_unique<SplitSession>(network_, session_.catalogue, *costs_, places_->specs, strategy, options_);
  }
  return *known;
}

CurveSetting Alternatives::setting(Strategy strategy) {
  SearchOptions options = options_;
  options.strategy = strategy;
  return {network_, session_.spec, session_.catalogue, *costs_, options};
}

}  // namespace znni
