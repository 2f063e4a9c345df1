#include "tests/runtime/ranks.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <span>
#include <stdexcept>

#include "runtime/cuda/shared/peer_info.h"
#include "runtime/map/steps.h"
#include "tests/runtime/rank_kernel.h"

namespace ranks {

using fakes::world;

Self& self() {
  static thread_local Self mine;
  return mine;
}

namespace {

constexpr std::chrono::milliseconds kLate{2};

// Makes a word of the other ranks' numbers differ from this rank's, so that their memory does not
// count as this rank's.
void tell_apart(const int64_t* from, int64_t* to, size_t count) {
  constexpr int kSelf = 1;
  using tilepost::cuda::PeerInfo;
  for (int rank = 0; rank < world().comm_ranks; ++rank, to += count) {
    fakes::say_as(rank, from, to, count);
    if (count != tilepost::cuda::kPeerInfoNumbers || rank == kSelf) continue;
    PeerInfo info = tilepost::cuda::peer_infos_of(std::span(to, count)).front();
    info.address += (rank + 1) * static_cast<int64_t>(sizeof(uint32_t));
    std::ranges::copy(tilepost::cuda::numbers_of(info), to);
  }
}

}  // namespace

order::Order order_of_run(const Program& program, bool captured) {
  sample::Setup setup;
  CUstream_st* user = fakes::user_stream("user");
  tilepost_run_operands_t values = sample::operands();
  values.gathered = reinterpret_cast<void*>(0x4000000 * 9);
  if (program.plan.access == TILEPOST_ACCESS_READ) world().exchange = tell_apart;
  if (setup.create(program) != TILEPOST_OK) throw std::runtime_error(tilepost_last_error());
  fakes::capture(fakes::stream_of(user), captured);
  world().reset_calls();
  if (tilepost_op_run_with(setup.op, &values, user) != TILEPOST_OK)
    throw std::runtime_error(tilepost_last_error());
  return {};
}

Ranks::Ranks(Program& program, int count, double deadline_seconds)
    : program_(program),
      deadline_seconds_(deadline_seconds),
      first_(this),
      ranks_(count),
      meet_(count),
      numbers_(count),
      bytes_(count),
      destinations_(count) {
  fakes::World& w = world();
  w.threads = true;
  w.comm_ranks = w.num_devices = count;
  w.exchange = [](const int64_t* from, int64_t* to, size_t n) {
    self().team->exchange(from, to, n);
  };
  w.kernel = [](void** arguments) {
    const Ranks& team = *self().team;
    return run_kernel(team.program_of(self().m), arguments, team.deadline_seconds_);
  };
  w.on_post = [] {
    if (self().resume) self().resume();
  };
  w.on_norm = [](const void* x, int rows, int n) { self().team->see_norm(x, rows, n); };
  make_ranks();
}

Ranks::Ranks(Program& program, Ranks& first)
    : program_(program),
      deadline_seconds_(first.deadline_seconds_),
      first_(&first),
      ranks_(first.count()),
      meet_(first.count()),
      numbers_(first.count()),
      bytes_(first.count()),
      destinations_(first.count()) {
  make_ranks();
}

void Ranks::make_ranks() {
  for (int rank = 0; rank < count(); ++rank) {
    ranks_[rank] = std::make_unique<Rank>();
    ranks_[rank]->user = fakes::user_stream("user" + std::to_string(rank), rank);
  }
}

void Ranks::exchange(const int64_t* from, int64_t* to, size_t count) {
  numbers_[self().rank].assign(from, from + count);
  meet_.arrive_and_wait();
  for (const auto& numbers : numbers_) to = std::copy(numbers.begin(), numbers.end(), to);
  meet_.arrive_and_wait();
}

int Ranks::gather(const void* own, void* all, size_t bytes, void* user) {
  const auto* from = static_cast<const char*>(own);
  auto& team = *static_cast<Ranks*>(user);
  team.bytes_[self().rank].assign(from, from + bytes);
  team.meet_.arrive_and_wait();
  auto* to = static_cast<char*>(all);
  for (const auto& one : team.bytes_) to = std::copy(one.begin(), one.end(), to);
  team.meet_.arrive_and_wait();
  return 0;
}

void Ranks::on_all(const std::function<void(int, Rank&)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count(); ++rank)
    threads.emplace_back([&, rank] {
      self().team = this;
      self().rank = rank;
      self().random.seed(static_cast<uint32_t>(rank) + runs_ + 1);
      fakes::current_device() = rank;
      body(rank, *ranks_[rank]);
    });
  for (std::thread& thread : threads) thread.join();
}

