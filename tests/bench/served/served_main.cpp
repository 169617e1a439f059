// `znni-served`: one side of the comparison in tests/bench/served.py. `echo` prints its address, the other commands a
// line of JSON for each volume.
#include <CLI/CLI.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "planner/base/sizes.hpp"
#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/device/machine.hpp"
#include "primitives/cpu/device/openmp_waiting.hpp"
#include "server/jobs/model_server_impl.hpp"
#include "tests/bench/served/echo_server.hpp"
#include "tests/bench/served/served_volume.hpp"

namespace znni::bench {
namespace {

struct Options {
  ServedVolume volume;
  std::string extent;
  std::string server;
  std::string repository;
  std::string plans;
  std::string memory = "1G";
  int threads = cpu::default_threads();
};

int fail(const Error& error) {
  std::fprintf(stderr, "znni-served: %s\n", error.message.c_str());
  return 1;
}

int print(const Result<Spent>& spent) {
  if (!spent) return fail(spent.error());
  std::printf(
      "{\"seconds\": %.4f, \"processor_seconds\": %.4f, \"gather\": %.4f, \"layers\": %.4f, \"stitch\": %.4f}\n",
      spent->wall, spent->processor, spent->stages.gather, spent->stages.head, spent->stages.stitch);
  std::fflush(stdout);
  return 0;
}

// Serves until standard input ends.
int echo() {
  const EchoServer server;
  if (server.port() == 0) return fail({ErrorCode::unavailable, "no port of 127.0.0.1 is free"});
  std::printf("listening on 127.0.0.1:%d\n", server.port());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return 0;
}

// Opens the models as znnid would, with the same plans in the same memory.
Result<std::unique_ptr<ModelServer>> open_models(const Options& options) {
  const std::array<const Backend*, 1> backends = {&cpu::backend()};
  Result<Catalogue> catalogue = Catalogue::make(backends, {}, {}, Precision::bf16);
  if (!catalogue) return catalogue.error();
  const Result<std::int64_t> memory = parse_bytes(options.memory);
  if (!memory) return memory.error().within("--mem");
  ServerOptions given;
  given.repository = options.repository;
  given.plan_directory = options.plans;
  given.load_at_start = {options.volume.model};
  given.limits = {*memory, std::nullopt, 8};
  given.catalogue = *std::move(catalogue);
  given.open_device = [threads = options.threads](std::int64_t budget) {
    return cpu::backend().open(cpu::describe_cpu(threads), budget, 0, 0);
  };
  given.touched_before_serving = saturated;
  return open_model_server(std::move(given));
}

Result<void> wait_until_ready(const ModelServer& models, const std::string& model) {
  while (true) {
    const Result<ModelInfo> found = models.find(model, "");
    if (found) return {};
    if (models.models().at(0).state == ModelState::unavailable) return found.error();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// Runs a volume at once, and one for each line of standard input, as a daemon runs one for each call.
int run(const Options& options) {
  const Result<std::unique_ptr<ModelServer>> models = open_models(options);
  if (!models) return fail(models.error());
  if (const Result<void> ready = wait_until_ready(**models, options.volume.model); !ready) return fail(ready.error());
  int code = 0;
  std::string line;
  do {
    code = print(run_volume(**models, options.volume));
  } while (code == 0 && std::getline(std::cin, line));
  return code;
}

int run_command(int argc, char** argv) {
  Options options;
  CLI::App app("What serving a volume costs.", "znni-served");
  app.require_subcommand(1);
  CLI::App* const echoing = app.add_subcommand("echo", "answer streams with what they send, until stdin ends");
  CLI::App* const streaming = app.add_subcommand("stream", "stream a volume through a server");
  streaming->add_option("--server", options.server, "HOST:PORT")->required();
  streaming->add_flag("--same", options.volume.same, "what comes back must be what was sent");
  CLI::App* const running = app.add_subcommand("run", "run a volume in this process, and again for each line of stdin");
  running->add_option("--model-repository", options.repository)->required();
  running->add_option("--plan-dir", options.plans)->required();
  running->add_option("--mem", options.memory, "as znnid takes it")->capture_default_str();
  running->add_option("--threads", options.threads)->check(CLI::Range(1, 4096))->capture_default_str();
  for (CLI::App* const command : {streaming, running}) {
    command->add_option("--model", options.volume.model)->required();
    command->add_option("--extent", options.extent, "Z,Y,X of the input")->required();
  }
  CLI11_PARSE(app, argc, argv);
  if (echoing->parsed()) return echo();
  const Result<Vec3> n = parse_extents(options.extent);
  if (!n) return fail(n.error().within("--extent"));
  options.volume.n = *n;
  return streaming->parsed() ? print(stream_volume(options.server, options.volume)) : run(options);
}

}  // namespace
}  // namespace znni::bench

int main(int argc, char** argv) {
  znni::cpu::let_openmp_sleep(argv);  // as znnid does
  return znni::bench::run_command(argc, argv);
}
