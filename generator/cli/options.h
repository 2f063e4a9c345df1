// The command line: verbs and flags, declared once. `tilepost list flags` and --help print them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generator/bench/bench.h"
#include "generator/tune/tune.h"
#include "generator/yaml/read_spec.h"

namespace tilepost {

// The last is the flag --cmake-dir, which stands without a verb.
enum class Verb {
  generate,
  check,
  explain,
  weave,
  verify,
  bench,
  profile,
  tune,
  catalogue,
  list,
  schema,
  cmake_dir
};

struct Options {
  Verb verb = Verb::check;
  std::string called_as;              // argv[0]
  std::vector<std::string> specs;     // files; "-" is standard input
  std::vector<Override> overrides;    // -D, then --arch and --name
  std::string machine;                // --machine; empty: the usual one
  std::string tuning;                 // --tuning; empty: none
  bool werror = false;                // --werror: warnings are errors
  bool json_document = false;         // check, explain, verify, list --json
  std::string output_dir = ".";       // generate and catalogue -o
  std::string bundle;                 // generate --bundle
  std::string depfile;                // generate and weave --depfile
  std::string output_file;            // weave -o; empty: standard output. profile -o
  bool dry_run = false;               // generate and catalogue --dry-run
  std::vector<std::string> archs;     // --arch, word by word: "sm_90a"
  std::vector<std::string> patterns;  // catalogue --pattern
  bool timestamps = false;            // generate --timestamps
  std::string svg;                    // explain and bench --svg; "-": standard output; empty: none
  std::string trace;                  // explain --trace; the same
  std::string measured;               // explain --measured; empty: none
  std::string list_what;              // list: patterns, archs, machines, …; empty: all
  std::string target = "auto";        // verify --target
  std::vector<Sweep> sweeps;          // generate, explain, verify, bench and catalogue --sweep
  uint64_t seed = 1;                  // verify and bench --seed
  int runs = 3;                       // verify --runs
  std::vector<int64_t> run_rows;      // verify --m
  bool no_run = false;                // verify, bench, tune and profile --no-run
  std::string keep_dir;               // verify, bench, tune and profile --keep
  std::string cache_dir;      // verify, bench, tune and profile --cache; empty: nothing is kept
  int jobs = 0;               // verify, bench, tune, profile and catalogue --jobs; 0 = one per core
  int most = 0;               // catalogue --most; 0 = as many as the plans have
  std::vector<Shape> shapes;  // generate, explain, bench, tune and catalogue --shape
  int rounds = 50;            // bench --rounds
  std::string mode = "both";  // bench --mode
  bool lent_output = false;   // bench --lent-output
  std::string load = kExpertLoads[0];  // bench --load
  bool registered = false;             // bench --registered
  std::string torch;                   // bench --torch
  std::string json;                    // bench --json
  std::string tuned_file;              // tune -o
  int candidates = 10;                 // tune --candidates
  int seconds = 60;                    // tune --seconds
  bool again = false;                  // tune --again
  bool graph = false;                  // tune --graph
  std::string measurements;            // profile --measurements; empty: they are not kept
  std::string from;                    // bench and profile --from; empty: this machine is measured
  bool apart = false;                  // profile --without-peer-access
  bool beside_others = false;          // profile --beside-others

  // Whether there may be several plans of a spec.
  bool varies() const { return !shapes.empty() || !sweeps.empty(); }
};

// Parses the command line. On a mistake returns false, exit code 2, and in `mistakes` what to say
// of it, line by line; options.verb and json_document are set where they can be told. --help and
// --version print and exit 0.
bool parse_options(int argc, char** argv, Options& options, std::vector<std::string>& mistakes);

// "check".
std::string_view verb_name(Verb verb);

// One flag as `list flags` prints it.
struct FlagInfo {
  std::string verb, flag, help;
};
std::vector<FlagInfo> all_flags();

}  // namespace tilepost
