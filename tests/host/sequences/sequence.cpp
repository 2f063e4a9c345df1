#include "tests/host/sequences/sequence.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

namespace {

constexpr double kShortest = 0.005;  // the shortest deadline that may pass, in seconds
constexpr std::chrono::milliseconds kLate{40};
const std::vector<Variant> kVariants = all_variants();

// A variant whose outputs can be registered.
constexpr Variant kPushing = {TILEPOST_GEMM_ALL_REDUCE,
                              TILEPOST_PANEL,
                              TILEPOST_CONSUMER_NONE,
                              TILEPOST_TRANSPORT_HOST,
                              TILEPOST_ROUTING_EVEN,
                              TILEPOST_ACCESS_WRITE,
                              true};

// Whether outputs can be registered.
bool pushes_sums(const Problem& problem) {
  return problem.pushes && problem.pattern == TILEPOST_GEMM_ALL_REDUCE &&
         problem.consumer == TILEPOST_CONSUMER_NONE;
}

}  // namespace

// ---- What is played

Sequence::Sequence(uint64_t seed)
    : random_(seed),
      world_(1 + static_cast<int>(draw(4))),
      mishap_(draw(3) == 0 || world_ == 1 ? Mishap::none : static_cast<Mishap>(draw(kMishaps))),
      victim_(static_cast<int>(draw(world_))),
      destroys_at_home_(draw(2) != 0),
      ranks_(world_) {
  const auto operations = 1 + draw(3);
  for (uint64_t i = 0; i < operations; ++i) add_operation();
  write_script();
  for (Rank& rank : ranks_) {
    rank.script = script_;
    rank.ops.assign(operations_.size(), nullptr);
    rank.running.resize(operations_.size());
    rank.routed.assign(operations_.size(), false);
    rank.random.seed(random_());
    if (may_fail())
      rank.deadline = kShortest * static_cast<double>(1 + draw(10));
    else if (draw(4) == 0)
      rank.deadline = 0;  // no deadline
  }
  befall();
}

Sequence::~Sequence() = default;

void Sequence::add_operation() {
  const bool pushes = draw(6) == 0;  // few variants push
  const Variant& drawn = kVariants[draw(kVariants.size())];
  Problem problem = make(pushes ? kPushing : drawn, world_, random_());
  problem.any_m = draw(2) != 0;
  problem.m = 1 + static_cast<int64_t>(draw(60));
  problem.n = 1 + static_cast<int64_t>(draw(24));
  problem.k = 1 + static_cast<int64_t>(draw(8));
  bound_received(problem, random_());
  Operation& operation = operations_.emplace_back();
  operation.problem = problem;
  operation.program = std::make_unique<Program>(problem);
  problem.fault = hand_woven::Fault::missing_signal;
  operation.faulty = std::make_unique<Program>(problem);
}

PatternRun* Sequence::make_data(size_t op, int64_t m) {
  return &data_.emplace_back(operations_[op].problem, m, kSpreads[draw(3)], false, random_);
}

void Sequence::add_run(size_t op) {
  const Problem& problem = operations_[op].problem;
  const auto m = problem.any_m ? 1 + static_cast<int64_t>(draw(problem.m)) : problem.m;
  PatternRun* const data = make_data(op, m);
  if (problem.routed()) script_.push_back({Kind::route, op, data, m});
  const bool registers = pushes_sums(problem) && draw(2) != 0;
  if (registers) script_.push_back({Kind::registers, op, data, m});
  for (uint64_t runs = 1 + (problem.routed() ? draw(3) : 0); runs > 0; --runs)
    script_.push_back({Kind::run, op, data, m});
  if (registers && draw(2) != 0) script_.push_back({Kind::unregisters, op, data, m});
}

// Writes the calls that all ranks make in the same order.
void Sequence::write_script() {
  std::vector<bool> there(operations_.size(), false);
  for (uint64_t steps = 2 + draw(10); steps > 0; --steps) {
    const size_t op = draw(operations_.size());
    if (!there[op]) {
      script_.push_back({Kind::create, op});
      there[op] = true;
    } else if (draw(8) == 0) {
      script_.push_back({Kind::destroy, op});
      there[op] = false;
    } else {
      add_run(op);
    }
  }
}

