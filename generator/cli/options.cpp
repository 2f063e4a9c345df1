#include "generator/cli/options.h"

#include <fmt/format.h>

#include <algorithm>

#include "generator/cli/arguments.h"
#include "generator/cli/option_rules.h"
#include "generator/diagnostics.h"
#include "generator/harness/cache/cache.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "tilepost/version.h"

namespace tilepost {
namespace {

namespace cl = llvm::cl;

cl::SubCommand generate_verb("generate",
                             "Write <name>.cu (or .cpp), <name>.h and <name>.plan.json");
cl::SubCommand check_verb("check", "Read, plan and weave specs; write nothing");
cl::SubCommand explain_verb("explain", "Print the plan: tiles, waves, groups, SM budget, timeline");
cl::SubCommand weave_verb("weave", "Print the woven kernel alone");
cl::SubCommand verify_verb("verify",
                           "Generate, compile, run on all ranks, compare with a reference. Exit "
                           "code: 0 every check passed, 1 one failed, 4 all passed, but a kernel "
                           "of your own was not run");
cl::SubCommand bench_verb("bench", "Measure the plans on this machine beside cuBLASLt and NCCL");
cl::SubCommand profile_verb("profile",
                            "Measure this machine and write its profile, which --machine reads");
cl::SubCommand tune_verb("tune",
                         "Measure the most promising plans, and keep the fastest for --tuning");
cl::SubCommand catalogue_verb("catalogue",
                              "Compile kernels for programs that are made at run time");
cl::SubCommand list_verb("list", "List what this version supports");
cl::SubCommand schema_verb("schema", "Print a JSON Schema of the spec, for editors");

cl::SubCommandGroup of_specs({&generate_verb, &check_verb, &explain_verb, &weave_verb, &verify_verb,
                              &bench_verb, &tune_verb});
cl::SubCommandGroup of_runs({&verify_verb, &bench_verb, &tune_verb});

cl::list<std::string> specs(cl::Positional, cl::desc("<spec.yaml>..."), cl::sub(of_specs),
                            cl::sub(catalogue_verb));
cl::list<std::string> defines("D", cl::Prefix, cl::value_desc("path=value"),
                              cl::desc("Override a field of the spec, -D gemm.m=4096"),
                              cl::sub(of_specs), cl::sub(catalogue_verb));
cl::opt<std::string> arch("arch", cl::value_desc("a,b"), cl::desc("Override arch: sm_80,sm_90a"),
                          cl::sub(of_specs), cl::sub(catalogue_verb));
cl::opt<std::string> name("name", cl::value_desc("identifier"),
                          cl::desc("Override name: symbol prefix and file name"),
                          cl::sub(of_specs));
cl::opt<std::string> machine("machine", cl::value_desc("name|file"),
                             cl::desc("Machine to plan for: see 'tilepost list machines'"),
                             cl::sub(of_specs), cl::sub(list_verb), cl::sub(catalogue_verb));
cl::opt<std::string> tuning("tuning", cl::value_desc("file"),
                            cl::desc("Take the plans that 'tilepost tune' found the fastest"),
                            cl::sub(generate_verb), cl::sub(check_verb), cl::sub(explain_verb),
                            cl::sub(weave_verb), cl::sub(verify_verb), cl::sub(bench_verb));
cl::opt<std::string> base("machine", cl::value_desc("name|file"),
                          cl::desc("Machine whose values stand for what is not measured"),
                          cl::sub(profile_verb));
cl::opt<std::string> profile_file("o", cl::value_desc("file"), cl::init("machine.yaml"),
                                  cl::desc("The file to write; FILE.part keeps measurements"),
                                  cl::sub(profile_verb));
cl::opt<std::string> measurements("measurements", cl::value_desc("file"),
                                  cl::desc("Also write all measurements, a JSON object a line"),
                                  cl::sub(profile_verb));
cl::opt<std::string> from("from", cl::value_desc("file"),
                          cl::desc("Measure nothing: take what profile --measurements, or the "
                                   "program that bench --no-run compiled, wrote"),
                          cl::sub(bench_verb), cl::sub(profile_verb));
cl::opt<bool> without_peer_access("without-peer-access",
                                  cl::desc("Measure as if GPUs did not reach each other's memory"),
                                  cl::sub(profile_verb));
cl::opt<bool> beside_others("beside-others",
                            cl::desc("Measure though other processes compute on the GPUs"),
                            cl::sub(profile_verb));
cl::opt<bool> werror("werror", cl::desc("Treat warnings as errors"), cl::sub(of_specs),
                     cl::sub(catalogue_verb));
cl::opt<std::string> output_dir("o", cl::value_desc("dir"), cl::init("."),
                                cl::desc("Folder to write to, created if missing"),
                                cl::sub(generate_verb), cl::sub(catalogue_verb));
cl::opt<std::string> output_file("o", cl::value_desc("file"),
                                 cl::desc("Write to this file, not to standard output"),
                                 cl::sub(weave_verb));
cl::opt<std::string> tuned_file("o", cl::value_desc("file"), cl::init("tilepost.tuning.yaml"),
                                cl::desc("Tuning file to write, or to add to"), cl::sub(tune_verb));
cl::opt<int> candidates("candidates", cl::value_desc("n"), cl::init(10),
                        cl::desc("Plans to measure of each spec and shape"), cl::sub(tune_verb));
cl::opt<int> seconds("seconds", cl::value_desc("n"), cl::init(60),
                     cl::desc("Time for each spec and shape"), cl::sub(tune_verb));
cl::opt<bool> graph("graph", cl::desc("Measure replays of CUDA graphs, not single runs"),
                    cl::sub(tune_verb));
cl::opt<bool> again("again", cl::desc("Measure again what the tuning file has"),
                    cl::sub(tune_verb));
cl::opt<std::string> bundle("bundle", cl::value_desc("dir"),
                            cl::desc("Write a folder that builds by itself, runtime included"),
                            cl::sub(generate_verb));
cl::opt<std::string> depfile("depfile", cl::value_desc("file"),
                             cl::desc("Also write a Makefile dependency file"),
                             cl::sub(generate_verb), cl::sub(weave_verb));
cl::opt<bool> dry_run("dry-run", cl::desc("Print the files that would be written, one a line"),
                      cl::sub(generate_verb), cl::sub(catalogue_verb));
cl::opt<bool> timestamps("timestamps",
                         cl::desc("Let kernels note times, for timelines of measured runs"),
                         cl::sub(generate_verb));
cl::opt<std::string> measured("measured", cl::value_desc("file"),
                              cl::desc("Also show a run that tilepost_op_write_timeline wrote"),
                              cl::sub(explain_verb));
cl::opt<std::string> svg("svg", cl::value_desc("file"),
                         cl::desc("Also write a picture (SVG) of the first plan, - to print it"),
                         cl::sub(explain_verb));
cl::opt<std::string> bench_svg("svg", cl::value_desc("file"),
                               cl::desc("Also write a picture (SVG) of the ratios and times"),
                               cl::sub(bench_verb));
cl::opt<std::string> trace("trace", cl::value_desc("file"),
                           cl::desc("Also write its timeline for Perfetto, - to print it"),
                           cl::sub(explain_verb));
cl::opt<std::string> target("target", cl::value_desc("auto|cuda|host"), cl::init("auto"),
                            cl::desc("Where to run: auto takes GPUs if there are enough"),
                            cl::sub(verify_verb));
cl::list<std::string> sweeps("sweep", cl::value_desc("path=v1,v2,..."),
                             cl::desc("Take every value; several sweeps multiply"),
                             cl::sub(generate_verb), cl::sub(explain_verb), cl::sub(verify_verb),
                             cl::sub(bench_verb), cl::sub(catalogue_verb));
cl::opt<uint64_t> seed("seed", cl::value_desc("n"), cl::init(1),
                       cl::desc("Seed of the random data and, for bench, of the orders"),
                       cl::sub(of_runs));
cl::opt<int> runs("runs", cl::value_desc("n"), cl::init(3),
                  cl::desc("Runs per check, each with fresh data"), cl::sub(verify_verb));
cl::list<int64_t> run_rows("m", cl::value_desc("m1,m2,..."), cl::CommaSeparated,
                           cl::desc("Numbers of rows to go through, of plans for any m"),
                           cl::sub(verify_verb));
cl::opt<bool> no_run("no-run", cl::desc("Compile into --keep's folder and run nothing"),
                     cl::sub(verify_verb), cl::sub(bench_verb), cl::sub(profile_verb));
cl::opt<std::string> keep("keep", cl::value_desc("dir"),
                          cl::desc("Keep the generated project in this folder"), cl::sub(of_runs),
                          cl::sub(profile_verb));
cl::opt<std::string> cache("cache", cl::value_desc("dir"),
                           cl::desc("Keep the compiled runtime here instead of the user's cache"),
                           cl::sub(of_runs), cl::sub(profile_verb));
cl::opt<bool> no_cache("no-cache", cl::desc("Compile the runtime again and keep nothing of it"),
                       cl::sub(of_runs), cl::sub(profile_verb));
cl::opt<int> jobs("jobs", cl::value_desc("n"), cl::init(0),
                  cl::desc("Compilers at a time; 0 is one per core"), cl::sub(of_runs),
                  cl::sub(profile_verb), cl::sub(catalogue_verb));
cl::list<std::string> shapes("shape", cl::value_desc("MxNxK"),
                             cl::desc("Take this gemm.m, gemm.n and gemm.k; repeatable"),
                             cl::sub(generate_verb), cl::sub(explain_verb), cl::sub(bench_verb),
                             cl::sub(tune_verb), cl::sub(catalogue_verb));
cl::list<std::string> patterns("pattern", cl::value_desc("a,b"), cl::CommaSeparated,
                               cl::desc("Without specs: only the usual layers of these patterns"),
                               cl::sub(catalogue_verb));
cl::opt<int> most("most", cl::value_desc("n"), cl::init(0),
                  cl::desc("Without specs: the n kernels with which the usual layers lose least"),
                  cl::sub(catalogue_verb));
cl::opt<int> rounds("rounds", cl::value_desc("n"), cl::init(50),
                    cl::desc("Samples of every variant and mode"), cl::sub(bench_verb));
cl::opt<std::string> mode("mode", cl::value_desc("cool|sustained|both"), cl::init("both"),
                          cl::desc("Short bursts on a cool chip, load at the power cap, or both"),
                          cl::sub(bench_verb));
cl::opt<bool> lent_output("lent-output",
                          cl::desc("Make outputs in the operations' own memory where they lend it"),
                          cl::sub(bench_verb));
cl::opt<std::string> load("load", cl::value_desc("name"), cl::init(kExpertLoads[0]),
                          cl::desc("How tokens are spread over experts: random, even, one_expert "
                                   "or one_rank"),
                          cl::sub(bench_verb));
cl::opt<bool> registered("registered",
                         cl::desc("Register outputs with operations whose ranks store into them"),
                         cl::sub(bench_verb));
cl::opt<std::string> json("json", cl::value_desc("file"),
                          cl::desc("Also write every sample, summarised, as JSON"),
                          cl::sub(bench_verb));
cl::opt<bool> json_document("json", cl::desc("Print one JSON document, messages included"),
                            cl::sub(check_verb), cl::sub(explain_verb), cl::sub(verify_verb),
                            cl::sub(list_verb));
cl::opt<std::string> torch("torch", cl::value_desc("python"),
                           cl::desc("Also measure PyTorch's fused operations, in this Python"),
                           cl::sub(bench_verb));
cl::opt<std::string> list_what(
    cl::Positional, cl::desc("[patterns|archs|machines|kernels|transports|flags|variants|machine]"),
    cl::sub(list_verb));

cl::opt<bool> cmake_dir("cmake-dir",
                        cl::desc("Print the folder of the CMake package, for -Dtilepost_DIR"));
struct VerbInfo {
  cl::SubCommand* command;
  Verb verb;
};
const VerbInfo kVerbs[] = {{&generate_verb, Verb::generate},   {&check_verb, Verb::check},
                           {&explain_verb, Verb::explain},     {&weave_verb, Verb::weave},
                           {&verify_verb, Verb::verify},       {&bench_verb, Verb::bench},
                           {&tune_verb, Verb::tune},           {&profile_verb, Verb::profile},
                           {&catalogue_verb, Verb::catalogue}, {&list_verb, Verb::list},
                           {&schema_verb, Verb::schema}};

std::vector<std::string> usage_errors;

bool usage_error(std::string_view message) {
  usage_errors.push_back(fmt::format("{}; see tilepost --help", message));
  return false;
}

// Splits "path=value".
bool split_assignment(const char* flag, const std::string& text, std::vector<Override>& out) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos)
    return usage_error(fmt::format("{} takes path=value, got '{}'", flag, text));
  out.push_back({text.substr(0, equals), text.substr(equals + 1)});
  return true;
}

