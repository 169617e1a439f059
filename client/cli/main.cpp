// znni: the command-line client.
#include <csignal>
#include <cstdio>
#include <system_error>
#include <thread>

#include "client/cli/external.hpp"
#include "client/cli/infer.hpp"
#include "client/cpp/connection.hpp"

namespace znni::client {
namespace {

int fail(const Error& error) {
  std::fprintf(stderr, "znni: %s\n", error.message.c_str());
  return exit_code(error);
}

int show_model(const Connection& connection, const std::string& name) {
  const Result<ModelFacts> model = connection.model(name);
  if (!model) return fail(model.error());
  std::printf("%s version %s: %s\n", name.c_str(), model->version.c_str(), model->ready ? "ready" : "not ready");
  for (const auto& [key, value] : model->properties) std::printf("  %s: %s\n", key.c_str(), value.c_str());
  return model->ready ? 0 : 1;
}

int show_models(const Connection& connection) {
  const auto models = connection.models();
  if (!models) return fail(models.error());
  const Result<bool> ready = connection.ready();
  if (!ready) return fail(ready.error());
  for (const auto& [name, state] : *models) std::printf("%s: %s\n", name.c_str(), state.c_str());
  if (!*ready) std::printf("not ready\n");
  return *ready ? 0 : 1;
}

int infer(const Options& options, std::stop_token stop) {
  const Result<InferOutcome> outcome = run_infer(options, std::move(stop));
  if (!outcome) return fail(outcome.error());
  std::printf("%s\n", options.json ? outcome->json.c_str() : outcome->summary.c_str());
  return 0;
}

int run(const Options& options, std::stop_token stop) {
  if (options.command == Command::infer) return infer(options, std::move(stop));
  const Result<Credentials> credentials = read_credentials(options.credentials);
  if (!credentials) return fail(credentials.error());
  const Connection connection(options.server, *credentials);
  return options.model.empty() ? show_models(connection) : show_model(connection, options.model);
}

// Makes Ctrl-C, SIGTERM and SIGHUP stop the program cleanly; a second signal ends it at once. A separate thread waits
// for them, because a signal handler must not touch locks.
void stop_on_signal(std::stop_source stop) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGHUP);  // a closed terminal
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([stop, signals]() mutable {
    int caught = 0;
    sigwait(&signals, &caught);
    stop.request_stop();
    sigwait(&signals, &caught);
    std::_Exit(130);
  }).detach();
}

// Becomes the program of a word that is not a command of ours. Returns only if that fails: the exit code.
int run_word(std::vector<std::string> arguments) {
  const std::string word = arguments.front();
  arguments.erase(arguments.begin());
  const auto program = find_external(word);
  const std::string reason = program ? run_external(*program, std::move(arguments)) : unknown_word(word);
  std::fprintf(stderr, "znni: %s\n", reason.c_str());
  return 2;
}

}  // namespace
}  // namespace znni::client

int main(int count, char** words) {
  const std::vector<std::string> arguments = znni::client::with_help_spelled_out({words + 1, words + count});
  const bool is_word = !arguments.empty() && !arguments.front().starts_with('-');
  if (is_word && !znni::client::is_own_command(arguments.front())) return znni::client::run_word(arguments);
  const znni::client::Parsed parsed = znni::client::parse_options(arguments);
  if (!parsed.options) {
    std::fprintf(parsed.exit_code == 0 ? stdout : stderr, "%s\n", parsed.text.c_str());
    return parsed.exit_code;
  }
  try {
    std::stop_source stop;
    znni::client::stop_on_signal(stop);
    return znni::client::run(*parsed.options, stop.get_token());
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again) throw;
    std::fprintf(stderr, "znni: the system grants no more threads (%s): raise the limit on processes\n", error.what());
    return 1;
  }
}
