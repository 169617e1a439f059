#include "planner/network/named_tensors.hpp"

#include <algorithm>
#include <set>
#include <string>

namespace znni {
namespace {

Error invalid(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

// Returns the channels of several tensors, inputs or outputs as `kind` says. Fails if one of them has no name, no
// channels, or the name of another.
Result<std::int64_t> check_tensors(const std::vector<NamedTensor>& tensors, const std::string& kind) {
  if (tensors.size() == 1) return invalid("a list of " + kind + "s has one; the " + kind + "'s name says it");
  std::set<std::string> names;
  std::int64_t sum = 0;
  for (const NamedTensor& tensor : tensors) {
    if (const Result<void> sound = check_name("an " + kind, tensor.name); !sound) return sound.error();
    if (!names.insert(tensor.name).second) return invalid(kind + " " + tensor.name + " stands twice");
    if (tensor.channels < 1) return invalid(kind + " " + tensor.name + " has no channels");
    sum = add(sum, tensor.channels);
  }
  return sum;
}

}  // namespace

std::vector<NamedTensor> named_inputs(const Network& network) {
  if (!network.inputs.empty()) return network.inputs;
  return {{network.input_name, network.f_in}};
}

std::vector<NamedTensor> named_outputs(const Network& network) {
  if (network.outputs.empty()) return {{network.output_name, channels_of(network).back(), network.output_stride}};
  std::vector<NamedTensor> outputs = network.outputs;
  for (NamedTensor& output : outputs) output.stride = output.stride * network.output_stride;
  return outputs;
}

Result<void> check_name(std::string_view what, std::string_view name) {
  if (name.empty()) return invalid(std::string(what) + " has no name");
  const bool plain = std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (!plain) return invalid(std::string(what) + " has control characters in its name");
  return {};
}

Result<void> check_inputs(const Network& network) {
  if (network.inputs.empty()) return {};
  const Result<std::int64_t> sum = check_tensors(network.inputs, "input");
  if (!sum) return sum.error();
  if (*sum == network.f_in) return {};
  return invalid("the inputs have " + std::to_string(*sum) + " channels in all; f_in is " +
                 std::to_string(network.f_in));
}

Result<void> check_outputs(const Network& network, std::int64_t channels) {
  if (network.outputs.empty()) return {};
  const Result<std::int64_t> sum = check_tensors(network.outputs, "output");
  if (!sum) return sum.error();
  if (*sum == channels) return {};
  return invalid("the outputs have " + std::to_string(*sum) + " channels in all; the last node writes " +
                 std::to_string(channels));
}

}  // namespace znni