// Whether the mishap can happen at this step. No mishap makes two ranks take part in one run with
// data that do not belong together, so runs that succeed can be compared.
bool Sequence::suits(const Step& step) const {
  const Problem& problem = operations_[step.op].problem;
  if (mishap_ == Mishap::other_rows)
    return step.kind == Kind::run && problem.any_m && !problem.routed() && problem.m > 1;
  if (mishap_ == Mishap::swaps) {
    const Step& next = *(&step + 1);
    return &step != &script_.back() && next.op != step.op;
  }
  return true;
}

void Sequence::befall() {
  std::vector<size_t> places;
  for (size_t i = 0; i < script_.size(); ++i)
    if (suits(script_[i])) places.push_back(i);
  if (places.empty()) return;
  const size_t place = places[draw(places.size())];
  std::vector<Step>& script = ranks_[victim_].script;
  Step& step = script[place];
  switch (mishap_) {
    case Mishap::none:
    case Mishap::hurry:
    case Mishap::lost_signal:
      break;
    case Mishap::late:
      script.insert(script.begin() + place, {Kind::sleep, 0});
      break;
    case Mishap::leaves:
      script.resize(place);
      break;
    case Mishap::lets_go:
      script.insert(script.begin() + place, {Kind::destroy, step.op});
      break;
    case Mishap::swaps:
      std::swap(script[place], script[place + 1]);
      break;
    case Mishap::other_rows:
      step.data = make_data(step.op, step.rows % operations_[step.op].problem.m + 1);
      break;
  }
}

std::string Sequence::describe() const {
  std::string text = std::to_string(world_) + " ranks, mishap " +
                     std::to_string(static_cast<int>(mishap_)) + " of rank " +
                     std::to_string(victim_);
  for (const Operation& operation : operations_)
    text += "\n  " + ::describe(operation.problem) + (operation.problem.any_m ? ", any m" : "");
  text += "\n ";
  for (const Step& step : script_) {
    const char* const names[] = {"create",     "route",   "register", "run",
                                 "unregister", "destroy", "sleep"};
    text += std::string(" ") + names[static_cast<int>(step.kind)] + std::to_string(step.op);
  }
  return text;
}

// ---- How it is played

void Sequence::note(int rank, const std::string& wrong) {
  std::string& first = ranks_[rank].wrong;
  if (first.empty()) first = "rank " + std::to_string(rank) + ", " + wrong;
}

bool Sequence::check(int rank, const char* call, tilepost_result_t result) {
  if (result == TILEPOST_OK) return true;
  const bool explained = result == TILEPOST_TIMEOUT || result == TILEPOST_ABORTED ||
                         result == TILEPOST_INVALID_ARGUMENT;
  const std::string text = tilepost_last_error();
  if (!may_fail() || !explained || text.empty())
    note(rank, std::string(call) + ": " + tilepost_result_name(result) + ": " + text);
  return false;
}

// Notes a call that was not refused. A communicator that was aborted may be reported first.
void Sequence::check_refused(int rank, const char* call, tilepost_result_t result) {
  if (result == TILEPOST_INVALID_ARGUMENT || result == TILEPOST_UNSUPPORTED) return;
  if (result == TILEPOST_ABORTED && may_fail()) return;
  note(rank, std::string(call) + " was not refused: " + tilepost_result_name(result));
}

void Sequence::create(int rank, size_t op) {
  Rank& own = ranks_[rank];
  tilepost_options_t options = tilepost_default_options();
  options.deadline_seconds = own.deadline;
  options.host_workers = static_cast<int>(own.random() % 4);
  options.schedule_bytes = own.random() % 2 != 0 ? 1 : 0;
  const bool faulty = mishap_ == Mishap::lost_signal && rank == victim_;
  const Program& program = faulty ? *operations_[op].faulty : *operations_[op].program;
  check(rank, "create", tilepost_op_create(own.comm, &program.get(), &options, &own.ops[op]));
  own.routed[op] = false;
}

void Sequence::destroy(int rank, size_t op) {
  Rank& own = ranks_[rank];
  if (tilepost_op_destroy(own.ops[op]) != TILEPOST_OK) note(rank, "destroy failed");
  own.ops[op] = nullptr;
  // Where every run must succeed, destroying has waited for the runs to end.
  for (const PatternRun* data : own.running[op]) {
    if (may_fail()) break;
    ++compared_;
    if (const std::string wrong = data->compare(rank); !wrong.empty()) note(rank, wrong);
  }
  own.running[op].clear();
}