void Ranks::create() {
  on_all([&](int rank, Rank& mine) {
    tilepost_comm_t comm = first_ != this ? first_->at(rank).setup.comm : nullptr;
    if (gathers) {
      mine.result = tilepost_comm_init_with(gather, this, rank, count(), &mine.setup.comm);
      comm = mine.setup.comm;
    }
    if (mine.result == TILEPOST_OK)
      mine.result = comm == nullptr
                        ? mine.setup.create(program_, deadline_seconds_, rank, shares)
                        : mine.setup.create_on(comm, program_, deadline_seconds_, shares);
    if (mine.result != TILEPOST_OK) mine.text = tilepost_last_error();
    tilepost_op_info_t info{};
    if (mine.setup.op != nullptr) tilepost_op_get_info(mine.setup.op, &info);
    mine.lent = static_cast<uint16_t*>(info.out);
  });
}

void Ranks::destroy() {
  on_all([&](int, Rank& mine) {
    tilepost_op_destroy(mine.setup.op);
    mine.setup.op = nullptr;
  });
}

Registered::Registered(int device, size_t elements, size_t more) : first_(24), elements_(elements) {
  static std::atomic<unsigned long long> ids = 0;
  memory_ = std::make_shared<std::vector<uint16_t>>(first_ + elements + more);
  const std::lock_guard lock(world().mutex);
  world().caller_memory[allocation()] = {memory_->size() * 2, device, ++ids, "cudaMalloc"};
}

Registered::Registered(const Registered& before, size_t elements)
    : memory_(before.memory_), first_(before.first_ + before.elements_), elements_(elements) {}

Registered::~Registered() {
  if (memory_.use_count() == 1) free();
}

void Registered::free(bool replaced) {
  const std::lock_guard lock(world().mutex);
  if (const auto at = world().caller_memory.find(allocation()); at != world().caller_memory.end()) {
    world().freed_while_mapped += world().mappings[allocation()] > 0;
    at->second.id += 1'000'000;
    if (!replaced) world().caller_memory.erase(at);
  }
}

void Ranks::register_output(int64_t m, size_t buffers) {
  on_all([&](int rank, Rank& mine) {
    const int64_t ranks = count(), up = (m + ranks - 1) / ranks * ranks;  // the most of any rank
    const bool leaves = tilepost::row_of(program_.plan).product_leaves();
    const auto elements = static_cast<size_t>((leaves ? up : m) * program_.plan.map.n);
    for (size_t i = 0; i < buffers && mine.result == TILEPOST_OK; ++i) {
      mine.registered.push_back(
          i == 0 ? std::make_unique<Registered>(rank, elements, (buffers - 1) * elements)
                 : std::make_unique<Registered>(*mine.registered.back(), elements));
      Registered& fresh = *mine.registered.back();
      mine.result = tilepost_op_register(mine.setup.op, fresh.data(), fresh.bytes());
      if (mine.result != TILEPOST_OK) mine.text = tilepost_last_error();
    }
  });
}

void Ranks::unregister_outputs() {
  on_all([&](int, Rank& mine) {
    for (const auto& buffer : mine.registered)
      if (mine.result == TILEPOST_OK)
        mine.result = tilepost_op_unregister(mine.setup.op, buffer->data());
    if (mine.result != TILEPOST_OK) mine.text = tilepost_last_error();
    mine.registered.clear();
  });
}

tilepost_result_t Ranks::start(Rank& mine, int64_t m) {
  const tilepost_plan_t& plan = program_.plan;
  self().m = m;
  fill_a(self().rank, mine, m);
  const size_t elements = static_cast<size_t>(plan.ranks) * (plan.map.m + plan.ranks) * plan.map.n;
  mine.out.assign(elements, 0xffff);
  mine.gathered.assign(static_cast<size_t>(plan.map.m * plan.k), 0xffff);
  tilepost_run_operands_t operands = sample::operands();
  operands.a = mine.a.data();
  operands.out = mine.found = choose_out(mine);
  // Every other run gets memory of the caller's for what is gathered.
  operands.gathered = self().run % 2 == 0 ? mine.gathered.data() : nullptr;
  operands.m = m == 0 ? TILEPOST_PLANNED_M : m;
  if (on_start) on_start(self().rank, operands);
  mine.result = tilepost_op_run_with(mine.setup.op, &operands, mine.user);
  if (mine.result != TILEPOST_OK) mine.text = tilepost_last_error();
  return mine.result;
}

uint16_t* Ranks::choose_out(Rank& mine) const {
  const uint32_t run = self().run;
  if (!mine.registered.empty() && run % 3 != 0) {
    Registered& chosen = *mine.registered[run % mine.registered.size()];
    std::fill_n(chosen.data(), chosen.bytes() / 2, uint16_t{0xffff});
    return chosen.data();
  }
  if (mine.lent == nullptr || run % 2 != 0) return mine.out.data();
  std::fill_n(mine.lent, program_.plan.map.m * program_.plan.map.n, uint16_t{0xffff});
  return mine.lent;
}

