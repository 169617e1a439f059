#include "server/options.hpp"

#include <CLI/CLI.hpp>
#include <map>
#include <sstream>

#include "planner/base/sizes.hpp"
#include "primitives/core/finite_number.hpp"
#include "primitives/core/shape.hpp"

namespace znni {
namespace {

// Sizes as typed; turned into bytes after the line was read.
struct Sizes {
  std::string memory;
  std::string gpu_memory;
  std::string max_request_bytes;
};

std::string check_size(const std::string& text) {
  const Result<std::int64_t> bytes = parse_bytes(text);
  return bytes ? std::string() : bytes.error().message;
}

std::string check_message_size(const std::string& text) {
  const Result<std::int64_t> bytes = parse_bytes(text);
  if (!bytes) return bytes.error().message;
  if (*bytes < min_request_bytes) {
    return "'" + text + "' is too small, expected at least " + bytes_text(min_request_bytes) +
           ": a patch of 8x8x8 voxels must fit";
  }
  if (*bytes <= max_request_bytes) return {};
  return "'" + text + "' is too large, expected at most " + bytes_text(max_request_bytes) +
         "; larger volumes go through the stream znni.v1.Volumes";
}

// Reads --volume into `volume`. Returns what is wrong with it.
std::string read_volume(const std::string& text, PlannedVolume& volume) {
  const Result<Vec3> extent = parse_extents(text);
  if (!extent) return extent.error().message;
  volume.extent = *extent;
  return {};
}

void add_volume(CLI::App& app, Options& options) {
  app.add_option_function<std::string>(
         "--volume", [](const std::string&) {},
         "Extent Z,Y,X of the volumes that plans are made for: 300,1000,1000 (default: volumes without end)")
      ->check(CLI::Validator([&options](std::string& text) { return read_volume(text, options.volume); }, "EXTENT"))
      ->group("Models");
  app.add_flag("--volume-is-padded", options.volume.is_padded,
               "With --volume: clients pad volumes, so that outputs have that extent")
      ->needs("--volume")
      ->group("Models");
}

void add_places(CLI::App& app, Options& options) {
  app.add_option("--model-repository", options.model_repository,
                 "Folder with <model>/model.onnx or <model>/<version>/model.onnx, or model.prototxt there")
      ->required()
      ->group("Models");
  app.add_option("--plan-dir", options.plan_directory,
                 "Folder of plans, read and written (default: znni/plans in the user's state directory)")
      ->group("Models");
  add_volume(app, options);
  const std::map<std::string, ModelControl> modes = {
      {"none", ModelControl::none}, {"explicit", ModelControl::by_hand}, {"poll", ModelControl::poll}};
  app.add_option(
         "--model-control-mode", options.control,
         "Loading of models: none loads all at the start; explicit loads those of --load-model at the start, and "
         "others when clients ask; poll loads all, and follows what changes in the folder (default: none)")
      ->transform(CLI::CheckedTransformer(modes))
      ->group("Models");
  app.add_option("--repository-poll-secs", options.poll_seconds,
                 "Seconds between two looks at the folder, with --model-control-mode poll (default: 15)")
      ->check(CLI::Validator(refuse_endless, "NUMBER"))
      ->check(CLI::Range(0.1, 86'400.0))
      ->group("Models");
  app.add_option("--load-model", options.load_models,
                 "Model that is loaded at the start with explicit control; may be given again; * for all")
      ->group("Models");
  app.add_option("--grpc-address", options.grpc_address,
                 "Address to listen on, or a name for all addresses that it has; 0.0.0.0 for all of this machine")
      ->capture_default_str()
      ->group("Network");
  app.add_option("--grpc-port", options.grpc_port, "Port to listen on; 0 for any free one")
      ->capture_default_str()
      ->check(CLI::Range(0, 65535))
      ->group("Network");
  app.add_option("--metrics-address", options.metrics_address, "Address for metrics and probes over HTTP")
      ->capture_default_str()
      ->group("Network");
  app.add_option(
         "--metrics-port", options.metrics_port,
         "Port of /metrics, /livez and /readyz, and of the protocol's REST, /v2; 0 for any free one, -1 for none")
      ->capture_default_str()
      ->check(CLI::Range(-1, 65535))
      ->group("Network");
}

void add_security(CLI::App& app, Options& options) {
  app.add_flag("--grpc-use-ssl", options.use_ssl, "TLS, with --grpc-server-cert and --grpc-server-key")
      ->group("Security");
  app.add_flag("--grpc-use-ssl-mutual", options.use_ssl_mutual,
               "TLS for clients with a certificate that --grpc-root-cert signed")
      ->group("Security");
  app.add_option("--grpc-server-cert", options.server_cert, "PEM file of the server's certificate")->group("Security");
  app.add_option("--grpc-server-key", options.server_key, "PEM file of its key")->group("Security");
  app.add_option("--grpc-root-cert", options.root_cert, "PEM file of the certificates that sign those of clients")
      ->group("Security");
  app.add_option("--infer-token-file", options.infer_token_file,
                 "File with the token that calls must bear ('authorization: Bearer ...')")
      ->group("Security");
  app.add_option("--manage-token-file", options.manage_token_file,
                 "File with the token that calls must bear that load and unload models")
      ->group("Security");
  const std::map<std::string, HttpModels> modes = {
      {"auto", HttpModels::automatic}, {"on", HttpModels::on}, {"off", HttpModels::off}};
  app.add_option(
         "--http-infer", options.http_models,
         "Models over HTTP, which has no TLS: on, off, or auto, which serves them if --metrics-address is a loopback "
         "address and gRPC has no TLS (default: auto)")
      ->transform(CLI::CheckedTransformer(modes))
      ->group("Security");
  app.add_flag(
         "--allow-client-shm", options.allow_client_shm,
         "Volumes in shared memory, for clients on a loopback address: they may name any of it that this user may "
         "open")
      ->group("Security");
}

// Returns contradictions that no check of a single option sees; "" if there are none.
std::string contradictions(const Options& options) {
  if (options.control != ModelControl::by_hand && !options.load_models.empty()) {
    return "--load-model is given without --model-control-mode explicit";
  }
  if (options.control != ModelControl::poll && options.poll_seconds) {
    return "--repository-poll-secs is given without --model-control-mode poll";
  }
  const bool tls = options.use_ssl || options.use_ssl_mutual;
  if (tls && (options.server_cert.empty() || options.server_key.empty())) {
    return "--grpc-use-ssl needs --grpc-server-cert and --grpc-server-key";
  }
  if (options.use_ssl_mutual && options.root_cert.empty()) return "--grpc-use-ssl-mutual needs --grpc-root-cert";
  const bool files = !options.server_cert.empty() || !options.server_key.empty() || !options.root_cert.empty();
  if (files && !tls) return "certificates are given without --grpc-use-ssl or --grpc-use-ssl-mutual";
  return {};
}

void add_connection_limits(CLI::App& app, Options& options) {
  app.add_option("--max-connections", options.max_connections,
                 "Connections that may be open at the same time; the next is closed (default: one for each MiB of "
                 "--mem, at most half of the files that the process may open, from 16 to 4096)")
      ->check(CLI::Range(1, 65'536))
      ->group("Limits");
  app.add_option(
         "--max-connections-per-client", options.max_connections_per_client,
         "Connections of one address, or of one /64 network of IPv6; behind a proxy all clients have one address. "
         "An address may have the same part of all calls, at least half (default: half of --max-connections)")
      ->check(CLI::Range(1, 65'536))
      ->group("Limits");
}

void add_limits(CLI::App& app, Options& options, Sizes& sizes) {
  const CLI::Validator finite(refuse_endless, "NUMBER");
  app.add_option("--mem", sizes.memory,
                 "Memory of the whole process, models and requests included: 20G, 512M "
                 "(default: ZNNI_MEM of the environment, else 0.8 of what is available)")
      ->check(CLI::Validator(check_size, "SIZE"))
      ->group("Limits");
  app.add_option(
         "--gpu-mem", sizes.gpu_memory,
         "Memory of the GPU for plans that name one; without --plugin, libznni_cuda.so beside the program brings "
         "it (default: no GPU, or nine tenths of one that a plug-in brings)")
      ->check(CLI::Validator(check_size, "SIZE"))
      ->group("Limits");
  app.add_option("--plugin", options.plugins, "FILE.so with a further back end; may be given again")
      ->take_all()
      ->allow_extra_args(false)
      ->group("Models");
  app.add_option("--threads", options.threads, "Threads that compute (default: all processors the process may use)")
      ->check(CLI::Range(1, 4096))
      ->group("Limits");
  app.add_option("--max-request-bytes", sizes.max_request_bytes,
                 "Most bytes of voxels in one ModelInfer request, and in its answer, 4K to 1G "
                 "(default: 128M, or a 64th of --mem if that is less)")
      ->check(CLI::Validator(check_message_size, "SIZE"))
      ->group("Limits");
  app.add_option("--max-queue", options.max_queue, "Requests that may wait, per model; the next is refused")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000}))
      ->group("Limits");
  app.add_option(
         "--lame-duck-secs", options.lame_duck_seconds,
         "Seconds after SIGTERM or SIGINT in which the daemon is not ready but still takes new requests, until load "
         "balancers know")
      ->capture_default_str()
      ->check(finite)
      ->check(CLI::Range(0.0, 86'400.0))
      ->group("Limits");
  app.add_option("--exit-timeout-secs", options.exit_timeout_seconds,
                 "Seconds that requests have to end after that; a second signal ends them at once")
      ->capture_default_str()
      ->check(finite)
      ->check(CLI::Range(0.0, 86'400.0))
      ->group("Limits");
  app.add_option("--stuck-after-secs", options.stuck_after_seconds,
                 "Seconds without a finished layer after which /livez fails while a job computes")
      ->capture_default_str()
      ->check(finite)
      ->check(CLI::Range(1.0, 1e6))
      ->group("Limits");
}

void add_rest(CLI::App& app, Options& options, const std::string& version_text) {
  const std::map<std::string, LogFormat> formats = {{"text", LogFormat::text}, {"json", LogFormat::json}};
  app.add_option("--log-format", options.log_format, "Log lines on standard error: text or json (default: text)")
      ->transform(CLI::CheckedTransformer(formats))
      ->group("Other");
  app.set_config("--config", "", "File of 'option=value' lines, names as here without the dashes")
      ->check(CLI::ExistingFile)
      ->group("Other");
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.add_flag("--check-config", options.check_config, "Check options and the files of all models, print them and end")
      ->group("Other")
      ->configurable(false);
  app.set_version_flag("--version", version_text)->group("Other");
  app.get_help_ptr()->group("Other");
}

// Returns the arguments in reverse, as CLI11 wants them.
std::vector<std::string> reversed(std::span<const char* const> arguments) {
  return {arguments.rbegin(), arguments.rend()};
}

}  // namespace

Command parse_options(std::span<const char* const> arguments, const std::string& version_text) {
  Command command;
  Options& options = command.options;
  Sizes sizes;
  CLI::App app("Serves 3D ConvNets over volumes: Open Inference Protocol v2 and znni.v1.Volumes on gRPC.", "znnid");
  add_places(app, options);
  add_limits(app, options, sizes);
  add_connection_limits(app, options);
  add_security(app, options);
  add_rest(app, options, version_text);
  try {
    app.parse(reversed(arguments));
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream wrong;
    const bool is_wrong = app.exit(error, out, wrong) != 0;
    command.exit_code = is_wrong ? exit_wrong_use : 0;
    command.text = is_wrong ? "znnid: " + std::string(error.what()) + "; see znnid --help\n" : out.str();
    return command;
  }
  if (const std::string wrong = contradictions(options); !wrong.empty()) {
    command.exit_code = exit_wrong_use;
    command.text = "znnid: " + wrong + "; see znnid --help\n";
    return command;
  }
  if (!sizes.memory.empty()) options.memory = *parse_bytes(sizes.memory);
  if (!sizes.gpu_memory.empty()) options.gpu_memory = *parse_bytes(sizes.gpu_memory);
  if (!sizes.max_request_bytes.empty()) options.max_request_bytes = *parse_bytes(sizes.max_request_bytes);
  return command;
}

namespace {

std::string text_of(ModelControl control) {
  return control == ModelControl::poll ? "poll" : control == ModelControl::by_hand ? "explicit" : "none";
}

std::string text_of(HttpModels mode) {
  return mode == HttpModels::on ? "on" : mode == HttpModels::off ? "off" : "auto";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> describe(const Options& options) {
  const auto number = [](double value) {
    std::ostringstream text;
    text << value;
    return text.str();
  };
  const auto yes_no = [](bool value) { return std::string(value ? "true" : "false"); };
  std::vector<std::pair<std::string, std::string>> lines = {
      {"model-repository", options.model_repository.string()},
      {"plan-dir", options.plan_directory.string()},
      {"model-control-mode", text_of(options.control)},
      {"grpc-address", options.grpc_address},
      {"grpc-port", std::to_string(options.grpc_port)},
      {"metrics-address", options.metrics_address},
      {"metrics-port", std::to_string(options.metrics_port)},
      {"mem", options.memory ? std::to_string(*options.memory) : "default"},
      {"threads", options.threads ? std::to_string(*options.threads) : "default"},
      {"max-request-bytes", options.max_request_bytes ? std::to_string(*options.max_request_bytes) : "default"},
      {"max-queue", std::to_string(options.max_queue)},
      {"lame-duck-secs", number(options.lame_duck_seconds)},
      {"exit-timeout-secs", number(options.exit_timeout_seconds)},
      {"stuck-after-secs", number(options.stuck_after_seconds)},
      {"grpc-use-ssl", yes_no(options.use_ssl)},
      {"grpc-use-ssl-mutual", yes_no(options.use_ssl_mutual)},
      {"http-infer", text_of(options.http_models)},
      {"allow-client-shm", yes_no(options.allow_client_shm)},
      {"log-format", options.log_format == LogFormat::json ? "json" : "text"}};
  const auto file = [&lines](const char* name, const std::filesystem::path& path) {
    if (!path.empty()) lines.emplace_back(name, path.string());
  };
  if (options.volume.extent) {
    lines.emplace_back("volume", to_string(*options.volume.extent));
    lines.emplace_back("volume-is-padded", yes_no(options.volume.is_padded));
  }
  if (options.poll_seconds) lines.emplace_back("repository-poll-secs", number(*options.poll_seconds));
  for (const std::string& name : options.load_models) lines.emplace_back("load-model", name);
  for (const std::filesystem::path& plugin : options.plugins) file("plugin", plugin);
  const auto count = [&lines](const char* name, const std::optional<int>& value) {
    if (value) lines.emplace_back(name, std::to_string(*value));
  };
  count("max-connections", options.max_connections);
  count("max-connections-per-client", options.max_connections_per_client);
  if (options.gpu_memory) lines.emplace_back("gpu-mem", std::to_string(*options.gpu_memory));
  file("grpc-server-cert", options.server_cert);
  file("grpc-server-key", options.server_key);
  file("grpc-root-cert", options.root_cert);
  file("infer-token-file", options.infer_token_file);
  file("manage-token-file", options.manage_token_file);
  return lines;
}

}  // namespace znni
