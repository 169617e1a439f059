#include "planner/program/options.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <tuple>

#include "planner/base/command_text.hpp"
#include "planner/base/sizes.hpp"
#include "planner/plan/pins.hpp"
#include "planner/program/answer_options.hpp"
#include "planner/program/bound_options.hpp"
#include "planner/program/command_checks.hpp"
#include "planner/program/report_options.hpp"

namespace znni {
namespace {

constexpr int wrong_use = 2;
constexpr const char* search_limit = "10m";
constexpr const char* calibration_limit = "105s";  // what is under way then ends within two minutes

// Texts that CLI11 collects before they are parsed.
struct Raw {
  std::string memory;
  std::string time_limit;
  std::string volume;
  std::string patience = "recorded";
  std::string strategy = "cpu";
  std::string precision = "fp32";
  std::string gpu_memory;
  std::string pinned_memory;
  int threads = 0;
  std::string patch;
  std::string modes;
  std::string S;
  bool patches_alone = false;
  bool nothing_depth_first = false;
  RawAnswers answers;
  RawReport report;
  std::vector<std::string> force;
  std::string max_seconds = "60s";
  std::string first_plan;
  std::string second_plan;
  std::vector<std::string> valid_output;
};

Error wrong(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

void add_search_flags(CLI::App& app, PlannerOptions& options, Raw& raw) {
  app.add_option("--model", options.model, "network to plan: FILE.onnx, FILE.prototxt or FILE.pbtxt");
  app.add_option("--weights", options.weights, "numbers of FILE.prototxt (default: FILE.caffemodel)");
  app.add_option("--outputs", options.outputs, "outputs of the network's file to compute, NAME,... (default: all)")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--mem", raw.memory,
                 "host RAM of the running plan: 256G, 256GiB, 1.5T (default: ZNNI_MEM, else 0.8 x what is free)");
  app.add_option("--threads", raw.threads, "threads that compute (default: the processors this process may use)");
  app.add_option(
      "--volume", raw.volume,
      "extent of the volume that the plan is for, Z,Y,X: what its borders waste counts (default: an endless volume)");
  app.add_option("--patience", raw.patience, "source of times: model, recorded (default) or measure");
  app.add_option("--time-limit", raw.time_limit,
                 "longest time to measure: 90s, 10m (default), 1h; 105s for `measure` without a model");
  app.add_option("--timings", options.timings, "file of recorded timings (default: in the user's state directory)");
  add_answer_flags(app, raw.answers);
  app.add_option("--plugin", options.plugins, "FILE.so with further primitives")->take_all()->allow_extra_args(false);
  app.add_option("--enable", options.enable, "primitives that take part, NAME or PREFIX*,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--disable", options.disable, "primitives that take no part, NAME or PREFIX*,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--force", raw.force, "NODE=NAME: the primitive of a node, by its name or number")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option(
      "--strategy", raw.strategy,
      "cpu (default), patches (nothing streamed), layerwise (nothing streamed or depth-first) or baseline (every "
      "pooling plain, the naive method); with a GPU, this machine's or that of --machine, also gpu, gpu-host-ram, "
      "cpu-gpu");
}

void add_pin_flags(CLI::App& app, PlannerOptions& options, Raw& raw) {
  app.add_option(
      "--patch", raw.patch,
      "input extents of a patch, or of what one step of a stream depends on, Z,Y,X or N for a cube; default: "
      "the fastest; example: --patch 88,288,280");
  app.add_option("--theta", options.pins.theta,
                 "first layer of the GPU's own segment, by number or name: those before it run on the CPU or through "
                 "host RAM; default: the fastest; example: --theta 4");
  app.add_option("--modes", raw.modes,
                 "mode of each pooling, in order: max, mpf, mpf:2x1x1 (groups of fragments, the input held) or "
                 "mpf:2x1x1:recompute; default: the fastest; example: --modes max,mpf");
  app.add_option("--S", raw.S, "patches computed together; default: the fastest of 1, 2 and 4; example: --S 2");
  app.add_flag("--no-stream", raw.patches_alone,
               "independent patches alone; default: streams, too; example: --strategy cpu-gpu --no-stream --no-groups, "
               "the plans of the ZNNi paper");
  app.add_flag(
      "--no-groups", raw.nothing_depth_first,
      "layers as a whole alone, neither fragments in groups nor a stem in slabs; default: these, too; example: "
      "--no-groups --modes mpf,mpf");
}

void add_other_flags(CLI::App& app, PlannerOptions& options, Raw& raw) {
  app.add_option("--model-repository", options.model_repository,
                 "folder of models to plan, all DIR/<model>/<version>/model.onnx (or model.prototxt)");
  app.add_option("--plan-dir", options.plan_dir, "folder of their plans (default: in the user's state directory)");
  app.add_option("--output", options.output, "file of the plan: plan.pbtxt");
  add_report_flags(app, raw.report);
  app.add_flag("--explain", options.explain, "reasons of the plan, and what more memory would be worth");
  app.add_flag("--json", options.json, "the plan as JSON on stdout");
  app.add_flag("--k8s-resources", options.k8s_resources, "needs of a pod that serves the plan: a patch for deploy/k8s");
  app.add_option("--precision", raw.precision, "coarsest precision of layers: fp32 (default), bf16 or, on a GPU, tf32");
  app.add_option("--gpu-mem", raw.gpu_memory, "memory of the GPU that the plan may use (default: nine tenths)");
  app.add_option("--pinned-mem", raw.pinned_memory, "pinned memory that the plan may use, part of --mem");
}

void add_commands(CLI::App& app, PlannerOptions& options, Raw& raw) {
  const auto add = [&](const char* name, const char* what, Command command) {
    CLI::App* sub = app.add_subcommand(name, what);
    sub->fallthrough();
    sub->callback([&options, command] { options.command = command; });
    return sub;
  };
  add("show",
      "print a plan; with --model, also whether it runs for that model here; with --timings, what they predict of it "
      "now (--output: the plan so)",
      Command::show)
      ->add_option("PLAN", raw.first_plan)
      ->required();
  CLI::App* check =
      add("check", "say whether a network runs here; if not, list all that keeps it from running", Command::check);
  check->add_option("FILE", raw.first_plan)->required();
  check
      ->add_option("--make-valid", raw.valid_output,
                   "tell what becomes of FILE.onnx without its padding; with a file, OUT.onnx, write that")
      ->expected(0, 1)
      ->type_name("[OUT.onnx]");
  CLI::App* diff = add("diff", "compare two plans, line by line", Command::diff);
  diff->add_option("A", raw.first_plan)->required();
  diff->add_option("B", raw.second_plan)->required();
  add("measure", "measure layers of all kinds, at most 2 minutes; with --model those that its plan needs",
      Command::measure);
  CLI::App* draw = add("draw",
                       "write plans drawn at random, and the chosen one, into the directory --output: to check "
                       "predictions (znni-bench net)",
                       Command::draw);
  draw->add_option("--count", options.draw.count, "how many")->capture_default_str()->check(CLI::Range(0, 1000));
  draw->add_option("--neighbours", options.neighbours, "and so many with nearly the chosen patch")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000));
  draw->add_option("--seed", options.draw.seed, "other seeds give other plans")->capture_default_str();
  draw->add_option("--max-seconds,--most-seconds", raw.max_seconds, "longest predicted time of a patch, for example 2m")
      ->capture_default_str();
  add("primitives", "list the primitives of this build", Command::primitives);
  app.require_subcommand(0, 1);
}

