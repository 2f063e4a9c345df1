// What happens when a rank fails: the others must get an error in time that names the missing rank,
// and go on.
//
//   faults [pattern …] [--kinds stop,kill,exit,leave,late] [--modes eager,graph] [--when any]
//          [--deadline 2] [--slack 5] [--resume-victim before] [--seed 1] [--jobs 1] [--part i/n]
//          [--devices all] [--seconds N] [--tsv FILE] [--resume FILE]
//
// There is a process for each rank. For each program there is a case for each kind and mode, in the
// same processes as long as these live. One rank, chosen by the seed, fails:
//
//   stop    It gets SIGSTOP, and SIGCONT when the others have their error. Then it gets an error
//           too, or ends the one run for which all ranks had come.
//   kill    It gets SIGKILL.
//   exit    It calls _exit(0).
//   leave   It calls exit(0) with operation and communicator alive, between runs. Nothing may
//           crash.
//   late    It comes a second late, which is no error.
//
// It fails between runs or while some are in flight (--when between or flight; otherwise the seed
// decides). The others must have an error at most `slack` seconds after the deadline. The error
// says which rank speaks and what it waited for. Where ranks share memory, it also names the
// missing rank. The others destroy operation and communicator within 5 s, and make new ones with
// all ranks. A new process takes the place of a dead rank. They must then have right results in 5
// eager and 5 replayed runs. At the end all processes exit with 0.
//
// --jobs N tests N programs at a time, on other GPUs if there are enough. --devices same puts all
// ranks of all programs on the first GPU (needs a build with TILEPOST_TEST_ONE_GPU).
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <regex>
#include <sstream>
#include <thread>

#include "tests/gpu/trust/fault_rank.h"
#include "tests/gpu/trust/report.h"

using namespace gpu_test;

namespace {

constexpr const char* kRankOption = "--rank";
constexpr double kStart = 90, kJoin = 90, kCheck = 60, kFree = 5;  // seconds
constexpr double kPatience = 20;  // seconds to wait for an answer that is too late already
constexpr int kUnlimited = 1000000;

struct Settings {
  double deadline, slack;
  uint32_t seed;
  std::string when, resume_victim;
  std::vector<std::string> kinds, modes;
  bool on_one_gpu;
};

struct Case {
  std::string kind, mode;
  bool in_flight;
  int victim;
};

// The row of the table for a case.
struct Outcome {
  double error_seconds = 0, free_seconds = 0, join_seconds = 0;
  int survivors = 0, named = 0;
  bool recovered = false;
  std::string text, complaint;

  void complain(const std::string& what) { complaint += (complaint.empty() ? "" : "; ") + what; }
};

std::string name_of(int rank) {
  return "rank " + std::to_string(rank);
}

bool shares_memory(const tilepost_program_t& program) {
  return plan_of(program).access != TILEPOST_ACCESS_MESSAGES &&
         plan_of(program).transport != TILEPOST_TRANSPORT_NONE;
}

// Whether the text names `rank` behind 'rank' or 'ranks', not counting the rank that speaks.
bool names_rank(const std::string& text, int rank) {
  static const std::regex list("\\branks? ([0-9]+(, [0-9]+)*)");
  const size_t speaker = text.find(": ", std::min(text.find("rank "), text.size()));
  const std::string said = text.substr(std::min(speaker, text.size()));
  for (std::sregex_iterator it(said.begin(), said.end(), list), end; it != end; ++it) {
    std::istringstream numbers((*it)[1].str());
    for (int number; numbers >> number; numbers.ignore(1))
      if (number == rank) return true;
  }
  return false;
}

bool says_what_was_awaited(const std::string& text) {
  static const std::regex awaited("group|did not|collective|NCCL|stopped|arrive");
  return std::regex_search(text, awaited);
}

// The processes of one program's ranks.
class Team {
 public:
  Team(const tilepost_program_t& program, int first_device, const Settings& settings)
      : program_(program), first_device_(first_device), settings_(settings), ranks_(world()) {
    for (int rank = 0; rank < world(); ++rank) start(rank);
    for (int rank = 0; rank < world(); ++rank) expect(rank, "start", "ready", kStart);
    join();
  }

