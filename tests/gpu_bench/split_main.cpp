// znni-split-bench: a net over CPU and GPU within limits of both memories, planned and run as the planner and the
// daemon do, as JSON lines on standard output. Runs on any back end for GPUs: deploy/gpu_check.sh, and CI with the
// simulated one.
#include <chrono>
#include <cstdio>
#include <map>
#include <numeric>
#include <string>

#include "planner/base/sizes.hpp"
#include "planner/plan/plugins.hpp"
#include "planner/split/split_plan.hpp"
#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/device/machine.hpp"
#include "server/pipeline/engine.hpp"
#include "tests/gpu_bench/lines.hpp"

namespace znni::gpu_bench {
namespace {

constexpr const char* usage =
    "znni-split-bench --net n337|n537|n726|n926|tiny --strategy gpu|gpu-host-ram|cpu-gpu --mem SIZE --gpu-mem SIZE\n"
    "                 [--extent N] [--patches N] [--plan-seconds N] [--plugin FILE.so] [--primitives fft|direct|all]\n"
    "                 [--precision fp32|tf32|bf16]\n"
    "  --extent: largest extent of a patch that is tried; --patches: in a row (default 4)\n"
    "  --plan-seconds: what has been found by then is run; cuDNN takes a while for each layer\n"
    "  --primitives direct: no FFT, as the ZNNi paper's; fft: not cuDNN, so that plans take seconds (default all)\n";

using Options = std::map<std::string, std::string>;

Error wrong(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

Result<Options> read_options(int count, char** words) {
  Options options = {{"--net", "n337"},         {"--strategy", "cpu-gpu"}, {"--mem", "4G"},  {"--gpu-mem", "1G"},
                     {"--extent", "400"},       {"--patches", "4"},        {"--plugin", ""}, {"--primitives", "all"},
                     {"--plan-seconds", "600"}, {"--precision", "fp32"}};
  for (int i = 1; i < count; i += 2) {
    const std::string name = words[i];
    if (!options.contains(name)) return wrong("no option '" + name + "'");
    if (i + 1 >= count) return wrong(name + " needs a value");
    options[name] = words[i + 1];
  }
  return options;
}

// 'c' and 'p' in order (ZNNi Table III); kernels of the first convolution and of the others.
struct Table {
  std::string layers;
  std::int64_t first_k = 0;
  std::int64_t k = 0;
  std::int64_t f = 80;
};

Result<Network> network_of(const std::string& name) {
  const std::map<std::string, Table> nets = {{"n337", {"cpcpcpcccc", 2, 3}},
                                             {"n537", {"cpcpcpcccc", 4, 5}},
                                             {"n726", {"cpcpcccc", 6, 7}},
                                             {"n926", {"cpcpcccc", 8, 9}},
                                             {"tiny", {"cpc", 3, 3, 4}}};
  if (!nets.contains(name)) return wrong("--net: no '" + name + "'; see the usage");
  const Table& table = nets.at(name);
  Network network;
  network.name = name;
  for (std::size_t i = 0; i < table.layers.size(); ++i) {
    Node node{"layer" + std::to_string(i), Pooling{}, {static_cast<int>(i)}};
    const bool last = i + 1 == table.layers.size();
    const Vec3 k = Vec3::cube(i == 0 ? table.first_k : table.k);
    const Activation relu{ActivationKind::relu, 0.0F};
    if (table.layers[i] == 'c') node.operation = Convolution{last ? 3 : table.f, k, Vec3::cube(1), relu};
    network.nodes.push_back(std::move(node));
  }
  return network;
}

Result<SplitStrategy> strategy_of(const std::string& name) {
  for (const SplitStrategy strategy : {SplitStrategy::gpu, SplitStrategy::gpu_host_ram, SplitStrategy::cpu_gpu}) {
    if (name == to_string(strategy)) return strategy;
  }
  return wrong("--strategy: no '" + name + "'; see the usage");
}

// The primitives that take part, and the devices.
struct Places {
  Catalogue catalogue;
  MachinePlaces machine;
  std::unique_ptr<Device> cpu;
  std::unique_ptr<Device> gpu;
};

Result<Places> open_places(const Options& options) {
  const Result<std::int64_t> memory = parse_bytes(options.at("--mem"));
  if (!memory) return memory.error().within("--mem");
  const Result<std::int64_t> gpu_memory = parse_bytes(options.at("--gpu-mem"));
  if (!gpu_memory) return gpu_memory.error().within("--gpu-mem");
  std::vector<std::filesystem::path> files;
  if (!options.at("--plugin").empty()) files.emplace_back(options.at("--plugin"));
  const Result<Plugins> plugins = open_plugins(files, true);
  if (!plugins) return plugins.error();
  const Result<GpuOffer> offer = offer_gpu(*plugins, *gpu_memory, *memory);
  if (!offer) return offer.error();
  std::vector<const Backend*> backends = {&cpu::backend()};
  backends.insert(backends.end(), plugins->backends.begin(), plugins->backends.end());
  std::vector<std::string> without;
  if (options.at("--primitives") == "direct") without = {"cpu.conv.fft*", "cuda.conv.fft*"};
  if (options.at("--primitives") == "fft") without = {"cuda.conv.cudnn"};
  Result<Catalogue> catalogue = Catalogue::make(backends, {}, without);
  if (!catalogue) return catalogue.error();
  const DeviceSpec spec = cpu::describe_cpu(cpu::default_threads());
  Places places{*std::move(catalogue), {{spec, offer->spec}, {*memory, *memory, *gpu_memory}}, nullptr, nullptr};
  Result<std::unique_ptr<Device>> cpu = cpu::backend().open(spec, *memory, 0, 0);
  if (!cpu) return cpu.error();
  DeviceSpec served = offer->spec;
  served.threads = spec.threads;
  Result<std::unique_ptr<Device>> gpu = plugins->gpu->open(served, *memory, *memory, *gpu_memory);
  if (!gpu) return gpu.error();
  places.cpu = *std::move(cpu);
  places.gpu = *std::move(gpu);
  return places;
}

Result<SplitPlan> plan_within(const Network& network, const Options& options, const Places& places) {
  const Result<SplitStrategy> strategy = strategy_of(options.at("--strategy"));
  if (!strategy) return strategy.error();
  const std::optional<Precision> precision = parse_precision(options.at("--precision"));
  if (!precision) return wrong("--precision: no '" + options.at("--precision") + "'; see the usage");
  SearchOptions search;
  search.precision = *precision;
  search.memory_limit = places.machine.memory.host;
  search.strategy = Strategy::patches;  // those are what is run
  search.max_extent = std::atoll(options.at("--extent").c_str());
  const auto begun = std::chrono::steady_clock::now();
  const std::chrono::seconds most(std::atoll(options.at("--plan-seconds").c_str()));
  search.stop = [begun, most] { return std::chrono::steady_clock::now() - begun > most; };
  const std::unique_ptr<CostSource> costs = modelled_costs();
  search.ladder = false;  // what is to be measured is one rung
  Result<SplitPlan> plan = plan_split(network, places.catalogue, *costs, places.machine, *strategy, search);
  if (plan) plan->plan.memory = plan->plan.ladder.front().memory;
  return plan;
}

std::string places_text(const Rung& rung) {
  std::string text;
  for (const Segment& segment : rung.segments) {
    text += (text.empty() ? "" : ", ") + std::string(to_string(segment.place)) + " " + std::to_string(segment.first) +
            "-" + std::to_string(segment.last) +
            (segment.micro_batch.inputs > 0 ? " by " + std::to_string(segment.micro_batch.inputs) : "");
  }
  return text;
}

// Runs `patches` in a row along x, after one that warms up; the output stands outside the devices' budgets.
Result<JobStatistics> run_patches(Engine& engine, std::int64_t patches) {
  const Vec3 fov = engine.field_of_view();
  Vec3 n = engine.patch();
  n.x += (patches - 1) * (n.x - fov.x + 1);
  const VolumeShape shape{engine.f_in(), n, ElementType::f32, VolumeOrder::channel_major};
  std::vector<float> volume(static_cast<std::size_t>(engine.f_in() * voxels(n)));
  for (std::size_t i = 0; i < volume.size(); ++i) volume[i] = static_cast<float>(i % 251) / 251.0F - 0.5F;
  std::vector<std::byte> output;
  VolumeJob job;
  job.input.volume = {reinterpret_cast<const std::byte*>(volume.data()), shape};
  job.sink.slab = [&](std::int64_t first_plane, std::int64_t planes) -> Result<OutputSlab> {
    VolumeShape slab{engine.f_out(), n - fov + Vec3::cube(1), ElementType::f32, VolumeOrder::channel_major};
    slab.n.z = planes;
    output.resize(static_cast<std::size_t>(volume_bytes(slab)));
    return OutputSlab{first_plane, output.data(), slab};
  };
  job.sink.deliver = [](const OutputSlab&) { return Result<void>(); };
  if (Result<void> warm = engine.warm_up(0, {}); !warm) return warm.error();
  return engine.run(job, {});
}

Result<void> run(const Options& options) {
  const Result<Network> network = network_of(options.at("--net"));
  if (!network) return network.error();
  Result<Places> places = open_places(options);
  if (!places) return places.error();
  const Result<SplitPlan> plan = plan_within(*network, options, *places);
  if (!plan) return plan.error();
  const NetworkWeights weights = random_weights(*network, 1);
  const Result<std::unique_ptr<Engine>> engine =
      Engine::open(*network, weights, plan->plan, places->catalogue, {*places->cpu, places->gpu->accelerator()});
  if (!engine) return engine.error();
  const std::int64_t patches = std::max<std::int64_t>(1, std::atoll(options.at("--patches").c_str()));
  const Result<JobStatistics> ran = run_patches(**engine, patches);
  if (!ran) return ran.error();
  Line("capped")
      .text("net", network->name)
      .text("strategy", options.at("--strategy"))
      .text("primitives", options.at("--primitives"))
      .text("precision", options.at("--precision"))
      .text("gpu_mem", options.at("--gpu-mem"))
      .text("places", places_text(plan->plan.ladder.front()))
      .number("extent", static_cast<double>((*engine)->patch().x))
      .number("device_GiB", static_cast<double>(plan->bytes.device) / static_cast<double>(1 << 30))
      .number("host_GiB", static_cast<double>(plan->plan.memory.total()) / static_cast<double>(1 << 30))
      .number("seconds", ran->seconds)
      .number("patches", static_cast<double>(patches))
      .number("cpu_idle_seconds", ran->cpu_idle)
      .number("gpu_idle_seconds", ran->gpu_idle)
      .number("Mvoxels_per_s", 1e-6 * ran->voxels_per_second)
      .number("predicted_Mvoxels_per_s", 1e-6 * plan->plan.predicted.voxels_per_second)
      .print();
  return {};
}

int program(int count, char** words) {
  const Result<Options> options = read_options(count, words);
  const Result<void> done = options ? run(*options) : Result<void>(options.error());
  if (done) return 0;
  std::fprintf(stderr, "znni-split-bench: %s\n", done.error().message.c_str());
  if (done.error().code != ErrorCode::invalid_argument) return 1;
  std::fputs(usage, stderr);
  return 2;
}

}  // namespace
}  // namespace znni::gpu_bench

int main(int count, char** words) { return znni::gpu_bench::program(count, words); }
