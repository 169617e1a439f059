// znnid: options, log, device, models, front doors; then waits for a signal and drains.
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "planner/base/memory_limit.hpp"
#include "planner/base/repository.hpp"
#include "planner/costs/catalogue.hpp"
#include "planner/plan/plugins.hpp"
#include "primitives/core/version.hpp"
#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/device/machine.hpp"
#include "primitives/cpu/device/openmp_waiting.hpp"
#include "primitives/cpu/fft/fft_1d.hpp"
#include "proto/convert/text/timings_text.hpp"
#include "server/call_log.hpp"
#include "server/descriptor_limit.hpp"
#include "server/follow_repository.hpp"
#include "server/http_models.hpp"
#include "server/jobs/memory_shares.hpp"
#include "server/jobs/model_server_impl.hpp"
#include "server/log.hpp"
#include "server/metrics/call_metrics.hpp"
#include "server/metrics/connection_metrics.hpp"
#include "server/metrics/http_server.hpp"
#include "server/metrics/server_metrics.hpp"
#include "server/models/model_files.hpp"
#include "server/models/model_repository.hpp"
#include "server/options.hpp"
#include "server/port_watch.hpp"
#include "server/protobuf_log.hpp"
#include "server/rest/infer_call.hpp"
#include "server/rest/rest_service.hpp"
#include "server/rpc/connections/read_blocks.hpp"
#include "server/rpc/server.hpp"
#include "server/security.hpp"
#include "server/signals.hpp"
#include "server/stuck_watch.hpp"
#include "server/supervisor.hpp"

