#include "tests/proto/convert/text/plans.hpp"

namespace znni::test {
namespace {

constexpr Format planar = {ElementType::f32, Layout::planar};
constexpr Format blocked = {ElementType::f32, Layout::blocked16};

Step input_step() {
  Step step;
  step.node = -1;
  step.native = planar;
  step.out = blocked;
  step.reorder = "cpu.reorder";
  return step;
}

Step conv_step() {
  Step step;
  step.node = 0;
  step.primitive = "cpu.conv.onednn";
  step.version = 2;
  step.variant = {{"engine", 3}, {"tile", -24}};
  step.in = blocked;
  step.native = blocked;
  step.out = planar;
  step.reorder = "cpu.reorder";
  step.division = {{1, 2, 3, 4}};
  step.seconds = 0.1234567890123456789;
  step.basis = Basis::measured;
  step.error = 0.125;
  return step;
}

Step pool_step() {
  Step step;
  step.node = 1;
  step.primitive = "cpu.pool.mpf";
  step.version = 1;
  step.seconds = 1e-9;
  step.basis = Basis::recorded;
  return step;
}

Rung large_rung() {
  Rung rung;
  rung.geometry.pass_input = {32, 48, 64};
  rung.geometry.S = 2;
  rung.geometry.modes = {PoolMode::fragments, {{2, 1, 1}, true}, {{2, 2, 1}, false}};
  rung.segments.push_back({-1, 0, Place::cpu, {}, {input_step(), conv_step()}});
  rung.segments.push_back({1, 1, Place::gpu_host_ram, {1}, {pool_step()}});
  rung.seconds = 1.0 / 3;
  rung.memory = {1, 2, 3};
  return rung;
}

Rung small_rung() {
  Rung rung;
  rung.geometry.pass_input = Vec3::cube(9);
  rung.geometry.modes = {PoolMode::plain};
  rung.geometry.stem_slab = 4;
  rung.segments.push_back({0, 1, Place::gpu, {}, {conv_step(), pool_step()}});
  rung.seconds = 2;
  rung.memory = {1, 2, 1};
  return rung;
}

}  // namespace

Plan full_plan() {
  Plan plan;
  plan.key.network = "a \"net\"";
  plan.key.nodes = {"conv1: conv 1 -> 80 <- input", "pool1: max pool 80"};
  plan.key.device = "Some CPU";
  plan.key.threads = 8;
  plan.key.memory_limit = std::int64_t{1} << 40;
  plan.key.strategy = "cpu";
  plan.key.search_space = "cpu.conv.onednn:2 cpu.pool.mpf:1";
  plan.ladder.push_back(large_rung());
  plan.ladder.push_back(small_rung());
  plan.memory = {100, 200, std::int64_t{1} << 35};
  plan.predicted = {1.06e6, 1.0 / 7, 1.5, Basis::measured, 0.25};
  return plan;
}

TimingRecord full_record() {
  TimingRecord record;
  record.primitive = "cpu.conv.direct";
  record.version = 3;
  record.variant = {{"tile", 24}};
  record.in = {ElementType::f32, Layout::blocked8};
  record.out = {ElementType::f16, Layout::channels_last};
  record.problem = "conv 1x80x48x48x48 -> 80, k 5x5x5, relu";
  record.device = "CPU \"x\"";
  record.threads = 4;
  record.samples = {0.1, 1.0 / 3, 2e-7};
  record.unix_seconds = 1700000000;
  record.modelled = 0.25;
  record.waited = 0.5;
  record.memory = {{MemorySpace::host, 7, 8}, {MemorySpace::device, std::int64_t{1} << 33, 0}};
  return record;
}

}  // namespace znni::test
