#include "tests/server/pipeline/wrong_fills.hpp"

#include <memory>
#include <stdexcept>

#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"

namespace znni::test {
namespace {

constexpr int networks = 10;
constexpr int tries = 40 * networks;
constexpr double wrong_error = 1e-3;

}  // namespace

void unfilled(Node& node) {
  node.outside = {};
  node.outside_kind = OutsideKind::zero;
}

std::optional<GeometryChoice> any_patch(const Network& network, Vec3 /*volume*/, Random& random) {
  return random_choice(network, random, 1, 2);
}

std::optional<GeometryChoice> any_stream(const Network& network, Vec3 /*volume*/, Random& random) {
  return random_stream(network, random, 2);
}

int wrong_when(const DrawNetwork& draw, const ChangeFill& change, const DrawChoice& choose) {
  Random random(base_seed());
  int ran = 0;
  int wrong = 0;
  for (int i = 0; i < tries && ran < networks; ++i) {
    const PaddedNetwork net = draw(random);
    LoadedNetwork valid = valid_form(net, false);
    const Vec3 n = random_extent(valid.network, random);
    const std::optional<GeometryChoice> choice = choose(valid.network, n, random);
    if (!choice) continue;
    for (Node& node : valid.network.nodes) change(node);
    const EngineBench made = open_bench(valid.network, {*choice});
    const std::unique_ptr<Engine> engine =
        Engine::open(valid.network, valid.weights, made.plan, made.catalogue, *made.device).value();
    wrong += error_of(*engine, net, n, random) <= wrong_error ? 0 : 1;
    ++ran;
  }
  if (ran < networks) throw std::runtime_error("too few networks have such a choice: " + std::to_string(ran));
  return wrong;
}

}  // namespace znni::test
