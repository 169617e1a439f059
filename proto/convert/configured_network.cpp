#include "proto/convert/configured_network.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "proto/convert/base/extents.hpp"

namespace znni {
namespace {

constexpr std::string_view unbound =
    "the network does not normalise over all voxels, pool them or align corners: it takes volumes of many extents; "
    "drop it";

Error wrong(std::string_view name, std::string_view why) {
  return {ErrorCode::invalid_argument, "parameter '" + std::string(name) + "': " + std::string(why)};
}

Error wrong_window(std::string_view why) { return wrong("window", why); }

// Fails if the settings say how windows overlap, and the network is not bound to one.
Result<void> check_blend(const Network& network, const ModelSettings& settings) {
  if (is_tile_bound(network)) return {};
  if (settings.window_overlap) return wrong("window_overlap", unbound);
  if (settings.window_weight) return wrong("window_weight", unbound);
  return {};
}

Operation operation_of(OutputActivation activation) {
  if (activation == OutputActivation::softmax) return AcrossChannels{};
  const bool sigmoid = activation == OutputActivation::sigmoid;
  return Activate{{sigmoid ? ActivationKind::sigmoid : ActivationKind::tanh, 0.0F}};
}

// Returns the network with the activation behind it, if there is one. Fails for a softmax of several outputs.
Result<LoadedNetwork> activated(LoadedNetwork loaded, OutputActivation activation) {
  if (activation == OutputActivation::none) return loaded;
  if (activation == OutputActivation::softmax && !loaded.network.outputs.empty()) {
    return wrong("output_activation", "softmax goes over the channels of one output, and the network has " +
                                          std::to_string(loaded.network.outputs.size()) +
                                          "; export it with a Softmax where one belongs");
  }
  const int last = static_cast<int>(loaded.network.nodes.size());
  loaded.network.nodes.push_back({"output_activation", operation_of(activation), {last}});
  if (!loaded.weights.empty()) loaded.weights.emplace_back();
  return fold_and_fuse(std::move(loaded));
}

}  // namespace

Result<void> set_window(Network& network, std::span<const std::int64_t> window) {
  if (window.empty()) return {};
  if (!is_tile_bound(network)) return wrong_window(unbound);
  const Result<Vec3> extent = extent_of("it", window, network.spatial_rank);
  if (!extent) return wrong_window(extent.error().message);
  if (network.window != Vec3{} && network.window != *extent) {
    return wrong_window(to_string(*extent) + " found, but the network's file declares " + to_string(network.window) +
                        "; drop it, or export the network with open axes");
  }
  Network bound = network;
  bound.window = *extent;
  if (const Result<void> sound = check(bound); !sound) return wrong_window(sound.error().message);
  network.window = *extent;
  return {};
}

Result<LoadedNetwork> configured(LoadedNetwork loaded, const ModelSettings& settings) {
  if (const Result<void> bound = set_window(loaded.network, settings.window); !bound) return bound.error();
  if (const Result<void> blends = check_blend(loaded.network, settings); !blends) return blends.error();
  return activated(std::move(loaded), settings.output_activation);
}

}  // namespace znni