bool collect_sweep(const std::string& text, std::vector<Sweep>& out) {
  std::vector<Override> parts;
  if (!split_assignment("--sweep", text, parts)) return false;
  const Override& sweep = parts.front();
  const std::optional<std::vector<std::string>> values = parse_values(sweep.value);
  if (!values)
    return usage_error(
        fmt::format("--sweep takes path=value,value…, and a list in brackets, got '{}'", text));
  for (const Sweep& other : out)
    if (other.path == sweep.path)
      return usage_error(
          fmt::format("--sweep {} is there twice; give all its values to one", sweep.path));
  out.push_back({sweep.path, *values});
  return true;
}

bool collect(Options& options) {
  for (const std::string& text : defines)
    if (!split_assignment("-D", text, options.overrides)) return false;
  if (arch.getNumOccurrences() > 0) {
    options.archs = split_archs(arch);
    options.overrides.push_back({"arch", arch_list(options.archs)});
  }
  if (name.getNumOccurrences() > 0) options.overrides.push_back({"name", name});
  for (const std::string& text : sweeps)
    if (!collect_sweep(text, options.sweeps)) return false;
  for (const std::string& text : shapes)
    if (!parse_shape(text, options.shapes.emplace_back()))
      return usage_error(
          fmt::format("--shape takes MxNxK, three positive numbers, got '{}'", text));
  options.machine = options.verb == Verb::profile ? base : machine;
  options.tuning = tuning;
  options.tuned_file = tuned_file;
  options.candidates = candidates;
  options.seconds = seconds;
  options.again = again;
  options.graph = graph;
  options.werror = werror;
  options.json_document = json_document;
  options.rounds = rounds;
  options.mode = mode;
  options.lent_output = lent_output;
  options.registered = registered;
  options.load = load;
  options.torch = torch;
  options.json = json;
  options.specs.assign(specs.begin(), specs.end());
  options.output_dir = output_dir;
  options.bundle = bundle;
  options.depfile = depfile;
  if (output_file != "-") options.output_file = output_file;  // else standard output
  if (options.verb == Verb::profile) options.output_file = profile_file;
  options.measurements = measurements;
  options.from = from;
  options.apart = without_peer_access;
  options.beside_others = beside_others;
  options.dry_run = dry_run;
  options.timestamps = timestamps;
  options.measured = measured;
  options.svg = options.verb == Verb::bench ? bench_svg : svg;
  options.trace = trace;
  options.list_what = list_what;
  options.target = target;
  options.seed = seed;
  options.runs = runs;
  options.run_rows.assign(run_rows.begin(), run_rows.end());
  options.no_run = no_run;
  options.keep_dir = keep;
  options.jobs = jobs;
  options.most = most;
  options.patterns.assign(patterns.begin(), patterns.end());
  if (!no_cache) options.cache_dir = cache.getNumOccurrences() > 0 ? cache : default_cache_folder();
  return true;
}

