#include "server/train/options.hpp"

#include <CLI/CLI.hpp>
#include <sstream>
#include <vector>

#include "planner/base/sizes.hpp"

namespace znni::train {
namespace {

std::string check_bytes(const std::string& text) {
  const Result<std::int64_t> bytes = parse_bytes(text);
  return bytes ? std::string() : bytes.error().message;
}

void add_files(CLI::App& app, Options& options) {
  app.add_option("--model", options.model,
                 "Network to train: FILE.onnx with its weights, or FILE.pbtxt, from seeded ones")
      ->required();
  app.add_option("--config", options.config, "Text file of volumes, loss, optimizer and steps: train.pbtxt")
      ->required();
  app.add_option("--output", options.output,
                 "Folder of a model, REPOSITORY/net: gets the trained network as its next version, and has the "
                 "checkpoint and the log, train.jsonl")
      ->required();
}

void add_rest(CLI::App& app, Options& options, std::string& memory, const std::string& version_text) {
  app.add_option("--mem", memory,
                 "Memory of the whole process: 20G, 512M (default: ZNNI_MEM of the environment, else 0.8 of what is "
                 "available)")
      ->check(CLI::Validator(check_bytes, "SIZE"));
  app.add_option("--threads", options.threads, "Threads that compute (default: all processors the process may use)")
      ->check(CLI::Range(1, 4096));
  CLI::Option* const resume = app.add_flag("--resume");
  resume->description("Go on from the checkpoint in --output (the default)");
  app.add_flag("--restart", options.restart, "Train from the start, and replace the checkpoint")->excludes(resume);
  app.add_flag("--explain", options.explain, "Print how a step is computed and what memory it takes, and end");
  app.set_version_flag("--version", version_text);
}

}  // namespace

Command parse_options(std::span<const char* const> arguments, const std::string& version_text) {
  Command command;
  std::string memory;
  CLI::App app("Trains a 3D ConvNet on labelled volumes, and writes it as a model that znnid serves.", "znni-train");
  add_files(app, command.options);
  add_rest(app, command.options, memory, version_text);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream wrong;
    const bool is_wrong = app.exit(error, out, wrong) != 0;
    command.exit_code = is_wrong ? exit_wrong_use : 0;
    command.text = is_wrong ? "znni-train: " + std::string(error.what()) + "; see znni-train --help\n" : out.str();
    return command;
  }
  if (!memory.empty()) command.options.memory = *parse_bytes(memory);
  return command;
}

}  // namespace znni::train