bool is_split(const std::string& strategy) {
  return strategy == "gpu" || strategy == "gpu-host-ram" || strategy == "cpu-gpu";
}

Result<void> check_gpu_words(const Raw& raw) {
  const std::optional<Precision> precision = parse_precision(raw.precision);
  if (!precision) return wrong("--precision '" + raw.precision + "': write fp32, tf32 or bf16");
  if (is_split(raw.strategy)) return {};
  constexpr const char* no_gpu = " goes with --strategy gpu, gpu-host-ram or cpu-gpu";
  if (*precision == Precision::tf32) {
    return wrong(std::string("--precision tf32: primitives of the CPU compute in fp32 or bf16; it") + no_gpu);
  }
  if (!raw.gpu_memory.empty()) return wrong(std::string("--gpu-mem") + no_gpu);
  if (!raw.pinned_memory.empty()) return wrong(std::string("--pinned-mem") + no_gpu);
  return {};
}

Result<void> read_split(const Raw& raw, PlannerOptions& options) {
  options.precision = *parse_precision(raw.precision);
  for (const SplitStrategy split : {SplitStrategy::gpu, SplitStrategy::gpu_host_ram, SplitStrategy::cpu_gpu}) {
    if (raw.strategy == to_string(split)) options.split = split;
  }
  for (const auto& [flag, text, bytes] : {std::tuple{"--gpu-mem", &raw.gpu_memory, &options.gpu_memory},
                                          std::tuple{"--pinned-mem", &raw.pinned_memory, &options.pinned_memory}}) {
    if (text->empty()) continue;
    const Result<std::int64_t> parsed = parse_bytes(*text);
    if (!parsed) return parsed.error().within(flag);
    *bytes = *parsed;
  }
  if (options.split && options.k8s_resources) {
    return wrong("--k8s-resources is for daemons on CPUs, not for --strategy " + raw.strategy);
  }
  return {};
}

