#include "planner/split/socket_search.hpp"

#include <gtest/gtest.h>

#include "tests/planner/brute_force.hpp"
#include "tests/planner/drawn_primitives.hpp"

namespace znni {
namespace {

DeviceSpec machine_of(int sockets) {
  DeviceSpec spec = test::drawn_device();
  spec.name = "machine";
  spec.threads = 4 * sockets;
  spec.sockets = sockets;
  return spec;
}

SearchOptions options_of(std::int64_t limit) {
  SearchOptions options;
  options.memory_limit = limit;
  options.max_S = 1;
  options.max_extent = 6;
  return options;
}

Result<Plan> search_whole(const DeviceSpec& spec, const SearchOptions& options, SearchLog* log = nullptr) {
  const std::unique_ptr<CostSource> costs = modelled_costs();
  return search(drawn::chain(3), spec, drawn::catalogue(), *costs, options, log);
}

// Remembers for which devices a search was asked. The drawn primitives take as long on a socket as on the machine.
struct Asked {
  std::vector<DeviceSpec> specs;
  SearchOn on = [this](const DeviceSpec& spec, const SearchOptions& options, SearchLog* log) {
    specs.push_back(spec);
    return search_whole(spec, options, log);
  };
};

TEST(SocketSearch, IsThatOfTheWholeWhereThereIsOneSocket) {
  Asked asked;
  SearchLog log;
  const Result<Plan> plan = search_sockets(drawn::chain(3), machine_of(1), options_of(60000), asked.on, &log);
  const Result<Plan> whole = search_whole(machine_of(1), options_of(60000));
  ASSERT_TRUE(plan && whole);
  EXPECT_EQ(*plan, *whole);
  EXPECT_EQ(asked.specs.size(), 1U);
  EXPECT_FALSE(log.sockets);
}

// Sockets as fast as the machine: with memory for all, twice as many patches.
TEST(SocketSearch, TakesSocketsThatAreFasterTogether) {
  Asked asked;
  const DeviceSpec machine = machine_of(2);
  SearchLog log;
  const std::int64_t limit = 1000000;
  const Result<Plan> plan = search_sockets(drawn::chain(3), machine, options_of(limit), asked.on, &log);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->sockets, 2);
  ASSERT_EQ(asked.specs.size(), 2U);
  EXPECT_EQ(asked.specs[1].name, "machine, one of 2 sockets");
  EXPECT_EQ(asked.specs[1].threads, 4);
  EXPECT_EQ(plan->key.threads, 8);
  EXPECT_EQ(plan->key.device, "machine");
  EXPECT_EQ(plan->key.memory_limit, limit);
  EXPECT_LE(plan->memory.total(), limit);
  EXPECT_FALSE(log.candidates.empty());
  EXPECT_DOUBLE_EQ(log.sockets->apart, plan->predicted.voxels_per_second);
  EXPECT_GT(log.sockets->apart, log.sockets->together);
  const PlanCheck fit = check(*plan, drawn::chain(3), drawn::catalogue(), machine, limit);
  EXPECT_EQ(fit.fit, PlanFit::runs) << fit.reason;
  const PlanCheck other = check(*plan, drawn::chain(3), drawn::catalogue(), machine_of(1), limit);
  EXPECT_EQ(other.fit, PlanFit::does_not_run);
}

TEST(SocketSearch, FormulasOfASocketAreNotSetAgainstRecordsOfTheMachine) {
  const auto search_as = [](Basis together, Basis apart, double error, SearchLog* log) {
    const SearchOn on = [=](const DeviceSpec& spec, const SearchOptions& options, SearchLog* own) {
      Result<Plan> plan = search_whole(spec, options, own);
      if (plan) plan->predicted.basis = spec.is_socket ? apart : together;
      if (plan && !spec.is_socket) plan->predicted.error = error;
      return plan;
    };
    return search_sockets(drawn::chain(3), machine_of(2), options_of(1000000), on, log)->sockets;
  };
  SearchLog log;
  EXPECT_EQ(search_as(Basis::recorded, Basis::model, 0, &log), 1);
  EXPECT_FALSE(log.sockets->known);
  EXPECT_GT(log.sockets->apart, log.sockets->together);
  EXPECT_EQ(search_as(Basis::model, Basis::model, 0.1, &log), 1);  // formulas that records corrected
  EXPECT_EQ(search_as(Basis::recorded, Basis::measured, 0, &log), 2);
  EXPECT_EQ(search_as(Basis::model, Basis::model, 0, &log), 2);
  EXPECT_TRUE(log.sockets->known);
}

TEST(SocketSearch, AVolumeOfOnePatchKeepsOneSocketBusy) {
  Asked asked;
  SearchOptions options = options_of(1000000);
  const Result<Plan> endless = search_sockets(drawn::chain(3), machine_of(2), options, asked.on);
  ASSERT_TRUE(endless);
  const Vec3 patch = make_geometry(drawn::chain(3), endless->ladder.front().geometry)->patch_input;
  options.volume = patch;
  const Result<Plan> single = search_sockets(drawn::chain(3), machine_of(2), options, asked.on);
  ASSERT_TRUE(single);
  EXPECT_EQ(single->sockets, 1);
}

TEST(SocketSearch, InAnEndlessVolumeAllSocketsAreBusy) {
  Asked asked;
  SearchOptions options = options_of(1000000);
  options.volume = Vec3{30, 31, 32};
  const Result<Plan> apart = search_sockets(drawn::chain(3), machine_of(2), options, asked.on);
  ASSERT_TRUE(apart);
  ASSERT_EQ(apart->sockets, 2);
  const Rung& rung = apart->ladder.front();
  const auto written = static_cast<double>(written_voxels(make_geometry(drawn::chain(3), rung.geometry).value()));
  EXPECT_DOUBLE_EQ(apart->predicted.endless_voxels_per_second, 2 * written / rung.seconds);
}

TEST(SocketSearch, NeverPassesTheLimitAndNeverLosesToTheWhole) {
  for (const std::int64_t limit : {2000, 6000, 9000, 14000, 25000, 60000}) {
    Asked asked;
    const Result<Plan> plan = search_sockets(drawn::chain(3), machine_of(3), options_of(limit), asked.on);
    const Result<Plan> whole = search_whole(machine_of(3), options_of(limit));
    ASSERT_EQ(plan.has_value(), whole.has_value()) << limit;
    if (!plan) continue;
    EXPECT_LE(plan->memory.total(), limit);
    EXPECT_GE(plan->predicted.voxels_per_second, whole->predicted.voxels_per_second);
  }
}

}  // namespace
}  // namespace znni