namespace znni {
namespace {

// Lets large blocks go back to the system when freed, whatever was freed before, and lets threads share few heaps. So
// what the process holds stays close to what it uses.
void bound_heap() {
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  mallopt(M_ARENA_MAX, 2);
}

// The daemon asks its own gRPC port so often, waits so long for the answer, and calls it deaf after so long without
// one: two answers in a row have failed to come by then.
constexpr std::chrono::seconds between_questions{5};
constexpr std::chrono::seconds for_an_answer{5};
constexpr std::chrono::seconds until_deaf{25};

constexpr double usual_poll_seconds = 15;  // Triton's, too

// EX_TEMPFAIL of sysexits.h: what was tried may succeed in another process.
constexpr int exit_gpu_lost = 75;

int fail(const Log& log, const Error& error) {
  log.error(error.message);
  return 1;
}

// Completes the options that the command line left open.
Result<Options> complete(Options options, const Log& log) {
  const Result<MemoryLimit> memory =
      choose_memory_limit(options.memory, std::getenv("ZNNI_MEM"), {cpu::default_memory_budget(), cpu::memory_limit()});
  if (!memory) return memory.error();
  if (!memory->warning.empty()) log.warning(memory->warning);
  options.memory = memory->bytes;
  if (!options.threads) options.threads = cpu::default_threads();
  if (!options.max_connections) {
    options.max_connections = static_cast<int>(default_connections(raise_descriptor_limit(), *options.memory));
  }
  if (!options.max_connections_per_client) {
    options.max_connections_per_client = std::max(1, *options.max_connections / 2);
  }
  if (options.control == ModelControl::poll) options.poll_seconds = options.poll_seconds.value_or(usual_poll_seconds);
  const Result<std::filesystem::path> state = state_directory();
  if (options.plan_directory.empty() && state) options.plan_directory = *state / "plans";
  return options;
}

ServerLimits limits_of(const Options& options) {
  return {*options.memory, options.max_request_bytes, options.max_queue};
}

void tell(const Log& log, std::string_view level, const std::string& line) {
  if (level == "error") return log.error(line);
  if (level == "warning") return log.warning(line);
  log.info(line);
}

// Returns the names of the models to load at the start; nothing: all models.
std::optional<std::vector<std::string>> load_at_start(const Options& options) {
  const std::vector<std::string>& named = options.load_models;
  const bool takes_all = options.control != ModelControl::by_hand || std::ranges::find(named, "*") != named.end();
  if (takes_all) return std::nullopt;
  return named;
}

int check_config(const Options& options, const MemoryShares& shares, const Log& log) {
  for (const auto& [name, value] : describe(options)) std::printf("%s=%s\n", name.c_str(), value.c_str());
  std::printf("# memory: %s for models, %s for requests, %s for receiving them, %s for the process\n",
              bytes_text(shares.models).c_str(), bytes_text(shares.transport).c_str(),
              bytes_text(shares.receiving).c_str(), bytes_text(shares.base).c_str());
  const auto sink = [&log](std::string_view level, const std::string& line) { tell(log, level, line); };
  const Result<std::vector<ModelEntry>> entries = scan_repository(options.model_repository, sink);
  if (!entries) return fail(log, entries.error());
  const std::vector<std::string> named = load_at_start(options).value_or(std::vector<std::string>());
  const Result<void> there = check_named(options.model_repository, *entries, named);
  int code = there ? 0 : fail(log, there.error());
  for (const ModelEntry& entry : *entries) {
    std::printf("# model %s version %s\n", entry.name.c_str(), entry.version.c_str());
    if (!entry.warning.empty()) log.warning(entry.name + ": " + entry.warning);
    const Result<void> checked = check_model_files(entry, sink, shares.models);
    if (!checked) code = fail(log, checked.error().within("model '" + entry.name + "'"));
  }
  return code;
}

void log_start(const Options& options, const MemoryShares& shares, const Log& log) {
  log.info("starting znnid", {{"version", project_version}});
  for (const auto& [name, value] : describe(options))
    log.info("option", {{"name", name}, LogField::setting("value", value)});
  log.info("memory", {LogField::size("models", shares.models), LogField::size("transport", shares.transport),
                      LogField::size("receiving", shares.receiving), LogField::size("process", shares.base),
                      LogField::size("largest_message", shares.largest_message)});
}

// Returns what `planner` has measured on this machine; plans made here are as good without it, only less sure.
Timings recorded_timings(const Log& log) {
  const Result<std::filesystem::path> state = state_directory();
  if (!state) return {};
  Result<ReadTimings> read = read_timings((*state / "timings.pbtxt").string());
  if (!read) {
    log.warning(read.error().message);
    return {};
  }
  for (const std::string& warning : read->warnings) log.warning(warning);
  return std::move(read->timings);
}

// Returns the GPU of a plug-in; nothing if none brings one and none was asked for.
Result<std::optional<ServerGpu>> offered_gpu(const Options& options, const Plugins& plugins) {
  std::optional<ServerGpu> none;
  if (plugins.gpu == nullptr && !options.gpu_memory) return none;
  const Result<GpuOffer> offer = offer_gpu(plugins, options.gpu_memory, *options.memory);
  if (!offer) return offer.error();
  const Backend* const backend = plugins.gpu;
  ServerGpu gpu{*offer, [backend, threads = *options.threads](const GpuOffer& given) {
                  DeviceSpec spec = given.spec;
                  spec.threads = threads;
                  return backend->open(spec, given.pinned_bytes, given.pinned_bytes, given.device_bytes);
                }};
  if (backend->notes != nullptr) gpu.notes = backend->notes;
  return std::optional(std::move(gpu));
}

Result<std::unique_ptr<ModelServer>> open_models(const Options& options, const Log& log) {
  const Result<Plugins> plugins = open_plugins(options.plugins, options.gpu_memory.has_value());
  if (!plugins) return plugins.error().within("--plugin");
  std::vector<const Backend*> backends = {&cpu::backend()};
  backends.insert(backends.end(), plugins->backends.begin(), plugins->backends.end());
  Result<Catalogue> catalogue = Catalogue::make(backends, {}, {}, Precision::bf16);
  if (!catalogue) return catalogue.error();
  Result<std::optional<ServerGpu>> gpu = offered_gpu(options, *plugins);
  if (!gpu) return gpu.error().within("--gpu-mem");
  if (!options.plugins.empty() && !*gpu) {
    log.warning("--plugin: no GPU, or no driver for one, was found: the CPU serves, plans that name a GPU do not run");
  }
  const int threads = *options.threads;
  const auto open_device = [threads](std::int64_t host_budget) {
    return cpu::backend().open(cpu::describe_cpu(threads), host_budget, 0, 0);
  };
  const auto sink = [&log](std::string_view level, const std::string& line) { tell(log, level, line); };
  return open_model_server({options.model_repository, options.plan_directory, load_at_start(options),
                            limits_of(options), *std::move(catalogue), recorded_timings(log), open_device,
                            *std::move(gpu), sink, options.volume});
}

rpc::ListenOptions listen_options(const Options& options, const MemoryShares& shares, Security security,
                                  CallMetrics& calls, const Log& log) {
  rpc::ListenOptions listen;
  listen.address = options.grpc_address;
  listen.port = options.grpc_port;
  listen.max_message_bytes = shares.largest_message;
  listen.max_receives = shares.receives;
  // Leased from transport: slow clients shall leave room for others.
  listen.max_unsent_bytes = shares.transport / 8;
  listen.max_input_bytes = shares.transport / 8;
  listen.max_buffered_bytes = std::max(shares.receiving + shares.transport / 2, std::int64_t{32} << 20);
  listen.server_version = std::string(project_version);
  listen.offer_shared_memory = options.allow_client_shm;
  listen.http_shares_memory = has_local_http(options);
  listen.connections = {*options.max_connections, *options.max_connections_per_client};
  listen.client_share = std::clamp(static_cast<double>(*options.max_connections_per_client) / *options.max_connections,
                                   listen.client_share, 1.0);
  listen.flows = [&calls](const rpc::CallFlow& flow) { calls.add(flow); };
  listen.warn = [&log](const std::string& line) { log.warning(line); };
  listen.max_regions = static_cast<std::size_t>(max_shared_regions(raise_descriptor_limit()));
  listen.model_control = options.control == ModelControl::by_hand;
  listen.json_log = options.log_format == LogFormat::json;
  listen.tokens = std::move(security.tokens);
  listen.certificates = std::move(security.certificates);
  return listen;
}

// Holds everything that answers requests over HTTP; must outlive the server.
struct Observed {
  const ModelServer& models;
  const CallMetrics& calls;
  const MemoryShares& shares;
  const PortWatch& port;
  Seconds stuck_after;
  std::atomic<const rpc::Server*> server = nullptr;  // once there is one
  std::atomic<const HttpServer*> http = nullptr;     // likewise
  std::atomic<rest::RestService*> rest = nullptr;    // likewise
};

// Returns the reason, if there is one, to start the process again.
std::optional<std::string> sick_reason(const Observed& observed) {
  const std::optional<std::string> stuck = stuck_reason(observed.models, observed.stuck_after);
  return stuck ? stuck : observed.port.deaf_reason();
}

HttpAnswer probe(const std::optional<std::string>& reason) {
  return reason ? HttpAnswer{503, *reason + "\n"} : HttpAnswer{200, "ok\n"};
}

HttpReply serve_rest(const Observed& observed, const HttpRequest& request) {
  if (rest::RestService* const rest = observed.rest) return rest->answer(request);
  return rest::refuse(request, 503, "the server is starting");
}

HttpPages pages_of(const Observed& observed) {
  HttpPages pages;
  pages.metrics = [&observed] {
    PrometheusText text;
    write_server_metrics(observed.models, observed.shares, project_version, text);
    observed.calls.write(text);
    if (const rpc::Server* const server = observed.server) write_connections(server->connections(), text);
    if (const HttpServer* const http = observed.http) write_http_connections(http->facts(), text);
    return HttpAnswer{200, text.text()};
  };
  pages.live = [&observed] { return probe(sick_reason(observed)); };
  pages.ready = [&observed] { return probe(unready_reason(observed.models)); };
  pages.service = [&observed](const HttpRequest& request) { return serve_rest(observed, request); };
  return pages;
}

// Starts the server of metrics; nullptr if none is wanted.
Result<std::unique_ptr<HttpServer>> serve_metrics(const Options& options, const Observed& observed, const Log& log) {
  if (options.metrics_port < 0) return std::unique_ptr<HttpServer>();
  HttpPages pages = pages_of(observed);
  pages.warn = [&log](const std::string& line) { log.warning(line); };
  Result<std::unique_ptr<HttpServer>> server =
      HttpServer::start(options.metrics_address, options.metrics_port, std::move(pages));
  if (!server) return server;
  log.info("metrics on " + options.metrics_address + ":" + std::to_string((*server)->port()));
  const std::string closed = why_no_http_models(options);
  log.info(closed.empty() ? "models are served over HTTP, too" : "models are not served over HTTP: " + closed);
  return server;
}

// Ends the server in three phases: it is not ready, but still serves clients that have not heard of that; it takes
// nothing new while calls inside go on; then it stops the rest.
void end(rpc::Server& server, const Options& options) {
  server.retire();
  std::this_thread::sleep_for(std::chrono::duration<double>(options.lame_duck_seconds));
  server.drain(options.exit_timeout_seconds);
}

// Waits for a signal and returns it; nothing if a job lost the GPU, which another process may use again.
std::optional<int> wait_for_end(const TerminationSignals& signals, const ModelServer& models) {
  constexpr std::chrono::milliseconds period{500};
  for (;;) {
    const std::optional<int> signal = signals.wait_for(period);
    const std::optional<GpuLoss> loss = models.gpu_loss();
    if (signal || (loss && !loss->while_loading)) return signal;
  }
}

int serve(Options options, const TerminationSignals& signals, SecondSignal& second, const Log& log) {
  const Result<MemoryShares> shares = split_memory(limits_of(options));
  if (!shares) return fail(log, shares.error().within("--mem"));
  options.max_request_bytes = shares->largest_message;
  Result<Security> security = read_security(options);
  if (!security) return fail(log, security.error());
  for (const std::string& warning : security->warnings) log.warning(warning);
  if (options.check_config) return check_config(options, *shares, log);
  log_start(options, *shares, log);
  const Result<std::unique_ptr<ModelServer>> models = open_models(options, log);
  if (!models) return fail(log, models.error());
  CallMetrics calls;
  CallLog call_log(log);
  const auto record = [&call_log, &calls](const rpc::CallRecord& call) {
    calls.add(call);
    call_log.add(call);
  };
  PortWatch port(until_deaf);
  std::unique_ptr<rpc::Server> server;  // goes after the pages that tell of it, as the next does
  std::optional<rest::RestService> rest;
  Observed observed = {**models, calls, *shares, port, options.stuck_after_seconds};
  const Result<std::unique_ptr<HttpServer>> metrics = serve_metrics(options, observed, log);
  if (!metrics) return fail(log, metrics.error());
  observed.http = metrics->get();
  Result<std::unique_ptr<rpc::Server>> started =
      rpc::Server::start(**models, record, listen_options(options, *shares, std::move(*security), calls, log));
  if (!started) return fail(log, started.error());
  observed.server = (server = *std::move(started)).get();
  observed.rest = &rest.emplace(server->front_door(), why_no_http_models(options));
  const Supervisor supervisor(std::getenv("NOTIFY_SOCKET"));
  log.info("listening on " + options.grpc_address + ":" + std::to_string(server->port()));
  if (const Result<void> told = supervisor.tell("READY=1"); !told) log.warning(told.error().message);
  const std::jthread watch([&](const std::stop_token& stop) {
    const auto reason = [&] {
      call_log.tick();
      return sick_reason(observed);
    };
    watch_for_stuck(reason, supervisor, log, std::chrono::seconds(1), stop);
  });
  const std::jthread asking([&](const std::stop_token& stop) {
    port.run([&] { return server->ask_own_port(for_an_answer); }, between_questions, stop);
  });
  const std::jthread polling([&](const std::stop_token& stop) {
    const auto poll = [&](const std::stop_token& token) { (*models)->poll(token); };
    if (options.control == ModelControl::poll) follow_repository(poll, *options.poll_seconds, stop);
  });

  const std::optional<int> signal = wait_for_end(signals, **models);
  static_cast<void>(supervisor.tell("STOPPING=1"));
  const int exit_code = signal ? 0 : exit_gpu_lost;
  if (!signal) log.error("this process ends, for another one to use the GPU", {{"exit_code", exit_code}});
  log.info("stopping", {{"signal", signal.value_or(0)},
                        {"lame_duck_seconds", options.lame_duck_seconds},
                        {"seconds_at_most", options.lame_duck_seconds + options.exit_timeout_seconds}});
  second.watch(signal ? 0 : 1);
  end(*server, options);
  log.info("stopped");
  return exit_code;
}

int run(const Options& given) {
  const TerminationSignals signals;
  SecondSignal second(signals);  // before the log: it watches while the last lines are written, too
  const Log log(given.log_format);
  const ProtobufLog protobuf_log(log);
  const Result<Options> options = complete(given, log);
  return options ? serve(*options, signals, second, log) : fail(log, options.error());
}

}  // namespace
}  // namespace znni

int main(int argc, char** argv) {
  using namespace znni;
  cpu::let_openmp_sleep(argv);
  // The library's own lines on standard error say less than our errors do.
  setenv("GRPC_VERBOSITY", "NONE", 0);
  rpc::read_in_blocks();
  const std::vector<const char*> arguments(argv + 1, argv + argc);
  const Command command = parse_options(arguments, version_text("znnid", cpu::fft_1d_notice()));
  if (command.exit_code) {
    std::fputs(command.text.c_str(), *command.exit_code == 0 ? stdout : stderr);
    return *command.exit_code;
  }
  bound_heap();
  try {
    return run(command.options);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again) throw;
    std::fprintf(stderr,
                 "znnid: the system grants no more threads (%s): raise the limit on processes, or give fewer "
                 "--threads\n",
                 error.what());
    return 1;
  }
}