void Ranks::run_once(int rank, Rank& mine, int64_t m) {
  const tilepost_plan_t& plan = program_.plan;
  linger();
  if (mine.result != TILEPOST_OK || start(mine, m) != TILEPOST_OK) return;
  self().resume = nullptr;
  if (!checks_) return;
  // One rank looks late at memory that the others may soon store to again.
  if (mine.found == mine.lent && self().run / 2 % ranks_.size() == static_cast<size_t>(rank))
    std::this_thread::sleep_for(kLate);
  const int64_t rows = m > 0 ? m : tilepost::rows_of_runs(plan);
  if (plan.consumer == TILEPOST_CONSUMER_NONE) compare(mine, mine.found, expected(rank, rows));
  if (on_found) mine.wrong += on_found(rank, mine.found, expected(rank, rows));
  if (!tilepost::row_of(plan).moves_input() || self().run % 2 != 0) return;
  compare(mine, mine.gathered.data(), gathered(rank, rows));
}

std::vector<float> Ranks::gathered(int rank, int64_t m) const {
  const tilepost_plan_t& plan = program_.plan;
  if (tilepost::row_of(plan).routes()) return routed(rank, m, plan.k);
  std::vector<float> all;
  for (int64_t i = 0; i < m * plan.k; ++i)
    all.push_back(product(self().run, 0, i / plan.k, i % plan.k));
  return all;
}

void Ranks::take_turns(const std::vector<Turn>& turns) {
  Ranks& any = *turns.front().team;
  const uint32_t first = any.runs_ + 1;
  for (const Turn& turn : turns) turn.team->runs_ = first + static_cast<uint32_t>(turns.size()) - 1;
  any.on_all([&](int rank, Rank&) {
    for (size_t i = 0; i < turns.size(); ++i) {
      self().team = turns[i].team;
      self().run = first + static_cast<uint32_t>(i);
      turns[i].team->run_turn(rank, turns[i]);
    }
  });
}

void Ranks::run_turn(int rank, const Turn& turn) {
  const fakes::Capture capture(ranks_[rank]->user, turn.captured);
  run_once(rank, *ranks_[rank], turn.m);
}

void Ranks::run(int times, int64_t m) {
  const uint32_t first = runs_ + 1;
  runs_ += static_cast<uint32_t>(times);
  on_all([&](int rank, Rank& mine) {
    for (int i = 0; i < times; ++i) {
      self().run = first + static_cast<uint32_t>(i);
      run_once(rank, mine, m);
    }
  });
}

void Ranks::run_captured(int64_t m) {
  for (const auto& mine : ranks_) fakes::capture(fakes::stream_of(mine->user), true);
  run(1, m);
  for (const auto& mine : ranks_) fakes::capture(fakes::stream_of(mine->user), false);
}

void Ranks::run_mixed() {
  run(3);
  run_captured();
  run(2);
  run_captured();
}

void Ranks::run_unchecked(int times, int64_t m) {
  checks_ = false;
  run(times, m);
  checks_ = true;
}

void Ranks::run_but(int absent) {
  ++runs_;
  on_all([&](int rank, Rank& mine) {
    self().run = runs_;
    if (rank == absent) return;
    start(mine, 0);
    mine.result = tilepost_op_synchronize(mine.setup.op);
    mine.text = tilepost_last_error();
  });
}

// Checks the input of the consumer, which is the sum of all rows.
void Ranks::see_norm(const void* x, int rows, int n) {
  Rank& mine = *ranks_[self().rank];
  const std::vector<float> wanted = expected(self().rank, rows);
  for (int64_t i = 0; i < int64_t{rows} * n; ++i, ++mine.normalised)
    mine.wrong += fakes::bf16::read(x, i) != wanted[static_cast<size_t>(i)];
}

void Ranks::route(uint32_t seed) {
  const tilepost_plan_t& plan = program_.plan;
  std::minstd_rand random(seed);
  for (auto& rows : destinations_) {
    rows.clear();
    // In every third route only rank 0 gets rows.
    const uint32_t ranks = seed % 3 == 0 ? 1 : static_cast<uint32_t>(plan.ranks);
    for (int64_t row = 0; row < tilepost::rows_of_runs(plan); ++row)
      rows.push_back(static_cast<int32_t>(random() % ranks));
    if (plan.routing == TILEPOST_ROUTING_SPLITS) std::sort(rows.begin(), rows.end());
  }
  on_all([&](int rank, Rank& mine) {
    std::vector<int64_t> splits(plan.ranks, 0);
    for (const int32_t to : destinations_[rank]) ++splits[to];
    tilepost_route_t route{sizeof route, -1, nullptr, nullptr};
    if (plan.routing == TILEPOST_ROUTING_SPLITS) route.splits = splits.data();
    if (plan.routing == TILEPOST_ROUTING_ROWS) route.destinations = destinations_[rank].data();
    mine.result = tilepost_op_route(mine.setup.op, &route, nullptr);
    if (mine.result != TILEPOST_OK) mine.text = tilepost_last_error();
  });
}