  int world() const { return plan_of(program_).ranks; }

  // Runs one case. Throws a Problem if a rank fails in an unexpected way.
  void run(const Case& c, uint32_t seed, Outcome& outcome) {
    check(c.mode, 2, seed);
    if (c.kind == "late") return run_late(c, seed + 100, outcome);
    outcome.survivors = world() - 1;
    fail(c, outcome);
    if (c.kind != "stop") replace(c);
    const auto begin = Clock::now();
    join();
    outcome.join_seconds = seconds_since(begin);
    check("eager", 5, seed + 200);
    check("graph", 5, seed + 300);
    outcome.recovered = true;
  }

  // Ends all ranks. Returns "" or what went wrong.
  std::string quit() {
    std::string wrong;
    for (auto& rank : ranks_) rank->order("quit");
    for (int rank = 0; rank < world(); ++rank)
      if (const std::string end = ranks_[rank]->wait_for_end(20); !end.empty())
        wrong += name_of(rank) + " ended by " + end + " ";
    return wrong;
  }

 private:
  void start(int rank) {
    const int device = settings_.on_one_gpu ? 0 : first_device_ + rank;
    const std::string host = settings_.on_one_gpu ? host_of(rank, world(), world()) : "";
    ranks_[rank] = std::make_unique<Child>(
        std::vector<std::string>{kRankOption, std::to_string(rank), std::to_string(device),
                                 program_.name, std::to_string(settings_.deadline), host});
  }

  std::string answer_of(int rank, const std::string& what, Clock::time_point until) {
    return expect_answer(ranks_, rank, until, what, dead_);
  }
  void expect(int rank, const std::string& what, const std::string& answer, double seconds) {
    expect(rank, what, answer, in_seconds(seconds));
  }
  void expect(int rank, const std::string& what, const std::string& answer,
              Clock::time_point until) {
    const std::string got = answer_of(rank, what, until);
    if (got != answer) throw Problem(name_of(rank) + ", asked to '" + what + "': " + got);
  }

  // Sends the order to the ranks that `who` selects. Each of them must answer 'ok'.
  template <class Who>
  void ask(const std::string& order, double seconds, const Who& who) {
    for (int rank = 0; rank < world(); ++rank)
      if (who(rank)) ranks_[rank]->order(order);
    const auto until = in_seconds(seconds);
    for (int rank = 0; rank < world(); ++rank)
      if (who(rank)) expect(rank, order.substr(0, 30), "ok", until);
  }
  void ask_all(const std::string& order, double seconds) {
    ask(order, seconds, [](int) { return true; });
  }

  void join() {
    ranks_[0]->order("id");
    const std::string id = answer_of(0, "id", in_seconds(kStart));
    ask_all("join " + words_of(id).at(1), kJoin);
  }

  void check(const std::string& mode, int runs, uint32_t seed) {
    ask_all("check " + mode + " " + std::to_string(runs) + " " + std::to_string(seed), kCheck);
  }

  void run_late(const Case& c, uint32_t seed, Outcome& outcome) {
    const std::string order = "check " + c.mode + " 1 " + std::to_string(seed);
    for (int rank = 0; rank < world(); ++rank)
      if (rank != c.victim) ranks_[rank]->order(order);
    std::this_thread::sleep_for(std::chrono::seconds(1));
    ranks_[c.victim]->order(order);
    const auto until = in_seconds(kCheck);
    for (int rank = 0; rank < world(); ++rank) expect(rank, order, "ok", until);
    outcome.recovered = true;
  }

