#include "server/options.hpp"

#include <CLI/CLI.hpp>
#include <map>
#include <sstream>

#include "planner/sizes.hpp"
#include "primitives/core/shape.hpp"

namespace znni {
namespace {

// Sizes as typed; turned into bytes after the line was read.
struct Sizes {
  std::string memory;
  std::string max_request_bytes;
};

std::string check_size(const std::string& text) {
  const Result<std::int64_t> bytes = parse_bytes(text);
  return bytes ? std::string() : bytes.error().message;
}

std::string check_message_size(const std::string& text) {
  const Result<std::int64_t> bytes = parse_bytes(text);
  if (!bytes) return bytes.error().message;
  if (*bytes <= most_request_bytes) return {};
  return "'" + text + "' is too large, expected at most " + bytes_text(most_request_bytes) +
         "; larger volumes go through the stream znni.v1.Volumes";
}

void add_places(CLI::App& app, Options& options) {
  app.add_option("--model-repository", options.model_repository, "Folder with <model>/<version>/model.onnx")
      ->required()
      ->group("Models");
  app.add_option("--plan-dir", options.plan_directory,
                 "Folder of plans, read and written (default: znni/plans in the user's state directory)")
      ->group("Models");
  app.add_option("--grpc-address", options.grpc_address, "Address to listen on; 0.0.0.0 for all")
      ->capture_default_str()
      ->group("Network");
  app.add_option("--grpc-port", options.grpc_port, "Port to listen on; 0 for any free one")
      ->capture_default_str()
      ->check(CLI::Range(0, 65535))
      ->group("Network");
}

void add_limits(CLI::App& app, Options& options, Sizes& sizes) {
  app.add_option("--mem", sizes.memory,
                 "Memory of the whole process, models and requests included: 20G, 512M "
                 "(default: ZNNI_MEM of the environment, else 0.8 of what is available)")
      ->check(CLI::Validator(check_size, "SIZE"))
      ->group("Limits");
  app.add_option("--threads", options.threads, "Threads that compute (default: all processors the process may use)")
      ->check(CLI::Range(1, 4096))
      ->group("Limits");
  app.add_option("--max-request-bytes", sizes.max_request_bytes,
                 "Largest ModelInfer request, and answer, in one message "
                 "(default: 256M, or a 32nd of --mem where that is less)")
      ->check(CLI::Validator(check_message_size, "SIZE"))
      ->group("Limits");
  app.add_option("--max-queue", options.max_queue, "Requests that may wait, per model; the next is refused")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000}))
      ->group("Limits");
  app.add_option("--exit-timeout-secs", options.exit_timeout_seconds,
                 "How long requests may go on after SIGTERM or SIGINT; a second signal ends at once")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 86'400.0))
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
  app.add_flag("--check-config", options.check_config, "Check options and repository, print them and end")
      ->group("Other")
      ->configurable(false);
  app.set_version_flag("--version", version_text)->group("Other");
  app.get_help_ptr()->group("Other");
}

// CLI11 wants the program's arguments in reverse.
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
  if (!sizes.memory.empty()) options.memory = *parse_bytes(sizes.memory);
  if (!sizes.max_request_bytes.empty()) options.max_request_bytes = *parse_bytes(sizes.max_request_bytes);
  return command;
}

std::vector<std::pair<std::string, std::string>> describe(const Options& options) {
  std::ostringstream timeout;
  timeout << options.exit_timeout_seconds;
  return {{"model-repository", options.model_repository.string()},
          {"plan-dir", options.plan_directory.string()},
          {"grpc-address", options.grpc_address},
          {"grpc-port", std::to_string(options.grpc_port)},
          {"mem", options.memory ? std::to_string(*options.memory) : "default"},
          {"threads", options.threads ? std::to_string(*options.threads) : "default"},
          {"max-request-bytes", options.max_request_bytes ? std::to_string(*options.max_request_bytes) : "default"},
          {"max-queue", std::to_string(options.max_queue)},
          {"exit-timeout-secs", timeout.str()},
          {"log-format", options.log_format == LogFormat::json ? "json" : "text"}};
}

}  // namespace znni