void Sequence::synchronize(int rank, size_t op) {
  Rank& own = ranks_[rank];
  if (!check(rank, "synchronize", tilepost_op_synchronize(own.ops[op]))) return;
  for (const PatternRun* data : own.running[op]) {
    ++compared_;
    if (const std::string wrong = data->compare(rank); !wrong.empty()) note(rank, wrong);
  }
  own.running[op].clear();
}

void Sequence::take_step(int rank, const Step& step) {
  Rank& own = ranks_[rank];
  if (step.kind == Kind::sleep) return std::this_thread::sleep_for(kLate);
  if (step.kind == Kind::create) return create(rank, step.op);
  const tilepost_op_t op = own.ops[step.op];
  if (op == nullptr) return;
  if (step.kind == Kind::destroy) return destroy(rank, step.op);
  if (step.kind == Kind::route) {
    std::string wrong;
    own.routed[step.op] = check(rank, "route", step.data->route(op, rank, wrong));
    if (!wrong.empty()) note(rank, wrong);
    return;
  }
  if (step.kind == Kind::registers) {
    check(rank, "register",
          tilepost_op_register(op, step.data->out(rank), step.data->out_bytes(rank)));
    return;
  }
  if (step.kind == Kind::unregisters) {
    check(rank, "unregister", tilepost_op_unregister(op, step.data->out(rank)));
    return;
  }
  // The outputs are compared when the run has ended.
  if (check(rank, "run", step.data->start(op, rank))) own.running[step.op].push_back(step.data);
}

// Makes a call that concerns this rank alone and changes nothing.
void Sequence::look_around(int rank) {
  Rank& own = ranks_[rank];
  const size_t op = own.random() % own.ops.size();
  if (own.ops[op] == nullptr) return call_wrongly(rank);
  tilepost_op_info_t info{};
  switch (own.random() % 5) {
    case 0:
      if (const auto result = tilepost_op_status(own.ops[op]); result != TILEPOST_IN_PROGRESS)
        check(rank, "status", result);
      break;
    case 1:
      synchronize(rank, op);
      break;
    case 2:
      check(rank, "get_info", tilepost_op_get_info(own.ops[op], &info));
      if (info.rank != rank || info.plan == nullptr || tilepost_op_warnings(own.ops[op]) == nullptr)
        note(rank, "get_info is wrong");
      break;
    case 3:
      call_wrongly(rank, op);
      break;
    default:
      call_wrongly(rank);
  }
}

// Makes a call that every operation must refuse, at any time.
void Sequence::call_wrongly(int rank, size_t index) {
  Rank& own = ranks_[rank];
  const tilepost_op_t op = own.ops[index];
  alignas(16) uint16_t memory[16] = {};
  auto* const stream = reinterpret_cast<CUstream_st*>(memory);
  tilepost_run_operands_t operands{};
  operands.struct_size = sizeof operands;
  operands.a = operands.b = operands.norm_weight = memory;
  operands.out = operands.norm_residual = memory;
  operands.norm_epsilon = 1;
  operands.m = TILEPOST_PLANNED_M;
  // With a route a rank may have no rows, and then its operands are not checked.
  const bool routed = operations_[index].problem.routed();
  tilepost_route_t route{sizeof route, -3, nullptr, nullptr};
  tilepost_arrivals_t arrivals{};
  const auto refused = [&](const char* call, tilepost_result_t result) {
    check_refused(rank, call, result);
  };
  switch (own.random() % 11) {
    case 10:
      // The other ranks would have to take part.
      if (pushes_sums(operations_[index].problem)) return;
      return refused("register without a use", tilepost_op_register(op, memory, sizeof memory));
    case 0:
      if (routed) return;
      return refused("run without operands",
                     tilepost_op_run(op, nullptr, nullptr, nullptr, nullptr));
    case 1:
      return refused("run on a stream", tilepost_op_run_with(op, &operands, stream));
    case 2:
      if (routed) return;
      operands.a = operands.b = operands.out = memory + 1;
      return refused("run in odd memory", tilepost_op_run_with(op, &operands, nullptr));
    case 3:
      operands.m = operations_[index].problem.m * world_ + 1;
      return refused("run of many rows", tilepost_op_run_with(op, &operands, nullptr));
    case 4:
      operands.struct_size = 8;
      return refused("run of another size", tilepost_op_run_with(op, &operands, nullptr));
    case 5:
      return refused("run of nothing", tilepost_op_run_with(op, nullptr, nullptr));
    case 6:
      return refused("route of -3 rows", tilepost_op_route(op, &route, nullptr));
    case 7:
      return refused("route into nothing", tilepost_op_route(op, &route, &arrivals));
    case 8:
      if (!routed || own.routed[index]) return;
      return refused("run without a route", tilepost_op_run_with(op, &operands, nullptr));
    default:
      return refused("info into nothing", tilepost_op_get_info(op, nullptr));
  }
}

