#include "server/train/inputs.hpp"

#include <cstdlib>
#include <utility>

#include "planner/base/memory_limit.hpp"
#include "planner/train/step_form.hpp"
#include "primitives/cpu/device/machine.hpp"
#include "server/train/setup.hpp"
#include "server/train/trained_with.hpp"

namespace znni::train {
namespace {

using Say = std::function<void(const std::string&)>;

Result<std::int64_t> memory_of(const Options& options, const Say& say) {
  const Result<MemoryLimit> memory =
      choose_memory_limit(options.memory, std::getenv("ZNNI_MEM"), {cpu::default_memory_budget(), cpu::memory_limit()});
  if (!memory) return memory.error();
  if (!memory->warning.empty()) say(memory->warning);
  return memory->bytes;
}

// Sets the loss. Fails if it does not fit network and targets.
Result<void> make_loss(Inputs& inputs) {
  const TrainConfig& config = inputs.config;
  Result<Loss> loss = Loss::make(config.loss, inputs.trained.probability, inputs.output.f);
  if (!loss) return loss.error().within(inputs.options.config);
  const Result<void> fits = check_target_channels(config.targets, *loss, inputs.output.f);
  if (!fits) return fits.error().within(inputs.options.config);
  inputs.loss = *std::move(loss);
  return {};
}

// Sets network, shapes and loss.
Result<void> read_network(Inputs& inputs, const Say& say) {
  constexpr std::int64_t copies = 8;  // of the weights, at least, in all that a training holds
  const std::string& path = inputs.options.model;
  Result<FirstNetwork> first = read_first_network(path, inputs.config.seed, inputs.memory / copies);
  if (!first) return first.error();
  say(first->note);
  Result<TrainedNetwork> trained = network_for(inputs.config.loss.kind, std::move(first->loaded));
  if (!trained) return trained.error().within(path);
  inputs.trained = *std::move(trained);
  if (!inputs.trained.note.empty()) say(inputs.trained.note);
  Network& network = inputs.trained.loaded.network;
  const Result<Vec3> output = output_of_patch(network, inputs.config.patch);
  if (!output) return output.error().within(path);
  const Result<void> writable = check_writable(with_weights(inputs.trained, inputs.trained.loaded.weights));
  if (!writable) return writable.error().within(path);
  network = step_form(network, inputs.config.patch, inputs.config.is_sparse);
  const Result<Vec3> stride = compared_stride(network, inputs.config);
  if (!stride) return stride.error().within(inputs.options.config);
  inputs.stride = *stride;
  inputs.input = {1, network.f_in, inputs.config.patch};
  inputs.output = {1, channels_of(network).back(), *output};
  return make_loss(inputs);
}

}  // namespace

InputScale scale_of(const TrainConfig& config) {
  return {static_cast<float>(config.input_scale), static_cast<float>(config.input_offset)};
}

Result<Inputs> read_inputs(const Options& options, const std::function<void(const std::string&)>& say) {
  Result<TrainConfig> config = read_train_config(options.config);
  if (!config) return config.error();
  if (Result<void> fits = check_model_folder(options.output, scale_of(*config)); !fits) return fits.error();
  const Result<std::int64_t> memory = memory_of(options, say);
  if (!memory) return memory.error();
  Inputs inputs;
  inputs.options = options;
  inputs.config = *std::move(config);
  inputs.memory = *memory;
  inputs.threads = options.threads.value_or(cpu::default_threads());
  if (Result<void> read = read_network(inputs, say); !read) return read.error();
  inputs.training = training_fingerprint(inputs.trained, inputs.config);
  inputs.volumes = volumes_state(names_of(inputs.config.volumes)) + volumes_state(names_of(inputs.config.validation));
  return inputs;
}

}  // namespace znni::train
