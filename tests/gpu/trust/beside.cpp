// Operations beside each other and beside collectives of other communicators: there must be no
// deadlock, and results must be right.
//
//   beside pairs [first+second …] [--rounds 300] [--delay 400] …
//   beside foreign [pattern …] [--rounds 200] [--megabytes 128] …
//
//   both: [--deadline 20] [--check-every 1] [--expect ok] [--seed 1] [--seconds N] [--tsv FILE]
//         [--resume FILE]; pairs: [--delay 400]
//
// There is a process for each rank.
//
//   pairs     two operations of one communicator on two streams, in the same order on all ranks.
//             The host waits up to `delay` microseconds between them, another time on every rank
//             and in every round. Without names: every program with 'big' in its name, whose GEMM
//             takes all SMs, with every other program, in both orders.
//   foreign   an AllReduce of `megabytes` on a communicator that is not tilepost's, on another
//             stream. It comes before the run on odd ranks, and behind it on even ranks.
//
// With `--expect timeout` a case passes if some rank gets a timeout in time.
#include <memory>

#include "tests/gpu/trust/beside_rank.h"
#include "tests/gpu/trust/report.h"

using namespace gpu_test;

namespace {

constexpr const char* kRankOption = "--rank";
constexpr double kStart = 90;    // seconds until a process answers
constexpr double kCreate = 120;  // seconds for communicators, operations and first runs
constexpr double kSlack = 60;    // seconds past the deadline without an answer

struct Case {
  std::string name;  // "foreign ar_peer", "rs_nccl+big_ar_peer"
  std::vector<const tilepost_program_t*> programs;
};

struct Settings {
  bool pairs, expects_timeout;
  std::string rounds, delay, megabytes, check_every, seed;
  double deadline;
};

struct Outcome {
  int last_round = 0;
  bool fine = true, timed_out = false;
  std::string text;
};

// Takes answers until the rank has ended its case.
std::string last_answer(const Children& ranks, int rank, double deadline, Outcome& outcome) {
  double patience = kCreate;
  for (;;) {
    const std::string answer = expect_answer(ranks, rank, in_seconds(patience), "run its rounds");
    const std::vector<std::string> words = words_of(answer);
    if (words.size() != 2 || words[0] != "round") return answer;
    outcome.last_round = std::max(outcome.last_round, std::stoi(words[1]));
    patience = deadline + kSlack;
  }
}

void note(int rank, const std::string& answer, Outcome& outcome) {
  if (answer == "fine") return;
  outcome.fine = false;
  const bool timed_out = answer.find("TILEPOST_TIMEOUT") != std::string::npos;
  if (outcome.text.empty() || (timed_out && !outcome.timed_out))
    outcome.text = name_of(rank) + ": " + answer;
  outcome.timed_out |= timed_out;
  const std::vector<std::string> words = words_of(answer);
  if (words.size() > 1 && words[0] == "error") outcome.last_round = std::atoi(words[1].c_str());
}

Outcome run_case(const Case& c, const Settings& settings) {
  Outcome outcome;
  const int world = plan_of(*c.programs[0]).ranks;
  std::string names;
  for (const tilepost_program_t* program : c.programs)
    names += (names.empty() ? "" : ",") + std::string(program->name);
  Children ranks;
  for (int rank = 0; rank < world; ++rank)
    ranks.push_back(std::make_unique<Child>(
        std::vector<std::string>{kRankOption, std::to_string(rank), std::to_string(rank), names,
                                 settings.rounds, std::to_string(settings.deadline), settings.delay,
                                 settings.megabytes, settings.check_every, settings.seed}));
  std::string order = settings.pairs ? "pair" : "foreign";
  for (int i = 0; i < (settings.pairs ? 1 : 2); ++i) {
    ranks[0]->order("id");
    order += " " + words_of(expect_answer(ranks, 0, in_seconds(kStart), "id")).at(1);
  }
  for (auto& rank : ranks) rank->order(order);
  for (int rank = 0; rank < world; ++rank)
    note(rank, last_answer(ranks, rank, settings.deadline, outcome), outcome);
  for (auto& rank : ranks) rank->order("quit");
  for (int rank = 0; rank < world; ++rank)
    if (const std::string end = ranks[rank]->wait_for_end(30); !end.empty() && outcome.fine) {
      outcome.fine = false;
      outcome.text = name_of(rank) + " ended by " + end;
    }
  return outcome;
}

void test(const Case& c, const Settings& settings, Report& report) {
  if (!report.is_due(c.name)) return;
  const auto begin = Clock::now();
  Outcome outcome;
  try {
    outcome = run_case(c, settings);
  } catch (const std::exception& problem) {
    outcome.fine = false;
    outcome.text = problem.what();
  }
  const bool passed = settings.expects_timeout ? outcome.timed_out : outcome.fine;
  report.row(
      c.name, passed ? "PASS" : "FAIL",
      {settings.rounds, outcome.fine ? settings.rounds : std::to_string(outcome.last_round),
       in_text(seconds_since(begin)), settings.expects_timeout ? "timeout" : "ok", outcome.text});
}

bool is_big(const tilepost_program_t& program) {
  return std::string(program.name).rfind("big", 0) == 0;
}

// The pairs named 'first+second', or every big program with every other one in both orders.
std::vector<Case> pairs_of(const std::vector<std::string>& given) {
  std::vector<Case> cases;
  const int gpus = num_gpus();
  const auto add = [&](const tilepost_program_t* first, const tilepost_program_t* second) {
    if (first != nullptr && second != nullptr && plan_of(*first).ranks == plan_of(*second).ranks &&
        plan_of(*first).ranks <= gpus)
      cases.push_back({std::string(first->name) + "+" + second->name, {first, second}});
  };
  for (const std::string& pair : given) {
    const size_t plus = pair.find('+');
    const size_t before = cases.size();
    if (plus != std::string::npos)
      add(find_program(pair.substr(0, plus)), find_program(pair.substr(plus + 1)));
    if (cases.size() == before)
      std::printf("FAIL: no pair of programs is named '%s'\n", pair.c_str());
  }
  if (!given.empty()) return cases;
  const std::vector<const tilepost_program_t*> programs(kPrograms, kPrograms + kNumPrograms);
  for (const tilepost_program_t* big : programs)
    for (const tilepost_program_t* other : programs) {
      if (!is_big(*big) || big == other) continue;
      add(other, big);
      if (!is_big(*other)) add(big, other);
    }
  return cases;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], kRankOption) == 0)
    return run_beside_rank(argc - 2, argv + 2);
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode != "pairs" && mode != "foreign") {
    std::printf("beside pairs|foreign [program …] [--name value …]\n");
    return 1;
  }
  const Arguments arguments(argc - 1, argv + 1);
  Settings settings{};
  settings.pairs = mode == "pairs";
  if (!settings.pairs && !names_are_known(arguments)) return 1;
  settings.expects_timeout = arguments.text("expect", "ok") == "timeout";
  settings.rounds = arguments.text("rounds", settings.pairs ? "300" : "200");
  settings.delay = arguments.text("delay", "400");
  settings.megabytes = arguments.text("megabytes", "128");
  settings.check_every = arguments.text("check-every", "1");
  settings.seed = arguments.text("seed", "1");
  settings.deadline = arguments.number("deadline", 20);
  Report report(arguments, "beside " + mode, {"rounds", "done", "seconds", "expected", "text"});
  if (settings.pairs) {
    const std::vector<Case> cases = pairs_of(arguments.names());
    if (cases.size() < arguments.names().size()) return 1;
    for (const Case& c : cases) test(c, settings, report);
  } else {
    for (const tilepost_program_t* program : arguments.programs())
      if (plan_of(*program).ranks > 1) test({program->name, {program}}, settings, report);
  }
  return report.finish();
}