void Sequence::call_wrongly(int rank) {
  const auto refused = [&](const char* call, tilepost_result_t result) {
    check_refused(rank, call, result);
  };
  const Rank& own = ranks_[rank];
  const bool used =
      std::ranges::any_of(own.ops, [](const tilepost_op_t op) { return op != nullptr; });
  switch (ranks_[rank].random() % 5) {
    case 0:
      return refused("status of nothing", tilepost_op_status(nullptr));
    case 1:
      return refused("synchronize of nothing", tilepost_op_synchronize(nullptr));
    case 2:
      if (used) refused("destroy of a communicator in use", tilepost_comm_destroy(own.comm));
      return;
    case 3:
      if (tilepost_op_destroy(nullptr) != TILEPOST_OK) note(rank, "destroy of nothing failed");
      return;
    default:
      return create_wrongly(rank);
  }
}

void Sequence::create_wrongly(int rank) {
  Rank& own = ranks_[rank];
  const Program& good = *operations_[own.random() % operations_.size()].program;
  tilepost_program_t program = good.get();
  tilepost_plan_t plan = *program.plans;
  tilepost_options_t options = tilepost_default_options();
  tilepost_op_t op = nullptr;
  program.plans = &plan;
  switch (own.random() % 6) {
    case 0:
      options.deadline_seconds = std::numeric_limits<double>::quiet_NaN();
      break;
    case 1:
      options.host_workers = 257;
      break;
    case 2:
      program.abi_version = 7;
      break;
    case 3:
      program.num_plans = 0;
      break;
    case 4:
      ++plan.map_hash;
      break;
    default:
      plan.map.m = -plan.map.m;
  }
  check_refused(rank, "create", tilepost_op_create(own.comm, &program, &options, &op));
  if (op != nullptr) note(rank, "a refused operation is there");
}

void Sequence::destroy_all(int rank) {
  Rank& own = ranks_[rank];
  std::vector<size_t> order(own.ops.size());
  for (size_t op = 0; op < order.size(); ++op) order[op] = op;
  std::shuffle(order.begin(), order.end(), own.random);
  for (const size_t op : order) {
    if (own.ops[op] != nullptr && own.random() % 2 != 0) synchronize(rank, op);
    destroy(rank, op);
  }
}

void Sequence::play_rank(int rank) {
  Rank& own = ranks_[rank];
  for (const Step& step : own.script) {
    while (own.random() % 3 == 0) look_around(rank);
    take_step(rank, step);
  }
  if (destroys_at_home_) destroy_all(rank);
}

std::string Sequence::play() {
  std::vector<tilepost_comm_t> comms(world_);
  if (tilepost_comm_create_host(world_, comms.data()) != TILEPOST_OK) return tilepost_last_error();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world_; ++rank) ranks_[rank].comm = comms[rank];
  for (int rank = 0; rank < world_; ++rank) threads.emplace_back([this, rank] { play_rank(rank); });
  for (std::thread& thread : threads) thread.join();
  std::vector<int> order(world_);
  for (int rank = 0; rank < world_; ++rank) order[rank] = rank;
  std::shuffle(order.begin(), order.end(), random_);
  for (const int rank : order) {
    destroy_all(rank);
    if (tilepost_comm_destroy(comms[rank]) != TILEPOST_OK)
      note(rank, std::string("destroy of the communicator: ") + tilepost_last_error());
  }
  for (const Rank& rank : ranks_)
    if (!rank.wrong.empty()) return rank.wrong;
  return "";
}