// An element of A says by its value which row and column of the whole it is.
void Ranks::fill_a(int rank, Rank& mine, int64_t m) const {
  const tilepost_plan_t& plan = program_.plan;
  tilepost_map_t map = plan.map;
  if (m > 0) map.m = m;
  const int64_t first = tilepost::first_row_of_rank(map, rank);
  mine.a.assign(static_cast<size_t>(plan.map.m * plan.k), 0);
  const bool routed = tilepost::row_of(plan).input_is_routed();
  const int64_t rows = routed ? (m > 0 ? m : plan.rows_sent) : tilepost::rows_of_rank(map, rank);
  for (int64_t i = 0; i < rows * plan.k; ++i)
    fakes::bf16::write(mine.a.data(), i,
                       routed ? product(self().run, rank, i / plan.k, i % plan.k)
                              : product(self().run, 0, first + i / plan.k, i % plan.k));
}

float Ranks::sum(int64_t row, int64_t column) const {
  float total = 0;
  for (int source = 0; source < count(); ++source)
    total += product(self().run, source, row, column);
  return total;
}

std::vector<float> Ranks::expected(int rank, int64_t m) const {
  const tilepost_plan_t& plan = program_.plan;
  tilepost_map_t map = plan.map;
  map.m = m;
  const bool all = plan.pattern != TILEPOST_GEMM_REDUCE_SCATTER;
  if (tilepost::row_of(plan).routes()) return routed(rank, m, map.n);
  const int64_t first = all ? 0 : tilepost::first_row_of_rank(map, rank);
  const int64_t end = all ? m : first + tilepost::rows_of_rank(map, rank);
  std::vector<float> values;
  for (int64_t row = first; row < end; ++row)
    for (int64_t column = 0; column < map.n; ++column)
      values.push_back(plan.pattern == TILEPOST_ALL_GATHER_GEMM
                           ? product(self().run, 0, row, column % plan.k)
                           : sum(row, column));
  return values;
}

// In the order of the sources, and of each source's rows.
std::vector<float> Ranks::routed(int rank, int64_t m, int64_t columns) const {
  const tilepost_plan_t& plan = program_.plan;
  const int64_t share = (m + plan.ranks - 1) / plan.ranks;
  std::vector<float> values;
  for (int source = 0; source < count(); ++source)
    for (int64_t row = 0; row < m; ++row) {
      const int64_t to =
          plan.routing == TILEPOST_ROUTING_EVEN ? row / share : destinations_[source][row];
      if (to != rank) continue;
      const int64_t period = tilepost::row_of(plan).moves_input() ? plan.k : columns;
      for (int64_t column = 0; column < columns; ++column)
        values.push_back(product(self().run, source, row, column % period));
    }
  return values;
}

void Ranks::compare(Rank& mine, const uint16_t* found, const std::vector<float>& wanted) const {
  for (size_t i = 0; i < wanted.size(); ++i)
    mine.wrong += fakes::bf16::read(found, static_cast<int64_t>(i)) != wanted[i];
  // Nothing behind the output is written.
  mine.wrong += found == mine.out.data() && found[wanted.size()] != 0xffff;
}

bool Ranks::all_ok() const {
  return std::ranges::all_of(ranks_, [](const auto& mine) { return mine->result == TILEPOST_OK; });
}

int64_t Ranks::wrong() const {
  int64_t total = 0;
  for (const auto& mine : ranks_) total += mine->wrong;
  return total;
}

int64_t Ranks::normalised() const {
  int64_t total = 0;
  for (const auto& mine : ranks_) total += mine->normalised;
  return total;
}

bool Ranks::is_product(const void* found, int64_t rows) const {
  const int64_t n = program_.plan.map.n;
  for (int rank = 0; rank < count(); ++rank) {
    int64_t right = 0;
    for (int64_t i = 0; i < rows * n; ++i)
      right += fakes::bf16::read(found, i) == product(runs_, rank, i / n, i % n);
    if (right == rows * n) return true;
  }
  return false;
}

std::string Ranks::text() const {
  std::string all;
  for (const auto& mine : ranks_) all += mine->text + "\n";
  return all;
}

}  // namespace ranks
