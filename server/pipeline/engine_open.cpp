#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/layers/ladder.hpp"
#include "server/pipeline/engine_state.hpp"
#include "server/pipeline/split/gpu_failure.hpp"

namespace znni {
namespace {

// Opens the sockets. `bytes`: those of each of the plan's sockets.
Result<void> open_sockets(Device& cpu, std::int64_t bytes, Engine::State& state) {
  state.drivers = &cpu.drivers();
  for (int number = 0; number < state.plan.sockets; ++number) {
    Device& device = state.plan.sockets == 1 ? cpu : cpu.socket(number);
    Result<Reservation> transient = device.reserve(MemorySpace::host, bytes, "activations and scratch");
    if (!transient) return transient.error();
    state.sockets.push_back({&device, *std::move(transient)});
  }
  return {};
}

Result<void> open_cpu_rung(const RungDesign& design, const NetworkWeights& weights, std::int64_t place,
                           const Engine::State& state, Engine::State::OpenRung& to) {
  for (const Engine::State::Socket& socket : state.sockets) {
    std::byte* const memory = socket.transient.data() + place;
    Result<PreparedSchedule> rung = PreparedSchedule::open(design, weights, memory, *socket.device);
    if (!rung) return rung.error();
    to.cpu.push_back(*std::move(rung));
  }
  return {};
}

// Opens the rungs. If a GPU fails here and other rungs can do without it, it counts as lost.
Result<void> open_rungs(const Network& network, const NetworkWeights& weights, const Catalogue& catalogue,
                        const PlaceDevices& devices, const std::vector<LadderRung>& designs, Engine::State& state) {
  std::int64_t most = 0;
  for (const LadderRung& design : designs) most = std::max(most, design.cpu ? design.cpu->packing.bytes : 0);
  if (Result<void> opened = open_sockets(*devices.cpu, most, state); !opened) return opened;
  state.places = place_rungs(designs);
  state.has_run = std::vector<std::atomic<bool>>(designs.size());
  std::optional<Error> lost;
  for (std::size_t i = 0; i < designs.size(); ++i) {
    Engine::State::OpenRung& rung = state.rungs.emplace_back();
    const std::string where = "rung " + std::to_string(i);
    if (designs[i].cpu) {
      Result<void> opened = open_cpu_rung(*designs[i].cpu, weights, state.places[i].memory.first, state, rung);
      if (!opened) return opened.error().within(where);
      continue;
    }
    auto split = Pipeline::open(network, weights, state.plan.ladder[i], catalogue, *devices.cpu, *devices.gpu);
    if (!split && !is_gpu_failure(split.error().code)) return split.error().within(where);
    if (!split) {
      lost = split.error().within(where);
      continue;
    }
    rung.split = *std::move(split);
    rung.split_bytes = add(designs[i].split.host, designs[i].split.pinned);
  }
  return !lost || state.lose_gpu(*lost) ? Result<void>() : Result<void>(*lost);
}

std::vector<RungFacts> facts_of_rungs(const Engine::State& state) {
  std::vector<RungFacts> facts;
  for (std::size_t i = 0; i < state.rungs.size(); ++i) {
    RungFacts rung{&state.plan.ladder[i], state.rungs[i].on_cpu(), {}, {}, state.places[i].memory.bytes};
    if (state.rungs[i].is_open()) rung.geometry = state.rungs[i].geometry();
    rung.round = rung.geometry;
    if (rung.on_cpu) rung.round.choice.S *= state.plan.sockets;
    facts.push_back(std::move(rung));
  }
  return facts;
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::open(const Network& network, const NetworkWeights& weights, const Plan& plan,
                                             const Catalogue& catalogue, const PlaceDevices& devices) {
  if (Result<void> checked = check(network); !checked) return checked.error();
  if (Result<void> checked = check_weights(network, weights); !checked) return checked.error();
  const bool lacking = devices.gpu == nullptr && !devices.lacking.empty() && needs_gpu(plan);
  const Plan rest = lacking ? without_gpu(plan) : plan;
  if (rest.ladder.empty() && lacking) return Error{ErrorCode::device_failure, devices.lacking};
  Result<std::vector<LadderRung>> designs = design_ladder(network, rest, catalogue, devices.cpu->spec(),
                                                          devices.gpu == nullptr ? nullptr : &devices.gpu->spec());
  if (!designs) return designs.error();

  auto state = std::make_unique<State>();
  state->plan = rest;
  if (lacking) state->gpu.did_not_open(devices.lacking);
  if (Result<void> opened = open_rungs(network, weights, catalogue, devices, *designs, *state); !opened) {
    return opened.error();
  }
  state->estimates.emplace(network_shape(network), facts_of_rungs(*state), state->plan.sockets);
  return std::make_unique<Engine>(std::move(state));
}

}  // namespace znni