// bench: standard output has the table.
bool check_bench_picture(const Options& options) {
  if (bench_svg.getNumOccurrences() == 0) return true;
  if (options.svg.empty()) return usage_error("--svg needs a file");
  if (options.svg == "-") return usage_error("--svg takes a file: bench prints its table");
  if (options.svg == options.json)
    return usage_error(fmt::format("--svg and --json are both '{}'; name two files", options.svg));
  if (options.no_run) return usage_error("--no-run measures nothing that --svg could show");
  return true;
}

// explain: the picture and the trace go to different places, and standard output holds one thing.
bool check_drawings(const Options& options) {
  if (svg.getNumOccurrences() > 0 && options.svg.empty()) return usage_error("--svg needs a file");
  if (trace.getNumOccurrences() > 0 && options.trace.empty())
    return usage_error("--trace needs a file");
  if (measured.getNumOccurrences() > 0 && options.measured.empty())
    return usage_error("--measured needs a file");
  if (options.json_document && !options.measured.empty())
    return usage_error("--json has no place for --measured; name a file with --trace");
  if (!options.svg.empty() && options.svg == options.trace)
    return usage_error(fmt::format("--svg and --trace are both '{}'; name two files", options.svg));
  if (options.json_document && (options.svg == "-" || options.trace == "-"))
    return usage_error("--json prints the document alone; name a file in place of '-'");
  return true;
}