  // One rank fails. The others, and a stopped rank that goes on, get their errors.
  void fail(const Case& c, Outcome& outcome) {
    const double limit = settings_.deadline + settings_.slack;
    const std::string load = "load " + c.mode + " ", seconds = " " + in_text(limit + kPatience / 2);
    std::mt19937 random(settings_.seed + static_cast<uint32_t>(c.victim) + c.in_flight * 7u);
    if (c.in_flight) {
      for (auto& rank : ranks_) rank->order(load + std::to_string(kUnlimited) + seconds);
      std::this_thread::sleep_for(std::chrono::milliseconds(20 + random() % 180));
    }
    strike(c);
    const auto begin = Clock::now();
    if (!c.in_flight)
      for (int rank = 0; rank < world(); ++rank)
        if (rank != c.victim)
          ranks_[rank]->order(load + (random() % 2 == 0 ? "1" : "200") + seconds);
    const auto until = in_seconds(limit + kPatience);
    for (int rank = 0; rank < world(); ++rank)
      if (rank != c.victim) {
        judge(rank, c, answer_of(rank, "load", until), outcome);
        outcome.error_seconds = std::max(outcome.error_seconds, seconds_since(begin));
      }
    if (outcome.error_seconds > limit)
      outcome.complain("an error only after " + in_text(outcome.error_seconds) + " s");
    if (shares_memory(program_) && outcome.named == 0)
      outcome.complain("no survivor names " + name_of(c.victim));
    const auto survivors = [&](int rank) { return rank != c.victim; };
    const bool alone = c.kind != "stop" || settings_.resume_victim == "after";
    if (alone) free(outcome, survivors);
    if (c.kind != "stop") return;
    ranks_[c.victim]->signal(SIGCONT);
    // The rank makes more runs than the others have begun, so at least one run misses them.
    if (!c.in_flight) ranks_[c.victim]->order(load + std::to_string(kUnlimited) + seconds);
    const std::string own =
        answer_of(c.victim, "load after SIGCONT", in_seconds(limit + kPatience / 2 + kPatience));
    // One run may succeed: it needs only what the others had stored for it before they gave up.
    if (own.rfind("error ", 0) != 0 && own != "fine after 1 runs")
      outcome.complain("the stopped rank: " + own);
    free(outcome, [&](int rank) { return !alone || rank == c.victim; });
  }

  void strike(const Case& c) {
    Child& victim = *ranks_[c.victim];
    if (c.kind != "stop") dead_ = c.victim;
    if (c.kind == "stop") victim.signal(SIGSTOP);
    if (c.kind == "kill") victim.signal(SIGKILL);
    if (c.kind == "exit") victim.signal(SIGUSR1);
    if (c.kind == "leave") victim.order("leave");
  }

  void judge(int rank, const Case& c, const std::string& answer, Outcome& outcome) const {
    const std::vector<std::string> words = words_of(answer);
    if (words.size() < 3 || words[0] != "error") {
      outcome.complain(name_of(rank) + " got no error: " + answer);
      return;
    }
    const std::string text = answer.substr(answer.find(words[2]));
    if (outcome.text.empty() || (!names_rank(outcome.text, c.victim) && names_rank(text, c.victim)))
      outcome.text = text;
    outcome.named += names_rank(text, c.victim);
    if (text.find(name_of(rank) + ":") == std::string::npos)
      outcome.complain(name_of(rank) + " does not say which rank it is: " + text);
    if (!says_what_was_awaited(text))
      outcome.complain(name_of(rank) + " does not say what it waited for: " + text);
  }

  // The ranks that `who` selects destroy what they have.
  template <class Who>
  void free(Outcome& outcome, const Who& who) {
    const auto begin = Clock::now();
    ask("free", kFree + kPatience, who);
    outcome.free_seconds = std::max(outcome.free_seconds, seconds_since(begin));
    if (outcome.free_seconds > kFree)
      outcome.complain("destroyed only after " + in_text(outcome.free_seconds) + " s");
  }

  void replace(const Case& c) {
    const std::string end = ranks_[c.victim]->wait_for_end(20);
    const std::string expected = c.kind == "kill" ? "signal 9" : "";
    if (end != expected) throw Problem("the process of " + name_of(c.victim) + " ended by " + end);
    start(c.victim);
    dead_ = -1;
    expect(c.victim, "start", "ready", kStart);
  }

