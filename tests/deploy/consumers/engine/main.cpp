// dense MODEL.onnx: plans the model within 256 MiB, runs it on one field of view of zeros, prints the output's extents.
#include <array>
#include <cstdio>
#include <vector>

#include "planner/costs/catalogue.hpp"
#include "planner/costs/costs.hpp"
#include "planner/search/search.hpp"
#include "primitives/cpu/backend.hpp"
#include "proto/convert/network_file.hpp"
#include "server/pipeline/engine.hpp"

namespace {

constexpr std::int64_t memory = std::int64_t{256} << 20;

znni::Result<znni::Vec3> run(znni::Engine& engine) {
  const znni::VolumeShape shape{engine.f_in(), engine.field_of_view(), znni::ElementType::f32,
                                znni::VolumeOrder::channel_major};
  const std::vector<std::byte> zeros(static_cast<std::size_t>(znni::volume_bytes(shape)));
  std::vector<std::byte> output;
  const znni::Result<znni::JobEstimate> estimate = engine.estimate(shape);
  if (!estimate) return estimate.error();
  const znni::VolumeShape whole{estimate->output.f, estimate->output.n, shape.type, shape.order};
  znni::VolumeJob job;
  job.input.volume = {zeros.data(), shape};
  job.sink.slab = [&](std::int64_t first, std::int64_t planes) -> znni::Result<znni::OutputSlab> {
    znni::OutputSlab slab{first, nullptr, whole};
    slab.shape.n.z = planes;
    output.resize(static_cast<std::size_t>(znni::volume_bytes(slab.shape)));
    slab.data = output.data();
    return slab;
  };
  job.sink.deliver = [](const znni::OutputSlab&) { return znni::Result<void>(); };
  if (const auto done = engine.run(job, {}); !done) return done.error();
  return whole.n;
}

znni::Result<znni::Vec3> plan_and_run(const char* file) {
  const znni::Result<znni::LoadedNetwork> loaded = znni::read_network_file(file);
  if (!loaded) return loaded.error();
  const std::array<const znni::Backend*, 1> backends = {&znni::cpu::backend()};
  const znni::Result<znni::Catalogue> catalogue = znni::Catalogue::make(backends);
  if (!catalogue) return catalogue.error();
  const znni::DeviceSpec spec = znni::cpu::describe_cpu(2);
  znni::SearchOptions options;
  options.memory_limit = memory;
  options.max_extent = 96;
  const auto costs = znni::modelled_costs();
  const znni::Result<znni::Plan> plan = znni::search(loaded->network, spec, *catalogue, *costs, options);
  if (!plan) return plan.error();
  const auto device = znni::cpu::backend().open(spec, memory, 0, 0);
  if (!device) return device.error();
  const auto engine = znni::Engine::open(loaded->network, loaded->weights, *plan, *catalogue, **device);
  if (!engine) return engine.error();
  return run(**engine);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const znni::Result<znni::Vec3> output = plan_and_run(arguments[1]);
  if (!output) {
    std::fprintf(stderr, "%s\n", output.error().message.c_str());
    return 1;
  }
  std::printf("%s\n", znni::to_string(*output).c_str());
  return 0;
}