bool check_tune(const Options& options) {
  if (options.tuned_file.empty() || options.tuned_file == "-")
    return usage_error("-o needs a file, which is read again by --tuning and by the next run");
  if (options.candidates < 1 || options.candidates > kMostCandidates)
    return usage_error(fmt::format("--candidates must be from 1 to {}, got {}", kMostCandidates,
                                   options.candidates));
  if (options.seconds < kLeastSeconds || options.seconds > kMostSeconds)
    return usage_error(fmt::format("--seconds must be from {} to {}, got {}", kLeastSeconds,
                                   kMostSeconds, options.seconds));
  return true;
}

bool check(const Options& options) {
  if (cmake_dir) return usage_error("--cmake-dir stands alone: leave the command out");
  const bool takes_spec = options.verb != Verb::profile && options.verb != Verb::list &&
                          options.verb != Verb::schema && options.verb != Verb::catalogue;
  if (takes_spec && options.specs.empty()) return usage_error("no spec given");
  const bool one_spec = options.verb == Verb::explain || options.verb == Verb::weave ||
                        (options.verb == Verb::generate && options.bundle.empty());
  if (one_spec && options.specs.size() > 1)
    return usage_error(fmt::format("one spec at a time, got {}", options.specs.size()));
  if (std::ranges::count(options.specs, "-") > 1)
    return usage_error("standard input, '-', is given twice and can be read once");
  if (machine.getNumOccurrences() + base.getNumOccurrences() > 0 && options.machine.empty())
    return usage_error("--machine needs the name of a machine or a file");
  if (tuning.getNumOccurrences() > 0 && options.tuning.empty())
    return usage_error("--tuning needs a file; 'tilepost tune' writes one");
  if (options.target != "auto" && options.target != "cuda" && options.target != "host")
    return usage_error(fmt::format("--target is auto, cuda or host, got '{}'", options.target));
  if (bundle.getNumOccurrences() > 0 && options.bundle.empty())
    return usage_error("--bundle needs a folder");
  if (!options.bundle.empty() && output_dir.getNumOccurrences() + depfile.getNumOccurrences() > 0)
    return usage_error(
        "--bundle names the folder itself and writes no depfile: leave -o and "
        "--depfile out");
  if (options.verb == Verb::tune && !check_tune(options)) return false;
  if (options.verb == Verb::weave) {
    if (output_file.getNumOccurrences() > 0 && output_file.empty())
      return usage_error("-o needs a file");
    if (!options.depfile.empty() && options.output_file.empty())
      return usage_error("--depfile is about a file: name it with -o");
  }
  if (!check_drawings(options) || !check_bench_picture(options)) return false;
  if (measurements.getNumOccurrences() > 0 && options.measurements.empty())
    return usage_error("--measurements needs a file");
  if (from.getNumOccurrences() > 0 && options.from.empty())
    return usage_error("--from needs a file with measurements");
  for (const std::string& mistake :
       {mistake_of_cases(options), mistake_of_profile(options), mistake_of_records(options),
        mistake_of_bench(options),
        mistake_of_catalogue(options, output_dir.getNumOccurrences() > 0)})
    if (!mistake.empty()) return usage_error(mistake);
  if (cache.getNumOccurrences() > 0 && (no_cache || cache.empty()))
    return usage_error(no_cache ? "--cache and --no-cache contradict each other"
                                : "--cache needs a folder");
  if (options.runs < 1)
    return usage_error(fmt::format("--runs must be at least 1, got {}", options.runs));
  if (options.no_run && options.keep_dir.empty())
    return usage_error("--no-run needs a folder for what it compiles: --keep DIR");
  if (options.jobs < 0)
    return usage_error(fmt::format("--jobs must not be negative, got {}", options.jobs));
  if (options.most < 0)
    return usage_error(fmt::format("--most must not be negative, got {}", options.most));
  return true;
}