  const tilepost_program_t& program_;
  const int first_device_;
  const Settings& settings_;
  Children ranks_;
  int dead_ = -1;  // the rank whose process was made to end
};

std::vector<std::string> split(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> parts;
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

void report(Report& report, const std::string& name, const Case& c, const Outcome& outcome) {
  const bool passed = outcome.complaint.empty() && outcome.recovered;
  report.row(
      name, passed ? "PASS" : "FAIL",
      {c.in_flight ? "flight" : "between", std::to_string(c.victim), in_text(outcome.error_seconds),
       in_text(outcome.free_seconds), in_text(outcome.join_seconds),
       std::to_string(outcome.named) + "/" + std::to_string(outcome.survivors),
       outcome.recovered ? "yes" : "no", outcome.complaint, outcome.text});
}

// Runs all cases of a program, with one team as long as that team is in order.
void test_program(const tilepost_program_t& program, int first_device, const Settings& settings,
                  Report& results) {
  std::unique_ptr<Team> team;
  const std::string prefix = std::string(program.name) + " ";
  std::seed_seq seeds(prefix.begin(), prefix.end());
  std::mt19937 random(seeds);
  random.discard(settings.seed * 16);
  for (const std::string& kind : settings.kinds)
    for (const std::string& mode : settings.modes) {
      Case c{kind, mode, random() % 2 == 0, static_cast<int>(random() % plan_of(program).ranks)};
      const uint32_t seed = random() % 100000 * 1000;
      if (settings.when != "any") c.in_flight = settings.when == "flight";
      if (kind == "leave" || kind == "late") c.in_flight = false;
      if (!results.is_due(prefix + kind + " " + mode)) continue;
      Outcome outcome;
      try {
        if (!team) team = std::make_unique<Team>(program, first_device, settings);
        team->run(c, seed, outcome);
      } catch (const std::exception& problem) {
        outcome.complain(problem.what());
        team.reset();
      }
      report(results, prefix + kind + " " + mode, c, outcome);
    }
  if (!team) return;
  if (const std::string wrong = team->quit(); !wrong.empty())
    report(results, prefix + "end", Case{},
           Outcome{.recovered = true, .text = {}, .complaint = wrong});
}

// Runs programs in `jobs` threads. Teams that fit beside each other use different GPUs. On one GPU
// all teams use the same.
void test_all(const std::vector<const tilepost_program_t*>& programs, int jobs,
              const Settings& settings, Report& results) {
  const int gpus = num_gpus();
  std::atomic<size_t> next{0};
  std::vector<std::thread> threads;
  for (int job = 0; job < jobs; ++job)
    threads.emplace_back([&, job] {
      for (size_t i = next++; i < programs.size(); i = next++) {
        const int ranks = plan_of(*programs[i]).ranks;
        const int teams = std::max(1, gpus / ranks);
        test_program(*programs[i], job % teams * ranks, settings, results);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], kRankOption) == 0) return run_fault_rank(argc - 2, argv + 2);
  const Arguments arguments(argc, argv);
  if (!names_are_known(arguments)) return 1;
  Settings settings;
  settings.deadline = arguments.number("deadline", 2);
  settings.slack = arguments.number("slack", 5);
  settings.seed = static_cast<uint32_t>(arguments.number("seed", 1));
  settings.when = arguments.text("when", "any");
  settings.resume_victim = arguments.text("resume-victim", "before");
  settings.kinds = split(arguments.text("kinds", "stop,kill,exit,leave,late"));
  settings.modes = split(arguments.text("modes", "eager,graph"));
  settings.on_one_gpu = arguments.on_one_gpu();
  if (settings.on_one_gpu) use_loopback();
  Report results(
      arguments, "faults",
      {"when", "victim", "error s", "free s", "join s", "named", "recovered", "complaint", "text"});
  std::vector<const tilepost_program_t*> programs;
  for (const tilepost_program_t* program : arguments.programs())
    if (plan_of(*program).ranks > 1) programs.push_back(program);
  test_all(programs, static_cast<int>(arguments.number("jobs", 1)), settings, results);
  return results.finish();
}
