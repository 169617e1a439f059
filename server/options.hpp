// The command line and configuration file of znnid.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "server/log.hpp"
#include "server/models/planned_volume.hpp"

namespace znni {

// Says where models are served over HTTP: where that is as safe as gRPC, always, never.
enum class HttpModels { automatic, on, off };

// Says when models are loaded and unloaded after the start: never, when clients ask, when their files change.
enum class ModelControl { none, by_hand, poll };

struct Options {
  std::filesystem::path model_repository;
  std::filesystem::path plan_directory;  // "": the default
  PlannedVolume volume = {};             // that plans are made for
  ModelControl control = ModelControl::none;
  std::vector<std::string> load_models;  // by hand: those loaded at the start; "*": all
  std::optional<double> poll_seconds;    // between two looks at the repository; nothing: 15
  std::string grpc_address = "127.0.0.1";
  int grpc_port = 8001;  // 0: any free one
  std::string metrics_address = "127.0.0.1";
  int metrics_port = 8002;  // 0: any free one; -1: none
  HttpModels http_models = HttpModels::automatic;
  std::optional<std::int64_t> memory;             // bytes of the whole process; nothing: 0.8 of what there is
  std::vector<std::filesystem::path> plugins;     // back ends beside the CPU's
  std::optional<std::int64_t> gpu_memory;         // bytes of the GPU; nothing: nine tenths where a plug-in brings one
  std::optional<int> threads;                     // nothing: all that the process may use
  std::optional<std::int64_t> max_request_bytes;  // of one ModelInfer message, each way; nothing: by the memory
  std::int64_t max_queue = 64;                    // jobs waiting, per model
  std::optional<int> max_connections;             // nothing: by the descriptors of the process and the memory
  std::optional<int> max_connections_per_client;  // nothing: half of those
  double lame_duck_seconds = 0;
  double exit_timeout_seconds = 30;
  double stuck_after_seconds = 600;  // without progress of the job that computes, /livez fails
  bool allow_client_shm = false;
  bool use_ssl = false;
  bool use_ssl_mutual = false;
  std::filesystem::path server_cert;  // PEM files
  std::filesystem::path server_key;
  std::filesystem::path root_cert;
  std::filesystem::path infer_token_file;  // "": no token is asked for
  std::filesystem::path manage_token_file;
  LogFormat log_format = LogFormat::text;
  bool check_config = false;
};

// Bounds of --max-request-bytes: a patch of 8^3 voxels and its tensors' names; far below the 2 GiB at which the
// protocol library ends the process.
inline constexpr std::int64_t min_request_bytes = std::int64_t{4} << 10;
inline constexpr std::int64_t max_request_bytes = std::int64_t{1} << 30;

// The command line's wish: to run with `options`, or to print `text` and end with `exit_code` (help, version, wrong
// use).
struct Command {
  Options options;
  std::optional<int> exit_code;
  std::string text;
};

inline constexpr int exit_wrong_use = 2;

// Parses `arguments`, which are without the program's name. `version_text` is what --version prints.
[[nodiscard]] Command parse_options(std::span<const char* const> arguments, const std::string& version_text);

// Returns every option by its name on the command line, with the value that is in effect.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> describe(const Options& options);

}  // namespace znni