constexpr const char* kOverview =
    "tilepost: a GEMM and its communication, overlapped tile by tile\n\n"
    "  tilepost generate attn_out.yaml -o build/generated\n"
    "  tilepost explain attn_out.yaml -D gemm.m=4096\n"
    "  tilepost verify attn_out.yaml\n"
    "  tilepost bench attn_out.yaml\n"
    "  tilepost profile -o machine.yaml\n";

// Runs LLVM's parser, whose messages quote arguments as they are.
bool parse_command_line(int argc, char** argv) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  const bool parsed = cl::ParseCommandLineOptions(argc, argv, kOverview, &stream);
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(text).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    line.consume_front("tilepost: ");
    usage_errors.push_back(line.str());
  }
  return parsed;
}

// Finds out the verb and --json before the command line is checked, because messages about mistakes
// depend on them.
void foretell(int argc, char** argv, Options& options) {
  for (const VerbInfo& info : kVerbs)
    if (argc > 1 && info.command->getName() == argv[1]) options.verb = info.verb;
  const bool has_document = options.verb == Verb::check || options.verb == Verb::explain ||
                            options.verb == Verb::verify || options.verb == Verb::list;
  for (int i = 2; i < argc; ++i) {
    const llvm::StringRef word = argv[i];
    if (has_document && (word == "--json" || word == "-json")) options.json_document = true;
  }
}