Result<void> read_words(const Raw& raw, PlannerOptions& options) {
  const std::map<std::string, Patience> patience = {
      {"model", Patience::model}, {"recorded", Patience::recorded}, {"measure", Patience::measure}};
  const std::map<std::string, Strategy> strategy = {{"cpu", Strategy::cpu},
                                                    {"patches", Strategy::patches},
                                                    {"layerwise", Strategy::layerwise},
                                                    {"baseline", Strategy::baseline}};
  if (!patience.contains(raw.patience)) {
    return wrong("--patience '" + raw.patience + "': write model, recorded or measure");
  }
  if (!options.split && !strategy.contains(raw.strategy)) {
    return wrong("--strategy '" + raw.strategy +
                 "': write cpu, patches, layerwise or baseline, with a GPU also gpu, gpu-host-ram, cpu-gpu");
  }
  options.patience = patience.at(raw.patience);
  if (!options.split) options.strategy = strategy.at(raw.strategy);
  for (const std::string& each : raw.force) {
    const std::size_t at = each.find('=');
    if (at == 0 || at == std::string::npos || at + 1 == each.size()) {
      return wrong("--force '" + each + "': write NODE=NAME, such as conv1=cpu.conv.direct");
    }
    options.force[each.substr(0, at)] = each.substr(at + 1);
  }
  return {};
}

Result<void> read_pins(const Raw& raw, Pins& pins) {
  if (!raw.patch.empty()) {
    const Result<Vec3> patch = parse_pinned_patch(raw.patch);
    if (!patch) return wrong("--patch " + patch.error().message);
    pins.patch = *patch;
  }
  if (!raw.modes.empty()) {
    Result<std::vector<PoolingMode>> modes = parse_pinned_modes(raw.modes);
    if (!modes) return wrong("--modes " + modes.error().message);
    pins.modes = *std::move(modes);
  }
  if (!raw.S.empty()) {
    const Result<std::int64_t> S = parse_pinned_batch(raw.S);
    if (!S) return wrong("--S " + S.error().message);
    pins.S = *S;
  }
  pins.streams = !raw.patches_alone;
  pins.groups = !raw.nothing_depth_first;
  return {};
}

// Refuses, by its name, a pin that this command or strategy does not use.
Result<void> check_pins_used(const PlannerOptions& options) {
  const Pins& pins = options.pins;
  if (pins == Pins()) return {};
  const bool plans = options.command == Command::plan || options.command == Command::draw ||
                     (options.command == Command::measure && !options.model.empty());
  if (!plans) return wrong(to_string(pins) + ": pins are for planning; leave them out of this command");
  if (!pins.theta.empty() && !options.split) {
    return wrong("--theta " + pins.theta + ": the layers before theta are those before the GPU's own; it goes with " +
                 "--strategy gpu-host-ram or cpu-gpu");
  }
  Pins of_one_model = pins;
  of_one_model.streams = of_one_model.groups = true;
  if (options.model_repository.empty() || of_one_model == Pins()) return {};
  return wrong(to_string(of_one_model) + ": pins of one model; give --model FILE");
}

Result<void> read_numbers(const Raw& raw, bool threads_given, PlannerOptions& options) {
  if (!raw.memory.empty()) {
    const Result<std::int64_t> bytes = parse_bytes(raw.memory);
    if (!bytes) return bytes.error().within("--mem");
    options.memory = *bytes;
  }
  if (!raw.volume.empty()) {
    const Result<Vec3> volume = parse_extents(raw.volume);
    if (!volume) return volume.error().within("--volume");
    options.volume = *volume;
  }
  const bool calibrates = options.command == Command::measure && options.model.empty();
  const Result<Seconds> limit = parse_duration(!raw.time_limit.empty() ? raw.time_limit
                                               : calibrates            ? calibration_limit
                                                                       : search_limit);
  if (!limit) return limit.error().within("--time-limit");
  options.time_limit = *limit;
  const Result<Seconds> most = parse_duration(raw.max_seconds);
  if (!most) return most.error().within("--max-seconds");
  options.draw.max_seconds = *most;
  if (!threads_given) return {};
  if (raw.threads < 1 || raw.threads > 4096) {
    return wrong("--threads " + std::to_string(raw.threads) + ": write a number from 1 to 4096");
  }
  options.threads = raw.threads;
  return {};
}

