// znni-gpu-bench: what a GPU and the CUDA back end do, as JSON lines on standard output. deploy/gpu_check.sh runs it.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "primitives/cpu/device/machine.hpp"
#include "primitives/cuda/conv/cudnn_device.hpp"
#include "tests/gpu_bench/ceilings.hpp"
#include "tests/gpu_bench/divided.hpp"
#include "tests/gpu_bench/lines.hpp"
#include "tests/gpu_bench/nets.hpp"

namespace znni::gpu_bench {
namespace {

constexpr const char* usage =
    "znni-gpu-bench machine | ceilings | divided | layer [options] | net [options]\n"
    "  --memory GIB       of the device (default: nine tenths of what it has)\n"
    "  layer: --k K --n N [--S S] [--f F] [--f-out F] [--pool P]   with the max pooling behind it, all fragments\n"
    "  net: --net n337|n537|n726|n926 --mode f32|fft_tf32|tf32|bf16 --last N [--candidates N]\n"
    "       [--weights FILE] [--input FILE] [--output FILE]\n";

using Options = std::map<std::string, std::string>;

Result<Options> read_options(int count, char** words) {
  static const std::map<std::string, std::string> known = {
      {"--memory", ""},      {"--k", "3"},      {"--n", "64"},     {"--S", "1"},      {"--f", "80"},
      {"--f-out", "80"},     {"--pool", "1"},   {"--net", "n337"}, {"--mode", "f32"}, {"--last", "20"},
      {"--candidates", "4"}, {"--weights", ""}, {"--input", ""},   {"--output", ""}};
  Options options = known;
  for (int i = 2; i < count; i += 2) {
    const std::string name = words[i];
    if (!known.contains(name)) return Error{ErrorCode::invalid_argument, "no option '" + name + "'"};
    if (i + 1 >= count) return Error{ErrorCode::invalid_argument, name + " needs a value"};
    options[name] = words[i + 1];
  }
  return options;
}

Result<std::int64_t> whole(const Options& options, const std::string& name, std::int64_t most) {
  char* end = nullptr;
  const std::string& text = options.at(name);
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (!text.empty() && *end == '\0' && value >= 1 && value <= most) return value;
  return Error{ErrorCode::invalid_argument,
               name + " is '" + text + "', expected a number from 1 to " + std::to_string(most)};
}

void print_machine(const cuda::GpuProperties& gpu) {
  const DeviceSpec spec = cuda::spec_of(gpu);
  Line("machine")
      .text("gpu", gpu.name)
      .number("compute_capability", gpu.compute_capability)
      .number("multiprocessors", gpu.multiprocessors)
      .number("memory_GiB", static_cast<double>(gpu.memory_bytes) / static_cast<double>(1 << 30))
      .number("GHz", 1e-9 * gpu.hertz)
      .number("memory_GHz", 1e-9 * gpu.memory_hertz)
      .number("bus_bits", gpu.memory_bus_bits)
      .number("cudnn", static_cast<double>(cudnnGetVersion()))
      .number("peak_f32_TFLOP_per_s", 1e-12 * spec.flops_per_second)
      .number("peak_bf16_TFLOP_per_s", 1e-12 * spec.accelerator.bf16_flops_per_second)
      .print();
  // The library's own description, for plans without the device.
  const Result<cuda::CudnnDescriptor> device = cuda::cudnn_device(spec);
  if (!device) return;
  std::vector<char> text = device->values<char>(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 1 << 16);
  text.push_back('\0');
  Line("cudnn description").text("json", text.data()).print();
}

Result<void> run(const std::string& command, const Options& options) {
  const std::vector<cuda::GpuProperties> gpus = cuda::read_gpus();
  if (gpus.empty()) return Error{ErrorCode::not_found, "no GPU, or no driver for CUDA 13"};
  const cuda::GpuProperties& gpu = gpus.front();
  if (command == "machine") {
    print_machine(gpu);
    return {};
  }
  std::int64_t memory = gpu.memory_bytes / 10 * 9;
  if (!options.at("--memory").empty()) {
    const Result<std::int64_t> gibibytes = whole(options, "--memory", 4096);
    if (!gibibytes) return gibibytes.error();
    memory = *gibibytes << 30;
  }
  Result<std::unique_ptr<cuda::CudaDevice>> device =
      cuda::open_cuda_device(gpu, std::int64_t{3} << 30, std::int64_t{3} << 30, memory, cpu::default_threads());
  if (!device) return device.error();
  if (command == "ceilings") return measure_ceilings(**device);
  if (command == "divided") return measure_divided(**device);
  if (command == "layer") {
    ConvProblem conv;
    std::map<std::string, std::int64_t> numbers;
    for (const char* name : {"--k", "--n", "--S", "--f", "--f-out", "--pool"}) {
      const Result<std::int64_t> value = whole(options, name, 1 << 20);
      if (!value) return value.error();
      numbers[name] = *value;
    }
    conv.in = {numbers["--S"], numbers["--f"], Vec3::cube(numbers["--n"])};
    conv.f_out = numbers["--f-out"];
    conv.k = Vec3::cube(numbers["--k"]);
    conv.activation.kind = ActivationKind::relu;
    LayerProblem problem = conv;
    if (Result<void> sound = check(problem); !sound) return sound;
    if (const Vec3 p = Vec3::cube(numbers["--pool"]); p != Vec3::cube(1)) {
      problem =
          ConvPoolProblem{conv, {.in = output_shape(problem), .window = p, .stride = p, .mode = PoolMode::fragments}};
      if (Result<void> sound = check(problem); !sound) return sound;
    }
    return run_layer(problem, memory / 10 * 8, **device);
  }
  NetRun net{
      options.at("--net"),   Mode::f32, options.at("--mode"), 0, 4, options.at("--weights"), options.at("--input"),
      options.at("--output")};
  const std::optional<Mode> mode = mode_of(net.mode_name);
  if (!mode) return Error{ErrorCode::invalid_argument, "--mode is '" + net.mode_name + "', see the usage"};
  net.mode = *mode;
  const Result<std::int64_t> last = whole(options, "--last", 4096);
  if (!last) return last.error();
  const Result<std::int64_t> candidates = whole(options, "--candidates", 1000);
  if (!candidates) return candidates.error();
  net.last = *last;
  net.candidates = static_cast<std::size_t>(*candidates);
  return run_net(net, memory / 10 * 8, **device);
}

int program(int count, char** words) {
  const std::string command = count > 1 ? words[1] : "";
  const bool known =
      command == "machine" || command == "ceilings" || command == "divided" || command == "layer" || command == "net";
  const Result<Options> options = read_options(count, words);
  if (!known || !options) {
    std::fprintf(stderr, "znni-gpu-bench: %s\n%s", known ? options.error().message.c_str() : "what is to be run?",
                 usage);
    return 2;
  }
  const Result<void> done = run(command, *options);
  if (done) return 0;
  std::fprintf(stderr, "znni-gpu-bench: %s\n", done.error().message.c_str());
  return done.error().code == ErrorCode::not_found ? 77 : 1;
}

}  // namespace
}  // namespace znni::gpu_bench

int main(int count, char** words) { return znni::gpu_bench::program(count, words); }
