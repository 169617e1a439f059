#include "client/cli/options.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>

#include "client/files/files.hpp"
#include "primitives/core/finite_number.hpp"
#include "primitives/core/version.hpp"

namespace znni::client {
namespace {

constexpr std::array<std::string_view, 3> commands = {"infer", "status", "models"};

constexpr const char* footer =
    "Other words run the program `znni-WORD` beside this one or on the PATH, for example:\n"
    "  znni run      a volume through a network, without a daemon that runs already\n"
    "  znni job      a volume through a network, on many machines\n"
    "  znni view     an output beside its input, as a page for a browser\n"
    "  znni check    whether a network runs here, and all that keeps it from it (`planner check`)\n"
    "  znni train    train a network on labelled volumes\n"
    "`run`, `job` and `view` come with the Python client. `znni help WORD` shows the options of a word.";

// Options as CLI11 fills them, before checked() looks at them.
struct Raw {
  Options options;
  std::string padding = "none";
  std::string dtype = "float32";
  float scale = 1;
  float offset = 0;
  bool no_compress = false;
  bool no_progress = false;
};

void add_server(CLI::App& command, Options& options) {
  command.add_option("--server", options.server, "address of znnid")->capture_default_str();
  command.add_option("--tls-root-cert", options.credentials.authority,
                     "PEM of the authority that signed its certificate; turns TLS on");
  command.add_option("--tls-cert", options.credentials.certificate, "PEM of a certificate of our own, for mutual TLS");
  command.add_option("--tls-key", options.credentials.key, "PEM of its key");
  command.add_option("--token-file", options.credentials.token, "file with the token that the daemon asks for");
}

void add_infer(CLI::App& infer, Raw& raw) {
  Options& options = raw.options;
  add_server(infer, options);
  infer.add_option("-m,--model", options.model, "name of the model")->required();
  const CLI::Validator finite(refuse_endless, "NUMBER");
  infer.add_option("--model-version", options.version, "version of the model (default: newest)");
  infer.add_option("-i,--input", options.input, "FILE.h5:/dataset, FILE.tif or FILE.npy")->required();
  infer.add_option("-o,--output", options.output, "FILE.h5:/dataset, FILE.tif or FILE.npy")->required();
  infer.add_option("--padding,--pad", raw.padding, "none: smaller output; zero, reflect, edge: as large as the input")
      ->capture_default_str();
  infer.add_option("--bbox,--roi", options.bbox, "z0:z1,y0:y1,x0:x1 of the input; stop exclusive");
  infer.add_option("--dtype", raw.dtype, "type of the output: float32, float16 or uint8")->capture_default_str();
  infer.add_option("--scale", raw.scale, "factor of the input voxels, instead of the model's own normalisation")
      ->check(finite);
  infer.add_option("--offset", raw.offset, "number that is added after --scale")->check(finite);
  CLI::Option* compress =
      infer.add_flag("--compress", options.compress,
                     "output of HDF5 in chunks of up to 64x64x64 voxels, by gzip and shuffle, which is the default");
  infer.add_flag("--no-compress", raw.no_compress, "output of HDF5 plane by plane, in room that is taken at the begin")
      ->excludes(compress);
  infer.add_flag("--resume", options.resume, "go on with an interrupted output; begin it if there is none");
  infer.add_flag("--overwrite", options.overwrite, "replace an output that exists");
  infer
      .add_option(
          "--wait", options.wait_seconds,
          "seconds to try again while the daemon loads the model, or has no room, between parts and for the rest "
          "of an interrupted output; with --resume also while it is away")
      ->check(finite)
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  infer.add_flag("--dry-run", options.dry_run, "say what would be done, in which parts, and how long it would take");
  infer.add_flag("--no-progress", raw.no_progress, "no progress on stderr");
  infer.add_flag("--json", options.json, "summary as JSON on stdout");
}

Parsed wrong_use(const std::string& text) { return {std::nullopt, "znni: " + text, 2}; }

Parsed checked(const CLI::App& infer, Raw raw) {
  const Result<Padding> padding = parse_padding(raw.padding);
  if (!padding) return wrong_use(padding.error().message);
  const Result<VoxelType> dtype = parse_output_type(raw.dtype);
  if (!dtype) return wrong_use("--dtype " + dtype.error().message);
  if (raw.options.server.find(',') != std::string::npos) {
    return wrong_use("--server " + raw.options.server + ": one address; several daemons at once are not supported yet");
  }
  if (raw.options.resume && raw.options.overwrite) return wrong_use("--resume and --overwrite exclude each other");
  const CredentialFiles& files = raw.options.credentials;
  if (files.certificate.empty() != files.key.empty() || (files.authority.empty() && !files.key.empty())) {
    return wrong_use("--tls-cert and --tls-key go together, and with --tls-root-cert");
  }
  raw.options.padding = *padding;
  raw.options.dtype = *dtype;
  raw.options.progress = !raw.no_progress;
  if (!raw.no_compress && is_hdf5(parse_file_name(raw.options.output))) raw.options.compress = true;
  if (infer.count("--scale") + infer.count("--offset") > 0) {
    raw.options.scale = raw.scale;
    raw.options.offset = raw.offset;
  }
  return {raw.options, "", 0};
}

}  // namespace

bool is_own_command(std::string_view word) { return std::ranges::find(commands, word) != commands.end(); }

Parsed parse_options(std::vector<std::string> arguments) {
  CLI::App app("Streams volumes through a 3D ConvNet that znnid serves.", "znni");
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text("znni", ""));
  Raw raw;
  CLI::App* infer = app.add_subcommand("infer", "stream a volume through a model");
  add_infer(*infer, raw);
  CLI::App* status =
      app.add_subcommand("status", "list the models and their states; exit 1 until all that are expected are ready");
  add_server(*status, raw.options);
  status->alias("models");
  status->add_option("-m,--model", raw.options.model, "one model only; exit 1 until it is ready");
  app.footer(footer);  // of the program alone: commands inherit what is set before them
  try {
    std::ranges::reverse(arguments);  // as CLI11 takes them
    app.parse(std::move(arguments));
  } catch (const CLI::CallForVersion& version) {
    return {std::nullopt, version.what(), 0};
  } catch (const CLI::CallForHelp&) {
    return {std::nullopt, app.help(), 0};
  } catch (const CLI::ParseError& error) {
    return wrong_use(std::string(error.what()) + " (znni --help)");
  }
  raw.options.command = infer->parsed() ? Command::infer : Command::status;
  return checked(*infer, raw);
}

}  // namespace znni::client