Result<void> check_machine(const PlannerOptions& options) {
  if (options.machine.empty() && options.priced.empty()) return {};
  if (options.threads) return wrong("--threads and --machine exclude each other: the machine's file names its threads");
  if (options.patience == Patience::measure) return wrong("nothing can be measured here for the machine of --machine");
  return {};
}

// Checks the options of plans over CPU and GPU.
Result<void> check_split(const PlannerOptions& options) {
  if (!options.split) return {};
  const std::string strategy = "--strategy " + std::string(to_string(*options.split));
  if (!options.force.empty()) {
    return wrong("--force is of CPU plans; " + strategy + " takes the fastest primitives of --enable and --disable");
  }
  if (options.patience == Patience::measure) {
    return wrong("measuring is of layers on the CPU, not for " + strategy + ": its times come from formulas and files");
  }
  return options.model_repository.empty() ? Result<void>() : wrong(strategy + " is for one model: give --model FILE");
}

Result<void> check_together(const PlannerOptions& options) {
  if (options.json && options.k8s_resources) return wrong("--json and --k8s-resources exclude each other");
  if (Result<void> machine = check_machine(options); !machine) return machine;
  if (Result<void> split = check_split(options); !split) return split;
  if (Result<void> used = check_pins_used(options); !used) return used;
  if (Result<void> used = check_bounds_used(options); !used) return used;
  if (Result<void> used = check_weights_used(options); !used) return used;
  if (options.command != Command::plan) return check_options_of_command(options);
  if (options.model.empty() && options.model_repository.empty()) {
    return wrong("nothing to plan: give --model FILE or --model-repository DIR");
  }
  if (options.model_repository.empty()) {
    return options.plan_dir.empty() ? Result<void>() : wrong("--plan-dir goes with --model-repository, not --model");
  }
  if (!options.model.empty()) return wrong("--model and --model-repository exclude each other");
  if (!options.outputs.empty()) {
    return wrong("--outputs is for one model: give --model FILE, or the parameter 'outputs' in its config.pbtxt");
  }
  const bool of_one = options.json || options.explain || options.k8s_resources;
  if (of_one || !options.output.empty() || !options.report.empty()) {
    return wrong("--json, --explain, --k8s-resources, --output and --report are for one model: give --model FILE");
  }
  return {};
}

Result<void> understand(const Raw& raw, bool threads_given, PlannerOptions& options) {
  if (Result<void> cpu_only = check_gpu_words(raw); !cpu_only) return cpu_only;
  if (Result<void> split = read_split(raw, options); !split) return split;
  if (Result<void> words = read_words(raw, options); !words) return words;
  if (Result<void> numbers = read_numbers(raw, threads_given, options); !numbers) return numbers;
  if (Result<void> pins = read_pins(raw, options.pins); !pins) return pins;
  if (Result<void> report = read_report(raw.report, options); !report) return report;
  if (Result<void> answers = read_answers(raw.answers, options); !answers) return answers;
  std::erase(options.files = {raw.first_plan, raw.second_plan}, "");
  if (options.command == Command::measure) options.patience = Patience::measure;
  if (Result<void> files = check_files(options); !files) return files;
  return check_together(options);
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

std::variant<PlannerOptions, EarlyEnd> parse_options(std::vector<std::string> arguments, const std::string& version) {
  PlannerOptions options;
  options.command_line = command_text("planner", arguments);
  Raw raw;
  CLI::App app(
      "Plans the input size and the primitives of the layers that give the most voxels per second within a memory "
      "limit.",
      "planner");
  add_search_flags(app, options, raw);
  add_pin_flags(app, options, raw);
  add_bound_flags(app, options.bounds);
  add_other_flags(app, options, raw);
  add_commands(app, options, raw);
  app.set_version_flag("--version", version);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    return EarlyEnd{0, app.help()};
  } catch (const CLI::CallForVersion&) {
    return EarlyEnd{0, version + "\n"};
  } catch (const CLI::ParseError& error) {
    return EarlyEnd{wrong_use, one_line(error.what()) + " (planner --help lists all flags)"};
  }
  raw.answers.names_strategy = app.count("--strategy") > 0;
  if (app.get_subcommand("check")->count("--make-valid") > 0) {
    options.valid_output = raw.valid_output.empty() ? "" : raw.valid_output.front();
  }
  if (const Result<void> sound = understand(raw, app.count("--threads") > 0, options); !sound) {
    return EarlyEnd{wrong_use, sound.error().message};
  }
  return options;
}

int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::not_found:
    case ErrorCode::unsupported:
    case ErrorCode::corrupt_file: return wrong_use;
    case ErrorCode::over_budget: return 3;
    case ErrorCode::cancelled: return 130;
    default: return 1;
  }
}

}  // namespace znni