bool parse(int argc, char** argv, Options& options) {
  cl::SetVersionPrinter([](llvm::raw_ostream& out) {
    out << "tilepost " << TILEPOST_VERSION_STRING << " (spec format 1, ABI " << TILEPOST_ABI_VERSION
        << ")\n";
  });
  if (argc > 1 && argv[1][0] != '-') {
    std::vector<llvm::StringRef> verbs;
    for (const VerbInfo& info : kVerbs) verbs.push_back(info.command->getName());
    if (!llvm::is_contained(verbs, llvm::StringRef(argv[1]))) {
      const std::string flag = "--" + std::string(argv[1]);
      const bool is_flag = flag == "--help" || flag == "--version" || flag == "--cmake-dir";
      return usage_error(
          fmt::format("unknown command '{}'{}", argv[1],
                      is_flag ? ", did you mean '" + flag + "'?" : did_you_mean(argv[1], verbs)));
    }
  }
  foretell(argc, argv, options);
  if (const std::string why = refuse_arguments(argc, argv); !why.empty()) return usage_error(why);
  drop_foreign_flags(cmake_dir);
  for (const VerbInfo& info : kVerbs) {
    if (argc < 2 || info.command->getName() != argv[1]) continue;
    const std::string why = refuse_letters(argc, argv, *info.command);
    if (!why.empty()) return usage_error(why);
  }
  if (!parse_command_line(argc, argv)) return false;
  for (const VerbInfo& info : kVerbs)
    if (*info.command) {
      options.verb = info.verb;
      return collect(options) && check(options);
    }
  options.verb = Verb::cmake_dir;
  options.called_as = argv[0];
  return cmake_dir || usage_error("no command given");
}

}  // namespace

bool parse_options(int argc, char** argv, Options& options, std::vector<std::string>& mistakes) {
  const bool parsed = parse(argc, argv, options);
  mistakes = std::move(usage_errors);
  return parsed;
}

std::string_view verb_name(Verb verb) {
  for (const VerbInfo& info : kVerbs)
    if (info.verb == verb) return info.command->getName();
  return "";
}

std::vector<FlagInfo> all_flags() {
  std::vector<FlagInfo> flags;
  for (const VerbInfo& info : kVerbs) {
    std::vector<FlagInfo> of_verb;
    for (const auto& entry : info.command->OptionsMap) {
      const cl::Option& option = *entry.second;
      if (option.getOptionHiddenFlag() != cl::NotHidden || option.ArgStr.starts_with("help"))
        continue;
      // Single letters get one dash, as compilers have them, and words two. LLVM accepts both for
      // either.
      const std::string dashes = option.ArgStr.size() == 1 ? "-" : "--";
      of_verb.push_back(
          {info.command->getName().str(), dashes + option.ArgStr.str(), option.HelpStr.str()});
    }
    llvm::sort(of_verb, [](const FlagInfo& x, const FlagInfo& y) { return x.flag < y.flag; });
    flags.insert(flags.end(), of_verb.begin(), of_verb.end());
  }
  return flags;
}

}  // namespace tilepost
