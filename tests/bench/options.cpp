#include "tests/bench/options.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <utility>

#include "planner/base/sizes.hpp"
#include "primitives/core/finite_number.hpp"

namespace znni::bench {
namespace {

constexpr int wrong_use = 2;

// Option values that CLI11 cannot parse by itself.
struct RawOptions {
  std::string memory;
  std::string k = "3";
  std::string n = "64";
  std::string dilation = "1";
  bool train = false;
  bool all = false;
};

template <class Options>
void add_shared(CLI::App& app, Options& options, RawOptions& raw, const char* memory, const char* threads,
                const char* repetitions) {
  app.add_option("--mem", raw.memory, memory);
  app.add_option("--threads", options.threads, threads)->check(CLI::Range(1, 4096));
  app.add_option("--repetitions", options.repetitions, repetitions)->capture_default_str()->check(CLI::Range(1, 1000));
  app.add_flag("--json", options.json, "the figures as JSON on stdout");
}

CLI::App* add_net(CLI::App& app, NetOptions& options, RawOptions& raw) {
  CLI::App* net = app.add_subcommand("net", "run a plan on one patch, and compare with what it predicts");
  net->add_option("--plan", options.plan, "plan, as planner --output writes it")->required();
  net->add_option("--model", options.model,
                  "its network: FILE.onnx, FILE.prototxt, or FILE.pbtxt with seeded random weights")
      ->required();
  net->add_option("--limit", options.limit, "SECONDS: the largest patch of the plan predicted to take no longer")
      ->check(CLI::Validator(refuse_endless, "NUMBER"))
      ->check(CLI::PositiveNumber);
  add_shared(*net, options, raw,
             "host RAM the plan may take, the program itself takes up to 80M more: 16G, 512M "
             "(default: 0.8 x what is free)",
             "threads that compute (default: those the plan was made for)", "warm runs after the cold one");
  return net;
}

CLI::App* add_layer(CLI::App& app, LayerOptions& options, RawOptions& raw) {
  CLI::App* layer = app.add_subcommand("layer", "time primitives on one convolution, in turn");
  const CLI::Range counts(std::int64_t{1}, std::int64_t{1} << 20);
  ConvProblem& problem = options.problem;
  problem.in.f = problem.f_out = 80;
  layer->add_option("--f", problem.in.f, "channels the layer reads")->capture_default_str()->check(counts);
  layer->add_option("--f-out", problem.f_out, "channels it writes")->capture_default_str()->check(counts);
  layer->add_option("--k", raw.k, "extent of the kernel: one number or Z,Y,X")->capture_default_str();
  layer->add_option("--n", raw.n, "extent of the input: one number or Z,Y,X")->capture_default_str();
  layer->add_option("--dilation", raw.dilation, "voxels from tap to tap: one number or Z,Y,X")->capture_default_str();
  layer->add_option("--S", problem.in.S, "inputs at once")->capture_default_str()->check(counts);
  layer
      ->add_option("--primitives", options.primitives,
                   "NAME,...: what is timed; speeds are told of the last one. With --train: what is timed beside the "
                   "planner's choice (default: nothing)")
      ->delimiter(',')
      ->capture_default_str();
  CLI::Option* train = layer->add_flag("--train", raw.train,
                                       "time a step of training: the layer, the gradients of its weights and of its "
                                       "input, as the step planner chooses under --mem");
  layer->add_flag("--all", raw.all, "with --train: every primitive, too, in its fastest way")->needs(train);
  add_shared(*layer, options, raw, "host RAM a primitive may take: 16G, 512M (default: 0.8 x what is free)",
             "threads that compute (default: the processors this process may use)", "timed runs of each primitive");
  return layer;
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// Returns the extents of an option; "3" is a cube.
Result<Vec3> extents(const std::string& option, const std::string& text) {
  const bool one = text.find_first_of(",x") == std::string::npos;
  const Result<Vec3> parsed = parse_extents(one ? text + ',' + text + ',' + text : text);
  if (parsed) return parsed;
  return Error{ErrorCode::invalid_argument,
               option + " '" + text + "': write one number of at least 1, or three as Z,Y,X"};
}

Result<void> understand(const RawOptions& raw, LayerOptions& options) {
  const Result<Vec3> k = extents("--k", raw.k);
  if (!k) return k.error();
  const Result<Vec3> n = extents("--n", raw.n);
  if (!n) return n.error();
  const Result<Vec3> dilation = extents("--dilation", raw.dilation);
  if (!dilation) return dilation.error();
  options.problem.k = *k;
  options.problem.dilation = *dilation;
  options.problem.in.n = *n;
  return check(LayerProblem(options.problem));
}

Result<std::optional<std::int64_t>> memory_of(const RawOptions& raw) {
  if (raw.memory.empty()) return std::optional<std::int64_t>();
  const Result<std::int64_t> bytes = parse_bytes(raw.memory);
  if (!bytes) return bytes.error().within("--mem");
  return std::optional(*bytes);
}

}  // namespace

std::variant<NetOptions, LayerOptions, TrainOptions, EarlyEnd> parse_options(std::vector<std::string> arguments) {
  NetOptions net;
  LayerOptions layer;
  RawOptions raw;
  CLI::App app("What layers and plans take on this machine, and what was predicted.", "znni-bench");
  const CLI::App* const net_command = add_net(app, net, raw);
  const CLI::App* const layer_command = add_layer(app, layer, raw);
  app.require_subcommand(1);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 reads the vector from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    return EarlyEnd{0, app.help("", CLI::AppFormatMode::All)};
  } catch (const CLI::ParseError& error) {
    return EarlyEnd{wrong_use, one_line(error.what()) + " (znni-bench --help lists all flags)"};
  }
  const Result<std::optional<std::int64_t>> memory = memory_of(raw);
  if (!memory) return EarlyEnd{wrong_use, memory.error().message};
  net.memory = layer.memory = *memory;
  if (net_command->parsed()) return net;
  if (const Result<void> sound = understand(raw, layer); !sound) return EarlyEnd{wrong_use, sound.error().message};
  if (!raw.train) return layer;
  if (layer_command->count("--primitives") == 0) layer.primitives.clear();
  return TrainOptions{std::move(layer), raw.all};
}

}  // namespace znni::bench
